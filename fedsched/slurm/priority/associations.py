"""Slurm's accounts: the tree of accounts and users with their shares; qualities of service (QOS); and their limits."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fedsched.core.errors import TraceError, nearest, shortened
from fedsched.core.text import counted, first_of
from fedsched.io.slurm_files.accounts import GIVE, ROOT, read_accounts
from fedsched.io.slurm_files.slurm_values import seconds_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping
    from os import PathLike

    from fedsched.io.slurm_files.accounts import Accounts, Entry

PARENT = ("parent", "2147483647")  # `sacctmgr dump` writes the number
NORMAL = "normal"
WALLS = ("maxwall", "grpwall")
COUNTS = ("grpjobs", "grpjobsaccrue", "grpsubmit", "maxjobs", "maxjobsaccrue", "maxsubmit", "maxjobspu", "maxjobspa",
          "maxsubmitpu", "maxsubmitpa", "maxjobsaccruepu", "maxjobsaccruepa", "minpriothresh")  # fmt: skip
TABLES = ("grptres", "grptresmins", "grptresrunmins", "maxtres", "maxtrespernode", "maxtresmins", "maxtresrunmins",
          "maxtrespu", "maxtrespa", "maxtresrunminspu", "maxtresrunminspa", "maxtresminspj", "mintres")  # fmt: skip
# Columns that are no limits: they are read elsewhere, or do not matter to scheduling.
OTHER_COLUMNS = (
          "cluster", "account", "user", "partition", "parent", "name", "description", "descr", "organization", "org",
          "adminlevel", "admin", "defaultaccount", "defaultwckey", "id", "lft", "rgt", "comment", "coordinators",
          "withassoc", "email", "fairshare", "priority", "qos", "defaultqos", "usagefactor", "flags", "controlhost",
          "controlport", "rpc", "classification", "preempt", "preemptmode", "gracetime", "preemptexempttime",
          "usagethres", "usagethreshold", "limitfactor", "preempteligibletime", "parentid", "normshares",
          "rawusage", "normusage", "effectvusage", "levelfs", "tresrunmins")  # fmt: skip
FLAGS = ("noreserve", "overpartqos")  # flags of a QOS that are modelled
OF_ADMISSION = ("denyonlimit",)  # it refuses jobs at submit, and refused jobs are in no log
_TRES = re.compile(r"([A-Za-z][\w/:.-]*)=(-?\d+(?:\.\d+)?)([KMGTP]?)", re.ASCII)
_UNITS = {"": 1.0, "K": 1 / 1024, "M": 1.0, "G": 1024.0, "T": 1024.0**2, "P": 1024.0**3}
Limits = dict[str, "float | Mapping[str, float]"]


@dataclass(frozen=True, slots=True)
class Association:
    """An account, or a user in an account (for one partition or for all), with its shares, priority and limits."""

    account: str
    user: str = ""
    partition: str = ""
    parent: int = -1  # index of the account above; -1 for the root
    shares: int | None = 1  # None: it uses the shares of the account above
    priority: int = 0
    qos: tuple[str, ...] = ()
    default_qos: str = ""
    limits: Limits = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True, slots=True)
class Qos:
    """A quality of service (QOS): its priority, the factor of its usage, its flags and limits."""

    name: str
    priority: int = 0
    usage_factor: float = 1.0
    flags: tuple[str, ...] = ()
    limits: Limits = field(default_factory=dict)
    where: str = ""


@dataclass(frozen=True, slots=True)
class Associations:
    """The accounts and users of a cluster, the root first, each after the account above it; and the QOS."""

    members: tuple[Association, ...]
    qos: Mapping[str, Qos]  # by name in lower case
    default_accounts: Mapping[str, str] = field(default_factory=dict)  # by user
    left_out: tuple[str, ...] = ()  # what the files contain but is not modelled, a few words each
    assumed: tuple[str, ...] = ()

    @classmethod
    def read(cls, *paths: str | PathLike[str], cluster: str = "") -> Associations:
        """Return the accounts of a cluster from files with sacctmgr's output.

        If the files have several clusters, `cluster` has to name one. Raise TraceError if they lack what is needed.
        """
        return of_accounts(read_accounts(*paths), cluster=cluster)

    @property
    def users(self) -> int:
        """Return how many associations belong to users, not to accounts as a whole."""
        return sum(bool(one.user) for one in self.members)

    def place(self, user: str, account: str = "", partition: str = "") -> int:
        """Return the index of the association that a job counts for.

        It is that of the user in the account for the partition, or else for all partitions; the account is the user's
        default one if it is "". Raise TraceError if there is none.
        """
        account = account or self.default_accounts.get(user, "")
        found = {one.partition: k for k, one in enumerate(self.members) if (one.user, one.account) == (user, account)}
        if partition in found or "" in found:
            return found[partition] if partition in found else found[""]
        accounts = sorted({one.account for one in self.members if one.user == user})
        told = f"it is in {', '.join(accounts)}" if accounts else "no file tells of it"
        raise TraceError(f"user {user!r} is not in the account {account!r}: {told}; {GIVE}.")

    def quality(self, name: str) -> Qos:
        """Return the QOS with this name, in any case; raise TraceError if no file lists it."""
        if (found := self.qos.get(name.lower())) is not None:
            return found
        near = nearest(name, (one.name for one in self.qos.values()))
        hint = f" Did you mean {near!r}?" if near else ""
        raise TraceError(f"no file lists the QOS {name!r}; give the output of `sacctmgr -P show qos` too.{hint}")

    def notes(self) -> Iterator[str]:
        """Yield what is not modelled of the accounts, and what is assumed, a line each."""
        if self.left_out:
            yield f"not modelled of the accounts: {', '.join(self.left_out)}"
        if self.assumed:
            yield f"assumed of the accounts: {', '.join(self.assumed)}"


def of_accounts(found: Accounts, *, cluster: str = "") -> Associations:
    """Return the accounts of one cluster from the entries that were read; raise TraceError if they are inconsistent."""
    said = ", ".join(found.paths)
    clusters = list(dict.fromkeys(key[0] for key in found.associations if key[0])) or [""]
    chosen = clusters[0] if len(clusters) == 1 else cluster
    if found.associations and chosen not in clusters:
        raise TraceError(f"{said}: it has the clusters {first_of(clusters)}; choose one: cluster=...")
    entries = {key[1:]: entry for key, entry in found.associations.items() if key[0] == chosen}
    for key, entry in found.associations.items():  # sshare names no cluster, but gives the parent of each account
        if not key[0] and chosen and key[1:] in entries:
            entries[key[1:]].words.setdefault("parent", entry.words.get("parent", ""))
    if not entries:
        raise TraceError(f"{said}: it lists no account; {GIVE}.")
    entries.setdefault((ROOT, "", ""), _made_root(said))
    members: list[Association] = []
    _gather(entries, members)
    qualities, assumed = _qualities(found, members)
    defaults = {key[1]: entry.words["defaultaccount"] for key, entry in entries.items() if _names_default(key, entry)}
    for (account, user, _), _entry in entries.items():
        if user:
            defaults.setdefault(user, account)
    return Associations(tuple(members), qualities, defaults, tuple(_left_out(found, entries)), tuple(assumed))


def _names_default(key: tuple[str, str, str], entry: Entry) -> bool:
    return bool(key[1] and entry.words.get("defaultaccount"))


def _made_root(said: str) -> Entry:
    from fedsched.io.slurm_files.accounts import Entry

    return Entry(said, {"account": ROOT, "parent": ""})


def _gather(entries: dict[tuple[str, str, str], Entry], members: list[Association]) -> None:
    """Append the entries to `members` as associations: each after the account above it, else in the order of the file.

    Raise TraceError if an account above is unknown or missing, or an account is above itself.
    """
    within: dict[str, list[tuple[str, str, str]]] = {}
    for key, entry in entries.items():
        if key == (ROOT, "", ""):
            continue
        parent = key[0] if key[1] else entry.words.get("parent", "")
        if not parent:
            raise TraceError(
                f"{entry.where}: no file says which account is above {key[0]!r}; give what "
                "`sacctmgr -P show assoc tree` or `sacctmgr dump CLUSTER` prints, too."
            )
        if (parent, "", "") not in entries:
            raise TraceError(f"{entry.where}: there is no account {parent!r}; dump the whole cluster.")
        within.setdefault(parent, []).append(key)
    left = [((ROOT, "", ""), -1)]
    while left:
        key, parent_at = left.pop()
        place = len(members)
        above = members[parent_at].qos if members else ()
        members.append(_association(key, parent_at, entries[key], above))
        if not key[1]:
            left += [(child, place) for child in reversed(within.get(key[0], []))]
    if len(members) < len(entries):
        lost = next(key for key in entries if key not in {(one.account, one.user, one.partition) for one in members})
        raise TraceError(f"{entries[lost].where}: account {lost[0]!r} is above itself; check its parent.")


def _association(key: tuple[str, str, str], parent: int, entry: Entry, above: tuple[str, ...]) -> Association:
    words, where = entry.words, entry.where
    shares = words.get("fairshare", "") or "1"
    return Association(
        account=key[0],
        user=key[1],
        partition=key[2],
        parent=parent,
        shares=None if shares.lower() in PARENT else _whole(shares, where, "Fairshare"),
        priority=_whole(words.get("priority", "") or "0", where, "Priority"),
        qos=tuple(name for name in words.get("qos", "").split(",") if name) or above,
        default_qos=words.get("defaultqos", ""),
        limits=limits_of(words, where),
        where=where,
    )


def _qualities(found: Accounts, members: list[Association]) -> tuple[dict[str, Qos], list[str]]:
    qualities = {name: _quality(entry) for name, entry in found.qos.items()}
    canonical_name = {name.lower(): name for one in members for name in (*one.qos, one.default_qos) if name}
    if NORMAL not in found.removed:
        canonical_name.setdefault(NORMAL, NORMAL)
    bare = [name for small, name in canonical_name.items() if small not in qualities and small not in found.removed]
    told = bool(found.qos) and set(bare) <= {NORMAL}  # every Slurm has one of that name
    for name in bare:
        qualities[name.lower()] = Qos(name)
    assumed = [] if told or set(bare) <= {NORMAL} else [f"priority 0 and factor 1 of {counted(len(bare), 'QOS', '')} "
                                                        f"({first_of(bare)}), of which no file tells"]  # fmt: skip
    return qualities, assumed


def _quality(entry: Entry) -> Qos:
    words, where = entry.words, entry.where
    return Qos(
        name=words["name"],
        priority=_whole(words.get("priority", "") or "0", where, "Priority"),
        usage_factor=_number(words.get("usagefactor", "") or "1", where, "UsageFactor"),
        flags=tuple(flag for flag in words.get("flags", "").split(",") if flag),
        limits=limits_of(words, where),
        where=where,
    )


def limits_of(words: Mapping[str, str], where: str) -> Limits:
    """Return the limits among an entry's words, by name in lower case; limits of -1 or without a value are left out.

    A limit is a count, a run time in seconds, or a mapping of resources to amounts.
    """
    found: Limits = {}
    for name, text in words.items():
        if not text or text == "-1":
            continue
        if name in COUNTS:
            found[name] = float(_whole(text, where, name))
        elif name in WALLS:
            if math.isfinite(seconds := seconds_of(text, where)):
                found[name] = seconds
        elif name in TABLES and (amounts := amounts_of(text, where)):
            found[name] = amounts
    return found


def amounts_of(text: str, where: str, *, unit: bool = True) -> dict[str, float]:
    """Return the amounts in a text like cpu=4,mem=2G,gres/gpu=1, by resource in lower case, memory in MB.

    Negative amounts are left out. Without `unit`, suffixes such as G are ignored.
    """
    found = {}
    for part in filter(None, text.split(",")):
        match = _TRES.fullmatch(part.strip())
        if match is None:
            raise TraceError(f"{where}: {shortened(repr(part))} is no amount of a resource like cpu=4 or mem=2G.")
        name, amount = match[1].lower(), float(match[2])
        of_memory = name in ("mem", "vmem") or name.startswith("bb/")
        if amount >= 0:
            found[name] = amount * (_UNITS[match[3]] if unit and of_memory else 1.0)
    return found


def _left_out(found: Accounts, entries: Mapping[tuple[str, str, str], Entry]) -> Iterator[str]:
    known = {*COUNTS, *WALLS, *TABLES, *OTHER_COLUMNS}
    strange: dict[str, str] = dict(found.left_out)
    for entry in (*entries.values(), *found.qos.values()):
        for name, text in entry.words.items():
            if text and name not in known:
                strange.setdefault(name, entry.where)
    yield from (f"{name} ({where})" for name, where in strange.items())
    preempting = [entry.words["name"] for entry in found.qos.values() if entry.words.get("preempt")]
    if preempting:
        yield f"preemption by QOS ({first_of(preempting)})"
    yield from _of_flags(found.qos.values())
    factors = [one for one in found.qos.values() if one.words.get("usagethres") or one.words.get("limitfactor")]
    if any(one.words.get("limitfactor", "") not in ("", "0.000000", "1.000000") for one in factors) or any(
        one.words.get("usagethres") for one in factors
    ):
        yield "UsageThreshold and LimitFactor of QOS"


def _of_flags(qualities: Iterable[Entry]) -> Iterator[str]:
    """Yield the QOS flags that matter to scheduling and are not modelled, each with the names of its QOS."""
    having: dict[str, list[str]] = {}
    for entry in qualities:
        for flag in filter(None, entry.words.get("flags", "").split(",")):
            if flag.strip().lower() not in (*FLAGS, *OF_ADMISSION):
                having.setdefault(flag.strip(), []).append(entry.words["name"])
    yield from (f"the QOS flag {flag} ({first_of(names)})" for flag, names in having.items())


def _whole(text: str, where: str, name: str) -> int:
    if not re.fullmatch(r"-?\d{1,18}", text, re.ASCII):
        raise TraceError(f"{where}: {name}={shortened(text)} is no whole number.")
    return max(0, int(text))


def _number(text: str, where: str, name: str) -> float:
    try:
        number = float(text)
    except ValueError:
        number = math.nan
    if not math.isfinite(number) or number < 0:
        raise TraceError(f"{where}: {name}={shortened(text)} is no number from 0 on.")
    return number
