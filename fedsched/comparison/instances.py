"""Instances that methods are compared on, and the budget of each run."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from dataclasses import dataclass
from math import inf
from numbers import Integral, Real
from typing import TYPE_CHECKING, Protocol

from fedsched.comparison.code import hash_of
from fedsched.core.errors import shown, unknown_name
from fedsched.core.text import counted
from fedsched.engine.sharing import NodeSharing
from fedsched.io.arguments import nouns_of
from fedsched.model.foresight import foresight, perfect_forecasts
from fedsched.model.jobs import assumed, unmodelled
from fedsched.model.jobs.summary import implausible_lines
from fedsched.model.reading import CLAIRVOYANT, SUBMITS, Read, Reading
from fedsched.model.schedule.node_use import unmodelled_when_shared
from fedsched.search.problem.objectives import name_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from fedsched.core.names import Alternatives, Knowledge, Saturation, SharingName, Submits
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.search.problem.objectives import Cost


class Comparable(Protocol):
    """A problem to compare methods on: an `Instance`, or a problem of another simulator.

    An instance that draws a new problem for each seed sets `drawn = True`: only runs with the same seed are then
    compared with each other.

    Examples
    --------
    >>> from fedsched.compare import Comparable
    >>> problem: Comparable = fs.Instance("fifty", fs.read("sample").head(50), 128)
    >>> problem.name, problem.objectives, len(problem.fingerprint())
    ('fifty', ('makespan',), 12)
    """

    @property
    def name(self) -> str:
        """Return its name in tables."""
        ...

    @property
    def objectives(self) -> tuple[str, ...]:
        """Return the names of the objectives: the values that each run gives, to be minimised or maximised."""
        ...

    @property
    def optimum(self) -> float | None:
        """Return the first objective's best possible value, if it is known."""
        ...

    def fingerprint(self) -> str:
        """Return a short hash of everything that defines the problem."""
        ...


