"""A published week of a cluster of 217 nodes that jobs share, by Slurm's own scheduler with the cluster's conf."""

from __future__ import annotations

import numpy as np
import pytest
from slurm.week import WEEK, account_of, read_week

import fedsched as fs

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.needs_traces,
    pytest.mark.skipif(not WEEK.is_dir(), reason="../shared/slurm/ub-medium is not beside this checkout"),
]


def test_its_first_jobs_go_whole() -> None:
    """Every job starts, on nodes that it may have, of which nothing is taken twice; what is not modelled is named."""
    jobs, machine, policy = read_week()
    jobs = jobs.head(2000)
    schedule = fs.simulate(jobs, machine, policy, sharing="block")
    schedule.verify()
    assert schedule.complete
    assert any("PreemptType" in note and "TopologyPlugin" in note for note in schedule.notes)
    assert schedule.use.peaks("memory").max() <= 754_000
    wait, qos = schedule.start - jobs.submit, jobs.label("qos")
    mean = {name: wait[qos == name].mean() for name in np.unique(qos).tolist()}
    assert mean["debug"] < mean["general-compute"]  # a partition of its own
    assert set(account_of(jobs, policy).tolist()) <= {one.account for one in policy.assoc.members}
