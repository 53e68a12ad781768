"""Each placement rule on a few nodes, against counts worked out by hand; numbers are those of docs/readings."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import begun, clusters, jobs, nodes_given, plain

import fedsched as fs

placement = plain("fedsched.engine.placement.node_choice")


def placed(federation, tasks, rule, *, free=None, load=None, caps=None, **columns):
    """Return the nodes per group that a job of so many tasks takes, or None where it has to wait."""
    workload = jobs([1], [10.0], **columns)
    problem, plan, state = begun(workload, federation, placement=rule if rule != "home" or columns else "fastest")
    problem = problem._replace(tasks=np.array([tasks]))
    return nodes_given(problem, plan, state, free=free, load=load, caps=caps)


TWO_AND_FOUR = clusters(((2, 2.0), (4, 1.0)), ((6, 1.5),))


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [(1, [1, 0, 0]), (2, [2, 0, 0]), (3, [0, 0, 3]), (6, [0, 0, 6])],
)
def test_the_cluster_whose_slowest_node_is_fastest(tasks: int, expected: list[int]) -> None:
    """[15] While the job fits on the fast group it goes there; with one more task its slowest node would be slower."""
    assert placed(TWO_AND_FOUR, tasks, "fastest") == expected
    assert placed(TWO_AND_FOUR, tasks, "single") == expected


def test_of_equally_fast_clusters_the_tighter_then_the_first() -> None:
    """[15] Equal speeds: the cluster with the fewest nodes left over, and of equals the lower index."""
    three = clusters(((5, 1.0),), ((4, 1.0),), ((4, 1.0),))
    assert placed(three, 3, "fastest") == [0, 3, 0]
    assert placed(three, 3, "fastest", free=[5, 4, 3]) == [0, 0, 3]
    assert placed(three, 3, "fastest", free=[3, 4, 4]) == [3, 0, 0]
    assert placed(three, 5, "fastest") == [5, 0, 0]


def test_left_over_counts_nodes_that_the_job_may_not_use() -> None:
    """[15, 18] What is left over is what is free, whatever the job's own caps are."""
    pair = clusters(((5, 1.0),), ((4, 1.0),))
    for rule in ("fastest", "best_fit"):
        assert placed(pair, 2, rule, caps=[2, 4]) == [0, 2]


def test_within_a_cluster_the_fastest_groups_first() -> None:
    """[14] Groups are filled by speed, whatever their place."""
    one = clusters(((4, 1.0), (2, 3.0), (3, 2.0)), ((1, 9.0),))
    assert placed(one, 6, "single") == [1, 2, 3, 0]
    assert placed(one, 6, "home", origin=[0], sites=("c0",)) == [1, 2, 3, 0]


def test_spread_over_the_fastest_groups() -> None:
    """[16] By speed; of equally fast groups first those whose cluster has more free, then the lower index."""
    three = clusters(((3, 1.0),), ((4, 1.0),), ((2, 2.0),))
    assert placed(three, 8, "fastest") == [2, 4, 2]
    assert placed(three, 8, "fastest", free=[3, 3, 2]) == [3, 3, 2]
    assert placed(three, 5, "fastest", free=[3, 3, 2]) == [3, 0, 2]
    assert placed(three, 9, "fastest") == [3, 4, 2]
    assert placed(three, 9, "fastest", free=[3, 4, 1]) is None


def test_more_free_counts_the_whole_cluster() -> None:
    """[16] Of equally fast groups the one in the cluster with more free nodes, though the group itself be smaller."""
    pair = clusters(((3, 1.0),), ((1, 1.0), (3, 0.5)))
    assert placed(pair, 6, "fastest") == [3, 1, 2]
    assert placed(pair, 5, "fastest", caps=[3, 1, 1]) == [3, 1, 1]


def test_single_waits_where_no_cluster_is_large_enough() -> None:
    """[17] `single` does not spread."""
    assert placed(TWO_AND_FOUR, 7, "single") is None
    assert placed(TWO_AND_FOUR, 5, "single", free=[2, 3, 4]) == [2, 3, 0]


def test_home_is_the_origin_or_waiting() -> None:
    """[17] `home` takes the origin cluster's nodes, else waits, and so does a job without an origin."""
    at_second = {"origin": [0], "sites": ("c1",)}
    assert placed(TWO_AND_FOUR, 2, "home", **at_second) == [0, 0, 2]
    assert placed(TWO_AND_FOUR, 3, "home", free=[2, 4, 2], **at_second) is None
    assert placed(fs.Federation.homogeneous(4), 2, "home", origin=[0], sites=("cluster",)) in ([2], None)


