"""A chart with filled contours of a function of two inputs in [−1, 1], such as the fuzzy controller's output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.plot import style

if TYPE_CHECKING:
    from collections.abc import Callable


def draw(
    function: Callable[[float, float], float],
    *,
    inputs: tuple[str, str] = ("relative gain in makespan", "relative gain in energy"),
    output: str = "",
    points: int = 41,
    limits: tuple[float, float] | None = None,
    title: str = "",
    ax: Any = None,
) -> Any:
    """Return the axes with filled contours of a function over [−1, 1] × [−1, 1].

    Parameters
    ----------
    function
        A function of two numbers that returns one.
    inputs, output
        Labels of the axes and of the colours.
    points
        The number of values of each input.
    limits
        The values at which the colours begin and end; by default the least and greatest value.
    title
        Written above the axes.
    ax
        Matplotlib axes; by default those of a new figure.

    Examples
    --------
    >>> from fedsched.plot import surface
    >>> axes = surface.draw(lambda x, y: x + y, points=11)
    >>> axes.get_xlabel()
    'relative gain in makespan'
    """
    if points < 2:
        raise ValueError(f"surface: points={points} must be at least 2.")
    ax = style.axes(ax, size=(5.2, 4.2))
    at = np.linspace(-1.0, 1.0, points)
    values = np.array([[function(float(x), float(y)) for x in at] for y in at])
    if not np.isfinite(values).all():
        raise ValueError("surface: the function must be finite on all of [−1, 1] × [−1, 1].")
    low, high = limits if limits is not None else (float(values.min()), float(values.max()))
    high = high if high > low else low + 1.0
    levels = np.linspace(low, high, 11)
    filled = ax.contourf(at, at, values, levels=levels, cmap="cividis", extend="neither" if limits is None else "both")
    lines = ax.contour(at, at, values, levels=levels[1:-1:2], colors="white", linewidths=0.6)
    ax.clabel(lines, fontsize=7, fmt="%.2g")
    ax.set_aspect("equal")
    style.dress(ax, x=inputs[0], y=inputs[1], title=title)
    ax.grid(False)
    ax.figure.colorbar(filled, ax=ax, label=output)
    return ax
