"""Limits of QOS and of accounts that have no room for a job, by the same rules as simulations of Slurm's scheduler."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, NamedTuple

from fedsched.errors import TraceError
from fedsched.slurm.asked import Asked
from fedsched.slurm.limits_of_accounts import Part, Parts
from fedsched.text import counted

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fedsched.slurm.associations import Associations
    from fedsched.steer import Queue, SlurmJob
    from fedsched.twin import Site


# Why Slurm says that a job waits, of limits of jobs, users and accounts; those of partitions have words of their own.
_OF_LIMITS = re.compile(r"(QOS|ASSOC|JOBARRAYTASKLIMIT|MAX|GRP)\w*", re.ASCII)
OF_PARTITIONS = ("PARTITIONDOWN", "PARTITIONINACTIVE", "PARTITIONNODELIMIT", "PARTITIONTIMELIMIT", "ACCOUNTNOTALLOWED",
                 "QOSNOTALLOWED", "PARTITIONCONFIG")  # fmt: skip


def is_limit(reason: str) -> bool:
    """Return whether a job that waits for this waits for a limit."""
    return reason not in OF_PARTITIONS and _OF_LIMITS.fullmatch(reason) is not None


class Limits:
    """Who may have how much, on a cluster that enforces it."""

    def __init__(self, accounts: Associations, of_partitions: Mapping[str, str]) -> None:
        self._parts = Parts(accounts, of_partitions)

    @classmethod
    def of_site(cls, site: Site, settings: Queue) -> Limits | None:
        """Return those of a dump; None where it enforces none, or does not tell of them."""
        if site.accounts is None or not are_enforced(settings):
            return None
        partitions = site.machine.conf.partitions.items()
        return cls(site.accounts, {name: line.words.get("qos", "") for name, line in partitions})

    def parts_of(self, job: SlurmJob) -> list[Part]:
        """Return what a job takes of which limits; raise where no file has its association."""
        return self._parts.of(_asked(job))

    def known_parts_of(self, job: SlurmJob) -> list[Part]:
        """Return the same, and nothing for a job whose association no file has, as of a user who has been removed."""
        try:
            return self.parts_of(job)
        except TraceError:
            return []


def are_enforced(queue: Queue) -> bool:
    """Return whether a cluster enforces limits of QOS and accounts."""
    return bool({"limits", "safe", "1", "all"} & set(queue.setting("AccountingStorageEnforce").lower().split(",")))


class Full(NamedTuple):
    """A limit that has no room for a job: who has it, and when enough of them have ended by their own limits."""

    words: str
    jobs: tuple[str, ...]
    over: float


def full_limits(queue: Queue, limits: Limits | None, job: SlurmJob) -> Iterator[Full]:
    """Give the limits that have no room for a waiting job; nothing where none are enforced, or none are known."""
    if limits is None:
        return
    taken: dict[str, list[tuple[float, float, str]]] = {}  # of each limit: when who ends, and what he gives back then
    for other in queue.running:
        for part in limits.known_parts_of(other):
            taken.setdefault(part.of, []).append((other.expected_end(queue.now), part.weight, other.target))
    for part in limits.parts_of(job):
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
