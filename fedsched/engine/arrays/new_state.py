"""The State that a run works in: room for all that the event loop knows, and no more than its rules need."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.core.least_tree import places_for
from fedsched.engine.arrays.structs import (
    Classes,
    Closed,
    Draw,
    Ends,
    ExtraState,
    Heap,
    Limited,
    Lost,
    Packing,
    PoolsLeft,
    Profile,
    Queue,
    Rates,
    Scratch,
    State,
    Waiting,
)
from fedsched.engine.codes import LOOKAHEAD, CandidateRow, Needs, OnRunning, ReachRow, Saturation, Victims
from fedsched.engine.dispatch import earliest_start_bounds
from fedsched.engine.numbers import ClassNumber, Clock, ClosedNumber, ClosedTime, Counter, LostNumber, WaitingNumber
from fedsched.engine.optional_features.cancellations import Cancelled
from fedsched.engine.optional_features.holds import HeldJobs, Holds
from fedsched.engine.optional_features.moldable import Molded, moldable_of
from fedsched.engine.optional_features.power_caps import PowerCapState
from fedsched.engine.optional_features.power_states import Powered
from fedsched.engine.optional_features.reservation_queues import GENERAL_QUEUE, ReservationQueues
from fedsched.engine.profile import long_profile
from fedsched.engine.profile.breakpoints import BlockNumber, BlockRow, Blocks
from fedsched.engine.queue import candidate_index
from fedsched.engine.queue.class_tables import tables_size
from fedsched.engine.queue.classes import LONG_QUEUE
from fedsched.engine.queue.parked_jobs import ParkedJobs
from fedsched.engine.queue.queue_tree import ABSENT, NEVER
from fedsched.model.machine.node_ranges import MOST_SINGLE_NODES
from fedsched.model.power.switch_rates import RateState
from fedsched.model.schedule.node_stack import new_stacks

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Calendar, Extras, Floats, Ints, Limits, Problem
    from fedsched.engine.optional_features.moldable import Moldable
    from fedsched.engine.optional_features.reservation_queues import ReservationMembers


def _new_queue(jobs: int, *, with_durations: bool) -> Queue:
    leaves = places_for(jobs)
    return Queue(
        order=np.zeros(jobs, dtype=np.int64),
        position=np.zeros(jobs, dtype=np.int64),
        tasks=np.zeros(2 * leaves, dtype=np.int64),
        shortest=np.zeros(2 * leaves if with_durations else 0),
        key=np.zeros(jobs),
        members=np.zeros(2, dtype=np.int64),
    )


def _new_classes(jobs: int, groups: int, pools: int, needs: Needs, extras: Extras | None) -> Classes:
    # Pages that are never touched cost no memory. Classes know jobs by the nodes they take.
    room = jobs >= LONG_QUEUE and Needs.CLASSES in needs and (extras is None or not extras.standing.row.size)
    whole, other = tables_size(jobs, groups, pools) if room else (len(ClassNumber), 0)
    leaves = places_for(jobs) if groups + pools > 1 and Needs.CLASSES in needs else 0
    return Classes(
        number=np.zeros(whole, dtype=np.int64),
        other=np.empty(other),
        rooms=np.empty(candidate_index.index_size(leaves) if leaves else 0, dtype=np.int64),
    )


def _new_blocks(jobs: int, rows: int) -> Blocks:
    return Blocks(
        number=np.zeros(len(BlockNumber), dtype=np.int64),
        due=np.zeros(jobs, dtype=np.int64),
        place=np.zeros((len(BlockRow), rows // long_profile.BLOCK), dtype=np.int64),
        floor=np.zeros(earliest_start_bounds.TABLE_SIZE if rows else 0),
    )


def new_state(problem: Problem, *, needs: Needs, separate_backfill: bool) -> State:
    """Return the arrays that a run works in, with room for what its dispatch rules need."""
    jobs, groups, clusters = problem.submit.size, problem.groups.nodes.size, problem.groups.uplink.size
    if moldable_of(problem) is not None:
        needs |= Needs.ENDS | Needs.PROFILE
    planning, with_durations = Needs.PROFILE in needs, Needs.ENDS in needs
    # A running job has one breakpoint, a reservation two; pages that are never reached cost no memory.
    changes, replanned = 0, False  # anew at each pass
    if problem.extras is not None:
        # A search may make a change of a cap a breakpoint, and one of a job's shapes may take it.
        capped = problem.extras.ceilings.period.size > 0
        replanned = capped or problem.extras.saving.timeout.size > 0
        changes = problem.extras.calendar.change.size + (problem.extras.moldable.which.size if capped else 0)
    breakpoints = 2 * jobs + min(jobs, problem.nodes) + changes + 2 if planning else 0
    rows = breakpoints
    if groups == 1 and breakpoints >= long_profile.LONG_PROFILE and not replanned:
        rows = 2 * (breakpoints + long_profile.BLOCK)  # a block that is parted leaves two half as full
    queue = _new_queue(jobs, with_durations=with_durations)
    backfill = _new_queue(jobs, with_durations=with_durations) if separate_backfill else queue
    candidates, sums = (LOOKAHEAD, problem.nodes + 1) if Needs.PACKING in needs else (0, 0)
    if sums > MOST_SINGLE_NODES:
        raise InfeasibleError(
            f"Policies that fill all free nodes at best (lookahead) take at most {MOST_SINGLE_NODES:,} nodes, "
            f"and these are {problem.nodes:,}; take another policy."
        )
    return State(
        counter=np.zeros(len(Counter), dtype=np.int64),
        clock=np.zeros(len(Clock)),
        start=np.full(jobs, np.nan),
        finish=np.full(jobs, np.nan),
        planned_end=np.zeros(jobs),
        counts=np.zeros((jobs, groups), dtype=np.int64),
        shortest=np.zeros(jobs),
        rates=Rates(
            tc=np.ones(jobs),
            processing=np.ones(jobs),
            work_left=np.zeros(jobs),
            estimate_left=np.zeros(jobs),
            since=np.zeros(jobs),
            demand=np.zeros((jobs, clusters)),
            spanning=np.zeros(jobs, dtype=np.int64),
            share=np.zeros(jobs if problem.saturation == Saturation.FAIR else 0),
        ),
        heap=Heap(
            time=np.zeros(jobs),
            job=np.zeros(jobs, dtype=np.int64),
            place=np.zeros(jobs, dtype=np.int64),
            sequence=np.zeros(jobs, dtype=np.int64),
        ),
        ends=Ends(
            time=np.zeros(jobs),
            job=np.zeros(jobs, dtype=np.int64),
            released=np.zeros(jobs, dtype=np.int64),
        ),
        free=np.zeros(groups, dtype=np.int64),
        load=np.zeros(clusters),
        queue=queue,
        backfill=backfill,
        classes=_new_classes(
            jobs, groups, 0 if problem.extras is None else problem.extras.pools.amount.size, needs, problem.extras
        ),
        profile=Profile(
            time=np.zeros(rows),
            total=np.zeros(rows, dtype=np.int64),
            free=np.zeros((groups if groups > 1 else 0, rows), dtype=np.int64),
            load=np.zeros((rows, clusters)),
            reserved=np.zeros(jobs if planning else 0),
            promised=np.zeros((jobs if planning and groups > 1 else 0, groups), dtype=np.int64),
            untouched=np.zeros(jobs if planning and groups > 1 else 0),
            low=np.zeros(groups, dtype=np.int64),
            peak=np.zeros(clusters),
            blocks=_new_blocks(jobs if planning and groups == 1 else 0, rows if rows > breakpoints else 0),
        ),
        packing=Packing(
            candidate=np.zeros((len(CandidateRow), candidates), dtype=np.int64),
            reach=np.zeros((len(ReachRow), sums), dtype=np.int64),
        ),
        scratch=Scratch(
            chosen=np.zeros(groups, dtype=np.int64),
            extra=np.zeros(groups, dtype=np.int64),
            limited=np.zeros(groups, dtype=np.int64),
            mark=np.zeros(groups, dtype=np.int64),
            cluster_sum=np.zeros(clusters, dtype=np.int64),
            demand=np.zeros(clusters),
        ),
        extras=None if problem.extras is None else _extra_state(problem, problem.extras, rows, queue, backfill),
    )


def _all_on(problem: Problem, extras: Extras) -> Powered:
    groups = extras.saving.timeout.size
    most = int(problem.groups.nodes.max()) if groups else 0
    stacks = new_stacks(groups, most, 0, paced=extras.saving.rate.size > 0)
    promised = np.full(problem.submit.size if groups else 0, np.nan)
    scratch = {"pace": np.zeros(len(RateState)), "to_boot": np.zeros(stacks.to_boot.shape[1])}
    return Powered(stacks, promised, owed=np.zeros(groups, dtype=np.int64), noted=np.zeros(2), **scratch)


def _extra_state(problem: Problem, extras: Extras, breakpoints: int, queue: Queue, backfill: Queue) -> ExtraState:
    pools, jobs = extras.pools.amount.size, extras.precedence.conditions.size
    caps = extras.ceilings.period.size
    lookouts, groups = extras.calendar.lookout.size, problem.groups.nodes.size
    return ExtraState(
        pools=PoolsLeft(
            free=np.zeros(pools, dtype=np.int64),
            extra=np.zeros(pools, dtype=np.int64),
            held=np.zeros(pools, dtype=np.int64),
            planned=np.zeros((pools + (caps + 1 if caps else 0), breakpoints), dtype=np.int64),
        ),
        waiting=Waiting(
            open=np.zeros(jobs, dtype=np.int64),
            submitted=np.zeros(jobs),
            moment=np.zeros(jobs),
            number=np.zeros(len(WaitingNumber), dtype=np.int64),
            timer=np.zeros(jobs, dtype=np.int64),
            joined=np.zeros(jobs, dtype=np.int64),
            begun=np.zeros(jobs, dtype=np.int64),
            doomed=np.zeros(jobs, dtype=np.int64),
        ),
        closed=Closed(
            number=np.zeros(len(ClosedNumber), dtype=np.int64),
            owed=np.zeros(groups, dtype=np.int64),
            left=np.zeros((lookouts, groups), dtype=np.int64),
            low=np.zeros(groups, dtype=np.int64),
            head=np.zeros(groups, dtype=np.int64),
            head_until=np.zeros(1),
            beyond=np.zeros(groups, dtype=np.int64),
            back=np.zeros(groups, dtype=np.int64),
            time=np.full(len(ClosedTime), np.inf),
            holder=np.full(groups, GENERAL_QUEUE),
            last_end=np.zeros(2),
        ),
        lost=_nothing_lost(problem, extras.calendar),
        draw=_room_to_draw(problem, extras.calendar),
        limited=_nobody_limited(extras.limits, queue, separate=backfill is not queue),
        apart=_nobody_apart(extras.reserved, groups, queue, backfill),
        cancelled=Cancelled(
            number=np.zeros(1, dtype=np.int64),
            what=np.zeros(extras.cancellations.place.size, dtype=np.int64),
            busy=np.zeros(2),
        ),
        held=_nobody_held(extras.holds, jobs),
        molded=_as_they_come(extras.moldable, problem.groups.uplink.size),
        powered=_all_on(problem, extras),
        beneath=_nothing_taken(caps),
    )


def _nobody_held(holds: Holds, jobs: int) -> HeldJobs:
    return HeldJobs(np.zeros(1, dtype=np.int64), np.zeros(jobs if holds.first.size else 0, dtype=np.int64))


def _nothing_taken(caps: int) -> PowerCapState:
    none = np.zeros(caps, dtype=np.int64)
    return PowerCapState(
        taken=none,
        step=none.copy(),
        quiet=np.zeros(1),
        head=none.copy(),
        head_until=np.full(1, -np.inf),
        least=np.zeros(2, dtype=np.int64),
        until=np.zeros(1),
    )


def _as_they_come(moldable: Moldable, clusters: int) -> Molded:
    jobs, numbers, clusters = (moldable.first.size - 1, 2, clusters) if moldable.which.size else (0, 0, 0)
    return Molded(
        at=np.zeros(jobs, dtype=np.int64),
        tasks=np.zeros(jobs, dtype=np.int64),
        runtime=np.zeros(jobs),
        estimate=np.zeros(jobs),
        on_nodes=np.zeros(jobs if moldable.on_nodes.size else 0, dtype=np.int64),
        number=np.zeros(numbers, dtype=np.int64),
        load=np.zeros(clusters),
        true_load=np.zeros(clusters),
    )


def _nobody_apart(reserved: ReservationMembers, groups: int, queue: Queue, backfill: Queue) -> ReservationQueues:
    jobs = reserved.of_job.size
    tasks, shortest = _empty_trees(queue, jobs)
    others = (tasks, shortest) if backfill is queue else _empty_trees(backfill, jobs)
    return ReservationQueues(
        of_job=np.zeros(jobs, dtype=np.int64),
        waits=np.zeros(int(reserved.first[-1]), dtype=np.int64),
        number=np.zeros(reserved.end.size, dtype=np.int64),
        turn=np.full(2, GENERAL_QUEUE),
        tasks=tasks,
        shortest=shortest,
        backfill_tasks=others[0],
        backfill_shortest=others[1],
        classes=np.zeros(len(ClassNumber), dtype=np.int64),
        durations=np.zeros(0),
        free=np.zeros(groups, dtype=np.int64),
        owed=np.zeros(groups, dtype=np.int64),
    )


def _empty_trees(queue: Queue, jobs: int) -> tuple[Ints, Floats]:
    # As large as those of the queue, where any job is in a reservation.
    sizes = (queue.tasks.size, queue.shortest.size) if jobs else (0, 0)
    return np.full(sizes[0], ABSENT), np.full(sizes[1], NEVER)


def _nobody_limited(limits: Limits, queue: Queue, *, separate: bool) -> Limited:
    jobs, kinds, orders = limits.kind.size, max(limits.first.size - 1, 0), 2 if separate else 1
    places, nodes = (int(limits.first_place[-1]), int(limits.first_node[-1])) if kinds else (0, 0)
    return Limited(
        left=np.zeros(limits.amount.size, dtype=np.int64),
        kind=np.zeros(jobs, dtype=np.int64),
        over=np.zeros(kinds, dtype=np.int64),
        waiting=np.zeros(kinds, dtype=np.int64),
        sleepers=ParkedJobs(
            number=np.array([0, np.diff(limits.first_place).max(initial=0)]),
            what=np.zeros(jobs, dtype=np.int64),
            awake=np.zeros(kinds, dtype=np.int64),
            link=np.zeros((2, jobs), dtype=np.int64),
            place=np.zeros((orders, jobs), dtype=np.int64),
            member=np.zeros((orders, places), dtype=np.int64),
            tasks=np.zeros((orders, nodes), dtype=np.int64),
            shortest=np.zeros((orders, nodes if queue.shortest.size else 0)),
        ),
    )


def _nothing_lost(problem: Problem, calendar: Calendar) -> Lost:
    # A downtime takes no more jobs than it closes nodes.
    takes = calendar.on_running != OnRunning.WAIT
    runs = int(np.minimum(calendar.nodes[takes], problem.submit.size).sum())
    groups = problem.groups.nodes.size
    return Lost(
        number=np.zeros(len(LostNumber), dtype=np.int64),
        job=np.zeros(runs, dtype=np.int64),
        requeued=np.zeros(runs, dtype=np.int64),
        start=np.zeros(runs),
        end=np.zeros(runs),
        counts=np.zeros((runs, groups), dtype=np.int64),
        seconds=np.zeros(groups),
        until=np.full(1, -np.inf),
        more=np.zeros(1),
    )


def _room_to_draw(problem: Problem, calendar: Calendar) -> Draw:
    at_random = bool((calendar.victims == Victims.RANDOM).any())
    jobs, nodes = (problem.submit.size, int(problem.groups.nodes.max())) if at_random else (0, 0)
    return Draw(
        job=np.zeros(jobs, dtype=np.int64),
        hit=np.zeros(jobs, dtype=np.int64),
        node=np.zeros(nodes, dtype=np.int64),
    )
