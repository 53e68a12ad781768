"""The tables of a grouped queue: views of two arrays, each of numbers of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from plain import arrived, clusters, jobs, plain

from fedsched.engine import states
from fedsched.engine.arrays import ClassNumber

if TYPE_CHECKING:
    import pytest

tables = plain("fedsched.engine.class_tables")
PAIR = clusters(((6, 1.0),), ((3, 1.0), (3, 0.5)))


def test_tables_share_their_room_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table has numbers of its own, behind those of the queue, and the tree has those that are left."""
    monkeypatch.setattr(states, "LONG_QUEUE", 1)
    _, _, state = arrived(jobs([2] * 9, [1.0] * 9), PAIR, dispatch="easy")
    state.classes.number[:] = 0
    found = tables.tables_of(state)
    parts = (found.table, found.sets, found.cell, found.class_at, found.limits, found.key_at, found.least)
    for mark, part in enumerate(parts, 1):
        part[...] = mark
    assert [np.unique(part).tolist() for part in parts] == [[1], [2], [3], [4], [5], [6], [7]]
    assert np.flatnonzero(state.classes.number == 0).tolist() == list(range(len(ClassNumber)))
    assert found.class_at.size == found.key_at.size == 9
    assert (state.classes.other > 0).all()


def test_the_tree_has_room_for_all_blocks() -> None:
    """A leaf for every block of positions, and as many nodes above them, for every class."""
    for jobs_there, leaves in ((1, 1), (32, 1), (33, 2), (64, 2), (65, 4), (4096, 128), (4097, 256)):
        whole, other = tables.room_for(jobs_there, 3)
        assert other == tables.MOST_CLASSES * (len(tables.ClassRow) + 2 * leaves) + jobs_there
        assert whole > tables.CELLS + jobs_there
