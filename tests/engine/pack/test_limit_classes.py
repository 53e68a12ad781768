"""Kinds of jobs under limits: who takes as much of the same counters."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.plain import jobs

import fedsched as fs
from fedsched.engine.pack.limit_classes import by_their_nodes, limits_of
from fedsched.model.jobs.admission import count_in_nodes
from fedsched.model.machine.counters import counters_of


def test_jobs_that_take_as_much_of_the_same_are_a_kind() -> None:
    """Users and nodes tell kinds apart, run times do not; who says no user is of none."""
    work = jobs([1, 2, 1, 1, 2, 1], [1.0, 2, 3, 4, 5, 6], user=[7, 7, 7, 8, -1, 8])
    machine = replace(fs.Federation.homogeneous(4), limits=(fs.Limit("user", jobs=3), fs.Limit("user", nodes=4)))
    found = limits_of(counters_of(work, machine), work.tasks)
    assert found.kind.tolist() == [0, 1, 0, 2, -1, 2]
    assert found.amount.tolist() == [3, 3, 4, 4]  # jobs of 7 and of 8, then nodes
    assert found.first.tolist() == [0, 2, 4, 6]
    assert list(zip(found.counter, found.weight, strict=True)) == [(0, 1), (2, 1), (0, 1), (2, 2), (1, 1), (3, 1)]
    assert found.first_kind.tolist() == [0, 2, 3, 5, 6]
    assert found.of_counter.tolist() == [0, 1, 2, 0, 1, 2]
    assert found.kind_weight.tolist() == [1, 1, 1, 1, 2, 1]  # of each counter the least first
    assert found.first_place.tolist() == [0, 2, 3, 5]
    assert found.first_node.tolist() == [0, 4, 6, 10]
    assert not any(array.flags.writeable for array in found)


def test_without_limits_there_are_no_arrays() -> None:
    """Where nothing is limited there are no arrays."""
    work = jobs([1], [1.0])
    assert limits_of(counters_of(work, fs.Federation.homogeneous(4)), work.tasks) is None


def test_a_kind_of_many_counters_is_found_in_any_order() -> None:
    """Kinds are the same whether the counters of one job come before or behind those of another."""
    work = jobs([1] * 4, [1.0] * 4, user=[1, 2, 1, 2], labels={"array": ["a%1", "a%1", "", "a%1"]})
    machine = replace(fs.Federation.homogeneous(4), limits=(fs.Limit("user", jobs=3),))
    kinds = limits_of(counters_of(work, machine), work.tasks).kind
    assert len(np.unique(kinds)) == 3
    assert kinds[1] == kinds[3]


def test_whose_nodes_are_up_to_their_placement() -> None:
    """The least is known beforehand; a node counts as one, or as the CPUs of the tasks that it holds."""
    groups = tuple(fs.NodeGroup(n, resources={"cpu": cpus}) for n, cpus in ((3, 4), (2, 8)))
    limits = (fs.Limit("user", nodes=4), fs.Limit("user", cpus=40), fs.Limit("user", jobs=2))
    machine = fs.Federation((fs.Cluster("A", groups),), limits=limits)
    alone = {"layout": {"exclusive": [1, 1, 0]}, "demand": {"cpu": [2, 1, 2]}}
    work = jobs([12, 12, 2], [1.0, 1.0, 1.0], user=[1, 1, 1], **alone)
    held = count_in_nodes(work, machine)
    counters = counters_of(held, machine)
    assert list(zip(counters.counter, counters.job, counters.weight, strict=True)) == [
        (0, 0, 4), (0, 1, 2), (0, 2, 2), (1, 0, 24), (1, 1, 12), (1, 2, 4), (2, 0, 1), (2, 1, 1), (2, 2, 1),
    ]  # fmt: skip
    taken = counters.amounts_used(np.arange(9), np.tile([3, 1], (9, 1)))
    assert taken.tolist() == [4, 4, 2, 3 * 4 + 8, 3 * 4 + 8, 4, 1, 1, 1]
    found = limits_of(counters, held.tasks)
    assert sorted(found.kind.tolist()) == [0, 1, 2]
    assert by_their_nodes(found).tolist() == [True, True, False]
    row = found.row.reshape(3, 3)[found.kind]  # of each job
    assert (row[:2, :2] >= 0).all()
    assert (row[2] == -1).all()
    assert (row[:, 2] == -1).all()
    assert found.of_node[row[0]].tolist()[:2] == [[1, 1], [4, 8]]