def test_best_fit() -> None:
    """[18] The fullest cluster that can hold the job; else the clusters with most usable nodes, ties to the first."""
    three = clusters(((6, 3.0),), ((4, 1.0),), ((4, 2.0),))
    assert placed(three, 3, "best_fit") == [0, 3, 0]
    assert placed(three, 3, "best_fit", free=[6, 4, 3]) == [0, 0, 3]
    assert placed(three, 5, "best_fit") == [5, 0, 0]
    assert placed(three, 8, "best_fit") == [6, 2, 0]
    assert placed(three, 8, "best_fit", caps=[3, 4, 4]) == [0, 4, 4]
    assert placed(three, 9, "best_fit", free=[3, 2, 4]) == [3, 2, 4]
    assert placed(three, 10, "best_fit", free=[3, 2, 4]) is None


def efficient_pair(busy: float) -> fs.Federation:
    """Return a fast cluster of 400 W and a slow one of so many, four nodes each, 100 W idle."""
    return fs.Federation((
        fs.Cluster("fast", (fs.NodeGroup(4, 2.0, 400.0, 100.0),), 1e9),
        fs.Cluster("slow", (fs.NodeGroup(4, 1.0, busy, 100.0),), 1e9),
    ))  # fmt: skip


def test_efficient_adds_the_jobs_share_of_idle_energy() -> None:
    """[19] Two tasks of 10 s: the fast one costs (2·300 + 200) W · 5 s = 4 kJ, the slow one (2·(b−100) + 200) · 10."""
    assert placed(efficient_pair(199.0), 2, "efficient") == [0, 2]
    assert placed(efficient_pair(200.0), 2, "efficient") == [2, 0]  # 4000 J either way: the first
    assert placed(efficient_pair(201.0), 2, "efficient") == [2, 0]


def test_efficient_runs_as_long_as_its_part_that_computes() -> None:
    """[19] With σ = 0 speed shortens nothing, and the node that draws less is the better one."""
    assert placed(efficient_pair(399.0), 2, "efficient", compute_fraction=[0.0]) == [0, 2]
    assert placed(efficient_pair(401.0), 2, "efficient", compute_fraction=[0.0]) == [2, 0]


def test_efficient_fills_by_energy_not_by_speed() -> None:
    """[19] Inside a cluster, and across all where none is large enough: least (busy − idle)/speed first."""
    inside = fs.Federation((
        fs.Cluster("a", (fs.NodeGroup(3, 2.0, 500.0, 100.0), fs.NodeGroup(3, 1.0, 250.0, 100.0)), 1e9),
        fs.Cluster("b", (fs.NodeGroup(2, 1.0, 200.0, 100.0),), 1e9),
    ))  # fmt: skip
    assert placed(inside, 4, "efficient") == [1, 3, 0]  # 200 and 150 W per unit of speed
    assert placed(inside, 7, "efficient") == [2, 3, 2]  # 100 W per unit first
    assert placed(inside, 8, "efficient", free=[2, 3, 2]) is None


def test_powerful_takes_the_fastest_groups_anywhere() -> None:
    """[20] By speed alone, across clusters, even where one of them could hold the job."""
    three = clusters(((4, 1.0),), ((2, 3.0), (2, 2.0)))
    assert placed(three, 3, "powerful") == [0, 2, 1]
    assert placed(three, 5, "powerful") == [1, 2, 2]
    assert placed(three, 3, "powerful", caps=[4, 1, 0]) == [2, 1, 0]
    assert placed(three, 9, "powerful") is None


def test_big_small_needs_three_quarters_in_one_place() -> None:
    """[21] A job spreads only if the cluster with most usable nodes holds at least ⌈0.75·τ⌉."""
    pair = clusters(((3, 1.0),), ((2, 2.0),))
    assert placed(pair, 2, "big_small") == [0, 2]
    assert placed(pair, 4, "big_small") == [3, 1]
    assert placed(pair, 5, "big_small") is None
    six = clusters(((2, 1.0),), ((6, 1.0),), ((1, 1.0),))
    assert placed(six, 8, "big_small") == [2, 6, 0]
    assert placed(six, 8, "big_small", caps=[2, 5, 1]) is None
    assert placed(six, 9, "big_small") is None


