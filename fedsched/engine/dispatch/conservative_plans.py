"""Promises: what a plan over several groups gave the jobs that wait on, and whose search the next pass can spare [12].

Each pass makes such a plan anew: a job that starts now may take nodes that waiting jobs before it in the queue were
to choose among. But while all goes as planned, nothing else changes: the jobs before a job keep their places, and
nothing is freed. Windows that lacked nodes in all lack them still; so where whoever started from behind a job ends
before the first window with nodes enough in all, the search for its place would find what it found. Of all others
the search is made, and as soon as one of them finds another place, it is made of all that follow.
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
def recall(state: State, j: int) -> int:
    """Return the breakpoint from which a job has its promised nodes, those in `state.scratch.chosen`; or -1."""
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
def promise(state: State, j: int, begin: int) -> bool:
    """Promise a job what its search has found; return whether that is what it was promised before."""
    profile, chosen = state.profile, state.scratch.chosen
    if begin < NOW:
        return False
    same = profile.reserved[j] == profile.time[begin]
    for g in range(chosen.size):
        same = same and profile.promised[j, g] == chosen[g]
        profile.promised[j, g] = chosen[g]
    return same


@part
def doubt(state: State, position: int, end: float) -> None:
    """Doubt what jobs before this position were promised, where one that starts from here until `end` may touch it."""
    queue, untouched = state.queue, state.profile.untouched
    before = next_small(queue, FIRST, ANY)
    while 0 <= before < position:
        j = queue.order[before]
        if untouched[j] < end:
            untouched[j] = IN_DOUBT
        before = next_small(queue, before + 1, ANY)
