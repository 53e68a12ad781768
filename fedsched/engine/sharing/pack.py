"""Packing of jobs and a federation into arrays for shared nodes: nodes, kinds of jobs, and a plan."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.arrays.read_only import floats, ints
from fedsched.engine.codes import Dispatch, Needs, Placement
from fedsched.engine.orders import queue_order
from fedsched.engine.pack.foresight import known_problem
from fedsched.engine.pack.node_caps import checked_caps
from fedsched.engine.pack.problem import pack as pack_engine
from fedsched.engine.pack.problem import thrifty_orders
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.simulation import set_running
from fedsched.engine.shared_nodes.arrays import Choice, Closures, Kinds, Nodes, Reservation, Sharing
from fedsched.engine.sharing.asked import asked_of, refuse_unsupported
from fedsched.engine.sharing.counting import NOTHING_COUNTS, counted_nodes, who_counts_nodes
from fedsched.engine.sharing.present import present_of
from fedsched.engine.sharing.room import new_work, runs_to_lose
from fedsched.model.jobs.demands import CORES, GPU
from fedsched.model.machine.federation import MOST_NODES
from fedsched.model.machine.limits import without_node_limits
from fedsched.model.machine.node_ranges import check_node_count

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Extras, Floats, Ints, Plan, Problem, RunningJobs, State
    from fedsched.engine.shared_nodes.arrays import Held
    from fedsched.engine.sharing.asked import Asked
    from fedsched.engine.sharing.noun import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.policies import Rules


class Packed(NamedTuple):
    """A Problem with shared nodes, a Plan and a State for it, and the demands of its jobs."""

    problem: Problem
    plan: Plan
    state: State
    asked: Asked


def pack(
    workload: Workload,
    federation: Federation,
    rules: Rules,
    sharing: NodeSharing,
    reading: Reading,
    t0: float | None,
    *,
    caps: Ints | None = None,
    running: RunningJobs | None = None,
    apart: bool = False,
    as_known: bool = False,
) -> Packed:
    """Return these jobs on the shared nodes of this federation as arrays, with a plan by these rules.

    `caps` (jobs × groups) are the most tasks of each job on each group; those of the rules apply too. `running`: jobs
    that run already at t0. `apart`: each job is a kind of its own, because later plans may bind each
    job to other groups. `as_known`: the problem has only the downtimes that are known as the run begins [48].
    """
    for cluster in federation.clusters:
        check_node_count(cluster.name, cluster.nodes)
    refuse_unsupported(workload, federation, rules, reading)
    asked = asked_of(workload, federation)
    caps = caps_in_tasks(workload, federation, asked, [one for one in (rules.caps, caps) if one is not None])
    if caps is not None:
        asked = asked._replace(opened=asked.opened * (caps > 0))
    rows = () if running is None else tuple(running.rows.tolist())
    problem = pack_engine(workload, without_node_limits(federation), reading=reading, t0=t0, running=rows)
    problem = with_watts_per_core(problem, federation)
    if as_known:
        problem = known_problem(problem, problem.t0)
    plan = _plan(problem, rules, caps)
    state = new_state(
        problem,
        needs=Needs.ENDS if plan.dispatch == Dispatch.EASY else Needs.NOTHING,
        separate_backfill=plan.separate_backfill,
    )
    state.shortest[:] = shortest_on(problem, asked)
    if apart:
        kinds = kinds_apart(workload, asked)
    else:
        home = plan.placement == Placement.HOME
        kinds = kinds_of(workload, federation, asked, problem, home=home, caps=caps)
    packed = shared(federation, asked, kinds, sharing, plan.backfill_order, problem.extras)
    packed = packed._replace(counted=counted_nodes(workload, federation))
    lost = runs_to_lose(problem, packed)
    plans = plan.dispatch == Dispatch.CONSERVATIVE
    pools = 0 if problem.extras is None else problem.extras.pools.amount.size
    work = new_work(packed, present_of("simulate", running, packed), lost, plans=plans, pools=pools)
    state = that_may_lose(state, int(lost.sum()))._replace(work=work)
    if running is not None:
        set_running(state, running.rows, running)
    return Packed(problem._replace(sharing=packed), plan, state, asked)


def that_may_lose(state: State, runs: int) -> State:
    """Return the state with room for this many lost runs; the state itself if there are none.

    The usual room is one lost run per closed node, but a shared node may have several jobs.
    """
    if state.extras is None or not runs:
        return state
    lost, groups = state.extras.lost, state.counts.shape[1]
    more = lost._replace(
        job=np.zeros(runs, dtype=np.int64),
        requeued=np.zeros(runs, dtype=np.int64),
        start=np.zeros(runs),
        end=np.zeros(runs),
        counts=np.zeros((runs, groups), dtype=np.int64),
    )
    return state._replace(extras=state.extras._replace(lost=more))


def shortest_on(problem: Problem, asked: Asked) -> Floats:
    """Return each job's planned duration, in seconds, on the fastest nodes that it may use."""
    slowdown = np.where(asked.opened > 0, problem.groups.slowdown, np.inf).min(axis=1)
    fastest = np.where(np.isfinite(slowdown), slowdown, 1.0)
    return np.asarray(problem.estimate * (problem.sigma * fastest + (1.0 - problem.sigma)))


