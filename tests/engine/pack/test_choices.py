"""Which of their alternatives jobs can have on a federation."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.engine.pack.choices import possible_shapes

TWO = fs.Federation.of(4, 2)
JOBS = fs.Workload(
    submit=[0.0, 0.0, 0.0], tasks=[2, 3, 1], runtime=[8.0, 6.0, 4.0], alternatives={1: "4x5|2x8|7x3", 3: "1x4|2x3"}
)


def test_shapes_that_no_nodes_hold_are_left_out() -> None:
    """Seven nodes are more than there are; each job's present shape comes first."""
    found = possible_shapes(JOBS, TWO)
    assert found.owner.tolist() == [0, 0, 1, 2, 2]
    assert found.which.tolist() == [1, 0, 0, 0, 1]
    assert found.first.tolist() == [0, 2, 3, 5]
    assert found.each.tasks.tolist() == [2, 4, 3, 1, 2]
    assert found.caps[found.row_of].tolist() == [[4, 2]] * 5


def test_caps_and_partitions_leave_shapes_out() -> None:
    """By caps of each job, and by what its partition takes."""
    caps = np.array([[3, 0], [4, 2], [1, 0]])
    assert possible_shapes(JOBS, TWO, caps).which.tolist() == [1, 0, 0]
    name = TWO.clusters[0].name
    parts = replace(TWO, partitions=(fs.Partition("brief", {name: "all"}, max_time=8.0, default=True),))
    longer = replace(JOBS, alternatives={1: "4x5|2x8|1x9", 3: "1x4|2x3"})
    assert possible_shapes(longer, parts).each.runtime.tolist() == [8.0, 5.0, 6.0, 4.0, 3.0]
    briefer = replace(parts, partitions=(replace(parts.partitions[0], max_time=7.0),))
    with pytest.raises(InfeasibleError, match="Job 1: its request of 8 s is over the 7 s"):
        possible_shapes(longer, briefer)


def test_a_present_shape_is_left_for_whoever_packs_it() -> None:
    """It is refused by name there; here it stays the job's first."""
    wide = fs.Workload(submit=[0.0], tasks=[9], runtime=[1.0], alternatives={1: "9x1|3x3"})
    assert possible_shapes(wide, TWO).each.tasks.tolist() == [9, 3]
