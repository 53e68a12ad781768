"""Replay: jobs that end early make room, and only backfilled ones move into it."""

from __future__ import annotations

import random
from itertools import pairwise

import numpy as np
import pytest
from reference import market_naive as naive
from support.market_cases import batch_of, environment_of
from support.tiers import tries

from fedsched import market


def test_replay_is_that_of_the_plain_reference() -> None:
    """On small cases with shares of quarters the real windows are those worked out anew at every event."""
    moved = 0
    for seed in range(tries(60)):
        rng = random.Random(seed)
        domain = naive.random_domain(rng, 5)
        asks = [naive.random_ask(rng, 5) for _ in range(5)]
        method = rng.choice(("backfilling", market.Bsf(first=2)))
        plan = market.schedule(batch_of(asks), environment_of(domain), method=method)
        share = [rng.choice((0.25, 0.5, 0.75, 1.0)) for _ in asks]
        done = market.replay(plan, share=share)
        rows = np.flatnonzero(plan.scheduled).tolist()
        jobs = []
        for j in rows:
            window = plan.window(j)
            assert window is not None
            reserved = naive.Found(window.start, window.nodes)
            jobs.append(naive.Job(asks[j], reserved, share[j], bool(plan.backfilled[j])))
        real = naive.replay(domain, jobs)
        for j, window in zip(rows, real, strict=True):
            assert done.start[j] == window.start
            assert tuple(done.nodes[j][done.nodes[j] >= 0].tolist()) == window.nodes
        moved += done.moves
    assert moved > tries(20)


def test_what_is_free_at_an_instant_is_scanned_by_node() -> None:
    """Slots that have begun before a release begin with it: nodes decide their order, not when they were freed."""
    environment = market.Environment(
        slots=market.Slots([1, 2, 3, 5, 6], [8.0, 0.0, 5.0, 20.0, 20.0], [100.0, 100.0, 25.0, 100.0, 100.0]),
        performance=[1.0] * 7,
        price=[9.0, 5.0, 2.0, 4.0, 9.0, 3.0, 3.0],
    )
    batch = [market.Request(nodes=1, length=40), market.Request(nodes=2, length=10, budget=75)]
    plan = market.schedule(batch, environment, method="backfilling")
    assert [(w.start, w.nodes) for w in plan.windows if w is not None] == [(0.0, (2,)), (20.0, (5, 6))]
    done = market.replay(plan, share=[0.25, 1.0])
    assert done.start.tolist() == [0.0, 10.0]
    assert done.nodes[1].tolist() == [1, 2]
    assert done.moves == 1


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["css", "slicer", "backfilling", "bsf"])
def test_nobody_starts_later_and_chosen_windows_stay(method: str) -> None:
    """Backfilled jobs start no later than planned, all others when planned; nothing overlaps, budgets are kept."""
    domain = market.Domain(nodes=16)
    for seed in range(20):
        batch, environment = market.Jobs(jobs=12).batch(seed, domain=domain), domain.environment(seed)
        plan = market.schedule(batch, environment, method=method)
        done = market.replay(plan, seed=seed)
        kept = ~plan.backfilled & plan.scheduled
        np.testing.assert_array_equal(done.figures[kept], plan.figures[kept])
        there = plan.scheduled
        assert (done.start[there] <= plan.start[there]).all()
        assert (done.share >= 0.2).all()
        assert (done.share <= 1.0).all()
        np.testing.assert_array_equal(np.isnan(done.start), ~there)
        taken = []
        for j in np.flatnonzero(there).tolist():
            cost = 0.0
            for node in done.nodes[j][done.nodes[j] >= 0].tolist():
                length = batch[j].length * environment.reference / environment.performance[node]
                cost += length * environment.price[node]
                taken.append((node, done.start[j], done.start[j] + done.share[j] * length))
                assert any(a <= done.start[j] and done.start[j] + length <= b + 1e-9
                           for a, b in environment.slots.on_node(node))  # fmt: skip
            assert cost <= batch[j].budget * (1 + 1e-12)
        taken.sort()
        for (node, _, end), (other, start, _) in pairwise(taken):
            assert node != other or start >= end - 1e-9


@pytest.mark.compiled
def test_exact_reservations_change_nothing() -> None:
    """When every job uses all of its reservation, what happens is what was planned."""
    domain = market.Domain()
    plan = market.schedule(market.Jobs().batch(1), domain.environment(1), method="backfilling")
    done = market.replay(plan, share=1.0)
    np.testing.assert_array_equal(done.figures, plan.figures)
    assert done.moves == 0
    np.testing.assert_array_equal(done.cpu, plan.cpu)
    np.testing.assert_array_equal(done.finish, plan.finish)


def test_wrong_shares_are_refused() -> None:
    """A share outside (0, 1] is named with its job."""
    domain = market.Domain()
    plan = market.schedule(market.Jobs(jobs=3).batch(1), domain.environment(1))
    with pytest.raises(ValueError, match=r"share=1\.5 of job 2 must lie above 0"):
        market.replay(plan, share=[1.0, 0.5, 1.5])
    with pytest.raises(ValueError, match="shortest=0 must lie above 0"):
        market.replay(plan, shortest=0)
