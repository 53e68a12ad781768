"""Scans of the queue for the next job that may fit.

One queue entry may stand for several parked jobs, which were hidden over a limit; a scan that meets it expands it
(parked_jobs.py).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined
from fedsched.engine.loop.feature_flags import more_than_closing
from fedsched.engine.optional_features.limits import expand_entry
from fedsched.engine.queue import queue_tree as queues

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Problem, Queue, State


@inlined
def next_small(problem: Problem, state: State, queue: Queue, position: int, free: int) -> int:
    """Return the first position from `position` on with a job that needs at most `free` nodes, or -1.

    An entry for several parked jobs that is met is expanded first.
    """
    found = queues.next_small(queue, position, free)
    while expand_entry(more_than_closing(problem.extras), state.extras, state, queue.order, found):
        found = queues.next_small(queue, found, free)
    return found


@inlined
def next_candidate(
    problem: Problem, state: State, queue: Queue, position: int, free: int, window: float, extra: int
) -> int:
    """Return the first position from `position` on with a job that may fit beside EASY's reservation, or -1.

    The job needs at most `free` nodes; and it lasts at most `window` seconds, or needs at most `extra` nodes.
    """
    found = queues.next_candidate(queue, position, free, window, extra)
    while expand_entry(more_than_closing(problem.extras), state.extras, state, queue.order, found):
        found = queues.next_candidate(queue, found, free, window, extra)
    return found
