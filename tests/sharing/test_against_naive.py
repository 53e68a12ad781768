"""Shared nodes against the naive reference: every start, every task on its node, every device."""

from __future__ import annotations

import pytest
from interpreted import tries
from sharing_cases import Case, case


def same_as_naive(one: Case) -> None:
    """Fail unless a run has the starts, nodes and devices of the reference, and verifies."""
    schedule, run = one.simulate(), one.naive
    run.run()
    assert schedule.start.tolist() == run.start
    assert schedule.finish.tolist() == run.finish
    assert schedule.counts.tolist() == run.counts
    use = schedule.use
    for j, hold in enumerate(run.hold):
        rows = use.job == j
        there = zip(use.node[rows].tolist(), use.tasks[rows].tolist(), strict=True)
        assert dict(there) == {n: tasks for n, (tasks, _) in hold.items()}
        devices = [] if run.asks[j].alone else [(n, *part) for n, (_, parts) in hold.items() for part in parts]
        assert sorted(map(tuple, use.devices[use.devices[:, 0] == j][:, 1:].tolist())) == sorted(devices)
    schedule.verify(claimed=schedule.metrics())


@pytest.mark.parametrize("seed", range(tries(200)))
def test_small_mixtures_are_as_the_reference_has_them(seed: int) -> None:
    """Tests that runs of all rules, choices, demands and layouts have each job where the reference has it."""
    same_as_naive(case(seed))
