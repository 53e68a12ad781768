"""Helpers that all pictures share: colours and markers that the colour-blind can tell apart, axes, and saving."""

from __future__ import annotations

import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from fedsched.core.errors import OutputError
from fedsched.core.text import one_line, picture_name
from fedsched.model.jobs.assumed import marked
from fedsched.model.schedule.metrics import UNITS, scale_of

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.machine.federation import Federation

# Okabe and Ito's colours for the colour-blind, in an order that alternates light and dark.
COLOURS = ("#56B4E9", "#E69F00", "#009E73", "#F0E442", "#0072B2", "#D55E00", "#CC79A7", "#999999")
# The dark colours come first: lines and points are on white paper.
LINES = (COLOURS[4], COLOURS[5], COLOURS[2], COLOURS[6], COLOURS[0], COLOURS[1], "#000000", COLOURS[7])
MARKERS = ("o", "s", "^", "D", "v", "P", "X", "*")
DASHES = ("-", "--", "-.", ":")


def axes(ax: Any = None, *, size: tuple[float, float] = (6.5, 4.2)) -> Any:
    """Return the given axes; for None return the axes of a new figure of this size in inches."""
    if ax is not None:
        return ax
    from matplotlib.figure import Figure

    return Figure(figsize=size, layout="constrained").add_subplot()


def dress(ax: Any, *, x: str, y: str, title: str = "") -> Any:
    """Give axes labels, a title, a light grid, and no frame at the top and right; return the axes."""
    ax.set_xlabel(x)
    ax.set_ylabel(y)
    if title:
        ax.set_title(title, fontsize=10, loc="left")
    ax.grid(True, color="#dddddd", linewidth=0.6)
    ax.set_axisbelow(True)
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


def wrapped(text: str) -> str:
    """Return a sentence broken into lines of at most 80 characters, safe for Matplotlib, to fit above the axes."""
    return "\n".join(textwrap.wrap(one_line(text).replace("$", r"\$"), 80))


def legend(ax: Any, entries: int) -> None:
    """Draw a legend on axes, in one more column for every nine entries; draw none if there are no entries."""
    if entries:
        ax.legend(fontsize=8, frameon=False, ncols=1 + entries // 9)


def pairs(name: str, values: ArrayLike) -> NDArray[np.float64]:
    """Return values as an array of rows of two finite numbers; raise a ValueError, naming `name`, if they are not."""
    rows = np.atleast_2d(np.asarray(values, dtype=np.float64))
    if rows.size == 0:
        return np.zeros((0, 2))
    if rows.ndim != 2 or rows.shape[1] != 2:
        raise ValueError(f"{name}: shape {rows.shape} must be (points, 2): a row for each point of two objectives.")
    if not np.isfinite(rows).all():
        raise ValueError(f"{name}: every value must be finite; leave out what is not known.")
    return rows


def label_of(objective: str, federation: Federation | None = None, *, unit: str | None = None) -> str:
    """Return an objective's name with a unit, by default its own, as a label of an axis.

    With a federation the label is marked if the objective depends on watts that are assumed.
    """
    unit = UNITS.get(objective, "") if unit is None else unit
    name = picture_name(objective.replace("_", " "))
    label = f"{name}, {unit}" if unit else name
    return label if federation is None else marked(label, objective, federation)


def measured(ax: Any, which: Literal["x", "y"], objective: str, federation: Federation | None = None) -> None:
    """Label an axis with an objective and its unit, and mark the ticks in the unit that suits the largest value.

    A logarithmic axis keeps the objective's plain unit.
    """
    from matplotlib.ticker import FuncFormatter, MaxNLocator

    axis = ax.xaxis if which == "x" else ax.yaxis
    unit, size = scale_of(objective, max(map(abs, ax.get_xlim() if which == "x" else ax.get_ylim())))

    class Rounded(MaxNLocator):
        def tick_values(self, vmin: float, vmax: float) -> Any:
            return np.asarray(super().tick_values(vmin / size, vmax / size)) * size

    if size != 1 and axis.get_scale() == "log":
        unit = UNITS.get(objective, "")
    elif size != 1:
        axis.set_major_locator(Rounded(nbins="auto", steps=[1, 2, 2.5, 5, 10]))
        axis.set_major_formatter(FuncFormatter(lambda value, _: f"{value / size:,.8g}"))
    axis.set_label_text(label_of(objective, federation, unit=unit))


def save(figure: Any, path: str | PathLike[str]) -> None:
    """Write a figure as SVG, PNG or PDF; the same figure gives the same bytes.

    Parameters
    ----------
    figure, path
        A figure of Matplotlib, and the file to write (.svg, .png or .pdf).

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.plot import pareto, style
    >>> style.save(pareto.draw({"ours": [[100, 9], [120, 7]]}).figure, "front.png")
    >>> Path("front.png").stat().st_size > 1000
    True
    """
    import matplotlib as mpl

    from fedsched.io.atomic import atomic_bytes

    kind = Path(path).suffix.lower().lstrip(".")
    if kind not in ("svg", "png", "pdf"):
        raise OutputError(f"Cannot write {path}: a chart must be .svg, .png or .pdf.")
    still = {"svg": {"Date": None}, "pdf": {"CreationDate": None}, "png": {}}[kind]
    with mpl.rc_context({"svg.hashsalt": "fedsched", "hatch.linewidth": 0.5}), atomic_bytes(path) as out:
        figure.savefig(out, format=kind, dpi=110, metadata=still)
