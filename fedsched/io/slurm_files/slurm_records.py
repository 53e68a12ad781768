"""Parsing of a slurm.conf and of scontrol's output into records, and the file names in a folder with such output.

`fedsched twin dump` writes such a folder, which is called a dump.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike

CONFIG, PARTITIONS, NODES, JOBS = "config.txt", "partitions.txt", "nodes.txt", "jobs.sacct"
ACCOUNTS, QOS = "accounts.txt", "qos.txt"
RESERVATIONS, PAST_RESERVATIONS, EVENTS = "reservations.txt", "past-reservations.txt", "events.txt"
CONFIGURATION = "Configuration data as of"  # the begin of the output of `scontrol show config`
_SETTING = re.compile(r"(\w+)(?:\[\d+\])?\s*=\s*(.*?)\s*", re.ASCII)
# scontrol prints units after values that are plain numbers in a slurm.conf.
_UNIT = re.compile(r"(-?\d+) (?:usec|sec|min|minutes?|seconds?)", re.ASCII)


def dump_of(path: str | PathLike[str]) -> Path | None:
    """Return the folder of a dump, given by its own path or by that of its config.txt; None if it is no dump.

    A folder is a dump if it has the files config.txt, partitions.txt and nodes.txt.
    """
    named = Path(path)
    folder = named.parent if named.name == CONFIG else named
    return folder if all((folder / file).is_file() for file in (CONFIG, PARTITIONS, NODES)) else None


def settings_in(text: str) -> dict[str, str]:
    """Return the parameters in the output of `scontrol show config`: texts, without units, by name in lower case.

    Parameters that are empty or "(null)" are left out.
    """
    found = {}
    for line in text.splitlines():
        match = _SETTING.fullmatch(line.strip())
        if match and match[2].lower() not in ("", "(null)"):
            unit = _UNIT.fullmatch(match[2])
            found[match[1].lower()] = unit[1] if unit else match[2]
    return found


_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)#.*")
_GOES_ON = re.compile(r"(?<!\\)((?:\\\\)*)\\\s*\Z")  # an even number of backslashes continues no line
_PAIR = re.compile(r"(?<!\S)([A-Za-z][\w/.:-]*)\s*=\s*(\"[^\"]*\"|\S*)")
_RECORD_PAIR = re.compile(r"(?<![\w/.:-])([A-Za-z][\w/.:-]*)=(\"[^\"]*\"|\S*)")
_SYSTEM = re.compile(r"[^#]*\bOS=")  # Slurm prints a node's kernel as `OS=Linux 6.1.0 #1 SMP`, which has no comment
# Words in scontrol's output on nodes, partitions and jobs. A value there may be empty, so a blank after `=` ends it.
_OF_SCONTROL = re.compile(r"\b(?:CPUTot|TotalNodes|JobId|ReservationName)=", re.IGNORECASE)


class ConfLine(NamedTuple):
    """A line of a slurm.conf without comment, joined with the lines that continue it, and the number of the first."""

    number: int
    text: str

    @property
    def words(self) -> dict[str, str]:
        """Return the values of the line's NAME=VALUE pairs, by name in lower case."""
        return {name.lower(): value.strip('"') for name, value in _PAIR.findall(self.text)}

    @property
    def names(self) -> list[str]:
        """Return the names of the line's NAME=VALUE pairs, as they are written."""
        return [name for name, _ in _PAIR.findall(self.text)]

    @property
    def strange(self) -> str:
        """Return the parts of the line that are not NAME=VALUE."""
        return " ".join(_PAIR.sub(" ", self.text).split())


def is_of_scontrol(text: str) -> bool:
    """Return whether a text is scontrol's output, not a slurm.conf."""
    return _OF_SCONTROL.search(text) is not None


def conf_lines(text: str) -> Iterator[ConfLine]:
    """Give the lines of a slurm.conf's text that are not empty, without comments, each joined with continuations."""
    begun, parts = 0, list[str]()
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        part, goes_on = _GOES_ON.subn(r"\1", _COMMENT.sub(r"\1", line))
        begun = begun if parts else number
        parts.append(part)
        if not goes_on or number == len(lines):
            whole = "".join(parts).replace("\\#", "#").strip()
            parts = []
            if whole:
                yield ConfLine(begun, whole)


class Record(NamedTuple):
    """The NAME=VALUE pairs of a node, partition or job in scontrol's output, and the number of their first line.

    Names are in lower case.
    """

    line: int
    words: dict[str, str]


def records_of(text: str) -> list[Record]:
    """Return the records of NAME=VALUE in scontrol's output, names in lower case.

    A record is a line with the indented lines below it, or with those that a backslash joins to it.
    """
    records: list[Record] = []
    goes_on = False
    for number, line in enumerate(text.splitlines(), 1):
        line = (line if _SYSTEM.match(line) else re.sub(r"(^|\s)#.*", "", line)).rstrip()
        pairs = {name.lower(): value.strip('"') for name, value in _RECORD_PAIR.findall(line.rstrip("\\"))}
        begins = bool(line.strip()) and not (goes_on or line[0].isspace())
        if begins or (records and "nodename" in pairs):
            records.append(Record(number, pairs))
        elif records:
            records[-1].words.update(pairs)
        goes_on = line.endswith("\\")
    return records


def rows_of_cluster(text: str, cluster: str) -> tuple[str, int]:
    """Return a table of sacctmgr with empty lines for rows of other clusters, and the number of these rows.

    Rows without a cluster stay, and so do all rows if the table has no column Cluster, or `cluster` is "".
    """
    head, *rows = text.splitlines() or [""]
    names = head.lower().split("|")
    if "cluster" not in names or not cluster:
        return text, 0
    at = names.index("cluster")
    mine = ["".join(row.lower().split("|")[at : at + 1]) in ("", cluster.lower()) for row in rows]
    kept = [row if own else "" for row, own in zip(rows, mine, strict=True)]
    return "\n".join([head, *kept]), len(rows) - sum(mine)