def test_link_aware_refuses_what_an_uplink_cannot_bear() -> None:
    """[22] Four tasks, two on each side, send 2·3·2/3 = 4 bytes/s: with 6 there already 10 are just enough."""
    pair = clusters(((2, 1.0),), ((2, 1.0),), uplinks=[10.0, 20.0])
    sends = {"task_bandwidth": [3.0]}
    assert placed(pair, 4, "link_aware", load=[6.0, 0.0], **sends) == [2, 2]
    assert placed(pair, 4, "link_aware", load=[6.0, 16.0], **sends) == [2, 2]
    assert placed(pair, 4, "link_aware", load=[6.1, 0.0], **sends) is None
    assert placed(pair, 4, "link_aware", load=[0.0, 16.1], **sends) is None
    assert placed(pair, 4, "fastest", load=[6.1, 0.0], **sends) == [2, 2]
    assert placed(pair, 2, "link_aware", load=[99.0, 99.0], **sends) == [2, 0]  # in one cluster nothing is sent
    assert placed(pair, 4, "link_aware", load=[99.0, 99.0]) == [2, 2]  # nor by who has nothing to send


def test_caps_hold_under_every_rule() -> None:
    """No rule gives a job more nodes of a group than its caps, nor starts it where they are too few."""
    for rule in ("fastest", "single", "best_fit", "efficient", "powerful", "big_small", "link_aware"):
        assert placed(TWO_AND_FOUR, 2, rule, caps=[1, 0, 2]) in ([0, 0, 2], [1, 0, 1])
        assert placed(TWO_AND_FOUR, 4, rule, caps=[1, 0, 2]) is None


def test_one_group_needs_no_choice() -> None:
    """On one group a job fits if as many nodes are free, and as many allowed, as it has tasks."""
    four = fs.Federation.homogeneous(4)
    assert placed(four, 3, "fastest", free=[3]) == [3]
    assert placed(four, 4, "fastest", free=[3]) is None
    assert placed(four, 3, "fastest", caps=[2]) is None


def test_demand_by_hand() -> None:
    """Eq. 1.2: of four tasks three here and one there, each task talking at 3 bytes/s: 3·3·1/3 on either uplink."""
    problem, _, _ = begun(jobs([4], [1.0]), clusters(((4, 1.0),), ((4, 1.0),), ((4, 1.0),)))
    demand = np.full(3, 9.9)
    assert placement.fill_demand(None, problem.groups, 0, 4, 3.0, np.array([3, 0, 1]), demand)
    assert demand.tolist() == [3.0, 0.0, 3.0]
    assert not placement.fill_demand(None, problem.groups, 0, 4, 3.0, np.array([0, 4, 0]), demand)
    assert demand.tolist() == [0.0, 0.0, 0.0]
    assert not placement.fill_demand(None, problem.groups, 0, 4, 0.0, np.array([2, 2, 0]), demand)


def test_durations_by_hand() -> None:
    """σ = 0.5 and 10 s: on nodes of speed 4 half of it takes a quarter, 6.25 s; the slowest node used counts."""
    federation = clusters(((2, 4.0), (4, 1.0)), ((1, 8.0),))
    problem, _, _ = begun(jobs([3], [10.0], compute_fraction=[0.5]), federation)
    assert placement.planned_duration(problem, 0, np.array([3, 0, 0])) == 6.25
    assert placement.planned_duration(problem, 0, np.array([2, 1, 0])) == 10.0
    assert placement.uncontended_cost(problem, 0, np.array([0, 0, 1])) == 0.5625
    assert placement.slowest(problem.groups, np.array([1, 0, 1])) == 0.25

    def shortest(tasks: int, caps: list[int]) -> float:
        return placement.shortest_duration(problem._replace(tasks=np.array([tasks])), 0, np.array([caps]), 0)

    assert shortest(1, [2, 4, 1]) == 5.625
    assert shortest(3, [2, 4, 1]) == 6.25
    assert shortest(4, [2, 4, 1]) == 10.0
    assert shortest(2, [2, 4, 0]) == 6.25
    assert shortest(2, [1, 4, 0]) == 10.0
    assert shortest(3, [9, 4, 9]) == 6.25  # a cap above what there is gives no nodes


def test_a_job_without_an_origin_has_no_home() -> None:
    """[17] Under `home` a job of no known origin fits nowhere, on one group as on several."""
    for federation in (fs.Federation.homogeneous(4), clusters(((4, 1.0),), ((4, 1.0),))):
        problem, plan, state = begun(jobs([2], [1.0]), federation, placement="home")
        free, load = np.array(problem.groups.nodes), np.zeros(problem.groups.uplink.size)
        assert problem.origin.tolist() == [-1]
        assert not placement.place(problem, plan, 0, free, load, state)
        assert placement.place(problem._replace(origin=np.array([0])), plan, 0, free, load, state)
