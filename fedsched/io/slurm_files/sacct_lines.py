"""The lines of an sacct dump with bars between the fields, for any separator, JSON, and bars inside texts."""

from __future__ import annotations

import csv
import re
from itertools import islice
from typing import TYPE_CHECKING

from fedsched.core.errors import TraceError
from fedsched.io.files import parse_json
from fedsched.io.slurm_files.sacct_json import BAR, lines_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

COMMAND = (
    "sacct -a -X -D -P --noconvert --format="
    "JobIDRaw,Cluster,Partition,User,Account,Submit,Eligible,JobName,Start,End,Constraints,ElapsedRaw,TimelimitRaw,"
    "State,AllocCPUS,NNodes,JobID,ReqTRES,QOS,Reservation,Suspended,SubmitLine"
)
SEPARATORS = "|;\t,"
MOST_WAYS = 100
_PROGRAMS = re.compile(r"\S*\b(?:sbatch|srun|salloc)\b")
# Columns of texts in which Slurm does not escape bars, the likeliest first, and a test for such a text.
_WITH_BARS: dict[str, Callable[[str], object]] = {
    "constraints": re.compile(r"[^\s,]*|\(null\)").fullmatch,
    "submitline": lambda text: not text or _PROGRAMS.match(text),
    "licenses": re.compile(r"[\w.@:,;|/-]*|\(null\)").fullmatch,
    "jobname": lambda text: True,
    "comment": lambda text: True,
    "workdir": re.compile(r"(?:/.*)?").fullmatch,
}


def barred(text: str, path: str) -> list[str]:
    """Return the lines of a dump with bars between fields; JSON and other separators are converted."""
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
    """Return whether a line names sacct's columns, with any separator: a submit, a run time and a size."""
    mark = next((mark for mark in SEPARATORS if mark in header), "|")
    named = {name.strip().strip('"').lower() for name in header.split(mark)}
    return (
        "submit" in named
        and bool(named & {"elapsedraw", "elapsed", "end"})
        and bool(named & {"alloccpus", "ncpus", "reqcpus", "allocnodes", "nnodes"})
    )


def with_bars_in_texts(line: str, names: list[str], bars: int, sound: Callable[[dict[str, str]], bool]) -> str | None:
    """Return a line with too many bars after replacing those inside texts; None if no way to do so makes sense.

    Slurm does not escape bars in texts, as in `--constraint="a|b"` or a pipe in a command. Bars are assigned to texts
    such that all other fields can be read, which `sound` tests for fields by their columns. If there are several ways,
    the likeliest is taken.
    """
    fields = line.split("|")
    more = len(fields) - 1 - bars
    ways: list[list[str]] = list(islice(_ways(fields, names, more, sound), MOST_WAYS)) if more > 0 else []
    if not ways:
        return None
    unlikely = [names.index(name) for name in reversed(_WITH_BARS) if name in names]
    likeliest = min(ways, key=lambda way: [way[k].count(BAR) for k in unlikely])
    return "|".join(likeliest)


def _ways(
    fields: list[str], names: list[str], more: int, sound: Callable[[dict[str, str]], bool]
) -> Iterator[list[str]]:
    """Give the ways to assign the fields to these columns, if there are `more` fields than columns."""
    k = next((k for k, name in enumerate(names) if name in _WITH_BARS), len(names))
    if not sound(dict(zip(names[:k], fields[:k], strict=False))):
        return
    if k == len(names):
        if not more:
            yield fields
        return
    for inside in range(more + 1):
        text = "|".join(fields[k : k + inside + 1])
        if _WITH_BARS[names[k]](text):
            for rest in _ways(fields[k + inside + 1 :], names[k + 1 :], more - inside, sound):
                yield [*fields[:k], text.replace("|", BAR), *rest]
