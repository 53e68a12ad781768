"""The NamedTuples of arrays that kernels take: Problem (jobs and machine), Plan (a policy's choices) and State.

Problem is read-only. State has everything that changes during a run. "Per job", "per group" and so on mean one entry
for each; `first[k] .. first[k + 1]` is the range of entries that belong to k.
"""

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
    from fedsched.engine.shared_nodes.arrays import Held, Sharing, Work
    from fedsched.model.schedule.node_stack import Saving

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@by_reference
class Groups(NamedTuple):
    """The node groups, cluster by cluster, and the uplinks of the clusters."""

    nodes: Ints  # per group: its number of nodes
    cluster: Ints  # per group: its cluster
    slowdown: Floats  # per group: 1/speed
    speed: Floats
    busy_watts: Floats  # per group: of one node
    idle_watts: Floats
    cluster_begin: Ints  # groups of cluster k: cluster_begin[k] .. cluster_begin[k + 1]
    fast_in_cluster: Ints  # the groups of each cluster, fastest first
    cheap_in_cluster: Ints  # the groups of each cluster, least (busy − idle)/speed first
    fast: Ints  # all groups, fastest first
    cheap: Ints  # all groups, least (busy − idle)/speed first
    uplink: Floats  # per cluster: the bandwidth of its uplink


@by_reference
class Pools(NamedTuple):
    """The pools: amounts of other resources than nodes, such as licences; empty without pools."""

    amount: Ints  # per pool
    need: Ints  # job x pool: how much the job holds while it runs


@by_reference
class Precedence(NamedTuple):
    """The dependencies between jobs, and earliest starts; empty if no job has one.

    A follower is a job that waits for an event of another job. Dependencies are sorted by that other job.
    """

    earliest: Floats  # per job: it is not eligible before this time
    conditions: Ints  # per job: how many must be met before it is eligible, its own submit included
    first: Ints  # dependencies on job j: first[j] .. first[j + 1]
    follower: Ints  # per dependency: the job that waits
    awaits: Ints  # per dependency: the event that it waits for, an Awaits
    lag: Floats  # per dependency: seconds from the event until the condition is met
    moves: Ints  # per dependency: 1 if the event also sets the follower's submit
    end: Ints  # per job: how it ends if it runs to its end, an Awaits


@by_reference
class Limits(NamedTuple):
    """The limits on what running jobs may use together, and what each kind of job takes of them; empty without limits.

    A counter is one limit of one user, account, QOS, partition or job array. A kind is the set of jobs that take the
    same amounts of the same counters. A use is a pair of a kind and one of its counters.
    """

    amount: Ints  # per counter: the most that running jobs may take of it together
    kind: Ints  # per job: its kind, or -1 if no limit binds it
    first: Ints  # uses of kind k: first[k] .. first[k + 1]
    counter: Ints  # per use
    weight: Ints  # per use: what a job takes of the counter; the least possible if that depends on its nodes
    row: Ints  # per use: the row of `of_node` if it depends on the nodes, else -1; empty if it never does
    of_node: Ints  # row x group: what a job takes for each node of the group
    first_kind: Ints  # uses of counter c, by ascending weight: first_kind[c] .. first_kind[c + 1]
    of_counter: Ints  # per use, in that order: the kind
    kind_weight: Ints  # per use, in that order: the weight
    first_place: Ints  # places of kind k's jobs in `ParkedJobs.member`: first_place[k] .. first_place[k + 1]
    first_node: Ints  # nodes of kind k's tree in `ParkedJobs.tasks`: first_node[k] .. first_node[k + 1]
    tasks: Ints  # per job


@by_reference
class Calendar(NamedTuple):
    """The closures: nodes of a group on which no job may start for a while; empty without closures.

    The first columns have one entry per closure. Times are in seconds.
    """

    group: Ints
    nodes: Ints  # how many nodes of the group are closed
    begin: Floats
    end: Floats  # infinite if the nodes never open again
    known_from: Floats
    planned_end: Floats  # the end as planners know it; infinite if they do not know it
    change: Ints  # begins (2·closure) and ends (2·closure + 1) in order of time; at one time, ends come first
    learned: Ints  # closures in the order in which they become known
    lookout: Floats  # the distinct begins, ascending: only then can free nodes become fewer
    left: Ints  # lookout x group: nodes that the closures known at t0 leave open then
    known: Ints  # [0]: the number of closures known at t0
    on_running: Ints  # per closure: what happens to jobs on its nodes, an OnRunning
    victims: Ints  # per closure: which jobs lose their nodes, a Victims
    seed: Ints  # per closure: for victims drawn at random
    number: Ints  # per closure: its row among all closures of the federation
    reservation: Ints  # per closure: the reservation that it belongs to, -1: none, -2: one without jobs in the plan


