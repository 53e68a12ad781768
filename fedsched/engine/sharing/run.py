"""SharedRun: a workload through the event loop of shared nodes, from nouns to a schedule."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError, ScheduleError
from fedsched.core.text import counted
from fedsched.engine.codes import Dispatch, Placement, Status
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.pack.shape_arrays import read_only
from fedsched.engine.run.decisions import queued_rows
from fedsched.engine.run.simulation import (
    actual_submits,
    cancelled_jobs,
    held_jobs,
    joined_in,
    lost_in,
    running_in,
    submits_in,
    unfinished_note,
)
from fedsched.engine.sharing import loop
from fedsched.engine.sharing.arrays import Number
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
    from collections.abc import Callable, Sequence

    from fedsched.engine.arrays.structs import Floats, Ints, Problem, RunningJobs, State
    from fedsched.engine.run.simulation import Planner
    from fedsched.engine.sharing.arrays import Gone, Held, Work
    from fedsched.engine.sharing.noun import NodeSharing
    from fedsched.engine.sharing.pack import Packed
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.lost import LostRuns
    from fedsched.policies import Policy

SLICE = 2_000  # instants between two looks at Ctrl-C and progress
NOTHING_SATURATES = NOT_KNOWN._replace(saturated_seconds=0.0)


class SharedRun:
    """A run over nodes that jobs share, that can be looked at, and be given other plans on the way."""

    def __init__(
        self, workload: Workload, federation: Federation, packed: Packed, sharing: NodeSharing, reading: Reading
    ) -> None:
        self.actual, self.federation, self.sharing, self.reading = workload, federation, sharing, reading
        self.problem, self.plan, self.state, self.work = packed.problem, packed.plan, packed.state, packed.work
        self.nodes = packed.sharing
        row = loop.first_unfit(self.problem, self.plan, self.state, self.nodes, self.work)
        if row >= 0:
            placement = Placement(self.plan.placement).name.lower()
            raise InfeasibleError(
                f"Job {workload.id[row]}: {asks_in_words(workload, packed.asked, row)} fit on no nodes that placement "
                f"{placement!r} may take, even on the empty machine; drop it, or give it more, or larger, nodes."
            )
        if self.nodes.counted.first.size:
            self._refuse_jobs_over_node_limits()
        loop.begin(self.problem, self.plan, self.state, self.nodes, self.work)
        self._jobs = self.problem.arrival.size + self.problem.running.size  # others wait for what cannot happen
        self._over = False  # where closures keep jobs from ever starting, all else has happened
        self.planner: Planner | None = None

    def _refuse_jobs_over_node_limits(self) -> None:
        row = loop.first_over(self.problem, self.plan, self.state, self.nodes, self.work)
        if row >= 0:
            tasks, many = self.actual.tasks[row], counted(int(self.work.number[Number.FOUND]), "node")
            raise InfeasibleError(
                f"Job {self.actual.id[row]}: even on the empty machine its {tasks} tasks are given {many}, which "
                "is more than its partition or a limit allows; drop it, give wider limits, or another choice of nodes "
                "(sharing=)."
            )

    @cached_property
    def workload(self) -> Workload:
        """Return the jobs as the policy may know them: estimates are run times if these are known."""
        return self.reading.seen(self.actual)

    @property
    def time(self) -> float:
        """Return the clock of the run."""
        return float(self.state.clock[Clock.NOW])

    @property
    def done(self) -> bool:
        """Return whether every job has finished, or has nothing more to wait for."""
        return int(self.state.counter[Counter.FINISHED]) == self._jobs or self._over

    def to_the_end(self, progress: Callable[[int, int], None] | None = None) -> None:
        """Go on until every job has finished."""
        problem, state = self.problem, self.state
        while True:
            if self.planner is not None and state.counter[Counter.PASS_DUE] == 1:
                self.planner.replan(self)  # type: ignore[arg-type]
            status = loop.run(problem, self.plan, state, self.nodes, self.work, SLICE)
            if progress is not None:
                progress(int(state.counter[Counter.FINISHED]), self._jobs)
            if status == Status.DONE:
                return
            if status == Status.STUCK:
                if self.federation.calendar:
                    self._over = True
                    return
                raise ScheduleError(
                    f"At {self.time:g} s no queued job can ever start although no job runs: please report this "
                    "workload, it should have been refused."
                )

    # ---- new plans on the way -----------------------------------------------------------------------------------

    def consult(self, planner: Planner, *, jobs: int) -> None:
        """Ask a planner before every pass that may start something; its plans bind at most so many jobs by caps."""
        empty = Trials(self.problem, self.nodes, self.state.shortest)
        self._limits = empty.rooms()
        self._placements = empty.placements(self._limits)
        room = np.zeros((jobs, self.plan.caps.shape[1]), dtype=np.int64)
        self.plan = self.plan._replace(
            caps=np.concatenate([self.plan.caps[:1], room]), cap_row=np.zeros_like(self.plan.cap_row)
        )
        self._leaf = np.array(self.nodes.leaf)
        self.nodes = self.nodes._replace(leaf=read_only(self._leaf))
        self.planner = planner
        self.state.counter[Counter.ASKS] = 1

    def queued(self) -> Ints:
        """Return the jobs that wait in everybody's queue now, in the order of their arrival."""
        return self._waiting(apart=False)

    def _waiting(self, *, apart: bool) -> Ints:
        # In everybody's queue, or in those of reservations.
        arrived = self.joined()
        waits = np.isnan(self.state.start[arrived])
        of_job = None if self.problem.extras is None else self.problem.extras.reserved.of_job
        if of_job is None or not of_job.size:
            return np.zeros(0, dtype=np.int64) if apart else arrived[waits]
        return arrived[waits & ((of_job[arrived] >= 0) == apart)]

    def joined(self) -> Ints:
        """Return the jobs that have joined the queue, in the order in which they did."""
        return joined_in(self.problem, self.state)

    def in_queue_order(self, jobs: Ints) -> Ints:
        """Return queued jobs in the order in which the queue holds them."""
        return jobs[np.argsort(self.state.queue.position[jobs])]

    def submits(self, jobs: Ints) -> Floats:
        """Return when these jobs were submitted, those that follow others too if they have been [45]."""
        return submits_in(self.problem, self.state)[jobs]

    def limits(self, jobs: Ints) -> Ints:
        """Return how many tasks of these jobs each group takes at most, jobs x groups, whatever a plan says."""
        return self._limits[jobs]

    def placements(self) -> Ints:
        """Return the placement rules under which every job fits somewhere while all nodes are free."""
        return self._placements

    def follow(self, planned: Ints, caps: Ints, behind: Ints, *, dispatch: int, placement: int) -> None:
        """Go on with this plan: queued jobs in their new order, each with caps, and the other queued jobs behind."""
        rows = np.arange(1, 1 + planned.size)
        self.plan.caps[rows] = caps
        self.plan.cap_row[planned] = rows
        self.plan.cap_row[behind] = 0
        self.plan = self.plan._replace(dispatch=int(Dispatch(dispatch)), placement=int(Placement(placement)))
        self._line_up(np.concatenate([planned, behind]))

    def line_up(self, jobs: Ints | Sequence[int]) -> None:
        """Put these queued jobs into this order, within the places that they hold in the queue.

        Raise if a row is given twice or is not of `queued()`.
        """
        self._line_up(queued_rows(jobs, self.queued()))

    def _line_up(self, jobs: Ints) -> None:
        by_kind = jobs[np.argsort(self.nodes.kinds.of_job[jobs], kind="stable")]
        self._leaf[by_kind] = np.sort(self._leaf[by_kind])
        places = np.sort(self.state.queue.position[jobs])
        others = self._waiting(apart=True)
        loop.line_up_anew(self.problem, self.plan, self.state, self.nodes, self.work, jobs, places, others)

    def take_up(self) -> None:
        """Go on from what the state, and what is held, say: what is free, and who waits in which order, follows."""
        loop.take_up(self.state, self.nodes, self.work)
        self._line_up(self.in_queue_order(self.queued()))

    def running(self) -> RunningJobs:
        """Return the jobs that run now."""
        return running_in(self.state)

    def schedule(self, policy: str) -> SharedSchedule:
        """Return what has been started until now, and when it ended."""
        return schedule_of(
            self.actual, self.federation, self.sharing, self.reading, self.problem, self.state, self.work,
            policy=policy, interrupted=not self.done,
        )  # fmt: skip


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
    run = SharedRun(workload, federation, packed, sharing, reading)
    if isinstance(policy, OnlinePolicy):
        policy.planner(run)  # type: ignore[arg-type]
    with suppress(KeyboardInterrupt):
        run.to_the_end(progress)
    return run.schedule(str(rules))


def schedule_of(
    workload: Workload,
    federation: Federation,
    sharing: NodeSharing,
    reading: Reading,
    problem: Problem,
    state: State,
    work: Work,
    *,
    policy: str,
    interrupted: bool = False,
) -> SharedSchedule:
    """Return what a run has started, and when it ended."""
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
