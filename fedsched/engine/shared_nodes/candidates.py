"""Which waiting jobs a pass over shared nodes has to look at: the first of each kind that fits now."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import part
from fedsched.engine.optional_features.reservation_queues import is_in_other_queue
from fedsched.engine.shared_nodes import line
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.shared_nodes.fitting import fits_now

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State
    from fedsched.engine.shared_nodes.arrays import Sharing, Work

ANY_LENGTH = np.finfo(np.float64).max  # seconds; no planned duration is longer


@part
def gather(problem: Problem, plan: Plan, state: State, sharing: Sharing, work: Work) -> None:
    """Collect in `Line.heap` the kinds that fit now, each with its first waiting job as candidate."""
    work.number[Number.HEAP] = 0
    for i in range(work.number[Number.KINDS]):
        kind = work.line.kinds[i]
        if work.bound[kind] < sharing.kinds.tasks[kind]:
            continue
        line.look_from(sharing, work, kind, sharing.begin[kind], ANY_LENGTH)
        j = work.line.job[work.line.next[kind]]
        if not is_in_other_queue(state.extras, j) and fits_now(problem, plan, state, sharing, work, j):
            work.line.heap[work.number[Number.HEAP]] = kind
            work.number[Number.HEAP] += 1
