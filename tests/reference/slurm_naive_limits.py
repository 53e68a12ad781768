"""Limits by the naive reference: whether one more job is within those of arrays, the federation, QOS and accounts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from reference.slurm_naive_site import FOREVER

if TYPE_CHECKING:
    from reference.slurm_naive_site import Job, Site


JOBS, AMOUNTS = ("jobs",), ("node", "cpu")
ALL = JOBS + AMOUNTS


def is_full(site: Site, job: Job, held: list[Job]) -> bool:
    """Return whether one more job like this beside those that run would be over a limit of an array, or another one."""
    return any(part + sum(one.limits.get(c, 0) for one in held) > site.limits[c] for c, part in job.limits.items())


def is_still_over(site: Site, job: Job, held: list[Job]) -> bool:
    """Return the same, or that a job that was over a limit of accounts is over one of how many run."""
    if is_full(site, job, held):
        return True
    job.limited = job.limited and is_over(site, job, held, JOBS)
    return job.limited


def has_too_many_jobs(site: Site, job: Job, held: list[Job]) -> bool:
    """Return the same of every job, whether it was over one or not."""
    return is_full(site, job, held) or is_over(site, job, held, JOBS)


def is_over(site: Site, job: Job, held: list[Job], what: tuple[str, ...]) -> bool:
    """Return whether one more job would be over a limit of accounts, of how many run or of what they have."""
    job.limited = bool(site.accounts) and _is_over_of_accounts(site, job, held, what)
    return job.limited


def left_of_array(site: Site, job: Job, held: list[Job]) -> int:
    """Return how many more tasks of a job's array may run."""
    if job.array not in site.array_limits:
        return FOREVER
    return site.limits[site.array_limits[job.array]] - sum(one.array == job.array for one in held)


def _qualities(site: Site, job: Job) -> list[str]:
    of_partition = site.of_partitions[job.partition]
    if of_partition in ("", job.qos):
        return [job.qos]
    both = [of_partition, job.qos]
    return both[::-1] if "overpartqos" in site.qos[job.qos] else both


def _above(site: Site, account: str) -> list[str]:
    up = site.accounts[account][0]
    return [account, *(_above(site, up) if up else ())]


def _is_over_of_accounts(site: Site, job: Job, held: list[Job], kinds: tuple[str, ...]) -> bool:
    """Return whether one more job like this would be over a limit of its QOS, its user or an account."""
    qualities, above = _qualities(site, job), _above(site, job.account)

    def amount(one: Job, what: str) -> float:
        return {"jobs": 1, "node": one.tasks, "cpu": one.cpus or one.tasks * site.cpus}[what]

    def over(most: float, what: str, others: list[Job]) -> bool:
        return sum(amount(one, what) for one in others) + amount(job, what) > most

    def same(one: Job, whose: str) -> bool:
        return {"": True, "user": one.user == job.user, "account": one.account == job.account}[whose]

    for what in kinds:
        for kind, whose in (("grp", ""), ("pu", "user"), ("pa", "account")):
            name = f"{kind}{what}"
            q = next((q for q in qualities if name in site.qos[q]), None)
            if q is not None:
                mine = [one for one in held if q in _qualities(site, one) and same(one, whose)]
                if over(site.qos[q][name], what, mine):
                    return True
                continue
            if kind == "grp":
                for account in above:
                    inside = [one for one in held if account in _above(site, one.account)]
                    if over(site.accounts[account][1].get(name, math.inf), what, inside):
                        return True
            if name == "pujobs":
                places = [site.users[job.user, job.account], *(site.accounts[one][1] for one in above)]
                most = next((place["maxjobs"] for place in places if "maxjobs" in place), math.inf)
                if over(most, what, [one for one in held if same(one, "user") and same(one, "account")]):
                    return True
    return False
