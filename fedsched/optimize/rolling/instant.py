"""One instant of a rolling run as a search problem of its waiting and running jobs, and the usual policies' plans."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.codes import Dispatch, Placement, SameTime, needs_of
from fedsched.engine.loop.event_loop import begin, run
from fedsched.engine.optional_features.moldable import in_each_shape
from fedsched.engine.orders import order_at_begin
from fedsched.engine.pack.extras import extras_of_jobs
from fedsched.engine.pack.foresight import jobs_as_known, known_problem
from fedsched.engine.pack.problem import frozen
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.simulation import set_running
from fedsched.search.problem.packed import PackedProblem, usable_placements

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.engine.arrays.structs import Floats, Ints, Problem, RunningJobs, State
    from fedsched.engine.run.simulation import Simulation
    from fedsched.model.jobs.workload import Workload
    from fedsched.search.problem.objectives import Objectives

PER_JOB = ("tasks", "estimate", "sigma", "bandwidth", "origin", "user")  # a problem's columns of jobs
KEPT = 64  # states that are kept: long queues come in thousands of sizes
OVERRUN_SECONDS = 60.0  # least remaining time expected of a job that has outrun its estimate


class Workspaces:
    """The state arrays of simulations, kept for reuse by later instants of the same size.

    Of more than 64 the least recently used are dropped.
    """

    def __init__(self) -> None:
        self._states: dict[tuple[int, ...], State] = {}

    def of(self, problem: Problem, *, separate_backfill: bool = False) -> State:
        """Return state arrays for a simulation of the problem: kept ones if they fit, else new ones."""
        closing = (0, 0)  # the number of known downtimes, which changes
        if problem.extras is not None:
            closing = problem.extras.calendar.lookout.size, problem.extras.calendar.change.size
        key = (problem.submit.size, *closing, int(separate_backfill))
        state = self._states.pop(key, None)
        if state is None:
            state = new_state(problem, needs=needs_of(Dispatch.EASY), separate_backfill=separate_backfill)
        self._states[key] = state
        if len(self._states) > KEPT:
            del self._states[next(iter(self._states))]  # the least recently used
        return state


class Instant(PackedProblem):
    """The search problem of a run at one instant, as its planner sees it: without any true run time.

    The waiting jobs come first, in order of arrival, and rows plan only them; the running jobs follow. Every job
    takes its requested time.
    """

    def __init__(
        self,
        run: Simulation,
        waiting: Ints,
        objectives: Objectives,
        *,
        placements: Ints,
        spaces: Workspaces,
    ) -> None:
        self.jobs, problem, running = seen_now(run, waiting)
        self.federation, self._of_run = run.federation, run.workload
        super().__init__(
            problem,
            limits=run.limits(waiting),
            placements=placements,
            dispatches=(Dispatch.EASY,),
            objectives=objectives,
            ids=run.workload.id[self.jobs],
            running=running,
            states=[spaces.of(problem)] if self.whole_nodes else (),  # on shared nodes `Trials` has them
        )

    @cached_property
    def workload(self) -> Workload:  # type: ignore[override]
        """Return the waiting jobs as rows plan them: in their present shapes, with estimates as run times."""
        count, known = self.layout.jobs, self.problem
        jobs = jobs_as_known(self._of_run.take(self.jobs[:count]), known.t0)
        return replace(
            jobs, submit=known.submit[:count], tasks=known.tasks[:count], runtime=known.estimate[:count],
            estimate=known.estimate[:count], alternatives=None,
        )  # fmt: skip

    def default_rules(self) -> tuple[int, int]:
        """Return the numbers of EASY dispatch and of the usual placement rule.

        EASY copes with jobs that come or end earlier than planned.
        """
        return int(Dispatch.EASY), super().default_rules()[1]


def seen_now(run: Simulation, waiting: Ints) -> tuple[Ints, Problem, RunningJobs]:
    """Return the rows of the waiting and then the running jobs, the problem as known now, and the running jobs' state.

    Run times are estimates, and plans handle whole instants. A job that has outrun its estimate is expected to overrun
    as long again, and at least 60 s.
    """
    now, whole = run.time, run.problem
    running = run.running()
    rows = np.concatenate([waiting, running.rows])
    count, jobs = waiting.size, rows.size
    of_jobs = {name: getattr(whole, name)[rows] for name in PER_JOB} | {"submit": run.submits(rows)}
    of_jobs["watts"] = whole.watts[rows] if whole.watts.size else whole.watts
    true = whole._replace(
        **of_jobs,
        runtime=of_jobs["estimate"],
        arrival=np.arange(count),
        arrival_rank=np.arange(jobs),
        running=np.arange(count, jobs),
        t0=now,
        same_time=int(SameTime.BATCH),
        extras=extras_of_jobs(whole, run.state, rows, now),
        sharing=None,
    )
    end = _expected_end(now, running.start, running.planned_end)
    left = running.estimate_left + (end - running.planned_end) / running.tc
    known = running._replace(finish=end, planned_end=end, work_left=left, estimate_left=left)
    return rows, frozen(known_problem(true, now)), known


def placements_for_all(run: Simulation) -> Ints:
    """Return the placement rules (numbers) by which every job, in any shape, fits on the empty federation.

    Jobs that arrive while a plan lasts can then be placed by its rule. With one group of nodes it is only
    `fastest`.
    """
    groups = run.problem.groups
    if groups.nodes.size == 1:
        return np.array([Placement.FASTEST], dtype=np.int64)  # with one group all rules are the same
    plan = run.unplanned()
    nodes = np.minimum(plan.caps, groups.nodes)[plan.cap_row]
    usable = [usable_placements(problem, plan) for problem in in_each_shape(run.problem, nodes)]
    return np.array(sorted(set.intersection(*({*rules.tolist()} for rules in usable))), dtype=np.int64)


def _expected_end(now: float, start: Floats, planned_end: Floats) -> Floats:
    # A job that has outrun its estimate is expected to take that overrun once more, and at least `OVERRUN_SECONDS`.
    late = now - planned_end
    return np.where(late >= 0.0, now + np.maximum(late, OVERRUN_SECONDS), planned_end)


ORDERS = ("fcfs", "sjf", "saf", "wfp3", "xfactor", "unicef", "smallest", "largest")
FOREVER = int(np.iinfo(np.int64).max)


def incumbents(instant: Instant, spaces: Workspaces, *, by_starts: Dispatch = Dispatch.STRICT) -> Ints:
    """Return the usual policies' plans of the waiting jobs as feasible rows, without duplicates.

    EASY with SJF or SAF backfilling has two orders, which a plan cannot have. It is represented by the order of its
    starts, under the dispatch rule `by_starts`. With strict dispatch, such a plan on equal nodes is never worse
    than the schedule itself.
    """
    seen: dict[bytes, Ints] = {}
    for row in _candidates(instant, spaces, by_starts):
        seen.setdefault(row.tobytes(), row)
    rows = np.array(list(seen.values()), dtype=np.int64)
    return instant.repaired(rows)


def _candidates(instant: Instant, spaces: Workspaces, by_starts: Dispatch) -> Iterator[Ints]:
    limits = instant.space.limits
    _, usual = instant.default_rules()
    held = {name: order_at_begin(instant.problem, name) for name in ORDERS}
    orders = {name: order[order < instant.layout.jobs] for name, order in held.items()}  # waiting jobs come first

    def plan(order: Ints, dispatch: Dispatch, placement: int = usual, caps: Ints = limits) -> Ints:
        return instant.layout.pack(order[None], caps[None], np.array([[dispatch, placement]]))[0]

    one_group = limits.shape[1] == 1
    for backfill in ("sjf", "saf") if instant.whole_nodes else ():
        state = _easy(instant, spaces, orders["fcfs"], orders[backfill], usual)
        start = state.start[: len(limits)]
        starts = np.argsort(start, kind="stable")
        caps = limits if one_group else np.where(np.isnan(start)[:, None], limits, state.counts[: len(limits)])
        yield plan(starts, by_starts, caps=caps)
    for order in orders.values():
        yield plan(order, Dispatch.EASY)
        yield plan(order, Dispatch.GREEDY)
    for placement in instant.space.placements.tolist():
        for name in ("fcfs", "sjf", "saf", "wfp3"):
            yield plan(orders[name], Dispatch.EASY, placement)


def _easy(instant: Instant, spaces: Workspaces, order: Ints, backfill: Ints, placement: int) -> State:
    # The simulator's EASY: the head by one order, backfilling by another.
    problem, running = instant.problem, instant.space.common.running
    state = spaces.of(problem, separate_backfill=True)
    set_running(state, problem.running, running)
    plan = plan_in_order(
        order, instant.space.limits, dispatch=Dispatch.EASY, placement=placement, backfill_order=backfill
    )
    begin(problem, plan, state)
    run(problem, plan, state, FOREVER, np.inf)
    return state
