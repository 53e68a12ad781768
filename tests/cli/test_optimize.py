"""`fedsched optimize`: what is checked before the search begins, and what outlives it."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import pytest

from fedsched.result import Result

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

    monkeypatch.setattr("fedsched.model.schedule.Schedule.to_csv", full)
    saved = tmp_path / "result.json"
    assert call(*SMALL, "--out", tmp_path / "plan.csv", "--save", saved)[0] == 2
    assert Result.load(saved).evaluations == 20
