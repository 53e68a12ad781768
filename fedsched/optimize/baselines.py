"""What a search is compared with and begins with: policies' schedules, bounds, the user's plans, structured seeds.

A budget in seconds counts from the call on, so that these have shares of it; one in evaluations lets them run whole.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.exact_answers.grid import idling_of
from fedsched.bounds.lower.lower_bounds import LowerBounds, bounds_of_relaxation, lower_bounds
from fedsched.bounds.lower.relaxation import relax
from fedsched.core.errors import InfeasibleError
from fedsched.engine.pack.node_caps import caps_table
from fedsched.model.jobs.alternatives import chosen, may_shift
from fedsched.model.jobs.uneven import are_uneven
from fedsched.model.power.power_cap import with_caps_alone
from fedsched.model.power.watts import draw_their_own
from fedsched.model.schedule.metrics import NAMES, Column
from fedsched.model.schedule.schedule import Schedule
from fedsched.model.time.downtimes import kills, takes_nodes
from fedsched.optimize.result import PlannedQueue, Result
from fedsched.policies.list_heuristics import HEURISTICS
from fedsched.search.problem.shared import SharedProblem
from fedsched.search.run.clock import Clock, OutOfTimeError
from fedsched.search.run.interruptible_evaluation import LONG
from fedsched.search.run.seeds import UNTIL, structured_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fedsched.bounds.lower.shared_nodes import SharedBounds
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.search.problem.problem import SearchProblem

BASELINES = (
    "fcfs", "easy", "easy-sjbf", "greedy", "sjf-greedy", "saf-easy", "laf-greedy", "ljf-greedy", "wfp3-easy", "jpr",
    "cbs", "lookahead",
)  # fmt: skip
DEAR_BASELINES = ("conservative", "mct", "min-min", "max-min", "sufferage", "least-energy")
MANY_JOBS = 1000  # waiting at once; from there on the dear ones would take longer than a search
MOST_SEEDS = 200
FIRST = ("fcfs", "easy")  # baselines that nobody wants to miss
FIRST_UNTIL, OTHERS_UNTIL, BOUNDS_UNTIL = 0.5, 0.25, 0.4  # of a budget in seconds, from the call on


def usual_baselines(jobs: int) -> tuple[str, ...]:
    """Return the policies that a search over so many jobs is compared with unless told otherwise."""
    return BASELINES if jobs > MANY_JOBS else (*BASELINES, *DEAR_BASELINES)


@dataclass(frozen=True, slots=True, eq=False)
class Yardsticks:
    """What the plans of a search are measured by: as is known when they are chosen, and as it came."""

    schedules: dict[str, Schedule]  # of the baselines, by policy, as far as is known
    values: Floats  # theirs, minimised
    sought: Floats  # the same as plans are compared: behind all that keep a deadline where they do not
    known_bounds: LowerBounds | SharedBounds | None
    came: dict[str, Schedule]
    bounds: LowerBounds | SharedBounds | None  # of what came; None: nothing is proven
    bound_front: Floats
    energy_penalty: float
    left_out: tuple[str, ...]  # for want of time
    refused: dict[str, str]  # policies that are no yardsticks, for they cannot place every job, each with the reason

    @property
    def names(self) -> list[str]:
        """Return the baselines' policies."""
        return list(self.schedules)


