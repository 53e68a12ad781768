"""Workflows: which jobs they are, how long they took, and how long they had to."""

from __future__ import annotations

import csv
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from engine.test_against_naive import run_engine
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.model.schedule.metrics import OF_A_SCHEDULE
from fedsched.model.schedule.workflows import Workflow

if TYPE_CHECKING:
    from pathlib import Path

SIX = fs.Workload(
    submit=[0.0, 5.0, 0.0, 0.0, 40.0, 0.0],
    tasks=[1, 1, 2, 1, 1, 1],
    runtime=[10.0, 20.0, 30.0, 10.0, 10.0, 7.0],
    id=[11, 12, 13, 14, 15, 16],
    after={13: "afterok:11:12+5s", 15: "afterany:14"},
)


def test_a_workflow_by_hand() -> None:
    """Its makespan is from its first submit to its last end, its critical path what that is on a free machine."""
    schedule = fs.simulate(SIX, fs.Federation.homogeneous(2), "fcfs")
    # 11 and 14 run over [0, 10), 16 and 12 from 10 to 17 and 30; 13 may start at 35, 15 at 40.
    assert schedule.start.tolist() == [0.0, 10.0, 35.0, 0.0, 65.0, 10.0]
    one, other = schedule.workflows()
    # 12 could have run over [5, 25), 13 over [30, 60); 15 is not submitted before 40.
    assert one == Workflow(first=11, jobs=3, unfinished=0, submit=0.0, makespan=65.0, critical_path=60.0)
    assert other == Workflow(first=14, jobs=2, unfinished=0, submit=0.0, makespan=75.0, critical_path=50.0)
    row = schedule.metrics()
    assert row.workflow_makespan == 70.0
    assert row.mean_stretch == pytest.approx((65 / 60 + 1.5) / 2)
    assert row.max_stretch == 1.5
    assert "2 workflows of 5 jobs" in schedule.remarks
    assert "mean_stretch" in str(schedule)
    schedule.verify(claimed=row)
    for name in OF_A_SCHEDULE:
        (line,) = schedule.violations(claimed=replace(row, **{name: 3.0}))
        assert line.startswith(f"Schedule: {name} is given as 3, but")


def test_the_critical_path_is_on_the_fastest_nodes_that_jobs_may_have() -> None:
    """Groups that are too small, of other clusters or without what a job asks for count for nothing."""
    ib = {"features": ("ib",)}
    groups = (fs.NodeGroup(1, speed=4.0), fs.NodeGroup(2, speed=2.0, **ib), fs.NodeGroup(4, **ib))
    machine = fs.Federation((fs.Cluster("a", groups),))
    jobs = fs.Workload(
        submit=[0.0, 0.0, 0.0],
        tasks=[1, 1, 3],
        runtime=[8.0, 8.0, 8.0],
        compute_fraction=[1.0, 1.0, 0.5],
        after={2: "afterok:1", 3: "after:2+1s"},
        labels={"features": ["", "ib", ""]},
    )
    (one,) = fs.simulate(jobs, machine, "fcfs").workflows()
    assert one.critical_path == 2.0 + max(4.0, 1.0 + 8.0 * (0.5 * 0.5 + 0.5))
    killed = fs.simulate(replace(jobs, estimate=[4.0, 8.0, 8.0]), machine, "fcfs", kill_at_estimate=True)
    assert killed.workflows()[0].unfinished == 2
    cut = fs.simulate(
        replace(jobs, estimate=[4.0, 8.0, 8.0], after={2: "afterany:1", 3: "after:2"}), machine, kill_at_estimate=True
    )
    assert cut.workflows()[0].critical_path == 1.0 + 6.0


