"""What a search is compared with and starts from: policies' schedules, bounds, the user's plans, structured seeds.

A budget in seconds counts from the call on, so each of these four has a share of it. With a budget in evaluations each
is computed to its end.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.lower.longest_paths import sure_starts
from fedsched.bounds.lower.lower_bounds import LowerBounds, bounds_of_relaxation, lower_bounds
from fedsched.bounds.lower.relaxation import relax
from fedsched.bounds.lower.small_problems import WITHOUT_SOLVER
from fedsched.bounds.lower.time_grid import start_delays_of
from fedsched.core.errors import InfeasibleError
from fedsched.engine.pack.node_caps import caps_table
from fedsched.model.jobs.alternatives import may_change_gear, present_shapes
from fedsched.model.power.power_cap import with_caps_only
from fedsched.model.power.switching import with_least_idle_watts
from fedsched.model.schedule.metrics import NAMES, Column
from fedsched.model.schedule.schedule import Schedule
from fedsched.model.time.downtimes import kills, takes_nodes
from fedsched.optimize.result import PlannedQueue, Result
from fedsched.policies.list_heuristics import HEURISTICS
from fedsched.search.problem.shared import BASELINES as ON_SHARED_NODES
from fedsched.search.problem.shared import SharedProblem
from fedsched.search.run.clock import Clock, OutOfTimeError
from fedsched.search.run.interruptible_evaluation import LONG
from fedsched.search.run.seeds import UNTIL, structured_seeds

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Sequence

    from fedsched.bounds.lower.shared_nodes import SharedBounds
    from fedsched.engine.arrays.structs import Floats, Ints
    from fedsched.policies import Policy
    from fedsched.search.problem.problem import SearchProblem

BASELINES = (
    "fcfs", "easy", "easy-sjbf", "greedy", "sjf-greedy", "saf-easy", "laf-greedy", "ljf-greedy", "wfp3-easy", "jpr",
    "cbs", "lookahead",
)  # fmt: skip
DEAR_BASELINES = (
    "conservative", "mct", "min-min", "max-min", "sufferage", "least-energy", "list-spt", "list-saf", "list-laf",
    "list-sqrt",
)  # fmt: skip
MANY_JOBS = 1000  # waiting at once; with more, the dear ones would take longer than a search
MOST_SEEDS = 200
FIRST = ("fcfs", "easy")  # simulated first, so that they are rarely left out
FIRST_UNTIL, OTHERS_UNTIL, BOUNDS_UNTIL = 0.5, 0.25, 0.4  # shares of a budget in seconds, from the call on


def usual_baselines(jobs: int, *, shared: bool = False) -> tuple[str, ...]:
    """Return the policies that a search over this number of jobs is compared with by default.

    Beyond 1000 jobs the slow ones, such as conservative backfilling, are left out. If jobs share nodes (`shared`), the
    policies are those that a search there knows.
    """
    if shared:
        return ON_SHARED_NODES
    return BASELINES if jobs > MANY_JOBS else (*BASELINES, *DEAR_BASELINES)


@dataclass(frozen=True, slots=True, eq=False)
class Yardsticks:
    """What a search's plans are measured by: baselines (policies' schedules) and lower bounds.

    Both are there by what is known when plans are chosen, and by what really came (`came`, `bounds`).
    """

    schedules: dict[str, Schedule]  # of the baselines, by policy, with what is known
    values: Floats  # the baselines' objective values, minimised
    sought: Floats  # the same as plans are compared: schedules that miss a deadline come after all that keep it
    known_bounds: LowerBounds | SharedBounds | None
    came: dict[str, Schedule]
    bounds: LowerBounds | SharedBounds | None  # for what came; None: nothing is proven
    bound_front: Floats
    energy_penalty: float
    left_out: tuple[str, ...]  # for lack of time, or of a solver
    refused: dict[str, str]  # policies that cannot place every job, each with the reason

    @property
    def names(self) -> list[str]:
        """Return the names of the baselines' policies."""
        return list(self.schedules)


