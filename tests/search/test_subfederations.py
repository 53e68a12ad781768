"""The machine cut into units: which clusters are joined, and how groups are numbered within them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.problem.subfederations import units_of

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.search.problem.subfederation_runs import Units

FOUR = fs.Federation.of(4, 9, 3, 8)


def units(tasks: Sequence[int], machine: fs.Federation = FOUR, **columns: object) -> Units | None:
    """Return the units for jobs so wide."""
    jobs = len(tasks)
    workload = fs.Workload(submit=np.zeros(jobs), tasks=tasks, runtime=np.ones(jobs), **columns)
    return units_of(SearchProblem(workload, machine, Objectives.of("makespan")))


@pytest.mark.parametrize(
    ("widest", "joined"), [(1, []), (9, []), (10, [1, 3]), (17, [1, 3]), (18, [0, 1, 3]), (21, [0, 1, 3])]
)
def test_the_largest_clusters_are_joined_as_few_as_hold_every_job(widest: int, joined: list[int]) -> None:
    """Tests who is one unit, and that every other cluster is one of its own."""
    found = units([1, widest, 2])
    assert found is not None
    members = [list(range(*ends)) for ends in zip(found.first_group[:-1], found.first_group[1:], strict=True)]
    groups = [found.group[part].tolist() for part in members]
    alone = [[k] for k in range(4) if k not in joined]
    assert groups == ([joined] if joined else []) + alone
    assert len(found.unit) == 4 + bool(joined)  # a home each, and one for all that are joined
    fits = [[int(nodes >= tasks) for nodes in (4, 9, 3, 8)] for tasks in (1, widest, 2)]
    assert found.allowed[:, :4].tolist() == fits
    if joined:
        assert found.covers[4].tolist() == [int(k in joined) for k in range(4)]
        assert found.allowed[:, 4].all()


@pytest.mark.parametrize("widest", [22, 24])
def test_where_all_clusters_are_joined_there_is_no_unit(widest: int) -> None:
    """Tests that a job which only the whole machine holds leaves plans whole."""
    assert units([1, widest]) is None


def test_a_job_that_may_not_use_the_largest_joins_more() -> None:
    """Tests that what joined clusters hold is counted where the job may run."""
    sites = {"sites": ("C1", "C2", "C3", "C4"), "allowed": [[True] * 4, [True, False, False, True]]}
    found = units([1, 11], **sites)  # 4 + 8, beside which 9 is larger
    assert found is not None
    assert found.group[: found.first_group[1]].tolist() == [0, 1, 3]


def test_groups_keep_their_order_within_a_unit() -> None:
    """Tests that what is fastest, cheapest and where in the whole machine is so among the groups of a unit."""
    machine = fs.Federation(
        (
            fs.Cluster("A", (fs.NodeGroup(2, 1.0, 100, 50), fs.NodeGroup(3, 2.0, 300, 50))),
            fs.Cluster("B", (fs.NodeGroup(1, 3.0, 200, 50),)),
            fs.Cluster("C", (fs.NodeGroup(4, 0.5, 90, 80), fs.NodeGroup(2, 4.0, 900, 50))),
        )
    )
    found = units([10], machine)  # A and C
    assert found is not None
    assert found.group.tolist() == [0, 1, 3, 4, 2]
    groups = found.groups
    assert groups.cluster.tolist() == [0, 0, 1, 1, 0]
    assert groups.cluster_begin.tolist() == [0, 2, 4, 0, 1]
    assert groups.fast_in_cluster.tolist() == [1, 0, 3, 2, 0]
    assert groups.fast.tolist() == [3, 1, 0, 2, 0]
    assert groups.cheap.tolist() == [2, 0, 1, 3, 0]
    assert groups.nodes.tolist() == [2, 3, 4, 2, 1]
