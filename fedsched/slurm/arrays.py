"""What Slurm's event loop works on, as arrays: jobs in the order of their submission, node sets as 64-bit words."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]
    Floats = NDArray[np.float64]
    Words = NDArray[np.uint64]

    from fedsched.slurm.priorities import Priorities


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


class Jobs(NamedTuple):
    """The jobs, in the order of submit, then id: that of their numbers in Slurm."""

    eligible: Ints  # the second in which a job may be started first
    by_eligible: Ints
    tasks: Ints
    limit: Ints
    runtime: Ints  # whole seconds, until its end is seen
    completing: Ints  # seconds that its nodes stay busy after its end
    user: Ints
    partition: Ints
    nodes: Ints  # which of the node sets it may have


class Machine(NamedTuple):
    """The nodes, and sets of them."""

    sets: Words  # set × word: which nodes jobs of some kind may have
    partitions: Words  # partition × word
    tier: Ints  # of each partition
    weight: Ints  # of each node


class Problem(NamedTuple):
    """Jobs, nodes, the parameters, and the times of the backfill passes where they are given."""

    jobs: Jobs
    machine: Machine
    settings: Ints
    passes: Ints


class Running(NamedTuple):
    """The jobs that run, by start + limit, and the heap of what happens to them."""

    end: Ints
    job: Ints
    time: Ints  # of the heap
    what: Ints  # 2 × job: its end; 2 × job + 1: its nodes are free


class Table(NamedTuple):
    """A backfill pass's records: from when until when which nodes are left."""

    begin: Ints
    end: Ints
    left: Words


class Scratch(NamedTuple):
    """Node sets and lists that the passes work in."""

    usable: Words
    free: Words
    within: Words
    chosen: Words
    blocks: Words
    withdrawn: Words
    failed: Ints  # of each partition
    of_user: Ints
    of_partition: Ints
    queue: Ints
    smallest: Ints


class State(NamedTuple):
    """A run: who waits in which order, who runs where, and what came of it."""

    counter: Ints
    queue: Ints
    priorities: Priorities
    start: Floats  # whole seconds; NaN: it waits, or is not there yet
    by: Ints
    held: Words  # job × word
    busy: Words
    completing: Words
    running: Running
    table: Table
    scratch: Scratch


def new_state(problem: Problem, priorities: Priorities) -> State:
    """Return the state of a run that has not begun."""
    jobs, machine = problem.jobs, problem.machine
    many, words, nodes = jobs.tasks.size, machine.sets.shape[1], machine.weight.size
    # A pass makes at most one reservation for every test that is counted: two records more.
    records = 4 + 2 * min(many, int(problem.settings[Setting.BF_MAX_JOB_TEST]))
    users = int(jobs.user.max(initial=0)) + 1

    def ints(size: int, value: int = 0) -> Ints:
        return np.full(size, value, dtype=np.int64)

    def sets(*shape: int) -> Words:
        return np.zeros(shape, dtype=np.uint64)

    partitions = machine.tier.size
    return State(
        counter=ints(len(Counter)),
        queue=ints(many),
        priorities=priorities,
        start=np.full(many, np.nan),
        by=ints(many),
        held=sets(many, words),
        busy=sets(words),
        completing=sets(words),
        running=Running(ints(nodes + 1), ints(nodes + 1), ints(nodes + 1), ints(nodes + 1)),
        table=Table(ints(records), ints(records), sets(records, words)),
        scratch=Scratch(
            usable=sets(words),
            free=sets(words),
            within=sets(words),
            chosen=sets(words),
            blocks=sets(words),
            withdrawn=sets(words),
            failed=ints(partitions),
            of_user=ints(users),
            of_partition=ints(partitions),
            queue=ints(many),
            smallest=ints(many),
        ),
    )
