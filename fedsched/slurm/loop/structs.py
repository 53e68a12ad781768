"""What Slurm's event loop works on, as arrays: jobs in the order of their submission, node sets as 64-bit words."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Words = NDArray[np.uint64]

    from fedsched.slurm.nodes.node_sizes import Sizes
    from fedsched.slurm.nodes.shared_nodes import Shared
    from fedsched.slurm.priority.priorities import Priorities


NEVER = 2**62


class By(IntEnum):
    """Who started a job."""

    NOBODY = 0
    MAIN = 1
    BACKFILL = 2


class Setting(IntEnum):
    """The parameters of both passes, as places of an array; times in seconds."""

    CONS_TRES = 0
    MAIN = 1
    BACKFILL = 2
    SCHED_INTERVAL = 3
    BATCH_SCHED_DELAY = 4
    DEFAULT_QUEUE_DEPTH = 5
    BF_INTERVAL = 6
    BF_RESOLUTION = 7
    BF_WINDOW = 8
    BF_WINDOW_LINEAR = 9
    BF_MAX_JOB_TEST = 10
    BF_MAX_JOB_USER = 11
    BF_MAX_JOB_PART = 12
    BF_MAX_JOB_START = 13
    BF_MIN_AGE_RESERVE = 14
    BF_MAX_TIME = 15
    OVERDUE = 16  # KillWait + OverTimeLimit
    EPOCH = 17  # at second 0
    PHASE = 18
    TIMED = 19  # whether passes take time
    RATE = 20  # tests a second, where they do
    OWN_CLOCK = 21  # 0: the times of the backfill passes are given
    BF_MAX_JOB_ARRAY_RESV = 22
    BF_MIN_PRIO_RESERVE = 24
    BF_JOB_PART_COUNT_RESERVE = 25
    BF_MAX_JOB_ASSOC = 26
    BF_MAX_JOB_USER_PART = 27
    PARTITION_JOB_DEPTH = 28
    SCHED_MAX_JOB_START = 29
    ASSOC_LIMIT_STOP = 30
    BEGIN = 31  # the second in which the clocks begin
    BASE = 32  # the second of the workload that is second 0
    REQUEUED = 33  # seconds for which a job waits that is queued again
    FIFO = 23  # jobs go by the list that they stand in: no backfill, no priorities, one tier


class Counter(IntEnum):
    """What the loop counts, as places of an array; the times are seconds."""

    NOW = 0
    ARRIVED = 1
    WAITING = 2
    RUNNING = 3
    EVENTS = 4
    FINISHED = 5
    LAST_MAIN = 6
    WANTED_MAIN = 7
    NEXT_MAIN = 8
    NEXT_BACKFILL = 9
    LAST_BACKFILL = 10
    CHANGED = 11
    RECORDS = 12
    PASSES = 13
    TESTS = 14
    GIVEN = 15  # passes of a recording that have been made
    BLOCKED_UNTIL = 16
    GONE = 17  # who left, or waits for what cannot happen, and was never started
    CANCELLED = 18  # of those whose time to leave has come, in the order of these times
    TIMERS = 19
    EDGES = 20  # moments that have come at which a window becomes known, begins or ends
    VISIBLE = 21  # windows that are known of and not over
    LAST_FULL = 22  # main pass over all
    HELD = 23  # holds whose begins have come
    RELEASED = 24  # and whose ends
    NUMBERED = 25  # what the next job is that is submitted or released, to priority/basic
    LOST = 27  # runs that downtimes have ended
    TAKEN = 28  # downtimes that have taken nodes from jobs
    COMING = 26  # jobs that follow others, with submits that are known and to come


@by_reference
class Jobs(NamedTuple):
    """The jobs, in the order of submit, then id: that of their numbers in Slurm."""

    submit: Ints  # the second in which a job is seen first; NEVER: the end of another job decides [45]
    by_submit: Ints  # the jobs with submits that are known beforehand, by these
    earliest: Ints  # and in which it may start at the earliest, by its own wish and its reservation
    tasks: Ints
    limit: Ints
    planned: Ints  # seconds that were asked for: limits are of whole minutes
    runtime: Ints  # whole seconds, until its end is seen
    charged: Ints  # whole seconds that it has run by then: its end is in the second before where that is within one
    completing: Ints  # seconds that its nodes stay busy after its end
    user: Ints
    association: Ints
    partition: Ints
    reserves: Ints  # whether backfill may reserve nodes for it
    nodes: Ints  # which of the node sets it may have
    reservation: Ints  # -1: none
    record: Ints  # the first task of its array's record; its own number where it stands alone
    successor: Ints  # the next task of that record; -1: it is the last; both as the jobs are submitted
    cancel: Ints  # the second in which it leaves unless it has started
    by_cancel: Ints  # those who have such a time, by it


@by_reference
class Conditions(NamedTuple):
    """Who waits for what of whom: follower after follower of each job."""

    first: Ints
    follower: Ints
    awaits: Ints
    lag: Ints
    moves: Ints  # 1: the end decides when the follower is submitted
    open: Ints  # of each job, its submit among them
    end: Ints  # how each job ends


@by_reference
class Feedback(NamedTuple):
    """What decides the submits of jobs that follow others [45]: each job's think time, run time and cancellation.

    Times are exact seconds, of the workload's clock. The arrays are empty if no job follows another, and no downtime
    takes nodes from jobs.
    """

    think: Floats
    runtime: Floats
    cancel: Floats
    end: Floats  # of jobs that run at the begin; NaN for others


@by_reference
class Holds(NamedTuple):
    """When jobs are held, job after job, each one's in order; where nobody is of no size."""

    first: Ints
    begin: Ints
    end: Ints
    job: Ints  # whose each is
    by_begin: Ints  # the holds in the order in which they begin
    by_end: Ints  # and end


