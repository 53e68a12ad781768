"""The market's kernels: no more signatures than they may have."""

from __future__ import annotations

import pytest
from support import signatures

from fedsched import market


@pytest.mark.compiled
def test_kernels_have_no_more_signatures_than_they_may() -> None:
    """Whatever the method, problem, criterion and choice, nothing is compiled more often than it may."""
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
    signatures.check("fedsched.market", least=5)
