"""Gantt charts: a block of lanes a cluster, a bar a job, co-allocated jobs marked; link load and power beneath."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched import assumed
from fedsched.plot import saving
from fedsched.text import drawn

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.schedule import Schedule

# Okabe and Ito's colours, which the colour-blind can tell apart, in an order that alternates light and dark.
COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")
CROSSING = "#000000"
LABELLED_JOBS = 60
LABEL_POINTS = 8
# A bar below this share of the picture's width or height gets no edge: edges would hide all colours.
LEAST_WIDTH, LEAST_HEIGHT = 1 / 400, 1 / 200
ENERGY_UNITS = ((3.6e12, "GWh"), (3.6e9, "MWh"), (3.6e6, "kWh"), (3.6e3, "Wh"), (1.0, "J"))
UNITS = ((86400.0 * 3, 86400.0, "days"), (3600.0 * 3, 3600.0, "hours"), (60.0 * 5, 60.0, "minutes"))


def time_unit(seconds: float) -> tuple[float, str]:
    """Return the unit, in seconds and by name, in which a period reads well."""
    for least, unit, name in UNITS:
        if seconds >= least:
            return unit, name
    return 1.0, "seconds"


def draw(schedule: Schedule, ax: Any = None) -> Any:
    """Return the axes with one bar per job and run of neighbouring nodes.

    Parameters
    ----------
    schedule
        What to draw; jobs that have not finished are left out.
    ax
        Matplotlib axes; those of a new figure when not given.
    """
    from matplotlib.collections import PolyCollection
    from matplotlib.figure import Figure

    if ax is None:
        ax = Figure(figsize=(10, 5), layout="constrained").add_subplot()
    unit, name = time_unit(schedule.makespan)
    crossing = schedule.coallocated
    numbers = schedule.node_numbers()
    offsets = _lane_offsets(schedule)
    lanes = offsets[-1][1] + schedule.federation.clusters[-1].nodes
    least = schedule.makespan / unit * LEAST_WIDTH, lanes * LEAST_HEIGHT
    # (on more than one cluster, large enough for an edge) -> corners and colours
    bars: dict[tuple[bool, bool], tuple[list[Any], list[str]]] = {}
    for row in np.flatnonzero(~np.isnan(schedule.finish)).tolist():
        begin, end = ((time - schedule.t0) / unit for time in (schedule.start[row], schedule.finish[row]))
        for first, last in _split_at_clusters(numbers[row], offsets):
            low, high = _lane(first, offsets), _lane(last, offsets) + 1
            edged = end - begin >= least[0] and high - low >= least[1]
            corners, colours = bars.setdefault((bool(crossing[row]), edged), ([], []))
            corners.append(((begin, low), (begin, high), (end, high), (end, low)))
            colours.append(COLOURS[row % len(COLOURS)])
    thin = len(schedule) > 2000
    for (marked, edged), (corners, colours) in bars.items():
        edge = (CROSSING if marked else "white") if edged else "face"
        wide, narrow = (1.0, 0.3) if not thin else (0.4, 0.0)
        width = wide if marked and edged else narrow
        ax.add_collection(
            PolyCollection(corners, facecolors=colours, edgecolors=edge, linewidths=width,
                           hatch="////" if marked and edged and not thin else None,
                           label="on more than one cluster" if marked and edged else None)
        )  # fmt: skip
    _dress(ax, schedule, offsets, unit, name)
    if len(schedule) <= LABELLED_JOBS:
        _label(ax, schedule, numbers, offsets, unit)
    if (True, True) in bars:
        ax.legend(loc="lower right", bbox_to_anchor=(1, 1), borderaxespad=0.2, fontsize=8, frameon=False)
    return ax


def _label(ax: Any, schedule: Schedule, numbers: Any, offsets: list[tuple[int, int]], unit: float) -> None:
    """Write the jobs' numbers into the bars that have room for them."""
    points = 72 / ax.figure.dpi
    across = ax.bbox.width * points / float(np.ptp(ax.get_xlim()))
    down = ax.bbox.height * points / float(np.ptp(ax.get_ylim()))
    for row in np.flatnonzero(~np.isnan(schedule.finish)).tolist():
        text = str(schedule.workload.id[row])
        room = 0.65 * LABEL_POINTS * (len(text) + 0.5)  # a digit is about 0.65 of the font's size wide
        begin, end = ((time - schedule.t0) / unit for time in (schedule.start[row], schedule.finish[row]))
        for first, last in _split_at_clusters(numbers[row], offsets):
            low, high = _lane(first, offsets), _lane(last, offsets) + 1
            if (end - begin) * across >= room and (high - low) * down >= LABEL_POINTS:
                ax.text((begin + end) / 2, (low + high) / 2, text, ha="center", va="center", fontsize=LABEL_POINTS)


def _lane_offsets(schedule: Schedule) -> list[tuple[int, int]]:
    # (first node number, first lane) of each cluster; a lane is left empty between clusters
    offsets, node = [], 0
    for k, cluster in enumerate(schedule.federation.clusters):
        offsets.append((node, node + k * _gap(schedule)))
        node += cluster.nodes
    return offsets


