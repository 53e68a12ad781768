"""The data of schedules (plans) for the script of a report's page: arrays packed into text.

They are the jobs, where and when these run, and sums. If there are very many jobs, only the largest are drawn as bars;
the others become shading, the share of each cell of a grid (nodes × time) that they take.
"""

from __future__ import annotations

import base64
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted, one_line
from fedsched.model.jobs.layout import layout_of, tasks_on_nodes
from fedsched.model.jobs.uneven import are_uneven, counted_tasks_per_node
from fedsched.model.power.power_cap import cap_over_time
from fedsched.model.power.watts import extra_joules, extra_watts
from fedsched.model.schedule.closed_spans import numbered
from fedsched.model.schedule.node_lanes import rectangles
from fedsched.model.schedule.node_numbers import by_their_numbers
from fedsched.model.schedule.off_spans import bands
from fedsched.model.schedule.power_draw import drawing_of, drawn_off
from fedsched.model.time.reservations import reserved_nodes
from fedsched.model.time.signal import CAP, Curve, drawn_over
from fedsched.plot import shading
from fedsched.plot.gantt import link_load, steps_of
from fedsched.plot.shading import in_parts
from fedsched.report.formatting import duration, number, share

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.closed_spans import ClosedSpans, Numbered
    from fedsched.model.schedule.node_lanes import Lanes
    from fedsched.model.schedule.node_numbers import NodeRuns
    from fedsched.model.schedule.off_spans import OffSpans
    from fedsched.model.schedule.power_draw import Draws
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.reservations import ReservedNodes
    from fedsched.model.time.signal import Signal

MOST_DRAWN = 240_000  # jobs drawn one by one, of all plans together; bars at most twice as many
ROWS, COLUMNS = 512, 8192  # of the shading's grid, at most
CELLS = 4_000_000  # of the grids of all plans together, at most
LEVELS = 16  # of the shading: the eye distinguishes no more
STRIPS = 4096  # parts of the period in each strip of a thinned plan, at most
STRIPS_TOGETHER = 200_000  # such parts of all clusters together, at most


def row_blocks(federation: Federation, *, own: bool) -> list[tuple[int, int]]:
    """Return the blocks of rows of a chart, from the top: a group's index, and how many of its nodes follow.

    Each group is a block. With `own`, nodes are in the order of their own numbers, so a group may have several blocks.
    """
    if not own or federation.node_order is None:
        return [(g, group.count) for g, group in enumerate(federation.groups)]
    of_node = federation.group_of_node
    begins = np.flatnonzero(np.diff(of_node, prepend=-1))
    return [*zip(of_node[begins].tolist(), np.diff(begins, append=of_node.size).tolist(), strict=True)]


def work_of(schedule: Schedule) -> NDArray[np.float64]:
    """Return the node-seconds of each job by its run time; if jobs share nodes, by its share of their cores."""
    use = getattr(schedule, "use", None)
    nodes = schedule.workload.tasks if use is None else use.shares.sum(axis=1)
    return np.asarray(nodes * schedule.workload.runtime, dtype=np.float64)


