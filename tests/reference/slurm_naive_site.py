"""What Slurm's naive reference is about: jobs, windows in which nodes are closed, and what a slurm.conf says."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

FOREVER = 10**9


@dataclass(eq=False)
class Job:
    submit: int
    earliest: int
    tasks: int
    limit: int
    planned: int
    runtime: int
    completing: int
    user: int
    partition: int
    may: frozenset[int]
    reservation: int | None = None
    after: list[tuple[str, Job, int]] = field(default_factory=list)
    ends: str = "well"  # badly, cancelled
    cancel: int | None = None
    array: str = ""
    limits: dict[int, int] = field(default_factory=dict)  # what it takes of each
    account: str = ""
    qos: str = ""
    priority: int = 0
    start: int | None = None
    by: str = ""
    nodes: frozenset[int] = frozenset()
    since: int = 0  # in the list
    moment: int = 0  # since when it may start
    gone: int | None = None  # when it was cancelled, or could never start
    held: tuple[tuple[int, int], ...] = ()  # from when until when, in order
    nice: int = 0
    aged: float = 0.0  # seconds that it had waited as it is first eligible
    number: int = 0  # to priority/basic
    cpus: int = 0  # where nodes are shared, all that its tasks take
    least: int = 0  # and on how many nodes it is at least
    limited: bool = False  # it was over a limit of accounts when it was last looked at
    follows: Job | None = None  # and how long its user thinks after that one's end
    think: float = 0.0
    length: float = 0.0  # seconds that it runs, and when it is cancelled, exactly
    leaves_at: float = 0.0
    over: float | None = None  # and its end, if it runs from the begin on
    alone: bool = False  # it is queued again, and no longer part of its array's record
    begun: int | None = None  # its first start
    spared: bool = False  # it ran when it was to be cancelled
    killed: float | None = None  # when, exactly
    lost: list[tuple[int, float, frozenset[int], bool]] = field(default_factory=list)  # start, end, nodes, again
    freed: int | None = None  # when it is, or was, let go by a hold that took it out of the queue

    def released(self, moment: int) -> int:
        """Return the first second from one on in which it is not held."""
        while now := next((end for begin, end in self.held if begin <= moment < end), 0):
            moment = now
        return moment


@dataclass
class Window:
    """Nodes that are closed; whose end nobody knows, it is endless until it comes."""

    nodes: frozenset[int]
    begin: int
    end: int
    planned_end: int
    known: int
    reservation: int | None
    broken: bool
    becomes: str = "wait"  # what it makes of jobs on its nodes
    exact: float = 0.0


@dataclass
class Site:
    """What a slurm.conf says, in seconds; partitions are sets of nodes with their tiers."""

    nodes: int
    partitions: list[frozenset[int]]
    tiers: list[int]
    weights: list[int]
    backfill: bool = True
    cons_tres: bool = False
    sched_interval: int = 60
    batch_sched_delay: int = 3
    default_queue_depth: int = 100
    bf_interval: int = 30
    bf_resolution: int = 60
    bf_window: int = 86_400
    bf_window_linear: int = 0
    bf_max_job_test: int = 500
    bf_max_job_user: int = 0
    bf_max_job_part: int = 0
    bf_max_job_start: int = 0
    bf_max_job_array_resv: int = 20
    bf_min_age_reserve: int = 0
    bf_min_prio_reserve: int = 0
    bf_job_part_count_reserve: int = 0
    bf_max_job_assoc: int = 0
    bf_max_job_user_part: int = 0
    partition_job_depth: int = 0
    sched_max_job_start: int = 0
    limits_stop: bool = False
    qos: dict[str, dict[str, float]] = field(default_factory=dict)  # the limits of each; "noreserve", "overpartqos"
    of_partitions: list[str] = field(default_factory=list)  # the QOS of each partition
    accounts: dict[str, tuple[str, dict[str, float]]] = field(default_factory=dict)  # the account above, and limits
    users: dict[tuple[int, str], dict[str, float]] = field(default_factory=dict)
    cpus: int = 1
    bf_max_time: int = 30
    overdue: int = 30
    requeue: int = 121  # seconds until a job that is queued again may start
    epoch: int = 0
    phase: int = 0
    rate: int = 0  # tests a second; 0: passes take no time
    given: list[int] | None = None  # when backfill passes are
    full: list[int] = field(default_factory=list)  # when main passes over all jobs are
    turns: list[list[int]] = field(default_factory=list)  # of each, how many jobs it has tested as a second turns
    broke_off: list[int | None] = field(default_factory=list)  # and after how many it breaks off
    age: int = 0  # weight; with that of the size: priorities change at ticks
    size: int = 0
    max_age: int = 1000
    period: int = 0  # of the ticks; 0: priorities are the order of the jobs
    first_tick: int = 0
    windows: list[Window] = field(default_factory=list)
    limits: list[int] = field(default_factory=list)
    array_limits: dict[str, int] = field(default_factory=dict)  # the place of each among the limits
    fifo: bool = False
    t0: float = 0.0
    zero: int = 0  # the second of the workload that is second 0
    from_zero: bool = False  # clocks begin with second 0, else with the first submit
    lines: list[frozenset[int]] = field(default_factory=list)


def whole(seconds: float) -> int:
    """Return the first whole second that is not before a time."""
    return math.ceil(seconds)
