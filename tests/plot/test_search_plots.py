"""Pictures of searches and loads: they draw what they are given, at the size asked for, into the axes given."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.collections import PolyCollection
from matplotlib.figure import Figure

import fedsched as fs
from fedsched.generate import lublin
from fedsched.model.schedule.lost import finished_runs
from fedsched.plot import attainment, convergence, load, pareto, style, surface
from fedsched.plot.gantt import time_unit
from fedsched.plot.style import COLOURS

if TYPE_CHECKING:
    from collections.abc import Callable

FRONT = np.array([[1.0, 9.0], [2.0, 4.0], [5.0, 3.0], [9.0, 1.0], [6.0, 6.0]])
RUNS = [np.array([[1.0 + k, 9.0], [4.0, 3.0 + k]]) for k in range(3)]


def crossing() -> fs.Schedule:
    """Return forty jobs that crowd the uplinks of three clusters, one of them free of any limit."""
    jobs = lublin(40, 20, seed=2, load=1.5).with_communication(bandwidth=1e6, seed=1)
    clusters = [fs.Cluster(f"C{k}", (fs.NodeGroup(size),), up) for k, (size, up) in
                enumerate(((10, 2e6), (6, 5e6), (4, float("inf"))))]  # fmt: skip
    return fs.simulate(jobs, fs.Federation(tuple(clusters)), "easy")


KINDS = {
    "pareto": lambda ax=None: pareto.draw({"a": FRONT}, ax=ax),
    "attainment": lambda ax=None: attainment.draw({"a": RUNS}, ax=ax),
    "convergence": lambda ax=None: convergence.draw({"a": [([1, 5, 9], [9, 5, 4]), ([2, 9], [8, 3])]}, ax=ax),
    "surface": lambda ax=None: surface.draw(lambda x, y: x * y, ax=ax),
    "power": lambda ax=None: load.power(crossing(), ax=ax),
    "saturated": lambda ax=None: load.saturated(crossing(), ax=ax),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_comes_out_at_its_size(kind: str, comes_out_at_its_size: Callable[[Any], None]) -> None:
    """Each has the pixels of its figure's inches, is not blank, and labels its horizontal axis."""
    comes_out_at_its_size(KINDS[kind]())


@pytest.mark.parametrize("kind", KINDS)
def test_axes_given_are_axes_returned(kind: str) -> None:
    """A picture goes into the axes that it is given, and hands them back."""
    mine = Figure().add_subplot()
    assert KINDS[kind](mine) is mine


def test_no_pyplot(draws_without_pyplot: Callable[[str, str], None]) -> None:
    """Drawing imports no pyplot, whose figures would pile up."""
    draws_without_pyplot("pareto, convergence, surface, load, attainment", "pareto.draw({'a': [[1, 2]]})")


def test_a_front_is_drawn_without_what_it_beats() -> None:
    """The steps run through the points that none beats; the others stay visible, and the knee is marked."""
    ax = pareto.draw({"found": FRONT}, baselines={"easy": (4.0, 8.0)}, bound=[[0.5, 5.0], [4.0, 0.5]])
    lines = {line.get_label(): line for line in ax.lines}
    np.testing.assert_array_equal(np.column_stack(lines["found"].get_data()), FRONT[:4])
    assert lines["found"].get_drawstyle() == "steps-post"
    np.testing.assert_array_equal(np.ravel(lines["easy"].get_data()), (4.0, 8.0))
    faint = [line for line in ax.lines if line.get_alpha() is not None and len(line.get_xdata()) == len(FRONT)]
    assert len(faint) == 1
    assert [text.get_text() for text in ax.texts] == ["knee"]
    assert ax.texts[0].xy == pytest.approx((2.0, 4.0))
    assert ax.get_xlabel() == "makespan, s"
    assert ax.get_ylabel() == "energy, J"


def test_what_is_impossible_is_shaded() -> None:
    """The lower bound is drawn with its ends carried on, and all that is drawn stays in the picture."""
    ax = pareto.draw({"found": FRONT}, bound=[[4.0, 0.5], [0.5, 5.0]])
    line = next(line for line in ax.lines if line.get_label() == "lower bound")
    x, y = line.get_data()
    assert x[0] == x[1] == 0.5
    assert y[-1] == y[-2] == 0.5
    assert y[0] >= 9
    assert len(ax.patches) == 1
    assert ax.get_xlim()[0] < 0.5
    assert ax.get_ylim()[0] < 0.5


