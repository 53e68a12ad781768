"""Our backfilling beside Batsim's scheduler, batsched: what differs, and why."""

from __future__ import annotations

import csv
import tarfile
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference.batsched import Job, starts

import fedsched as fs

if TYPE_CHECKING:
    from pathlib import Path

EQUAL = {"easy": 725, "conservative": 733}  # of 801


@pytest.mark.parametrize("policy", ["easy", "conservative"])
def test_reservations_of_numbered_nodes_hold_back_what_reservations_of_counts_do_not(policy: str) -> None:
    """Two of three nodes suffice for job 2 when it starts, but batsched keeps node 0 for it, which job 3 could have."""
    jobs = [Job(0, 1, 10, 1), Job(0, 2, 10, 10), Job(2, 2, 10, 10), Job(3, 1, 20, 20)]
    submit, tasks, estimate, runtime = np.array(jobs).T
    workload = fs.Workload(submit=submit, tasks=tasks, estimate=estimate, runtime=runtime)
    assert fs.simulate(workload, fs.Federation.homogeneous(3), policy).start.tolist() == [0, 0, 10, 3]
    assert starts(jobs, 3, policy) == [0, 0, 10, 10]


@pytest.mark.deep
@pytest.mark.parametrize("policy", EQUAL)
def test_every_start_of_batsims_recorded_runs_is_explained(policy: str, batsim_dir: Path, tmp_path: Path) -> None:
    """Batsched's rule gives all 801 recorded starts; ours, which reserves counts of nodes, most of them."""
    with tarfile.open(batsim_dir / "medium_late.tar.gz") as files:
        files.extractall(tmp_path, filter="data")
    folder = tmp_path / "medium_late"
    workload = fs.read(folder / "medium_late.json")
    with (folder / policy / "out_jobs.csv").open(newline="") as file:
        recorded = {row["job_id"]: float(row["starting_time"]) for row in csv.DictReader(file)}
    expected = np.array([recorded[str(name)] for name in workload.id])
    columns = (one.tolist() for one in (workload.submit, workload.tasks, workload.estimate, workload.runtime))
    jobs = [Job(submit, int(tasks), *times) for submit, tasks, *times in zip(*columns, strict=True)]
    assert np.allclose(starts(jobs, 32, policy), expected, rtol=0, atol=1e-3)
    ours = fs.simulate(workload, fs.Federation.homogeneous(32), policy)
    assert int((abs(ours.start - expected) < 1e-3).sum()) == EQUAL[policy]
