"""Find the limits of QOS and accounts that keep a job waiting, by the rules of simulations of Slurm's scheduler."""

from __future__ import annotations

import bisect
import itertools
import math
import operator
import re
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import TraceError
from fedsched.core.text import counted
from fedsched.slurm.conf.job_factors import JobRequest
from fedsched.slurm.passes.limits_of_accounts import Part, Parts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from fedsched.site.steer import Queue, SlurmJob
    from fedsched.site.twin import Site
    from fedsched.slurm.priority.associations import Associations


# Slurm's reasons for jobs that wait for limits of jobs, users and accounts; those of partitions follow below.
_OF_LIMITS = re.compile(r"(QOS|ASSOC|JOBARRAYTASKLIMIT|MAX|GRP)\w*", re.ASCII)
OF_PARTITIONS = ("PARTITIONDOWN", "PARTITIONINACTIVE", "PARTITIONNODELIMIT", "PARTITIONTIMELIMIT", "ACCOUNTNOTALLOWED",
                 "QOSNOTALLOWED", "PARTITIONCONFIG")  # fmt: skip


def is_limit(reason: str) -> bool:
    """Return whether Slurm's reason, in upper case, means that a job waits for a limit other than a partition's."""
    return reason not in OF_PARTITIONS and _OF_LIMITS.fullmatch(reason) is not None


class Limits:
    """The limits of QOS and accounts on a cluster that enforces them; looks up which of them a job counts towards."""

    def __init__(self, accounts: Associations, of_partitions: Mapping[str, str]) -> None:
        self._parts = Parts(accounts, of_partitions)

    @classmethod
    def of_site(cls, site: Site, settings: Queue) -> Limits | None:
        """Return the limits in a dump of Slurm's output; None if the cluster enforces none, or the dump lacks them."""
        if site.accounts is None or not are_enforced(settings):
            return None
        partitions = site.machine.conf.partitions.items()
        return cls(site.accounts, {name: line.words.get("qos", "") for name, line in partitions})

    def parts_of(self, job: SlurmJob) -> list[Part]:
        """Return the limits that a job counts towards, each with how much the job takes of it.

        Raise `TraceError` if no file has the job's association: its user's entry in its account.
        """
        return self._parts.of(_request_of(job))

    def known_parts_of(self, job: SlurmJob) -> list[Part]:
        """Return what `parts_of` returns, but an empty list if no file has the job's association."""
        try:
            return self.parts_of(job)
        except TraceError:
            return []


def are_enforced(queue: Queue) -> bool:
    """Return whether a cluster enforces limits of QOS and accounts."""
    return bool({"limits", "safe", "1", "all"} & set(queue.setting("AccountingStorageEnforce").lower().split(",")))


class FullLimit(NamedTuple):
    """A limit that a job would exceed now: the limit in words, the running jobs that use it, and when the job fits.

    `over` is when enough of these jobs have ended, if they run to their time limits; infinite if never.
    """

    words: str
    jobs: tuple[str, ...]
    over: float


class _Usage(NamedTuple):
    """Usage of one limit by running jobs, in order of their expected ends."""

    used: float
    ends: tuple[float, ...]
    left: tuple[float, ...]  # how much is used after each end
    jobs: tuple[str, ...]

    @classmethod
    def by(cls, uses: Iterable[tuple[float, float, str]]) -> _Usage:
        """Return the usage by jobs; each job is given as its end, the amount that it uses until then, and its name."""
        has = sorted(uses)
        used = sum(weight for _, weight, _ in has)
        left = itertools.accumulate((weight for _, weight, _ in has), operator.sub, initial=used)
        return cls(used, tuple(end for end, _, _ in has), tuple(left)[1:], tuple(target for _, _, target in has))

    def over(self, part: Part) -> float:
        """Return the first end of a running job after which the usage leaves enough for a part; infinite if none."""
        enough = bisect.bisect_left(self.left, True, key=lambda left: left + part.weight <= part.amount)
        return self.ends[enough] if enough < len(self.ends) else math.inf


class FullLimits:
    """Finds the limits that a waiting job would exceed now; the usage by running jobs is computed once."""

    def __init__(self, queue: Queue, limits: Limits | None) -> None:
        self._limits = limits
        taken: dict[str, list[tuple[float, float, str]]] = {}
        if limits is not None:
            for job in queue.running:
                for part in limits.known_parts_of(job):
                    taken.setdefault(part.of, []).append((job.expected_end(queue.now), part.weight, job.target))
        self._taken = {of: _Usage.by(uses) for of, uses in taken.items()}

    def of(self, job: SlurmJob) -> Iterator[FullLimit]:
        """Give the limits that a waiting job would exceed if it started now; none if no limits are known.

        Raise `TraceError` if limits are known, but not the job's association.
        """
        for part in () if self._limits is None else self._limits.parts_of(job):
            has = self._taken.get(part.of) or _Usage.by(())
            if not part.binds or has.used + part.weight <= part.amount:
                continue
            taken_by = f"{has.used:g} of it taken by {counted(len(has.jobs), 'running job')}"
            told = taken_by if has.jobs else "it asks for more"
            words = f"{part.of} is {part.amount:g}, {told}, and it needs {part.weight:g}"
            yield FullLimit(words, has.jobs, has.over(part))


def _request_of(job: SlurmJob) -> JobRequest:
    return JobRequest(
        user=job.user,
        account=job.account,
        partition=job.partition,
        qos=job.qos,
        nodes=job.nodes,
        cpus=job.cpus,
        limit=job.limit,
        amounts={"cpu": float(job.cpus), "node": float(job.nodes)},
    )
