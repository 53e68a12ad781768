"""What a job's nodes come to: in a cluster, by their slowest, in energy."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import begun, clusters, jobs, plain

allocation_sums = plain("fedsched.engine.allocation_sums")
PAIR = clusters(((2, 2.0), (4, 1.0)), ((6, 0.5),))


def test_nodes_come_to_their_sum_their_slowest_and_their_joules() -> None:
    """200 W busy and 100 W idle: a hundred more for each node of the cluster, and second."""
    problem, _, _ = begun(jobs([1], [1.0]), PAIR)
    groups = problem.groups
    for nodes, sums, slowdown in (([1, 3, 0], [4, 0], 1.0), ([2, 0, 0], [2, 0], 0.5), ([0, 1, 5], [1, 5], 2.0)):
        counts = np.array(nodes)
        assert [allocation_sums.sum_in(groups, k, counts) for k in range(2)] == sums
        assert allocation_sums.slowest(groups, counts) == pytest.approx(slowdown)
        assert [allocation_sums.joules_in(groups, k, counts, 3.0) for k in range(2)] == [300.0 * many for many in sums]
    assert allocation_sums.slowest(groups, np.zeros(3, dtype=np.int64)) == 0.0
