"""Gantt charts of schedules, with link load and power beneath.

Each cluster is a block of lanes, one for each node, with bars for jobs; jobs on several clusters are marked. If jobs
share nodes, a bar takes as much of a node's lane as its job takes of the node's cores.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.text import counted, picture_name
from fedsched.model.jobs import assumed
from fedsched.model.jobs.layout import own_tasks
from fedsched.model.jobs.uneven import tasks_in_clusters
from fedsched.model.power.power_cap import cap_over_time
from fedsched.model.schedule.closed_spans import numbered
from fedsched.model.schedule.lost import finished_runs
from fedsched.model.schedule.metrics import scaled
from fedsched.model.schedule.node_lanes import Rectangles, rectangles
from fedsched.model.schedule.off_spans import bands
from fedsched.model.schedule.power_draw import power_of
from fedsched.model.time.reservations import reserved_nodes
from fedsched.plot import shading, style
from fedsched.plot.style import COLOURS

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.model.schedule.lost import RunTable
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.reservations import ReservedNodes

CROSSING, CLOSED, OFF, CHANGES = "#000000", "#b8b8b8", "#c9c4ba", "#dedbd4"
LABELLED_JOBS = 60
LABEL_POINTS = 8
MOST_BARS = 20_000  # in a picture; of more bars the largest are drawn, and the others become shading
MOST_STEPS = 8_000  # of a line; more steps are reduced to means, or maxima, over equal parts of the time
SHADING, ROWS, COLUMNS = "#808080", 500, 1000
BORDER = "#404040"  # of nodes that jobs share
DIVIDED_NODES, NUMBERED_NODES = 64, 40  # the most nodes that have lines between them, and numbers
LEAST_LINE = 0.8  # points: the least height of a bar between such lines
# Bars below this share of the picture's width or height get no edges: edges would hide all colours.
LEAST_WIDTH, LEAST_HEIGHT = 1 / 400, 1 / 200
EDGE_DIGITS = 9  # decimal places of lanes at which edges of bars are equal: rounding separates bars that touch
NAMES = {"d": "days", "h": "hours", "min": "minutes", "s": "seconds"}


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the unit of time that suits a duration in seconds: its length in seconds, and its name, as "hours"."""
    name, unit = scaled("s", seconds)
    return unit, NAMES[name]