@dataclass(frozen=True, slots=True)
class Instance(Read):
    """A problem to compare methods on.

    Parameters
    ----------
    name, workload, federation, objectives
        The name in tables, the jobs, the machine, and the objectives: metrics, or functions of all metrics as in
        `optimize`. `objectives` then has their names, `functions` the functions by name, and `aims` both.
    optimum
        The first objective's best possible value, if it is known.
    submits
        "now": all jobs wait from the start, as a package. "keep": jobs arrive at their submit times, as in `simulate`;
        a search nevertheless knows them in advance, and is marked clairvoyant.
    reading
        The model's open choices in one object; the next parameters give single ones.
    knowledge
        "runtime" unless the reading says otherwise: plans see true run times. "estimate": they see requested times, as
        in `simulate`.
    saturation, kill_at_estimate
        As in `simulate`.
    alternatives
        As in `optimize`; if it is "free", policies keep the jobs' own shapes.
    sharing
        How jobs share nodes, as in `simulate`; None: each task has its own node.
    functions
        Functions of metrics by the names that `objectives` gives them.

    Examples
    --------
    >>> problem = fs.Instance("fifty", fs.read("sample").head(50), 128, ("makespan", "energy"))
    >>> problem.objectives, problem.knowledge
    (('makespan', 'energy'), 'runtime')
    """

    name: str
    workload: Workload
    federation: Federation
    objectives: tuple[str, ...]
    optimum: float | None
    submits: Submits
    reading: Reading
    sharing: NodeSharing | None
    functions: Mapping[str, Cost]

    def __init__(
        self,
        name: str,
        workload: AnyJobs,
        federation: AnyMachine,
        objectives: str | Cost | Sequence[str | Cost] = ("makespan",),
        optimum: float | None = None,
        *,
        submits: Submits = "now",
        reading: Reading = CLAIRVOYANT,
        knowledge: Knowledge | None = None,
        saturation: Saturation | None = None,
        kill_at_estimate: bool | None = None,
        alternatives: Alternatives | None = None,
        sharing: NodeSharing | SharingName | None = None,
        functions: Mapping[str, Cost] | None = None,
    ) -> None:
        if not isinstance(name, str):
            raise TypeError(f"Instance: name={shown(name)} must be a text: Instance('log', workload, federation).")
        workload, federation = nouns_of(f"Instance {name!r}", workload, federation, second="federation")
        aims = (objectives,) if isinstance(objectives, str) or callable(objectives) else objectives
        row = isinstance(aims, Iterable) and all(isinstance(one, str) or callable(one) for one in aims)
        if not row or not aims:
            raise ValueError(
                f"Instance {name!r}: objectives={shown(objectives)} must name metrics, as ('makespan', 'energy')."
            )
        names = tuple(one if isinstance(one, str) else name_of(one) for one in aims)
        known = {**(functions or {}), **{name_of(one): one for one in aims if not isinstance(one, str)}}
        used = {one: known[one] for one in names if one in known}
        if submits not in SUBMITS:
            raise unknown_name("submits", submits, SUBMITS)
        words = reading.but(
            knowledge=knowledge, saturation=saturation, kill_at_estimate=kill_at_estimate, alternatives=alternatives
        )
        words = words.settled(f"Instance {name!r}", whole_instants=True)
        shared = None if sharing is None else NodeSharing.of(sharing)
        values = (name, workload, federation, names, optimum, submits, words, shared, used)
        for field, value in zip(Instance.__slots__, values, strict=True):
            object.__setattr__(self, field, value)

    @property
    def aims(self) -> tuple[str | Cost, ...]:
        """Return the objectives as `optimize` takes them: names of metrics, and functions."""
        return tuple(self.functions.get(name, name) for name in self.objectives)

    @property
    def facts(self) -> tuple[str, ...]:
        """Return what is not modelled of the log, assumed of the machine, and unknown to plans, one line each."""
        beyond = unmodelled.unmodelled if self.sharing is None else unmodelled_when_shared
        dropped, bare = beyond(self.workload, self.federation), assumed.assumptions(self.federation)
        bare = (*bare, *perfect_forecasts(self.federation, self.objectives))
        hidden = foresight(
            self.workload, self.federation, float(self.workload.submit.min(initial=0.0)), self.objectives
        )
        lines = [unmodelled.sentence(dropped)] if dropped else []
        lines += [assumed.sentence(bare)] if bare else []
        lines += implausible_lines(self.workload, self.federation)
        lines += [f"searches {hidden}"] if hidden else []
        if self.workload.cancel_at is not None:
            lines.append("figures are of the jobs that ran, which are others where others were cancelled")
        return tuple(lines)

    @property
    def watts_assumed(self) -> bool:
        """Return whether energies are computed from assumed watts."""
        return self.federation.watts_assumed

    def fingerprint(self) -> str:
        """Return a short hash of jobs, machine and objectives (of a function: its text); the reading is not in it."""
        digest = hashlib.sha256(repr((self.federation, self.objectives)).encode())
        machine = self.federation
        features = [group.features for group in machine.groups] if machine.has_features else ()
        known = [(group.resources, group.weight) for group in machine.groups]
        states = [group.switching for group in machine.groups] if machine.power is not None else []
        known = known if any(resources or weight != 1 for resources, weight in known) else []
        beside = (machine.partitions, machine.calendar, features, machine.limits, machine.signals, known)
        looks = machine.cap if machine.cap != "run" else ""
        cores = [(k, limit.cpus) for k, limit in enumerate(machine.limits) if limit.cpus is not None]
        places = [group.nodes for group in machine.groups if group.nodes is not None]
        pools = [(pool.name, pool.cluster) for pool in machine.pools if pool.cluster is not None]
        costs = [hash_of(cost) for cost in self.functions.values()]
        for part in (*beside, states, machine.power, looks, places, cores, pools, self.sharing, costs):
            if part:  # not in the federation's repr
                digest.update(repr(part).encode())
        w = self.workload
        for column in (w.submit, w.tasks, w.runtime, w.estimate, w.compute_fraction, w.task_bandwidth, w.origin):
            digest.update(column.tobytes())
        if w.allowed is not None:
            digest.update(w.allowed.tobytes() + repr(w.sites).encode())
        for extra in w.extras.values():
            digest.update(extra.fingerprint())
        return digest.hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class Budget:
    """The limits of each run: evaluations, seconds or both.

    Parameters
    ----------
    evaluations
        The number of plans that a run may simulate; None: no limit.
    seconds
        The number of seconds that a run may take; None: no limit.

    Examples
    --------
    >>> fs.Budget(evaluations=5000)
    Budget(evaluations=5000, seconds=None)
    """

    evaluations: int | None = None
    seconds: float | None = None

    def __post_init__(self) -> None:
        if self.evaluations is None and self.seconds is None:
            raise ValueError("Budget: give evaluations, seconds or both.")
        # Numbers of numpy's types become Python's: what a run was allowed is written as JSON.
        if self.evaluations is not None:
            if isinstance(self.evaluations, bool) or not isinstance(self.evaluations, Integral):
                raise TypeError(f"Budget: evaluations={self.evaluations!r} must be a whole number, e.g. 1000.")
            if self.evaluations < 1:
                raise ValueError(f"Budget: evaluations={self.evaluations} must be at least 1.")
            object.__setattr__(self, "evaluations", int(self.evaluations))
        if self.seconds is not None:
            if isinstance(self.seconds, bool) or not isinstance(self.seconds, Real):
                raise TypeError(f"Budget: seconds={self.seconds!r} must be a number.")
            if not 0.0 < self.seconds < inf:
                raise ValueError(f"Budget: seconds={self.seconds} must be finite and above 0.")
            object.__setattr__(self, "seconds", float(self.seconds))

    def __str__(self) -> str:
        parts = [
            counted(self.evaluations, "evaluation") if self.evaluations is not None else "",
            f"{self.seconds:g} s" if self.seconds is not None else "",
        ]
        return " and ".join(part for part in parts if part) + " a run"
