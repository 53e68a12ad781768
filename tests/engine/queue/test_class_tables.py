"""The tables of a grouped queue: views of two arrays, each of numbers of its own."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.plain import arrived, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.arrays import new_state
from fedsched.engine.numbers import ClassNumber

tables = plain("fedsched.engine.queue.class_tables")
PAIR = clusters(((6, 1.0),), ((3, 1.0), (3, 0.5)))


def test_tables_share_their_room_and_no_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each table has numbers of its own, behind those of the queue, and the trees have those that are left."""
    monkeypatch.setattr(new_state, "LONG_QUEUE", 1)
    machine = replace(PAIR, pools=(fs.Pool("a", 1), fs.Pool("b", 1)))
    _, _, state = arrived(jobs([2] * 9, [1.0] * 9), machine, dispatch="easy")
    state.classes.number[:] = 0
    found = tables.tables_of(state)
    parts = found[1:]
    for mark, part in enumerate(parts, 1):
        part[...] = mark
    assert [np.unique(part).tolist() for part in parts] == [[mark] for mark in range(1, len(parts) + 1)]
    assert np.flatnonzero(state.classes.number == 0).tolist() == list(range(len(ClassNumber)))
    assert found.class_at.size == found.place_at.size == found.position_of.size == found.key.size == 9
    assert (state.classes.other > 0).all()


@pytest.mark.parametrize("jobs_there", [1, 16, 17, 33, 4096, 4097])
def test_the_trees_have_room_for_all_blocks(jobs_there: int) -> None:
    """However the jobs share out among the classes: their trees and places end within the arrays."""
    block, most = int(tables.BLOCK), tables.MOST_CLASSES
    whole, other = tables.tables_size(jobs_there, 3, 2)
    room = other - most * len(tables.ClassRow) - jobs_there
    for classes in range(1, most + 1):
        for large in (jobs_there // classes, max(1, jobs_there // 2), block + 1, 2 * block + 1):
            members, left = [], jobs_there
            for _ in range(classes - 1):
                members.append(min(large, left))
                left -= members[-1]
            blocks = [-(-jobs_of_class // block) for jobs_of_class in (*members, left)]
            assert sum(2 << max(0, needed - 1).bit_length() for needed in blocks) <= room
    assert whole > tables.CELLS + 3 * jobs_there
