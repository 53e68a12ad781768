"""Ctrl-C at any moment of a search: what was found until then is kept."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.engine.run.simulation import Simulation
from fedsched.optimize.baselines import baseline_schedule
from fedsched.search.methods.methods import METHODS
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.run import INTERRUPTED, Run, drive
from fedsched.search.run.stopping import MaxEvaluations

if TYPE_CHECKING:
    from collections.abc import Callable

JOBS, MACHINE = fs.Workload.example().head(30), fs.Federation.example()


@pytest.fixture
def problem() -> SearchProblem:
    """Return a small problem."""
    return SearchProblem(JOBS, MACHINE, Objectives(("makespan", "energy")))


def test_part_of_a_run_is_no_baseline(problem: SearchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C within a baseline ends the call, for half a schedule would look like a short one."""

    def interrupted(self: Simulation, **_: object) -> Simulation:
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulation, "advance", interrupted)
    with pytest.raises(KeyboardInterrupt):
        baseline_schedule(problem, "fcfs")


@pytest.mark.parametrize("evaluations", [130, 131, 400])
def test_ctrl_c_at_the_last_evaluation_loses_nothing(problem: SearchProblem, evaluations: int) -> None:
    """Tests that an interrupt when the budget is spent, within a batch too, ends the search like any other."""

    def late(run: Run) -> None:
        if run.left == 0:
            raise KeyboardInterrupt

    run = Run(problem, 1, [MaxEvaluations(evaluations)], np.ones(2), np.zeros((0, problem.layout.length), np.int64),
              np.zeros(2), callback=late)  # fmt: skip
    assert drive(run, METHODS["moga"].make(run)) == INTERRUPTED
    assert run.evaluations == evaluations
    found = fs.optimize(JOBS, MACHINE, evaluations=evaluations, baselines=("fcfs",), method="moga", callback=late)
    assert (found.stop_reason, found.evaluations) == (INTERRUPTED, evaluations)


@pytest.mark.parametrize("struck", ["result_of", "_method"])
def test_ctrl_c_beside_the_search_loses_nothing(struck: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an interrupt while a result is put together, or a method is made, returns what there is."""
    # `fedsched.optimize` is the function
    module = sys.modules[fs.optimize.__module__ if struck == "result_of" else "fedsched.optimize.searching"]
    usual: Callable[..., Any] = getattr(module, struck)
    calls = []

    def strike(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 1:
            raise KeyboardInterrupt
        return usual(*given)

    monkeypatch.setattr(module, struck, strike)
    found = fs.optimize(JOBS, MACHINE, evaluations=130, baselines=("fcfs",), method="moga")
    assert found.stop_reason == INTERRUPTED
    assert found.evaluations == (130 if struck == "result_of" else 0)
    found.best().verify()


def test_ctrl_c_between_packages_keeps_those_that_ended(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that an interrupt after a package's search returns the schedule until then, marked as interrupted."""
    from fedsched.optimize import packages

    calls = []
    usual = packages._running_at

    def strike(*given: Any) -> Any:
        calls.append(1)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return usual(*given)

    monkeypatch.setattr(packages, "_running_at", strike)
    found = fs.optimize(
        JOBS, MACHINE, objectives="makespan", evaluations=130, package=8, baselines=("fcfs",), method="ga"
    )
    assert found.stop_reason == INTERRUPTED
    assert int((~np.isnan(found.best().start)).sum()) == 16
    assert found.best().notes == ("interrupted in package 2 of 4",)
