"""Promises: planned starts and nodes over several groups, kept so that the next pass can skip most searches [12].

Each pass makes such a plan anew: a job that starts now may take nodes that waiting jobs ahead of it could have chosen.
But while all goes as planned, nothing else changes: the jobs ahead of a job keep their places, and no nodes are freed.
Windows with too few nodes in total stay too small. So a job's promise holds if each job behind it that has started ends
before the job's first window with enough nodes in total. All other jobs are searched again. As soon as one of them gets
another place, all jobs behind it are searched again too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.numbers import Counter
from fedsched.engine.profile.breakpoints import NOW, first_at
from fedsched.engine.queue.queue_tree import ANY, FIRST, next_small

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import State

NONE = constant(-1)
IN_DOUBT = -np.inf


@inlined
def recall_promise(state: State, j: int) -> int:
    """Return the profile row (breakpoint) at which a job's promised start lies, or -1 if no promise holds.

    If one does, fill `state.scratch.chosen` with the nodes promised in each group.
    """
    profile, chosen = state.profile, state.scratch.chosen
    if profile.untouched[j] == IN_DOUBT:
        return NONE
    rows = state.counter[Counter.BREAKPOINTS]
    begin = first_at(profile, profile.reserved[j], NOW, rows)
    if begin == rows or profile.time[begin] != profile.reserved[j]:
        return NONE
    for g in range(chosen.size):
        chosen[g] = profile.promised[j, g]
    return begin


@inlined
def keep_promise(state: State, j: int, begin: int) -> bool:
    """Store the nodes just found for a job as its promise; return whether start and nodes equal its earlier promise.

    If the search found no start (`begin` is -1), return False and store nothing. The caller stores the start.
    """
    profile, chosen = state.profile, state.scratch.chosen
    if begin < NOW:
        return False
    same = profile.reserved[j] == profile.time[begin]
    for g in range(chosen.size):
        same = same and profile.promised[j, g] == chosen[g]
        profile.promised[j, g] = chosen[g]
    return same


@part
def invalidate_promises(state: State, position: int, end: float) -> None:
    """Invalidate promises of queued jobs before `position`, as a job from there starts now and runs until `end`.

    A promise becomes invalid if its job's first window with enough nodes in total begins before `end`.
    """
    queue, untouched = state.queue, state.profile.untouched
    before = next_small(queue, FIRST, ANY)
    while 0 <= before < position:
        j = queue.order[before]
        if untouched[j] < end:
            untouched[j] = IN_DOUBT
        before = next_small(queue, before + 1, ANY)
