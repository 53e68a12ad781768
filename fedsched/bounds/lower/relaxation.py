"""The relaxation that all bounds share: jobs with a duration for each slowdown, on classes of equal nodes.

Take a schedule, keep its starts and nodes, and give every job its run time without contention: since
tc >= σ·PS + (1 − σ), no run gets longer and no metric worse. A bound on schedules without contention, in which a job on
nodes of speed 1/v or more takes d_jv = Tb_j·(σ_j·v + 1 − σ_j), is therefore a bound on all. Clocks resolve instants
only to ticks, so a measured run may be shorter than d_jv by some ticks; `clocked` allows for that.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.lower.downtime_losses import NO_CLOSURES, ClosedNodes, sure_closures
from fedsched.bounds.lower.longest_paths import only_sure_starts, released_behind_conditions
from fedsched.bounds.lower.time_grid import NO_DELAYS, StartDelays, is_exact, last_instant
from fedsched.core.errors import InfeasibleError
from fedsched.engine.codes import OnRunning
from fedsched.engine.compatibility import refused
from fedsched.engine.placement.tasks_per_node import most_nodes, places_on, tasks_in_all

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Calendar, Problem, RunningJobs

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

LEVELS = 6  # release instants that the LP uses
# Sums of many floats are off by some units in the last place; published bounds are lowered by this share.
ROUNDING = 1e-12
# A measured run may be shorter than the true one by this number of steps of the clock: half a step for its finish, half
# for each of the two products behind it (their values are below the clock's), doubled for safety.
TICKS = 3
RATES = 1e-9  # the share by which rounding in changing rates may lengthen a run


def between_downtimes(relaxation: Relaxation, problem: Problem, planned: Floats | None) -> Relaxation:
    """Return the relaxation with each waiting job's release no earlier than enough nodes are open in all.

    `planned` is the least run time on reference nodes that any plan assumes for each job: the nodes must stay open
    for that time. Without it only starts are checked.
    """
    if problem.extras is None or not problem.extras.calendar.lookout.size:
        return relaxation
    calendar, t0 = problem.extras.calendar, relaxation.t0
    everything = np.ones(calendar.begin.size, dtype=np.bool_)
    seconds = np.zeros(relaxation.tasks.size)
    if planned is not None:
        fastest = np.where(relaxation.usable, relaxation.slowdown, np.inf).min(axis=1)
        seconds = planned * (problem.sigma * fastest + (1.0 - problem.sigma)) * (1.0 - 1e-12)
    release = relaxation.release.copy()
    waiting = np.zeros(release.size, dtype=np.bool_)
    waiting[problem.arrival] = True
    waiting[np.flatnonzero(problem.extras.reserved.of_job >= 0)] = False  # reserved nodes are open to these
    kinds, kind_of = np.unique(np.column_stack([relaxation.caps, relaxation.tasks]), axis=0, return_inverse=True)
    for k, kind in enumerate(kinds):
        rows = np.flatnonzero((kind_of.reshape(-1) == k) & waiting)
        always = [(a - t0, b - t0, 0.0) for a, b in _blocked(relaxation, problem, kind[:-1], kind[-1], everything)]
        foreseen = [
            (a - t0, b - t0, 1.0)
            for a, b in _blocked(relaxation, problem, kind[:-1], kind[-1], calendar.known_from <= t0)
        ]
        release[rows] = _pushed(release[rows], seconds[rows], sorted(always + foreseen), relaxation.tick)
    return replace(relaxation, release=release, late=relaxation.late + (release - relaxation.release))


def _pushed(release: Floats, seconds: Floats, blocked: list[tuple[float, float, float]], tick: float) -> Floats:
    # `blocked` are stretches with too few open nodes to start in (0.0), or to run in (1.0).
    found, before = release, np.full_like(release, -1.0)
    while (found > before).any():
        before = found
        for begin, end, runs in blocked:
            runs_into_it = (begin + tick < found + seconds * runs) & (found < end - tick)
            found = np.where(runs_into_it, end - tick, found)
    return found


def _blocked(
    relaxation: Relaxation, problem: Problem, caps: NDArray[np.int64], tasks: int, which: NDArray[np.bool_]
) -> list[tuple[float, float]]:
    # The stretches in which these closures leave a job fewer nodes than it has tasks.
    assert problem.extras is not None
    calendar: Calendar = problem.extras.calendar
    begin, end = calendar.begin[which], calendar.end[which]
    times = np.unique(np.concatenate([begin, end]))
    open_nodes = np.tile(problem.groups.nodes, (times.size, 1))
    for g, nodes, first, last in zip(calendar.group[which], calendar.nodes[which], begin, end, strict=True):
        open_nodes[np.searchsorted(times, first) : np.searchsorted(times, last), g] -= nodes
    open_nodes = np.maximum(open_nodes, 0)
    of_class = np.stack(
        [open_nodes[:, relaxation.group_class == c].sum(axis=1) for c in range(relaxation.nodes.size)], axis=1
    )
    short = np.minimum(of_class, caps).sum(axis=1) < tasks
    stretches = zip(times.tolist(), times[1:].tolist(), short.tolist(), strict=False)
    # Bounds do not cover jobs that can never start.
    return [(a, b) for a, b, too_few in stretches if too_few and b < np.inf]


@dataclass(frozen=True, slots=True, eq=False)
class Relaxation:
    """The simplified problem that bounds are proven for: jobs that run without contention on classes of equal nodes.

    A class is all nodes of equal speed, busy watts and idle watts, fastest first; `slowdown` are the distinct
    slowdowns. All times are seconds since t0.
    """

    t0: float
    tick: float  # seconds by which the clock may shorten a measured run
    release: Floats  # the earliest start − t0: max(submit, t0) − t0, or later if the job waits for others
    late: Floats  # t0 + release − submit: the wait before the job may start, or before t0 if it runs
    begun: Floats  # the part of it that the job has run already; its `duration` is then what is left
    tasks: Ints
    most_nodes: Ints  # the most nodes that each job may use; `tasks` are the fewest
    slowdown: Floats
    duration: Floats  # job × slowdown: d_jv
    most: Floats  # job × slowdown: an upper limit with contention
    usable: NDArray[np.bool_]  # job × slowdown: enough nodes, and no larger set is as fast
    nodes: Ints  # per class: m_c
    caps: Ints  # job × class
    class_slowdown: Ints  # per class: its index in `slowdown`
    group_class: Ints  # per node group of the federation: its class
    busy_watts: Floats
    idle_watts: Floats
    pool_amount: Ints
    pool_need: Ints  # job × pool
    single: NDArray[np.bool_]  # whether one cluster can hold the job
    uncontended: bool  # no schedule of these jobs can saturate an uplink
    submits_move: bool = False  # with the schedule
    some_wait_for_more: bool = False  # before they may start, besides their submits
    some_may_go: bool = False  # other jobs exist that a schedule may leave out
    more_watts: Floats = field(default_factory=lambda: np.zeros((0, 0)))  # job × class: beyond `busy_watts`; or empty
    shut: ClosedNodes = NO_CLOSURES  # closures of nodes, which no job can use
    fits: Ints = field(default_factory=lambda: np.zeros((0, 0), dtype=np.int64))  # job × class: tasks per node; or
    wanted: Ints = field(default_factory=lambda: np.zeros(0, dtype=np.int64))  # empty; and the number of tasks [76]

    @property
    def shortest(self) -> Floats:
        """Return every job's duration on the fastest nodes that it may use: d_j,v(τ_j)."""
        return np.asarray(np.where(self.usable, self.duration, np.inf).min(axis=1))

    @property
    def longest(self) -> Floats:
        """Return every job's duration, without contention, on the slowest node that it may use."""
        reachable = np.stack([self.caps[:, self.class_slowdown == v].any(axis=1) for v in range(self.slowdown.size)])
        return np.asarray(np.where(reachable.T, self.duration, -np.inf).max(axis=1))

    @property
    def extra_watts(self) -> Floats:
        """Return busy − idle watts of a node of every class."""
        return self.busy_watts - self.idle_watts

    @property
    def extra_of_jobs(self) -> Floats:
        """Return the watts by which each job makes a node of every class draw more than an idle one, job × class."""
        return self.extra_watts + (self.more_watts if self.more_watts.size else np.zeros((self.tasks.size, 1)))

    @property
    def idle_total(self) -> float:
        """Return the watts of the whole federation if all nodes idle."""
        return float(self.idle_watts @ self.nodes)

    @property
    def more_joules(self) -> float:
        """Return the least energy in joules that jobs draw beyond the classes' busy watts, in all.

        Each job is on the nodes that make it least.
        """
        return rounded_down(float(self.more_of_jobs.sum()))

    @property
    def more_of_jobs(self) -> Floats:
        """Return each job's least energy in joules beyond the classes' busy watts.

        It is 0 if all jobs draw the same watts.
        """
        if self.more_watts.size == 0:
            return np.zeros(self.tasks.size)
        each = np.where(self.caps > 0, self.more_watts * self.duration[:, self.class_slowdown], np.inf)
        return np.asarray(self.tasks * each.min(axis=1))

    @property
    def total_nodes(self) -> int:
        """Return N, the number of all nodes."""
        return int(self.nodes.sum())

    def clocked(self) -> Relaxation:
        """Return the relaxation with the least and greatest run times that a clock can show.

        Bounds proven for it hold for measured values.
        """
        shorter, longer = np.maximum(self.duration - self.tick, 0.0), self.most * (1.0 + 3.0 * RATES) + self.tick
        return replace(self, duration=shorter, most=longer)

    def take(self, rows: Ints) -> Relaxation:
        """Return the relaxation with some of the jobs (rows) only."""
        picked = {name: getattr(self, name)[rows] for name in _PER_JOB}
        for name in ("more_watts", "fits", "wanted"):
            picked[name] = getattr(self, name)[rows] if getattr(self, name).size else getattr(self, name)
        kept = {name: getattr(self, name) for name in Relaxation.__slots__ if name not in picked}
        return Relaxation(**picked, **kept)