@pytest.mark.parametrize("points", [2, 3, 5, 9])
def test_nothing_possible_is_shaded_between_the_rows_of_a_bound(points: int) -> None:
    """Between rows of a convex bound the edge is never above it, and nearer to it than a staircase."""
    at = np.linspace(1.0, 6.0, 501)
    lines = np.array([[12.0, -6.0], [9.0, -3.0], [5.0, -1.0], [2.0, 0.0]])

    def bound(x: np.ndarray) -> np.ndarray:
        return (lines[:, :1] + lines[:, 1:] * x).max(axis=0)

    known = np.linspace(1.0, 6.0, points)
    rows = np.column_stack([known, bound(known)])
    edge = pareto.impossible_edge(rows[::-1])
    drawn = np.interp(at[1:], edge[:, 0], edge[:, 1])
    assert (drawn <= bound(at[1:]) + 1e-12).all()
    stairs = rows[np.searchsorted(known, at[1:] - 1e-12), 1]
    assert (drawn >= stairs - 1e-9).all()
    assert points < 5 or drawn.sum() > stairs.sum() + 1.0


def test_of_rows_that_are_not_convex_only_the_levels_follow() -> None:
    """A bound whose rows bend the other way is shaded as a staircase."""
    edge = pareto.impossible_edge(np.array([[1.0, 9.0], [2.0, 8.0], [3.0, 1.0]]))
    assert edge.tolist() == [[1.0, 9.0], [1.0, 8.0], [2.0, 8.0], [2.0, 1.0], [3.0, 1.0]]


def test_the_front_of_nothing_and_of_ties() -> None:
    """A single point is a front; equal points are one; no rows draw nothing."""
    assert pareto.front_of(np.array([[1.0, 1.0], [1.0, 1.0]])).tolist() == [[1.0, 1.0]]
    assert pareto.front_of(np.zeros((0, 2))).shape == (0, 2)
    assert len(pareto.draw({"none": np.zeros((0, 2))}).lines) == 1


@pytest.mark.parametrize("rows", [[[1, 2, 3]], [[np.nan, 1]]])
def test_wrong_points_are_refused(rows: list[list[float]]) -> None:
    """Points of another dimension, or that are not numbers, are errors that name the front."""
    with pytest.raises(ValueError, match="fronts\\['mine'\\]"):
        pareto.draw({"mine": rows})


def test_attainment_is_what_that_share_of_runs_attains() -> None:
    """A point on the surface of p percent is attained by at least that many runs; below it fewer do."""
    for percentile, needed in ((30.0, 1), (60.0, 2), (100.0, 3)):
        for point in attainment.surface(RUNS, percentile):
            assert sum(bool((run <= point).all(axis=1).any()) for run in RUNS) >= needed
            assert sum(bool((run <= point - 1e-6).all(axis=1).any()) for run in RUNS) < needed


def test_the_attainment_band_lies_around_its_line() -> None:
    """Each method has one band and one line, and says how many runs it stands for."""
    ax = attainment.draw({"a": RUNS, "b": [run + 1 for run in RUNS]})
    assert len(ax.patches) == 2
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["a (3 runs)", "b (3 runs)"]
    with pytest.raises(ValueError, match="percentiles"):
        attainment.draw({"a": RUNS}, percentiles=(50.0, 25.0, 75.0))
    with pytest.raises(ValueError, match="without a point"):
        attainment.draw({"a": [np.zeros((0, 2))]})


def test_convergence_shows_median_and_band() -> None:
    """At the end the median is that of the seeds' best values; before all have one, nothing is drawn."""
    runs = [([k + 1, 10 + k, 100], [9.0, 7.0 + k, 3.0 + k]) for k in range(3)]
    grid, values = convergence.on_one_grid("a", runs)
    assert grid[0] == 3
    assert grid[-1] == 100
    assert values[:, -1].tolist() == [3, 4, 5]
    assert (np.diff(values, axis=1) <= 0).all()
    ax = convergence.draw({"a": runs}, bound=2.0)
    median = next(line for line in ax.lines if line.get_label() == "a (3 seeds)")
    assert median.get_ydata()[-1] == 4
    assert ax.get_xscale() == "log"
    assert len([c for c in ax.collections if isinstance(c, PolyCollection)]) == 1
    assert any(line.get_label() == "lower bound" for line in ax.lines)


