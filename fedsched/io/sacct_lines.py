"""The lines of a dump of Slurm's, whatever parts their fields and whatever stands in its texts: fields between bars."""

from __future__ import annotations

import csv
import re
from typing import TYPE_CHECKING

from fedsched.errors import TraceError
from fedsched.io.files import parse_json
from fedsched.io.sacct_json import lines_of

if TYPE_CHECKING:
    from collections.abc import Callable

COMMAND = (
    "sacct -a -X -D -P --noconvert --format="
    "JobIDRaw,Cluster,Partition,User,Account,Submit,Eligible,Start,End,ElapsedRaw,TimelimitRaw,State,AllocCPUS,NNodes,"
    "JobID,ReqTRES,QOS,Reservation,Suspended,Constraints,JobName,SubmitLine"
)
SEPARATORS = "|;\t,"
BAR = "\x1f"  # stands for a bar inside a text
_PROGRAMS = re.compile(r"\S*\b(?:sbatch|srun|salloc)\b")
# Columns in whose texts Slurm leaves bars as they are, and what such a text looks like.
_WITH_BARS: dict[str, Callable[[str], object]] = {
    "constraints": re.compile(r"[^\s,]*|\(null\)").fullmatch,
    "jobname": lambda text: True,
    "submitline": lambda text: not text or _PROGRAMS.match(text),
    "licenses": re.compile(r"[\w.@:,;|/-]*|\(null\)").fullmatch,
    "comment": lambda text: True,
    "workdir": re.compile(r"(?:/.*)?").fullmatch,
}


def barred(text: str, path: str) -> list[str]:
    """Return the lines of a dump, their fields between bars: of JSON, and of what another separator parts."""
    if text.lstrip().startswith("{"):
        return list(lines_of(parse_json(text, path), path))
    lines = text.replace("\r\n", "\n").split("\n")
    header = next((line for line in lines if line.strip()), "")
    mark = next((mark for mark in SEPARATORS if mark in header), "|")
    if mark == "|":
        return lines
    try:
        rows = csv.reader((line.replace("|", BAR) for line in lines), delimiter=mark)
        return ["|".join(" ".join(cell.split("\n")) for cell in row) for row in rows]
    except csv.Error as error:
        raise TraceError(f"{path}: {error}; dump with: {COMMAND}") from None


def is_dump(header: str) -> bool:
    """Return whether a line names columns of sacct's, whatever parts them: when, how long and how much."""
    mark = next((mark for mark in SEPARATORS if mark in header), "|")
    named = {name.strip().strip('"').lower() for name in header.split(mark)}
    return (
        "submit" in named
        and bool(named & {"elapsedraw", "elapsed", "end"})
        and bool(named & {"alloccpus", "ncpus", "reqcpus", "allocnodes", "nnodes"})
    )


def with_bars_in_a_text(line: str, names: list[str], bars: int, sound: Callable[[dict[str, str]], bool]) -> str | None:
    """Return a line of too many bars with those of its one text that holds them put aside; None where none is sure.

    Slurm leaves bars in texts as they are: those of `--constraint="a|b"`, or of a pipe in a command. They are taken for
    those of a text if all other fields mean something then, and if that is so of one text only.
    """
    fields = line.split("|")
    more = len(fields) - 1 - bars
    found = []
    for k, name in enumerate(names):
        if name in _WITH_BARS and more > 0:
            inside = "|".join(fields[k : k + more + 1])
            parts = [*fields[:k], inside.replace("|", BAR), *fields[k + more + 1 :]]
            row = dict(zip(names, parts, strict=False))
            if all(like(row[other].replace(BAR, "|")) for other, like in _WITH_BARS.items() if other in row) and sound(
                row
            ):
                found.append("|".join(parts))
    return found[0] if len(found) == 1 else None
