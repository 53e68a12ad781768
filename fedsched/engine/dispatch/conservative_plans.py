"""Promises: planned starts and nodes over several groups, kept so that the next pass can skip most searches [12].

Each pass makes such a plan anew: a job that starts now may take nodes that waiting jobs ahead of it could have chosen.
But while all goes as planned, nothing else changes: the jobs ahead of a job keep their places, and no nodes are freed.
Windows with too few nodes in total stay too small. So a job's promise holds if each job that started from behind it
ends before the job's first window with enough nodes in total. All other jobs are searched again. As soon as one of them
gets another place, all jobs behind it are searched again too.
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
    """Return the breakpoint of a job's promised start and fill `state.scratch.chosen` with its nodes; or return -1."""
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
    """Keep the start and nodes that a job's search has found; return whether they equal the earlier promise."""
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
    """Invalidate promises of jobs before this position that a job started from here may affect until its `end`."""
    queue, untouched = state.queue, state.profile.untouched
    before = next_small(queue, FIRST, ANY)
    while 0 <= before < position:
        j = queue.order[before]
        if untouched[j] < end:
            untouched[j] = IN_DOUBT
        before = next_small(queue, before + 1, ANY)
