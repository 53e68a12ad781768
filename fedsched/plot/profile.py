"""Charts of performance profiles: the share of problems on which a method is within a factor of the best."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import picture_name
from fedsched.plot import style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import ArrayLike, NDArray

LEVEL = 1e-6  # a spread of factors below which all methods count as equal
SHOWN_WHERE_LEVEL = 0.1  # the extent of the axis beyond 1 in that case


def draw(
    costs: Mapping[str, ArrayLike], *, value: str = "", most: float | None = None, title: str = "", ax: Any = None
) -> Any:
    """Return the axes with each method's performance profile (Dolan & Moré, Mathematical Programming 2002).

    A profile is the share of problems on which the method's cost is at most a factor times the least cost there.

    Parameters
    ----------
    costs
        Method -> its cost on each problem, at least 0 and minimised; a cost that is not finite means not solved.
    value
        The name of the costs.
    most
        The largest factor shown; by default large enough for every profile to reach its end.
    title
        Written above the axes.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import profile
    >>> axes = profile.draw({"memetic": [10, 12, 9], "easy": [14, 12, 13]}, value="makespan")
    >>> axes.get_xlabel()
    'makespan, times the best'
    """
    factors = ratios(costs)
    ax = style.axes(ax)
    finite = np.concatenate([values[np.isfinite(values)] for values in factors.values()])
    largest = float(finite.max(initial=1.0))
    if most is not None and not most > 1.0:
        raise ValueError(f"profile: most={most} must be above 1, the factor of the best.")
    beyond = largest - 1.0 if largest - 1.0 > LEVEL else SHOWN_WHERE_LEVEL
    end = most if most is not None else 1.0 + 1.05 * beyond
    for k, (name, values) in enumerate(factors.items()):
        at, share = steps(values)
        inside = at <= end
        at, share = np.append(at[inside], end), np.append(share[inside], share[inside][-1])
        ax.plot(at, share, drawstyle="steps-post", color=style.LINES[k % len(style.LINES)],
                linestyle=style.DASHES[k % len(style.DASHES)], linewidth=1.5, label=picture_name(name))  # fmt: skip
    if end > 10.0:
        ax.set_xscale("log")
    ax.set_xlim(1.0, end)
    ax.set_ylim(0.0, 1.02)
    problems = len(next(iter(factors.values())))
    what = f"{value.replace('_', ' ')}, times the best".lstrip(", ")
    style.dress(ax, x=what, y=f"share of {problems} problems", title=title)
    ax.ticklabel_format(axis="x", useOffset=False) if end <= 10.0 else None
    style.legend(ax, len(factors))
    return ax


def ratios(costs: Mapping[str, ArrayLike]) -> dict[str, NDArray[np.float64]]:
    """Return each method's cost on each problem divided by the least cost of any method there.

    It is infinite for a cost that is not finite (not solved). Raise a ValueError for costs below 0, and for methods
    with unequal numbers of costs.
    """
    if not costs:
        raise ValueError("profile: there are no methods; give at least one.")
    columns = [np.asarray(values, dtype=np.float64) for values in costs.values()]
    lengths = {name: column.shape for name, column in zip(costs, columns, strict=True)}
    if len(set(lengths.values())) != 1 or columns[0].ndim != 1 or not len(columns[0]):
        raise ValueError(f"profile: every method needs a cost on each problem, but they have {lengths}.")
    table = np.column_stack(columns)
    table[~np.isfinite(table)] = np.inf
    if (table < 0).any():
        raise ValueError("profile: a factor of the best means nothing for costs below 0; draw them as they are.")
    best = table.min(axis=1, keepdims=True)
    level = table == best
    with np.errstate(divide="ignore", invalid="ignore"):
        factors = np.where(level & np.isfinite(table), 1.0, table / best)
    factors[~np.isfinite(factors)] = np.inf
    return dict(zip(costs, factors.T, strict=True))


def steps(factors: NDArray[np.float64]) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return the factors at which a method's profile rises, from 1 on, and its height from each on.

    The height at a factor is the share of problems on which the method's factor is at most as large.
    """
    solved = np.sort(factors[np.isfinite(factors)])
    at = np.unique(np.append(1.0, solved))
    return at, np.searchsorted(solved, at, side="right") / len(factors)
