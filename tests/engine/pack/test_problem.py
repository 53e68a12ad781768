"""From nouns to arrays: orders of groups, arrivals, and the room that each rule needs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.plain import begun, clusters, jobs

from fedsched.core.errors import UnknownNameError
from fedsched.engine.pack.problem import pack
from fedsched.model.reading import CLAIRVOYANT, Reading

if TYPE_CHECKING:
    import fedsched as fs

PAIR = clusters(((2, 1.0), (3, 2.0)), ((4, 2.0), (1, 4.0)))


def packed(workload: fs.Workload, federation: fs.Federation = PAIR, **options: object):
    """Return the problem of a workload."""
    return begun(workload, federation, **options)[0]


def test_groups_in_the_orders_that_placements_fill_them() -> None:
    """Fastest first and cheapest first, in each cluster and over all; of equals the lower cluster, then group."""
    groups = packed(jobs([1], [1.0])).groups
    assert groups.nodes.tolist() == [2, 3, 4, 1]
    assert groups.cluster.tolist() == [0, 0, 1, 1]
    assert groups.cluster_begin.tolist() == [0, 2, 4]
    assert groups.fast_in_cluster.tolist() == [1, 0, 3, 2]
    assert groups.fast.tolist() == [3, 1, 2, 0]
    assert groups.cheap_in_cluster.tolist() == [1, 0, 3, 2]  # 100 W for a speed of 1, 2, 2, 4
    assert groups.cheap.tolist() == [3, 1, 2, 0]
    assert groups.slowdown.tolist() == [1.0, 0.5, 0.5, 0.25]


def test_arrivals_by_submit_then_id() -> None:
    """The jobs in (submit, id) order, and each job's place in it; t0 is the earliest submit."""
    problem = packed(jobs([1, 1, 1], [1.0] * 3, submit=[5.0, 3.0, 3.0], id=[1, 9, 4]))
    assert problem.arrival.tolist() == [2, 1, 0]
    assert problem.arrival_rank.tolist() == [2, 1, 0]
    assert problem.t0 == 3.0
    assert packed(jobs([1], [1.0], submit=[5.0]), t0=2.0).t0 == 2.0


def test_running_jobs_do_not_arrive() -> None:
    """Who runs already is in the list of the running ones, in start order, and not in that of the arrivals."""
    problem = pack(jobs([1, 1, 1], [1.0] * 3), PAIR, reading=CLAIRVOYANT, running=(2, 0))
    assert (problem.running.tolist(), problem.arrival.tolist()) == ([2, 0], [1])


def test_what_plans_believe() -> None:
    """Run times where they are known, estimates where not; a job that is killed at its estimate runs no longer."""
    workload = jobs([1, 1], [10.0, 20.0], estimate=[15.0, 5.0])
    found = {}
    for knowledge in ("runtime", "estimate"):
        for kill in (False, True):
            problem = pack(workload, PAIR, reading=Reading(knowledge=knowledge, kill_at_estimate=kill))
            found[knowledge, kill] = problem.runtime.tolist(), problem.estimate.tolist()
    assert found == {
        ("runtime", False): ([10.0, 20.0], [10.0, 20.0]),
        ("runtime", True): ([10.0, 5.0], [10.0, 5.0]),
        ("estimate", False): ([10.0, 20.0], [15.0, 5.0]),
        ("estimate", True): ([10.0, 5.0], [15.0, 5.0]),
    }


def test_power_and_nodes_of_the_whole_federation() -> None:
    """N is all nodes, idle_total the watts of all of them at rest."""
    problem = packed(jobs([1], [1.0]))
    assert (problem.nodes, problem.idle_total) == (10, 1000.0)


def test_sites_that_are_no_clusters() -> None:
    """A site that no cluster bears does no harm, unless jobs are bound to sites."""
    assert packed(jobs([1], [1.0], origin=[0], sites=("elsewhere",))).origin.tolist() == [-1]
    with pytest.raises(UnknownNameError):
        packed(jobs([1], [1.0], origin=[0], sites=("elsewhere",), allowed=np.array([[True]])))
