"""The verdict of a comparison, and its runs as a table."""

from __future__ import annotations

import html
import sys
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedsched.comparison import Comparison

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def level(methods: dict[str, float], instances: int) -> dict[tuple[str, str], list[float | None]]:
    """Return runs in which each method has the same value on every instance."""
    return {(f"i{k}", name): [value + k] for k in range(instances) for name, value in methods.items()}


def test_a_winner_that_a_test_shows(makespans: Callable[..., Comparison]) -> None:
    """Tests that with ten instances the best is shown to be better than every other method."""
    ranked, tested = makespans(level({"a": 1.0, "b": 2.0, "c": 3.0}, 10)).summary().splitlines()
    assert ranked == "a ranks first of 3 methods on 10 instances by makespan: average rank 1.00, then b with 2.00."
    how = "(Wilcoxon over 10 instances, Holm's correction over 3 pairs, alpha = 0.05)"
    assert tested == f"A test shows that a is better than every other method {how}."


def test_a_winner_over_some(makespans: Callable[..., Comparison]) -> None:
    """Tests that only methods that a test shows to be behind are named as such."""
    values = level({"a": 1.0, "c": 30.0}, 10)
    values |= {(f"i{k}", "b"): [1.0 + k + (0.2 if k % 2 else -0.1)] for k in range(10)}
    tested = makespans(values).summary().splitlines()[1]
    assert tested.startswith("A test shows that a is better than c, but not than b (") or tested.startswith(
        "A test shows that b is better than c, but not than a (")  # fmt: skip


def test_a_verdict_of_one_method_against_the_others(makespans: Callable[..., Comparison], tmp_path: Path) -> None:
    """Tests that `against` tests fewer pairs, in the summary and on the page, and says both directions."""
    found = makespans(level({"a": 1.0, "b": 2.0, "c": 3.0, "d": 2.0}, 10))
    ranked, tested = found.summary(against="b").splitlines()
    assert ranked.startswith("a ranks first of 4 methods")
    how = "(Wilcoxon over 10 instances, Holm's correction over 3 pairs, alpha = 0.05)"
    assert tested == f"A test shows that b is better than c and worse than a; none shows a difference to d {how}."
    assert "is worse than every other method (" in found.summary(against="c")
    assert "No test shows that" not in found.summary(against="a")
    equal = makespans(level({"a": 1.0, "b": 1.0}, 10)).summary(against="b")
    assert "No test shows that b differs from another method (" in equal
    found.report(tmp_path / "page.html", against="b")
    page = html.unescape((tmp_path / "page.html").read_text(encoding="utf-8"))
    assert tested in page
    assert "Holm's correction over 3 pairs" in page
    with pytest.raises(ValueError, match="Unknown method 'e'"):
        found.summary(against="e")


def test_too_few_instances_show_nothing(makespans: Callable[..., Comparison]) -> None:
    """Tests that a first rank without a test is said to be one, with the number of instances that a test needs."""
    found = makespans({("x", "a"): [1.0, 2.0], ("x", "b"): [2.0, None]})
    ranked, tested, failed, why = found.summary().splitlines()
    assert ranked.startswith("a ranks first of 2 methods on 1 instance by makespan")
    assert tested.startswith("No test shows a difference: one instance, and seeds are repeats; Wilcoxon's test")
    assert failed == "1 run failed and counts as worst:"
    assert why == "failed: the run of b on x, seed 1: ValueError: it broke"
    assert why in str(found)


def test_equal_methods_and_one_alone(makespans: Callable[..., Comparison]) -> None:
    """Tests that equal ranks have no winner, that equal methods are not told apart, and that one has nobody to beat."""
    alike, tested = makespans(level({"a": 1.0, "b": 1.0}, 10)).summary().splitlines()
    assert alike == "All 2 methods rank alike on 10 instances by makespan."
    assert tested.startswith("No test shows that a is better than another method (")
    both = makespans(level({"a": 1.0, "b": 1.0, "c": 2.0}, 3)).summary()
    assert both.startswith("a and b rank first together of 3 methods on 3 instances by makespan: average rank 1.50")
    assert makespans({("x", "a"): [1.0]}).summary() == "a is the only method on 1 instance by makespan."
    assert Comparison(()).summary() == Comparison(())._repr_html_() == "a comparison without runs"
    with pytest.raises(ValueError, match="alpha=2"):
        makespans({("x", "a"): [1.0]}).summary(alpha=2.0)


def test_a_row_for_each_run(makespans: Callable[..., Comparison], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the frame has the runs in order with their values, with and without pandas."""
    found = makespans({("x", "a"): [1.0, None], ("y", "a"): [3.0]})
    frame = found.to_frame()
    assert frame["makespan"].tolist()[::2] == [1.0, 3.0]
    assert np.isnan(frame["makespan"][1])
    assert frame["error"].tolist() == ["", "ValueError: it broke", ""]
    assert frame["seed"].tolist() == [0, 1, 0]
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = found.to_frame()
    assert list(plain) == list(frame.columns)
    assert plain["instance"].tolist() == ["x", "x", "y"]


def test_the_picture_is_a_diagram_or_a_profile(makespans: Callable[..., Comparison]) -> None:
    """Tests that ranks are drawn if they can be tested, else the profile of the one instance."""
    several = makespans(level({"a": 1.0, "b": 2.0}, 3)).plot()
    assert "share of" not in several.get_ylabel()
    assert makespans(level({"a": 1.0, "b": 2.0}, 1)).plot().get_ylabel() == "share of 1 problems"