@by_reference
class Windows(NamedTuple):
    """Stretches of time in which nodes are closed, but to the jobs of a reservation; all times are seconds."""

    nodes: Words  # window × word
    begin: Ints
    end: Ints
    planned_end: Ints  # NEVER where nobody knows it
    known: Ints
    reservation: Ints  # -1: nobody's
    broken: Ints  # whether nodes are down, and no reservation
    taking: Ints  # the windows that take nodes from running jobs, in the order in which they do
    hit: Ints  # the second of that: the first that is not before the exact begin
    exact: Floats  # their begins, on the workload's clock
    kills: Ints  # 1: their jobs are killed; 0: queued again
    edges: Ints
    begins: Ints  # of each reservation, for its own jobs
    ends: Ints


@by_reference
class Limits(NamedTuple):
    """How much of what runs at a time, and which job takes how much of it."""

    amount: Ints
    first: Ints
    counter: Ints
    weight: Ints
    binds: Ints  # 0: it counts, but another limit goes before this one
    array: Ints  # of each job, the counter of its array; -1: none
    kind: Ints  # 0: of arrays and the federation; of accounts 1: of jobs, 2: of what they have


@by_reference
class Machine(NamedTuple):
    """The nodes, and sets of them."""

    sets: Words  # set × word: which nodes jobs of some kind may have
    partitions: Words  # partition × word
    tier: Ints  # of each partition
    weight: Ints  # of each node
    lines: Words  # line × word: the NodeName lines of the conf, those of the least weight first


@by_reference
class Passes(NamedTuple):
    """When passes are, where that is given, and how many jobs each of backfill has tested as seconds turn in it."""

    second: Ints
    first: Ints  # of each pass, the place of its first turn; of no size where nothing is known of any but its second
    tested: Ints
    most: Ints  # how many jobs each tests before it breaks off
    full: Ints  # when the main passes over all jobs are, where that is given


@by_reference
class Initial(NamedTuple):
    """The jobs that run at the begin, in the order of their starts: their seconds of start, and their nodes."""

    job: Ints
    start: Ints
    nodes: Words  # running job × word


@by_reference
class Problem(NamedTuple):
    """Jobs, nodes, the parameters, and the times of the backfill passes where they are given."""

    jobs: Jobs
    machine: Machine
    conditions: Conditions
    feedback: Feedback
    initial: Initial
    holds: Holds
    windows: Windows
    limits: Limits
    settings: Ints
    passes: Passes
    sizes: Sizes | None = None  # None: no job's nodes are as many as their CPUs make them


@by_reference
class Waiting(NamedTuple):
    """What jobs wait for before they are in the queue, and since when they might start."""

    open: Ints
    moment: Ints
    begun: Ints  # 1: it has been started, and may have lost that run
    gone: Ints
    timer: Ints  # a heap of jobs, by their moments
    submitted: Ints  # the second of each job's submit; NEVER: it is not known yet
    coming: Ints  # a heap of jobs that follow others, by their submits
    doomed: Ints
    record: Ints  # a job that is queued again is a record of its own from then on: its number + that of all jobs
    successor: Ints
    shown: Ints  # of each record, the task that stands in the queue; -1: none
    since: Ints  # when the record came into Slurm's list
    inside: Ints  # 1: it waits in the queue, or stands behind a task there
    away: Ints  # 1: it did, and is held
    limited: Ints  # 1: it was over a limit of accounts when it was last looked at


@by_reference
class Lost(NamedTuple):
    """The runs that downtimes have ended, in order: their jobs, seconds of start, nodes, and downtimes."""

    job: Ints
    start: Ints
    window: Ints
    nodes: Words
    end: Floats  # of each job: when it was killed, or its end if it ran at the begin and that was given; NaN: neither


