"""Limits of QOS as genes: how many jobs may run at a time in all, per user and per account."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from fedsched.core.errors import unknown_name
from fedsched.site.tuning.genes import ACCOUNTS, Gene
from fedsched.slurm.passes.limits_of_accounts import are_enforced

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fedsched.slurm import Slurm
    from fedsched.slurm.priority.associations import Associations

# The limits as sacctmgr names them. Limits on nodes or CPUs are excluded: a job that asks for more would never start.
OF_JOBS: Mapping[str, str] = {"GrpJobs": "grpjobs", "MaxJobsPerUser": "maxjobspu", "MaxJobsPerAccount": "maxjobspa"}
MOST = 10_000  # jobs
NO_LIMIT = "0"


def limits_that_stand(policy: Slurm) -> Iterator[Gene]:
    """Yield the limits that the QOS set and the conf enforces, as genes."""
    if policy.assoc is not None and are_enforced(policy):
        for quality in policy.assoc.qos.values():
            yield from (_gene(quality.name, name) for name, small in OF_JOBS.items() if quality.limits.get(small))


def limit_asked(policy: Slurm, name: str) -> Gene | None:
    """Return the gene of a limit named like QOS/GrpJobs, set today or not; None if the name has no slash."""
    whose, mark, limit = name.rpartition("/")
    if not mark:
        return None
    by_small = {one.lower(): one for one in OF_JOBS}
    if limit.lower() not in by_small:
        raise unknown_name("limit", limit, OF_JOBS)
    if policy.assoc is None or not are_enforced(policy):
        raise ValueError(
            f"tune: {name} changes nothing under {policy}: it is of accounts and AccountingStorageEnforce=limits."
        )
    if whose.lower() not in policy.assoc.qos:
        raise unknown_name("QOS", whose, [one.name for one in policy.assoc.qos.values()])
    return _gene(policy.assoc.qos[whose.lower()].name, by_small[limit.lower()])


def is_limit(name: str) -> bool:
    """Return whether a gene is a limit of a QOS rather than a parameter of the conf."""
    return "/" in name


def limit_in(accounts: Associations, name: str) -> str:
    """Return the value of a limit in the accounts, "0" if it is not set."""
    whose, _, limit = name.rpartition("/")
    return f"{accounts.qos[whose.lower()].limits.get(OF_JOBS[limit], 0.0):.0f}"


def with_limits(accounts: Associations, values: Mapping[str, str]) -> Associations:
    """Return the accounts with these limits set; "0" removes a limit."""
    qos = dict(accounts.qos)
    for whose, limit, value in _limits_in(values):
        one = qos[whose.lower()]
        limits = {key: given for key, given in one.limits.items() if key != OF_JOBS[limit]}
        if value != NO_LIMIT:
            limits[OF_JOBS[limit]] = float(value)
        qos[whose.lower()] = replace(one, limits=limits)
    return replace(accounts, qos=qos)


def commands_of(values: Mapping[str, str]) -> Iterator[str]:
    """Yield the sacctmgr command that sets each limit."""
    for whose, limit, value in _limits_in(values):
        yield f"sacctmgr -i modify qos where name={whose} set {limit}={-1 if value == NO_LIMIT else value}"


def _limits_in(values: Mapping[str, str]) -> Iterator[tuple[str, str, str]]:
    for name, value in values.items():
        if is_limit(name):
            whose, _, limit = name.rpartition("/")
            yield whose, limit, value


def _gene(quality: str, limit: str) -> Gene:
    return Gene(f"{quality}/{limit}", 0, MOST, of=ACCOUNTS)