@by_reference
class Extras(NamedTuple):
    """The optional features of jobs and machine; the arrays of a feature that is not in use are empty."""

    pools: Pools
    precedence: Precedence
    calendar: Calendar
    limits: Limits
    reserved: ReservationMembers
    cancellations: Cancellations
    holds: Holds
    moldable: Moldable
    tier: Ints  # per job: jobs of a higher tier come first in queue orders; empty if all are equal
    saving: Saving
    ceilings: PowerCaps
    standing: TasksPerNode
    more: int | None  # None if only `calendar`, `tier` and `standing` are in use: kernels then skip all other features


@by_reference
class Problem(NamedTuple):
    """The jobs and the federation of a run as contiguous read-only arrays, packed once."""

    # Jobs: one entry each, times in seconds.
    submit: Floats  # infinite if it follows another job's end
    tasks: Ints  # the nodes that it needs; on shared nodes, its tasks
    runtime: Floats  # the true run time on nodes of speed 1
    estimate: Floats  # the run time on nodes of speed 1 that plans assume
    sigma: Floats  # the share of the run time that is computation
    bandwidth: Floats  # of each task
    origin: Ints  # the job's home cluster, or -1
    user: Ints
    watts: Floats  # job x group: what each of its nodes draws; empty if all jobs draw their groups' busy watts
    # Lists of jobs.
    arrival: Ints  # jobs that do not run at t0, by (submit, id); without jobs that can never start
    arrival_rank: Ints  # per job: its place in (submit, id) order, which breaks ties
    running: Ints  # jobs that run at t0, in start order
    # The machine and the settings.
    groups: Groups
    t0: float  # the time at which the run begins
    nodes: int  # of all groups
    idle_total: float  # watts that all nodes draw together while they are idle
    same_time: int  # a SameTime
    saturation: int  # a Saturation
    extras: Extras | None  # None: no optional feature is in use, and kernels are compiled without them
    sharing: Sharing | None = None  # None: jobs do not share nodes, and each task takes a whole one


@by_reference
class Plan(NamedTuple):
    """What a policy or a search chooses: queue order, caps, dispatch rule and placement rule."""

    order: Ints  # jobs in queue order, used if `order_key` is FIXED
    order_key: int  # a QueueKey
    backfill_order: Ints  # the order in which jobs are backfilled, used if `backfill_key` is FIXED
    backfill_key: int  # a QueueKey
    separate_backfill: bool  # the backfill order differs from the queue order
    caps: Ints  # row x group: the most nodes of the group that a job may take; on shared nodes, the most tasks
    cap_row: Ints  # per job: its row of `caps`
    dispatch: int  # a Dispatch
    placement: int  # a Placement


@by_reference
class Queue(NamedTuple):
    """The queued jobs in order, with two binary trees by which scans find the next job that may fit."""

    order: Ints  # position -> job
    position: Ints  # job -> position
    tasks: Ints  # tree of the least tasks; leaves, one per position, from size//2 on; ABSENT: no job is queued there
    shortest: Floats  # the same tree for the shortest planned durations
    key: Floats  # per job: its sort key, in orders that change with time
    members: Ints  # in orders that change with time: [0] positions in use, [1] 1 if they may be out of order


@by_reference
class Classes(NamedTuple):
    """A long queue grouped into classes of jobs that scans treat alike, so that scans skip jobs that cannot start."""

    number: Ints  # indexed by ClassNumber; if the queue may be long, integer tables follow (queue/class_tables.py)
    other: Floats  # the floating-point tables; empty if the queue is short
    rooms: Ints  # the index by usable nodes and pools (queue/candidate_index.py); empty if no scan can use it


