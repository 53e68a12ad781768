"""SharedRun: a run on nodes that jobs share, and its schedule."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from typing import TYPE_CHECKING

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
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.sharing.asked import asks_in_words
from fedsched.engine.sharing.naming import with_names
from fedsched.engine.sharing.pack import pack
from fedsched.engine.sharing.result import Played, SharedSchedule
from fedsched.engine.sharing.trials import Trials
from fedsched.model.constraints.dependencies import replace_singletons
from fedsched.model.jobs.layout import layout_of
from fedsched.model.schedule.integrals import NOT_KNOWN
from fedsched.model.schedule.node_use import NodeUse
from fedsched.model.verify.lost_nodes_check import one_job_per_run
from fedsched.policies import OnlinePolicy

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.arrays.structs import Floats, Ints, Problem, State
    from fedsched.engine.run.simulation import Planner
    from fedsched.engine.shared_nodes.arrays import Gone, Held, Sharing, Work
    from fedsched.engine.sharing.noun import NodeSharing
    from fedsched.engine.sharing.pack import Packed
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.lost import LostRuns
    from fedsched.policies import Policy

NOTHING_SATURATES = NOT_KNOWN._replace(saturated_seconds=0.0)


class SharedRun(Simulation):
    """A run over nodes that jobs share, resumable at any instant."""

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
        """Return the shared nodes, and which jobs are alike on them."""
        assert self.problem.sharing is not None
        return self.problem.sharing

    @property
    def work(self) -> Work:
        """Return what is free on the nodes now, and what jobs hold."""
        assert self.state.work is not None
        return self.state.work

    def consult(self, planner: Planner, *, jobs: int) -> None:
        """Register a planner as `Simulation.consult` does."""
        empty = Trials(self.problem, self.nodes, self.state.shortest)
        self._limits = empty.rooms()
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
        """Go on from what the state, and what is held, say: what is free, and who waits in which order, follows."""
        all_free.take_up(self.state, self.nodes, self.work)
        self._line_up(self.in_queue_order(self.queued()))

    def schedule(self) -> SharedSchedule:
        """Return the schedule so far: all starts until now, and the ends by now; of a finished run, all ends."""
        return schedule_of(
            self.actual, self.federation, self.sharing, self.reading, self.problem, self.state,
            policy=self.description, interrupted=not self.done,
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
            f"Job {workload.id[row]}: even on the empty machine its {tasks} tasks are given {many}, which is more than "
            "its partition or a limit allows; drop it, give wider limits, or another choice of nodes (sharing=)."
        )


def scheduled(
    workload: Workload,
    federation: Federation,
    policy: Policy,
    sharing: NodeSharing,
    reading: Reading,
    *,
    t0: float | None = None,
    as_known: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> SharedSchedule:
    """Return what comes of a policy on shared nodes, or of what there was until Ctrl-C.

    `as_known`: what is expected at its begin, by the downtimes that are known then [48].
    """
    federation = with_names(federation)
    rules, plans = policy.rules(reading.seen(workload), federation), isinstance(policy, OnlinePolicy)
    apart = plans and len(federation.groups) > 1
    packed = pack(workload, federation, rules, sharing, reading, t0, apart=apart, as_known=as_known)
    run = SharedRun(workload, federation, packed, sharing, reading, str(rules))
    if isinstance(policy, OnlinePolicy):
        policy.planner(run)
    with suppress(KeyboardInterrupt):
        run.advance(progress=progress)
    return run.schedule()


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
) -> SharedSchedule:
    """Return what a run has started, and when it ended."""
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
        integrals=NOTHING_SATURATES,
        lost=lost,
        notes=tuple(notes),
        until=now if interrupted else np.inf,
        played=Played(
            sharing,
            use_of(workload, federation, start, finish, work, federation.node_order),
            None if lost is None else _use_of_lost(workload, federation, lost, work),
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
    """Return which tasks of each job were on which node; `numbers` of nodes that were played in another order."""
    begun = np.flatnonzero(~np.isnan(start))
    return _use(workload, federation, start, finish, work.held, work.held, begun, numbers)


def _use_of_lost(workload: Workload, federation: Federation, lost: LostRuns, work: Work) -> NodeUse:
    """Return which tasks of each lost run were on which node: a row of jobs is one of runs there."""
    runs, rows = one_job_per_run(workload, lost.job), np.arange(lost.runs)
    return _use(runs, federation, lost.start, lost.end, work.gone, work.held, rows, federation.node_order)


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
    # `where` says which of the pieces and devices that are held are those of a row.
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
    # So many places from the first one of each row: whose they are, and which, all at once where none is between.
    rows = rows[np.argsort(first[rows], kind="stable")]
    first, count = first[rows], count[rows]
    whose, before = np.repeat(rows, count), np.cumsum(count) - count
    if not rows.size or (first - before == first[0]).all():
        begin = int(first[0]) if rows.size else 0
        return whose, slice(begin, begin + whose.size)
    return whose, np.arange(whose.size) + np.repeat(first - before, count)
