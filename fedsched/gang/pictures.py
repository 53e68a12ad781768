"""Pictures of a GangSchedule: the processors' Gantt chart, and load over time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from fedsched.gang.schedule import GangSchedule

LOCAL = (0.75, 0.75, 0.75, 1.0)


def draw_gantt(schedule: GangSchedule, ax: Axes | None = None) -> Axes:
    """Draw a Gantt chart with a row for each processor, gangs in colour, local jobs in grey, and lines between sites.

    Return the axes.
    """
    import matplotlib as mpl
    from matplotlib.collections import PolyCollection

    ax = _axes(ax, height=5)
    stretch = np.repeat(np.arange(schedule.segment_job.size), np.diff(schedule.segment_first))
    job, row = schedule.segment_job[stretch], schedule.segment_processor
    left, right = schedule.segment_start[stretch], schedule.segment_end[stretch]
    corners = np.stack(
        [np.stack((x, row + y), axis=1) for x, y in ((left, -0.45), (right, -0.45), (right, 0.45), (left, 0.45))],
        axis=1,
    )
    hues = np.delete(mpl.colormaps["tab10"](np.arange(10)), 7, axis=0)  # without its grey, which stands for local jobs
    palette = hues[schedule.workload.id[job] % 9]
    palette[schedule.local[job]] = LOCAL
    ax.add_collection(PolyCollection(list(corners), facecolors=palette, edgecolors="white", linewidths=0.3))
    for border in np.cumsum(schedule.system.processors)[:-1]:
        ax.axhline(border - 0.5, color="black", linewidth=0.8)
    ax.set(xlim=_period(schedule), ylim=(-0.5, schedule.system.total - 0.5), xlabel="time", ylabel="processor")
    return ax


def draw_load(schedule: GangSchedule, ax: Axes | None = None) -> Axes:
    """Draw busy processors (left, in per cent) and waiting jobs (right) over time; return the axes."""
    ax = _axes(ax, height=4)
    # From the first arrival to the end, even if no event happens in between.
    times = np.concatenate(([schedule.t0], schedule.event_time, [schedule.end]))
    waiting, working = schedule.series(times)
    ax.step(times, 100.0 * working / schedule.system.total, where="post", color="#0072b2", linewidth=0.8)
    ax.set(xlabel="time", ylim=(0, 105), xlim=_period(schedule))
    ax.set_ylabel("processors at work (%)", color="#0072b2")
    queue = ax.twinx()
    queue.step(times, waiting, where="post", color="#d55e00", linewidth=0.8)
    queue.set_ylabel("jobs waiting", color="#d55e00")
    queue.set_ylim(bottom=0)
    return ax


def _axes(ax: Axes | None, *, height: float) -> Axes:
    from matplotlib.figure import Figure

    return Figure(figsize=(10, height), layout="constrained").add_subplot() if ax is None else ax


def _period(schedule: GangSchedule) -> tuple[float, float]:
    begin = schedule.t0
    return begin, max(schedule.end, begin + 1e-9 * max(1.0, abs(begin)))  # axes need some width