def with_watts_per_core(problem: Problem, federation: Federation) -> Problem:
    """Return the problem with watts by core, not by node: `efficient` places tasks by them [19]."""
    groups = problem.groups
    nodes, cores = groups.nodes, np.array([dict(group.resources)[CORES] for group in federation.groups])
    busy, idle = groups.busy_watts / cores, groups.idle_watts / cores
    in_cluster, cheap = thrifty_orders(busy, idle, groups.speed, groups.cluster, federation.turns)
    by_core = groups._replace(
        busy_watts=floats(busy),
        idle_watts=floats(idle),
        cheap_in_cluster=in_cluster,
        cheap=cheap,
    )
    return problem._replace(groups=by_core, nodes=int(nodes @ cores))


def caps_in_tasks(workload: Workload, federation: Federation, asked: Asked, given: Sequence[Ints]) -> Ints | None:
    """Return the least of some tables of caps (jobs × groups), in tasks; None if there is none.

    A job with tasks per node gets whole nodes' worth of them, if its cap is below its tasks.
    """
    if not given:
        return None
    shape, tasks = (len(workload), len(federation.groups)), workload.tasks[:, None]
    caps = np.minimum.reduce([checked_caps(one, *shape) for one in given])
    chunk = np.maximum(asked.chunk[:, None], 1)
    return np.where(caps < tasks, caps - caps % chunk, tasks)


def _plan(problem: Problem, rules: Rules, caps: Ints | None) -> Plan:
    order, order_key = queue_order(problem, rules.order)
    backfill, backfill_key = order, order_key
    if rules.backfill_order is not None and rules.dispatch == "easy":
        backfill, backfill_key = queue_order(problem, rules.backfill_order)
    separate = backfill_key != order_key or not np.array_equal(backfill, order)
    plan = plan_in_order(
        order,
        np.full((1, problem.groups.nodes.size), MOST_NODES) if caps is None else caps,
        dispatch=Dispatch[rules.dispatch.upper()],
        placement=Placement[rules.placement.upper()],
        backfill_order=backfill if separate else None,
        cap_row=np.zeros(problem.submit.size, dtype=np.int64) if caps is None else None,
    )
    return plan._replace(order_key=int(order_key), backfill_key=int(backfill_key), backfill_order=backfill)


def kinds_of(
    workload: Workload,
    federation: Federation,
    asked: Asked,
    problem: Problem,
    *,
    home: bool,
    caps: Ints | None = None,
) -> Kinds:
    """Return the kinds of jobs: jobs of one kind are alike in all that decides where they fit.

    With `home` jobs of one kind also have the same origin, as the placement rule needs it.
    """
    more: list[NDArray[Any]] = [problem.origin] if home else []
    more += [] if caps is None else [*caps.T]
    more += who_counts_nodes(workload, federation)
    if problem.extras is not None:
        extras = problem.extras
        more += [*extras.pools.need.T, *([extras.limits.kind] if extras.limits.amount.size else [])]
        more += [extras.reserved.of_job] if extras.reserved.of_job.size else []
        more += [problem.estimate, problem.sigma] if extras.calendar.begin.size else []  # how long groups must be open
    return kinds_alike(workload, asked, more)


def kinds_alike(workload: Workload, asked: Asked, more: Sequence[NDArray[Any]] = ()) -> Kinds:
    """Return the kinds of jobs: those of one kind have equal demands on nodes, and are equal in the columns `more`."""
    columns = [workload.tasks, *asked.need.T, asked.share, asked.chunk, asked.alone, *asked.opened.T, *more]
    of_job = np.zeros(len(workload), dtype=np.int64)
    for column in columns:
        if (column != column[0]).any():
            values, place = np.unique(column, return_inverse=True)
            of_job = np.unique(of_job * values.size + place.reshape(-1), return_inverse=True)[1].reshape(-1)
    return _kinds(workload, asked, of_job, np.unique(of_job, return_index=True)[1])


def kinds_apart(workload: Workload, asked: Asked) -> Kinds:
    """Return kinds of one job each, for plans that bind each job to other groups."""
    rows = np.arange(len(workload))
    return _kinds(workload, asked, rows, rows)


