"""What a search minimises: columns of the metric row or a user's functions of them, several or as a weighted sum."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
from numpy.typing import NDArray

from fedsched.core.errors import Named, shortened, unknown_name
from fedsched.model.schedule.metrics import NAMES, OF_A_SCHEDULE, PRICED, Column

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.engine.arrays.structs import Floats, Ints

Cost: TypeAlias = Callable[[Mapping[str, NDArray[np.float64]]], NDArray[np.float64]]  # from metric columns, per plan
MAXIMISED = frozenset({"utilisation"})
# Ask for a workspace of their own, or for a whole schedule: what is found has them, and but for what signals make of
# it, which searches that take functions seek too, no search seeks them.
NOT_SOUGHT = frozenset({"user_spread", *OF_A_SCHEDULE})
LATE = 1e18  # whatever is sought of a plan that ends after its deadline, and as much again a makespan that is allowed
SOUGHT = tuple(name for name in NAMES if name not in NOT_SOUGHT or name in PRICED)


@dataclass(frozen=True, slots=True)
class Objectives:
    """What is minimised (utilisation: maximised), with weights for a single value.

    Each is the name of a metric column, or of one of the user's functions: these get the metrics of all plans by name,
    `{"makespan": array, "energy": array, …}`, and return one finite value a plan: an infinite one would leave no
    distance between plans, which fronts and weighted sums are made of.
    """

    names: tuple[str, ...]
    weights: tuple[float, ...] = ()
    functions: Mapping[str, Cost] = field(default_factory=dict, repr=False)
    latest: float = math.inf  # makespan of a plan that keeps its deadline [72]

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
        """Return the objectives of one name or function, or of several."""
        several = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
        for one in several:
            if not isinstance(one, str) and not callable(one):
                shown = shortened(repr(given))
                raise TypeError(f"objectives={shown} must be names of metrics, as ('makespan', 'energy').")
        functions = {_name_of(one): one for one in several if callable(one)}
        names = tuple(_name_of(one) if callable(one) else one for one in several)
        return cls(names, () if weights is None else tuple(weights), functions)

    @property
    def columns(self) -> Ints:
        """Return the places of the objectives in a metric row, for kernels; a user's functions have none."""
        if self.latest < math.inf:
            raise ValueError(
                "A deadline is nothing that compiled walks (memetic, sa, hc) look at; take method='moga' for several "
                "objectives or 'ga' for one."
            )
        for name in self.uncompiled:
            what = "is a function" if name in self.functions else "is made of signals"
            raise ValueError(
                f"Objective {name!r} {what}, which compiled walks (memetic, sa, hc) cannot call; "
                "take method='moga' for several objectives or 'ga' for one."
            )
        return self._places

    @property
    def _places(self) -> Ints:
        return np.array([NAMES.index(name) for name in self.names], dtype=np.int64)

    @property
    def uncompiled(self) -> tuple[str, ...]:
        """Return which of them no kernel computes: a user's functions, and what signals make."""
        return tuple(name for name in self.names if name in (*self.functions, *self.priced))

    @property
    def priced(self) -> tuple[str, ...]:
        """Return which of them signals make, which may be better for a delay."""
        return tuple(name for name in self.names if name in PRICED and name not in self.functions)

    @property
    def signs(self) -> Floats:
        """Return −1 for what is maximised, else 1: values are metrics times signs."""
        return signs_of(self.names)

    def values(self, metrics: Floats) -> Floats:
        """Return what is minimised, from metric rows."""
        if not self.functions:
            return metrics[..., self._places] * self.signs
        columns = Named("metric", {name: metrics[..., k] for k, name in enumerate(NAMES)})
        return np.stack([self._column(name, columns) for name in self.names], axis=-1) * self.signs

    def sought(self, metrics: Floats) -> Floats:
        """Return what plans are compared by: their values, but of those that end after the deadline how late that is.

        So each that keeps it is better than each that does not, and of those the one that ends first is the best.
        """
        return self.behind_late(self.values(metrics), metrics)

    def behind_late(self, values: Floats, metrics: Floats) -> Floats:
        """Return values that were made of these metric rows as what plans are compared by."""
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
        """Return the place of an objective among the others."""
        if name not in self.names:
            raise unknown_name("objective", name, self.names)
        return self.names.index(name)


def lateness(makespan: Floats, latest: float) -> Floats:
    """Return by how many seconds makespans are longer than the latest one."""
    return np.maximum(makespan - latest, 0.0)


def signs_of(names: Sequence[str]) -> Floats:
    """Return −1 for what is maximised, else 1."""
    return np.array([-1.0 if name in MAXIMISED else 1.0 for name in names])


def _name_of(cost: Cost) -> str:
    name = str(getattr(cost, "__name__", type(cost).__name__))
    if name in NAMES:
        raise ValueError(f"Objective function {name!r} has the name of a metric; name it otherwise.")
    return name
