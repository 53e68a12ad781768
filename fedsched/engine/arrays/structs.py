"""The NamedTuples that the kernels read and fill: Problem (read-only), Plan (a candidate), State (the loop's own)."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.jit import by_reference

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.optional_features.cancellations import Cancellations, Cancelled
    from fedsched.engine.optional_features.holds import HeldJobs, Holds
    from fedsched.engine.optional_features.moldable import Moldable, Molded
    from fedsched.engine.optional_features.power_caps import PowerCaps, PowerCapState
    from fedsched.engine.optional_features.power_states import Powered
    from fedsched.engine.optional_features.reservation_queues import ReservationMembers, ReservationQueues
    from fedsched.engine.placement.tasks_per_node import TasksPerNode
    from fedsched.engine.profile.breakpoints import Blocks
    from fedsched.engine.queue.parked_jobs import ParkedJobs
    from fedsched.engine.shared_nodes.arrays import Sharing, Work
    from fedsched.model.schedule.node_stack import Saving

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@by_reference
class Groups(NamedTuple):
    """Node groups, cluster by cluster, and the clusters' uplinks."""

    nodes: Ints
    cluster: Ints
    slowdown: Floats  # 1/speed
    speed: Floats
    busy_watts: Floats
    idle_watts: Floats
    cluster_begin: Ints  # groups of cluster k: cluster_begin[k] .. cluster_begin[k + 1]
    fast_in_cluster: Ints  # the groups of each cluster, fastest first
    cheap_in_cluster: Ints  # the groups of each cluster, least (busy − idle)/speed first
    fast: Ints  # all groups, fastest first
    cheap: Ints  # all groups, least (busy − idle)/speed first
    uplink: Floats  # per cluster


@by_reference
class Pools(NamedTuple):
    """What counts across the federation beside nodes; without pools it has no columns."""

    amount: Ints
    need: Ints  # job x pool


@by_reference
class Precedence(NamedTuple):
    """Who waits for whom, by the job that is waited for; without conditions or earliest starts of no size."""

    earliest: Floats  # job: not before
    conditions: Ints  # job: how many it begins with, its submit included
    first: Ints  # job: its followers stand from here to the next job's
    follower: Ints
    awaits: Ints  # indexed by Awaits: what of the job the follower waits for
    lag: Floats
    moves: Ints  # 1: it is the follower's submit that waits
    end: Ints  # job: how it ends that runs to its end, as another's Awaits


@by_reference
class Limits(NamedTuple):
    """How much may be had at a time, and which kinds of jobs take how much of it; without limits of no size."""

    amount: Ints
    kind: Ints  # job: its kind, or -1
    first: Ints  # kind: its counters stand from here to the next kind's
    counter: Ints
    weight: Ints  # what a job takes of it; the least, where that is up to its nodes
    row: Ints  # then of `of_node`, else -1; of no size where it is so for nobody
    of_node: Ints  # row x group: what a job takes for each node there
    first_kind: Ints  # counter: its kinds stand from here to the next counter's, by what their jobs take
    of_counter: Ints
    kind_weight: Ints
    first_place: Ints  # kind: its jobs have room from here to the next kind's
    first_node: Ints  # and a binary tree over them
    tasks: Ints  # job


@by_reference
class Calendar(NamedTuple):
    """Closures: nodes of groups that no job may start on for a while; without any the arrays are of no size."""

    group: Ints
    nodes: Ints
    begin: Floats
    end: Floats
    known_from: Floats
    planned_end: Floats  # as planners see it
    change: Ints  # closures by the time of their begins and ends, ends first: 2·closure, and 1 more where it is an end
    learned: Ints  # closures in the order in which they become known
    lookout: Floats  # the distinct begins: when what is free may become less
    left: Ints  # lookout x group: what those leave that are known at t0
    known: Ints  # [0]: how many these are
    on_running: Ints  # what becomes of jobs in its way
    victims: Ints  # and which these are
    seed: Ints
    number: Ints  # the closure's, among all of the federation
    reservation: Ints  # the reservation that it is, or -1


@by_reference
class Extras(NamedTuple):
    """What machines and jobs may have beyond the plain model; a part that is not in use has arrays of no size."""

    pools: Pools
    precedence: Precedence
    calendar: Calendar
    limits: Limits
    reserved: ReservationMembers
    cancellations: Cancellations
    holds: Holds
    moldable: Moldable
    tier: Ints  # job: those of a higher one come first in queue orders; of no size where all are in the same
    saving: Saving
    ceilings: PowerCaps
    standing: TasksPerNode
    more: int | None  # None: nodes that close, tiers and standing watts are all there is, and no kernel asks further


