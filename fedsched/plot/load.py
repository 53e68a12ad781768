"""Charts of a federation's power by cluster over time, and of the times when uplinks are over their bandwidth."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.text import picture_name
from fedsched.model.jobs.assumed import marked
from fedsched.model.power.watts import extra_watts
from fedsched.model.schedule.metrics import scaled
from fedsched.model.schedule.power_draw import drawing_of
from fedsched.plot import style
from fedsched.plot.gantt import draw_cap, few_steps, link_load, steps_of, time_unit
from fedsched.plot.style import COLOURS

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule


class Saturation(NamedTuple):
    """The periods in which an uplink's load is over its bandwidth.

    Parameters
    ----------
    cluster
        The cluster of the uplink.
    begin, end
        When each period begins and ends, in seconds since the schedule's t0.

    Examples
    --------
    >>> from fedsched.plot import load
    >>> found = load.saturations(fs.simulate(fs.read("sample").head(50), fs.read_federation("example")))
    >>> found[0].cluster, len(found[0].begin)
    ('north', 0)
    """

    cluster: str
    begin: NDArray[np.float64]  # seconds since t0
    end: NDArray[np.float64]

    @property
    def seconds(self) -> float:
        """Return the total length of these periods in seconds."""
        return float((self.end - self.begin).sum())


def power(schedule: Schedule, ax: Any = None) -> Any:
    """Return the axes with the stacked watts of each cluster over time, idle nodes included.

    Parameters
    ----------
    schedule
        The schedule to draw; jobs that have not finished are left out.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import load
    >>> axes = load.power(fs.simulate(fs.read("sample").head(50), fs.read_federation("example")))
    >>> axes.get_ylabel()
    'power, kW'
    """
    ax = style.axes(ax, size=(8, 3))
    unit, name = time_unit(schedule.makespan)
    groups, clusters = schedule.federation.groups, schedule.federation.clusters
    cluster_of = np.array(schedule.federation.group_cluster)
    idle = np.array([group.idle_watts * group.count for group in groups])
    layers = []
    times, (runs, own) = np.zeros(1), drawing_of(schedule)
    extra = runs.counts * extra_watts(own, groups, runs.job)
    for k in range(len(clusters)):
        here = cluster_of == k
        steps = steps_of(runs, extra[:, here].sum(axis=1), schedule.t0, unit)
        times, taken = few_steps(*steps, schedule.makespan / unit)
        layers.append(taken + idle[here].sum())
    peak = max(float(np.sum(layers, axis=0).max(initial=0.0)), float(idle.sum()))
    watt_name, watts = scaled("W", peak)
    if times.size:
        colours = [COLOURS[k % len(COLOURS)] for k in range(len(clusters))]
        ax.stackplot(times, [layer / watts for layer in layers], step="post", colors=colours, edgecolor="white",
                     linewidth=0.3, labels=[picture_name(cluster.name) for cluster in clusters])  # fmt: skip
    ax.axhline(idle.sum() / watts, color="black", linewidth=0.8, linestyle="--", label="all nodes idle")
    draw_cap(ax, schedule, unit, watts)
    ax.set_ylim(0, None)
    label = marked(f"power, {watt_name}", "energy", schedule.federation)
    style.dress(ax, x=f"time since the first submission, {name}", y=label)
    if len(clusters) <= 10:
        ax.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    return ax


def saturated(schedule: Schedule, ax: Any = None) -> Any:
    r"""Return the axes with a row for each finite uplink, and bars while its load is above its bandwidth.

    Parameters
    ----------
    schedule
        The schedule to draw; jobs that have not finished are left out.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import load
    >>> axes = load.saturated(fs.simulate(fs.read("sample").head(50), fs.read_federation("example")))
    >>> [text.get_text() for text in axes.get_yticklabels()][0]
    'north\n0% of the time'
    """
    ax = style.axes(ax, size=(8, 2.5))
    unit, name = time_unit(schedule.makespan)
    rows = saturations(schedule)
    for k, row in enumerate(rows):
        bars = [(begin / unit, (end - begin) / unit) for begin, end in zip(row.begin, row.end, strict=True)]
        ax.broken_barh(bars, (k - 0.35, 0.7), facecolors=COLOURS[5], edgecolor="none")
    total = max(schedule.makespan, np.finfo(float).tiny)
    labels = [f"{picture_name(row.cluster)}\n{row.seconds / total:.0%} of the time" for row in rows]
    ax.set_yticks(range(len(rows)), labels, fontsize=8)
    ax.set_ylim(max(len(rows), 1) - 0.5, -0.5)
    ax.set_xlim(0, total / unit)
    style.dress(ax, x=f"time since the first submission, {name}", y="", title="" if rows else "no finite uplink")
    return ax


def saturations(schedule: Schedule) -> list[Saturation]:
    """Return, for each cluster with a finite uplink, when the uplink's load is above its bandwidth (eq. 1.3: SD < 1).

    Parameters
    ----------
    schedule
        The schedule.

    Examples
    --------
    >>> from fedsched.plot import load
    >>> found = load.saturations(fs.simulate(fs.read("sample").head(50), fs.read_federation("example")))
    >>> found[0].cluster, found[0].seconds
    ('north', 0.0)
    """
    found = []
    for k, cluster in enumerate(schedule.federation.clusters):
        if not np.isfinite(cluster.uplink):
            continue
        times, load = link_load(schedule, k, 1.0)
        over = load[:-1] > cluster.uplink * (1 + 1e-9)  # running sums have rounding errors
        found.append(Saturation(cluster.name, times[:-1][over], times[1:][over]))
    return found
