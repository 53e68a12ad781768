"""The trees of least keys: a scan hands out what a look at every position finds, in their order."""

from __future__ import annotations

import numpy as np
import pytest
from support.grouped import busy, class_tables, scanned
from support.plain import plain

from fedsched.engine.arrays import new_state
from fedsched.engine.numbers import ClassNumber

class_tree = plain("fedsched.engine.queue.class_tree")
queue = plain("fedsched.engine.queue.queue_tree")


@pytest.fixture(autouse=True)
def _short_queues_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_state, "LONG_QUEUE", 1)


def by_hand(problem, state, tables) -> list[int]:
    """Return the positions whose jobs are within the limits of their classes, looked at one by one."""
    found = []
    for p, j in enumerate(state.queue.order):
        k = tables.class_at[p]
        room, beside = tables.sets[tables.table[k, 0], :2]
        small = problem.tasks[j] <= beside
        brief = problem.estimate[j] <= tables.limits[class_tables.ClassRow.BRIEF, k]
        if np.isnan(state.start[j]) and problem.tasks[j] <= room and (small or brief):
            found.append(p)
    return found


@pytest.mark.parametrize("seed", range(12))
def test_a_scan_finds_what_a_look_at_every_position_finds(seed: int) -> None:
    """The trees pass over stretches, not over jobs within the limits; whoever starts meanwhile is not met again."""
    rng = np.random.default_rng(seed)
    problem, plan, state, tables, window = busy(seed)
    for _ in range(3):
        found = scanned(problem, plan, state, window)
        assert found == by_hand(problem, state, tables)
        for p in rng.permutation(found)[: len(found) // 2]:
            state.start[state.queue.order[p]] = 0.0
            queue.dequeue(problem, plan, state, state.queue.order[p])
    gone = {p for p, j in enumerate(state.queue.order) if not np.isnan(state.start[j])}
    assert not gone & set(scanned(problem, plan, state, window))
    count, least = state.classes.number[ClassNumber.CLASSES], tables.least.copy()
    class_tree.fill(tables, count)
    for first, leaves in tables.table[:count, [class_tables.ClassColumn.TREE, class_tables.ClassColumn.LEAVES]]:
        assert np.array_equal(tables.least[first + 1 : first + 2 * leaves], least[first + 1 : first + 2 * leaves])
