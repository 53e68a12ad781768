"""Readers of Slurm's accounts and QOS, from sacctmgr's output or scripts, and of their usage, from sshare's output.

Several files of one cluster are read as one: a dump has no definitions of QOS, and `show qos` has no accounts.
"""

from __future__ import annotations

import math
import re
import shlex
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
VERBS = ("add", "create", "modify", "remove", "delete")
SHOWN = ("list", "show", "exit", "quit", "dump")
OPTIONS = ("-i", "--immediate", "-q", "--quiet", "-Q")
# The names of a column in dumps, tables and commands; the first one is used here.
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
    "shares": ("account", "user", "fairshare", "rawusage"),  # of sshare, which has no column for the cluster
    "qos": ("name", "priority"),
}


class Entry(NamedTuple):
    """An association (of an account or a user) or a QOS: its place in a file, and its values by name in lower case."""

    where: str
    words: dict[str, str]


@dataclass(slots=True)
class Accounts:
    """Accounts and QOS read from files: associations by (cluster, account, user, partition), and QOS by name.

    An association is an account, or a user in an account; missing parts of its key are "". Parents come first. Names of
    QOS are in lower case.
    """

    paths: tuple[str, ...] = ()
    associations: dict[tuple[str, str, str, str], Entry] = field(default_factory=dict)
    qos: dict[str, Entry] = field(default_factory=dict)
    removed: set[str] = field(default_factory=set)  # QOS
    left_out: dict[str, str] = field(default_factory=dict)  # what is not understood, and its first place