def yardsticks(
    problem: SearchProblem, policies: Sequence[str], clock: Clock, say: Callable[[str], None] | None = None
) -> Yardsticks:
    """Return baselines and bounds: the policies are simulated, FCFS first, then EASY, then the others.

    With a budget in seconds those for which there is no time are left out, but never the first. Policies that
    cannot place every job are noted with the reason.
    """
    schedules: dict[str, Schedule] = {}
    came: dict[str, Schedule] = {}
    left_out: list[str] = []
    refused: dict[str, str] = {}
    in_haste, truth = clock.seconds is not None, problem.truth
    for policy in sorted(policies, key=lambda one: FIRST.index(one) if one in FIRST else len(FIRST)):
        if say is not None:
            say(f"baselines: {policy}")
        # A list heuristic over many jobs would be cut off anyway. The first baseline always runs: a search needs one.
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
            refused[policy] = str(error)  # others can place every job, or packing would have failed
    schedules = {policy: schedules[policy] for policy in policies if policy in schedules}
    if say is not None:
        say("bounds")
    bounds = bounds_of(truth, max(clock.left(BOUNDS_UNTIL), 0.0) if in_haste else None)
    known = bounds
    if truth is not problem:
        known = bounds_of(problem, max(clock.left(BOUNDS_UNTIL), 0.0) if in_haste else None)
    front, penalty = np.zeros((0, 2)), math.nan
    if isinstance(bounds, LowerBounds) and set(problem.objectives.names) >= {"makespan", "energy"}:
        trades = may_change_gear(problem.workload) and problem.reading.leaves_open(problem.workload)
        front, penalty = bounds.front(), math.nan if trades else bounds.penalty  # it compares each job's best shapes
    if bounds is not None and bounds.cut:
        left_out.append("some of the bounds")
    if isinstance(bounds, LowerBounds) and bounds.solver_missing and "makespan" in problem.objectives.names:
        left_out.append(WITHOUT_SOLVER)
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
    problem: SearchProblem, policy: str | Policy, *, progress: Callable[[int, int], None] | None = None
) -> Schedule:
    """Return a policy's schedule with the search's own knowledge.

    Raise InfeasibleError if the policy cannot place every job, and KeyboardInterrupt if Ctrl-C cut the run short.
    """
    schedule = problem.simulated(policy, progress=progress)
    if schedule.until < math.inf:
        raise KeyboardInterrupt  # it ended the run, and part of a schedule is no baseline
    return schedule


def bounds_of(problem: SearchProblem, seconds: float | None = None) -> LowerBounds | SharedBounds | None:
    """Return lower bounds on all schedules of the problem; None if nothing is proven.

    Solvers may take this many seconds; None: as long as they need.
    """
    return problem.bounds() if isinstance(problem, SharedProblem) else _on_whole_nodes(problem, seconds)


def _on_whole_nodes(problem: SearchProblem, seconds: float | None) -> LowerBounds | None:
    """Return lower bounds on all schedules if each task has a node of its own; None if nothing can be proven.

    Nothing is proven if it is open which jobs count: they may have no end, be killed, leave or miss their
    reservations. The same holds if running jobs meet shapes that plans choose, or if all jobs run already and may lose
    their nodes.
    """
    if problem.misses_sure_jobs() or kills(problem.federation, problem.problem.t0):
        return None
    if problem.running is not None:
        others = np.setdiff1d(sure_starts(problem.problem), problem.running.rows)
        if (takes_nodes(problem.federation) and not others.size) or problem.reading.leaves_open(problem.workload):
            return None
    if problem.no_sure_starts:
        return None
    if problem.reading.leaves_open(problem.workload):
        really = problem.reading.but(knowledge="runtime")  # true run times, whatever plans know
        t0 = problem.problem.t0
        there = problem.federation if problem.pricing is not None else with_caps_only(problem.federation)
        deadline = t0 + problem.objectives.latest
        found = lower_bounds(problem.workload, there, t0=t0, reading=really, seconds=seconds, deadline=deadline)
        for objective in problem.objectives.names:
            bound_on(found, objective)
        return found
    packed, limits = problem.problem, caps_table(problem.workload, problem.federation)
    asleep = with_least_idle_watts(problem.federation)
    idle = np.array([group.idle_watts for group in asleep.groups])
    packed = packed._replace(
        groups=packed.groups._replace(idle_watts=idle), idle_total=float((idle * packed.groups.nodes).sum())
    )
    # True run times, whatever plans know.
    runtime, planned = packed.runtime, packed.estimate
    keeps_plans = bool((planned >= runtime).all())
    delays = start_delays_of(problem.workload, problem.federation, packed.t0)
    relaxation = relax(
        packed,
        limits,
        problem.ids,
        runtime=runtime,
        running=problem.running,
        planned=planned,
        keeps_plans=keeps_plans,
        delays=delays,
    )
    found = bounds_of_relaxation(relaxation, seconds=seconds)
    if problem.pricing is not None:
        own = relax(
            packed, limits, problem.ids, runtime=runtime, running=problem.running, planned=planned, separate=True,
            delays=delays,
        )  # fmt: skip
        latest = problem.objectives.latest
        found = found.with_costs(asleep, own, latest=latest, seconds=seconds)
    found = replace(found, watts_assumed=problem.federation.watts_assumed)
    for objective in problem.objectives.names:
        bound_on(found, objective)  # computed now, within the time for bounds
    return found


