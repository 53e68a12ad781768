"""The accounts of a dump, and in them whoever the jobs name and sacctmgr no longer does."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import counted, first_of
from fedsched.site.twin.commands import ACCOUNTS, QOS
from fedsched.slurm.priority.associations import Association, Associations, Qos

if TYPE_CHECKING:
    from fedsched.site.twin.folder import Dump
    from fedsched.site.twin.records import Records


def accounts_of(dump: Dump, records: Records, cluster: str) -> tuple[Associations | None, list[str]]:
    """Return the accounts, None where the dump has none, and what was added to them, in words.

    A user, an account or a QOS that has been removed since still stands in the jobs: it is there, with one share.
    """
    files = [dump.path(file) for file in (ACCOUNTS, QOS) if dump.has(file)]
    if not dump.has(ACCOUNTS):
        return None, []
    known = Associations.read(*files, cluster=cluster)
    members = list(known.members)
    place = {one.account: k for k, one in enumerate(members) if not one.user}
    there = {(one.user, one.account) for one in members if one.user}
    called = np.where(records.labels["user"] == "", records.user.astype(np.str_), records.labels["user"])  # by number
    asked = dict.fromkeys(zip(called.tolist(), records.labels["account"].tolist(), strict=True))
    users, accounts = [], []
    for user, account in asked:
        named = account or known.default_accounts.get(user, "")
        if (user, named) in there:
            continue
        if named not in place:
            place[named] = len(members)
            members.append(Association(named, parent=0))
            accounts.append(named)
        users.append(user)
        there.add((user, named))
        members.append(Association(named, user, parent=place[named]))
    qualities = dict(known.qos)
    strange = [name for name in dict.fromkeys(records.labels["qos"].tolist()) if name and name.lower() not in qualities]
    qualities |= {name.lower(): Qos(name) for name in strange}
    users = list(dict.fromkeys(users))
    said = [f"{counted(len(users), 'user')} that sacctmgr no longer has ({first_of(users)}) with one share each"]
    said = said * bool(users)
    said += [f"{counted(len(accounts), 'account')} likewise ({first_of(accounts)})"] * bool(accounts)
    said += [f"priority 0 of {counted(len(strange), 'QOS', '')} that it no longer has ({first_of(strange)})"] * bool(
        strange
    )
    defaults = dict(known.default_accounts)
    return replace(known, members=tuple(members), qos=qualities, default_accounts=defaults), said
