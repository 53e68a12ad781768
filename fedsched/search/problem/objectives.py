"""Objectives of a search: metrics, or a user's functions of metrics; several at once, or as a weighted sum.

The objectives that follow from the federation's signals (cost, carbon) are priced by `pricing_for` [65].
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedsched.core.errors import InfeasibleError, Named, shortened, unknown_name
from fedsched.model.schedule.metrics import NAMES, OF_A_SCHEDULE, PRICED, QUANTILES, Column
from fedsched.model.schedule.power_draw import Pricing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.model.machine.federation import Federation

Cost: TypeAlias = Callable[[Mapping[str, NDArray[np.float64]]], NDArray[np.float64]]  # from metrics, per plan
MAXIMISED = frozenset({"utilisation"})
# These metrics need a workspace of their own or a whole schedule. Results show them, but searches minimise none of them
# except the priced ones and the quantiles, in methods that accept a user's functions.
NOT_SOUGHT = frozenset({"user_spread", *OF_A_SCHEDULE})
LATE = 1e18  # value of a plan after its deadline, plus as much for each allowed makespan by which it is late
SOUGHT = tuple(name for name in NAMES if name not in NOT_SOUGHT or name in (*PRICED, *QUANTILES))


@dataclass(frozen=True, slots=True)
class Objectives:
    """The values that a search minimises (utilisation: maximises), with their weights in a weighted sum.

    Each objective is the name of a metric, or of a user's function. A function gets the metrics of all plans by
    name, `{"makespan": array, "energy": array, …}`, and returns one finite value for each plan. Fronts and weighted
    sums need finite distances between plans.

    Parameters
    ----------
    names
        Names of metric columns, or of the functions.
    weights
        The weight of each for a single value; by default equal.
    functions
        A user's functions, by the names in `names`.
    latest
        The time by which all jobs must end; by default none.

    Examples
    --------
    >>> fs.search.Objectives.of(["makespan", "energy"], weights=[2, 1]).names
    ('makespan', 'energy')
    >>> fs.search.Objectives.of("utilisation").signs
    array([-1.])
    """

    names: tuple[str, ...]
    weights: tuple[float, ...] = ()
    functions: Mapping[str, Cost] = field(default_factory=dict, repr=False)
    latest: float = math.inf  # longest makespan that keeps the deadline, in seconds [72]

    def __post_init__(self) -> None:
        if not self.names:
            raise ValueError("objectives: name at least one metric column, e.g. 'makespan'.")
        for name in self.names:
            if name not in (*self.functions, *SOUGHT):
                raise unknown_name("objective", name, SOUGHT)
        if len(set(self.names)) < len(self.names):
            raise ValueError(f"objectives={self.names}: each may be named once.")
        weights = self.weights or (1.0 / len(self.names),) * len(self.names)
        if len(weights) != len(self.names):
            raise ValueError(f"weights={weights}: {len(weights)} weights for {len(self.names)} objectives.")
        if not all(0.0 <= weight < float("inf") for weight in weights) or sum(weights) <= 0.0:
            raise ValueError(f"weights={weights}: each must be finite and at least 0, and one above 0.")
        object.__setattr__(self, "weights", tuple(float(weight) for weight in weights))

    @classmethod
    def of(cls, given: str | Cost | Sequence[str | Cost], weights: Sequence[float] | None = None) -> Objectives:
        """Return the objectives of one name or function, or of several.

        Parameters
        ----------
        given
            A name or a function, or several.
        weights
            The weight of each for a single value.
        """
        several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        for one in several:
            if not isinstance(one, str) and not callable(one):
                shown = shortened(repr(given))
                raise TypeError(f"objectives={shown} must be names of metrics, as ('makespan', 'energy').")
        functions = {name_of(one): one for one in several if callable(one)}
        names = tuple(name_of(one) if callable(one) else one for one in several)
        return cls(names, () if weights is None else tuple(weights), functions)

    @property
    def columns(self) -> Ints:
        """Return the objectives' columns in a metric row, for kernels.

        Raise ValueError if kernels cannot compute an objective, or if there is a deadline.
        """
        if self.latest < math.inf:
            raise ValueError(
                "Compiled walks (memetic, sa, hc) do not keep a deadline; take method='moga' for several "
                "objectives or 'ga' for one."
            )
        for name in self.uncompiled:
            what = "is a quantile" if name in QUANTILES else "is made of signals"
            what = "is a function" if name in self.functions else what
            raise ValueError(
                f"Objective {name!r} {what}, which compiled walks (memetic, sa, hc) cannot compute; "
                "take method='moga' for several objectives or 'ga' for one."
            )
        return self._places

    @property
    def _places(self) -> Ints:
        return np.array([NAMES.index(name) for name in self.names], dtype=np.int64)

    @property
    def uncompiled(self) -> tuple[str, ...]:
        """Return the names of objectives that no kernel computes: functions, quantiles, and those made of signals."""
        return tuple(name for name in self.names if name in (*self.functions, *self.priced, *QUANTILES))

    @property
    def priced(self) -> tuple[str, ...]:
        """Return the names of the objectives made of signals (such as cost), which may gain by delays."""
        return tuple(name for name in self.names if name in PRICED and name not in self.functions)

    @property
    def signs(self) -> Floats:
        """Return one sign for each objective: −1 if it is maximised, else 1. Values are metrics times signs."""
        return signs_of(self.names)

    def values(self, metrics: Floats) -> Floats:
        """Return the values to minimise (plans × objectives) from metric rows; maximised ones are negated.

        Raise ValueError if a user's function returns another shape or a value that is not finite.
        """
        if not self.functions:
            return metrics[..., self._places] * self.signs
        columns = Named("metric", {name: metrics[..., k] for k, name in enumerate(NAMES)})
        return np.stack([self._column(name, columns) for name in self.names], axis=-1) * self.signs

    def sought(self, metrics: Floats) -> Floats:
        """Return the values by which plans are compared; a plan that misses the deadline is valued by its lateness.

        So every plan that keeps the deadline is better than every other, and of the others the earliest is
        best.
        """
        return self.behind_late(self.values(metrics), metrics)

    def behind_late(self, values: Floats, metrics: Floats) -> Floats:
        """Return the values, but with values above 1e18 in each row of a plan that misses the deadline.

        Such a value grows with the lateness. Without a deadline the values are returned unchanged.
        """
        if self.latest == math.inf:
            return values
        late = lateness(metrics[..., Column.MAKESPAN], self.latest)[..., None]
        return np.where(late > 0.0, LATE * (1.0 + late / self.latest), values)

    def _column(self, name: str, columns: Mapping[str, Floats]) -> Floats:
        if name not in self.functions:
            return columns[name]
        values = np.asarray(self.functions[name](columns), dtype=np.float64)
        makespan = columns["makespan"]
        if values.shape != makespan.shape:
            raise ValueError(f"Objective {name!r} gave an array of shape {values.shape} for {makespan.shape} plans.")
        wrong = ~np.isfinite(values) & ~np.isnan(makespan)
        if wrong.any():
            first = tuple(int(i) for i in np.argwhere(wrong)[0])
            gave = "NaN" if np.isnan(values[first]) else f"{values[first]:g}"
            raise ValueError(
                f"Objective {name!r} gave {gave} for a plan with makespan={makespan[first]:g} and "
                f"energy={columns['energy'][first]:g}; it must give a finite number for every plan, a large one for a "
                "plan that you do not want."
            )
        return values

    def index(self, name: str) -> int:
        """Return the place of an objective among the names; raise an error if it is not there."""
        if name not in self.names:
            raise unknown_name("objective", name, self.names)
        return self.names.index(name)


def lateness(makespan: Floats, latest: float) -> Floats:
    """Return the seconds by which each makespan exceeds the latest one; 0 if it does not."""
    return np.maximum(makespan - latest, 0.0)


def signs_of(names: Sequence[str]) -> Floats:
    """Return one sign for each metric: −1 if it is maximised (utilisation), else 1."""
    return np.array([-1.0 if name in MAXIMISED else 1.0 for name in names])


def name_of(cost: Cost) -> str:
    """Return the name of a user's objective: of the function, or of the object's class; raise if a metric has it."""
    name = str(getattr(cost, "__name__", type(cost).__name__))
    if name in NAMES:
        raise ValueError(f"Objective function {name!r} has the name of a metric; name it otherwise.")
    return name


def priced_by_signals(names: Sequence[str], pricing: Pricing) -> tuple[str, ...]:
    """Return the names of those metrics that follow from the federation's signals."""
    signals = pricing.federation.signals
    return tuple(name for name in names if name in pricing.tariffs or (name == "peak_watts" and signals))


def pricing_for(objectives: Objectives, federation: Federation) -> Pricing | None:
    """Return the pricing of plans, or None if no objective needs it.

    Raise InfeasibleError if the federation lacks a signal for an objective, or has downtimes that stop running
    jobs.
    """
    asked = objectives.priced
    if not asked:
        return None
    pricing = Pricing(federation)
    told = priced_by_signals(asked, pricing)
    for name in asked:
        if name not in told:
            kind, option = ("price", "tariff") if name == "cost" else ("carbon", "carbon")
            raise InfeasibleError(
                f"optimize: objective {name!r} needs a {kind} signal, and the federation has none; give it signals= "
                f"(fedsched: --{option})."
            )
    if any(one.on_running != "wait" for one in federation.calendar):
        raise InfeasibleError(
            f"optimize: objective {asked[0]!r} counts runs that are lost to downtimes, and plans do "
            "not price these; leave out on_running=, or choose another metric."
        )
    return pricing
