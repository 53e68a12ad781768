"""`fedsched optimize`: what is checked before the search begins, what is said of its plans, and what outlives it."""

from __future__ import annotations

import importlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from fedsched.optimize.result import Result

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

SMALL = ("optimize", "sample", "--head", 10, "--nodes", 128, "--evaluations", 20, "--method", "random")


@pytest.mark.parametrize("objectives", [(), ("--objective", "makespan")])
def test_a_plan_that_cannot_be_chosen_is_refused_before_the_search(
    objectives: tuple[str, ...], call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a slip in --choose costs no search, and offers the objectives and the knee."""

    def never(*_: object, **__: object) -> None:
        raise AssertionError("the search began")

    monkeypatch.setattr(importlib.import_module("fedsched.optimize"), "optimize", never)
    status, out, err = call(*SMALL, *objectives, "--choose", "makspan")
    assert (status, out) == (2, "")
    assert "'makspan'. Did you mean 'makespan'? Known: " in err
    assert "knee" in err


def test_the_result_is_saved_before_anything_is_made_of_it(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that --save is written although the plan of the result cannot be."""

    def full(*_: object) -> None:
        raise OSError("the disk is full")

    monkeypatch.setattr("fedsched.model.schedule.schedule.Schedule.to_csv", full)
    saved = tmp_path / "result.json"
    assert call(*SMALL, "--out", tmp_path / "plan.csv", "--save", saved)[0] == 2
    assert Result.load(saved).evaluations == 20


def test_each_file_is_named_with_the_plan_in_it(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a line for each file says which plan of the front it shows, and what that plan is worth."""
    monkeypatch.chdir(tmp_path)
    search = ("optimize", "sample", "--head", 30, "--federation", "example", "--evaluations", 300)
    status, out, _ = call(*search, "--out", "o.csv", "--gantt", "o.svg", "--save", "r.json")
    front = Result.load("r.json").front
    knee = front.knee_index()
    told = [line for line in out.splitlines() if line.startswith(("o.csv: ", "o.svg: ", "r.json: "))]
    assert (status, len(front) > 1, len(told), told[2]) == (0, True, 3, "r.json: the whole result")
    assert told[0].startswith(f"o.csv: the knee of the front (--choose), plan {knee + 1} of {len(front)}: makespan ")
    assert f"energy {front.values[knee, 1]:,.0f} J" in told[0]
    assert told[1].removeprefix("o.svg: ") == told[0].removeprefix("o.csv: ")
    assert "o.csv: the plan with the best energy (--choose)" in call(*search, "--out", "o.csv", "--choose", "energy")[1]
    assert "o.csv: the plan found: makespan" in call(*search, "--out", "o.csv", "--objective", "makespan")[1]


SWF = """; MaxNodes: 4
1 0 0 100 4 -1 -1 4 100 -1 1 1 1 -1 -1 -1 -1 -1
2 5 0 50 2 -1 -1 2 60 -1 1 1 1 -1 -1 -1 1 20
3 10 30 -1 3 -1 -1 3 90 -1 5 1 1 -1 -1 -1 -1 -1
4 15 0 70 2 -1 -1 2 90 -1 1 2 1 -1 -1 -1 -1 -1
"""


@pytest.mark.parametrize("method", ["memetic", "pso-ea"])
def test_jobs_that_leave_follow_others_or_have_a_reservation_are_planned(
    method: str, call: Callable[..., Any], tmp_path: Path
) -> None:
    """Tests that the options for such jobs go with a search, in its table and in JSON, and with a comparison."""
    log = tmp_path / "log.swf"
    log.write_text(SWF, encoding="utf-8")
    search = ("optimize", log, "--method", method, "--evaluations", 60, "--submits", "keep")
    status, said, _ = call(*search, "--cancelled", "keep")
    assert status == 0
    assert "planned without 1 cancellation to come; figures are of what came" in said
    assert "(without 1 job)" in said
    told = json.loads(call(*search, "--cancelled", "keep", "--json")[1])
    assert told["without_end"] == [1] * len(told["front"])
    status, said, _ = call(*search, "--feedback", "swf")
    assert status == 0
    assert "jobs that follow others are submitted after these" in said
    methods = ("--method", method, "--method", "easy", "--method", "mct", "--evaluations", 30)
    status, said, _ = call("compare", log, *methods, "--cancelled", "keep")
    assert status == 0
    assert "figures are of the jobs that ran" in said
    jobs, kept = tmp_path / "jobs.csv", tmp_path / "kept.csv"
    jobs.write_text("submit,tasks,runtime,label.reservation\n0,4,20,\n0,2,5,course\n0,1,9,\n", encoding="utf-8")
    kept.write_text("cluster,begin,end,nodes,kind,name\ncluster,30,40,2 of all,reservation,course\n", encoding="utf-8")
    status, said, _ = call(*search[:1], jobs, *search[2:], "--nodes", 4, "--calendar", kept, "--objective", "flow")
    assert status == 0
    assert "planned without" not in said
    status, said, _ = call("simulate", log, "--feedback", "swf", "--policy", "rolling", "--evaluations", 30)
    assert status == 0
