"""Which number stands where: each kind fills its array from the first place on, and a new state has room for all."""

from __future__ import annotations

from enum import IntEnum

import pytest

import fedsched as fs
from fedsched.engine import numbers
from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.codes import Needs
from fedsched.engine.numbers import Clock, ClosedNumber, Counter, LostNumber, WaitingNumber
from fedsched.engine.pack.problem import pack
from fedsched.model.reading import Reading

KINDS = [kind for kind in vars(numbers).values() if isinstance(kind, type) and kind.__base__ is IntEnum]


@pytest.mark.parametrize("kind", KINDS)
def test_places_are_without_gaps(kind: type[IntEnum]) -> None:
    """Tests that an array as long as the kind has names has a place for each, and none for nothing."""
    assert sorted(kind) == list(range(len(kind)))


def test_a_state_has_room_for_all() -> None:
    """Tests that a new state's arrays of numbers are as long as their kinds."""
    workload = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[1, 1], user=[1, 1])
    federation = fs.Federation(clusters=fs.Federation.of(2).clusters, limits=(fs.Limit("user", jobs=1),))
    state = new_state(pack(workload, federation, reading=Reading()), needs=Needs.NOTHING, separate_backfill=False)
    assert (state.counter.size, state.clock.size) == (len(Counter), len(Clock))
    assert state.extras is not None
    assert state.extras.waiting.number.size == len(WaitingNumber)
    assert state.extras.closed.number.size == len(ClosedNumber)
    assert state.extras.lost.number.size == len(LostNumber)