@by_reference
class Running(NamedTuple):
    """The jobs that run, by start + limit, and the heap of what happens to them."""

    end: Ints
    job: Ints
    time: Ints  # of the heap
    what: Ints  # 2 × job: its end; 2 × job + 1: its nodes are free


@by_reference
class Table(NamedTuple):
    """A backfill pass's records: from when until when which nodes are left."""

    begin: Ints
    end: Ints
    left: Words


@by_reference
class Scratch(NamedTuple):
    """Node sets and lists that the passes work in."""

    usable: Words
    free: Words
    within: Words
    chosen: Words
    blocks: Words
    withdrawn: Words
    failed: Ints  # of each partition
    failed_in: Ints  # of each reservation
    line: Words
    of_user: Ints
    of_association: Ints
    of_partition: Ints
    of_user_there: Ints  # user × partition
    reserved_in: Ints  # each partition
    idle: Ints  # of each node set, how many were idle as the pass began; -1: nobody has asked
    queue: Ints


@by_reference
class State(NamedTuple):
    """A run: who waits in which order, who runs where, and what came of it."""

    counter: Ints
    queue: Ints
    priorities: Priorities
    waiting: Waiting
    left: Ints  # of each limit
    visible: Ints  # windows
    start: Floats  # whole seconds; NaN: it waits, or is not there yet
    by: Ints
    held: Words  # job × word
    span: Ints  # job × 2: the first of these words that has nodes, and the one behind the last
    busy: Words
    completing: Words
    running: Running
    lost: Lost
    table: Table
    scratch: Scratch
    shared: Shared | None  # None: nodes are given whole


def new_state(problem: Problem, priorities: Priorities, shared: Shared | None = None) -> State:
    """Return the state of a run that has not begun."""
    jobs, machine = problem.jobs, problem.machine
    many, words, nodes = jobs.tasks.size, machine.sets.shape[1], machine.weight.size
    # A pass makes at most one reservation for every test that is counted: two records more.
    tests = int(problem.settings[Setting.BF_MAX_JOB_TEST])
    if (jobs.successor >= 0).any():  # an array may have several
        tests *= max(1, int(problem.settings[Setting.BF_MAX_JOB_ARRAY_RESV]))
    records = 4 + 2 * min(many, tests)
    users = int(jobs.user.max(initial=0)) + 1
    taken = np.ascontiguousarray(problem.windows.nodes[problem.windows.taking])
    hits = int(np.unpackbits(taken.view(np.uint8)).sum())  # at most one job a node, unless jobs share nodes
    hits = hits if shared is None else shared.work.gone.first.size

    def ints(size: int, value: int = 0) -> Ints:
        return np.full(size, value, dtype=np.int64)

    def sets(*shape: int) -> Words:
        return np.zeros(shape, dtype=np.uint64)

    partitions, running = machine.tier.size, (nodes if shared is None else many) + 1
    return State(
        counter=ints(len(Counter)),
        queue=ints(many),
        priorities=priorities,
        waiting=Waiting(
            open=problem.conditions.open.copy(),
            moment=np.where(jobs.submit < NEVER, np.maximum(jobs.submit, jobs.earliest), jobs.earliest),
            begun=ints(many),
            gone=ints(many),
            timer=ints(many),
            submitted=jobs.submit.copy(),
            coming=ints(problem.feedback.think.size),
            doomed=ints(many),
            record=jobs.record.copy(),
            successor=jobs.successor.copy(),
            shown=ints(2 * many, -1),
            since=jobs.submit.copy(),
            inside=ints(many if problem.holds.first.size else 0),
            away=ints(many if problem.holds.first.size else 0),
            limited=ints(many),
        ),
        left=problem.limits.amount.copy(),
        visible=ints(problem.windows.begin.size),
        start=np.full(many, np.nan),
        by=ints(many),
        held=sets(many, words),
        span=np.zeros((many, 2), dtype=np.int64),
        busy=sets(words),
        completing=sets(words),
        running=Running(ints(running), ints(running), ints(running), ints(running)),
        lost=Lost(ints(hits), ints(hits), ints(hits), sets(hits, words), problem.feedback.end.copy()),
        table=Table(ints(records), ints(records), sets(records, words)),
        scratch=Scratch(
            usable=sets(words),
            free=sets(words),
            within=sets(words),
            chosen=sets(words),
            blocks=sets(words),
            withdrawn=sets(words),
            failed=ints(partitions),
            failed_in=ints(problem.windows.begins.size),
            line=sets(words),
            of_user=ints(users),
            of_association=ints(int(jobs.association.max(initial=0)) + 1),
            of_partition=ints(partitions),
            of_user_there=ints(users * partitions),
            reserved_in=ints(partitions),
            idle=ints(machine.sets.shape[0]),
            queue=ints(many),
        ),
        shared=shared,
    )
