"""The searches' kernels: one signature each."""

from __future__ import annotations

import importlib
import os
import pkgutil

import pytest

import fedsched as fs
import fedsched.search
from fedsched.search.methods import METHODS

MODULES = [f"fedsched.search.{module.name}" for module in pkgutil.iter_modules(fedsched.search.__path__)]


@pytest.mark.compiled
@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled in this pass")
def test_each_kernel_has_one_signature() -> None:
    """Whatever the method, objectives and machine, no kernel, and no part of one, is compiled a second time."""
    workload = fs.Workload.example().head(12)
    for machine in (fs.Federation.example(), fs.Federation.homogeneous(int(workload.tasks.max()))):
        for name in sorted(METHODS):
            fs.optimize(workload, machine, objectives=("makespan", "energy"), method=name, evaluations=260, seed=1,
                        baselines=("fcfs",))  # fmt: skip
    modules = [importlib.import_module(name) for name in [*MODULES, "fedsched.draws", "fedsched.engine.loop"]]
    found = {id(value): value for module in modules for value in vars(module).values() if hasattr(value, "signatures")}
    compiled = [kernel for kernel in found.values() if kernel.signatures]
    assert len(compiled) >= 10
    for kernel in compiled:
        assert len(kernel.signatures) == 1, kernel
