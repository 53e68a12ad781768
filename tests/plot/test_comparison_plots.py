"""Pictures of comparisons: critical-difference diagrams and performance profiles."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from matplotlib.figure import Figure

from fedsched.plot import profile, ranks

if TYPE_CHECKING:
    from collections.abc import Callable

DEMSAR = {"C4.5": 3.143, "C4.5+m": 2.000, "C4.5+cf": 2.893, "C4.5+m+cf": 1.964}
COSTS = {"a": [1.0, 2.0, 4.0, 0.0], "b": [2.0, 2.0, 1.0, 3.0], "c": [np.inf, np.nan, 2.0, 0.0]}

KINDS = {
    "ranks": lambda ax=None: ranks.draw(DEMSAR, difference=1.25, ax=ax),
    "profile": lambda ax=None: profile.draw(COSTS, value="makespan", ax=ax),
}


@pytest.mark.parametrize("kind", KINDS)
def test_every_picture_comes_out_at_its_size(kind: str, comes_out_at_its_size: Callable[[Any], None]) -> None:
    """Tests that each has the pixels of its figure's inches, is not blank, and labels its horizontal axis."""
    comes_out_at_its_size(KINDS[kind]())


@pytest.mark.parametrize("kind", KINDS)
def test_axes_given_are_axes_returned(kind: str) -> None:
    """Tests that a picture goes into the axes that it is given, and hands them back."""
    mine = Figure().add_subplot()
    assert KINDS[kind](mine) is mine


def test_no_pyplot(draws_without_pyplot: Callable[[str, str], None]) -> None:
    """Tests that drawing imports no pyplot, and that importing draws in no matplotlib."""
    draws_without_pyplot("profile, ranks", "profile.draw({'a': [1.0]})")


@pytest.mark.parametrize(
    ("positions", "difference", "bars"),
    [
        ([1.0, 2.0, 3.0, 4.0], 0.5, []),
        ([1.0, 2.0, 3.0, 4.0], 1.0, [(0, 1), (1, 2), (2, 3)]),
        ([1.0, 1.5, 2.0, 4.0], 1.0, [(0, 2)]),
        ([1.0, 1.5, 2.4, 2.5], 1.0, [(0, 1), (1, 3)]),
        ([1.964, 2.0, 2.893, 3.143], 1.25, [(0, 3)]),
        ([1.964, 2.0, 2.893, 3.143], 1.12, [(0, 2), (2, 3)]),
    ],
)
def test_a_bar_covers_what_is_not_told_apart(
    positions: list[float], difference: float, bars: list[tuple[int, int]]
) -> None:
    """Tests that bars are the longest stretches within the critical difference, none inside another."""
    found = ranks.groups(positions, difference)
    assert found == bars


def bars_of(ax: Any) -> list[tuple[float, float]]:
    """Return where the drawn bars begin and end."""
    return [tuple(line.get_xdata()) for line in ax.lines if line.get_label() == "not told apart"]


