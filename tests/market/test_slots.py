"""Slots and timetables: sorted, merged, complementary, and refused when they contradict themselves."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsched.market import Slots, Timetable


def test_slots_are_sorted_by_start_and_touching_ones_merged() -> None:
    """The scan's order does not depend on the order given; two slots that touch are one."""
    slots = Slots([1, 0, 0, 1], [5.0, 3.0, 0.0, 0.0], [9.0, 6.0, 3.0, 4.0])
    assert list(zip(slots.start, slots.node, slots.end, strict=True)) == [(0, 0, 6), (0, 1, 4), (5, 1, 9)]
    assert slots.on_node(1) == [(0.0, 4.0), (5.0, 9.0)]
    assert slots.length.tolist() == [6.0, 4.0, 4.0]
    assert slots == Slots([0, 1, 1], [0.0, 0.0, 5.0], [6.0, 4.0, 9.0])
    assert slots != Slots([0], [0.0], [6.0])
    assert (slots == 3) is False
    assert str(slots) == "3 slots on 2 nodes, 14 node-time units free"
    assert not slots.start.flags.writeable


@pytest.mark.parametrize(
    ("node", "start", "end", "message"),
    [
        ([2, 2], [0.0, 3.0], [4.0, 6.0], r"node 2 has overlapping spans 0\.\.4 and 3\.\.6; the spans of a node must"),
        ([0, 1], [0.0, 5.0], [4.0, 5.0], r"row 1 on node 1: end=5\.0 must be finite and behind its start"),
        ([0], [0.0], [float("inf")], "end=inf must be finite"),
        ([0], [float("nan")], [1.0], "start=nan must be finite"),
        ([-1], [0.0], [1.0], "node=-1 must be at least 0"),
        ([0, 1], [0.0], [1.0], "must be rows of one length"),
    ],
)
def test_slots_that_contradict_themselves_are_refused(
    node: list[int], start: list[float], end: list[float], message: str
) -> None:
    """The error names node, spans and rule."""
    with pytest.raises(ValueError, match=message):
        Slots(node, start, end)
    with pytest.raises(ValueError, match="Timetable"):
        Timetable(node, start, end)


def test_nodes_are_whole_numbers() -> None:
    """Fractions of a node are a type error."""
    with pytest.raises(TypeError, match="node must hold whole numbers, not float64"):
        Slots([0.5], [0.0], [1.0])


def test_what_tasks_leave_is_free() -> None:
    """Tasks may stick out of the interval, touch each other and its ends; idle nodes are free throughout."""
    busy = Timetable([0, 0, 0, 2], [-5.0, 10.0, 20.0, 0.0], [5.0, 20.0, 35.0, 30.0])
    free = busy.free(4, 0.0, 30.0)
    assert free == Slots([0, 1, 3], [5.0, 0.0, 0.0], [10.0, 30.0, 30.0])
    assert Timetable().free(1, 0.0, 1.0) == Slots([0], [0.0], [1.0])
    outside = Timetable([0, 0], [-9.0, 40.0], [-3.0, 50.0])
    assert outside.free(1, 0.0, 30.0) == Slots([0], [0.0], [30.0])


def test_free_time_needs_an_interval_and_nodes() -> None:
    """An empty interval and a task on a node that is not there are refused."""
    with pytest.raises(ValueError, match="must have begin before end"):
        Timetable().free(1, 3.0, 3.0)
    with pytest.raises(ValueError, match="node 4 must be below nodes=4"):
        Timetable([4], [0.0], [1.0]).free(4, 0.0, 2.0)


@given(
    cuts=st.lists(st.lists(st.integers(0, 40), max_size=8, unique=True).map(sorted), min_size=1, max_size=4),
)
@settings(derandomize=True, deadline=None, max_examples=100)
def test_free_and_busy_are_each_other_s_rest(cuts: list[list[int]]) -> None:
    """Every instant of a node inside the interval is either free or taken, never both."""
    spans = [(n, a, b) for n, ends in enumerate(cuts) for a, b in zip(ends[::2], ends[1::2], strict=False)]
    node, start, end = np.array(spans, dtype=np.int64).reshape(-1, 3).T
    busy = Timetable(node, start, end)
    free = busy.free(len(cuts), 5.0, 35.0)
    for node in range(len(cuts)):
        for instant in np.arange(5.5, 35.0):
            taken = any(n == node and a <= instant < b for n, a, b in spans)
            idle = any(a <= instant < b for a, b in free.on_node(node))
            assert taken != idle
