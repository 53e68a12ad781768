"""The summaries, tables and pictures of results and fronts, by hand on results made by hand."""

from __future__ import annotations

import sys
from dataclasses import replace

import numpy as np
import pytest

import fedsched as fs
from fedsched.optimize.result import Baseline, Front, PlannedQueue, Result, Settings


def result(
    values: list[list[float]], objectives: tuple[str, ...], *, easy: tuple[float, ...], bounds: tuple[float, ...]
) -> Result:
    """Return the result of a search with these plans, one baseline and these bounds."""
    jobs = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], name="one")
    return Result(
        workload=jobs, federation=fs.Federation.of(2), settings=Settings(), method="ga", seed=7, objectives=objectives,
        weights=(1.0,) * len(objectives), front=Front(objectives, np.array(values), (PlannedQueue(),) * len(values)),
        baselines=(Baseline("fcfs", tuple(2 * value for value in easy)), Baseline("easy", easy)),
        lower_bounds=dict(zip(objectives, bounds, strict=True)), bound_front=np.zeros((0, 2)), energy_penalty=np.nan,
        history=(), evaluations=1000, seconds=12.5, stop_reason="1000 evaluations", versions={},
    )  # fmt: skip


def test_the_verdict_names_policy_and_bound() -> None:
    """Tests the whole summary of one objective, with its gain over EASY and its gap to the bound."""
    found = result([[107_482.0]], ("makespan",), easy=(135_880.0,), bounds=(96_831.0,))
    assert found.summary().splitlines() == [
        "Best plan: makespan 107,482 s (29.86 h), 20.9 % below EASY, and at most 11.0 % above the best possible.",
        "The ga search simulated 1,000 plans in 12.5 s with seed 7 (1000 evaluations).",
        f"Reading: {found.reading}.",
    ]


@pytest.mark.parametrize(
    ("value", "bound", "said"),
    [
        (90.0, 90.0, "Best plan: makespan 90 s, 10.0 % below EASY, and the best possible."),
        (100.0, np.nan, "Best plan: makespan 100 s, as much as EASY; no bound is proven."),
        (110.0, 100.0, "Best plan: makespan 110 s, 10.0 % above EASY, and at most 10.0 % above the best possible."),
    ],
)
def test_equal_worse_and_unproven(value: float, bound: float, said: str) -> None:
    """Tests that a plan that is optimal, no better than EASY, worse, or without a bound is said to be so."""
    found = result([[value]], ("makespan",), easy=(100.0,), bounds=(bound,))
    assert found.summary().splitlines()[0] == said


def test_a_bound_of_no_known_name_is_refused() -> None:
    """Tests that a metric without a bound is NaN, and a mistyped one is an error that offers the nearest name."""
    found = result([[0.6]], ("utilisation",), easy=(0.5,), bounds=(0.75,))
    assert np.isnan(found.bound("max_wait"))
    with pytest.raises(fs.errors.UnknownNameError, match="Did you mean 'makespan'"):
        found.bound("makespam")


def test_more_is_better_for_utilisation() -> None:
    """Tests that a maximised objective is above EASY where it is better, and below the bound."""
    found = result([[0.6]], ("utilisation",), easy=(0.5,), bounds=(0.75,))
    said = "Best plan: utilisation 60.0 %, 20.0 % above EASY, and at most 20.0 % below the best possible."
    assert found.summary().splitlines()[0] == said


def test_several_objectives_have_a_line_each() -> None:
    """Tests that two objectives have a line each, a third is counted, and that five lines are enough."""
    found = result([[10.0, 9.0, 1.0], [12.0, 8.0, 2.0]], ("makespan", "mean_wait", "flow"), easy=(20.0, 16.0, 4.0),
                   bounds=(np.nan, np.nan, np.nan))  # fmt: skip
    lines = found.summary().splitlines()
    assert lines[:2] == ["Best makespan: 10 s, 50.0 % below EASY; no bound is proven.",
                         "Best mean wait: 8 s, 50.0 % below EASY; no bound is proven."]  # fmt: skip
    assert lines[2].startswith("2 plans to choose from")
    assert lines[2].endswith("; the front has 1 further objective.")
    assert len(lines) == 5


def test_the_front_says_ranges_and_its_knee() -> None:
    """Tests the summary, the HTML and the table of a front with a knee in its middle."""
    front = result([[10.0, 9.0], [11.0, 5.0], [20.0, 4.0]], ("makespan", "flow"), easy=(1, 1), bounds=(1, 1)).front
    assert front.summary().splitlines() == [
        "3 plans, each better than any other in some objective.",
        "makespan from 10 s to 20 s; flow from 4 s to 9 s.",
        "Knee, the balanced plan: plan 2 with makespan 11 s, flow 5 s.",
    ]
    assert str(front) == front.summary()
    assert "<th>makespan s</th>" in front._repr_html_()
    frame = front.to_frame()
    assert frame["flow"].tolist() == [9.0, 5.0, 4.0]
    assert frame["knee"].tolist() == [False, True, False]
    told = replace(front, planned=front.values + 1.0, missing=(0, 1, 0)).to_frame()
    assert told["planned:flow"].tolist() == [10.0, 6.0, 5.0]
    assert told["missing"].tolist() == [0, 1, 0]


def test_a_row_for_each_plan_policy_and_bound(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the frame of a result has plans, baselines and bounds, with and without pandas."""
    found = result([[10.0, 9.0], [12.0, 8.0]], ("makespan", "flow"), easy=(20.0, 18.0), bounds=(5.0, np.nan))
    frame = found.to_frame()
    assert frame["kind"].tolist() == ["plan", "plan", "baseline", "baseline", "bound"]
    assert frame["name"].tolist() == ["plan 1", "plan 2", "fcfs", "easy", "lower bound"]
    assert frame["makespan"].tolist() == [10.0, 12.0, 40.0, 20.0, 5.0]
    assert frame.attrs["reading"] == found.reading
    monkeypatch.setitem(sys.modules, "pandas", None)
    plain = found.to_frame()
    assert list(plain) == list(frame.columns)
    assert list(found.front.to_frame()) == ["plan", "makespan", "flow", "policy", "knee"]


@pytest.mark.parametrize(("objectives", "lines"), [(("makespan",), 2), (("makespan", "flow", "mean_wait"), 2)])
def test_a_front_of_other_than_two_objectives_is_drawn_as_lines(objectives: tuple[str, ...], lines: int) -> None:
    """Tests that each plan is a line across the objectives, and that the knee's is black."""
    values = np.array([[1.0, 3.0, 2.0], [2.0, 1.0, 3.0]])[:, : len(objectives)]
    front = Front(objectives, values, (PlannedQueue(),) * 2)
    ax = front.plot()
    assert len(ax.lines) == lines
    assert [line.get_color() for line in ax.lines].count("black") == 1
    assert len(ax.get_xticks()) == len(objectives)


def test_a_result_is_drawn_on_given_axes() -> None:
    """Tests that axes that are given come back with the front, and that a front of two objectives is a staircase."""
    found = result([[10.0, 9.0], [12.0, 8.0]], ("makespan", "flow"), easy=(20.0, 18.0), bounds=(5.0, 1.0))
    ax = found.front.plot()
    assert ax.lines[0].get_drawstyle() == "steps-post"
    before = len(ax.lines)
    assert found.plot(ax) is ax
    assert len(ax.lines) > before