def draw(schedule: Schedule, ax: Any = None) -> Any:
    """Return the axes with a Gantt chart: one bar for each job and range of neighbouring nodes.

    Closed nodes, nodes that are off, lost runs and reservations are drawn, too. Of more than 20,000 bars the largest
    are drawn; the others together are grey shading. If jobs share nodes, there is a bar for each job and node, as high
    as the job's share of the node's cores. An exclusive job fills its nodes.

    Parameters
    ----------
    schedule
        The schedule to draw; jobs that have not finished are left out.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import gantt
    >>> axes = gantt.draw(fs.simulate(fs.read("sample").head(50), fs.read_federation("example")))
    >>> len(axes.collections) + len(axes.patches) > 0
    True
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    if ax is None:
        ax = Figure(figsize=(10, 5), layout="constrained").add_subplot()
    unit, name = time_unit(schedule.makespan)
    offsets, shares_nodes = _lane_offsets(schedule), bool(getattr(schedule, "shares_nodes", False))
    lanes = offsets[-1][1] + schedule.federation.clusters[-1].nodes
    bars, lost, closed, *dark = _bars(schedule, offsets, unit)
    shown = shading.largest((bars.end - bars.begin) * bars.parts.nodes, MOST_BARS)
    if not shown.all():
        _shade(ax, schedule, bars.only(~shown), offsets, unit)
    bars = bars.only(shown)
    edged = (bars.end - bars.begin >= schedule.makespan / unit * LEAST_WIDTH) & (
        bars.parts.nodes >= lanes * LEAST_HEIGHT
    )
    hues = _colours(bars.only(edged), len(schedule), near=schedule.makespan / unit * LEAST_WIDTH)
    crossing = schedule.coallocated[bars.job]
    thin, divided = len(schedule) > 2000, shares_nodes and schedule.federation.nodes <= DIVIDED_NODES
    marks = bool(closed.job.size or lost.job.size)
    if lost.job.size:
        colours = [COLOURS[k] for k in hues[schedule.lost.job[lost.job]].tolist()]
        ax.add_collection(
            PolyCollection(lost.corners(), facecolors=colours, edgecolors="white", linewidths=0.0, hatch="xxx",
                           alpha=0.45, label="lost its nodes")
        )  # fmt: skip
    if closed.job.size:
        ax.add_collection(
            PolyCollection(closed.corners(), facecolors=CLOSED, edgecolors="white", linewidths=0.0, hatch="\\\\\\",
                           zorder=0.7, label="closed")
        )  # fmt: skip
    for some, colour, label in zip(dark, (CHANGES, OFF), ("shuts down or boots", "off"), strict=True):
        marks |= bool(some.job.size)
        seen = some.only(shading.largest((some.end - some.begin) * some.parts.nodes, MOST_BARS))
        if seen.job.size:
            ax.add_collection(
                PolyCollection(seen.corners(), facecolors=colour, edgecolors="none", zorder=0.6, label=label)
            )
    for one in reserved_nodes(schedule.federation, own=shares_nodes):
        _frame(ax, schedule, one, offsets, unit)
    for marked, large in ((False, False), (False, True), (True, False), (True, True)):
        some = bars.only((crossing == marked) & (edged == large))
        if not some.job.size:
            continue
        edge = (CROSSING if marked else "white") if large else "face"
        wide, narrow = (1.0, 0.3) if not thin else (0.4, 0.0)
        if divided and not large:
            narrow = LEAST_LINE  # else a job of few cores cannot be seen
        ax.add_collection(
            PolyCollection(some.corners(), facecolors=[COLOURS[k] for k in hues[some.job].tolist()],
                           edgecolors=edge, linewidths=wide if marked and large else narrow,
                           zorder=2.6 if divided and not large else 1.0,
                           hatch="////" if marked and large and not thin else None,
                           label="on more than one cluster" if marked and large else None)
        )  # fmt: skip
        marks |= marked and large
    _dress(ax, schedule, offsets, unit, name, shown)
    if divided:
        _mark_nodes(ax, schedule, offsets)
    if len(schedule) <= LABELLED_JOBS:
        _label(ax, schedule, bars, within=shares_nodes)
    if marks:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, fontsize=8, frameon=False)
    return ax


class _Bars(NamedTuple):
    """Columns of a chart's bars, each for neighbouring nodes of one cluster: job (or another row), times and lanes."""

    job: NDArray[np.int64]
    begin: NDArray[np.float64]  # in the picture's unit
    end: NDArray[np.float64]
    parts: shading.Parts
    low: NDArray[Any]  # where the bar begins, in lanes

    def only(self, which: NDArray[np.bool_]) -> _Bars:
        """Return the bars for which the mask `which` is true."""
        parts = shading.Parts(*(column[which] for column in self.parts))
        return _Bars(self.job[which], self.begin[which], self.end[which], parts, self.low[which])

    def corners(self) -> Any:
        """Return each bar's four corners as an array (bars, 4, 2) of times and lanes."""
        high = self.low + self.parts.nodes
        across = np.stack([self.begin, self.begin, self.end, self.end], axis=1)
        return np.stack([across, np.stack([self.low, high, high, self.low], axis=1)], axis=2)