def test_convergence_in_seconds_from_zero() -> None:
    """What begins at 0 has a place on a logarithmic axis, and on a linear one begins there."""
    runs = [([0.0, 2.0], [5.0, 4.0]), ([0.0, 4.0], [6.0, 1.0])]
    assert convergence.on_one_grid("a", runs)[0][0] == 2
    grid, values = convergence.on_one_grid("a", runs, logarithmic=False)
    assert grid[0] == 0
    assert values[:, 0].tolist() == [5, 6]
    for bad in ([], [([1, 2], [1])], [([2, 1], [1, 2])]):
        with pytest.raises(ValueError, match="convergence"):
            convergence.draw({"a": bad})
    with pytest.raises(ValueError, match="quantiles"):
        convergence.draw({"a": runs}, quantiles=(0.8, 0.2))


def test_the_surface_asks_the_function_everywhere() -> None:
    """The function is asked for both ends of both inputs, in the right order; what is not finite is refused."""
    asked = []

    def plane(x: float, y: float) -> float:
        asked.append((x, y))
        return x + 2 * y

    ax = surface.draw(plane, points=5, inputs=("first", "second"), output="sum")
    assert len(asked) == 25
    assert {(-1.0, -1.0), (1.0, -1.0), (1.0, 1.0)} <= set(asked)
    assert ax.get_xlabel() == "first"
    assert [other.get_ylabel() for other in ax.figure.axes] == ["second", "sum"]
    surface.draw(lambda _x, _y: 0.5)
    with pytest.raises(ValueError, match="finite"):
        surface.draw(lambda _x, _y: np.nan)
    with pytest.raises(ValueError, match="points=1"):
        surface.draw(plane, points=1)


def test_the_power_layers_add_up_to_the_energy() -> None:
    """The stack's top, over time, is the schedule's energy; each cluster has its layer."""
    made = crossing()
    ax = load.power(made)
    assert [text.get_text() for text in ax.get_legend().get_texts()] == ["C0", "C1", "C2", "all nodes idle"]
    groups = made.federation.groups
    extra = np.array([group.busy_watts - group.idle_watts for group in groups])
    idle = sum(group.idle_watts * group.count for group in groups)
    times, drawn = load.steps_of(finished_runs(made), made.counts @ extra, made.t0, 1.0)
    begin = made.start.min() - made.t0
    assert ((drawn[:-1] + idle) * np.diff(times)).sum() + idle * begin == pytest.approx(made.energy)
    unit, _ = time_unit(made.makespan)
    top = max(path.vertices[:, 1].max() for layer in ax.collections for path in layer.get_paths())
    watts = 1e3 if "kW" in ax.get_ylabel() else 1.0
    assert top * watts == pytest.approx(drawn.max() + idle)
    assert ax.get_xlabel().endswith({3600.0: "hours", 86400.0: "days", 60.0: "minutes", 1.0: "seconds"}[unit])


def test_saturated_seconds_are_those_of_the_engine() -> None:
    """The bars of all finite uplinks add up to the metric; an unlimited uplink has no row."""
    made = crossing()
    rows = load.saturations(made)
    assert [row.cluster for row in rows] == ["C0", "C1"]
    assert sum(row.seconds for row in rows) == pytest.approx(made.metrics().saturated_seconds)
    assert made.metrics().saturated_seconds > 0
    ax = load.saturated(made)
    drawn = sum(path.get_extents().width for bars in ax.collections for path in bars.get_paths())
    assert drawn * time_unit(made.makespan)[0] == pytest.approx(made.metrics().saturated_seconds)
    assert load.saturated(fs.simulate(lublin(9, 4, seed=1), fs.Federation.of(2, 2))).get_title(loc="left")


def test_colours_differ_in_print() -> None:
    """No two neighbouring lines share colour, or dash and marker; the palette is Okabe and Ito's."""
    assert len(set(style.LINES)) == len(style.LINES) == len(style.MARKERS) == 8
    assert set(style.LINES) - {"#000000"} < set(COLOURS)
    assert style.label_of("makespan") == "makespan, s"
    assert style.label_of("my own") == "my own"
