"""Fronts of two objectives: what searches found, baselines beside them, what is proven impossible, and the knee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched import text
from fedsched.plot import style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray


def draw(
    fronts: Mapping[str, ArrayLike],
    *,
    objectives: tuple[str, str] = ("makespan", "energy"),
    baselines: Mapping[str, ArrayLike] | None = None,
    bound: ArrayLike | None = None,
    maximised: tuple[bool, bool] = (False, False),
    knee: bool = True,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Return the axes with fronts of two objectives, minimised unless said otherwise.

    Parameters
    ----------
    fronts
        Name -> rows of two values; dominated rows are drawn faintly, and the front as the steps that it attains.
    objectives
        What the two values are: names of metric columns, or any label.
    baselines
        Name -> one or more rows, drawn as single marks.
    bound
        Rows (x, y) of a lower bound of the front (`LowerBounds.front()`): nothing with a first value of at most x has a
        second one below y. Between the rows the edge is what follows from them: `impossible_edge`.
    maximised
        Of which of the two more is better.
    knee
        Mark the knee of the first front.
    title
        Written above the axes.
    ax
        Matplotlib axes; those of a new figure when not given.
    """
    ax = style.axes(ax)
    drawn = 0
    signs = np.where(maximised, -1.0, 1.0)
    for k, (name, values) in enumerate(fronts.items()):
        rows = style.pairs(f"fronts[{name!r}]", values)
        best = front_of(rows * signs) * signs
        colour, marker = style.LINES[k % len(style.LINES)], style.MARKERS[k % len(style.MARKERS)]
        if len(rows) > len(best):
            ax.plot(rows[:, 0], rows[:, 1], linestyle="", marker=marker, markersize=3, color=colour, alpha=0.25)
        dash = style.DASHES[k % len(style.DASHES)]
        ax.plot(best[:, 0], best[:, 1], drawstyle="steps-post", linestyle=dash, linewidth=1, color=colour,
                marker=marker, markersize=5, markeredgecolor="white", markeredgewidth=0.5,
                label=text.drawn(name))  # fmt: skip
        drawn += 1
        if knee and k == 0 and len(best) >= 3:
            _mark_knee(ax, best[knee_of(best * signs)])
    for k, (name, values) in enumerate((baselines or {}).items()):
        rows = style.pairs(f"baselines[{name!r}]", values)
        colour, marker = style.LINES[(k + 1) % len(style.LINES)], style.MARKERS[-1 - k % len(style.MARKERS)]
        ax.plot(rows[:, 0], rows[:, 1], linestyle="", marker=marker, markersize=7, markerfacecolor="none",
                markeredgecolor=colour, label=text.drawn(name))  # fmt: skip
        drawn += 1
    if bound is not None:
        drawn += _shade_impossible(ax, style.pairs("bound", bound))
    style.dress(ax, x=style.label_of(objectives[0]), y=style.label_of(objectives[1]), title=title)
    style.legend(ax, drawn)
    return ax


def front_of(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the rows that no other one beats in both values, by the first value."""
    kept: list[NDArray[np.float64]] = []
    for row in rows[np.lexsort((rows[:, 1], rows[:, 0]))]:
        if not kept or row[1] < kept[-1][1]:
            kept.append(row)
    return np.array(kept).reshape(-1, 2)


def knee_of(front: NDArray[np.float64]) -> int:
    """Return which point of a front, sorted by its first value, is farthest below the line between its ends."""
    low, high = front.min(axis=0), front.max(axis=0)
    scaled = (front - low) / np.where(high > low, high - low, 1.0)
    return int(np.argmin(scaled.sum(axis=1)))


def _mark_knee(ax: Any, point: NDArray[np.float64]) -> None:
    ax.plot(*point, marker="o", markersize=12, markerfacecolor="none", markeredgecolor="black", linestyle="")
    ax.annotate("knee", point, xytext=(8, 8), textcoords="offset points", fontsize=8)


def impossible_edge(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners of the region that the rows of a lower bound rule out, from its left end to its right one.

    A chord between two rows lies above a convex bound and would rule out too much. Its prolongations lie below, and so
    does the next row's level. Of rows that are not convex only the levels follow: a staircase.
    """
    rows = rows[np.argsort(rows[:, 0], kind="stable")]
    rows = rows[np.append(np.diff(rows[:, 0]) > 0, True)]
    slopes = np.diff(rows[:, 1]) / np.diff(rows[:, 0])
    convex = bool((np.diff(slopes) >= -1e-9 * np.abs(slopes).max(initial=0.0)).all() and (slopes <= 0).all())
    corners = [rows[0]]
    for k, slope in enumerate(slopes):
        (x, y), (right, level) = rows[k], rows[k + 1]
        before = slopes[k - 1] if convex and k > 0 else -np.inf
        after = slopes[k + 1] if convex and k + 1 < len(slopes) else 0.0
        if before == -np.inf:  # straight down, then along the line that comes next
            corners.append(np.array([x, level + after * (x - right)]))
        elif before < slope < after:  # where the two prolongations meet
            at = (level - y + before * x - after * right) / (before - after)
            corners.append(np.array([at, y + before * (at - x)]))
        corners.append(rows[k + 1])
    return np.array(corners)


def _shade_impossible(ax: Any, rows: NDArray[np.float64]) -> int:
    """Shade what a lower bound rules out; beyond its ends it is a vertical and a horizontal line."""
    if not len(rows):
        return 0
    rows = impossible_edge(rows)
    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    left, low = min(left, rows[0, 0] - 0.02 * (right - left)), min(low, rows[-1, 1] - 0.02 * (high - low))
    edge_x = np.concatenate([[rows[0, 0]], rows[:, 0], [max(right, rows[-1, 0])]])
    edge_y = np.concatenate([[max(high, rows[0, 1])], rows[:, 1], [rows[-1, 1]]])
    ax.plot(edge_x, edge_y, color="black", linewidth=1, label="lower bound")
    region_x = np.concatenate([edge_x, [edge_x[-1], left, left]])
    region_y = np.concatenate([edge_y, [low, low, edge_y[0]]])
    ax.fill(region_x, region_y, facecolor="#eeeeee", edgecolor="#bbbbbb", hatch="///", linewidth=0, zorder=0)
    ax.set_xlim(left, right)
    ax.set_ylim(low, high)
    return 1
