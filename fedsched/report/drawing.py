"""When and where each job of a plan runs, for the page's script; of very many jobs, only the largest and shading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted, one_line
from fedsched.model.power.power_cap import cap_over_time
from fedsched.model.schedule.closed_spans import numbered
from fedsched.model.schedule.off_spans import bands
from fedsched.model.schedule.power_draw import drawn_off
from fedsched.model.time.reservations import reserved_nodes
from fedsched.plot import shading
from fedsched.report.curves import curves_of
from fedsched.report.packing import packed, ticks
from fedsched.report.sums import strips_of, sums_of
from fedsched.report.words import duration, number, share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.closed_spans import ClosedSpans
    from fedsched.model.schedule.node_numbers import NodeRuns
    from fedsched.model.schedule.off_spans import OffSpans
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.reservations import ReservedNodes

MOST_DRAWN = 240_000  # jobs drawn one by one, of all plans together; bars at most twice as many
ROWS, COLUMNS = 512, 8192  # of the shading's grid, at most
CELLS = 4_000_000  # of the grids of all plans together, at most
LEVELS = 16  # of the shading: the eye distinguishes no more
STRIPS = 4096  # parts of the period in each strip of a thinned plan, at most
STRIPS_TOGETHER = 200_000  # such parts of all clusters together, at most


def kept_jobs(workload: Workload, room: int) -> NDArray[np.bool_] | None:
    """Return which jobs the page keeps individually: those with the most node-seconds; None if there is room for all.

    Otherwise half the room is left to the shading of the other jobs.
    """
    if len(workload) <= room:
        return None
    return shading.largest(workload.tasks * workload.runtime, room // 2)


def plan_of(
    schedule: Schedule,
    tick: float,
    *,
    kept: NDArray[np.bool_] | None = None,
    room: int = MOST_DRAWN,
    plans: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> dict[str, object]:
    """Return the plan's data for the page: start, finish and nodes (ranges of node numbers) of each job.

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
    progress
        Called with (jobs placed on nodes, jobs in all).
    """
    runs, lost, spans, closed, off, dark = numbered(schedule, progress)
    done = ~np.isnan(schedule.finish)
    columns: dict[str, NDArray[Any]] = {
        "start": ticks(np.where(done, schedule.start - schedule.t0, np.nan), tick),
        "finish": ticks(schedule.finish - schedule.t0, tick),
    }
    job = np.repeat(np.arange(len(schedule)), runs.pieces)
    if schedule.workload.gear is not None:
        columns["gear"] = schedule.workload.gear.values
    drawn = done[job]
    about: dict[str, object] = {"sums": sums_of(schedule)}
    if kept is not None or int(drawn.sum()) > 2 * room:
        kept = np.ones(len(schedule), dtype=np.bool_) if kept is None else kept
        drawn, shade = _thinned(schedule, runs, job, kept, max(room, int(kept.sum())), plans)
        columns = {name: column[kept] for name, column in columns.items()} | _places(schedule, kept)
        strips = strips_of(schedule, min(STRIPS, max(64, STRIPS_TOGETHER // len(schedule.federation.clusters))))
        columns |= {"shade": shade.pop("shade"), **strips}
        about |= {"thinned": shade | {"jobs": int(done.sum())}}
    columns |= _closed(schedule, spans, closed, tick) | _lost(schedule, lost, kept, tick)
    columns |= {} if kept is not None else _off(schedule, tick) | _dark(schedule, off, dark, tick)
    last = schedule.t0 + schedule.makespan
    reserved = [one for one in reserved_nodes(schedule.federation) if one.reservation.begin < last]
    columns |= _reserved(schedule, reserved, tick)
    about |= {"signals": curves} if (curves := curves_of(schedule)) else {}
    about |= _cap(schedule)
    about |= {"reservedNames": [one_line(one.reservation.name) for one in reserved]} if reserved else {}
    columns["pieces"] = np.bincount(job[drawn], minlength=len(schedule))[slice(None) if kept is None else kept]
    columns["first"] = runs.first[drawn]
    columns["nodes"] = runs.last[drawn] - runs.first[drawn] + 1
    return packed(columns) | about


def _closed(schedule: Schedule, spans: ClosedSpans, runs: NodeRuns, tick: float) -> dict[str, NDArray[Any]]:
    """Return when nodes are down until the last job ends, one row per range of nodes."""
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
    """Return the times when the power cap changes and its watts; empty if there is no cap."""
    times, watts = cap_over_time(schedule.federation, schedule.t0, schedule.t0 + schedule.makespan)
    if not times.size:
        return {}
    return {"cap": {"times": (times - schedule.t0).tolist(), "watts": watts.tolist()}}


def _off(schedule: Schedule, tick: float) -> dict[str, NDArray[Any]]:
    """Return the difference in watts between nodes that go off and idle nodes, by period and cluster."""
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
    """Return when nodes are off, shut down or boot until the last job ends, one row per range of nodes."""
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
    """Return when reservations keep nodes until the last job ends, one row per range of nodes."""
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


def _lost(
    schedule: Schedule, runs: NodeRuns, kept: NDArray[np.bool_] | None, tick: float
) -> dict[str, NDArray[Any]]:
    """Return the runs of kept jobs that were lost to outages, one row per range of nodes."""
    lost, run = schedule.lost, np.repeat(np.arange(schedule.lost.runs), runs.pieces)
    place = np.arange(len(schedule)) if kept is None else np.where(kept, np.cumsum(kept) - 1, -1)
    drawn = place[lost.job[run]] >= 0
    if not drawn.any():
        return {}
    run = run[drawn]
    return {
        "lostJob": place[lost.job[run]],
        "lostStart": ticks(lost.start[run] - schedule.t0, tick),
        "lostFinish": ticks(lost.end[run] - schedule.t0, tick),
        "lostFirst": runs.first[drawn],
        "lostNodes": (runs.last - runs.first + 1)[drawn],
    }


def _thinned(
    schedule: Schedule, runs: NodeRuns, job: NDArray[np.int64], kept: NDArray[np.bool_], most: int, plans: int
) -> tuple[NDArray[np.bool_], dict[str, Any]]:
    """Return which node ranges are drawn as bars, and the shading of the others."""
    done = ~np.isnan(schedule.finish)
    nodes = runs.last - runs.first + 1
    size = np.where(kept[job] & done[job], nodes * (schedule.finish - schedule.start)[job], -1.0)
    # The widest range of each kept job is always drawn, so that every kept job can be found.
    widest = np.lexsort((nodes, job))[np.cumsum(runs.pieces)[runs.pieces > 0] - 1]
    size[widest] = np.where(size[widest] >= 0, np.inf, -1.0)
    drawn = shading.largest(size, most) & (size >= 0)
    blocks = [group.count for group in schedule.federation.groups]
    rows = max(ROWS, len(blocks))
    grid = shading.Grid.over(blocks, schedule.makespan, rows=rows, columns=COLUMNS)
    columns = max(64, min(COLUMNS, CELLS // plans // grid.first_rows[-1]))
    grid = shading.Grid.over(blocks, schedule.makespan, rows=rows, columns=columns)
    rest = np.flatnonzero(done[job] & ~drawn)
    share = np.zeros((grid.first_rows[-1], columns))
    for at in range(0, rest.size, shading.AT_ONCE):
        some = rest[at : at + shading.AT_ONCE]
        parts = shading.split(runs.first[some], runs.last[some], blocks)
        of = job[some[parts.run]]
        share += shading.shares(grid, parts, schedule.start[of] - schedule.t0, schedule.finish[of] - schedule.t0)
    shade = np.rint(np.minimum(share, 1.0) * (LEVELS - 1)).astype(np.uint8)
    about = {"columns": columns, "firstRows": grid.first_rows, "nodes": grid.nodes, "seconds": grid.seconds}
    return drawn, about | {"shade": shade.ravel(), "bars": int(drawn.sum())}


def _places(schedule: Schedule, kept: NDArray[np.bool_]) -> dict[str, NDArray[Any]]:
    # How many nodes each kept job has on each cluster: not all of its bars may be drawn.
    clusters = np.array(schedule.federation.group_cluster)
    return {
        f"on{k}": schedule.counts[:, clusters == k].sum(axis=1)[kept] for k in range(len(schedule.federation.clusters))
    }


def thinned_in_words(workload: Workload, kept: NDArray[np.bool_] | None, about: dict[str, Any]) -> str:
    """Return a sentence that says which jobs of a plan are drawn and which are shading."""
    cell = f"a cell of {duration(about['seconds'])} by {counted(about['nodes'], 'node')}"
    where = f"in {about['bars']:,} bars; what is smaller is shading, {cell}, where the zoom ends"
    if kept is None:
        jobs = f"{counted(len(workload), 'job')} {'is' if len(workload) == 1 else 'are'}"
        return f"{jobs} drawn {where}. Every sum is of all of it"
    work = workload.tasks * workload.runtime
    part = share(float(work[kept].sum() / work.sum()))
    others = number(float(work[~kept].max()) / 3600.0)
    return (
        f"Of {len(workload):,} jobs the {int(kept.sum()):,} of most node-hours, {part} of the work, are drawn, listed "
        f"and found one by one, {where}. The other jobs, of at most {others} node-hours each, are shading alone; "
        "every sum is of all jobs"
    )
