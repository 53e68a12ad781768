"""The limits of QOS and of accounts: which jobs count towards them, and which jobs they bind [43].

A limit of the partition's QOS overrides that of the job's own QOS (with OverPartQOS, the other way round). Both
override those of the association and of the accounts above it.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from fedsched.slurm.conf.job_factors import JobRequest
    from fedsched.slurm.conf.policy import Slurm
    from fedsched.slurm.loop.structs import Ints, Limits
    from fedsched.slurm.priority.associations import Associations, Qos

COUNTED = ("grpjobs", "maxjobspu", "maxjobspa", "maxjobs", "grptres", "maxtrespu", "maxtrespa", "maxtres", "maxwall")
OF_THE_PAST = ("maxsubmit", "maxsubmitpu", "maxsubmitpa", "grpsubmit")  # jobs that these refused are in no log
OF_JOBS = {"grpjobs": "", "maxjobspu": "user", "maxjobspa": "account"}
OF_AMOUNTS = {"grptres": "", "maxtrespu": "user", "maxtrespa": "account"}
AMOUNTS = ("cpu", "node")  # the resources of jobs on whole nodes


class Part(NamedTuple):
    """A limit of a QOS or an account that a job counts towards; how much the job takes of it, and whether it binds."""

    of: str
    amount: float
    weight: float
    binds: bool  # no other limit overrides it
    kind: int = 2  # 1: a limit on the number of jobs, 2: on their resources

    @property
    def is_over_alone(self) -> bool:
        """Return whether the limit keeps the job from ever starting: it needs more than the whole limit."""
        return self.binds and self.weight > self.amount

    def __str__(self) -> str:
        return f"{self.weight:g} are over the limit of {self.amount:g} of {self.of}"


def are_enforced(slurm: Slurm) -> bool:
    """Return whether limits of accounts are enforced: accounts are given, and AccountingStorageEnforce asks for it."""
    return slurm.assoc is not None and slurm.priority.charges_ends


def are_enforced_of(slurm: Slurm, resource: str) -> bool:
    """Return whether accounts or QOS have limits on this resource that are enforced."""
    if slurm.assoc is None or not are_enforced(slurm):
        return False
    said = [*(one.limits for one in slurm.assoc.members), *(one.limits for one in slurm.assoc.qos.values())]
    return any(resource in _table(limits.get(name)) for limits in said for name in (*OF_AMOUNTS, "maxtres"))


def with_accounts(limits: Limits, slurm: Slurm, asked: Sequence[JobRequest], ids: Ints) -> Limits:
    """Return the limits, extended by those of accounts and QOS if these are enforced.

    Raise InfeasibleError if a job alone is over a limit, unless the policy lists it as admitted: then that limit does
    not bind it.
    """
    if slurm.assoc is None or not are_enforced(slurm):
        return limits
    parts = Parts.of_policy(slurm)
    place: dict[str, int] = {}
    amounts: list[float] = []
    rows: list[tuple[int, int, float, int, int]] = []
    for job, one in enumerate(asked):
        for part in parts.of(one):
            binds = part.binds
            if part.is_over_alone:
                if int(ids[job]) not in slurm.admitted:
                    raise InfeasibleError(f"Job {ids[job]}: its {part}; drop it, or give a wider limit.")
                binds = False
            if part.of not in place:
                place[part.of] = limits.amount.size + len(amounts)
                amounts.append(part.amount)
            rows.append((job, place[part.of], part.weight, int(binds), part.kind))
    before = np.repeat(np.arange(len(asked)), np.diff(limits.first))
    table = np.array(rows, dtype=np.float64).reshape(len(rows), 5)  # whole numbers far below 2^53
    owner = np.concatenate([before, table[:, 0]])
    order = np.argsort(owner, kind="stable")
    return limits._replace(
        amount=_ints([*limits.amount, *map(math.floor, amounts)]),
        first=_ints(np.searchsorted(owner[order], np.arange(len(asked) + 1))),
        counter=_ints(np.concatenate([limits.counter, table[:, 1]])[order]),
        weight=_ints(np.concatenate([limits.weight, np.ceil(table[:, 2])])[order]),
        binds=_ints(np.concatenate([limits.binds, table[:, 3]])[order]),
        kind=_ints(np.concatenate([limits.kind, table[:, 4]])[order]),
    )


def over_alone(slurm: Slurm, asked: Sequence[JobRequest]) -> dict[int, str]:
    """Return the jobs that are over a limit even if no other job runs: job index to that limit in words."""
    if not are_enforced(slurm):
        return {}
    parts = Parts.of_policy(slurm)
    over = {k: next((part for part in parts.of(one) if part.is_over_alone), None) for k, one in enumerate(asked)}
    return {k: str(part) for k, part in over.items() if part is not None}


def unmodelled_limits(slurm: Slurm) -> Iterator[str]:
    """Yield the limits of accounts and QOS that are not modelled or not enforced, a few words each."""
    if slurm.assoc is None:
        return
    given: dict[str, None] = {}
    said = [*(one.limits for one in slurm.assoc.members), *(one.limits for one in slurm.assoc.qos.values())]
    for limits in said:
        for name, value in limits.items():
            if isinstance(value, float):
                given[name] = None
            else:
                given |= {f"{name}={resource}" if resource not in AMOUNTS else name: None for resource in value}
    if given and not are_enforced(slurm):
        yield "limits, which AccountingStorageEnforce does not ask for"
        return
    yield from (name for name in given if name not in (*COUNTED, *OF_THE_PAST))
    if any(name in OF_THE_PAST for name in given):
        yield "limits of submissions (a log holds no refused jobs)"


def _ints(values: object) -> Ints:
    return np.ascontiguousarray(values, dtype=np.int64)


class Parts:
    """Looks up the limits that jobs count towards; jobs with the same request share one lookup."""

    def __init__(self, accounts: Associations, of_partitions: Mapping[str, str]) -> None:
        self.accounts, self.of_partitions = accounts, of_partitions
        self._known: dict[object, list[Part]] = {}

    @classmethod
    def of_policy(cls, slurm: Slurm) -> Parts:
        """Return the lookup for a policy that has accounts."""
        assert slurm.assoc is not None
        return cls(slurm.assoc, {name: line.words.get("qos", "") for name, line in slurm.conf.partitions.items()})

    def of(self, job: JobRequest) -> list[Part]:
        """Return the limits of QOS and accounts that a job counts towards."""
        amounts = tuple(job.amounts.get(name, 0.0) for name in AMOUNTS)
        request = (job.user, job.account, job.partition, job.qos, job.limit, amounts)
        if request not in self._known:
            self._known[request] = [*self._found(job)]
        return self._known[request]

    def _found(self, job: JobRequest) -> Iterator[Part]:
        members, place = self.accounts.members, self.accounts.place(job.user, job.account, job.partition)
        mine = members[place]
        qualities = self._qualities(job.partition, job.qos or mine.default_qos or "normal")
        of = {"": "", "user": f" of user {job.user!r}", "account": f" of account {mine.account!r}"}
        for name, each in OF_JOBS.items():
            bound = True
            for one in qualities:
                if (value := one.limits.get(name)) is not None:
                    yield Part(f"{name} of QOS {one.name!r}{of[each]}", _number(value), 1.0, bound, 1)
                    bound = False
            if name == "maxjobspu" and (own := self._inherited(place, "maxjobs")) is not None:
                yield Part(f"maxjobs of {mine.user!r} in {mine.account!r}", _number(own), 1.0, bound, 1)
            for k in self._above(place) if name == "grpjobs" else ():
                if (value := members[k].limits.get(name)) is not None:
                    yield Part(f"{name} of {self._called(k)}", _number(value), 1.0, bound, 1)
        for name, each in OF_AMOUNTS.items():
            for resource in AMOUNTS:
                bound, amount = True, float(job.amounts.get(resource, 0.0))
                for one in qualities:
                    if (most := _table(one.limits.get(name)).get(resource)) is not None:
                        yield Part(f"{name}={resource} of QOS {one.name!r}{of[each]}", most, amount, bound)
                        bound = False
                for k in self._above(place) if name == "grptres" else ():
                    if (most := _table(members[k].limits.get(name)).get(resource)) is not None:
                        yield Part(f"{name}={resource} of {self._called(k)}", most, amount, bound)
        yield from self._of_one_job(job, place, qualities)

    def _of_one_job(self, job: JobRequest, place: int, qualities: Sequence[Qos]) -> Iterator[Part]:
        # Limits on single jobs have no usage to sum: only a job over one yields a part.
        own = (one.limits["maxwall"] for one in qualities if "maxwall" in one.limits)
        longest: object | None = next(own, None)
        longest = self._inherited(place, "maxwall") if longest is None else longest
        if longest is not None and job.limit > _number(longest):
            yield Part("maxwall, in seconds", _number(longest), job.limit, True)
        for resource in AMOUNTS:
            tables = [_table(one.limits.get("maxtres")) for one in qualities]
            most = next((table[resource] for table in tables if resource in table), None)
            most = _table(self._inherited(place, "maxtres")).get(resource) if most is None else most
            if most is not None and job.amounts.get(resource, 0.0) > most:
                yield Part(f"maxtres={resource}", most, job.amounts[resource], True)

    def _qualities(self, partition: str, name: str) -> list[Qos]:
        own, of_partition = self.accounts.quality(name), self.of_partitions.get(partition, "")
        if of_partition.lower() in ("", "n/a", "none", own.name.lower()):
            return [own]
        both = [self.accounts.quality(of_partition), own]
        return both[::-1] if any(flag.lower() == "overpartqos" for flag in own.flags) else both

    def _above(self, place: int) -> Iterator[int]:
        while place >= 0:
            yield place
            place = self.accounts.members[place].parent

    def _inherited(self, place: int, name: str) -> object | None:
        return next((self.accounts.members[k].limits[name] for k in self._above(place)
                     if name in self.accounts.members[k].limits), None)  # fmt: skip

    def _called(self, place: int) -> str:
        one = self.accounts.members[place]
        return f"{one.user!r} in {one.account!r}" if one.user else f"account {one.account!r}"


def _number(value: object) -> float:
    return float(value)  # type: ignore[arg-type]


def _table(value: object) -> Mapping[str, float]:
    return value if isinstance(value, dict) else {}