@by_reference
class Profile(NamedTuple):
    """The nodes that are planned to be free, and the planned load of uplinks, from each breakpoint in time on."""

    time: Floats  # per breakpoint
    total: Ints  # per breakpoint: free nodes of all groups
    free: Ints  # group x breakpoint; empty if there is one group, as `total` says the same
    load: Floats  # breakpoint x cluster, for link-aware placement
    reserved: Floats  # per job: its planned start; infinite if the plan has none
    promised: Ints  # job x group: nodes at the planned start; empty on one group (dispatch/conservative_plans.py)
    untouched: Floats  # per job: begin of its first window with enough nodes in total, or IN_DOUBT
    low: Ints  # scratch, per group: least free nodes over a window
    peak: Floats  # scratch, per cluster: greatest load over a window
    blocks: Blocks


@by_reference
class Packing(NamedTuple):
    """The candidates of a lookahead pass, and which numbers of nodes sets of them can use; empty for other rules."""

    candidate: Ints  # CandidateRow x candidate
    reach: Ints  # ReachRow x sum


@by_reference
class Heap(NamedTuple):
    """The running jobs as a binary heap: the earliest finish first; of equal ones, the job that started first."""

    time: Floats  # per place: the finish
    job: Ints  # per place
    place: Ints  # per job: its place in the heap
    sequence: Ints  # per job: its number in order of starts


@by_reference
class Ends(NamedTuple):
    """The running jobs sorted by planned end, the latest first."""

    time: Floats  # per place: the planned end
    job: Ints  # per place
    released: Ints  # per job, 1: its nodes count as free although its finish is pending (sequential reading)


@by_reference
class Rates(NamedTuple):
    """How fast each job runs, and which jobs load the uplinks."""

    tc: Floats  # per job: seconds that it takes for a second of its run time
    processing: Floats  # per job: PS, the slowdown by its slowest node
    work_left: Floats  # per job: what was left of its run time at `since`
    estimate_left: Floats  # per job: what was left of its estimate at `since`
    since: Floats  # per job: when its rate last changed
    demand: Floats  # job x cluster: the bandwidth that it needs on each uplink (eq. 1.2)
    spanning: Ints  # running jobs that communicate between clusters, in start order; then those that wait for boots
    share: Floats  # per job: the share of its demand that it can send, under fair saturation; else empty


@by_reference
class Scratch(NamedTuple):
    """Work space for intermediate results, by group unless another unit is given."""

    chosen: Ints  # the nodes of the last placement; on shared nodes, its tasks
    extra: Ints  # nodes free at the shadow time beside the reservation of EASY's head
    limited: Ints  # free nodes, or flags of blocked groups, in a dispatch pass
    mark: Ints  # flags of groups that a placement rule has visited
    cluster_sum: Ints  # per cluster: its free or usable nodes
    demand: Floats  # per cluster: the bandwidth that a job needs on its uplink


@by_reference
class PoolsLeft(NamedTuple):
    """What is left of each pool, now and in plans."""

    free: Ints  # now
    extra: Ints  # at the shadow time, beside the reservation of EASY's head
    held: Ints  # 1: a waiting job blocks it for the jobs behind, in a pass over local queues
    planned: Ints  # pool x breakpoint of the profile; behind the pools, rows of power caps (power_caps.py)


@by_reference
class Waiting(NamedTuple):
    """The conditions of jobs that are not eligible yet, and the jobs that have joined the queue.

    It is empty if Precedence is empty.
    """

    open: Ints  # per job: conditions that are not met yet
    submitted: Floats  # per job: its submit; t0 while that is not known, as it follows another job's end
    moment: Floats  # per job: the time from which it is eligible, by all that is known so far
    number: Ints  # indexed by WaitingNumber
    timer: Ints  # heap of jobs that wait for time alone, by (moment, submit, id)
    joined: Ints  # the jobs that have joined the queue, in order of joining
    begun: Ints  # per job, 1: it has started at least once
    doomed: Ints  # scratch: jobs that can never start, so that their followers cannot either


@by_reference
class Limited(NamedTuple):
    """What limits leave to further jobs, and the jobs that wait for them; empty without limits."""

    left: Ints  # per counter: how much more jobs may take
    kind: Ints  # per job: its kind, or -1, as in Limits
    over: Ints  # per kind: counters of which a job takes more than is left; above 0, the kind is over a limit
    waiting: Ints  # per kind: its queued jobs
    sleepers: ParkedJobs


