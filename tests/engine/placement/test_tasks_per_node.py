"""What tasks send that stand several to a node, one call at a time: cases worked out by hand from reading 76."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.plain import begun, plain

import fedsched as fs
from fedsched.engine.pack.extras import extras_of_jobs
from fedsched.engine.pack.problem import pack
from fedsched.engine.placement.tasks_per_node import tasks_in_all, tasks_per_node_of, with_tasks
from fedsched.model.jobs.admission import count_in_nodes
from fedsched.model.reading import Reading

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Problem

tasks_per_node = plain("fedsched.engine.placement.tasks_per_node")
THREE = fs.Federation(
    tuple(fs.Cluster(name, (fs.NodeGroup(1), fs.NodeGroup(2, 2.0)), uplink=1.0) for name in ("A", "B", "C"))
)
JOBS = fs.Workload(
    submit=[0.0, 0.0, 0.0],
    tasks=[11, 5, 3],
    runtime=10.0,
    task_bandwidth=[1.0, 2.0, 0.0],
    layout={"tasks_per_node": [3, 0, 2]},
)


def packed(jobs: fs.Workload = JOBS, machine: fs.Federation = THREE) -> Problem:
    """Return the problem of jobs in nodes."""
    return pack(count_in_nodes(jobs, machine), machine, reading=Reading())


def sent(counts: list[int]) -> list[float]:
    """Return what the first job asks of each uplink on these nodes of each group."""
    problem, demand = packed(), np.full(3, -1.0)
    sends = tasks_per_node.fill_demand(problem.extras, problem.groups, 0, 1.0, np.array(counts), demand)
    assert sends == bool(demand.any())
    return demand.tolist()


def test_who_counts_tasks() -> None:
    """Whoever has several tasks to a node and sends; where nobody does, or nothing may cross, there are no extras."""
    problem = packed()
    assert [tasks_per_node.counts_tasks(problem.extras, j) for j in range(3)] == [True, False, False]
    assert problem.tasks.tolist() == [4, 5, 2]
    assert problem.bandwidth.tolist() == [1.0, 2.0, 0.0]
    quiet = packed(JOBS.take(np.array([1, 2])))
    one = packed(JOBS, fs.Federation((fs.Cluster("A", (fs.NodeGroup(9),)),)))
    for other in (quiet, one):
        assert other.extras is None
        assert not tasks_per_node.counts_tasks(other.extras, 0)
        assert not tasks_per_node.fill_demand(other.extras, other.groups, 0, 1.0, np.zeros(6, np.int64), np.zeros(3))
        assert tasks_per_node_of(other) is None
        assert with_tasks(other, np.array([1])) is other


@pytest.mark.parametrize(
    ("counts", "there"),
    [([1, 1, 0, 1, 0, 1], [6, 3, 2]), ([0, 0, 1, 2, 1, 0], [0, 9, 2]), ([0, 0, 0, 0, 1, 2], None),
     ([1, 2, 0, 1, 0, 0], [9, 2, 0]), ([1, 2, 0, 0, 0, 1], [9, 0, 2])],
)  # fmt: skip
def test_the_last_node_takes_the_rest(counts: list[int], there: list[int] | None) -> None:
    """Eleven tasks, three to a node: nine in three full nodes, and two on the last one, of the last cluster used."""
    wanted = [0.0, 0.0, 0.0] if there is None else [t * 1.0 * (11 - t) / 10 for t in there]
    assert sent(counts) == wanted


def test_some_of_the_jobs_are_counted_alike() -> None:
    """A plan of some jobs, and one of other tasks on their nodes, knows how theirs stand."""
    problem = packed()
    some = extras_of_jobs(problem, begun(JOBS, THREE)[2], np.array([1, 0]), 0.0)
    assert some is not None
    assert [column.tolist() for column in some.standing] == [[0, 3], [0, 11], [], []]
    fewer = with_tasks(problem, np.array([10, 0, 0]))
    each, whole = tasks_in_all(fewer, np.array([0, 1]))
    assert (each.tolist(), whole.tolist()) == ([3, 1], [10, 5])
    each, whole = tasks_in_all(packed(JOBS.take(np.array([1]))), np.array([0]))
    assert (each.tolist(), whole.tolist()) == ([1], [5])