def _bars(schedule: Schedule, offsets: list[tuple[int, int]], unit: float) -> list[_Bars]:
    """Return a list of the bars of jobs, lost runs, closed nodes, nodes that shut down or boot, and nodes that are off.

    Bars of nodes end with the last job.
    """
    found = numbered(schedule)
    federation, last = schedule.federation, schedule.t0 + schedule.makespan
    spans, not_on = found.spans, bands(found.off, found.dark, last)
    parts = [
        (found.jobs, found.job_lanes, schedule.start, schedule.finish),
        (found.lost, found.lost_lanes, schedule.lost.start, schedule.lost.end),
        (found.closed, None, np.where(spans.start < last, spans.start, np.nan), np.minimum(spans.finish, last)),
    ]
    bars = []
    for runs, lanes, start, finish in parts:
        drawn = rectangles(federation, runs, lanes)
        job = np.repeat(np.arange(start.size), runs.pieces)[drawn.run]
        done = ~np.isnan(start[job]) & ~np.isnan(finish[job])
        bars.append(_placed(schedule, offsets, unit, drawn._replace(run=job).only(done), start, finish))
    for which in (not_on.changes, ~not_on.changes):
        some = not_on.only(which)
        drawn = Rectangles(np.arange(some.first.size), some.first, some.last + 1)
        bars.append(_placed(schedule, offsets, unit, drawn, some.start, some.finish))
    return bars


def _placed(
    schedule: Schedule,
    offsets: list[tuple[int, int]],
    unit: float,
    drawn: Rectangles,
    start: NDArray[np.float64],
    finish: NDArray[np.float64],
) -> _Bars:
    """Return the bars of rectangles, which name the rows of `start` and `finish` as their runs, on the picture's lanes.

    `unit` is the picture's unit of time in seconds.
    """
    blocks = [cluster.nodes for cluster in schedule.federation.clusters]
    parts = shading.split(drawn.top, drawn.bottom, blocks)
    job = drawn.run[parts.run]
    begin, end = ((times[job] - schedule.t0) / unit for times in (start, finish))
    return _Bars(job, begin, end, parts, np.array([lane for _, lane in offsets])[parts.block] + parts.low)


def _colours(bars: _Bars, jobs: int, *, near: float) -> NDArray[np.int64]:
    """Return the number of each job's colour: that of its row, or the next one that no touching job has.

    Jobs touch if one begins on a node at most `near` after the other ended, or if both run on neighbouring nodes, or
    neighbouring parts of a node, at a time. A job that touches others of all colours keeps that of its row.
    """
    colour = np.arange(jobs) % len(COLOURS)
    # Strips of lanes that no bar's edge divides, and one more at either side.
    edges = np.round(np.concatenate([bars.low, bars.low + bars.parts.nodes]), EDGE_DIGITS)
    tops, bottoms = np.split(np.unique(edges, return_inverse=True)[1].reshape(-1), 2)
    strips = int(bottoms.max(initial=0)) + 2
    on, until = np.full(strips, -1), np.full(strips, -np.inf)  # the last job of each strip, and its end
    order = np.lexsort((bars.job, bars.begin))
    for one in np.split(order, np.flatnonzero(np.diff(bars.job[order])) + 1) if order.size else ():
        job, begin, taken = int(bars.job[one[0]]), float(bars.begin[one[0]]), set[int]()
        spans = [*zip((tops[one] + 1).tolist(), (bottoms[one] + 1).tolist(), strict=True)]
        for low, high in spans:
            beside = ((low, high, begin - near), (low - 1, low, begin), (high, high + 1, begin))
            for first, end, since in beside:
                part = slice(first, end)
                there = on[part][(on[part] >= 0) & (until[part] > since)]
                taken.update(colour[there].tolist())
        free = (k % len(COLOURS) for k in range(job, job + len(COLOURS)) if k % len(COLOURS) not in taken)
        colour[job] = next(free, job % len(COLOURS))
        for low, high in spans:
            on[low:high], until[low:high] = job, float(bars.end[one[0]])
    return colour


def _shade(ax: Any, schedule: Schedule, bars: _Bars, offsets: list[tuple[int, int]], unit: float) -> None:
    """Draw bars as grey shading: in each cell of a grid, the darker, the larger the share that they take."""
    from matplotlib.colors import to_rgb

    blocks = [cluster.nodes for cluster in schedule.federation.clusters]
    grid = shading.Grid.over(blocks, schedule.makespan / unit, rows=ROWS, columns=COLUMNS)
    share = shading.shares(grid, bars.parts, bars.begin, bars.end)
    for k, (_, lane) in enumerate(offsets):
        cells = share[grid.first_rows[k] : grid.first_rows[k + 1]]
        picture = np.dstack([np.broadcast_to(to_rgb(SHADING), (*cells.shape, 3)), cells])
        low = lane + len(cells) * grid.nodes  # the last row may extend beyond the last node
        image = ax.imshow(picture, extent=(0.0, schedule.makespan / unit, low, lane), aspect="auto", zorder=0.5)
        image.set_clip_box(ax.bbox)


