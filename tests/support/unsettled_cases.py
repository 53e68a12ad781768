"""Crowds of jobs of which some are cancelled, in a reservation, or follow others, and what their plans must keep."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fedsched as fs

KINDS = ("cancelled", "reserved", "following", "all")
COURSE = fs.Downtime("main", 15.0, 70.0, "3 of all", kind="reservation", name="course")


def crowd(seed: int, kind: str, jobs: int = 10) -> tuple[fs.Workload, fs.Federation]:
    """Return more jobs than two clusters can take at once, some of them of that kind."""
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 25, jobs).astype(float)
    submit = np.sort(rng.integers(0, 20, jobs)).astype(float)
    log = fs.Workload(
        submit=submit, tasks=rng.integers(1, 4, jobs), runtime=runtime, estimate=runtime + rng.integers(0, 9, jobs)
    )
    machine = fs.Federation(
        (
            fs.Cluster("main", (fs.NodeGroup(4, 1.0, 100.0, 40.0),), 1e9),
            fs.Cluster("fast", (fs.NodeGroup(2, 2.0, 300.0, 50.0),), 1e9),
        )
    )
    if kind in ("cancelled", "all"):
        gone = np.where(rng.random(jobs) < 0.5, submit + rng.integers(0, 30, jobs), -1.0)
        log = replace(log, cancel_at=gone, after={int(log.id[-1]): f"afterany:{log.id[0]}"})
    if kind in ("reserved", "all"):
        names = np.where(rng.random(jobs) < 0.4, "course", "")
        log, machine = replace(log, labels={"reservation": names}), replace(machine, calendar=(COURSE,))
    if kind in ("following", "all"):
        preceding = [-1, *(int(rng.choice([-1, k])) for k in range(1, jobs))]
        think = [-1 if on < 0 else float(rng.integers(0, 9)) for on in preceding]
        log = replace(log, feedback={"preceding": preceding, "think_time": think})
    return log, machine


def check(found: fs.Result) -> None:
    """Fail unless each plan is a schedule that keeps to the model, with the values that it is said to have."""
    for place in range(len(found.front)):
        schedule = found.schedule(place)
        schedule.verify(claimed=schedule.metrics())
        known = schedule.metrics().as_dict()
        assert found.front.values[place].tolist() == [
            pytest.approx(known[name], rel=1e-12) for name in found.objectives
        ]
        missing = int((np.isnan(schedule.finish) & ~_waits_for_nothing(found, schedule)).sum())
        assert (found.front.missing[place] if found.front.missing else 0) == missing
    for name in found.objectives:
        bound = found.lower_bounds[name]
        assert np.isnan(bound) or bound <= found.front.values[:, found.objectives.index(name)].min() * (1 + 1e-9)
    leaving = found.workload.cancel_at is not None
    assert ("to come; figures are of what came" in str(found)) == leaving
    assert ("jobs that follow others are submitted after these" in str(found)) == (found.workload.feedback is not None)


def _waits_for_nothing(found: fs.Result, schedule: fs.Schedule) -> np.ndarray:
    # Who never starts in any schedule is not looked for.
    able = np.zeros(len(schedule), dtype=np.bool_)
    able[found.problem.truth.problem.arrival] = True
    return ~able
