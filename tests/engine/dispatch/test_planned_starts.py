"""Jobs that are due: by planned start, then by place in the queue."""

from __future__ import annotations

import numpy as np
from support.plain import arrived, jobs, plain

import fedsched as fs
from fedsched.engine.numbers import Clock

planned_starts = plain("fedsched.engine.dispatch.planned_starts")
MANY = 60


def test_who_is_due_comes_by_planned_start_and_place() -> None:
    """Nobody comes before the time, those of one instant come in queue order, and some may join in between."""
    rng = np.random.default_rng(3)
    order = rng.permutation(MANY)
    workload = jobs([1] * MANY, [1.0] * MANY)
    _, _, state = arrived(workload, fs.Federation.homogeneous(4), dispatch="conservative", order=order)
    state.profile.reserved[:] = rng.integers(1, 9, MANY)
    planned_starts.clear_planned(state)
    assert planned_starts.pop_due(state) == -1
    waiting = list(rng.permutation(MANY))
    for j in waiting[:40]:
        planned_starts.add_planned(state, j)
    came = []
    for now in (0.5, 3.0, 3.5, 9.0):
        state.clock[Clock.NOW] = now
        while (j := planned_starts.pop_due(state)) >= 0:
            assert state.profile.reserved[j] <= now
            came.append(j)
        if now == 3.5:
            for late in waiting[40:]:
                planned_starts.add_planned(state, late)
    assert sorted(came) == list(range(MANY))
    assert state.clock[Clock.NEXT_DUE] == np.inf
    for some in (came[: sum(state.profile.reserved[waiting[:40]] <= 3)], came[-10:]):
        keys = [(state.profile.reserved[j], state.queue.position[j]) for j in some]
        assert keys == sorted(keys)
    planned_starts.add_planned(state, 0)
    planned_starts.clear_planned(state)
    assert planned_starts.pop_due(state) == -1
