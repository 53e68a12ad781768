"""What a search is compared with and begins with: the policies' schedules, the user's plans, structured seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Dispatch, Placement
from fedsched.errors import InfeasibleError
from fedsched.metrics import Column
from fedsched.result import PlannedQueue, Result
from fedsched.schedule import Schedule
from fedsched.search.seeds import structured_seeds

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from fedsched.engine.arrays import Floats, Ints
    from fedsched.search.problem import SearchProblem

BASELINES = (
    "fcfs", "easy", "easy-sjbf", "greedy", "sjf-greedy", "saf-easy", "laf-greedy", "ljf-greedy", "wfp3-easy", "jpr",
    "cbs", "lookahead",
)  # fmt: skip
DEAR_BASELINES = ("conservative", "mct", "min-min", "max-min", "sufferage", "least-energy")
MANY_JOBS = 1000  # waiting at once; from there on the dear ones would take longer than a search
MOST_SEEDS = 200


def usual_baselines(jobs: int) -> tuple[str, ...]:
    """Return the policies that a search over so many jobs is compared with unless told otherwise."""
    return BASELINES if jobs > MANY_JOBS else (*BASELINES, *DEAR_BASELINES)


def baseline_schedules(problem: SearchProblem, policies: Sequence[str]) -> dict[str, Schedule]:
    """Return what the policies do that can place every job, with the search's own knowledge."""
    schedules = {}
    for policy in policies:
        try:
            schedules[policy] = problem.simulated(policy)
        except InfeasibleError:
            continue  # this policy's placement cannot hold some job; others can, or packing had failed
    return schedules


def values_of(problem: SearchProblem, schedules: Iterable[Schedule]) -> Floats:
    """Return the objective values of schedules."""
    rows = [tuple(schedule.metrics(users=False).as_dict().values()) for schedule in schedules]
    return problem.objectives.values(np.array(rows).reshape(len(rows), len(Column)))


def reference_of(problem: SearchProblem, names: Sequence[str], values: Floats) -> Floats:
    """Return FCFS's values on the default placement; where an objective is 0 there, 1 keeps divisions harmless."""
    if "fcfs" in names:
        reference = values[list(names).index("fcfs")]
    else:
        order = np.argsort(problem.problem.arrival_rank, kind="stable")
        reference = problem.values(problem.row(order)[None])[0]
    return np.where(reference == 0.0, 1.0, reference)


def first_plans(problem: SearchProblem, seeds: str, initial: Iterable[object], baselines: Iterable[Schedule]) -> Ints:
    """Return the user's plans, then what the baselines did, on the nodes that they took, then the structured ones."""
    own = [row for plan in initial for row in _rows_of(problem, plan)]
    if seeds == "structured":
        own += [row for schedule in baselines if schedule.complete for row in _rows_of(problem, schedule)]
    rows = np.array(own, dtype=np.int64).reshape(len(own), problem.layout.length)
    if seeds != "structured":
        return rows
    return np.concatenate([rows, structured_seeds(problem, limit=MOST_SEEDS)])


def _rows_of(problem: SearchProblem, plan: object) -> list[Ints]:
    """Return what a user's plan is as rows."""
    if isinstance(plan, Result):
        return [row for one in plan.front.plans for row in _rows_of(problem, one)]
    if isinstance(plan, PlannedQueue):
        if plan.schedule is not None:
            return _rows_of(problem, plan.schedule)
        if plan.order is None:
            return []  # a policy: the baselines hold it already
        rules = (int(Dispatch[plan.dispatch.upper()]), int(Placement[plan.placement.upper()]))
        return [problem.row(plan.order, plan.caps, rules)]
    if isinstance(plan, Schedule):
        if len(plan) != problem.layout.jobs or not plan.complete:
            raise ValueError(f"initial: the schedule must start all of the {problem.layout.jobs} jobs.")
        return [problem.row(np.argsort(plan.start, kind="stable"), plan.counts)]
    if isinstance(plan, tuple) and len(plan) == 2:
        return [problem.row(plan[0], plan[1])]
    raise TypeError(f"initial: {type(plan).__name__} is no plan; give schedules, Results, or pairs (order, caps).")
