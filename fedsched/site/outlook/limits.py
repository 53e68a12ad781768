"""Limits of QOS and of accounts that have no room for a job, by the same rules as simulations of Slurm's scheduler."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
import re
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import TraceError
from fedsched.core.text import counted
from fedsched.slurm.conf.job_factors import Asked
from fedsched.slurm.passes.limits_of_accounts import Part, Parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fedsched.site.steer import Queue, SlurmJob
    from fedsched.site.twin import Site
    from fedsched.slurm.priority.associations import Associations


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


class _Taken(NamedTuple):
    """What of a limit is taken by those who run, by the order in which they end."""

    used: float
    ends: tuple[float, ...]
    left: tuple[float, ...]  # how much is taken behind each end
    jobs: tuple[str, ...]

    @classmethod
    def by(cls, who: Iterable[tuple[float, float, str]]) -> _Taken:
        """Return what these take: when each ends, what he gives back then, and what he is called."""
        has = sorted(who)
        used = sum(weight for _, weight, _ in has)
        left = itertools.accumulate((weight for _, weight, _ in has), operator.sub, initial=used)
        return cls(used, tuple(end for end, _, _ in has), tuple(left)[1:], tuple(target for _, _, target in has))

    def over(self, part: Part) -> float:
        """Return when there is room for a part; never, as infinity."""
        enough = bisect.bisect_left(self.left, True, key=lambda left: left + part.weight <= part.amount)
        return self.ends[enough] if enough < len(self.ends) else math.inf


class FullLimits:
    """Which limits have no room for who waits: what those who run have of each is looked up once."""

    def __init__(self, queue: Queue, limits: Limits | None) -> None:
        self._limits = limits
        taken: dict[str, list[tuple[float, float, str]]] = {}
        if limits is not None:
            for job in queue.running:
                for part in limits.known_parts_of(job):
                    taken.setdefault(part.of, []).append((job.expected_end(queue.now), part.weight, job.target))
        self._taken = {of: _Taken.by(who) for of, who in taken.items()}

    def of(self, job: SlurmJob) -> Iterator[Full]:
        """Give those of a waiting job; nothing where none are enforced, or none are known."""
        for part in () if self._limits is None else self._limits.parts_of(job):
            has = self._taken.get(part.of) or _Taken.by(())
            if not part.binds or has.used + part.weight <= part.amount:
                continue
            taken_by = f"{has.used:g} of it taken by {counted(len(has.jobs), 'running job')}"
            told = taken_by if has.jobs else "it asks for more"
            yield Full(f"{part.of} is {part.amount:g}, {told}, and it needs {part.weight:g}", has.jobs, has.over(part))


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