_PER_JOB = (
    "release", "late", "begun", "tasks", "most_nodes", "duration", "most", "usable", "caps", "pool_need", "single"
)  # fmt: skip


def relax(
    problem: Problem,
    limits: tuple[Ints, Ints],
    ids: Ints,
    *,
    runtime: Floats,
    separate: bool = False,
    with_leaving: bool = False,
    running: RunningJobs | None = None,
    planned: Floats | None = None,
    keeps_plans: bool = False,
    delays: StartDelays = NO_DELAYS,
) -> Relaxation:
    """Return the relaxation of these jobs with these run times on reference nodes.

    `limits` are the distinct rows of caps and each job's row. With `separate`, groups that some job may not use
    freely, or that close at times, are node classes of their own. Nodes of a class can then be divided among its
    groups in any way. The same holds for all groups if their nodes hold different numbers of some job's tasks; `fits`
    and `wanted` are then set.

    Without `with_leaving` only jobs that start in every schedule are included. With it, jobs that may leave are
    too, and there is no tick if the clock rounds none of their times. For jobs that run at t0 only the rest is
    scheduled, on their nodes. If downtimes may take these nodes, the jobs are left out: what is left of a schedule
    without them is a schedule of the others. Jobs that wait for their ends may then start at t0.

    `planned` is the least run time that any plan assumes for the jobs; with `keeps_plans` no job runs longer than it
    without contention. `delays` is how long starts may be delayed by things outside of the problem.

    Raise an error for downtimes that bounds do not cover.
    """
    calendar = None if problem.extras is None else problem.extras.calendar
    if calendar is not None and ((calendar.on_running == OnRunning.KILL) & (calendar.begin > problem.t0)).any():
        raise refused("bounds", "downtimes that kill")
    taking = calendar is not None and ((calendar.on_running != OnRunning.WAIT) & (calendar.begin > problem.t0)).any()
    begun, lost = np.zeros(problem.tasks.size), np.zeros(0, dtype=np.int64)
    if running is not None:
        begun[running.rows] = problem.t0 - running.start
        lost, running = (running.rows, None) if taking else (lost, running)
    moving = np.isinf(problem.submit)  # they depend on the ends of jobs that these follow [45]
    problem = problem._replace(submit=np.where(moving, problem.t0, problem.submit))
    groups, t0, (rows, row_of) = problem.groups, problem.t0, limits
    if running is not None:
        own_rows = len(rows) + np.arange(running.rows.size)
        rows, row_of = np.vstack([rows, running.counts]), np.array(row_of)
        row_of[running.rows] = own_rows
    restricted = np.any(rows[row_of] < np.minimum(groups.nodes, problem.tasks[:, None]), axis=0)
    if calendar is not None:
        restricted[calendar.group] = True
    fits, wanted = places_on(problem, np.arange(problem.tasks.size))
    several = separate and bool((fits != 1).any())
    restricted |= several
    own = [g if separate and restricted[g] else -1 for g in range(groups.nodes.size)]
    drawn = np.zeros(groups.nodes.size, dtype=np.int64)  # equal if every job draws the same
    if problem.watts.size:
        drawn = np.unique(problem.watts, axis=1, return_inverse=True)[1].reshape(-1)
    of_groups = (groups.slowdown, groups.busy_watts, groups.idle_watts, np.array(own), drawn)
    kind_of = list(zip(*(values.tolist() for values in of_groups), strict=True))
    kinds = sorted(set(kind_of))
    class_of = np.array([kinds.index(kind) for kind in kind_of])
    member = class_of[:, None] == np.arange(len(kinds))  # group × class
    class_caps = (rows @ member)[row_of]
    slowdown, class_slowdown = np.unique([kind[0] for kind in kinds], return_inverse=True)
    sigma = problem.sigma[:, None]
    stretch = _greatest_stretch(problem)
    work, slowest = np.array(runtime), np.zeros(runtime.size)
    if running is not None:
        left = running.work_left - (t0 - running.since) / running.tc
        work[running.rows] = np.maximum(left * (1.0 - RATES), 0.0)
        slowest[running.rows] = running.tc  # a job may keep this pace, whatever the others do
    duration = work[:, None] * (sigma * slowdown + (1.0 - sigma))
    most = work[:, None] * np.maximum(sigma * slowdown + (1.0 - sigma) * stretch[:, None], slowest[:, None])

    clusters = groups.uplink.size
    busy, idle, more = least_watts(
        problem.watts[:, np.unique(class_of, return_index=True)[1]] if problem.watts.size else problem.watts,
        *(np.array([kind[k] for kind in kinds]) for k in (1, 2)),
    )
    per_cluster = np.stack([rows[:, groups.cluster == k].sum(axis=1) for k in range(clusters)], axis=1)
    release = np.maximum(problem.submit, t0) - t0
    exact = with_leaving and is_exact(problem, np.where(np.isfinite(duration), duration, 0.0))
    longest = 2.0 * duration.max(axis=1)  # a job that contention delays longer loses more than the clock hides
    pools = None if problem.extras is None else problem.extras.pools
    relaxation = Relaxation(
        t0=t0,
        tick=0.0 if exact else TICKS * float(np.spacing(last_instant(problem, longest, delays))),
        release=release,
        late=np.maximum(t0 - problem.submit, 0.0),
        begun=begun,
        tasks=np.array(problem.tasks),
        most_nodes=np.array(most_nodes(problem)),
        slowdown=slowdown,
        duration=duration,
        most=most,
        usable=_usable_modes(problem.tasks, ids, duration, class_caps, class_slowdown, slowdown.size),
        nodes=groups.nodes @ member,
        caps=class_caps,
        class_slowdown=class_slowdown.astype(np.int64),
        group_class=class_of,
        busy_watts=busy,
        idle_watts=idle,
        more_watts=more,
        pool_amount=np.zeros(0, dtype=np.int64) if pools is None else np.array(pools.amount),
        pool_need=np.zeros((release.size, 0), dtype=np.int64) if pools is None else np.array(pools.need),
        single=per_cluster.max(axis=1)[row_of] >= problem.tasks,
        uncontended=bool((stretch <= 1.0).all()),
        submits_move=bool(moving.any()),
        some_wait_for_more=problem.extras is not None and problem.extras.precedence.conditions.size > 0,
    )
    if several:  # each class is then a group
        relaxation = replace(relaxation, fits=fits[:, np.argsort(class_of)], wanted=wanted)
    relaxation.duration[lost] = 0.0
    # A dependent job may be kept out of a gap, and its followers with it.
    for _ in range(2 if problem.extras is not None and problem.extras.precedence.conditions.size else 1):
        relaxation = between_downtimes(relaxation, problem, planned)
        relaxation = released_behind_conditions(relaxation, problem)
    if keeps_plans and relaxation.uncontended and not lost.size and (running is None or not running.rows.size):
        relaxation = replace(relaxation, shut=sure_closures(problem, class_of, relaxation.tick))
    return relaxation if with_leaving else only_sure_starts(relaxation, problem, without=lost)


