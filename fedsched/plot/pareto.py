"""Charts of Pareto fronts of two objectives, with baselines, the region that a lower bound excludes, and the knee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core import text
from fedsched.plot import style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

ASIDE = 1.5  # times a front's extent; points farther off would squeeze it into a corner
ROUNDING = 1e-9  # values that differ by a smaller share count as equal


def draw(
    fronts: Mapping[str, ArrayLike],
    *,
    objectives: tuple[str, str] = ("makespan", "energy"),
    baselines: Mapping[str, ArrayLike] | None = None,
    aside: Mapping[str, ArrayLike] | None = None,
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
        Name -> rows of two values; dominated rows are drawn faintly, the front as a staircase.
    objectives
        Names of the two values: metric columns, or any label.
    baselines
        Name -> one or more rows, drawn as single marks.
    aside
        Like `baselines`, but too far off for these axes: drawn in an inset that shows everything.
    bound
        Rows (x, y) of a lower bound of the front (`LowerBounds.front()`): no schedule with a first value of at most x
        has a second value below y. `impossible_edge` gives the edge between the rows.
    maximised
        Which of the two objectives are maximised.
    knee
        Mark the knee of the first front.
    title
        Written above the axes.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import pareto
    >>> axes = pareto.draw({"ours": [[100, 9], [120, 7]]}, baselines={"easy": [130, 10]})
    >>> axes.get_xlabel()
    'makespan, min'
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
                label=text.picture_name(name))  # fmt: skip
        drawn += 1
        if knee and k == 0 and len(best) >= 3:
            _mark_knee(ax, best[knee_of(best * signs)])
    near, far = (
        {name: style.pairs(f"{what}[{name!r}]", values) for name, values in (given or {}).items()}
        for what, given in (("baselines", baselines), ("aside", aside))
    )
    drawn += _mark(ax, near, first=0)
    if bound is not None:
        view = np.array([ax.get_xlim(), ax.get_ylim()])
        drawn += _shade_impossible(ax, style.pairs("bound", bound))
        grown = np.ptp([ax.get_xlim(), ax.get_ylim()], axis=1) > (1 + ASIDE) * np.ptp(view, axis=1)
        if far and grown.any():  # the inset shows it
            ax.set_xlim(*view[0])
            ax.set_ylim(*view[1])
    style.dress(ax, x="", y="", title=title)
    style.measured(ax, "x", objectives[0])
    style.measured(ax, "y", objectives[1])
    if far:
        drawn += _mark(ax, dict.fromkeys(far, np.zeros((0, 2))), first=len(near))  # for the legend
        _draw_inset(ax, [style.pairs(name, values) for name, values in fronts.items()], near, far,
                    None if bound is None else style.pairs("bound", bound), objectives)  # fmt: skip
        ax.legend(fontsize=8, frameon=False, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.16))
    else:
        style.legend(ax, drawn)
    return ax


def _mark(ax: Any, points: Mapping[str, NDArray[np.float64]], *, first: int, size: float = 7) -> int:
    for k, (name, rows) in enumerate(points.items(), first):
        colour, marker = style.LINES[(k + 1) % len(style.LINES)], style.MARKERS[-1 - k % len(style.MARKERS)]
        ax.plot(rows[:, 0], rows[:, 1], linestyle="", marker=marker, markersize=size, markerfacecolor="none",
                markeredgecolor=colour, label=text.picture_name(name))  # fmt: skip
    return len(points)


def _draw_inset(
    ax: Any,
    fronts: list[NDArray[np.float64]],
    near: Mapping[str, NDArray[np.float64]],
    far: Mapping[str, NDArray[np.float64]],
    bound: NDArray[np.float64] | None,
    objectives: tuple[str, str],
) -> None:
    """Draw an inset with all fronts, all marks and the bound, and a dashed frame around what the axes show."""
    from matplotlib.patches import Rectangle

    (left, right), (low, high) = ax.get_xlim(), ax.get_ylim()
    inset = ax.inset_axes((0.64, 0.62, 0.35, 0.36))
    for rows in fronts:
        inset.plot(rows[:, 0], rows[:, 1], linestyle="", marker=".", markersize=3, color=style.LINES[0])
    _mark(inset, {**near, **far}, first=0, size=5)
    if bound is not None and len(bound):
        edge = impossible_edge(bound)
        inset.plot(edge[:, 0], edge[:, 1], color="black", linewidth=0.7)
    inset.add_patch(Rectangle((left, low), right - left, high - low, fill=False, linestyle="--", linewidth=0.7))
    inset.margins(0.12)
    style.measured(inset, "x", objectives[0])
    style.measured(inset, "y", objectives[1])
    inset.set(xlabel="", ylabel="")
    inset.locator_params(nbins=3)
    inset.tick_params(labelsize=6, length=2, pad=1)
    for side in ("top", "right"):
        inset.spines[side].set_visible(False)


def front_of(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the non-dominated rows, both values minimised, sorted by the first value."""
    kept: list[NDArray[np.float64]] = []
    for row in rows[np.lexsort((rows[:, 1], rows[:, 0]))]:
        if not kept or row[1] < kept[-1][1]:
            kept.append(row)
    return np.array(kept).reshape(-1, 2)


def knee_of(front: NDArray[np.float64]) -> int:
    """Return the index of a front's knee: the point with the least sum of both values, each scaled to 0..1.

    It is the point farthest below the line between the front's ends.
    """
    low, high = front.min(axis=0), front.max(axis=0)
    scaled = (front - low) / np.where(high > low, high - low, 1.0)
    return int(np.argmin(scaled.sum(axis=1)))


def beside(front: NDArray[np.float64], rows: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return which rows lie at most 1.5 times a front's extent beyond it, so that the same axes can show them.

    An objective in which the front has no extent does not count.
    """
    low, high = front.min(axis=0), front.max(axis=0)
    aside = ASIDE * (high - low)
    flat = high - low <= ROUNDING * np.abs(high)
    near = (rows.reshape(-1, front.shape[1]) >= low - aside) & (rows.reshape(-1, front.shape[1]) <= high + aside)
    return np.asarray((near | flat).all(axis=1))


def _mark_knee(ax: Any, point: NDArray[np.float64]) -> None:
    ax.plot(*point, marker="o", markersize=12, markerfacecolor="none", markeredgecolor="black", linestyle="")
    ax.annotate("knee", point, xytext=(8, 8), textcoords="offset points", fontsize=8)


def impossible_edge(rows: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the corners of the edge of the region that the rows of a lower bound exclude, from left to right.

    A chord between two rows of a convex bound lies above the bound and would exclude too much. Prolongations of the
    neighbouring chords lie below it, and so does the next row's level. Rows that are not convex give a staircase.
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
        if before == -np.inf:  # straight down, then along the next chord's prolongation
            corners.append(np.array([x, level + after * (x - right)]))
        elif before < slope < after:  # where the two prolongations meet
            at = (level - y + before * x - after * right) / (before - after)
            corners.append(np.array([at, y + before * (at - x)]))
        corners.append(rows[k + 1])
    return np.array(corners)


def _shade_impossible(ax: Any, rows: NDArray[np.float64]) -> int:
    """Shade the region that a lower bound excludes, and return 1, the number of legend entries; 0 without rows.

    Beyond the bound's ends the region's edge is vertical and horizontal.
    """
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