def test_an_unfinished_workflow_is_named_and_no_mean_counts_it() -> None:
    """One of whose jobs never starts, or is cancelled, has no makespan; the others are measured alone."""
    jobs = replace(SIX, log={"status": [0.0, 1.0, 1.0, 1.0, 1.0, 1.0]})
    schedule = fs.simulate(jobs, fs.Federation.homogeneous(2), "fcfs")
    one, other = schedule.workflows()
    assert (one.unfinished, one.jobs) == (1, 3)
    assert np.isnan([one.makespan, one.critical_path, one.stretch]).all()
    assert schedule.metrics().max_stretch == schedule.metrics().mean_stretch == other.stretch
    assert "2 workflows of 5 jobs; 1 unfinished, which no mean counts (first jobs: 11)" in schedule.remarks
    assert schedule.to_json()["unfinished_workflows"] == [11]
    schedule.verify(claimed=schedule.metrics())
    impatient = replace(SIX, cancel_at=[-1.0, 6.0, -1.0, -1.0, -1.0, -1.0])
    gone = fs.simulate(impatient, fs.Federation.homogeneous(2), "fcfs")
    assert [one.unfinished for one in gone.workflows()] == [2, 0]
    alone = schedule.take(np.array([0, 1, 2]))
    assert np.isnan(alone.metrics().mean_stretch)
    assert "mean_stretch" not in str(alone)


def test_what_ties_jobs_and_what_does_not() -> None:
    """Arrays, jobs that follow others and conditions on jobs that are not here make no workflow; singletons do."""
    loose = replace(
        SIX,
        after={13: "afterok:99"},
        labels={"name": ["a"] * 6, "array": ["7%2"] * 6},
        feedback={"preceding": [-1, 11, -1, -1, -1, -1], "think_time": [-1, 4, -1, -1, -1, -1]},
    )
    schedule = fs.simulate(loose, fs.Federation.homogeneous(2), "fcfs")
    assert schedule.workflows() == ()
    assert np.isnan(schedule.metrics().workflow_makespan)
    assert not any("workflow" in line for line in schedule.remarks)
    single = replace(loose, after={13: "singleton", 15: "singleton"}, user=[1, 2, 1, 2, 1, 3])
    for jobs in (single, replace(single, feedback=None)):
        schedule = fs.simulate(jobs, fs.Federation.homogeneous(2), "fcfs")
        assert [(one.first, one.jobs) for one in schedule.workflows()] == [(11, 3)]
        schedule.verify(claimed=schedule.metrics())


def test_no_stretch_is_below_one() -> None:
    """On random systems of all kinds no workflow takes less than its critical path, but for what the clock rounds."""
    stretches = []
    for seed in range(30_000, 30_000 + tries(150)):
        schedule = run_engine(strategies.random_scenario(seed, restless=True))
        for one in schedule.workflows():
            if not one.unfinished:
                slack = 1000 * np.spacing(np.nanmax(np.abs(schedule.finish)))
                assert one.makespan >= one.critical_path - slack, f"seed {seed}: {one}"
                stretches.append(one.stretch)
    assert len(stretches) > tries(150) / 10
    assert max(stretches) > 1.4
    assert min(stretches) < 1.0001


def jaros(path: Path) -> fs.Workload:
    """Return the jobs of one of Jaros' files, each behind its preceding ones."""
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file, delimiter="\t"))
    before = {int(row["id"]): row["precjob"].split("&") for row in rows if row["precjob"] != "-1"}
    columns = {"submit": "submit", "tasks": "cpus", "runtime": "runtime", "estimate": "walltime", "id": "id"}
    return fs.Workload(
        **{name: np.array([int(row[column]) for row in rows]) for name, column in columns.items()},
        after={job: f"afterok:{':'.join(jobs)}" for job, jobs in before.items()},
    )


@pytest.mark.needs_traces
@pytest.mark.parametrize(
    ("name", "nodes", "workflows", "jobs", "path"),
    [("jaros1", 16, 4, 3, 4200.0), ("jaros2", 8, 2, 6, 7200.0), ("jaros3", 16, 2, 8, 12600.0)],
)
def test_workflows_of_alea(nodes_dir: Path, name: str, nodes: int, workflows: int, jobs: int, path: float) -> None:
    """The small workflows that Alea comes with are found whole, and each critical path is its files' chain."""
    log = jaros(nodes_dir / f"{name}.tsv")
    for policy in ("fcfs", "easy", "conservative"):
        schedule = fs.simulate(log, fs.Federation.homogeneous(nodes), policy)
        found = schedule.workflows()
        assert [(one.jobs, one.critical_path, one.unfinished) for one in found] == [(jobs, path, 0)] * workflows
        assert all(one.stretch >= 1.0 for one in found)
        schedule.verify(claimed=schedule.metrics())
