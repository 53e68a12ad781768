"""Scans of the queue: the next job that may fit, woken where it sleeps with those of its kind (engine/sleepers.py)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.optional_features.limits import wakes
from fedsched.engine.queue import queue_tree as queues

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Problem, Queue, State


@inlined
def next_small(problem: Problem, state: State, queue: Queue, position: int, free: int) -> int:
    """Return the first position from `position` on whose job needs at most `free` nodes, or -1."""
    found = queues.next_small(queue, position, free)
    while wakes(more_than_closing(problem.extras), state.extras, state, queue.order, found):
        found = queues.next_small(queue, found, free)
    return found


@inlined
def next_candidate(
    problem: Problem, state: State, queue: Queue, position: int, free: int, window: float, extra: int
) -> int:
    """Return the first position from `position` on whose job may fit: small, and either short or small enough."""
    found = queues.next_candidate(queue, position, free, window, extra)
    while wakes(more_than_closing(problem.extras), state.extras, state, queue.order, found):
        found = queues.next_candidate(queue, found, free, window, extra)
    return found
