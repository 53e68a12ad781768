"""A chart of a cycle of the slot market, nodes over time.

The owners' local tasks are grey; the windows that jobs bought (slots of several nodes) are coloured, others outlined.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted, picture_name
from fedsched.plot import style
from fedsched.plot.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

    from fedsched.market.assignment import Assignment
    from fedsched.market.windows import Window

LOCAL = "#d0d0d0"
LABELLED = 40  # jobs up to which windows show the jobs' names


def draw(plan: Assignment, *, outlines: Iterable[Window] = (), ax: Any = None) -> Any:
    """Return the axes with a market cycle's windows, which are the slots that each job got on several nodes.

    Parameters
    ----------
    plan
        The cycle to draw; jobs without a window are left out.
    outlines
        Windows drawn as outlines, such as alternatives that were not chosen.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import cycle
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> axes = cycle.draw(fs.market.schedule(batch, fs.market.Domain().environment(seed=1)))
    >>> axes.get_xlabel()
    'time'
    """
    from matplotlib.collections import PolyCollection

    ax = style.axes(ax, size=(9, 4.5))
    environment = plan.environment
    busy = environment.busy
    spans = zip(busy.node.tolist(), busy.start.tolist(), busy.end.tolist(), strict=True)
    ax.add_collection(PolyCollection([_corners(*span) for span in spans], facecolors=LOCAL, edgecolors="none"))
    bars, colours = [], []
    windows = [window for window in plan.windows if window is not None]
    for window in windows:
        for span in window.slots:
            bars.append(_corners(*span))
            colours.append(COLOURS[window.job % len(COLOURS)])
        if len(windows) <= LABELLED:
            middle = window.start + window.lengths[0] / 2
            name = picture_name(plan.batch[window.job].name or str(window.job))
            ax.text(middle, window.nodes[0], name, ha="center", va="center", fontsize=6)
    ax.add_collection(PolyCollection(bars, facecolors=colours, edgecolors="black", linewidths=0.4))
    others = [_corners(*span) for window in outlines for span in window.slots]
    ax.add_collection(PolyCollection(others, facecolors="none", edgecolors="#555555", linewidths=0.5))
    ax.set_xlim(*environment.interval)
    ax.set_ylim(len(environment) - 0.5, -0.5)
    ax.set_yticks(np.unique(np.linspace(0, len(environment) - 1, min(len(environment), 13)).astype(int)))
    title = f"{plan.method}: {len(windows)} of {counted(len(plan), 'job')}; grey: the owners' local tasks"
    style.dress(ax, x="time", y="node", title=title)
    ax.grid(False)
    return ax


def save(plan: Assignment, path: str | PathLike[str]) -> None:
    """Write a cycle's chart as SVG, PNG or PDF.

    Parameters
    ----------
    plan, path
        The cycle to draw, and the file to write (.svg, .png or .pdf).

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.plot import cycle
    >>> batch = fs.market.Jobs(jobs=5).batch(seed=1)
    >>> cycle.save(fs.market.schedule(batch, fs.market.Domain().environment(seed=1)), "cycle.svg")
    >>> Path("cycle.svg").stat().st_size > 1000
    True
    """
    style.save(draw(plan).figure, path)


def _corners(node: int, start: float, end: float) -> list[tuple[float, float]]:
    low, high = node - 0.4, node + 0.4
    return [(start, low), (end, low), (end, high), (start, high)]
