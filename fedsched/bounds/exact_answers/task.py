"""A checked problem for the exact model, with all that stays the same between the solver's runs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.exact_answers.realise import heuristic_starts, true_schedule
from fedsched.bounds.exact_answers.rules import rules_of
from fedsched.bounds.lower.lower_bounds import lower_bounds
from fedsched.bounds.lower.relaxation import relax, with_true_watts
from fedsched.bounds.lower.time_grid import start_delays_of
from fedsched.core.errors import InfeasibleError, MissingExtraError, TraceError
from fedsched.core.text import counted
from fedsched.core.values import is_number, origin, seed_of, whole
from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.pack.choices import possible_shapes, refuse_open_sizes
from fedsched.engine.pack.node_caps import caps_table
from fedsched.engine.pack.problem import pack
from fedsched.model.constraints.dependencies import ending_as, ends_of, replace_singletons
from fedsched.model.jobs.admission import count_in_nodes, with_default_times
from fedsched.model.jobs.shaping import with_chosen_shapes, with_shapes
from fedsched.model.machine.counters import counters_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.exact_answers.cp_sat_model import Solved
    from fedsched.bounds.exact_answers.rules import ExactRules
    from fedsched.bounds.lower.relaxation import Ints, Relaxation
    from fedsched.bounds.lower.time_grid import StartDelays
    from fedsched.engine.arrays.structs import Problem
    from fedsched.engine.pack.choices import Possible
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.schedule import Schedule

LARGEST_SEED = 2**31 - 1  # accepted by CP-SAT


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A problem for the exact model: `given` are the user's jobs, `workload` the same jobs with planned run times.

    The relaxation has a row for each shape that a job may have, its present one first: `first` says where the rows of
    each job begin, and `shapes` are the shapes by row.
    """

    given: Workload
    workload: Workload
    federation: Federation
    reading: Reading
    caps: NDArray[np.int64] | None
    relaxation: Relaxation
    rules: ExactRules
    first: Ints
    shapes: Possible | None = None  # None: each job has one

    def realised(self, solved: Solved) -> Schedule:
        """Return the schedule in true times that follows from the solver's answer."""
        assert solved.starts is not None
        workload, relaxation, rules = self.workload, self.relaxation, self.rules
        if self.shapes is not None:
            shaped = with_shapes(self.given, self.federation, self.shapes.which[solved.rows])
            workload, relaxation = _with_planned_times(shaped, self.reading), relaxation.take(solved.rows)
            rules = replace(rules, stocks=tuple(stock.of_rows(solved.rows) for stock in rules.stocks))
        return true_schedule(workload, self.federation, relaxation, solved.starts, solved.counts, rules)

    def heuristics(self) -> list[Schedule]:
        """Return schedules of list heuristics, for the solver to start from."""
        present = self.relaxation if self.shapes is None else self.relaxation.take(self.first[:-1])
        return heuristic_starts(self.workload, self.federation, present, self.caps)

    def rank(self, schedule: Schedule, weights: tuple[float, float]) -> tuple[int, float]:
        """Return the key that compares schedules: the number of jobs without a start, then the weighted cost."""
        return left_out(schedule), cost(schedule, weights)

    def scale(self, schedule: Schedule) -> float:
        """Return the approximate length of a schedule in seconds; above 0 even if no job starts."""
        return schedule.makespan or float(self.relaxation.longest.max())

    def saved(self) -> float:
        """Return the most joules by which jobs may draw less than idle nodes, in all."""
        relaxation = self.relaxation
        below = np.maximum(-relaxation.extra_of_jobs, 0.0).max(axis=1)
        return float((below * relaxation.duration.max(axis=1) * relaxation.most_nodes).sum())

    def known(self, absent: int) -> tuple[float, float]:
        """Return lower bounds on makespan and energy of schedules in which at most `absent` jobs never start."""
        given = self.given
        if self.rules.leaves and absent == 0:
            given = replace(given, cancel_at=None)  # no job leaves
        elif len(self.rules.optional) == len(given):
            return 0.0, 0.0
        t0, reading = self.relaxation.t0, self.reading
        bounds = lower_bounds(given, self.federation, t0=t0, reading=reading, caps=self.caps, method="lp")
        return bounds.makespan, bounds.energy


def cost(schedule: Schedule, weights: tuple[float, float]) -> float:
    """Return the weighted sum of a schedule's makespan (s) and energy (J); 0 if no job starts."""
    if left_out(schedule) == len(schedule):
        return 0.0
    return weights[0] * schedule.makespan + weights[1] * schedule.energy


def left_out(schedule: Schedule) -> int:
    """Return the number of jobs in a schedule that never start."""
    return int(np.isnan(schedule.start).sum())


