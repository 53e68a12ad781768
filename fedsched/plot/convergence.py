"""Charts of convergence: the best value found over evaluations or seconds, for several seeds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import picture_name
from fedsched.plot import style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray

POINTS = 200


def draw(
    runs: Mapping[str, Sequence[tuple[ArrayLike, ArrayLike]]],
    *,
    spent: str = "evaluations",
    value: str = "makespan",
    bound: float | None = None,
    quantiles: tuple[float, float] = (0.25, 0.75),
    maximised: bool = False,
    logarithmic: bool = True,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Return the axes with the median of each method over its seeds, and a band between two quantiles.

    Parameters
    ----------
    runs
        Method -> its runs, each (spent, value): rising evaluations or seconds, and the best value known from each on.
        A curve begins where every run has a value.
    spent, value
        Labels of the axes: "evaluations" or "seconds", and a metric column or any label.
    bound
        A lower bound, drawn as a line.
    quantiles
        The band's edges.
    maximised
        Whether the best value is the greatest.
    logarithmic
        Whether the axis of `spent` is logarithmic.
    title
        Written above the axes.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import convergence
    >>> axes = convergence.draw({"memetic": [([10, 100], [9.0, 7.0]), ([10, 100], [8.0, 7.5])]})
    >>> axes.get_xlabel()
    'evaluations'
    """
    if not 0 <= quantiles[0] <= quantiles[1] <= 1:
        raise ValueError(f"convergence: quantiles={quantiles} must rise between 0 and 1.")
    ax = style.axes(ax)
    for k, (name, of_seeds) in enumerate(runs.items()):
        grid, values = on_one_grid(name, of_seeds, maximised=maximised, logarithmic=logarithmic)
        colour = style.LINES[k % len(style.LINES)]
        low, middle, high = np.quantile(values, (quantiles[0], 0.5, quantiles[1]), axis=0)
        ax.fill_between(grid, low, high, step="post", color=colour, alpha=0.2, linewidth=0)
        label = picture_name(name) + (f" ({len(values)} seeds)" if len(values) > 1 else "")
        ax.plot(grid, middle, drawstyle="steps-post", color=colour, linestyle=style.DASHES[k % len(style.DASHES)],
                linewidth=1.5, label=label)  # fmt: skip
    if bound is not None:
        ax.axhline(bound, color="black", linewidth=1, linestyle=(0, (1, 1)), label="lower bound")
    if logarithmic:
        ax.set_xscale("log")
        ax.xaxis.set_minor_formatter("")
    style.dress(ax, x=spent, y="", title=title)
    style.measured(ax, "y", value)
    style.legend(ax, len(runs) + (bound is not None))
    return ax


def on_one_grid(
    name: str, runs: Sequence[tuple[ArrayLike, ArrayLike]], *, maximised: bool = False, logarithmic: bool = True
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return 200 common instants, and for each run (a row) its best value so far at each instant.

    The instants are evenly spaced, or `logarithmic`, from the latest begin to the latest end of the runs.
    """
    best_so_far = np.maximum if maximised else np.minimum
    series = []
    for spent, value in runs:
        at, known = np.asarray(spent, dtype=np.float64), np.asarray(value, dtype=np.float64)
        if at.shape != known.shape or at.ndim != 1 or not at.size or (np.diff(at) < 0).any():
            raise ValueError(f"convergence: a run of {name!r} needs as many rising instants as values, at least one.")
        series.append((at, best_so_far.accumulate(known)))
    if not series:
        raise ValueError(f"convergence: {name!r} has no runs; give at least one.")
    begin, end = max(at[0] for at, _ in series), max(at[-1] for at, _ in series)
    if logarithmic and begin <= 0:
        begin = min((at[at > 0].min() for at, _ in series if (at > 0).any()), default=1.0)
        end = max(begin, end)
    grid = np.geomspace(begin, end, POINTS) if logarithmic else np.linspace(begin, end, POINTS)
    grid[0], grid[-1] = begin, end  # exact ends, despite rounding
    return grid, np.stack([known[np.searchsorted(at, grid, side="right") - 1] for at, known in series])