def yardsticks(
    problem: SearchProblem, policies: Sequence[str], clock: Clock, say: Callable[[str], None] | None = None
) -> Yardsticks:
    """Return baselines and bounds; within a budget in seconds FCFS first, then EASY, then what there is time for."""
    schedules: dict[str, Schedule] = {}
    came: dict[str, Schedule] = {}
    left_out: list[str] = []
    refused: dict[str, str] = {}
    in_haste, truth = clock.seconds is not None, problem.truth
    for policy in sorted(policies, key=lambda one: FIRST.index(one) if one in FIRST else len(FIRST)):
        if say is not None:
            say(f"baselines: {policy}")
        # A list heuristic over many jobs would only be cut, and a search needs one yardstick at any rate.
        share = FIRST_UNTIL if policy in FIRST else OTHERS_UNTIL
        too_dear = policy in HEURISTICS and problem.layout.jobs > MANY_JOBS
        if schedules and in_haste and (too_dear or clock.left(share) <= 0.0):
            left_out.append(policy)
            continue
        try:
            look = clock.within(share) if schedules else None
            found = baseline_schedule(problem, policy, progress=look)
            came[policy] = found if truth is problem else baseline_schedule(truth, policy, progress=look)
            schedules[policy] = found
        except OutOfTimeError:
            left_out.append(policy)
        except InfeasibleError as error:
            refused[policy] = str(error)  # others can place every job, or packing had failed
    schedules = {policy: schedules[policy] for policy in policies if policy in schedules}
    if say is not None:
        say("bounds")
    bounds = bounds_of(truth, max(clock.left(BOUNDS_UNTIL), 0.0) if in_haste else None)
    known = bounds
    if truth is not problem:
        known = bounds_of(problem, max(clock.left(BOUNDS_UNTIL), 0.0) if in_haste else None)
    front, penalty = np.zeros((0, 2)), math.nan
    if isinstance(bounds, LowerBounds) and set(problem.objectives.names) >= {"makespan", "energy"}:
        trades = may_shift(problem.workload) and problem.reading.leaves_open(problem.workload)
        front, penalty = bounds.front(), math.nan if trades else bounds.penalty  # which looks at each best shape
    if bounds is not None and bounds.cut:
        left_out.append("some of the bounds")
    rows = _ranked_rows(problem, schedules.values())
    values = problem.objectives.values(rows)
    return Yardsticks(
        schedules=schedules,
        values=values,
        sought=problem.objectives.behind_late(values, rows),
        known_bounds=known,
        came={policy: came[policy] for policy in schedules},
        bounds=bounds,
        bound_front=front,
        energy_penalty=penalty,
        left_out=tuple(left_out),
        refused=refused,
    )


def baseline_schedule(
    problem: SearchProblem, policy: str, *, progress: Callable[[int, int], None] | None = None
) -> Schedule:
    """Return what a policy does with the search's own knowledge; refused where it cannot place every job."""
    schedule = problem.simulated(policy, progress=progress)
    if schedule.until < math.inf:
        raise KeyboardInterrupt  # which ended the run: part of one is no yardstick
    return schedule


def bounds_of(problem: SearchProblem, seconds: float | None = None) -> LowerBounds | SharedBounds | None:
    """Return what no schedule can be below; solvers may take so many seconds. None: nothing is proven."""
    return problem.bounds() if isinstance(problem, SharedProblem) else _on_whole_nodes(problem, seconds)


def _on_whole_nodes(problem: SearchProblem, seconds: float | None) -> LowerBounds | None:
    """Return the bounds where each task has a node of its own.

    None where jobs have no end that count, or may have none for they are killed: which jobs count is then open. Nor is
    anything proven where jobs that run already may lose their nodes, or each may leave or miss its reservation.
    """
    if problem.lacks_some() or kills(problem.federation, problem.problem.t0):
        return None
    if problem.running is not None and takes_nodes(problem.federation):
        return None
    if problem.nobody_is_sure_to_start:
        return None
    if (problem.federation.signals or draw_their_own(problem.workload)) and are_uneven(problem.workload).any():
        return None  # more nodes may be cheaper than the fewest
    if problem.reading.leaves_open(problem.workload):
        really = problem.reading.but(knowledge="runtime")  # by how long the jobs run, whatever plans know
        t0 = problem.problem.t0
        there = problem.federation if problem.pricing is not None else with_caps_alone(problem.federation)
        deadline = t0 + problem.objectives.latest
        found = lower_bounds(problem.workload, there, t0=t0, reading=really, seconds=seconds, deadline=deadline)
        for objective in problem.objectives.names:
            bound_on(found, objective)
        return found
    packed, limits = problem.problem, caps_table(problem.workload, problem.federation)
    # By how long the jobs really run, whatever plans know.
    runtime, planned = packed.runtime, packed.estimate
    keeps_plans = bool((planned >= runtime).all())
    idling = idling_of(problem.workload, problem.federation, packed.t0)
    relaxation = relax(
        packed,
        limits,
        problem.ids,
        runtime=runtime,
        running=problem.running,
        planned=planned,
        keeps_plans=keeps_plans,
        idling=idling,
    )
    found = bounds_of_relaxation(relaxation, seconds=seconds)
    if problem.pricing is not None:
        own = relax(
            packed, limits, problem.ids, runtime=runtime, running=problem.running, planned=planned, apart=True,
            idling=idling,
        )  # fmt: skip
        latest = problem.objectives.latest
        found = found.with_costs(problem.federation, own, latest=latest, seconds=seconds)
    found = replace(found, watts_assumed=problem.federation.watts_assumed)
    for objective in problem.objectives.names:
        bound_on(found, objective)  # within the time that is given to bounds
    return found