def _greatest_stretch(problem: Problem) -> Floats:
    """Return an upper limit on each job's communication slowdown by contention; 1 if it has none.

    D_jk <= t_jk·B_j, so an uplink's load is at most its cluster's nodes times the greatest B of all tasks on one
    node. It is also at most what all jobs send if each is split in halves, τ·B·τ/(4(τ − 1)).
    """
    each, whole = tasks_in_all(problem, np.arange(problem.tasks.size))
    groups, tasks = problem.groups, whole.astype(np.float64)
    sends = (problem.bandwidth > 0) & (most_nodes(problem) > 1)
    if not sends.any() or groups.uplink.size == 1:
        return np.ones(tasks.size)
    nodes = np.bincount(groups.cluster, weights=groups.nodes, minlength=groups.uplink.size)
    halved = float((problem.bandwidth * tasks * tasks / (4.0 * np.maximum(tasks - 1.0, 1.0)))[sends].sum())
    loads = np.minimum(nodes * float((problem.bandwidth * each)[sends].max()), halved)
    return np.where(sends, max(1.0, float((loads * (1.0 + RATES) / groups.uplink).max())), 1.0)


def _usable_modes(
    tasks: Ints, ids: Ints, duration: Floats, caps: Ints, class_slowdown: Ints, slowdowns: int
) -> NDArray[np.bool_]:
    """Return for each job and slowdown whether the nodes at most so slow are enough, and no larger set is as fast.

    Raise InfeasibleError if a job has more tasks than nodes that it may use.
    """
    room = np.stack([caps[:, class_slowdown <= v].sum(axis=1) for v in range(slowdowns)], axis=1)
    short = np.flatnonzero(room[:, -1] < tasks)
    if short.size:
        row = int(short[0])
        raise InfeasibleError(
            f"Job {ids[row]}: tasks={tasks[row]} exceeds the {room[row, -1]} nodes that the "
            "federation, its caps and its allowed clusters leave; drop it, loosen them or use a larger federation."
        )
    enough = room >= tasks[:, None]
    pointless = np.zeros_like(enough)
    pointless[:, :-1] = duration[:, 1:] <= duration[:, :-1]  # the next set is larger and costs no time
    return np.asarray(enough & ~pointless)


