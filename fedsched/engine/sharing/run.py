"""SharedRun: a simulation of jobs that share nodes, and its schedule."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.text import counted
from fedsched.engine.codes import Placement
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.pack.shape_arrays import read_only
from fedsched.engine.run.simulation import (
    Simulation,
    actual_submits,
    cancelled_jobs,
    held_jobs,
    lost_in,
    unfinished_note,
)
from fedsched.engine.shared_nodes import all_free
from fedsched.engine.shared_nodes.arrays import Number, entries
from fedsched.engine.sharing.asked import asks_in_words
from fedsched.engine.sharing.binding import bound_to_groups
from fedsched.engine.sharing.pack import pack
from fedsched.engine.sharing.result import Played, SharedSchedule
from fedsched.engine.sharing.trials import Trials
from fedsched.model.constraints.dependencies import replace_singletons
from fedsched.model.jobs.layout import layout_of
from fedsched.model.schedule.integrals import NOT_KNOWN
from fedsched.model.schedule.node_use import NodeUse
from fedsched.model.verify.lost_nodes_check import one_job_per_run
from fedsched.policies import ListHeuristic, OnlinePolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.arrays.structs import Floats, Ints, Problem, RunningJobs, State
    from fedsched.engine.run.simulation import Planner
    from fedsched.engine.shared_nodes.arrays import Gone, Held, Sharing, Work
    from fedsched.engine.sharing.noun import NodeSharing
    from fedsched.engine.sharing.pack import Packed
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.integrals import Integrals
    from fedsched.model.schedule.lost import LostRuns
    from fedsched.policies import Policy



class SharedRun(Simulation):
    """A simulation of jobs that share nodes; it can be paused and resumed at any instant."""

    def __init__(
        self,
        workload: Workload,
        federation: Federation,
        packed: Packed,
        sharing: NodeSharing,
        reading: Reading,
        description: str,
    ) -> None:
        self.sharing = sharing
        _refuse_unplaceable(workload, packed)
        self._begin(workload, federation, packed.problem, packed.plan, packed.state, reading, description)

    @property
    def nodes(self) -> Sharing:
        """Return the shared nodes and the kinds of jobs."""
        assert self.problem.sharing is not None
        return self.problem.sharing

    @property
    def work(self) -> Work:
        """Return what is free on the nodes now, and what jobs hold."""
        assert self.state.work is not None
        return self.state.work

    def consult(self, planner: Planner, *, jobs: int) -> None:
        """Register a planner: see `Simulation.consult`."""
        empty = Trials(self.problem, self.nodes, self.state.shortest)
        self._limits = np.minimum(empty.rooms(), self.plan.caps[self._own_row])
        self._placements = empty.placements(self._limits)
        self._leaf = np.array(self.nodes.leaf)
        self.problem = self.problem._replace(sharing=self.nodes._replace(leaf=read_only(self._leaf)))
        super().consult(planner, jobs=jobs)

    def limits(self, jobs: Ints) -> Ints:
        """Return the most tasks of each of these jobs on each group, jobs × groups, while all nodes are free."""
        return self._limits[jobs]

    def placements(self) -> Ints:
        """Return the placement rules under which every job fits somewhere while all nodes are free."""
        return self._placements

    def _line_up(self, jobs: Ints) -> None:
        by_kind = jobs[np.argsort(self.nodes.kinds.of_job[jobs], kind="stable")]
        self._leaf[by_kind] = np.sort(self._leaf[by_kind])
        super()._line_up(jobs)

    def take_up(self) -> None:
        """Rebuild what is free and the order of waiting jobs from the restored state and `work.held`."""
        all_free.take_up(self.state, self.nodes, self.work)
        self._line_up(self.in_queue_order(self.queued()))

    def schedule(self) -> SharedSchedule:
        """Return the schedule so far: all starts until now, and the ends by now; of a finished run, all ends."""
        return schedule_of(
            self.actual, self.federation, self.sharing, self.reading, self.problem, self.state,
            policy=self.description, interrupted=not self.done, replay=self.replay,
        )  # fmt: skip


def _refuse_unplaceable(workload: Workload, packed: Packed) -> None:
    problem, plan, state = packed.problem, packed.plan, packed.state
    nodes, work = problem.sharing, state.work
    assert nodes is not None
    assert work is not None
    row = all_free.first_unfit(problem, plan, state, nodes, work)
    if row >= 0:
        placement = Placement(plan.placement).name.lower()
        raise InfeasibleError(
            f"Job {workload.id[row]}: {asks_in_words(workload, packed.asked, row)} fit on no nodes that placement "
            f"{placement!r} may take, even on the empty machine; drop it, or give it more, or larger, nodes."
        )
    if not nodes.counted.first.size:
        return
    row = all_free.first_over(problem, plan, state, nodes, work)
    if row >= 0:
        tasks, many = workload.tasks[row], counted(int(work.number[Number.FOUND]), "node")
        raise InfeasibleError(
            f"Job {workload.id[row]}: even on the empty machine its {tasks} tasks are given {many}, and its partition "
            "or a limit allows another number; drop it, change that, or give another choice of nodes (sharing=)."
        )


def prepared(
    workload: Workload,
    federation: Federation,
    policy: Policy,
    sharing: NodeSharing,
    reading: Reading,
    t0: float | None,
    running: RunningJobs | None = None,
    *,
    caps: Ints | None = None,
    as_known: bool = False,
    look: Callable[[], None] | None = None,
) -> SharedRun:
    """Return the run of a policy on shared nodes, at its begin; all downtimes of the federation name their nodes.

    `look` is called before a list heuristic binds each job; an exception that it raises ends the call.
    """
    if isinstance(policy, ListHeuristic):
        more: dict[str, Any] = {"caps": caps, "t0": t0, "running": running, "look": look}
        rules = bound_to_groups(policy, workload, federation, sharing, reading, **more)
    else:
        rules = policy.rules(reading.seen(workload), federation)
    apart = isinstance(policy, OnlinePolicy) and len(federation.groups) > 1
    how: dict[str, Any] = {"caps": caps, "running": running, "as_known": as_known}
    packed = pack(workload, federation, rules, sharing, reading, t0, apart=apart, **how)
    run = SharedRun(workload, federation, packed, sharing, reading, str(rules))
    run._again = partial(prepared, workload, federation, policy, sharing, reading, t0, **how)
    if isinstance(policy, OnlinePolicy):
        policy.planner(run)
    return run


def integrals_of(state: State) -> Integrals:
    """Return what is summed up over a run on shared nodes; what is not measured there is NaN."""
    return NOT_KNOWN._replace(saturated_seconds=float(state.clock[Clock.SATURATED_SECONDS]))


def schedule_of(
    workload: Workload,
    federation: Federation,
    sharing: NodeSharing,
    reading: Reading,
    problem: Problem,
    state: State,
    *,
    policy: str,
    interrupted: bool = False,
    replay: Callable[[], Simulation] | None = None,
) -> SharedSchedule:
    """Return the schedule of a run as its state is now.

    `interrupted`: the run is not over, and ends after now are unknown.
    """
    work = state.work
    assert work is not None
    now, notes, finish = float(state.clock[Clock.NOW]), [], np.array(state.finish)
    start, lost = np.where(cancelled_jobs(state) | held_jobs(state), np.nan, state.start), lost_in(state)
    if lost is not None:
        start[lost.killed] = np.nan
    done, jobs = int(state.counter[Counter.FINISHED]), problem.arrival.size + problem.running.size
    if interrupted:
        finish = np.where(finish <= now, finish, np.nan)
        notes.append(f"interrupted at {now:g} s: {done} of {counted(jobs, 'job')} finished")
    elif done < jobs:
        notes.append(unfinished_note(done, jobs))
    if workload.feedback is not None:
        workload = replace(workload, submit=actual_submits(workload, state, lost), after=replace_singletons(workload))
    return SharedSchedule(
        workload=workload,
        federation=federation,
        start=start,
        finish=finish,
        counts=np.where(np.isnan(start)[:, None], 0, state.counts),
        t0=problem.t0,
        reading=reading,
        policy=f"{policy}, {sharing}",
        integrals=integrals_of(state),
        lost=lost,
        notes=tuple(notes),
        until=now if interrupted else np.inf,
        replay=replay,
        played=Played(
            sharing,
            use_of(workload, federation, start, finish, work, federation.node_order),
            None if lost is None else use_of_lost(workload, federation, lost, work, federation.node_order),
        ),
    )


def use_of(
    workload: Workload,
    federation: Federation,
    start: Floats,
    finish: Floats,
    work: Work,
    numbers: Ints | None,
) -> NodeUse:
    """Return how many tasks of each job were on which node.

    `numbers` has the nodes' numbers in the federation; None if the order of nodes is the same.
    """
    begun = np.flatnonzero(~np.isnan(start))
    return _use(workload, federation, start, finish, work.held, work.held, begun, numbers)


def use_of_lost(
    workload: Workload, federation: Federation, lost: LostRuns, work: Work, numbers: Ints | None
) -> NodeUse:
    """Return how many tasks of each lost run were on which node; each run is a job of the NodeUse.

    `numbers` is as in `use_of`.
    """
    runs, rows = one_job_per_run(workload, lost.job), np.arange(lost.runs)
    return _use(runs, federation, lost.start, lost.end, work.gone, work.held, rows, numbers)


def _use(
    workload: Workload,
    federation: Federation,
    start: Floats,
    finish: Floats,
    where: Held | Gone,
    held: Held,
    rows: Ints,
    numbers: Ints | None,
) -> NodeUse:
    # `where` has, for each row (a job or a lost run), the first and the number of its pieces and devices in `held`.
    job, piece = _all_from(rows, where.first, where.pieces)
    of_device, part = _all_from(rows, where.first_device, where.devices)
    node, device_node = held.node[piece], held.device_node[part]
    if numbers is not None:
        node, device_node = numbers[node], numbers[device_node]
    order = np.lexsort((node, job))
    grants = np.stack([of_device, device_node, held.device[part], held.amount[part]], axis=1)
    return NodeUse(
        workload=workload,
        federation=federation,
        start=start,
        finish=finish,
        alone=layout_of(workload)[1],
        job=job[order],
        node=node[order],
        tasks=held.tasks[piece][order],
        devices=grants[np.lexsort((grants[:, 2], grants[:, 1], grants[:, 0]))],
    )


def _all_from(rows: Ints, first: Ints, count: Ints) -> tuple[Ints, Ints | slice]:
    # Returns, for the `count` entries of each row from `first` on, their rows and their indices; a slice if these are
    # consecutive.
    rows = rows[np.argsort(first[rows], kind="stable")]
    first, count = first[rows], count[rows]
    whose, before = np.repeat(rows, count), np.cumsum(count) - count
    if not rows.size or (first - before == first[0]).all():
        begin = int(first[0]) if rows.size else 0
        return whose, slice(begin, begin + whose.size)
    return whose, entries(first, count)