def _gap(schedule: Schedule) -> int:
    return max(1, schedule.federation.nodes // 40)


def _lane(node: int, offsets: list[tuple[int, int]]) -> int:
    first, lane = max(offset for offset in offsets if offset[0] <= node)
    return lane + node - first


def _split_at_clusters(intervals: Any, offsets: list[tuple[int, int]]) -> Any:
    starts = [first for first, _ in offsets[1:]]
    for first, last in intervals:
        for cut in starts:
            if first < cut <= last:
                yield first, cut - 1
                first = cut
        yield first, last


def _dress(ax: Any, schedule: Schedule, offsets: list[tuple[int, int]], unit: float, name: str) -> None:
    clusters = schedule.federation.clusters
    middles = [lane + cluster.nodes / 2 for (_, lane), cluster in zip(offsets, clusters, strict=True)]
    ax.set_yticks(middles, [f"{drawn(cluster.name)}\n{cluster.nodes} nodes" for cluster in clusters], fontsize=8)
    for (_, lane), cluster in zip(offsets, clusters, strict=True):
        ax.axhspan(lane, lane + cluster.nodes, color="#f2f2f2", zorder=0, linewidth=0)
    ax.set_ylim(offsets[-1][1] + clusters[-1].nodes, 0)
    ax.set_xlim(0, max(schedule.makespan, np.finfo(float).tiny) / unit)
    ax.set_xlabel(f"time since the first submission, {name}")
    ax.tick_params(axis="y", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.set_title(_title(schedule, unit, name), fontsize=10, loc="left")


def _title(schedule: Schedule, unit: float, name: str) -> str:
    metrics = schedule.metrics(users=False)
    done = int((~np.isnan(schedule.finish)).sum())
    jobs = f"{done:,} jobs" if done == len(schedule) else f"{done:,} of {len(schedule):,} jobs"
    if not done:
        return f"{drawn(schedule.policy)}: {jobs}"
    crossing = f" ({metrics.coallocated:,.0f} on more than one cluster)" if metrics.coallocated else ""
    return (
        f"{drawn(schedule.policy)}: {jobs}{crossing}, {metrics.makespan / unit:.3g} {name}, "
        f"{assumed.marked(energy_text(metrics.energy), 'energy', schedule.federation)}, {metrics.utilisation:.0%} busy"
    )


def energy_text(joules: float) -> str:
    """Return an energy in the largest unit that fits."""
    unit, name = next(((unit, name) for unit, name in ENERGY_UNITS if joules >= unit), ENERGY_UNITS[-1])
    return f"{joules / unit:,.4g} {name}"


def figure(schedule: Schedule) -> Any:
    """Return a figure with the Gantt chart and, beneath it, power and, where uplinks are finite, their load."""
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
    schedule: Schedule, weight: NDArray[np.float64], unit: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return instants, and from each on the sum of the weights of the running jobs.

    All changes of an instant are one step: where one job's end lets another start, the two never add up.
    """
    done = ~np.isnan(schedule.finish)
    times, place = np.unique(np.concatenate([schedule.start[done], schedule.finish[done]]), return_inverse=True)
    change = np.bincount(place, weights=np.concatenate([weight[done], -weight[done]]), minlength=len(times))
    return (times - schedule.t0) / unit, np.cumsum(change)


def link_load(schedule: Schedule, k: int, unit: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return instants, and from each on the load on cluster k's uplink (eqs. 1.2 and 1.3)."""
    tasks = schedule.workload.tasks
    here = schedule.counts[:, np.array(schedule.federation.group_cluster) == k].sum(axis=1)
    # Nothing crosses where no task or every task is here.
    demand = here * schedule.workload.task_bandwidth * (tasks - here) / np.maximum(tasks - 1, 1)
    return steps_of(schedule, demand, unit)


def _draw_power(ax: Any, schedule: Schedule, unit: float) -> None:
    groups = schedule.federation.groups
    extra = schedule.counts @ np.array([group.busy_watts - group.idle_watts for group in groups])
    idle = sum(group.idle_watts * group.count for group in groups)
    times, power = steps_of(schedule, extra, unit)
    watts, name = (1e3, "kW") if float(np.max(power, initial=0.0)) + idle >= 2e3 else (1.0, "W")
    ax.fill_between(times, (power + idle) / watts, step="post", color="#999999", linewidth=0)
    ax.axhline(idle / watts, color="black", linewidth=0.8, linestyle="--", label="all nodes idle")
    ax.set_ylabel(f"power, {name}", fontsize=8)
    ax.set_ylim(0, None)
    ax.tick_params(labelsize=8)
    ax.legend(loc="lower right", fontsize=7)


def _draw_load(ax: Any, schedule: Schedule, finite: list[int], unit: float) -> None:
    styles = ("-", "--", ":", "-.")
    for k in finite:
        times, load = link_load(schedule, k, unit)
        cluster = schedule.federation.clusters[k]
        ax.step(times, load / cluster.uplink, where="post", color=COLOURS[(4 + k) % len(COLOURS)],
                linestyle=styles[k % len(styles)], linewidth=1, label=drawn(cluster.name))  # fmt: skip
    ax.axhline(1.0, color="black", linewidth=0.8)
    ax.set_ylabel("link load", fontsize=8)
    ax.tick_params(labelsize=8)
    if len(finite) <= 8:
        ax.legend(loc="upper right", fontsize=7, ncols=len(finite))


def save(schedule: Schedule, path: str | PathLike[str]) -> None:
    """Write the chart as SVG, PNG or PDF; the same schedule gives the same bytes."""
    saving.save(figure(schedule), path)
