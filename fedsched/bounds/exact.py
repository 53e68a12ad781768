"""Exact answers for small problems by constraint programming: the best schedule, and a bound that proves it.

The model has maintenance that is known and jobs that wait for others, but no contention: its bound holds for every
schedule, and the schedule found is then run with contention.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.exact_rules import refuse_surprises, rules_of
from fedsched.bounds.lower import lower_bounds
from fedsched.bounds.model import build
from fedsched.bounds.realise import heuristic_starts, realised
from fedsched.bounds.relaxation import hidden_by_clock, relax
from fedsched.engine.capped import refuse_cap
from fedsched.engine.caps import caps_table
from fedsched.engine.pack import pack
from fedsched.engine.switching import refuse_power
from fedsched.errors import InfeasibleError, MissingExtraError, TraceError, unknown_name
from fedsched.model.admission import as_asked
from fedsched.model.alternatives import shaped
from fedsched.model.cancellations import refuse_cancellations
from fedsched.model.dependencies import Dependencies, settled
from fedsched.model.feedback import refuse_feedback
from fedsched.model.limits import someones
from fedsched.model.reading import CLAIRVOYANT, Reading
from fedsched.model.reservations import refuse_members
from fedsched.text import counted
from fedsched.values import is_number, origin, whole

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.exact_rules import ExactRules
    from fedsched.bounds.model import Solved
    from fedsched.bounds.relaxation import Floats, Ints, Relaxation
    from fedsched.model.federation import Federation
    from fedsched.model.schedule import Schedule
    from fedsched.model.workload import Workload

OBJECTIVES = ("makespan", "energy", "weighted")
LARGEST_SEED = 2**31 - 1  # that CP-SAT takes
PROVEN = 1e-5  # a schedule this close to its bound, relatively, is called optimal


@dataclass(frozen=True, slots=True, eq=False)
class ExactAnswer:
    """The best schedule found and what is proven about it.

    `bound` <= every schedule's value, contention or not; `status` is "optimal" where the value meets it, "feasible"
    where the time was up first or contention costs what the model does not know.
    """

    schedule: Schedule
    value: float
    bound: float
    status: str
    objective: str
    weights: tuple[float, float]
    seconds: float

    @property
    def order(self) -> Ints:
        """Return the jobs' rows in the order in which they start."""
        return np.argsort(self.schedule.start, kind="stable")

    @property
    def counts(self) -> NDArray[np.int64]:
        """Return jobs × groups: the nodes that every job takes; as caps they force the plan."""
        return self.schedule.counts

    @property
    def gap(self) -> float:
        """Return value/bound − 1."""
        return self.value / self.bound - 1.0 if self.bound > 0 else float("nan")

    def __str__(self) -> str:
        return (
            f"{self.status}: {self.objective} {self.value:,.6g}, bound {self.bound:,.6g} (gap {self.gap:.2%}), "
            f"{counted(len(self.schedule), 'job')} in {self.seconds:.1f} s"
        )


@dataclass(frozen=True, slots=True, eq=False)
class ExactFront:
    """The Pareto front of makespan and energy of a small problem.

    `points` are rows (makespan, energy), shortest first; `complete` says whether they are proven to be all, to within
    the solver's units and without contention.
    """

    points: Floats
    schedules: tuple[Schedule, ...]
    complete: bool


@dataclass(frozen=True, slots=True, eq=False)
class _Task:
    """A problem to be solved, with what does not change between the solver's runs."""

    workload: Workload
    federation: Federation
    relaxation: Relaxation
    rules: ExactRules

    def realised(self, solved: Solved) -> Schedule:
        """Return the solver's schedule in true times."""
        assert solved.starts is not None
        return realised(self.workload, self.federation, self.relaxation, solved.starts, solved.counts, self.rules)

    def cost(self, schedule: Schedule, weights: tuple[float, float]) -> float:
        """Return what is minimised."""
        return weights[0] * schedule.makespan + weights[1] * schedule.energy