def release_levels(relaxation: Relaxation, *, at_most: int = LEVELS) -> Floats:
    """Return at most six release instants, the first included, after each of which the work is bounded separately.

    For each: Σ over the jobs released from then on of d·q <= m_c·(T − level).
    """
    areas = relaxation.tasks * relaxation.shortest
    instants, bounds = suffix_bounds(relaxation.release, areas, relaxation.total_nodes)
    if instants.size <= at_most:
        return instants
    best = np.argsort(-bounds, kind="stable")[: at_most // 2]
    spread = np.linspace(0, instants.size - 1, at_most - best.size).astype(np.int64)
    return np.unique(instants[np.union1d(best, spread)])


def suffix_bounds(release: Floats, work: Floats, capacity: float) -> tuple[Floats, Floats]:
    """Return the distinct releases r, and r + (work released from r on)/capacity for each."""
    instants, place = np.unique(release, return_inverse=True)
    later = np.bincount(place, weights=work, minlength=instants.size)[::-1].cumsum()[::-1]
    return instants, instants + later / capacity


def rounded_down(value: float, t0: float = 0.0) -> float:
    """Return the value minus what rounding may have added to it, but at least 0.

    If the value comes from clock values, `t0` is their origin: rounding grows with it.
    """
    return max(0.0, value - ROUNDING * (abs(value) + abs(t0)))


def hidden_by_clock(relaxation: Relaxation, weights: tuple[float, float]) -> float:
    """Return how much lower a schedule's measured cost may be than its cost in true times.

    The cost is weights[0]·makespan + weights[1]·energy. Delay each start by a tick for every job that starts before
    it, and let each run be a tick longer. Nodes are still used by one job after the other, and the last end is a
    tick later for each job.
    """
    jobs = relaxation.tasks.size
    busier = float(relaxation.most_nodes.sum() * np.abs(relaxation.extra_of_jobs).max(initial=0.0))
    return relaxation.tick * (weights[0] * jobs + weights[1] * (relaxation.idle_total * jobs + busier))


def with_true_watts(relaxation: Relaxation, problem: Problem) -> Relaxation:
    """Return the relaxation with each class's own idle watts, and jobs' watts beyond its busy watts.

    Bounds take the least watts of any job instead; energy can then be summed exactly.
    """
    if not problem.watts.size:
        return relaxation
    group = np.unique(relaxation.group_class, return_index=True)[1]  # one of each class
    busy = np.array(problem.groups.busy_watts)[group]
    more = problem.watts[:, group] - busy
    return replace(relaxation, busy_watts=busy, idle_watts=np.array(problem.groups.idle_watts)[group], more_watts=more)


def least_watts(watts: Floats, busy: Floats, idle: Floats) -> tuple[Floats, Floats, Floats]:
    """Return the least watts of every class's nodes, busy and idle, and (jobs × classes) how much more each job draws.

    `watts` are jobs × classes; if it is empty, all jobs draw the busy watts, and the third array is empty too.
    """
    if watts.size == 0:
        return busy, idle, np.zeros((0, 0))
    least = watts.min(axis=0)
    return least, np.minimum(idle, least), watts - least