@by_reference
class Problem(NamedTuple):
    """Jobs and federation as contiguous read-only arrays, packed once."""

    # jobs
    submit: Floats
    tasks: Ints
    runtime: Floats  # what the job really takes on reference nodes
    estimate: Floats  # what plans believe
    sigma: Floats
    bandwidth: Floats
    origin: Ints
    user: Ints
    watts: Floats  # job x group: what each of its nodes draws; of no size where all draw their groups' busy watts
    arrival: Ints  # jobs not yet running, by (submit, id)
    arrival_rank: Ints  # every job's place in (submit, id) order: the last tie-break
    running: Ints  # jobs that run at t0 already, in start order
    groups: Groups
    # settings
    t0: float
    nodes: int
    idle_total: float
    same_time: int
    saturation: int
    extras: Extras | None  # None: the plain model, for which the kernels are compiled without any of them
    sharing: Sharing | None = None  # None: nodes are counted, and each task has a whole one


@by_reference
class Plan(NamedTuple):
    """What a policy or a search chooses: queue order, caps, dispatch rule, placement rule."""

    order: Ints  # jobs in queue order (FIXED)
    order_key: int
    backfill_order: Ints
    backfill_key: int
    separate_backfill: bool  # the backfill order differs from the queue order
    caps: Ints  # rows of caps, one column a group
    cap_row: Ints  # each job's row in `caps`
    dispatch: int
    placement: int


@by_reference
class Queue(NamedTuple):
    """The queued jobs in order, with the least tasks and the shortest plan of every subtree."""

    order: Ints  # position -> job
    position: Ints  # job -> position
    tasks: Ints  # binary tree, leaves from size//2; ABSENT where no job is queued
    shortest: Floats  # the same tree over the shortest planned durations
    key: Floats  # per job, for orders that change with time
    members: Ints  # [0]: positions in use, for orders that change with time, [1]: 1 where they are out of order


@by_reference
class Classes(NamedTuple):
    """A long queue grouped into classes, for scans that pass over jobs that cannot start; of size 0 in short ones."""

    number: Ints  # indexed by ClassNumber; in a long queue Tables of whole numbers follow (engine/class_tables.py)
    other: Floats  # the tables of numbers that need not be whole
    rooms: Ints  # what is free of each row of caps, and the trees of those rows (engine/rooms.py)


@by_reference
class Profile(NamedTuple):
    """Nodes (and link load) planned to be free from each breakpoint on."""

    time: Floats
    total: Ints  # per breakpoint, over all groups
    free: Ints  # group x breakpoint; of one group the total says it
    load: Floats  # breakpoint x cluster, for link-aware placement
    reserved: Floats  # per job: planned start
    promised: Ints  # job x group: nodes of the planned start, on several groups (engine/promises.py)
    untouched: Floats  # per job: begin of its first window with nodes enough in all, or IN_DOUBT
    low: Ints  # scratch: least free nodes over a window
    peak: Floats  # scratch: greatest load over a window
    blocks: Blocks


@by_reference
class Packing(NamedTuple):
    """The candidates of a lookahead pass, and which sums of their tasks can be reached."""

    candidate: Ints  # CandidateRow x candidate
    reach: Ints  # ReachRow x sum


@by_reference
class Heap(NamedTuple):
    """The running jobs, earliest finish first (then in start order)."""

    time: Floats
    job: Ints
    place: Ints  # job -> place in the heap
    sequence: Ints  # job -> start order


@by_reference
class Ends(NamedTuple):
    """The running jobs by planned end, latest first."""

    time: Floats
    job: Ints
    released: Ints  # per job, 1: nodes counted free although the finish is pending (sequential reading)


@by_reference
class Rates(NamedTuple):
    """How fast each job runs, and the co-allocated jobs that load the uplinks."""

    tc: Floats
    processing: Floats  # PS
    work_left: Floats
    estimate_left: Floats
    since: Floats
    demand: Floats  # job x cluster (eq. 1.2)
    spanning: Ints  # running jobs that communicate between clusters, in start order
    share: Floats  # job: of what it would send, under fair saturation; of no size else


@by_reference
class Scratch(NamedTuple):
    """Room for intermediate results, one entry a group or a cluster."""

    chosen: Ints  # nodes per group of the placement at hand
    extra: Ints
    limited: Ints
    mark: Ints
    cluster_sum: Ints
    demand: Floats


@by_reference
class PoolsLeft(NamedTuple):
    """How much of every pool is left, and what plans say of it."""

    free: Ints
    extra: Ints  # beside the reservation of EASY's head
    held: Ints  # 1: a job that waits under local queues holds it
    planned: Ints  # pool x breakpoint of the profile


