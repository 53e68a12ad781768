"""Each placement rule on nodes that hold different numbers of a job's tasks, against counts worked out by hand [76]."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import begun, nodes_given, plain

import fedsched as fs
from fedsched.engine.placement.tasks_per_node import most_nodes, tasks_in_all
from fedsched.model.jobs.admission import count_in_nodes

placement, uneven, standing = (
    plain(f"fedsched.engine.placement.{name}") for name in ("node_choice", "uneven", "tasks_per_node")
)


def machine(*clusters: tuple[tuple[int, float, int], ...], uplink: float = 1.0) -> fs.Federation:
    """Return clusters of groups by nodes, speed and cores."""
    made = []
    for k, groups in enumerate(clusters):
        nodes = tuple(fs.NodeGroup(n, speed, 100.0, 20.0, resources={"cpu": cpu}) for n, speed, cpu in groups)
        made.append(fs.Cluster(f"c{k}", nodes, uplink))
    return fs.Federation(tuple(made))


def placed(federation, tasks, rule, *, free=None, load=None, caps=None, **columns):
    """Return the nodes per group that a job alone on its nodes takes, or None where it has to wait."""
    jobs = fs.Workload(submit=[0.0], tasks=[tasks], runtime=[10.0], layout={"exclusive": 1}, **columns)
    problem, plan, state = begun(count_in_nodes(jobs, federation), federation, placement=rule)
    assert standing.is_uneven(problem.extras, 0)
    return nodes_given(problem, plan, state, free=free, load=load, caps=caps)


PAIR = machine(((3, 1.0, 4), (2, 1.0, 8)), ((4, 1.0, 2),))


@pytest.mark.parametrize(
    ("tasks", "expected"),
    [(6, [0, 0, 3]), (8, [0, 0, 4]), (9, [3, 0, 0]), (13, [3, 1, 0]), (28, [3, 2, 0]), (29, [3, 2, 1]),
     (36, [3, 2, 4])],
)  # fmt: skip
def test_groups_hold_what_they_can(tasks: int, expected: list[int]) -> None:
    """[15, 16] One cluster where that holds all, the one with fewer nodes left over; then the one with more free."""
    assert placed(PAIR, tasks, "fastest") == expected


def test_left_over_are_nodes() -> None:
    """[15, 18] Of 8 tasks 3 nodes stay free where two of five take them, none where four of four do."""
    for rule in ("fastest", "best_fit", "single"):
        assert placed(PAIR, 8, rule) == [0, 0, 4]
        assert placed(PAIR, 8, rule, free=[3, 0, 4]) == [0, 0, 4]
        assert placed(PAIR, 8, rule, free=[2, 0, 5]) == [2, 0, 0]


def test_a_job_waits_where_too_few_places_are_free() -> None:
    """What is free counts by how many tasks it holds, as do caps; a single cluster must hold all of them."""
    assert placed(PAIR, 12, "fastest", free=[1, 0, 3]) is None
    assert placed(PAIR, 12, "fastest", free=[1, 1, 0]) == [1, 1, 0]
    assert placed(PAIR, 12, "fastest", caps=[1, 0, 4]) == [1, 0, 4]
    assert placed(PAIR, 30, "single") is None
    assert placed(PAIR, 12, "single", free=[1, 0, 4]) is None


def test_home_takes_the_own_cluster() -> None:
    """[17] Four nodes at home hold eight tasks."""
    assert placed(PAIR, 8, "home", origin=[1], sites=("c0", "c1")) == [0, 0, 4]
    assert placed(PAIR, 8, "home", origin=[1], sites=("c0", "c1"), free=[3, 2, 3]) is None


def test_largest_chunks_are_of_tasks() -> None:
    """[18, 21] The cluster that holds more tasks comes first, though the other have more nodes; 3/4 are of tasks."""
    two = machine(((2, 1.0, 8),), ((6, 1.0, 2),))
    assert placed(two, 20, "best_fit") == [2, 2]
    assert placed(two, 21, "big_small") == [2, 3]
    assert placed(two, 20, "big_small", free=[1, 6]) is None
    assert placed(two, 20, "big_small", free=[2, 2]) == [2, 2]


def test_of_equally_fast_groups_the_one_with_more_free_nodes() -> None:
    """[16] These are nodes, whatever they hold; faster groups come before."""
    three = machine(((3, 1.0, 8),), ((4, 1.0, 2),), ((1, 2.0, 4),))
    assert placed(three, 27, "fastest") == [2, 4, 1]
    assert placed(three, 27, "fastest", free=[3, 3, 1]) == [3, 0, 1]


def test_powerful_takes_the_fastest_nodes_and_efficient_the_thriftiest() -> None:
    """[19, 20] Over all clusters, or in the one with the least energy, for which all nodes it would take count."""
    two = machine(((2, 1.0, 8),), ((4, 3.0, 2),))
    assert placed(two, 10, "powerful") == [1, 4]
    assert placed(two, 8, "efficient") == [1, 0]  # 100 W for 10 s are less than 400 for 3.3
    assert placed(two, 20, "efficient") == [2, 4]  # none holds all: the group whose work costs least first


def test_links_bear_what_tasks_send() -> None:
    """[22] Three tasks on the second cluster, seven on the first send 21/9 over each uplink."""
    two = machine(((1, 1.0, 8),), ((2, 2.0, 2),), uplink=2.4)
    columns = {"task_bandwidth": [1.0]}
    assert placed(two, 11, "link_aware", **columns) == [1, 2]
    assert placed(two, 11, "link_aware", load=[0.1, 0.0], **columns) is None
    assert placed(two, 4, "link_aware", load=[9.0, 9.0], **columns) == [0, 2]


def test_the_shortest_duration_is_on_the_fastest_nodes_that_hold_all() -> None:
    """[12] Sixteen tasks need the slower nodes too, eight do not; the fewest nodes are another matter."""
    two = machine(((2, 1.0, 8),), ((4, 2.0, 2),))
    for tasks, seconds in ((8, 5.0), (9, 10.0)):
        jobs = fs.Workload(submit=[0.0], tasks=[tasks], runtime=[10.0], layout={"exclusive": 1})
        problem, plan, _ = begun(count_in_nodes(jobs, two), two)
        assert placement.shortest_duration(problem, 0, plan.caps, plan.cap_row[0]) == seconds
        assert most_nodes(problem).tolist() == [-(-tasks // 2)]
    assert placement.shortest_duration(problem, 0, np.array([[2, 1]]), 0) == 10.0


def test_without_such_jobs_nothing_is_asked() -> None:
    """Jobs of so many tasks to a node, and plain ones, are placed as ever."""
    jobs = fs.Workload(submit=[0.0], tasks=[4], runtime=[10.0])
    problem, plan, state = begun(jobs, PAIR)
    assert problem.extras is None
    assert not standing.is_uneven(None, 0)
    assert not uneven.place(None, problem, plan, 0, problem.groups.nodes, state.scratch)
    assert uneven.slowest_needed(None, problem.groups, 0, plan.caps, 0) == 0.0
    assert standing.nodes_taken(None, 4, 0, problem.groups.nodes) == 4
    assert most_nodes(problem).tolist() == [4]
    both = fs.Workload(submit=[0.0, 0.0], tasks=[12, 4], runtime=[10.0, 10.0], layout={"exclusive": [1, 0]})
    packed, _, _ = begun(count_in_nodes(both, PAIR), PAIR)
    assert [standing.is_uneven(packed.extras, j) for j in (0, 1)] == [True, False]
    assert [standing.nodes_taken(packed.extras, 9, j, np.array([3, 0, 1])) for j in (0, 1)] == [4, 9]
    each, whole = tasks_in_all(packed, np.array([0, 1]))
    assert (each.tolist(), whole.tolist()) == ([8, 1], [12, 4])
