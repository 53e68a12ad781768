"""The picture of a search's result: its front, its convergence, and a Gantt chart of the plan at the front's knee."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import picture_name
from fedsched.plot import convergence, gantt, pareto, style

if TYPE_CHECKING:
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.result import Front, Result

SHOWN = ("fcfs", "easy", "conservative", "easy-sjbf", "laf-greedy")  # baselines beside the front
WORST = 2.0  # baselines farther above the best, as a factor, would squeeze even an inset's front into a corner
CROWDED = 20.0  # factor between bars above which the axis is logarithmic


def draw_result(result: Result, schedule: Schedule | None = None) -> Any:
    """Return a figure with three panels: front, convergence and a Gantt chart.

    The front has baselines and bounds; unless there are two objectives, bars of the first one's values replace it. The
    Gantt chart shows `schedule`, by default that of the plan at the front's knee.

    Parameters
    ----------
    result
        What `optimize` returned.
    schedule
        The schedule of the Gantt chart; None: the knee.

    Examples
    --------
    >>> from fedsched.plot.result import draw_result
    >>> figure = draw_result(fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1))
    >>> len(figure.axes) >= 3
    True
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(10, 8), layout="constrained")
    panels = figure.subplot_mosaic([["front", "progress"], ["gantt", "gantt"]], height_ratios=(1, 1.2))
    front_on(result, panels["front"])
    _draw_progress(result, panels["progress"])
    gantt.draw(result.knee() if schedule is None else schedule, panels["gantt"])
    return figure


def draw_front(result: Result) -> Any:
    """Return a figure of the front alone, or, unless there are two objectives, of bars of the first one's values.

    Parameters
    ----------
    result
        What `optimize` returned.

    Examples
    --------
    >>> from fedsched.plot.result import draw_front
    >>> figure = draw_front(fs.optimize(fs.read("sample").head(20), 128, evaluations=500, seed=1))
    >>> len(figure.axes) >= 1
    True
    """
    from matplotlib.figure import Figure

    figure = Figure(figsize=(6, 4.5), layout="constrained")
    front_on(result, figure.subplots())
    return figure


def front_on(result: Result, ax: Any) -> Any:
    """Draw a result's front, baselines and bounds on axes, and return the axes.

    Unless there are two objectives, draw bars of the first objective's values and a line for its bound instead.
    """
    (_draw_front if len(result.objectives) == 2 else _draw_values)(result, ax)
    return ax


def draw_plans(front: Front, ax: Any = None) -> Any:
    """Return the axes with the plans of a front alone.

    A front of two objectives is a staircase. With one or more than two, each plan is a line across the objectives,
    from the front's best value (0) to its worst (1); the knee's line is black.
    """
    if len(front.objectives) == 2:
        first, second = front.objectives
        maximised = front.signs < 0
        return pareto.draw({"front": front.values}, objectives=(first, second), ax=ax,
                           maximised=(bool(maximised[0]), bool(maximised[1])))  # fmt: skip
    ax = style.axes(ax)
    at, knee = np.arange(len(front.objectives)), front.knee_index()
    for k, row in enumerate(front.scaled()):
        colour, wide = ("black", 2.0) if k == knee else (style.LINES[0], 0.8)
        ax.plot(at, row, color=colour, linewidth=wide, marker="o", markersize=3, zorder=3 if k == knee else 2)
    style.dress(ax, x="", y="0 is the front's best, 1 its worst")
    ax.set_xticks(at, [style.label_of(name) for name in front.objectives])
    return ax


def _draw_progress(result: Result, ax: Any) -> None:
    if not result.history:
        ax.text(0.5, 0.5, "the time was over before the search began", ha="center", va="center")
        ax.set_axis_off()
        return
    name = result.objectives[0]
    sign = result.front.signs[0]
    runs = [([m.evaluations for m in result.history], [sign * m.best[0] for m in result.history])]
    bound = result.bound(name) if result.front.planned is None else float("nan")  # else it bounds outcomes, not plans
    convergence.draw({result.method: runs}, value=name, bound=bound if bound == bound else None, maximised=sign < 0,
                     ax=ax)  # fmt: skip
    style.measured(ax, "y", name, result.federation)


def _draw_front(result: Result, ax: Any) -> None:
    signs = result.front.signs
    best, maximised = (result.front.values * signs).min(axis=0) * signs, signs < 0
    near = {
        f"{baseline.policy}{result.mark}": [baseline.values]
        for baseline in result.baselines
        if baseline.policy in SHOWN
        and all(
            b <= WORST * v if more else v <= WORST * b
            for v, b, more in zip(baseline.values, best, maximised, strict=True)
        )
    }
    front = result.front.values
    room = {name: len(front) < 2 or bool(pareto.beside(front, np.array(rows)).all()) for name, rows in near.items()}
    aside = {name: rows for name, rows in near.items() if not room[name]}
    near = {name: rows for name, rows in near.items() if room[name]}
    bound = result.bound_front if len(result.bound_front) and result.objectives == ("makespan", "energy") else None
    first, second = result.objectives
    pareto.draw({result.method: front}, objectives=(first, second), baselines=near, aside=aside, bound=bound,
                maximised=(maximised[0], maximised[1]), ax=ax)  # fmt: skip
    style.measured(ax, "x", first, result.federation)
    style.measured(ax, "y", second, result.federation)
    ax.locator_params(axis="x", nbins=5)


def _draw_values(result: Result, ax: Any) -> None:
    # One objective, or more than two: bars of the first objective's value for the search and every baseline.
    name = result.objectives[0]
    rows = [(f"{baseline.policy}{result.mark}", baseline.values[0]) for baseline in result.baselines]
    rows = sorted([*rows, (result.method, result.value(name))], key=lambda row: -row[1] * result.front.signs[0])
    colours = [style.LINES[0] if label == result.method else "#bbbbbb" for label, _ in rows]
    ax.barh([picture_name(label) for label, _ in rows], [value for _, value in rows], color=colours)
    bound = result.bound(name)
    if bound == bound:
        ax.axvline(bound, color="black", linestyle="--", linewidth=1, label="lower bound")
        ax.legend(fontsize=7)
    values = [value for _, value in rows]
    if min(values) > 0 and max(values) > CROWDED * min(values):
        ax.set_xscale("log")
    style.dress(ax, x="", y="", title="")
    style.measured(ax, "x", name, result.federation)
