"""The gangs' kernels: one signature each."""

from __future__ import annotations

import importlib
import os
import pkgutil

import pytest
from gang.test_against_reference import random_case

import fedsched.gang
from fedsched.gang import simulate

MODULES = [f"fedsched.gang.{module.name}" for module in pkgutil.iter_modules(fedsched.gang.__path__)]


@pytest.mark.compiled
@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled in this pass")
def test_each_kernel_has_one_signature() -> None:
    """Whatever the system and workload, no kernel, and no part of one, is compiled a second time."""
    for case in range(60):
        workload, system = random_case(case)
        simulate(workload, system, seed=case)
    modules = [importlib.import_module(name) for name in MODULES]
    found = {id(value): value for module in modules for value in vars(module).values() if hasattr(value, "signatures")}
    compiled = [kernel for kernel in found.values() if kernel.signatures]
    assert len(compiled) >= 1
    for kernel in compiled:
        assert len(kernel.signatures) == 1, kernel
