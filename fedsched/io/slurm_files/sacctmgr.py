"""Accounts of Slurm's as tables: what `sacctmgr dump`, `sacctmgr -P show assoc tree`, `show qos` and scripts say.

Several files of one cluster are read as one: a dump says nothing of what a QOS is, and `show qos` nothing of accounts.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import TraceError, shortened
from fedsched.io.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

GIVE = (
    "give what `sacctmgr dump CLUSTER`, `sacctmgr -P show assoc tree` or `sacctmgr -P show qos` prints, or a script "
    "of `sacctmgr add ...` lines"
)
ROOT = "root"
# What a word is called in dumps, tables and commands; the first is how it is called here.
CALLED = (
    ("fairshare", "share", "shares", "rawshares"),
    ("parent", "parentname", "par name"),
    ("account", "accounts"),
    ("defaultaccount", "defaultaccounts", "def acct"),
    ("qos", "qoslevel", "qoss"),
    ("defaultqos", "defqos", "def qos"),
    ("partition", "partitions"),
    ("cluster", "clusters"),
    ("name", "names"),
    ("maxsubmit", "maxsubmitjobs"),
    ("grpsubmit", "grpsubmitjobs"),
    ("maxwall", "maxwalldurationperjob", "maxwallduration", "maxwallperjob"),
    ("maxtres", "maxtresperjob"),
    ("maxtrespu", "maxtresperuser"),
    ("maxtrespa", "maxtresperaccount"),
    ("maxjobspu", "maxjobsperuser"),
    ("maxjobspa", "maxjobsperaccount"),
    ("maxsubmitpu", "maxsubmitjobsperuser", "maxsubmitjobspu"),
    ("maxsubmitpa", "maxsubmitjobsperaccount", "maxsubmitjobspa"),
)
_SAME = {other: names[0] for names in CALLED for other in names}
_LINE = re.compile(r"\s*(Cluster|Parent|Account|User|Coordinators?)\s*-\s*'?([^':]*)'?\s*(?::(.*))?")
_TABLES = {
    "assoc": ("cluster", "account", "user"),
    "shares": ("account", "user", "fairshare", "rawusage"),  # of sshare, which names no cluster
    "qos": ("name", "priority"),
}


class Entry(NamedTuple):
    """An association, an account's or a user's, or a QOS: where it stands, and its words by name in small letters."""

    where: str
    words: dict[str, str]


@dataclass(slots=True)
class Accounts:
    """What files say: associations by cluster, account, user and partition, each after its parent; QOS by name."""

    paths: tuple[str, ...] = ()
    associations: dict[tuple[str, str, str, str], Entry] = field(default_factory=dict)
    qos: dict[str, Entry] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)  # QOS
    left_out: dict[str, str] = field(default_factory=dict)  # what is not understood, and where that stands first


def read_accounts(*paths: str | PathLike[str]) -> Accounts:
    """Return what files say of the accounts of one cluster."""
    from fedsched.io.slurm_files.sacctmgr_script import follow

    found = Accounts(tuple(map(str, paths)))
    for path in map(str, paths):
        lines = [(k, line) for k, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
        lines = [(k, line) for k, line in lines if not line.lstrip().startswith("#")]
        if not lines:
            raise TraceError(f"{path}: there is nothing in it; {GIVE}.")
        first = lines[0][1]
        kind = _table_of(first)
        if kind is not None:
            _read_table(found, lines, path, kind)
        elif _LINE.fullmatch(first):
            _read_dump(found, lines, path)
        else:
            follow(found, lines, path)
    return found


def named(word: str) -> str:
    """Return what a word is called here, however a file writes it."""
    small = word.strip().lower()
    return _SAME.get(small, small)


def _words_of(text: str, where: str) -> Iterator[tuple[str, str]]:
    """Give the names and values of a line of a dump; a colon in quotes parts nothing."""
    for part in re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^:'\"])+", text):
        name, mark, value = part.partition("=")
        if not mark:
            raise TraceError(f"{where}: {shortened(repr(part))} is no NAME=VALUE.")
        yield named(name), value.strip().strip("'\"")


def _table_of(header: str) -> str | None:
    names = {named(name) for name in header.split("|")}
    return next((kind for kind, least in _TABLES.items() if names.issuperset(least)), None)


def _read_table(found: Accounts, lines: list[tuple[int, str]], path: str, kind: str) -> None:
    names = [named(name) for name in lines[0][1].split("|")]
    above = [""]  # the accounts that the last one stands in, where spaces tell of it
    indented = any(line.split("|")[names.index("account")].startswith(" ") for _, line in lines if "account" in names)
    for k, line in lines[1:]:
        where, cells = f"{path}, line {k}", line.split("|")
        if len(cells) not in (len(names), len(names) + 1) or (len(cells) > len(names) and cells[-1]):
            raise TraceError(f"{where}: it has {len(cells)} fields, and the first line {len(names)}; {GIVE}.")
        words = {name: cell.strip() for name, cell in zip(names, cells, strict=False) if name}
        if kind == "qos":
            found.qos[words["name"].lower()] = Entry(where, words)
            continue
        text = cells[names.index("account")]
        depth = len(text) - len(text.lstrip())
        if words["user"]:
            words["parent"] = words["account"]
        elif indented:
            if depth > len(above):
                raise TraceError(f"{where}: {shortened(repr(text))} stands deeper than what is above it; dump it anew.")
            above[depth:] = [words["account"]]
            words["parent"] = above[depth - 1] if depth else ""
        words = {name: value for name, value in words.items() if value or name != "parent"}
        add_association(found, Entry(where, words))


def _read_dump(found: Accounts, lines: list[tuple[int, str]], path: str) -> None:
    cluster, parent = "", ROOT
    for k, line in lines:
        where, match = f"{path}, line {k}", _LINE.fullmatch(line)
        if match is None:
            raise TraceError(f"{where}: {shortened(repr(line))} is no line of a dump: Account - 'physics':Fairshare=5.")
        kind, name = match[1].lower(), match[2].strip()
        words = dict(_words_of(match[3] or "", where))
        match kind:
            case "cluster":
                cluster = name
                add_association(found, Entry(where, {"cluster": name, "account": ROOT, "parent": "", **words}))
            case "parent":
                parent = name
                if (cluster, parent, "", "") not in found.associations:
                    raise TraceError(f"{where}: no line before makes the account {parent!r}; dump the whole cluster.")
            case "account":
                add_association(found, Entry(where, {"cluster": cluster, "account": name, "parent": parent, **words}))
            case "user":
                own = {"cluster": cluster, "account": parent, "parent": parent, "user": name, **words}
                add_association(found, Entry(where, own))
            case _:
                found.left_out.setdefault("coordinators", where)


def add_association(found: Accounts, entry: Entry) -> None:
    """Add an association; what stands in two files or lines is what the later one says beside the first."""
    words = entry.words
    key = (words.get("cluster", ""), words["account"], words.get("user", ""), words.get("partition", ""))
    before = found.associations.get(key)
    found.associations[key] = entry if before is None else Entry(entry.where, before.words | words)