def exact(
    workload: Workload,
    federation: Federation,
    *,
    objective: str = "makespan",
    weights: tuple[float, float] | None = None,
    seconds: float = 60.0,
    workers: int = 2,
    seed: int = 0,
    t0: float | None = None,
    reading: Reading = CLAIRVOYANT,
    knowledge: str | None = None,
    kill_at_estimate: bool | None = None,
    alternatives: str | None = None,
    caps: NDArray[np.int64] | None = None,
) -> ExactAnswer:
    """Return the best schedule of a small problem, or the best found in the time, with a proven bound.

    A dozen jobs on a dozen nodes of several kinds are proven within seconds; of twenty on fifty nodes, often not.

    Parameters
    ----------
    workload, federation
        The jobs, and what they run on.
    objective
        "makespan", "energy", or "weighted".
    weights
        Of makespan and energy, for "weighted": weights[0]·seconds + weights[1]·joules.
    seconds
        The solver's time; a schedule comes back however short it is.
    workers, seed
        Threads of the solver, and what its choices are drawn by. The proven optimum does not depend on them; which of
        several best schedules is returned may.
    t0, reading, knowledge, kill_at_estimate, alternatives, caps
        As in `lower_bounds`.
    """
    if objective not in OBJECTIVES:
        raise unknown_name("objective of the exact model", objective, OBJECTIVES)
    if (weights is None) == (objective == "weighted"):
        raise ValueError(f"exact: objective={objective!r}, weights={weights}; weights go with 'weighted', and only so.")
    chosen = {"makespan": (1.0, 0.0), "energy": (0.0, 1.0)}.get(objective) or weights or (1.0, 0.0)
    if min(chosen) < 0 or not np.isfinite(chosen).all() or max(chosen) == 0:
        raise ValueError(f"exact: weights={chosen}; both must be finite and at least 0, and one of them above 0.")
    reading = reading.but(
        knowledge=knowledge, kill_at_estimate=kill_at_estimate, alternatives=alternatives
    ).settled("exact")
    task = _task(workload, federation, t0, reading, caps, seconds, workers, seed)
    bounds = lower_bounds(workload, federation, t0=t0, reading=reading, caps=caps, method="lp")
    best = min(heuristic_starts(task.workload, federation, task.relaxation, caps), key=lambda s: task.cost(s, chosen))
    # A better schedule costs less than the best known one, of which T alone costs so much a second.
    per_second = chosen[0] + chosen[1] * task.relaxation.idle_total
    horizon = task.cost(best, chosen) / per_second if per_second > 0 else None
    model = build(task.relaxation, scale=best.makespan, horizon=horizon, hint=best, rules=task.rules)
    model.minimise(*chosen, at_least=bounds.makespan)
    solved = model.solve(seconds=seconds, workers=workers, seed=seed)
    known = chosen[0] * bounds.makespan + chosen[1] * bounds.energy
    if solved.starts is not None:
        best = min(best, task.realised(solved), key=lambda schedule: task.cost(schedule, chosen))
    value = task.cost(best, chosen)
    bound = max(known, solved.bound - hidden_by_clock(task.relaxation, chosen))
    if value < bound <= value * (1 + 1e-9):  # their last bits: no bound is above a schedule that exists
        bound = value
    status = "optimal" if value <= bound * (1 + PROVEN) else "feasible"
    return ExactAnswer(best, value, bound, status, objective, chosen, solved.seconds)


def exact_front(
    workload: Workload,
    federation: Federation,
    *,
    points: int = 50,
    seconds: float = 60.0,
    workers: int = 2,
    seed: int = 0,
    t0: float | None = None,
    reading: Reading = CLAIRVOYANT,
    knowledge: str | None = None,
    kill_at_estimate: bool | None = None,
    alternatives: str | None = None,
    caps: NDArray[np.int64] | None = None,
) -> ExactFront:
    """Return the whole Pareto front of makespan and energy of a tiny problem, without contention.

    By ε-constraint from the thriftiest end: the least energy, then the least makespan that has it, then the least
    energy with a shorter makespan than that, until there is none.

    Parameters
    ----------
    workload, federation
        The jobs, and what they run on.
    points
        Stop after so many points of the front.
    seconds
        For each run of the solver; a point costs two.
    workers, seed, t0, reading, knowledge, kill_at_estimate, alternatives, caps
        As in `exact`.
    """
    whole("exact_front", "points", points, least=1)
    reading = reading.but(
        knowledge=knowledge, kill_at_estimate=kill_at_estimate, alternatives=alternatives
    ).settled("exact_front")
    task = _task(workload, federation, t0, reading, caps, seconds, workers, seed)
    some = heuristic_starts(task.workload, federation, task.relaxation, caps)
    scale = max(schedule.makespan for schedule in some)
    rows: list[tuple[float, float]] = []
    found: list[Schedule] = []
    within: int | None = None
    while len(rows) < points:
        model = build(task.relaxation, scale=scale, rules=task.rules, makespan_at_most=within)
        model.minimise(0.0, 1.0)
        thrifty = model.solve(seconds=seconds, workers=workers, seed=seed)
        if thrifty.infeasible:
            return _front(rows, found, complete=task.relaxation.uncontended)
        if not thrifty.optimal:
            break
        model = build(
            task.relaxation, scale=scale, rules=task.rules, makespan_at_most=within, energy_at_most=thrifty.energy
        )
        model.minimise(1.0, 0.0)
        short = model.solve(seconds=seconds, workers=workers, seed=seed)
        if not short.optimal or short.starts is None:
            break
        schedule = task.realised(short)
        rows.append((schedule.makespan, schedule.energy))
        found.append(schedule)
        within = short.makespan - 1
    return _front(rows, found, complete=False)