def _kinds(workload: Workload, asked: Asked, of_job: Ints, first: Ints) -> Kinds:
    return Kinds(
        of_job=ints(of_job),
        tasks=ints(workload.tasks[first]),
        need=ints(asked.need[first]),
        share=ints(asked.share[first]),
        chunk=ints(asked.chunk[first]),
        alone=ints(asked.alone[first]),
        opened=ints(asked.opened[first]),
    )


def shared(
    federation: Federation,
    asked: Asked,
    kinds: Kinds,
    sharing: NodeSharing,
    order: Ints,
    extras: Extras | None = None,
) -> Sharing:
    """Return the nodes, their closures, and the kinds of jobs that share them; jobs of a kind stand in `order`.

    `counted` is empty: the caller adds limits on numbers of nodes.
    """
    groups = federation.groups
    counts = np.array([group.count for group in groups])
    numbers = federation.node_order
    has = np.array([[dict(group.resources).get(name, 0) for group in groups] for name in asked.names])
    gpu = asked.names.index(GPU) if GPU in asked.names else -1
    return Sharing(
        nodes=Nodes(
            first=ints([0, *np.cumsum(counts)]),
            group=ints(np.repeat(np.arange(counts.size), counts)),
            number=ints(np.arange(counts.sum()) if numbers is None else numbers),
            has=ints(has),
            gpus=ints(has[gpu] if gpu >= 0 else np.zeros(counts.size)),
        ),
        kinds=kinds,
        closures=closures_by_group(extras, counts.size),
        counted=NOTHING_COUNTS,
        gpu=gpu,
        choice=int(Choice[sharing.choice.upper()]),
        reservation=int(Reservation[sharing.reservation.upper()]),
        leaf=ints(leaves(kinds.of_job, order)),
        begin=begins(kinds),
    )


def closures_by_group(extras: Extras | None, groups: int) -> Closures:
    """Return the closures of a problem, sorted by group and by planned end; empty lists if there are none."""
    if extras is None:
        return Closures(ints(np.zeros(groups + 1)), ints([]), ints([]), floats([]))
    calendar = extras.calendar
    of_group = np.lexsort((calendar.begin, calendar.group))
    by_end = np.argsort(calendar.planned_end, kind="stable")
    by_end = by_end[np.isfinite(calendar.planned_end[by_end])]
    return Closures(
        first=ints(np.searchsorted(calendar.group[of_group], np.arange(groups + 1))),
        of_group=ints(of_group),
        by_end=ints(by_end),
        planned_end=floats(calendar.planned_end[by_end]),
    )


def leaves(of_job: Ints, order: Ints) -> Ints:
    """Return each job's place: kind by kind, within a kind by `order`, with jobs that are not in `order` last."""
    position = np.full(of_job.size, of_job.size)
    position[order] = np.arange(order.size)
    leaf = np.empty_like(of_job)
    leaf[np.lexsort((position, of_job))] = np.arange(of_job.size)
    return leaf


def begins(kinds: Kinds) -> Ints:
    """Return the first place of each kind, and one past the last place of all."""
    return ints(np.searchsorted(np.sort(kinds.of_job), np.arange(kinds.tasks.size + 1)))


def parts_of_sharing(sharing: Sharing, held: Held | None) -> tuple[object, ...]:
    """Return all that distinguishes shared nodes, their jobs' kinds, and what running jobs hold, in one tuple."""
    numbers = np.array([sharing.gpu, sharing.choice, sharing.reservation])
    return (*sharing.nodes, *sharing.kinds, *sharing.counted, numbers, *(held or ()))


def freeze(sharing: Sharing) -> None:
    """Make all arrays read-only, as kernels are compiled for that type."""
    for part in sharing:
        for array in part if isinstance(part, tuple) else (part,):
            if isinstance(array, np.ndarray):
                array.setflags(write=False)


def part_of(sharing: Sharing, jobs: Ints, extras: Extras | None) -> Sharing:
    """Return the same nodes with only these jobs, in this order; `extras` has the downtimes that are known."""
    kinds = sharing.kinds
    which, of_job = np.unique(kinds.of_job[jobs], return_inverse=True)
    some = Kinds(of_job=ints(of_job.reshape(-1)), **{
        name: ints(getattr(kinds, name)[which]) for name in Kinds._fields if name != "of_job"
    })  # fmt: skip
    leaf = ints(leaves(some.of_job, np.arange(jobs.size)))
    # Plans of these jobs ignore limits on numbers of nodes.
    closures = closures_by_group(extras, sharing.nodes.gpus.size)
    return sharing._replace(kinds=some, closures=closures, counted=NOTHING_COUNTS, leaf=leaf, begin=begins(some))
