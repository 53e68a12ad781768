"""The critical-difference diagram: average ranks on a line, and bars along methods with no significant difference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import picture_name
from fedsched.plot import style

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

LINE = 0.34  # inches of the figure for each name below the axis


def draw(ranks: Mapping[str, float], *, difference: float, alpha: float = 0.05, title: str = "", ax: Any = None) -> Any:
    """Return the axes with the critical-difference diagram of methods, the best at the left (Demšar, JMLR 2006).

    Bars join methods with average ranks that differ by no more than `difference`.

    Parameters
    ----------
    ranks
        Method -> its average rank, 1 the best.
    difference
        The critical difference of two average ranks; methods under one bar differ by no more.
    alpha
        The significance level of `difference`.
    title
        Written above the axes.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import ranks
    >>> axes = ranks.draw({"memetic": 1.2, "ga": 2.1, "easy": 2.7}, difference=0.8)
    >>> len(axes.texts) > 0
    True
    """
    if len(ranks) < 2:
        raise ValueError(f"ranks: {len(ranks)} method is too few to draw; give at least 2.")
    if not all(1.0 <= rank <= len(ranks) for rank in ranks.values()):
        raise ValueError(f"ranks: average ranks of {len(ranks)} methods must lie between 1 and {len(ranks)}.")
    if not (np.isfinite(difference) and difference > 0.0):
        raise ValueError(f"ranks: difference={difference} must be finite and above 0.")
    order = sorted(ranks, key=lambda name: ranks[name])
    bars = groups([ranks[name] for name in order], difference)
    left = (len(order) + 1) // 2  # these have their names at the left, the best on top
    first_line = 1.0 + 0.45 * len(bars)
    depth = first_line + left
    ax = style.axes(ax, size=(6.5, 0.9 + LINE * depth))
    most = len(order)
    ax.set_xlim(1.0 - 0.45 * most, 1.45 * most)
    ax.set_ylim(depth, -2.6)
    ax.set_yticks([])
    ax.set_xticks([])
    for side in ax.spines.values():
        side.set_visible(False)
    _scale(ax, most, difference, alpha)
    for k, name in enumerate(order):
        at_left = k < left
        level = first_line + (k if at_left else most - 1 - k)
        end = 1.0 - 0.04 * most if at_left else 1.04 * most
        colour = style.LINES[k % len(style.LINES)]
        ax.plot([ranks[name], ranks[name], end], [0, level, level], color=colour, linewidth=1, solid_joinstyle="miter")
        ax.plot([ranks[name]], [0], marker="o", markersize=4, color=colour)
        gap = -0.02 * most if at_left else 0.02 * most
        text = f"{picture_name(name)}  ({ranks[name]:.2f})" if at_left else f"({ranks[name]:.2f})  {picture_name(name)}"
        ax.text(end + gap, level, text, ha="right" if at_left else "left", va="center", fontsize=9)
    for k, (begin, stop) in enumerate(bars):
        x = [ranks[order[begin]] - 0.02, ranks[order[stop]] + 0.02]
        ax.plot(x, [0.5 + 0.45 * k] * 2, color="black", linewidth=3, solid_capstyle="butt", label="not told apart")
    ax.set_xlabel(
        "average rank; under one bar: no difference shown" if bars else "average rank; all differ", fontsize=8
    )
    if title:
        ax.set_title(title, fontsize=10, loc="left")
    return ax


def groups(ranks: Sequence[float], difference: float) -> list[tuple[int, int]]:
    """Return the index ranges (first, last) of two or more ranks, sorted upwards, that differ by at most `difference`.

    A range within another one is left out.
    """
    found: list[tuple[int, int]] = []
    for first, rank in enumerate(ranks):
        last = max(k for k, other in enumerate(ranks) if k >= first and other - rank <= difference)
        if last > first and (not found or last > found[-1][1]):
            found.append((first, last))
    return found


def _scale(ax: Any, most: int, difference: float, alpha: float) -> None:
    # The ruler with the ranks, and above it the length of the critical difference.
    ax.plot([1, most], [0, 0], color="black", linewidth=1)
    for rank in range(1, most + 1):
        ax.plot([rank, rank], [0, -0.25], color="black", linewidth=1)
        ax.text(rank, -0.4, str(rank), ha="center", va="bottom", fontsize=8)
    shown = min(difference, most - 1.0)
    ax.plot([1, 1 + shown], [-1.7, -1.7], color="black", linewidth=1.5, marker="|", markersize=7)
    beyond = "" if shown == difference else ", more than there is"
    text = f"critical difference {difference:.2f} (α = {alpha:g}){beyond}"
    ax.text(1, -2.0, text, ha="left", va="bottom", fontsize=8)
