"""Limits of QOS and of accounts that have no room for a job, by the same rules as simulations of Slurm's scheduler."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fedsched.errors import TraceError
from fedsched.slurm.asked import Asked
from fedsched.slurm.limits_of_accounts import Parts
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.outlook.present import Present
    from fedsched.steer import SlurmJob


class Full(NamedTuple):
    """A limit that has no room for a job: who has it, and when enough of them have ended by their own limits."""

    words: str
    jobs: tuple[str, ...]
    over: float


def full_limits(present: Present, job: SlurmJob) -> Iterator[Full]:
    """Give the limits that have no room for a waiting job; nothing where none are enforced, or none are known."""
    if present.accounts is None:
        return
    queue, parts = present.queue, Parts(present.accounts, present.of_partitions)
    taken: dict[str, list[tuple[float, float, str]]] = {}  # of each limit: when who ends, and what he gives back then
    for other in queue.running:
        try:
            found = parts.of(_asked(other))
        except TraceError:  # whose user has been removed since
            continue
        for part in found:
            taken.setdefault(part.of, []).append((other.expected_end(queue.now), part.weight, other.target))
    for part in parts.of(_asked(job)):
        has = sorted(taken.get(part.of, []))
        used = sum(weight for _, weight, _ in has)
        if not part.binds or used + part.weight <= part.amount:
            continue
        over, left = math.inf, used
        for end, weight, _ in has:
            left -= weight
            if left + part.weight <= part.amount:
                over = end
                break
        taken_by = f"{used:g} of it taken by {counted(len(has), 'running job')}" if has else "it asks for more"
        yield Full(
            f"{part.of} is {part.amount:g}, {taken_by}, and it needs {part.weight:g}",
            tuple(target for _, _, target in has), over,
        )  # fmt: skip


def _asked(job: SlurmJob) -> Asked:
    return Asked(
        user=job.user,
        account=job.account,
        partition=job.partition,
        qos=job.qos,
        nodes=job.nodes,
        cpus=job.cpus,
        limit=job.limit,
        amounts={"cpu": float(job.cpus), "node": float(job.nodes)},
    )
