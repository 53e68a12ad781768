"""Studies over many cycles: the same draws for every method, means over what is there."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched import market
from fedsched.core.errors import UnknownNameError

SMALL = market.Domain(nodes=10, interval=200.0)
FEW = market.Jobs(jobs=5, nodes=(1, 3), length=(40.0, 80.0))


def test_cycles_are_those_of_schedule_and_replay() -> None:
    """A row is what `schedule` and `replay` give for its seed; progress counts the cycles."""
    seen: list[tuple[int, int]] = []
    done = market.cycles_of(
        {"b": "backfilling", "own": market.Bsf(first=2, slicer=market.Slicer(groups=1, grid=20))},
        domain=SMALL, jobs=FEW, cycles=3, first=11, shortest=0.5, progress=lambda k, n: seen.append((k, n)),
    )  # fmt: skip
    assert seen == [(1, 3), (2, 3), (3, 3)]
    for c in range(3):
        plan = market.schedule(FEW.batch(11 + c, domain=SMALL), SMALL.environment(11 + c), method="backfilling")
        for column in ("start", "runtime", "finish", "cost", "cpu", "energy", "alternatives"):
            np.testing.assert_array_equal(getattr(done["b"], column)[c], getattr(plan, column))
        real = market.replay(plan, shortest=0.5, seed=11 + c)
        np.testing.assert_array_equal(done["b"].real_start[c], real.start)
        np.testing.assert_array_equal(done["b"].real_cpu[c], real.cpu)
        assert done["b"].failed[c] == plan.failed


def test_means_are_over_jobs_that_have_windows() -> None:
    """NaN counts nowhere; a criterion or some cycles narrow the mean; failures are the share of cycles with a NaN."""
    start = np.array([[1.0, np.nan, 3.0], [5.0, 7.0, 9.0]])
    wanted = np.array([[0, 3, 3], [0, 0, 3]])
    one = market.Cycles(start, *[start] * 6, wanted, *[start] * 3)
    assert one.mean("start") == 5.0
    assert one.mean("start", criterion="min_cost") == 6.0
    assert one.mean("start", cycles=np.array([False, True])) == 7.0
    assert one.failures == 0.5
    assert one.failed.tolist() == [True, False]
    assert np.isnan(one.mean("start", criterion="min_cpu"))
    with pytest.raises(UnknownNameError, match="Did you mean 'min_cost'"):
        one.mean("start", criterion="mincost")
    with pytest.raises(UnknownNameError, match="Did you mean 'real_start'"):
        one.mean("realstart")


def test_searches_are_those_of_the_strategies() -> None:
    """Each strategy's row is its window's figures; CSA's row has the least of all disjoint AMP windows."""
    asked = market.Request(nodes=2, length=60, budget=250)
    done = market.searches_of(asked, domain=SMALL, cycles=4)
    for c in range(4):
        environment = SMALL.environment(c)
        for name, strategy in market.STRATEGIES.items():
            window = market.find_window(environment, asked, method=strategy.method, criterion=strategy.criterion)
            assert window is not None
            assert done.found[name][c].tolist() == [
                window.start, window.runtime, window.finish, window.cost, window.cpu,
            ]  # fmt: skip
        windows = market.find_windows(environment, asked)
        assert done.alternatives[c] == len(windows)
        assert done.found["CSA"][c][3] == min(window.cost for window in windows)
    for name, criterion in (("MinCost", "min_cost"), ("MinFinish", "min_finish"), ("MinRunTime", "min_runtime")):
        assert all(done.mean(name, criterion) <= done.mean(other, criterion) for other in done.found)
    with pytest.raises(UnknownNameError, match="Did you mean 'MinCost'"):
        done.mean("mincost", "min_cost")
    with pytest.raises(UnknownNameError, match="Did you mean 'min_cpu'"):
        done.mean("AMP", "mincpu")


def test_a_study_needs_a_cycle() -> None:
    """No cycles at all is refused."""
    with pytest.raises(ValueError, match="cycles=0 must be at least 1"):
        market.cycles_of({}, cycles=0)
    with pytest.raises(ValueError, match="cycles=0 must be at least 1"):
        market.searches_of(market.Request(nodes=1, length=1), cycles=0)