@by_reference
class Waiting(NamedTuple):
    """Who is yet to become eligible, and who has joined the queue."""

    open: Ints  # job: how many conditions
    submitted: Floats  # job: its submit, as recorded where it is not known yet
    moment: Floats  # job: the latest of its submit, its earliest start and the conditions that hold
    number: Ints  # indexed by WaitingNumber
    timer: Ints  # heap of jobs that time alone makes eligible, by (moment, submit, id)
    joined: Ints  # the jobs that have joined the queue, in their order
    begun: Ints  # job, 1: it has started before
    doomed: Ints  # scratch: jobs that can never start, whose followers are yet to be told


@by_reference
class Limited(NamedTuple):
    """What is left within limits, and who waits for them."""

    left: Ints  # counter
    kind: Ints  # job: its kind, or -1, as in Limits
    over: Ints  # kind: of how many counters its jobs would take more than is left
    waiting: Ints  # kind: jobs that are queued
    sleepers: ParkedJobs


@by_reference
class Closed(NamedTuple):
    """What closures leave, now and at the lookouts to come, as planners see it."""

    number: Ints  # indexed by ClosedNumber
    owed: Ints  # group: nodes that belong to a closure as soon as whoever holds them ends
    left: Ints  # lookout x group: what is free then of what runs now, below 0 where more is held
    low: Ints  # group: scratch
    head: Ints  # group: what EASY's head holds in its reservation
    head_until: Floats  # [0]: its planned end
    beyond: Ints  # group: what is left, below 0 where closures overlap, where the profile ends
    back: Ints  # group: how much more than `left` the jobs see whose queue is gone over
    time: Floats  # indexed by ClosedTime
    holder: Ints  # group: the reservation that has it now, or -1
    last_end: Floats  # [0]: when a run last ended, [1]: what capacity had been lost by then


@by_reference
class Lost(NamedTuple):
    """Runs that came to nothing, in their order, and what they held; without downtimes that take nodes of no size."""

    number: Ints  # indexed by LostNumber
    job: Ints
    requeued: Ints  # 1: the job was queued again, 0: it was killed
    start: Floats
    end: Floats
    counts: Ints  # run x group
    seconds: Floats  # node-seconds of each group, of all
    until: Floats  # [0]: when the last of them ended
    more: Floats  # [0]: joules beyond those that the groups' busy watts make


@by_reference
class Draw(NamedTuple):
    """Scratch: the running jobs and the nodes of a group, of which a downtime hits some."""

    job: Ints
    hit: Ints  # 1: one of its nodes
    node: Ints  # whose it is, by the place of the job


@by_reference
class ExtraState(NamedTuple):
    """What the loop knows of the extras."""

    pools: PoolsLeft
    waiting: Waiting
    closed: Closed
    lost: Lost
    draw: Draw
    limited: Limited
    apart: ReservationQueues
    cancelled: Cancelled
    held: HeldJobs
    molded: Molded
    powered: Powered
    beneath: PowerCapState


@by_reference
class State(NamedTuple):
    """Everything the event loop knows between two calls."""

    counter: Ints  # indexed by Counter
    clock: Floats  # indexed by Clock
    start: Floats
    finish: Floats
    planned_end: Floats
    counts: Ints
    shortest: Floats  # shortest possible planned duration
    rates: Rates
    heap: Heap
    ends: Ends
    free: Ints
    load: Floats
    queue: Queue
    backfill: Queue
    classes: Classes  # of the queue that is scanned
    profile: Profile
    packing: Packing
    scratch: Scratch
    extras: ExtraState | None
    work: Work | None = None  # what is free on shared nodes, and what jobs hold there; None where nodes are counted


@by_reference
class RunningJobs(NamedTuple):
    """The jobs that run at `time`, in start order: what another run can start from.

    Parameters
    ----------
    time
        The instant.
    rows
        The rows of the jobs in the workload.
    start, finish, planned_end
        When each started, when it will end as things are, and when plans expect its end.
    counts
        Jobs × groups: the nodes that each holds.
    tc, work_left, estimate_left, since
        What is left of each job, as a run that goes on needs it.

    Examples
    --------
    >>> from fedsched.simulate import prepare
    >>> run = prepare(fs.Workload(submit=[0, 0], tasks=[4, 4], runtime=[600, 900]), 4).advance(until=700)
    >>> run.running().rows, run.running().start
    (array([1]), array([600.]))
    """

    time: float
    rows: Ints
    start: Floats
    finish: Floats
    planned_end: Floats
    tc: Floats
    work_left: Floats
    estimate_left: Floats
    since: Floats
    counts: Ints

    def renumbered(self, rows: Ints) -> RunningJobs:
        """Return the same jobs as rows of a workload that was taken as `rows` from this one."""
        place = {int(row): k for k, row in enumerate(rows)}
        return self._replace(rows=np.array([place[int(row)] for row in self.rows], dtype=np.int64))
