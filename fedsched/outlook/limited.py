"""A queue as it is replayed where limits of QOS and accounts hold: each limit is a pool that jobs take their parts of.

Who runs has what he takes, whether that limit binds him or not, and may have more than a limit lets that was wider when
he began. Of who waits only what binds him counts.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from typing import TYPE_CHECKING

from fedsched.errors import TraceError
from fedsched.model.federation import Pool
from fedsched.model.pools import PoolNeeds
from fedsched.outlook.limits import full_limits, is_limit
from fedsched.steer.picture import backfills, picture_of
from fedsched.text import counted, first_of

if TYPE_CHECKING:
    from collections.abc import Collection

    from fedsched.outlook.limits import Limits
    from fedsched.steer import Queue, SlurmJob
    from fedsched.steer.picture import Picture

IN_TURN = "PRIORITY"


def in_turn(queue: Queue, limits: Limits | None) -> Queue:
    """Return the queue in which who waits for a limit that is known waits in turn, for that limit is in the replays."""
    if limits is None or not backfills(queue):
        return queue
    jobs = tuple(replace(job, reason=IN_TURN) if _waits_for_one(queue, job, limits) else job for job in queue.jobs)
    return replace(queue, jobs=jobs)


def _waits_for_one(queue: Queue, job: SlurmJob, limits: Limits) -> bool:
    if not job.waits or job.is_held or not is_limit(job.reason):
        return False
    try:
        full = [*full_limits(queue, limits, job)]
    except TraceError:  # whose association no file has
        return False
    return bool(full) and all(math.isfinite(one.over) for one in full)


def _never_runs(job: SlurmJob, limits: Limits) -> bool:
    return any(part.binds and part.weight > part.amount for part in limits.known_parts_of(job))


def picture_within(queue: Queue, limits: Limits | None, free: Collection[int] = ()) -> Picture:
    """Return a queue as the model has it, within limits; none binds the jobs of these numbers."""
    if limits is None or not backfills(queue):
        return picture_of(queue)
    over = [job for job in queue.waiting if job.number not in free and _never_runs(job, limits)]
    gone = {job.number for job in over}
    picture = picture_of(replace(queue, jobs=tuple(job for job in queue.jobs if job.number not in gone)))
    picture = _with_pools(picture, limits, free)
    if not over:
        return picture
    who = first_of(job.target for job in over)
    note = f"left aside: {counted(len(over), 'job')} that a limit never lets run ({who})"
    return replace(picture, notes=(*picture.notes, note))


def _with_pools(picture: Picture, limits: Limits, free: Collection[int]) -> Picture:
    waiting, running = picture.jobs[: picture.waiting], picture.jobs[picture.waiting :]
    amount: dict[str, int] = {}
    takes: dict[str, dict[int, int]] = defaultdict(dict)  # of each limit: which rows take how much
    for row, job in enumerate(waiting):
        for part in () if job.number in free else limits.known_parts_of(job):
            if part.binds:
                amount[part.of] = math.floor(part.amount)
                takes[part.of][row] = math.ceil(part.weight)
    for row, job in enumerate(running, start=picture.waiting):
        for part in limits.known_parts_of(job):
            if part.of in amount:
                takes[part.of][row] = math.ceil(part.weight)
    pools, needs = [], {}
    for of, most in amount.items():
        if sum(takes[of].values()) <= most:
            continue  # all of them fit at once
        pools.append(Pool(of, most))
        needs[of] = [takes[of].get(row, 0) for row in range(len(picture.jobs))]
    if not pools:
        return picture
    hold = f"{counted(len(pools), 'limit')} of QOS and accounts {'holds' if len(pools) == 1 else 'hold'} in the replays"
    return replace(
        picture,
        workload=replace(picture.workload, pools=PoolNeeds.of(needs, picture.workload.id)),
        federation=replace(picture.federation, pools=tuple(pools)),
        notes=(*picture.notes, hold),
    )