def read_accounts(*paths: str | PathLike[str]) -> Accounts:
    """Return the accounts and QOS in files of one cluster: a dump, tables or scripts of sacctmgr, read in this order.

    Raise a TraceError if a file is empty or invalid.
    """
    found = Accounts(tuple(map(str, paths)))
    for path in map(str, paths):
        lines = [(k, line) for k, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
        lines = [(k, line) for k, line in lines if not line.lstrip().startswith("#")]
        if not lines:
            raise TraceError(f"{path}: it is empty; {GIVE}.")
        first = lines[0][1]
        kind = _table_of(first)
        if kind is not None:
            _read_table(found, lines, path, kind)
        elif _LINE.fullmatch(first):
            _read_dump(found, lines, path)
        else:
            _run_script(found, lines, path)
    return found


def canonical_name(word: str) -> str:
    """Return the name in lower case that stands for a column or option and its synonyms in sacctmgr's files."""
    small = word.strip().lower()
    return _SAME.get(small, small)


def _words_of(text: str, where: str) -> Iterator[tuple[str, str]]:
    """Give the canonical names and the values in a dump's line of NAME=VALUE between colons; quotes protect colons."""
    for part in re.findall(r"(?:'[^']*'|\"[^\"]*\"|[^:'\"])+", text):
        name, mark, value = part.partition("=")
        if not mark:
            raise TraceError(f"{where}: {shortened(repr(part))} is no NAME=VALUE.")
        yield canonical_name(name), value.strip().strip("'\"")


def _table_of(header: str) -> str | None:
    names = {canonical_name(name) for name in header.split("|")}
    return next((kind for kind, least in _TABLES.items() if names.issuperset(least)), None)


def _read_table(found: Accounts, lines: list[tuple[int, str]], path: str, kind: str) -> None:
    names = [canonical_name(name) for name in lines[0][1].split("|")]
    above = [""]  # the accounts above the last row, if indentation shows the tree
    indented = any(line.split("|")[names.index("account")].startswith(" ") for _, line in lines if "account" in names)
    for k, line in lines[1:]:
        where, cells = f"{path}, line {k}", line.split("|")
        if len(cells) not in (len(names), len(names) + 1) or (len(cells) > len(names) and cells[-1]):
            raise TraceError(f"{where}: it has {len(cells)} fields, but the first line {len(names)}; {GIVE}.")
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
                raise TraceError(
                    f"{where}: {shortened(repr(text))} is indented too far below the line above; dump it again."
                )
            above[depth:] = [words["account"]]
            words["parent"] = above[depth - 1] if depth else ""
        words = {name: value for name, value in words.items() if value or name != "parent"}
        add_association(found, Entry(where, words))


def _read_dump(found: Accounts, lines: list[tuple[int, str]], path: str) -> None:
    cluster, parent = "", ROOT
    for k, line in lines:
        where, match = f"{path}, line {k}", _LINE.fullmatch(line)
        if match is None:
            raise TraceError(
                f"{where}: {shortened(repr(line))} is not a line of a dump, such as: Account - 'physics':Fairshare=5."
            )
        kind, name = match[1].lower(), match[2].strip()
        words = dict(_words_of(match[3] or "", where))
        match kind:
            case "cluster":
                cluster = name
                add_association(found, Entry(where, {"cluster": name, "account": ROOT, "parent": "", **words}))
            case "parent":
                parent = name
                if (cluster, parent, "", "") not in found.associations:
                    raise TraceError(
                        f"{where}: no earlier line defines the account {parent!r}; dump the whole cluster."
                    )
            case "account":
                add_association(found, Entry(where, {"cluster": cluster, "account": name, "parent": parent, **words}))
            case "user":
                own = {"cluster": cluster, "account": parent, "parent": parent, "user": name, **words}
                add_association(found, Entry(where, own))
            case _:
                found.left_out.setdefault("coordinators", where)


def add_association(found: Accounts, entry: Entry) -> None:
    """Add an association to `found`; if it exists, update its values with those of the new one."""
    words = entry.words
    key = (words.get("cluster", ""), words["account"], words.get("user", ""), words.get("partition", ""))
    before = found.associations.get(key)
    found.associations[key] = entry if before is None else Entry(entry.where, before.words | words)


def _run_script(found: Accounts, lines: list[tuple[int, str]], path: str) -> None:
    """Apply a script's sacctmgr commands, such as add, modify and remove, to `found`, line by line.

    Commands that only show something are skipped; any other line raises a TraceError.
    """
    for k, line in lines:
        where = f"{path}, line {k}"
        words = [word for word in _split(line, where) if word not in OPTIONS]
        if words and words[0] == "sacctmgr":
            del words[0]
        if not words or words[0].lower() in SHOWN:
            continue
        verb, kind = words[0].lower(), words[1].lower() if len(words) > 1 else ""
        if verb not in VERBS or not kind or "=" in kind:
            raise TraceError(f"{where}: {shortened(repr(line.strip()))} is not a command of sacctmgr; {GIVE}.")
        kind = canonical_name(kind)
        if verb in ("add", "create"):
            _add(found, kind, words[2:], where)
        elif verb == "modify":
            _modify(found, kind, words[2:], where)
        else:
            _remove(found, kind, words[2:], where)


def _split(line: str, where: str) -> list[str]:
    try:
        return shlex.split(line, comments=True)
    except ValueError as error:
        raise TraceError(f"{where}: {error}.") from None


def _values_in(words: list[str], where: str, bare: str) -> dict[str, str]:
    """Return the values in a command's words NAME=VALUE, by canonical name; a word without = is the value of `bare`.

    The words `where` and `set` are skipped. A name before += or -= keeps its sign.
    """
    said: dict[str, str] = {}
    for word in words:
        if word.lower() in ("where", "set"):
            continue
        text = word if "=" in word else f"{bare}={word}"
        name, mark, value = text.partition("=")
        said[canonical_name(name.rstrip("+-")) + (name[-1:] if name[-1:] in ("+", "-") else "")] = value if mark else ""
    return said


def _clusters(found: Accounts) -> list[str]:
    return list(dict.fromkeys(key[0] for key in found.associations)) or [""]


def _add(found: Accounts, kind: str, words: list[str], where: str) -> None:
    said = _values_in(words, where, "name")
    names = [name for name in said.pop("name", said.get(kind, "")).split(",") if name]
    if not names:
        raise TraceError(f"{where}: it names nothing to add; give name=NAME.")
    match kind:
        case "qos":
            for name in names:
                found.qos[name.lower()] = Entry(where, {**said, "name": name})
                found.removed.discard(name.lower())
        case "cluster":
            for name in names:
                _name_the_cluster(found, name)
                add_association(found, Entry(where, {**said, "cluster": name, "account": ROOT, "parent": ""}))
                root = {"cluster": name, "account": ROOT, "parent": ROOT, "user": ROOT}
                add_association(found, Entry(where, root))
        case "account":
            parent = said.pop("parent", ROOT)
            for cluster in _clusters_meant(found, said):
                for name in names:
                    own = {**said, "cluster": cluster, "account": name, "parent": parent}
                    add_association(found, Entry(where, own))
        case "user":
            accounts = [*said.pop("account", "").split(","), said.get("defaultaccount", "")]  # a user is in both
            accounts = [account for account in dict.fromkeys(accounts) if account]
            if not accounts:
                raise TraceError(f"{where}: user {names[0]!r} has no account; give account=ACCOUNT.")
            for cluster in _clusters_meant(found, said):
                for account in accounts:
                    if (cluster, account, "", "") not in found.associations:
                        raise TraceError(f"{where}: no earlier line adds the account {account!r}; add it first.")
                    for name in names:
                        own = {**said, "cluster": cluster, "account": account, "parent": account, "user": name}
                        add_association(found, Entry(where, own))
        case _:
            found.left_out.setdefault(kind, where)


def _name_the_cluster(found: Accounts, name: str) -> None:
    """Give the associations without a cluster, added before any cluster was named, to this cluster."""
    for key in [key for key in found.associations if not key[0]]:
        entry = found.associations.pop(key)
        entry.words["cluster"] = name
        found.associations[name, key[1], key[2], key[3]] = entry


def _clusters_meant(found: Accounts, said: dict[str, str]) -> list[str]:
    asked = said.pop("cluster", "")
    clusters = asked.split(",") if asked else _clusters(found)
    for cluster in clusters:
        if (cluster, ROOT, "", "") not in found.associations:
            add_association(found, Entry("", {"cluster": cluster, "account": ROOT, "parent": ""}))
            own = {"cluster": cluster, "account": ROOT, "parent": ROOT, "user": ROOT}
            add_association(found, Entry("", own))
    return clusters


def _modify(found: Accounts, kind: str, words: list[str], where: str) -> None:
    """Apply a command `modify KIND where ... set ...`: set values in the entries that fit (all if none is named).

    The word `where` may be missing or follow `set ...`, and a QOS may be named after `set`; an unknown QOS is added.
    Raise a TraceError if there is no `set`, or no account, user or cluster of that name.
    """
    small = [word.lower() for word in words]
    if "set" not in small:
        raise TraceError(f"{where}: it has no `set`; write: modify {kind} where ... set ...")
    at = small.index("set")
    chosen, changed = words[:at], words[at + 1 :]
    if kind == "qos" and not chosen and changed and "=" not in changed[0]:
        chosen, changed = changed[:1], changed[1:]
    if small[at + 1 :].count("where"):
        cut = [word.lower() for word in changed].index("where")
        chosen, changed = [*chosen, *changed[cut + 1 :]], changed[:cut]
    which, what = _values_in(chosen, where, "name"), _values_in(changed, where, "name")
    names = [name for name in which.pop("name", "").split(",") if name]
    if kind == "qos":
        for name in names or list(found.qos):
            before = found.qos.get(name.lower(), Entry(where, {"name": name}))
            found.qos[name.lower()] = Entry(where, _changed(before.words, what))
        return
    if kind not in ("account", "user", "cluster"):
        found.left_out.setdefault(kind, where)
        return
    touched = 0
    for key, entry in list(found.associations.items()):
        of_kind = {"account": not entry.words.get("user") and key[1] != ROOT, "user": bool(entry.words.get("user"))}
        of_kind["cluster"] = key[1] == ROOT and not key[2]
        own = {"account": key[1], "user": key[2], "cluster": key[0]}[kind]
        fits = all(entry.words.get(name, "") in value.split(",") for name, value in which.items())
        if of_kind[kind] and fits and (not names or own in names):
            found.associations[key] = Entry(where, _changed(entry.words, what))
            touched += 1
    if names and not touched:
        raise TraceError(f"{where}: no earlier line adds the {kind} {names[0]!r}; add it first.")


def _changed(words: dict[str, str], what: dict[str, str]) -> dict[str, str]:
    """Return a copy of `words` with the values of `what` set; NAME+=VALUE extends a list, NAME-=VALUE takes from it."""
    after = dict(words)
    for name, value in what.items():
        bare, sign = name.rstrip("+-"), name[-1:]
        if sign in ("+", "-") and name != bare:
            kept = [one for one in after.get(bare, "").split(",") if one and one not in value.split(",")]
            after[bare] = ",".join([*kept, *(value.split(",") if sign == "+" else [])])
        else:
            after[bare] = value
    return after


def _remove(found: Accounts, kind: str, words: list[str], where: str) -> None:
    said = _values_in(words, where, "name")
    names = [name for name in said.pop("name", said.get(kind, "")).split(",") if name]
    if kind == "qos":
        for name in names:
            found.qos.pop(name.lower(), None)
            found.removed.add(name.lower())
        return
    part = {"cluster": 0, "account": 1, "user": 2}.get(kind)
    if part is None or not names:
        found.left_out.setdefault(f"remove {kind}", where)
        return
    for key in [key for key in found.associations if key[part] in names]:
        del found.associations[key]


COMMAND = "sshare -a -l -P"
NEEDED = ("Account", "User", "RawUsage", "EffectvUsage")


class Usage(NamedTuple):
    """The usage of an account or user: `raw` in billed resources times seconds, and `effective`, a fraction of 1.

    The latter is what classic fair share counts.
    """

    raw: float
    effective: float


def read_usage(path: str | PathLike[str]) -> dict[tuple[str, str], Usage]:
    """Return the usage of accounts, and of users in accounts, by (account, user); the user is "" for an account.

    Parameters
    ----------
    path
        A file that holds what `sshare -a -l -P` prints.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("usage").write_text("Account|User|RawUsage|EffectvUsage" + chr(10) + "lab|ann|3600|0.25")
    >>> fs.io.read_usage("usage")
    {('lab', 'ann'): Usage(raw=3600.0, effective=0.25)}
    """
    lines = [(k, line) for k, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
    names = lines[0][1].split("|") if lines else []
    if missing := [name for name in NEEDED if name not in names]:
        raise TraceError(f"{path}: it has no column {missing[0]}; give what `{COMMAND}` prints.")
    account, user, *used = (names.index(name) for name in NEEDED)
    found: dict[tuple[str, str], Usage] = {}
    for k, line in lines[1:]:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < len(names):
            raise TraceError(f"{path}, line {k}: it has {len(cells)} fields, but the first line {len(names)}.")
        amounts = (_amount(cells[at], f"{path}, line {k}: {names[at]}") for at in used)
        found[cells[account], cells[user]] = Usage(*amounts)
    return found


def _amount(text: str, where: str) -> float:
    try:
        amount = float(text or "0")
    except ValueError:
        amount = math.nan
    if not 0.0 <= amount < math.inf:
        raise TraceError(f"{where}={shortened(text)} must be a number of at least 0.")
    return amount
