"""Caps: who may have how many nodes of each group."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import clusters, jobs

from fedsched.engine.pack.node_caps import caps_table, checked_caps

PAIR = clusters(((2, 1.0), (3, 2.0)), ((4, 2.0), (1, 4.0)))


def test_jobs_without_limits_share_one_row_of_caps() -> None:
    """One row of all nodes for everybody; limits of one's own, and allowed clusters, make rows of their own."""
    three = jobs([1, 1, 1], [1.0] * 3)
    table, row_of = caps_table(three, PAIR)
    assert (table.tolist(), row_of.tolist()) == ([[2, 3, 4, 1]], [0, 0, 0])
    table, row_of = caps_table(three, PAIR, np.array([[9, 9, 9, 9], [0, 1, 0, 0], [2, 3, 4, 1]]))
    assert table[row_of].tolist() == [[2, 3, 4, 1], [0, 1, 0, 0], [2, 3, 4, 1]]
    assert len(table) == 2


def test_caps_are_checked() -> None:
    """Whole numbers of at least 0, one a job and group; a number beyond all machines is as good as all nodes."""
    assert checked_caps(np.array([[2**62, 0]]), 1, 2)[0, 1] == 0
    assert checked_caps(np.array([[2**62, 0]]), 1, 2)[0, 0] < 2**62
    for wrong, said in (
        (np.zeros((2, 2), dtype=int), r"shape \(2, 2\) must be"),
        (np.array([[-1, 0]]), "at least 0"),
        (np.array([[1.0, 0.0]]), "whole number"),
    ):
        with pytest.raises(ValueError, match=said):
            checked_caps(wrong, 1, 2)
