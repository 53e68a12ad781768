"""Where each job of a plan runs, as the page's script draws it; of very many jobs the largest, and shading."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted, one_line
from fedsched.model.power.power_cap import cap_over_time
from fedsched.model.schedule.closed_spans import numbered
from fedsched.model.schedule.off_spans import bands
from fedsched.model.schedule.power_draw import drawn_off
from fedsched.model.time.reservations import kept_nodes
from fedsched.plot import shading
from fedsched.report.curves import curves_of
from fedsched.report.packing import packed, ticks
from fedsched.report.sums import strips_of, sums_of
from fedsched.report.words import duration, number, share

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.closed_spans import Spans
    from fedsched.model.schedule.node_numbers import NodeRuns
    from fedsched.model.schedule.off_spans import OffSpans
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.reservations import Kept

MOST_DRAWN = 240_000  # jobs of all plans together whose places are written down, and of bars twice as many
ROWS, COLUMNS = 512, 8192  # of the shading's grid, at most
CELLS = 4_000_000  # of all plans' grids together
LEVELS = 16  # of the shading: more no eye tells apart
STRIPS = 4096  # parts of the period that the strips of a thinned plan have, and
STRIPS_TOGETHER = 200_000  # those of all clusters together


def kept_jobs(workload: Workload, room: int) -> NDArray[np.bool_] | None:
    """Return which jobs the page keeps one by one: those of most node-seconds; None where there is room for all.

    Where there is not, half the room is left to the shading of the others.
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
    """Return start, finish and nodes of each job: runs of neighbouring node numbers, one job's after another's.

    Parameters
    ----------
    schedule
        Of which plan.
    tick
        The unit of time.
    kept
        The jobs that the page keeps; all when not given.
    room
        For so many bars there is room. Where there are more than twice as many, or not all jobs are kept, the largest
        are, and the share of each cell of a grid that the others take.
    plans
        So many plans share the page's cells.
    progress
        Told how many of how many jobs have their nodes.
    """
    runs, lost, spans, closed, off, dark = numbered(schedule, progress)
    done = ~np.isnan(schedule.finish)
    columns: dict[str, NDArray[Any]] = {
        "start": ticks(np.where(done, schedule.start - schedule.t0, np.nan), tick),
        "finish": ticks(schedule.finish - schedule.t0, tick),
    }
    job = np.repeat(np.arange(len(schedule)), runs.pieces)
    if schedule.workload.gear is not None:
        columns["gear"] = schedule.workload.gear.given
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
    reserved = [one for one in kept_nodes(schedule.federation) if one.reservation.begin < last]
    columns |= _reserved(schedule, reserved, tick)
    about |= {"signals": curves} if (curves := curves_of(schedule)) else {}
    about |= _cap(schedule)
    about |= {"reservedNames": [one_line(one.reservation.name) for one in reserved]} if reserved else {}
    columns["pieces"] = np.bincount(job[drawn], minlength=len(schedule))[slice(None) if kept is None else kept]
    columns["first"] = runs.first[drawn]
    columns["nodes"] = runs.last[drawn] - runs.first[drawn] + 1
    return packed(columns) | about


def _closed(schedule: Schedule, spans: Spans, runs: NodeRuns, tick: float) -> dict[str, NDArray[Any]]:
    """Return where nodes are closed until the last job ends, and when: a run of neighbouring nodes each."""
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
    """Return when the power that all may draw changes, and to how many watts; nothing where it is not capped."""
    times, watts = cap_over_time(schedule.federation, schedule.t0, schedule.t0 + schedule.makespan)
    if not times.size:
        return {}
    return {"cap": {"times": (times - schedule.t0).tolist(), "watts": watts.tolist()}}


def _off(schedule: Schedule, tick: float) -> dict[str, NDArray[Any]]:
    """Return what nodes that go off draw beside idle ones: of stretches of time, on which cluster."""
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
    """Return where nodes are off, or on the way, until the last job ends: a run of neighbouring nodes each."""
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


def _reserved(schedule: Schedule, reserved: Sequence[Kept], tick: float) -> dict[str, NDArray[Any]]:
    """Return where reservations keep nodes until the last job ends, and when: a run of neighbouring nodes each."""
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
    """Return the runs that came to nothing, of the jobs that the page keeps: a run of neighbouring nodes each."""
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
    """Return which runs are drawn as bars, and the shading of the others."""
    done = ~np.isnan(schedule.finish)
    nodes = runs.last - runs.first + 1
    size = np.where(kept[job] & done[job], nodes * (schedule.finish - schedule.start)[job], -1.0)
    # A job's widest run first, that each can be found.
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
    # How many nodes each kept job has on each cluster: its bars may not be all there.
    clusters = np.array(schedule.federation.group_cluster)
    return {
        f"on{k}": schedule.counts[:, clusters == k].sum(axis=1)[kept] for k in range(len(schedule.federation.clusters))
    }


def thinned_in_words(workload: Workload, kept: NDArray[np.bool_] | None, about: dict[str, Any]) -> str:
    """Return what of a plan is drawn, and what is shading."""
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