def _label(ax: Any, schedule: Schedule, bars: _Bars, *, within: bool) -> None:
    """Write the jobs' ids into those bars that are large enough for the text; `within`: never between two nodes."""
    points = 72 / ax.figure.dpi
    across = ax.bbox.width * points / float(np.ptp(ax.get_xlim()))
    down = ax.bbox.height * points / float(np.ptp(ax.get_ylim()))
    rows = zip(bars.job.tolist(), bars.begin.tolist(), bars.end.tolist(), bars.low.tolist(), bars.parts.nodes.tolist(),
               strict=True)  # fmt: skip
    for row, begin, end, low, nodes in rows:
        text = str(schedule.workload.id[row])
        room = 0.65 * LABEL_POINTS * (len(text) + 0.5)  # a digit is about 0.65 of the font's size wide
        if (end - begin) * across >= room and nodes * down >= LABEL_POINTS:
            middle = nodes // 2 + 0.5 if within and nodes > 1 else nodes / 2
            ax.text((begin + end) / 2, low + middle, text, ha="center", va="center", fontsize=LABEL_POINTS)


def _frame(ax: Any, schedule: Schedule, kept: ReservedNodes, offsets: list[tuple[int, int]], unit: float) -> None:
    """Draw a frame with the reservation's name around its nodes and time, at most until the last job ends."""
    from matplotlib.patches import Rectangle

    one, last = kept.reservation, schedule.makespan
    begin, end = (min(max(time - schedule.t0, 0.0), last) / unit for time in (one.begin, one.end))
    blocks = [cluster.nodes for cluster in schedule.federation.clusters]
    nodes = shading.split(np.array([kept.first]), np.array([kept.first + kept.nodes]), blocks)
    for block, low, high in zip(nodes.block.tolist(), nodes.low.tolist(), nodes.nodes.tolist(), strict=True):
        corner = (begin, offsets[block][1] + low)
        if end > begin:
            ax.add_patch(Rectangle(corner, end - begin, high, fill=False, edgecolor=CROSSING, linewidth=1.2, zorder=3))
            name = picture_name(one.name)
            ax.annotate(name, corner, (3, -3), textcoords="offset points", va="top", fontsize=8, zorder=3)


def _lane_offsets(schedule: Schedule) -> list[tuple[int, int]]:
    # (first node number, first lane) of each cluster; a lane is left empty between clusters
    offsets, node = [], 0
    for k, cluster in enumerate(schedule.federation.clusters):
        offsets.append((node, node + k * _gap(schedule)))
        node += cluster.nodes
    return offsets


