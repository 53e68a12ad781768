"""The line that says how a search stands."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import TYPE_CHECKING

import fedsched as fs
from fedsched.optimize import progress
from fedsched.optimize.progress import show_progress, status

if TYPE_CHECKING:
    import pytest

FEW = ("fcfs", "easy")


def found_line(**options: object) -> str:
    """Return the last line of a small search."""
    lines: list[str] = []
    seconds = options.get("seconds")
    fs.optimize(
        fs.Workload.example().head(10),
        fs.Federation.example(),
        callback=lambda run: lines.append(status(run, seconds)),  # type: ignore[arg-type]
        baselines=FEW,
        **options,  # type: ignore[arg-type]
    )
    return lines[-1]


def test_a_front_says_best_gap_volume_speed_and_time_left() -> None:
    """Tests that everything a watcher wants is in the line."""
    line = found_line(evaluations=150)
    told = ("makespan ", "(gap ", "energy ", ", hypervolume ", "150 evaluations, ", " a second", "0 s left")
    assert [part for part in told if part not in line] == []


def test_one_objective_says_neither_plans_nor_volume() -> None:
    """Tests that a single objective's line is shorter, and that what is maximised keeps its sign."""
    line = found_line(evaluations=120, objectives="utilisation")
    assert line.startswith("utilisation 0.")
    assert "hypervolume" not in line


def test_nothing_is_shown_where_nobody_watches(capfd: pytest.CaptureFixture[str]) -> None:
    """Tests that a script's search writes nothing, and hands on the user's callback as it is."""
    calls: list[object] = []
    with show_progress(calls.append, None) as line:
        assert line.callback == calls.append
    fs.optimize(fs.Workload.example().head(6), fs.Federation.example(), evaluations=60, baselines=FEW)
    assert capfd.readouterr() == ("", "")


def test_a_notebook_without_widgets_stays_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a notebook whose cells cannot renew a line gets none, and one that can gets it."""
    calls: list[object] = []
    monkeypatch.setitem(sys.modules, "ipykernel", ModuleType("ipykernel"))
    monkeypatch.setattr(progress, "find_spec", lambda name: None)
    with show_progress(calls.append, None) as line:
        assert line.callback == calls.append
    monkeypatch.setattr(progress, "find_spec", lambda name: object())
    with show_progress(calls.append, None) as line:
        assert line.callback != calls.append


def test_a_shown_line_calls_the_user_too() -> None:
    """Tests that with progress shown, a user's callback is still called at every step."""
    steps: list[int] = []
    fs.optimize(
        fs.Workload.example().head(6),
        fs.Federation.example(),
        evaluations=130,
        progress=True,
        callback=lambda run: steps.append(run.steps),
        baselines=FEW,
    )
    assert steps
