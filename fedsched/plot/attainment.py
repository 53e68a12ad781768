"""Charts of attainment surfaces: the points that a given share of a search's runs attains or betters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted, picture_name
from fedsched.plot import style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import ArrayLike, NDArray


def draw(
    runs: Mapping[str, Sequence[ArrayLike]],
    *,
    percentiles: tuple[float, float, float] = (25.0, 50.0, 75.0),
    objectives: tuple[str, str] = ("makespan", "energy"),
    title: str = "",
    ax: Any = None,
) -> Any:
    """Return the axes with the median attainment surface of each method, and a band around it.

    Parameters
    ----------
    runs
        Method -> the fronts of its runs (seeds), each rows of two values, both minimised.
    percentiles
        The band's best edge, the line, the band's worst edge: a point on the 25 % surface is attained by a quarter
        of the runs.
    objectives
        Names of the two values.
    title
        Written above the axes.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import attainment
    >>> axes = attainment.draw({"memetic": [[[100, 9], [120, 7]], [[105, 8], [125, 6]]]})
    >>> len(axes.lines) > 0
    True
    """
    if len(percentiles) != 3 or not 0 < percentiles[0] <= percentiles[1] <= percentiles[2] <= 100:
        raise ValueError(f"attainment: percentiles={percentiles} must be three that rise, above 0 and at most 100.")
    ax = style.axes(ax)
    found = {name: [surface(fronts, share) for share in percentiles] for name, fronts in runs.items()}
    every = np.concatenate([rows for surfaces in found.values() for rows in surfaces] or [np.zeros((1, 2))])
    corner = every.max(axis=0) + 0.05 * np.maximum(np.ptp(every, axis=0), 1e-9 * abs(every).max(axis=0))
    for k, (name, (best, middle, worst)) in enumerate(found.items()):
        colour = style.LINES[k % len(style.LINES)]
        band = np.concatenate([_steps(best, corner), _steps(worst, corner)[::-1]])
        ax.fill(band[:, 0], band[:, 1], color=colour, alpha=0.2, linewidth=0)
        line = _steps(middle, corner)
        ax.plot(line[:, 0], line[:, 1], color=colour, linestyle=style.DASHES[k % len(style.DASHES)], linewidth=1.5,
                label=f"{picture_name(name)} ({counted(len(runs[name]), 'run')})")  # fmt: skip
    style.dress(ax, x="", y="", title=title)
    style.measured(ax, "x", objectives[0])
    style.measured(ax, "y", objectives[1])
    style.legend(ax, len(found))
    return ax


def surface(fronts: Sequence[ArrayLike], percentile: float) -> NDArray[np.float64]:
    """Return the points of the empirical attainment surface that this percentage of the runs attains.

    Parameters
    ----------
    fronts
        The fronts of the runs, each rows of two values, both minimised.
    percentile
        The share of the runs, from 0 to 100.

    Examples
    --------
    >>> from fedsched.plot import attainment
    >>> attainment.surface([[[100, 9], [120, 7]], [[110, 8]]], 100.0)
    array([[110.,   9.],
           [120.,   8.]])
    """
    from moocore import eaf

    sets = [style.pairs(f"runs[{k}]", front) for k, front in enumerate(fronts)]
    if not sets or any(len(rows) == 0 for rows in sets):
        raise ValueError(f"attainment: {len(sets)} runs, some of them without a point; every run needs a front.")
    number = np.concatenate([np.full(len(rows), k + 1) for k, rows in enumerate(sets)])
    points = np.asarray(eaf(np.concatenate(sets), number, percentiles=[percentile]))[:, :2]
    return np.asarray(points[np.lexsort((-points[:, 1], points[:, 0]))])


def _steps(rows: NDArray[np.float64], corner: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners of a staircase through the points, from the top of the picture to its right edge.

    `corner` is the picture's upper right corner.
    """
    across = np.repeat(rows[:, 0], 2)
    down = np.repeat(rows[:, 1], 2)
    return np.column_stack([np.append(across, corner[0]), np.concatenate([[corner[1]], down])])