def test_the_diagram_shows_ranks_names_and_bars() -> None:
    """Tests that every method stands at its rank with its name, the best at the left on top, and bars join."""
    ax = ranks.draw(DEMSAR, difference=1.0)
    texts = {text.get_text(): text for text in ax.texts}
    assert "critical difference 1.00 (α = 0.05)" in texts
    best, worst = texts["C4.5+m+cf  (1.96)"], texts["(3.14)  C4.5"]
    assert best.get_ha() == "right"
    assert worst.get_ha() == "left"
    assert texts["C4.5+m  (2.00)"].get_position()[1] > best.get_position()[1]
    marks = sorted(float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o")
    assert marks == sorted(DEMSAR.values())
    assert bars_of(ax) == [pytest.approx((1.944, 2.913)), pytest.approx((2.873, 3.163))]


def test_a_difference_beyond_all_ranks_is_drawn_as_long_as_they_are() -> None:
    """Tests that the length of a critical difference that no two ranks can have stays in the picture and says so."""
    ax = ranks.draw({"a": 1.2, "b": 1.8}, difference=5.0)
    assert any("more than there is" in text.get_text() for text in ax.texts)
    assert max(float(np.max(line.get_xdata())) for line in ax.lines) <= 2 * 1.04
    assert len(bars_of(ax)) == 1
    assert not bars_of(ranks.draw({"a": 1.0, "b": 2.0}, difference=0.5))


@pytest.mark.parametrize(
    ("given", "difference", "message"),
    [
        ({"a": 1.0}, 1.0, "at least 2"),
        ({"a": 0.5, "b": 2.0}, 1.0, "between 1 and 2"),
        ({"a": np.nan, "b": 2.0}, 1.0, "between 1 and 2"),
        ({"a": 1.0, "b": 2.0}, np.inf, "difference=inf"),
        ({"a": 1.0, "b": 2.0}, 0.0, "difference=0"),
    ],
)
def test_wrong_ranks_are_refused(given: dict[str, float], difference: float, message: str) -> None:
    """Tests that too few methods, impossible ranks and impossible differences are errors."""
    with pytest.raises(ValueError, match=message):
        ranks.draw(given, difference=difference)


def test_factors_are_over_the_best_of_each_problem() -> None:
    """Tests the ratios by hand: a zero is the best there can be, what was not solved has no factor."""
    found = ratios = profile.ratios(COSTS)
    assert list(found) == ["a", "b", "c"]
    np.testing.assert_array_equal(ratios["a"], [1, 1, 4, 1])
    np.testing.assert_array_equal(ratios["b"], [2, 1, 1, np.inf])
    np.testing.assert_array_equal(ratios["c"], [np.inf, np.inf, 2, 1])


def test_a_problem_that_nobody_solved_counts_against_all() -> None:
    """Tests that where every cost is infinite no method is the best."""
    found = profile.ratios({"a": [1.0, np.inf], "b": [2.0, np.nan]})
    assert [values[1] for values in found.values()] == [np.inf, np.inf]
    at, share = profile.steps(found["a"])
    assert (at.tolist(), share.tolist()) == ([1.0], [0.5])


def test_a_profile_is_the_share_within_the_factor() -> None:
    """Tests the steps: the height at 1 is how often the method is the best, the last one how often it ends at all."""
    at, share = profile.steps(np.array([1.0, 3.0, 1.5, np.inf]))
    assert at.tolist() == [1.0, 1.5, 3.0]
    assert share.tolist() == [0.25, 0.5, 0.75]
    at, share = profile.steps(np.array([2.0]))
    assert (at.tolist(), share.tolist()) == ([1.0, 2.0], [0.0, 1.0])


def test_the_profile_is_drawn_to_the_end_of_the_axis() -> None:
    """Tests that curves reach the right edge at their last height, and a wide range is drawn by powers of ten."""
    ax = profile.draw(COSTS)
    lines = {line.get_label(): line for line in ax.lines}
    assert lines["a"].get_ydata()[-1] == 1.0
    assert lines["c"].get_ydata()[-1] == 0.5
    assert {line.get_xdata()[-1] for line in ax.lines} == {ax.get_xlim()[1]}
    assert ax.get_xscale() == "linear"
    assert ax.get_ylabel() == "share of 4 problems"
    assert profile.draw({"a": [1.0, 50.0], "b": [2.0, 1.0]}).get_xscale() == "log"
    cut = profile.draw(COSTS, most=1.5)
    assert {line.get_label(): line.get_ydata()[-1] for line in cut.lines} == {"a": 0.75, "b": 0.5, "c": 0.25}


@pytest.mark.parametrize(
    ("costs", "message"),
    [
        ({}, "no methods"),
        ({"a": [1.0], "b": [1.0, 2.0]}, "on each problem"),
        ({"a": []}, "on each problem"),
        ({"a": [-1.0]}, "below 0"),
    ],
)
def test_wrong_costs_are_refused(costs: dict[str, list[float]], message: str) -> None:
    """Tests that missing methods, missing costs and negative ones are errors."""
    with pytest.raises(ValueError, match=message):
        profile.draw(costs)
    with pytest.raises(ValueError, match="most=1"):
        profile.draw(COSTS, most=1.0)


def test_methods_that_are_level_have_a_plain_axis() -> None:
    """Tests that factors of which none is above the best's are drawn on an axis whose numbers can be read."""
    axes = profile.draw({"a": [1.0, 2.0], "b": [1.0, 2.0]})
    axes.figure.canvas.draw()
    assert axes.get_xlim() == pytest.approx((1.0, 1.105))
    assert all(len(label.get_text()) <= 4 for label in axes.get_xticklabels())
