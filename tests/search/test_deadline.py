"""Deadlines: plans in which all jobs end in time are better than all others, and use cheap hours until then [72]."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import InfeasibleError, TraceError
from fedsched.model.schedule.metrics import Column
from fedsched.search.problem.deadline import refuse_late
from fedsched.search.problem.objectives import LATE, Objectives

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3600.0
PRICES = fs.Signal(
    (0.0, HOUR, 2 * HOUR, 3 * HOUR), (100.0, 60.0, 10.0, 1.0), "EUR/MWh", until=24 * HOUR, beyond="repeat"
)
SITE = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2, 1.0, 1000.0, 0.0),)),), signals=(PRICES,))
TWO = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[HOUR, HOUR])
ASKED: dict[str, Any] = {"objectives": "cost", "evaluations": 300, "seed": 1}


def test_the_cheapest_plan_by_each_hour_by_hand() -> None:
    """Two kilowatt-hours cost what the last hour before the deadline does, for the jobs may be put off until then."""
    for hours, price in ((1, 100.0), (2, 60.0), (3, 10.0), (4, 1.0)):
        result = fs.optimize(TWO, SITE, deadline=hours * HOUR, **ASKED)
        assert result.value() == pytest.approx(2 * price / 1000)
        assert result.gap() == pytest.approx(0.0, abs=1e-6)
        best = result.best()
        best.verify(claimed=best.metrics())
        assert best.makespan == hours * HOUR
    assert fs.optimize(TWO, SITE, **ASKED).value() == pytest.approx(0.2)  # nobody grants slack


def test_slack_that_jobs_say_is_kept() -> None:
    """Where a job says its slack the deadline grants no more."""
    result = fs.optimize(replace(TWO, slack=[HOUR, 0.0]), SITE, deadline=4 * HOUR, **ASKED)
    assert result.value() == pytest.approx(0.16)
    assert sorted(result.best().start.tolist()) == [0.0, HOUR]


def test_late_plans_are_behind_all_that_keep_the_deadline() -> None:
    """Of random rows each in time is better by every objective than each late one; of these the earliest is best."""
    rng = np.random.default_rng(4)
    aims = replace(Objectives.of(("energy", "utilisation", "mean_wait")), latest=50.0)
    rows = rng.uniform(0, 1e12, (200, len(Column)))
    rows[:, Column.MAKESPAN] = rng.integers(1, 101, 200)
    values, late = aims.sought(rows), rows[:, Column.MAKESPAN] > 50.0
    assert np.array_equal(values[~late], aims.values(rows)[~late])
    assert values[~late].max() < values[late].min()
    assert np.array_equal(
        np.argsort(values[late, 0], kind="stable"), np.argsort(rows[late, Column.MAKESPAN], kind="stable")
    )
    assert np.array_equal(replace(aims, latest=math.inf).sought(rows), aims.values(rows))


def test_every_plan_of_a_front_keeps_the_deadline_and_no_bound_is_false() -> None:
    """Of random jobs and deadlines the front keeps these, baselines say by how much they do not, and bounds hold."""
    rng = np.random.default_rng(8)
    said = 0
    for _ in range(tries(24, 2)):
        few = fs.Workload(
            submit=np.zeros(5), tasks=rng.integers(1, 3, 5), runtime=rng.integers(600, 5400, 5).astype(float)
        )
        least = fs.bounds.lower_bounds(few, SITE).makespan
        deadline = math.ceil(least * rng.choice([1.3, 1.6, 3.0]))
        result = fs.optimize(
            few, SITE, objectives=("cost", "mean_wait"), deadline=deadline, evaluations=120, seed=int(rng.integers(99))
        )
        for place in range(len(result.front)):
            schedule = result.schedule(place)
            schedule.verify(claimed=schedule.metrics())
            assert schedule.makespan <= deadline
        assert result.value("cost") >= result.bound("cost") * (1 - 1e-9)
        for baseline in result.baselines:
            makespan = fs.simulate(result.workload, SITE, baseline.policy, knowledge="runtime").makespan
            assert baseline.late == max(0.0, makespan - deadline)
            said += baseline.late > 0
    assert said > 0


def test_a_saved_result_keeps_its_deadline(tmp_path: Path) -> None:
    """What is loaded says who ends late; a file with a plan that does, or that says it wrongly, is refused."""
    result = fs.optimize(TWO, SITE, deadline=2 * HOUR, **ASKED)
    result.save(tmp_path / "result.json")
    back = fs.Result.load(tmp_path / "result.json")
    assert back.settings.deadline == 2 * HOUR
    assert "plans end within 2.0 h" in str(back)
    data = json.loads((tmp_path / "result.json").read_text(encoding="utf-8"))
    data["settings"]["deadline"] = HOUR
    (tmp_path / "other.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(TraceError, match="plan 1 of the front ends after the deadline"):
        fs.Result.load(tmp_path / "other.json")
    data["settings"]["deadline"], data["baselines"][0]["late"] = 2 * HOUR, 5.0
    (tmp_path / "other.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(TraceError, match="'fcfs' ends 0 s late, not 5 s"):
        fs.Result.load(tmp_path / "other.json")


def test_a_baseline_that_ends_late_says_so() -> None:
    """Narrow jobs first let the widest end last, after the deadline; the table says by how much."""
    jobs = fs.Workload(submit=[0.0] * 3, tasks=[1, 1, 1], runtime=[HOUR, HOUR, 2 * HOUR])
    result = fs.optimize(jobs, SITE, deadline=2.5 * HOUR, baselines=("fcfs", "ljf-greedy"), **ASKED)
    assert "fcfs (ends 30 min late)" in str(result).replace("30.0", "30")
    assert result.baselines[1].late == 0.0
    assert result.best().makespan <= 2.5 * HOUR


def test_deadlines_that_cannot_be_kept_are_refused_by_name() -> None:
    """Errors say what is proven, what was found, and what goes with no deadline."""
    with pytest.raises(
        InfeasibleError, match=r"deadline=30\.0 min after the begin, and no schedule.* before 60\.0 min"
    ):
        fs.optimize(TWO, SITE, deadline=0.5 * HOUR, **ASKED)
    for wrong in (0.0, -5.0, math.nan, math.inf):
        with pytest.raises(ValueError, match=r"deadline=.* must be a time after the begin at 0 s"):
            fs.optimize(TWO, SITE, deadline=wrong, **ASKED)
    with pytest.raises(ValueError, match=r"Compiled walks .* do not keep a deadline"):
        fs.optimize(TWO, SITE, objectives="energy", method="memetic", deadline=HOUR, evaluations=50)
    with pytest.raises(InfeasibleError, match=r"plans that were found the first ends 30\.0 min later; .*--end-by"):
        refuse_late(LATE * 1.5, HOUR)


def test_other_objectives_have_deadlines_too() -> None:
    """Energy by a deadline is sought by the methods that compare plans, and puts nobody off."""
    result = fs.optimize(TWO, SITE, objectives="energy", deadline=2 * HOUR, evaluations=50, seed=1)
    assert result.method == "ga"
    assert result.workload.slack is None
    assert fs.optimize(TWO, SITE, deadline=2 * HOUR, evaluations=50, seed=1).objectives == ("makespan", "energy")
