"""The arrays that a run on shared nodes works in, with room for all that jobs can hold."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.least_tree import places_for
from fedsched.engine.codes import OnRunning
from fedsched.engine.shared_nodes.arrays import Gone, Held, Line, Number, PlannedJobs, PlannedNumber, Stock, Work

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Problem
    from fedsched.engine.shared_nodes.arrays import Ints, Sharing

MANY = 2**40  # parts of devices; more than there are: no bound


def runs_to_lose(problem: Problem, sharing: Sharing) -> Ints:
    """Return, for each closure that takes nodes from jobs, the most jobs that can lose nodes to it."""
    if problem.extras is None:
        return _ints(0)
    calendar, nodes = problem.extras.calendar, sharing.nodes
    group = calendar.group[(calendar.on_running != OnRunning.WAIT) & (calendar.begin > problem.t0)]
    cores = np.diff(nodes.first) * nodes.has[0]  # each task takes at least one
    return np.asarray(np.minimum(cores[group], problem.submit.size))


def new_work(
    sharing: Sharing, present: Held | None = None, lost: Ints | None = None, *, plans: bool = False, pools: int = 0
) -> Work:
    """Return the arrays for a run of these jobs; `present` is what jobs that run at its begin hold.

    `plans` says whether a conservative rule makes reservations for them, in which they need some of `pools` pools.

    `lost` has the most jobs that each closure makes lose their nodes. Such a job is allocated nodes again, while the
    entries of its lost run stay.
    """
    of_kinds, nodes = sharing.kinds, sharing.nodes.group.size
    jobs, kinds = of_kinds.of_job.size, of_kinds.tasks.size
    tasks, share = of_kinds.tasks[of_kinds.of_job], of_kinds.share[of_kinds.of_job]
    groups, devices = sharing.nodes.gpus.size, int(sharing.nodes.gpus.max(initial=0))
    lost = _ints(0) if lost is None else lost
    pieces = _in_all(np.minimum(tasks, nodes), lost) + nodes  # the last are for the head's reservation
    each = of_kinds.need[of_kinds.of_job, sharing.gpu] if sharing.gpu >= 0 else np.zeros(jobs, dtype=np.int64)
    taken = np.minimum(tasks * (each + (share > 0)), np.where(share > 0, MANY, nodes * devices))
    leaves, planned = places_for(jobs), jobs if plans else 0
    return Work(
        number=_ints(len(Number)),
        now=_stock(sharing, devices),
        later=_stock(sharing, devices),
        both=_stock(sharing, devices),
        held=holding(jobs, pieces, _in_all(taken, lost) + int(taken.max(initial=0))),
        planned=PlannedJobs(
            number=_ints(len(PlannedNumber)),
            time=np.zeros(2 * planned),
            job=_ints(2 * planned),
            begins=_ints(2 * planned),
            held=holding(planned, pieces if plans else 0, int(taken.sum()) if plans else 0),
            stock=_stock(sharing, devices),
            not_before=np.zeros(kinds),
            shortest=np.zeros(kinds),
            time_of=np.zeros(2),
            pool=_ints(pools),
            walked_pool=_ints(pools),
            least_pool=_ints(pools),
        ),
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
    # Returns the entries that all jobs need, plus the most that jobs can need again after each closure.
    return int(each.sum() + np.minimum(lost * each.max(initial=0), each.sum()).sum())


def holding(jobs: int, pieces: int, gpus: int) -> Held:
    """Return arrays for what `jobs` jobs hold: `pieces` pieces, and `gpus` parts of devices.

    Pages of memory that are never written cost nothing.
    """
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