def bound_on(bounds: LowerBounds | SharedBounds | None, objective: str) -> float:
    """Return the bound on an objective; NaN where it is a user's function, or nothing is proven."""
    return math.nan if bounds is None or objective not in NAMES else bounds.of(objective)


def values_of(problem: SearchProblem, schedules: Iterable[Schedule]) -> Floats:
    """Return the objective values of schedules, as plans are ranked by them."""
    return problem.objectives.values(_ranked_rows(problem, schedules))


def _ranked_rows(problem: SearchProblem, schedules: Iterable[Schedule]) -> Floats:
    rows = [problem.ranked(_row_of(schedule), schedule.finish) for schedule in schedules]
    return np.array(rows).reshape(len(rows), len(Column))


def measured(problem: SearchProblem, schedules: Iterable[Schedule]) -> Floats:
    """Return the objective values of schedules, of the jobs that have an end."""
    rows = [_row_of(schedule) for schedule in schedules]
    return problem.objectives.values(np.array(rows).reshape(len(rows), len(Column)))


def _row_of(schedule: Schedule) -> Floats:
    return np.array(tuple(schedule.metrics(users=False).as_dict().values()))


def reference_of(problem: SearchProblem, names: Sequence[str], values: Floats) -> Floats:
    """Return FCFS's values on the default placement; where an objective is 0 there, 1 keeps divisions harmless."""
    if "fcfs" in names and not problem.may_miss:
        reference = values[list(names).index("fcfs")]
    else:
        order = np.argsort(problem.problem.arrival_rank, kind="stable")
        reference = problem.objectives.values(problem.metrics(problem.row(order)[None]))[0]
    return np.where(reference == 0.0, 1.0, reference)


def first_plans(
    problem: SearchProblem,
    seeds: str,
    initial: Iterable[object],
    baselines: Iterable[Schedule],
    clock: Clock,
    *,
    most: int = MOST_SEEDS,
) -> tuple[Ints, tuple[str, ...]]:
    """Return the user's plans, then what the baselines did, on the nodes that they took, then the structured ones.

    And what was left out for want of time: some of the user's. Where plans take so long that the clock may end one in
    its midst, the baselines' are the last, as many as there is time for: on just those nodes they take by far the
    longest, and what they are worth is known. Of the structured ones there are then `most`.
    """
    given = (row for plan in initial for row in _rows_of(problem, plan))
    own = list(_in_time(given, clock))
    left_out = () if next(given, None) is None else ("some of the plans to begin with",)
    if seeds != "structured":
        return _as_rows(own, problem), left_out
    theirs = (problem.row(np.argsort(schedule.start, kind="stable"), schedule.counts) for schedule in baselines)
    if clock.seconds is None or problem.layout.jobs < LONG:
        made = structured_seeds(problem, limit=MOST_SEEDS, clock=clock)
        return np.concatenate([_as_rows([*own, *theirs], problem), made]), left_out
    made = structured_seeds(problem, limit=most, clock=clock)
    return np.concatenate([_as_rows(own, problem), made, _as_rows(list(_in_time(theirs, clock)), problem)]), left_out


def _in_time(rows: Iterator[Ints], clock: Clock) -> Iterator[Ints]:
    """Give the first of some plans, and others while there is time for them."""
    for row in rows:
        yield row
        if clock.left(UNTIL) <= 0.0:
            return


def _as_rows(rows: list[Ints], problem: SearchProblem) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), problem.layout.length)


def _rows_of(problem: SearchProblem, plan: object) -> Iterator[Ints]:
    """Give what a user's plan is as rows."""
    if isinstance(plan, Result):
        for one in plan.front.plans:
            yield from _rows_of(problem, one)
    elif isinstance(plan, PlannedQueue):
        if plan.schedule is not None:
            yield from _rows_of(problem, plan.schedule)
        elif plan.order is not None:  # else a policy: the baselines hold it already
            choices = problem.choices_of(plan.alternatives)
            yield problem.row(plan.order, plan.caps, plan.rules, choices, plan.delays)
    elif isinstance(plan, Schedule):
        if len(plan) != problem.layout.jobs or not plan.complete:
            raise ValueError(f"initial: the schedule must start all of the {problem.layout.jobs} jobs.")
        choices = problem.choices_of(chosen(plan.workload))
        yield problem.row(np.argsort(plan.start, kind="stable"), plan.counts, choices=choices, delays=plan.delays)
    elif isinstance(plan, tuple) and len(plan) == 2:
        yield problem.row(plan[0], plan[1])
    else:
        raise TypeError(f"initial: {type(plan).__name__} is no plan; give schedules, Results, or pairs (order, caps).")