def task_of(
    workload: Workload,
    federation: Federation,
    t0: float | None,
    reading: Reading,
    caps: NDArray[np.int64] | None,
    seconds: float,
    workers: int,
    seed: int,
) -> Task:
    """Check a problem, and return it as a Task with its relaxation and rules.

    Raise an error for wrong arguments, unsupported features, an empty workload, or a job that can never start.
    """
    require_solver()
    if len(workload) == 0:
        raise TraceError(f"Workload {workload.name!r} is empty: there is nothing to schedule.")
    whole("exact", "workers", workers, least=1)
    seed_of("exact", seed)
    if not is_number(seconds) or not seconds > 0:
        raise ValueError(f"exact: seconds={seconds!r} must be finite and above 0.")
    t0 = origin("exact", t0)
    given, workload = workload, count_in_nodes(with_default_times(workload, federation), federation)
    refuse("exact", Use(workload, federation, reading, float(workload.submit.min()) if t0 is None else t0))
    workload = with_chosen_shapes(workload, federation, reading)
    if reading.is_free(workload):
        refuse_open_sizes("exact", workload, federation)
    problem = pack(workload, federation, reading=reading, t0=t0)
    limits = caps_table(workload, federation, caps)
    if problem.arrival.size < len(workload):
        hopeless = len(workload) - problem.arrival.size
        raise InfeasibleError(
            f"exact: {counted(hopeless, 'job')} can never start, as they wait for what cannot happen; "
            "leave them out (Workload.filter)."
        )
    leaving = workload.cancel_at is not None
    delays = start_delays_of(workload, federation, problem.t0)
    own, shapes, each = _with_planned_times(workload, reading), None, workload
    first = np.arange(len(workload) + 1)
    if reading.is_free(workload):
        shapes = possible_shapes(workload, federation, caps, reading=reading, t0=problem.t0)
        given, first, each = workload, shapes.first, shapes.each
        relaxation = _of_shapes(problem, shapes, workload.id, federation, reading, delays)
    else:
        runtime = reading.planned(workload)
        relaxation = relax(
            problem, limits, workload.id, runtime=runtime, separate=True, with_leaving=leaving, delays=delays
        )
        relaxation = with_true_watts(relaxation, problem)
    owner = np.repeat(np.arange(len(workload)), np.diff(first))
    _refuse_without_room(problem, relaxation, workload.id, owner)
    rules = rules_of(problem, relaxation, counters_of(each, federation), owner)
    return Task(given, own, federation, reading, caps, relaxation, rules, first, shapes)


def _refuse_without_room(problem: Problem, relaxation: Relaxation, ids: Ints, owner: Ints) -> None:
    """Raise InfeasibleError if a job fits in no shape on the nodes that downtimes do not close for good."""
    if problem.extras is None or not np.isinf(problem.extras.calendar.end).any():
        return
    calendar, left = problem.extras.calendar, relaxation.nodes.copy()  # each group that closes is a class of its own
    gone = np.isinf(calendar.end)
    np.subtract.at(left, relaxation.group_class[calendar.group[gone]], calendar.nodes[gone])
    held = np.minimum(np.maximum(left, 0), relaxation.caps)
    fits = (held * relaxation.fits).sum(axis=1) if relaxation.fits.size else held.sum(axis=1)
    fit = np.zeros(len(ids), dtype=np.bool_)
    fit[owner[fits >= (relaxation.wanted if relaxation.fits.size else relaxation.tasks)]] = True
    if not fit.all():
        raise InfeasibleError(
            f"exact: job {ids[np.argmin(fit)]} may find no room on the nodes that downtimes do not close for good; "
            "give these downtimes an end, or leave the job out."
        )


def _with_planned_times(workload: Workload, reading: Reading) -> Workload:
    """Return the jobs in their present shapes, which run as long as planned, with all that others wait for."""
    runtime = reading.planned(workload)
    own = replace(workload, runtime=runtime, after=replace_singletons(workload), alternatives=None)
    return ending_as(own, ends_of(workload, reading))


def _of_shapes(
    problem: Problem, shapes: Possible, ids: Ints, federation: Federation, reading: Reading, delays: StartDelays
) -> Relaxation:
    """Return the relaxation with a row for each shape; jobs are released by their submits and earliest starts alone.

    The model adds waits and downtimes, which depend on the shapes.
    """
    alone = replace(shapes.each, cancel_at=None, held=None, feedback=None)
    each = pack(alone, federation, reading=reading, t0=problem.t0)
    limits, runtime = (shapes.caps, shapes.row_of), reading.planned(alone)
    relaxation = relax(each, limits, ids[shapes.owner], runtime=runtime, separate=True, delays=delays)
    since = np.where(np.isinf(problem.submit), problem.t0, np.maximum(problem.submit, problem.t0))
    if problem.extras is not None and problem.extras.precedence.earliest.size:
        since = np.maximum(since, problem.extras.precedence.earliest)
    return with_true_watts(replace(relaxation, release=(since - problem.t0)[shapes.owner]), each)


def require_solver() -> None:
    """Raise MissingExtraError, which tells how to install OR-tools, if that solver is missing."""
    try:
        from ortools.sat.python import cp_model  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "The exact model needs OR-tools, which is not installed; install the extra: pip install 'fedsched[exact]'."
        ) from error