def individual_jobs(work: NDArray[np.float64], room: int) -> NDArray[np.bool_] | None:
    """Return a mask of the jobs that the page keeps individually; None if there are at most `room` jobs: it keeps all.

    Kept are the room // 2 jobs with the most `work`, in node-seconds; the others are only shaded.
    """
    return None if work.size <= room else shading.largest(work, room // 2)


def plan_of(
    schedule: Schedule,
    tick: float,
    *,
    kept: NDArray[np.bool_] | None = None,
    room: int = MOST_DRAWN,
    plans: int = 1,
    own: bool = False,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, object]:
    """Return a plan's packed data for the page: start, finish and nodes (ranges of node numbers) of each job.

    Sums, shading, closed and reserved nodes, and signals are in it, too. If jobs share nodes, each range also has the
    cores that its job takes of each node (`low` to before `high`), and its number of tasks there.

    Parameters
    ----------
    schedule
        The plan's schedule.
    tick
        The unit of time, in seconds.
    kept
        The jobs that the page keeps individually; by default all.
    room
        The number of bars that there is room for. If there are more than twice as many, or not all jobs are kept, only
        the largest are bars; the others become shading: the share of each cell of a grid that they take.
    plans
        The number of plans that share the page's cells.
    own
        Whether nodes have their own numbers, as always if jobs share nodes; else numbers run group by group.
    progress
        Called with (jobs placed on nodes, jobs in all).
    """
    found = numbered(schedule, progress)
    if own and found.job_lanes is None:
        runs_of_each = (found.jobs, found.lost, found.closed, found.dark)
        jobs, lost, closed, dark = (by_their_numbers(runs, schedule.federation.node_order) for runs in runs_of_each)
        found = found._replace(jobs=jobs, lost=lost, closed=closed, dark=dark)
    own, runs, lanes = own or found.job_lanes is not None, found.jobs, found.job_lanes
    done = ~np.isnan(schedule.finish)
    columns: dict[str, NDArray[Any]] = {
        "start": ticks(np.where(done, schedule.start - schedule.t0, np.nan), tick),
        "finish": ticks(schedule.finish - schedule.t0, tick),
    }
    job = np.repeat(np.arange(len(schedule)), runs.pieces)
    if schedule.workload.gear is not None:
        columns["gear"] = schedule.workload.gear.values
    if lanes is not None:
        columns |= _places(schedule)
    drawn = done[job]
    about: dict[str, object] = {"sums": sums_of(schedule)}
    if kept is not None or int(drawn.sum()) > 2 * room:
        kept = np.ones(len(schedule), dtype=np.bool_) if kept is None else kept
        drawn, shade = _thinned(schedule, found, job, kept, max(room, int(kept.sum())), plans, own)
        columns = {name: column[kept] for name, column in (columns | _places(schedule)).items()}
        strips = strips_of(schedule, min(STRIPS, max(64, STRIPS_TOGETHER // len(schedule.federation.clusters))))
        columns |= {"shade": shade.pop("shade"), **strips}
        about |= {"thinned": shade | {"jobs": int(done.sum())}}
    columns |= _closed(schedule, found.spans, found.closed, tick) | _lost(schedule, found, kept, tick)
    columns |= {} if kept is not None else _off(schedule, tick) | _dark(schedule, found.off, found.dark, tick)
    columns |= {} if kept is not None or lanes is None else _loads(schedule, tick)
    last = schedule.t0 + schedule.makespan
    kept_nodes = reserved_nodes(schedule.federation, own=own)
    reserved = [one for one in kept_nodes if one.reservation.begin < last]
    columns |= _reserved(schedule, reserved, tick)
    about |= {"signals": curves} if (curves := curves_of(schedule)) else {}
    about |= _cap(schedule)
    about |= {"reservedNames": [one_line(one.reservation.name) for one in reserved]} if reserved else {}
    columns["pieces"] = np.bincount(job[drawn], minlength=len(schedule))[slice(None) if kept is None else kept]
    columns |= _ranges(runs, lanes, drawn)
    return packed(columns) | about


def _loads(schedule: Schedule, tick: float) -> dict[str, NDArray[Any]]:
    """Return, for each finite uplink, columns of the times in ticks when its load changes, and of the changes.

    Loads are in bytes/s. They do not follow from the bars if jobs share nodes: their heights are shares, not tasks.
    """
    found: dict[str, NDArray[Any]] = {}
    if not (schedule.workload.task_bandwidth > 0).any():
        return found
    for k, cluster in enumerate(schedule.federation.clusters):
        if np.isfinite(cluster.uplink):
            times, load = link_load(schedule, k, 1.0)
            change = np.diff(load, prepend=0.0)
            found |= {f"loadAt{k}": ticks(times[change != 0.0], tick), f"loadBy{k}": change[change != 0.0]}
    return found


def _ranges(runs: NodeRuns, lanes: Lanes | None, which: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    """Return columns of the first node and the number of nodes of some ranges; with `lanes`, cores and tasks, too."""
    columns = {"first": runs.first[which], "nodes": (runs.last - runs.first + 1)[which]}
    if lanes is not None:
        columns |= {name: column[which] for name, column in lanes._asdict().items()}
    return columns


def _closed(schedule: Schedule, spans: ClosedSpans, runs: NodeRuns, tick: float) -> dict[str, NDArray[Any]]:
    """Return columns of times in ticks, first node and number of nodes for each range of nodes that is closed.

    Only times between t0 and the end of the last job count; {} if there are none.
    """
    last = schedule.makespan
    begin, end = (np.repeat(times - schedule.t0, runs.pieces) for times in (spans.start, spans.finish))
    within = (begin < last) & (end > 0.0)
    if not within.any():
        return {}
    return {
        "closedStart": ticks(np.maximum(begin[within], 0.0), tick),
        "closedFinish": ticks(np.minimum(end[within], last), tick),
        "closedFirst": runs.first[within],
        "closedNodes": (runs.last - runs.first + 1)[within],
    }


def _cap(schedule: Schedule) -> dict[str, object]:
    """Return, as "cap", the times in seconds since t0 when the power cap changes, and its watts; {} without a cap."""
    times, watts = cap_over_time(schedule.federation, schedule.t0, schedule.t0 + schedule.makespan)
    if not times.size:
        return {}
    return {"cap": {"times": (times - schedule.t0).tolist(), "watts": watts.tolist()}}


def _off(schedule: Schedule, tick: float) -> dict[str, NDArray[Any]]:
    """Return columns of the periods, in ticks, in which nodes save power, with the cluster and the change in watts.

    The watts are those beyond idle nodes, so below 0 for nodes that are off; {} if no node is switched off.
    """
    off = drawn_off(schedule)
    if not off.watts.size:
        return {}
    return {
        "offStart": ticks(off.begin - schedule.t0, tick),
        "offFinish": ticks(off.end - schedule.t0, tick),
        "offWatts": off.watts,
        "offCluster": off.cluster,
    }


def _dark(schedule: Schedule, off: OffSpans, runs: NodeRuns, tick: float) -> dict[str, NDArray[Any]]:
    """Return columns of times in ticks for each range of nodes that is off, or shuts down or boots ("darkChanges").

    Times end with the last job; {} if there are none.
    """
    found = bands(off, runs, schedule.t0 + schedule.makespan)
    if not found.first.size:
        return {}
    return {
        "darkStart": ticks(found.start - schedule.t0, tick),
        "darkFinish": ticks(found.finish - schedule.t0, tick),
        "darkFirst": found.first,
        "darkNodes": found.last - found.first + 1,
        "darkChanges": found.changes.astype(np.int64),
    }


def _reserved(schedule: Schedule, reserved: Sequence[ReservedNodes], tick: float) -> dict[str, NDArray[Any]]:
    """Return columns of times in ticks, first node and number of nodes for each range that a reservation keeps.

    Times end with the last job; {} without reservations.
    """
    if not reserved:
        return {}
    begin = np.array([one.reservation.begin for one in reserved]) - schedule.t0
    end = np.array([one.reservation.end for one in reserved]) - schedule.t0
    return {
        "reservedStart": ticks(np.maximum(begin, 0.0), tick),
        "reservedFinish": ticks(np.clip(end, 0.0, schedule.makespan), tick),
        "reservedFirst": np.array([one.first for one in reserved]),
        "reservedNodes": np.array([one.nodes for one in reserved]),
    }


def _lost(schedule: Schedule, found: Numbered, kept: NDArray[np.bool_] | None, tick: float) -> dict[str, NDArray[Any]]:
    """Return columns of the kept jobs' runs that lost their nodes: job, times in ticks and nodes, a row for each range.

    Return {} if there are none.
    """
    lost, run = schedule.lost, np.repeat(np.arange(schedule.lost.runs), found.lost.pieces)
    place = np.arange(len(schedule)) if kept is None else np.where(kept, np.cumsum(kept) - 1, -1)
    drawn = place[lost.job[run]] >= 0
    if not drawn.any():
        return {}
    run = run[drawn]
    ranges = _ranges(found.lost, found.lost_lanes, drawn)
    return {
        "lostJob": place[lost.job[run]],
        "lostStart": ticks(lost.start[run] - schedule.t0, tick),
        "lostFinish": ticks(lost.end[run] - schedule.t0, tick),
        **{f"lost{name.capitalize()}": column for name, column in ranges.items()},
    }


def _thinned(
    schedule: Schedule,
    found: Numbered,
    job: NDArray[np.int64],
    kept: NDArray[np.bool_],
    most: int,
    plans: int,
    own: bool,
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return a mask of the node ranges that are drawn as bars, about `most` in all, and the shading of the others.

    The shading has its levels (0 to 15 for each cell) and its grid. The widest range of each kept job is always a bar.
    """
    done, runs = ~np.isnan(schedule.finish), found.jobs
    drawn_as = rectangles(schedule.federation, runs, found.job_lanes)
    nodes = np.bincount(drawn_as.run, weights=drawn_as.bottom - drawn_as.top, minlength=job.size)
    size = np.where(kept[job] & done[job], nodes * (schedule.finish - schedule.start)[job], -1.0)
    # The widest range of each kept job is always drawn, so that every kept job can be found.
    widest = np.lexsort((nodes, job))[np.cumsum(runs.pieces)[runs.pieces > 0] - 1]
    size[widest] = np.where(size[widest] >= 0, np.inf, -1.0)
    drawn = shading.largest(size, most) & (size >= 0)
    blocks = [count for _, count in row_blocks(schedule.federation, own=own)]
    rows = max(ROWS, len(blocks))
    grid = shading.Grid.over(blocks, schedule.makespan, rows=rows, columns=COLUMNS)
    columns = max(64, min(COLUMNS, CELLS // plans // grid.first_rows[-1]))
    grid = shading.Grid.over(blocks, schedule.makespan, rows=rows, columns=columns)
    rest = np.flatnonzero((done[job] & ~drawn)[drawn_as.run])
    share = np.zeros((grid.first_rows[-1], columns))
    for at in range(0, rest.size, shading.AT_ONCE):
        some = rest[at : at + shading.AT_ONCE]
        parts = shading.split(drawn_as.top[some], drawn_as.bottom[some], blocks)
        of = job[drawn_as.run[some[parts.run]]]
        share += shading.shares(grid, parts, schedule.start[of] - schedule.t0, schedule.finish[of] - schedule.t0)
    shade = np.rint(np.minimum(share, 1.0) * (LEVELS - 1)).astype(np.uint8)
    about = {"columns": columns, "firstRows": grid.first_rows, "nodes": grid.nodes, "seconds": grid.seconds}
    return drawn, about | {"shade": shade.ravel(), "bars": int(np.isin(drawn_as.run, np.flatnonzero(drawn)).sum())}


def _places(schedule: Schedule) -> dict[str, NDArray[Any]]:
    # How many nodes each job has on each cluster: not all of its bars may be drawn, and a node may have several.
    cluster = np.array(schedule.federation.group_cluster)
    if (use := getattr(schedule, "use", None)) is None:
        columns = [schedule.counts[:, cluster == k].sum(axis=1) for k in range(len(schedule.federation.clusters))]
    else:
        of_row = cluster[schedule.federation.group_of_node[use.node]]
        columns = [
            np.bincount(use.job[of_row == k], minlength=len(schedule)) for k in range(len(schedule.federation.clusters))
        ]
    return {f"on{k}": column for k, column in enumerate(columns)}


def thinned_in_words(work: NDArray[np.float64], kept: NDArray[np.bool_] | None, about: dict[str, Any]) -> str:
    """Return one or two sentences for readers on which jobs of a plan are drawn as bars and which are shading.

    `work` has the node-seconds of each job.
    """
    cell = f"a cell of {duration(about['seconds'])} by {counted(about['nodes'], 'node')}"
    where = f"in {about['bars']:,} bars; what is smaller is shading, {cell}, where the zoom ends"
    if kept is None:
        jobs = f"{counted(work.size, 'job')} {'is' if work.size == 1 else 'are'}"
        return f"{jobs} drawn {where}. Every sum is of all of it"
    part = share(float(work[kept].sum() / work.sum()))
    others = number(float(work[~kept].max()) / 3600.0)
    return (
        f"Of {work.size:,} jobs the {int(kept.sum()):,} of most node-hours, {part} of the work, are drawn, listed "
        f"and found one by one, {where}. The other jobs, of at most {others} node-hours each, are shading alone; "
        "every sum is of all jobs"
    )


def curves_of(schedule: Schedule) -> list[dict[str, object]]:
    """Return a dictionary for each price and carbon signal: kind, unit, cluster's index, and its steps since t0.

    Steps are times in seconds and values. Cluster -1 stands for all clusters without a signal of their own.
    """
    names = [cluster.name for cluster in schedule.federation.clusters]
    return [
        {
            "kind": signal.kind,
            "unit": signal.unit,
            "cluster": names.index(signal.cluster) if signal.cluster else -1,
            **_steps(signal, schedule.t0, schedule.t0 + schedule.makespan),
        }
        for signal in schedule.federation.signals
        if signal.kind != CAP
    ]


def _steps(signal: Signal, begin: float, end: float) -> dict[str, list[float]]:
    times, (values,) = drawn_over([Curve(signal)], begin, end)
    return {"at": (times - begin).tolist(), "value": values.tolist()}


ROUNDING = 1e-9  # relative excess of a load over its uplink that counts as rounding


def sums_of(schedule: Schedule) -> dict[str, object]:
    """Return sums over the whole schedule: the makespan in seconds, the peak watts, and a dictionary for each cluster.

    Each cluster's dictionary has the node-seconds and joules of busy nodes, the joules of idle nodes, the peak watts,
    and the uplink's peak load with the seconds in which it is above the bandwidth.
    """
    groups = schedule.federation.groups
    until = schedule.makespan
    (runs, watts), off = drawing_of(schedule), drawn_off(schedule)
    seconds = (runs.end - np.maximum(runs.start, schedule.t0)) @ runs.counts
    beyond = extra_joules(watts, groups, runs, schedule.t0)
    clusters = []
    for k, cluster in enumerate(schedule.federation.clusters):
        here = [g for g, of in enumerate(schedule.federation.group_cluster) if of == k]
        busy = sum(seconds[g] * groups[g].busy_watts + beyond[g] for g in here)
        idle = sum((until * groups[g].count - seconds[g]) * groups[g].idle_watts for g in here)
        idle += float((off.watts * (off.end - off.begin))[off.cluster == k].sum())
        most, above = 0.0, 0.0
        if np.isfinite(cluster.uplink):
            times, load = link_load(schedule, k, 1.0)
            most = float(load.max(initial=0.0))
            above = float(np.diff(times)[load[:-1] > cluster.uplink * (1 + ROUNDING)].sum())
        clusters.append(
            {
                "busySeconds": float(sum(seconds[g] for g in here)),
                "busyEnergy": float(busy),
                "idleEnergy": float(idle),
                "peak": _most(power_of(schedule, here, off)[1]) + idle_watts(schedule, here),
                "peakLoad": most,
                "secondsAbove": above,
            }
        )
    everywhere = list(range(len(groups)))
    peak = _most(power_of(schedule, everywhere, off)[1]) + idle_watts(schedule, everywhere)
    return {"until": until, "peak": peak, "clusters": clusters}


def idle_watts(schedule: Schedule, groups: list[int]) -> float:
    """Return the total watts of all nodes of these groups, given by index, if all are on and idle."""
    return float(sum(schedule.federation.groups[g].idle_watts * schedule.federation.groups[g].count for g in groups))


def power_of(schedule: Schedule, groups: list[int], off: Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return instants in seconds since t0, and the watts above `idle_watts` from each on, of these node groups.

    The groups, given by index, make up whole clusters. `off` has the watts that switching nodes off adds or saves.
    """
    runs, own = drawing_of(schedule)
    extra = (runs.counts * extra_watts(own, schedule.federation.groups, runs.job))[:, groups].sum(axis=1)
    mine = np.isin(off.cluster, [schedule.federation.group_cluster[g] for g in groups])
    start, end = np.concatenate([runs.start, off.begin[mine]]), np.concatenate([runs.end, off.end[mine]])
    watts = np.concatenate([extra, off.watts[mine]])
    return steps_of(runs._replace(start=start, end=end), watts, schedule.t0, 1.0)


def strips_of(schedule: Schedule, columns: int) -> dict[str, NDArray[np.float32]]:
    """Return each cluster's mean watts, and its uplink's mean and peak load, in `columns` equal parts of the makespan.

    Loads in bytes/s are given only for finite uplinks, if jobs communicate.
    """
    found = {}
    edges, off = np.linspace(0.0, schedule.makespan, columns + 1), drawn_off(schedule)
    for k, cluster in enumerate(schedule.federation.clusters):
        here = [g for g, of in enumerate(schedule.federation.group_cluster) if of == k]
        watts, _ = in_parts(*power_of(schedule, here, off), edges)
        found[f"power{k}"] = (watts + idle_watts(schedule, here)).astype(np.float32)
        if np.isfinite(cluster.uplink) and (schedule.workload.task_bandwidth > 0).any():
            mean, most = in_parts(*link_load(schedule, k, 1.0), edges)
            found |= {f"load{k}": mean.astype(np.float32), f"most{k}": most.astype(np.float32)}
    return found


def _most(values: NDArray[np.float64]) -> float:
    return float(values.max(initial=0.0))


NEVER = -(2**31)  # the tick of a job that was not started
TICKS = 2**30  # in the period of a schedule, at most
MUCH = 4_000_000  # bytes from which on the strongest compression takes too long
LONG = 1000.0  # seconds from which on milliseconds suffice


def packed(columns: Mapping[str, NDArray[Any]]) -> dict[str, object]:
    """Return columns as one compressed text ("bytes", in base64) and a directory ("columns").

    The directory has the name, array type and length of each column, in order. Numbers get the narrowest type.
    """
    parts = [(name, _narrowed(column)) for name, column in columns.items()]
    parts.sort(key=lambda part: -part[1].itemsize)  # widest types first, so that each column is aligned
    blob = b"".join(column.tobytes() for _, column in parts)
    blob = zlib.compress(blob, 9 if len(blob) < MUCH else 6)
    directory = [[name, column.dtype.str[1:], len(column)] for name, column in parts]
    return {"columns": directory, "bytes": base64.b64encode(blob).decode()}


def _narrowed(column: NDArray[Any]) -> NDArray[Any]:
    # The narrowest array type of JavaScript that holds the values, little-endian like all machines that run it.
    if column.dtype.kind == "f":
        return column.astype("<f4" if column.dtype.itemsize == 4 else "<f8")
    low, high = (int(column.min()), int(column.max())) if column.size else (0, 0)
    for kind in ("<u1", "<u2", "<u4", "<i4"):
        limits = np.iinfo(kind)
        if limits.min <= low and high <= limits.max:
            return column.astype(kind)
    return column.astype("<f8")  # whole numbers stay exact to 2^53


def tick_of(schedules: list[Schedule]) -> float:
    """Return the unit of time (tick), a power of ten in seconds, in which all schedules' times are 32-bit integers.

    It is the finest such unit, but at least 1 ms if the times span 1000 s or more.
    """
    spans = [np.abs(s.workload.submit - s.t0).max(initial=0.0) for s in schedules]
    spans += [np.nanmax(np.abs(times - s.t0), initial=0.0) for s in schedules for times in (s.start, s.finish)]
    span = max(spans) or 1.0
    exponent = int(np.ceil(np.log10(span / TICKS)))
    return float(10.0 ** (exponent if span < LONG else max(-3, exponent)))


def ticks(times: NDArray[np.float64], tick: float) -> NDArray[np.int64]:
    """Return times in seconds as whole numbers of ticks, rounded; NaN becomes NEVER (−2**31)."""
    known = ~np.isnan(times)
    return np.where(known, np.rint(np.where(known, times, 0.0) / tick), NEVER).astype(np.int64)


def jobs_of(schedule: Schedule, tick: float, kept: NDArray[np.bool_] | None = None) -> dict[str, object]:
    """Return the packed columns that all plans share: ids, submits in ticks, tasks, estimates, users and more of jobs.

    With the mask `kept`, only the jobs that the page keeps individually are included.
    """
    jobs = schedule.workload if kept is None else schedule.workload.take(np.flatnonzero(kept))
    columns: dict[str, NDArray[Any]] = {
        "id": jobs.id,
        "submit": ticks(jobs.submit - schedule.t0, tick),
        "tasks": jobs.tasks,
        "estimate": np.rint(jobs.estimate).astype(np.int64),
        "user": jobs.user,
    }
    if (jobs.task_bandwidth > 0).any():
        columns["bandwidth"] = jobs.task_bandwidth
        if (on_nodes := tasks_on_nodes(jobs)).any():
            columns |= {"each": layout_of(jobs)[0] * (on_nodes > 0), "on_nodes": on_nodes}
            if (uneven := are_uneven(jobs)).any():  # jobs × groups
                each = np.maximum(columns["each"], 1)[:, None]
                fits = counted_tasks_per_node(jobs, schedule.federation)
                columns["fits"] = np.where(uneven[:, None], fits, each).ravel()
    if jobs.watts is not None:
        columns["watts"] = jobs.watts.values
    return packed(columns)