def _gap(schedule: Schedule) -> int:
    return max(1, schedule.federation.nodes // 40)


def _dress(
    ax: Any, schedule: Schedule, offsets: list[tuple[int, int]], unit: float, name: str, shown: NDArray[np.bool_]
) -> None:
    clusters = schedule.federation.clusters
    middles = [lane + cluster.nodes / 2 for (_, lane), cluster in zip(offsets, clusters, strict=True)]
    ax.set_yticks(
        middles, [f"{picture_name(cluster.name)}\n{counted(cluster.nodes, 'node')}" for cluster in clusters], fontsize=8
    )
    for (_, lane), cluster in zip(offsets, clusters, strict=True):
        ax.axhspan(lane, lane + cluster.nodes, color="#f2f2f2", zorder=0, linewidth=0)
    ax.set_ylim(offsets[-1][1] + clusters[-1].nodes, 0)
    ax.set_xlim(0, max(schedule.makespan, np.finfo(float).tiny) / unit)
    ax.set_xlabel(f"time since the first submission, {name}")
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    title = _title(schedule, unit, name)
    if getattr(schedule, "shares_nodes", False):
        title += "\na bar's height is its job's share of the node's cores; an exclusive job fills its nodes"
    if not shown.all():
        title += f"\nthe {int(shown.sum()):,} largest of {shown.size:,} bars; the others together are grey"
    ax.set_title(title, fontsize=10, loc="left")


def _mark_nodes(ax: Any, schedule: Schedule, offsets: list[tuple[int, int]]) -> None:
    """Draw lines between the nodes and, if they are few, each one's number within its cluster at the right."""
    clusters = schedule.federation.clusters
    for (_, lane), cluster in zip(offsets, clusters, strict=True):
        borders = np.arange(lane, lane + cluster.nodes + 1)
        ax.hlines(borders, *ax.get_xlim(), color=BORDER, linewidth=0.4, zorder=2.5)
    if schedule.federation.nodes <= NUMBERED_NODES:
        numbers = [(lane + node + 0.5, str(node)) for (_, lane), cluster in zip(offsets, clusters, strict=True)
                   for node in range(cluster.nodes)]  # fmt: skip
        ax.set_yticks(*zip(*numbers, strict=True), minor=True, fontsize=6, color=SHADING)
        ax.tick_params(axis="y", which="minor", length=0, pad=2, labelleft=False, labelright=True)


def _title(schedule: Schedule, unit: float, name: str) -> str:
    metrics = schedule.metrics(users=False)
    done = int((~np.isnan(schedule.finish)).sum())
    jobs = counted(done, "job") if done == len(schedule) else f"{done:,} of {counted(len(schedule), 'job')}"
    if not done:
        return f"{picture_name(schedule.policy)}: {jobs}"
    crossing = f" ({metrics.coallocated:,.0f} on more than one cluster)" if metrics.coallocated else ""
    return (
        f"{picture_name(schedule.policy)}: {jobs}{crossing}, {metrics.makespan / unit:.3g} {name}, "
        f"{assumed.marked(energy_text(metrics.energy), 'energy', schedule.federation)}, {metrics.utilisation:.0%} busy"
    )


def energy_text(joules: float) -> str:
    """Return an energy in joules as text with four digits, in the largest unit that fits (kJ, MJ, …)."""
    name, unit = scaled("J", joules)
    return f"{joules / unit:,.4g} {name}"


def figure(schedule: Schedule) -> Any:
    """Return a figure with the Gantt chart and, beneath it, power and the load of finite uplinks.

    Parameters
    ----------
    schedule
        The schedule to draw.

    Examples
    --------
    >>> from fedsched.plot import gantt
    >>> figure = gantt.figure(fs.simulate(fs.read("sample").head(50), fs.read_federation("example")))
    >>> len(figure.axes) >= 2
    True
    """
    from matplotlib.figure import Figure

    finite = [k for k, cluster in enumerate(schedule.federation.clusters) if np.isfinite(cluster.uplink)]
    strips = 2 if finite else 1
    fig = Figure(figsize=(11, 5.5 + 1.1 * strips), layout="constrained")
    axes = fig.subplots(1 + strips, 1, sharex=True, height_ratios=[5, *([1] * strips)])
    draw(schedule, axes[0])
    unit, _ = time_unit(schedule.makespan)
    label = axes[0].get_xlabel()
    axes[0].set_xlabel("")
    if finite:
        _draw_load(axes[1], schedule, finite, unit)
    _draw_power(axes[-1], schedule, unit)
    axes[-1].set_xlabel(label)
    return fig


def steps_of(
    runs: RunTable, weight: NDArray[np.float64], t0: float, unit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return instants, in units since `t0`, and the sum of the weights of the runs under way from each on.

    `weight` has a number for each run, and `unit` is in seconds. All changes at one instant are one step: a job that
    ends and one that starts then are never counted together.
    """
    times, place = np.unique(np.concatenate([runs.start, runs.end]), return_inverse=True)
    change = np.bincount(place, weights=np.concatenate([weight, -weight]), minlength=len(times))
    return (times - t0) / unit, np.cumsum(change)


def few_steps(
    times: NDArray[np.float64], values: NDArray[np.float64], until: float, *, most: bool = False
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return a step function's times and values unchanged if there are at most 8,000.

    Else return its means, or with `most` its maxima, over 4,000 equal parts of the time from 0 to `until`.
    """
    if times.size <= MOST_STEPS:
        return times, values
    edges = np.linspace(0.0, until, MOST_STEPS // 2 + 1)
    part = shading.in_parts(times, values, edges)[int(most)]
    return edges, np.append(part, 0.0)


def link_load(schedule: Schedule, k: int, unit: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return instants, in units of `unit` seconds since t0, and the load in bytes/s on cluster k's uplink from each on.

    The load is the demand of the running jobs, by eqs. 1.2 and 1.3, and may be above the bandwidth.
    """
    runs = finished_runs(schedule)
    workload = schedule.workload
    tasks, bandwidth = own_tasks(workload)[runs.job], workload.task_bandwidth[runs.job]
    here = tasks_in_clusters(workload, schedule.federation, runs.job, runs.counts)[:, k]
    # The demand is 0 if none or all of a job's tasks are on this cluster.
    demand = here * bandwidth * (tasks - here) / np.maximum(tasks - 1, 1)
    return steps_of(runs, demand, schedule.t0, unit)


def _draw_power(ax: Any, schedule: Schedule, unit: float) -> None:
    idle = sum(group.idle_watts * group.count for group in schedule.federation.groups)
    drawn_by_all = power_of(schedule)
    steps = (drawn_by_all.times - schedule.t0) / unit
    times, power = few_steps(steps, drawn_by_all.total, schedule.makespan / unit)
    name, watts = scaled("W", max(float(np.max(power, initial=0.0)), idle))
    ax.fill_between(times, power / watts, step="post", color="#999999", linewidth=0)
    ax.axhline(idle / watts, color="black", linewidth=0.8, linestyle="--", label="all nodes idle")
    draw_cap(ax, schedule, unit, watts)
    ax.set_ylabel(f"power, {name}", fontsize=8)
    ax.set_ylim(0, None)
    ax.tick_params(labelsize=8)
    ax.legend(loc="lower right", fontsize=7)


def draw_cap(ax: Any, schedule: Schedule, unit: float, watts: float) -> None:
    """Draw the federation's power cap over time as a line, if there is one.

    `unit` is the seconds, and `watts` the watts, of one unit on the axes.
    """
    until = schedule.t0 + schedule.makespan
    times, most = cap_over_time(schedule.federation, schedule.t0, until)
    if times.size:
        steps = (np.append(times, until) - schedule.t0) / unit
        ax.step(steps, np.append(most, most[-1]) / watts, where="post", color="black", linewidth=1.2, label="cap")


def _draw_load(ax: Any, schedule: Schedule, finite: list[int], unit: float) -> None:
    styles = ("-", "--", ":", "-.")
    for k in finite:
        times, load = few_steps(*link_load(schedule, k, unit), schedule.makespan / unit, most=True)
        cluster = schedule.federation.clusters[k]
        ax.step(times, load / cluster.uplink, where="post", color=COLOURS[(4 + k) % len(COLOURS)],
                linestyle=styles[k % len(styles)], linewidth=1, label=picture_name(cluster.name))  # fmt: skip
    ax.axhline(1.0, color="black", linewidth=0.8)
    ax.set_ylabel("link load", fontsize=8)
    ax.tick_params(labelsize=8)
    if len(finite) <= 8:
        ax.legend(loc="upper right", fontsize=7, ncols=len(finite))


def save(schedule: Schedule, path: str | PathLike[str]) -> None:
    """Write the Gantt chart, with power and link load beneath, as SVG, PNG or PDF; equal schedules give equal bytes.

    Parameters
    ----------
    schedule, path
        The schedule to draw, and the file to write (.svg, .png or .pdf).

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.plot import gantt
    >>> gantt.save(fs.simulate(fs.read("sample").head(50), fs.read_federation("example")), "plan.svg")
    >>> Path("plan.svg").stat().st_size > 1000
    True
    """
    style.save(figure(schedule), path)