def _front(rows: list[tuple[float, float]], found: list[Schedule], *, complete: bool) -> ExactFront:
    """Return the points, shortest first, without those that another one beats in both (contention, last bits)."""
    order = sorted(range(len(rows)), key=lambda i: rows[i])
    kept: list[int] = []
    for i in order:
        if not kept or rows[i][1] < rows[kept[-1]][1]:
            kept.append(i)
    return ExactFront(np.array([rows[i] for i in kept]).reshape(-1, 2), tuple(found[i] for i in kept), complete)


def _task(
    workload: Workload,
    federation: Federation,
    t0: float | None,
    reading: Reading,
    caps: NDArray[np.int64] | None,
    seconds: float,
    workers: int,
    seed: int,
) -> _Task:
    """Return the problem, checked."""
    require_solver()
    refuse_cancellations("exact", workload)
    refuse_feedback("exact", workload)
    if len(workload) == 0:
        raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to schedule.")
    whole("exact", "workers", workers, least=1)
    whole("exact", "seed", seed, least=0, most=LARGEST_SEED)
    if not is_number(seconds) or not seconds > 0:
        raise ValueError(f"exact: seconds={seconds!r} must be finite and above 0.")
    if reading.leaves_open(workload):
        raise InfeasibleError(
            f"exact: alternatives={reading.alternatives!r} leaves the jobs' shapes open, which the exact model does "
            "not know; choose them by a rule: alternatives='fixed' or 'smallest_area'."
        )
    workload = shaped(as_asked(workload, federation), reading)
    runtime = reading.planned(workload)
    problem = pack(workload, federation, reading=reading, t0=origin("exact", t0))
    limits = caps_table(workload, federation, caps)
    refuse_surprises(federation, problem.t0)
    refuse_members("exact", workload, federation)
    refuse_power("exact", federation)
    refuse_cap("exact", federation)
    if limit := someones(workload, federation):
        raise InfeasibleError(
            f"exact: there are limits ({limit}), which the exact model does not know; leave them out: "
            "dataclasses.replace(federation, limits=()), and jobs without their label 'array'."
        )
    if problem.watts.size:
        raise InfeasibleError(
            "exact: jobs say what they draw (watts), which the exact model does not know; leave that out: "
            "dataclasses.replace(workload, watts=None)."
        )
    if problem.extras is not None and problem.extras.pools.need.any():
        raise InfeasibleError(
            "exact: jobs have pools, which the exact model does not know; leave that out: "
            "dataclasses.replace(workload, pools=None)."
        )
    if problem.arrival.size < len(workload):
        hopeless = len(workload) - problem.arrival.size
        raise InfeasibleError(
            f"exact: {counted(hopeless, 'job')} can never start, for they wait for what cannot happen; "
            "leave them out (Workload.filter)."
        )
    relaxation = relax(problem, limits, workload.id, runtime=runtime, apart=True)
    own = replace(workload, runtime=runtime, after=_after_ends(workload), alternatives=None)
    return _Task(own, federation, relaxation, rules_of(problem, relaxation))


def _after_ends(workload: Workload) -> Dependencies | None:
    """Return the same conditions, all of which can hold, whatever a run's ends are taken for."""
    after = settled(workload)
    if after is None:
        return None
    texts = [text.replace("afternotok", "afterany").replace("afterok", "afterany") for text in after.texts.tolist()]
    return Dependencies.of(texts, workload.id)


def require_solver() -> None:
    """Raise an error that says how to get the solver, where it is missing."""
    try:
        from ortools.sat.python import cp_model  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "The exact model needs OR-tools, which is not installed; install the extra: pip install 'fedsched[exact]'."
        ) from error
