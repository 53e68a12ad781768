"""The waits that a log records stand beside simulated ones, of the very jobs simulated."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.model.jobs.log import LogColumns
from fedsched.model.jobs.recorded import BOUND_SECONDS as SAME_SECONDS
from fedsched.model.jobs.recorded import partial_record_in_words, recorded, simulated_metrics
from fedsched.model.schedule.metrics import BOUND_SECONDS
from fedsched.optimize.result import Result

if TYPE_CHECKING:
    from pathlib import Path

MACHINE = fs.Federation.homogeneous(8, busy_watts=200.0, idle_watts=90.0)


def log(*waits: float) -> fs.Workload:
    """Return four jobs with these recorded waits."""
    return fs.Workload(
        submit=[0, 0, 5, 9], tasks=[8, 6, 8, 2], runtime=[30, 4, 15, 40], log=LogColumns(4, {"wait": np.array(waits)})
    )


def test_what_a_log_records() -> None:
    """Tests that waits and slowdowns are those of the metric row, over the jobs whose starts are recorded."""
    found = recorded(log(0, 30, -1, 20))
    assert found is not None
    assert (found.jobs, found.of, found.whole) == (3, 4, False)
    assert (found.mean_wait, found.max_wait) == (pytest.approx(50 / 3), 30)
    assert found.mean_slowdown == pytest.approx((1 + 34 / 4 + 60 / 40) / 3)
    assert found.bounded_slowdown == pytest.approx((1 + 34 / 10 + 60 / 40) / 3)
    assert recorded(log(-1, -1, -1, -1)) is None
    assert fs.Workload.example().recorded is None
    assert SAME_SECONDS == BOUND_SECONDS


def test_a_schedule_written_as_a_log_records_its_own_metrics(tmp_path: Path) -> None:
    """Tests that recorded and simulated figures mean the same: those of a schedule's own log are its metrics."""
    schedule = fs.simulate(fs.Workload.example().head(80), fs.Federation.homogeneous(128), "fcfs")
    schedule.to_swf(tmp_path / "a.swf")
    found = fs.read(tmp_path / "a.swf").recorded
    assert found is not None
    values = schedule.metrics().as_dict()
    assert found.max_wait > 0
    for name, value in found.figures().items():
        assert value == pytest.approx(values[name])


def test_head_and_files_keep_what_is_recorded(tmp_path: Path) -> None:
    """Tests that a head has the waits of its jobs, and that CSV copies and saved results keep them."""
    jobs = log(0, 30, -1, 20)
    head = jobs.head(2).recorded
    assert head is not None
    assert (head.whole, head.mean_wait) == (True, 15)
    jobs.write(tmp_path / "a.csv")
    assert fs.read(tmp_path / "a.csv").recorded == jobs.recorded
    result = fs.optimize(jobs, MACHINE, objectives="makespan", evaluations=50, submits="keep")
    result.save(tmp_path / "r.json")
    assert Result.load(tmp_path / "r.json").workload.recorded == jobs.recorded


def test_prints_have_both(tmp_path: Path) -> None:
    """Tests that workload, schedule, JSON and page have the recorded figures beside the simulated ones."""
    jobs = log(0, 30, 29, 20)
    schedule = fs.simulate(jobs, MACHINE, "fcfs")
    assert "recorded: mean wait 20 s, mean slowdown 3.483, bounded slowdown 2.208 (all jobs)" in str(jobs)
    assert "(recorded: 19.75 s)" in str(schedule)
    assert partial_record_in_words(schedule) == ""
    said = schedule.to_json()["recorded"]
    assert isinstance(said, dict)
    assert (said["mean_wait"], said["jobs"]) == (19.75, 4)
    assert said["simulated"]["mean_wait"] == schedule.metrics().mean_wait
    schedule.report(tmp_path / "r.html")
    assert "as the log records all jobs" in (tmp_path / "r.html").read_text(encoding="utf-8")
    plain = fs.simulate(replace(jobs, log=None), MACHINE, "fcfs")
    assert "recorded" not in str(plain)
    assert plain.to_json()["recorded"] is None


def test_recorded_waits_stand_beside_the_same_question_alone() -> None:
    """Jobs that all wait, or come at another load than recorded, have no recorded figures beside theirs."""
    jobs = log(0, 30, 29, 20)
    plan = fs.optimize(jobs, MACHINE, objectives="makespan", evaluations=50).best()
    package = fs.simulate(jobs, MACHINE, "fcfs", submits="now")
    denser = fs.simulate(jobs.scale_load(2), MACHINE, "fcfs")
    for schedule in (plan, package, denser):
        assert "recorded" not in str(schedule)
        assert schedule.to_json()["recorded"] is None
    assert jobs.scale_load(1).recorded == jobs.rebased(7.0).recorded == jobs.recorded


def test_partial_records_are_set_against_the_same_jobs() -> None:
    """Tests that where some starts are recorded, those jobs alone are simulated figures' counterparts, and counted."""
    schedule = fs.simulate(log(0, 30, -1, 20), MACHINE, "fcfs")
    rows = np.array([True, True, False, True])
    assert simulated_metrics(schedule)["mean_wait"] == schedule.wait[rows].mean()
    text = partial_record_in_words(schedule)
    assert text.startswith("starts are recorded for 3 jobs only; simulated, these have mean wait")
    assert partial_record_in_words(schedule) in str(schedule)
