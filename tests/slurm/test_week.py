"""A published week of a cluster of 217 nodes that jobs share, by Slurm's own scheduler with the cluster's conf."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import fedsched as fs

WEEK = Path(__file__).resolve().parents[3] / "shared" / "slurm" / "ub-medium"

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.needs_traces,
    pytest.mark.skipif(not WEEK.is_dir(), reason="../shared/slurm/ub-medium is not beside this checkout"),
]


def test_a_week_goes_whole() -> None:
    """Every job starts, on nodes that it may have, of which no core, MB or GPU is taken twice; priorities decide."""
    jobs, machine = fs.read(WEEK / "workload_week.events.gz"), fs.read_federation(WEEK / "slurm.conf")
    policy = fs.policies.Slurm(WEEK / "slurm.conf", assoc=WEEK / "sacctmgr.script", completing=1)
    schedule = fs.simulate(jobs, machine, policy, sharing="block")
    schedule.verify()
    assert schedule.complete
    assert any("PreemptType" in note and "TopologyPlugin" in note for note in schedule.notes)
    assert schedule.use.peaks("memory").max() <= 754_000
    wait, qos = schedule.start - jobs.submit, jobs.label("qos")
    mean = {name: wait[qos == name].mean() for name in np.unique(qos).tolist()}
    assert mean["priority"] < mean["general-compute"]  # PriorityWeightQOS
    assert mean["debug"] < min(mean["priority"], mean["general-compute"])  # a partition of its own
