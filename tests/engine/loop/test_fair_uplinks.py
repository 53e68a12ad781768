"""Uplinks shared max-min fairly [59]: the engine's rounds, the reference's, and what a fair share is."""

from __future__ import annotations

import numpy as np
import pytest
from reference import naive
from support.plain import plain

from fedsched.model.verify.rates_check import _fair_shares

fair = plain("fedsched.engine.loop.fair_uplinks")


def shares(uplink: list[float], demand: list[list[float]]) -> list[float]:
    """Return the engine's answer for jobs in start order."""
    share = np.full(len(demand), np.nan)
    order = np.arange(len(demand))
    level = np.zeros(len(uplink))
    fair.share_fairly(np.array(uplink), order, len(demand), np.array(demand), level, share)
    return share.tolist()


def test_who_asks_for_little_has_it_and_the_others_share_what_is_left() -> None:
    """On a link of 6 jobs that would send 1, 4 and 10 send 1, 2.5 and 2.5."""
    assert shares([6.0, 99.0], [[1.0, 1.0], [4.0, 4.0], [10.0, 10.0]]) == [1.0, 2.5 / 4.0, 0.25]


def test_what_one_link_keeps_back_another_gives_to_others() -> None:
    """The first two share link 0 (2 each); on link 1, of 9, the third has what the second leaves."""
    assert shares([4.0, 9.0, 99.0], [[8.0, 0.0, 8.0], [8.0, 8.0, 0.0], [0.0, 8.0, 8.0]]) == [0.25, 0.25, 7.0 / 8.0]


def test_links_with_room_slow_nobody() -> None:
    """All send what they would."""
    assert shares([6.0, 6.0], [[1.0, 1.0], [4.0, 4.0]]) == [1.0, 1.0]


@pytest.mark.parametrize("seed", range(60))
def test_shares_are_the_references_and_no_job_could_have_more_at_no_poorer_ones_cost(seed: int) -> None:
    """Engine and reference to the bit, the check within rounding; who is slowed is among the most on a full link."""
    rng = np.random.default_rng(seed)
    clusters, count = int(rng.integers(2, 6)), int(rng.integers(1, 9))
    groups = tuple(naive.Group(k, 20) for k in range(clusters))
    machine = naive.Machine(list(groups), rng.uniform(1.0, 30.0, clusters).tolist())
    holders = []
    for number in range(count):
        counts = [0] * clusters
        for k in rng.choice(clusters, int(rng.integers(2, clusters + 1)), replace=False):
            counts[k] = int(rng.integers(1, 6))
        job = naive.Job(number, 0.0, sum(counts), 1.0, 1.0, bandwidth=float(rng.uniform(0.1, 5.0)))
        holders.append((job, counts))
    demand = np.array([naive.demands(job, counts, machine) for job, counts in holders])
    uplink = np.array(machine.uplinks)
    share = np.array(shares(uplink.tolist(), demand.tolist()))
    assert (1.0 / share).tolist() == naive.fair_slowdowns(holders, machine)
    np.testing.assert_allclose(share, _fair_shares(demand, uplink), rtol=1e-9)
    load = share @ demand
    assert (load <= uplink * (1 + 1e-12)).all()
    sent = share * demand.max(axis=1)
    for j in np.flatnonzero(share < 1.0):
        full = (demand[j] > 0) & (load >= uplink * (1 - 1e-9))
        assert any(sent[j] >= sent[demand[:, k] > 0].max() * (1 - 1e-9) for k in np.flatnonzero(full))
