"""Signals that nobody knows beforehand: plans are made by forecasts, and figures are of what came [48, 65]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.compare import Instance
from fedsched.core.errors import FederationError

if TYPE_CHECKING:
    from pathlib import Path

NODE = fs.NodeGroup(2, 1.0, 100.0, 0.0)
NORTH, SOUTH = fs.Cluster("north", (NODE,)), fs.Cluster("south", (NODE,))
JOBS = fs.Workload(submit=[0.0, 0.0], tasks=[1, 2], runtime=[3600.0, 3600.0])
TRUE = fs.Signal((0.0, 1800.0), (10.0, 30.0), "g/kWh", "north", beyond="last")
GUESS = replace(TRUE, values=(500.0, 600.0))
OTHER = fs.Signal((0.0,), (100.0,), "g/kWh", "south")


def planned(*signals: fs.Signal, **words: Any) -> fs.Result:
    """Return what is found for the least carbon."""
    machine = fs.Federation((NORTH, SOUTH), signals=signals)
    words = {"objectives": "carbon", "method": "ga", "evaluations": 300, "seed": 1} | words
    return fs.optimize(JOBS, machine, progress=False, **words)


def test_plans_go_by_the_forecast_and_figures_are_of_what_came() -> None:
    """The north is cleaner, but its forecast is not: all jobs run in the south, and cost what that costs."""
    knowing, guessing = planned(TRUE, OTHER), planned(replace(TRUE, forecast=GUESS), OTHER)
    north, south = (2 * 20 + 1 * 30) * 0.1 / 1000, 3 * 0.1 * 100 / 1000  # kg: in the north one after the other
    assert knowing.value() == pytest.approx(north)
    assert guessing.value() == pytest.approx(south)
    assert guessing.best().metrics().carbon == guessing.value()
    # What the forecast makes of a plan in the north is what was planned there: so is what it makes of this one.
    assert guessing.front.planned.tolist() == [[pytest.approx(south)]]
    assert guessing.federation.signals[0].forecast == GUESS
    assert guessing.foresight == "planned by forecasts of the carbon signal of north; figures are of what came"
    assert guessing.foresight in str(guessing)
    guessed, known = ({one.policy: one.values for one in result.baselines} for result in (guessing, knowing))
    assert guessed == known
    assert all(one.planned[0] != one.values[0] for one in guessing.baselines if one.values[0] < south)


def test_a_forecast_that_comes_true_is_as_good_as_knowing() -> None:
    """The same plans come of a signal that is its own forecast, and the bound is of the signal in either case."""
    knowing, guessing = planned(TRUE, OTHER), planned(replace(TRUE, forecast=TRUE), OTHER)
    wrong = planned(replace(TRUE, forecast=GUESS), OTHER)
    assert guessing.front.values.tolist() == guessing.front.planned.tolist() == knowing.front.values.tolist()
    assert wrong.bound() == guessing.bound() == knowing.bound()
    assert wrong.bound() <= knowing.value()


def test_results_say_what_nobody_can_know() -> None:
    """A perfect forecast is an assumption, of signals that change and are sought; of a forecast nothing is assumed."""
    said = "a perfect forecast of the carbon signal of north"
    assert said in planned(TRUE, OTHER).assumed
    assert said in str(planned(TRUE, OTHER))
    assert not any("forecast" in one for one in planned(replace(TRUE, forecast=GUESS), OTHER).assumed)
    by_time = planned(TRUE, OTHER, objectives="makespan")
    assert not any("forecast" in one for one in by_time.assumed)
    assert planned(replace(TRUE, forecast=GUESS), OTHER, objectives="makespan").foresight == ""
    machine = fs.Federation((NORTH, SOUTH), signals=(replace(TRUE, forecast=GUESS), OTHER))
    (line,) = [one for one in Instance("x", JOBS, machine, ("carbon",)).facts if "forecast" in one]
    assert line == "searches planned by forecasts of the carbon signal of north; figures are of what came"


def test_packages_are_planned_by_forecasts_too() -> None:
    """Each package goes by the forecast; the schedule is measured by the signal."""
    whole = planned(replace(TRUE, forecast=GUESS), OTHER, package=1)
    assert whole.value() == pytest.approx(3 * 0.1 * 100 / 1000)
    assert whole.best().federation.signals[0].forecast == GUESS


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ({"forecast": (1.0, 2.0)}, r"forecast=\(1\.0, 2\.0\) must be a Signal, or None"),
        ({"forecast": replace(GUESS, unit="kg/MWh")}, "its forecast has unit 'kg/MWh', but the signal has 'g/kWh'"),
        ({"forecast": OTHER}, "its forecast has cluster 'south', but the signal has 'north'"),
        ({"forecast": replace(GUESS, forecast=GUESS)}, "its forecast has a forecast"),
        ({"unit": "kW", "forecast": replace(GUESS, unit="kW")}, "caps are always known in advance"),
    ],
)
def test_wrong_forecasts_are_refused(words: dict[str, Any], message: str) -> None:
    """An error says whose, and why."""
    with pytest.raises(FederationError, match=message):
        replace(TRUE, **words)


def test_files_keep_forecasts(tmp_path: Path) -> None:
    """A federation's file and a result's come back as they were; a wrong table is named."""
    result = planned(replace(TRUE, forecast=GUESS), OTHER)
    result.federation.write(tmp_path / "machine.toml")
    assert fs.Federation.read(tmp_path / "machine.toml") == result.federation
    result.save(tmp_path / "result.json")
    back = fs.Result.load(tmp_path / "result.json")
    assert back.federation == result.federation
    assert np.array_equal(back.front.planned, result.front.planned)
    text = (tmp_path / "machine.toml").read_text(encoding="utf-8").replace("forecast = {times", "forecast = {hours")
    (tmp_path / "machine.toml").write_text(text, encoding="utf-8")
    with pytest.raises(FederationError, match=r"signal 1, forecast, signal 1: unknown key 'hours'"):
        fs.Federation.read(tmp_path / "machine.toml")