@by_reference
class Closed(NamedTuple):
    """The state of the closures: how far they have been processed, and the nodes that they leave free.

    A lookout is a time at which closures begin: see Calendar.
    """

    number: Ints  # indexed by ClosedNumber
    owed: Ints  # per group: nodes that close as soon as jobs release them
    left: Ints  # lookout x group: nodes that known closures and running jobs leave then; negative if jobs hold more
    low: Ints  # per group: scratch
    head: Ints  # per group: nodes reserved for EASY's head
    head_until: Floats  # [0]: the planned end of that reservation
    beyond: Ints  # per group: free nodes at the end of the profile; negative if closures take more than there are
    back: Ints  # per group: what jobs of the queue that is scanned see free beyond `left`; 0 for the general queue
    time: Floats  # indexed by ClosedTime
    holder: Ints  # per group: the reservation that has it now, or -1
    last_end: Floats  # [0]: when a run last ended; [1]: the node-seconds of capacity lost until then


@by_reference
class Lost(NamedTuple):
    """The lost runs, in order of their ends: runs without result, because a downtime took their nodes.

    Columns with one entry per run are empty if no downtime takes nodes from jobs.
    """

    number: Ints  # indexed by LostNumber
    job: Ints  # per run
    requeued: Ints  # per run, 1: the job was queued again; 0: it was killed
    start: Floats
    end: Floats
    counts: Ints  # run x group: nodes, or tasks on shared nodes
    seconds: Floats  # per group: the sum of `counts` times seconds over all lost runs
    until: Floats  # [0]: the end of the last one; -inf if there is none
    more: Floats  # [0]: the joules of lost runs beyond those at the groups' busy watts


@by_reference
class Draw(NamedTuple):
    """Work space for a downtime that hits nodes of a group at random; empty if no downtime does."""

    job: Ints  # the running jobs on nodes of the group, in start order
    hit: Ints  # per entry of `job`, 1: one of its nodes is hit
    node: Ints  # per node: the index in `job` of the job on it, -1 if it is free


@by_reference
class ExtraState(NamedTuple):
    """The state of the optional features; the arrays of a feature that is not in use are empty."""

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
    """The complete state of a run, from which the event loop continues at its next call."""

    counter: Ints  # indexed by Counter
    clock: Floats  # indexed by Clock
    start: Floats  # per job; NaN before its start; a cancelled or held job has one, so that scans skip it
    finish: Floats  # per job: when it ends by its present rate; NaN before its start
    planned_end: Floats  # per job: when plans expect its end
    counts: Ints  # job x group: its nodes; on shared nodes, its tasks
    shortest: Floats  # per job: its shortest possible planned duration
    rates: Rates
    heap: Heap
    ends: Ends
    free: Ints  # per group: free nodes; on shared nodes a large number, as `work` has the free resources
    load: Floats  # per cluster: the bandwidth that jobs need on its uplink
    queue: Queue
    backfill: Queue  # the jobs in the order of backfilling; `queue` itself if that is the same
    classes: Classes  # of the queue that is scanned
    profile: Profile
    packing: Packing
    scratch: Scratch
    extras: ExtraState | None
    work: Work | None = None  # what is free on shared nodes, and what jobs hold; None if jobs do not share nodes


@by_reference
class RunningJobs(NamedTuple):
    """The jobs that run at `time`, in start order, with all that another run needs to start from there.

    Parameters
    ----------
    time
        The time, in seconds.
    rows
        The rows of the jobs in the workload.
    start, finish, planned_end
        When each job started, when it will end at its present rate, and when plans expect its end.
    counts
        Jobs × groups: the nodes that each job holds; on shared nodes, its tasks.
    tc, work_left, estimate_left, since
        The rate and the remaining work of each job, as in `Rates`.
    held
        What each job holds on shared nodes, in the order of `rows`; None if jobs do not share nodes.

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
    held: Held | None = None

    def renumbered(self, rows: Ints) -> RunningJobs:
        """Return the same jobs with their rows in a smaller workload, which consists of these `rows` of this one."""
        place = {int(row): k for k, row in enumerate(rows)}
        return self._replace(rows=np.array([place[int(row)] for row in self.rows], dtype=np.int64))