def bound_on(bounds: LowerBounds | SharedBounds | None, objective: str) -> float:
    """Return the bound on an objective; NaN if the objective is a user's function, or there are no bounds."""
    return math.nan if bounds is None or objective not in NAMES else bounds.of(objective)


def values_of(problem: SearchProblem, schedules: Iterable[Schedule]) -> Floats:
    """Return the objective values by which schedules are ranked (schedules × objectives).

    They include penalties for jobs without an end.
    """
    return problem.objectives.values(_ranked_rows(problem, schedules))


def _ranked_rows(problem: SearchProblem, schedules: Iterable[Schedule]) -> Floats:
    rows = [problem.ranked(_row_of(schedule), schedule.finish) for schedule in schedules]
    return np.array(rows).reshape(len(rows), len(Column))


def measured(problem: SearchProblem, schedules: Iterable[Schedule]) -> Floats:
    """Return the objective values of schedules (schedules × objectives), without penalties.

    Jobs without an end do not count.
    """
    rows = [_row_of(schedule) for schedule in schedules]
    return problem.objectives.values(np.array(rows).reshape(len(rows), len(Column)))


def _row_of(schedule: Schedule) -> Floats:
    return np.array(tuple(schedule.metrics(users=False).as_dict().values()))


def reference_of(problem: SearchProblem, names: Sequence[str], values: Floats) -> Floats:
    """Return the objective values of FCFS on the default placement, by which others are divided; 1 in place of 0.

    They come from `values` if FCFS is among `names` and no job may miss its end; else FCFS's plan is simulated.
    """
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
    """Return the first plans and what was left out: the user's plans, the baselines' schedules, structured seeds.

    With seeds other than "structured" there are only the user's plans. The baselines' schedules become plans on the
    nodes that they used. Some of the user's plans are left out if time is short.

    With a budget in seconds and 2000 jobs or more, the baselines' plans come last, as many as there is time for.
    With fixed nodes they take by far the longest, and their values are known. There are then at most `most`
    structured seeds.
    """
    given = (row for plan in initial for row in rows_of(problem, plan))
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
    """Yield the first plan, and more until 60 % of a budget in seconds is used."""
    for row in rows:
        yield row
        if clock.left(UNTIL) <= 0.0:
            return


def _as_rows(rows: list[Ints], problem: SearchProblem) -> Ints:
    return np.array(rows, dtype=np.int64).reshape(len(rows), problem.layout.length)


def rows_of(problem: SearchProblem, plan: object) -> Iterator[Ints]:
    """Yield the rows of a user's plan: one for a schedule, a plan or a pair (order, caps); several for a Result.

    A plan that is a policy's name gives none. Raise an error for anything else, or for a schedule without all jobs.
    """
    if isinstance(plan, Result):
        for one in plan.front.plans:
            yield from rows_of(problem, one)
    elif isinstance(plan, PlannedQueue):
        if plan.schedule is not None:
            yield from rows_of(problem, plan.schedule)
        elif plan.order is not None:  # else a policy, which is among the baselines
            choices = problem.choices_of(plan.alternatives)
            yield problem.row(plan.order, plan.caps, plan.rules, choices, plan.delays)
    elif isinstance(plan, Schedule):
        if len(plan) != problem.layout.jobs or not plan.complete:
            raise ValueError(f"initial: the schedule must start all of the {problem.layout.jobs} jobs.")
        choices = problem.choices_of(present_shapes(plan.workload))
        yield problem.row(np.argsort(plan.start, kind="stable"), plan.counts, choices=choices, delays=plan.delays)
    elif isinstance(plan, tuple) and len(plan) == 2:
        yield problem.row(plan[0], plan[1])
    else:
        raise TypeError(f"initial: {type(plan).__name__} is no plan; give schedules, Results, or pairs (order, caps).")
