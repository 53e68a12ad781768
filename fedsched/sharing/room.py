"""The room that a run on shared nodes works in."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.sharing.arrays import Held, Line, Number, Stock, Work

if TYPE_CHECKING:
    from fedsched.sharing.arrays import Ints, Sharing

MANY = 2**40  # tasks: more than fit anywhere


def new_work(sharing: Sharing, present: Held | None = None) -> Work:
    """Return the room for a run of these jobs; `present` is what those that run at its begin hold."""
    of_kinds, nodes = sharing.kinds, sharing.nodes.group.size
    jobs, kinds = of_kinds.of_job.size, of_kinds.tasks.size
    tasks, share = of_kinds.tasks[of_kinds.of_job], of_kinds.share[of_kinds.of_job]
    groups, devices = sharing.nodes.gpus.size, int(sharing.nodes.gpus.max(initial=0))
    pieces = int(np.minimum(tasks, nodes).sum()) + nodes  # behind all that jobs hold, what a head would
    each = of_kinds.need[of_kinds.of_job, sharing.gpu] if sharing.gpu >= 0 else np.zeros(jobs, dtype=np.int64)
    taken = np.minimum(tasks * (each + (share > 0)), np.where(share > 0, MANY, nodes * devices))
    leaves = 1 << max(jobs - 1, 0).bit_length()
    return Work(
        number=_ints(len(Number)),
        now=_stock(sharing, devices),
        later=_stock(sharing, devices),
        both=_stock(sharing, devices),
        held=holding(jobs, pieces, int(taken.sum() + taken.max(initial=0))),
        present=holding(jobs, 0, 0) if present is None else present,
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
    )


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
