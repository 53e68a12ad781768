"""Check whether this user has the rights to steer, and whether the state of the cluster allows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.errors import SteerError
from fedsched.core.text import counted, first_of
from fedsched.site.steer.commands import CommandError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.site.steer.commands import Runner
    from fedsched.site.steer.queue import Queue, SlurmJob

OVER_ALL = ("operator", "administrator")


def check_federation(queue: Queue) -> None:
    """Raise if the cluster's federation has a cluster that is not synced."""
    if apart := [name for name, synced in queue.federation.items() if not synced]:
        raise SteerError(
            f"{queue.cluster} is in a federation with {first_of(apart)}, which is not Synced:Yes "
            "(`scontrol show federation`): jobs that are changed now can be lost; mend that first."
        )


def check_rights(runner: Runner, queue: Queue, jobs: Iterable[SlurmJob]) -> None:
    """Raise unless the user may change all these jobs: as owner, coordinator of their accounts, operator or root."""
    me = runner.user()
    strangers = [job for job in jobs if job.user != me]
    if not strangers or me in ("root", queue.setting("SlurmUser").partition("(")[0]):
        return
    try:
        level, accounts = _admin_rights(runner, me)
        unknown = ""
    except CommandError as error:  # a cluster without accounting has no coordinators
        level, accounts = "", frozenset[str]()
        unknown = f" The accounts' coordinators are unknown: {error}."
    if level in OVER_ALL:
        return
    left = [job for job in strangers if job.account not in accounts]
    if left:
        raise SteerError(
            f"{me} may not change {counted(len(left), 'job')} of others (job {left[0].target} of {left[0].user} in "
            f"account {left[0].account or 'none'}); choose jobs with --user {me} or an --account whose coordinator you "
            f"are, or run it as an operator.{unknown}"
        )


def _admin_rights(runner: Runner, me: str) -> tuple[str, frozenset[str]]:
    """Return a user's admin level and the accounts that the user coordinates, from Slurm's accounting."""
    said = runner.run(("sacctmgr", "-n", "-P", "show", "user", me, "withcoord", "format=User,Admin,Coord"))
    for line in said.splitlines():
        name, _, rest = line.partition("|")
        level, _, accounts = rest.partition("|")
        if name == me:
            return level.strip().lower(), frozenset(filter(None, accounts.strip().split(",")))
    return "", frozenset()


def check_lease(queue: Queue) -> None:
    """Raise if this cluster's settings make a begin time reset a job's age to 0, and so lower its priority."""
    enforced = "limits" in queue.setting("AccountingStorageEnforce").lower().split(",")
    weighs = queue.setting("PriorityWeightAge") not in ("", "0")
    always = "ACCRUE_ALWAYS" in queue.setting("PriorityFlags").upper().split(",")
    if enforced and weighs and not always:
        raise SteerError(
            "AccountingStorageEnforce has limits and PriorityWeightAge is above 0: a begin time sets a job's age to 0 "
            "then, unless PriorityFlags has ACCRUE_ALWAYS; leave --strict out."
        )
