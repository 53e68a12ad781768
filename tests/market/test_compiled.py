"""The market's kernels: one signature each."""

from __future__ import annotations

import importlib
import os
import pkgutil

import pytest

import fedsched.market
from fedsched import market

MODULES = [f"fedsched.market.{module.name}" for module in pkgutil.iter_modules(fedsched.market.__path__)]


@pytest.mark.compiled
@pytest.mark.skipif(bool(os.environ.get("NUMBA_DISABLE_JIT")), reason="nothing is compiled in this pass")
def test_each_kernel_has_one_signature() -> None:
    """Whatever the method, problem, criterion and choice, no kernel is compiled a second time."""
    domain = market.Domain(nodes=8)
    batch = market.Jobs(jobs=4, criteria=("min_cpu", "min_energy", "min_start", "min_finish")).batch(1)
    environment = domain.environment(1)
    for problem in ("profit", "time", "cost", "idleness"):
        market.schedule(batch, environment, method=market.Slicer(problem=problem, limit=900.0))
    for window in ("cheapest", "random", "exact"):
        market.schedule(batch, environment, method=market.Slicer(groups=1, window=window), seed=3)
    market.replay(market.schedule(batch, environment, method="bsf"))
    market.replay(market.schedule(batch, environment, method="backfilling"), share=0.5)
    market.find_window(environment, batch[0], method="alp", criterion="min_cost")
    modules = [importlib.import_module(name) for name in MODULES]
    found = {id(value): value for module in modules for value in vars(module).values() if hasattr(value, "signatures")}
    compiled = [kernel for kernel in found.values() if kernel.signatures]
    assert len(compiled) >= 5
    for kernel in compiled:
        assert len(kernel.signatures) == 1, kernel
