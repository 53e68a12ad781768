"""The searches' kernels: no more signatures than they may have."""

from __future__ import annotations

import pytest
from support import signatures

import fedsched as fs
from fedsched.search.methods.methods import METHODS


@pytest.mark.compiled
def test_kernels_have_no_more_signatures_than_they_may() -> None:
    """Whatever the method, objectives and machine, nothing is compiled more often than it may."""
    workload = fs.Workload.example().head(12)
    for machine in (fs.Federation.example(), fs.Federation.homogeneous(int(workload.tasks.max()))):
        for name in sorted(METHODS):
            fs.optimize(workload, machine, objectives=("makespan", "energy"), method=name, evaluations=260, seed=1,
                        baselines=("fcfs",))  # fmt: skip
    signatures.check("fedsched.search", "fedsched.core.random", "fedsched.engine", least=10)
