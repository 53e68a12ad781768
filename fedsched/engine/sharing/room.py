"""The room that a run on shared nodes works in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.least_tree import places_for
from fedsched.engine.codes import OnRunning
from fedsched.engine.shared_nodes.arrays import Gone, Held, Line, Number, Stock, Work

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Problem
    from fedsched.engine.shared_nodes.arrays import Ints, Sharing

MANY = 2**40  # tasks: more than fit anywhere


def runs_to_lose(problem: Problem, sharing: Sharing) -> Ints:
    """Return how many jobs each downtime may take nodes from, at most, of those that take any."""
    if problem.extras is None:
        return _ints(0)
    calendar, nodes = problem.extras.calendar, sharing.nodes
    group = calendar.group[(calendar.on_running != OnRunning.WAIT) & (calendar.begin > problem.t0)]
    cores = np.diff(nodes.first) * nodes.has[0]  # of which each task has one at least
    return np.asarray(np.minimum(cores[group], problem.submit.size))


def new_work(sharing: Sharing, present: Held | None = None, lost: Ints | None = None) -> Work:
    """Return the room for a run of these jobs; `present` is what those that run at its begin hold.

    So many jobs as `lost` says may lose their nodes at a time, and have others beside those then.
    """
    of_kinds, nodes = sharing.kinds, sharing.nodes.group.size
    jobs, kinds = of_kinds.of_job.size, of_kinds.tasks.size
    tasks, share = of_kinds.tasks[of_kinds.of_job], of_kinds.share[of_kinds.of_job]
    groups, devices = sharing.nodes.gpus.size, int(sharing.nodes.gpus.max(initial=0))
    lost = _ints(0) if lost is None else lost
    pieces = _in_all(np.minimum(tasks, nodes), lost) + nodes  # behind all that jobs hold, what a head would
    each = of_kinds.need[of_kinds.of_job, sharing.gpu] if sharing.gpu >= 0 else np.zeros(jobs, dtype=np.int64)
    taken = np.minimum(tasks * (each + (share > 0)), np.where(share > 0, MANY, nodes * devices))
    leaves = places_for(jobs)
    return Work(
        number=_ints(len(Number)),
        now=_stock(sharing, devices),
        later=_stock(sharing, devices),
        both=_stock(sharing, devices),
        held=holding(jobs, pieces, _in_all(taken, lost) + int(taken.max(initial=0))),
        present=holding(jobs, 0, 0) if present is None else present,
        gone=Gone(*(_ints(int(lost.sum())) for _ in Gone._fields)),
        line=Line(
            shortest=np.full(2 * leaves, np.inf),
            job=_ints(jobs),
            place=_ints(jobs),
            waiting=_ints(kinds),
            kinds=_ints(kinds),
            at=_ints(kinds),
            next=_ints(kinds),
            heap=_ints(kinds),
            beside=_ints(kinds),
        ),
        bound=_ints(kinds),
        freed=_ints(nodes),
        room=_ints(groups),
        fit=_ints(nodes),
        order=_ints(nodes),
        ended=np.array(sharing.closures.first[:-1]),
        on=np.zeros((sharing.counted.amount.size, nodes), dtype=np.int64),
        left=np.array(sharing.counted.amount),
    )


def _in_all(each: Ints, lost: Ints) -> int:
    # What all jobs hold, and those that lose it once more: as many at a time, and no more than all jobs together.
    return int(each.sum() + np.minimum(lost * each.max(initial=0), each.sum()).sum())


def holding(jobs: int, pieces: int, gpus: int) -> Held:
    """Return room for what so many jobs hold; pages that are never reached cost no memory."""
    return Held(
        first=_ints(jobs),
        pieces=_ints(jobs),
        node=np.empty(pieces, dtype=np.int64),
        tasks=np.empty(pieces, dtype=np.int64),
        first_device=_ints(jobs),
        devices=_ints(jobs),
        device_node=np.empty(gpus, dtype=np.int64),
        device=np.empty(gpus, dtype=np.int64),
        amount=np.empty(gpus, dtype=np.int64),
    )


def _stock(sharing: Sharing, devices: int) -> Stock:
    resources, nodes = sharing.nodes.has.shape[0], sharing.nodes.group.size
    return Stock(
        free=np.zeros((resources, nodes), dtype=np.int64),
        jobs=_ints(nodes),
        left=np.zeros((nodes, devices), dtype=np.int64),
    )


def _ints(size: int) -> Ints:
    return np.zeros(size, dtype=np.int64)
