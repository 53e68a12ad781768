"""What is known at one instant, as a search problem: the jobs that wait, beside those that run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from fedsched.engine.arrays import Plan
from fedsched.engine.codes import Dispatch, Placement, QueueKey
from fedsched.engine.loop import first_unplaceable
from fedsched.engine.pack import new_state
from fedsched.metrics import Measured
from fedsched.search.genome import Layout, Running, Space
from fedsched.search.problem import SearchProblem

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, Problem, State
    from fedsched.engine.simulation import Simulation
    from fedsched.search.objectives import Objectives

A = TypeVar("A", bound=np.ndarray[Any, Any])
KEPT = 64  # workspaces: long queues come in thousands of sizes
OVERRUN_SECONDS = 60.0  # what a job that has outrun its estimate is at least expected to need yet


class Workspaces:
    """The arrays that simulations of so many jobs need, those used last kept for the next instant with as many."""

    def __init__(self) -> None:
        self._states: dict[tuple[int, bool], State] = {}

    def of(self, problem: Problem, *, separate_backfill: bool = False) -> State:
        """Return a state for the problem."""
        key = (problem.submit.size, separate_backfill)
        state = self._states.pop(key, None)
        if state is None:
            state = new_state(problem, dispatch=int(Dispatch.EASY), separate_backfill=separate_backfill)
        self._states[key] = state
        if len(self._states) > KEPT:
            del self._states[next(iter(self._states))]  # not used for longest
        return state


class Instant(SearchProblem):
    """A run at this instant as its planner sees it: nothing here depends on a true run time.

    The waiting jobs come first, in the order of their arrival, and rows plan them alone; the running ones follow.
    Everybody takes as long as estimated.
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
        now, whole = run.time, run.problem
        running = run.running()
        self.jobs = np.concatenate([waiting, running.rows])
        self.workload, self.federation = run.workload, run.federation
        self.objectives = objectives
        self.submits, self.knowledge = "keep", "estimate"
        self.threads = 1
        self.no_users = np.zeros((0, 2))
        count, jobs = waiting.size, self.jobs.size
        self.problem = whole._replace(
            submit=_frozen(whole.submit[self.jobs]),
            tasks=_frozen(whole.tasks[self.jobs]),
            runtime=_frozen(whole.estimate[self.jobs]),
            estimate=_frozen(whole.estimate[self.jobs]),
            sigma=_frozen(whole.sigma[self.jobs]),
            bandwidth=_frozen(whole.bandwidth[self.jobs]),
            origin=_frozen(whole.origin[self.jobs]),
            user=_frozen(whole.user[self.jobs]),
            arrival=_frozen(np.arange(count)),
            arrival_rank=_frozen(np.arange(jobs)),
            running=_frozen(np.arange(count, jobs)),
            t0=now,
        )
        end = _expected_end(now, running.start, running.planned_end)
        left = running.estimate_left + (end - running.planned_end) / running.tc
        self.layout = Layout(count, whole.groups.nodes.size)
        self.states = [spaces.of(self.problem)]
        limits = run.limits(waiting)
        alone = np.arange(count)
        shared = Plan(
            order=alone,
            order_key=int(QueueKey.FIXED),
            backfill_order=alone,
            backfill_key=int(QueueKey.FIXED),
            separate_backfill=False,
            caps=limits,
            cap_row=alone,
            dispatch=int(Dispatch.EASY),
            placement=int(Placement.FASTEST),
        )
        self.space = Space(
            shared=shared,
            running=Running(
                start=running.start,
                finish=end,
                planned_end=end,
                tc=running.tc,
                work_left=left,
                estimate_left=left,
                since=running.since,
                counts=running.counts,
            ),
            limits=limits,
            nodes=np.array(whole.groups.nodes),
            no_load=np.zeros(whole.groups.uplink.size),
            placements=placements,
            dispatches=np.array([Dispatch.EASY], dtype=np.int64),
            measured=Measured(
                self.problem.submit,
                self.problem.tasks,
                self.problem.user,
                whole.groups.nodes,
                whole.groups.cluster,
                whole.groups.busy_watts,
                whole.groups.idle_watts,
            ),
        )

    def default_rules(self) -> tuple[int, int]:
        """Return EASY dispatch, which goes on well when jobs come or end earlier than planned, and a placement."""
        return int(Dispatch.EASY), super().default_rules()[1]


def placements_for_all(run: Simulation) -> Ints:
    """Return the placement rules under which every job of a run fits somewhere on the empty federation.

    So whoever comes while a plan lasts can be placed under it.
    """
    groups = run.problem.groups
    if groups.nodes.size == 1:
        return np.array([Placement.FASTEST], dtype=np.int64)  # all are the same
    state = new_state(run.problem, dispatch=int(Dispatch.STRICT), separate_backfill=False)
    plan = run.unplanned()
    usable = [
        int(rule) for rule in Placement if first_unplaceable(run.problem, plan._replace(placement=int(rule)), state) < 0
    ]
    return np.array(usable, dtype=np.int64)


def _expected_end(now: float, start: Floats, planned_end: Floats) -> Floats:
    # A job past its estimate is expected to go on for as long again as it has outrun it.
    late = now - planned_end
    return np.where(late >= 0.0, now + np.maximum(late, OVERRUN_SECONDS), planned_end)


def _frozen(array: A) -> A:
    # As in every Problem: the kernels know one type.
    array.setflags(write=False)
    return array
