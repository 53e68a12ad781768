"""A reader of `sacctmgr -P show reservations`: the database's reservations, as lines that `scontrol` would print."""

from __future__ import annotations

import math
from collections import Counter
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError
from fedsched.core.text import counted
from fedsched.io.slurm_files.reservations import read_reservations, reservations_in
from fedsched.io.slurm_files.slurm_values import NOTHING
from fedsched.io.tables.closed_hosts import listed
from fedsched.io.wall_clock import wall_time_of

if TYPE_CHECKING:
    from fedsched.io.tables.calendar_terms import Terms
    from fedsched.model.time.downtimes import Downtime

# The column heads of sacctmgr for each needed fact of a reservation. The first ones are those that Slurm 22.05 prints
# if asked for Start, End and NodeNames.
HEADS = {
    "name": ("name",),
    "start": ("timestart", "start", "starttime"),
    "end": ("timeend", "end", "endtime"),
    "nodes": ("nodename", "nodenames", "nodes", "nodelist"),
}


def are_past_reservations(text: str) -> bool:
    """Return whether a text, by its first line, is the output of `sacctmgr -P show reservations`."""
    names = next((line for line in text.splitlines() if line.strip()), "").lower().split("|")
    return "state" not in names and all(any(head in names for head in heads) for heads in HEADS.values())


def shown_in(text: str, path: str) -> set[tuple[str, str]]:
    """Return name and begin of each reservation in the output of `scontrol show res`."""
    return {(one.name, one.words.get("StartTime", "")) for one in reservations_in(text, path)}


def lines_of_past(
    text: str, file: str, *, shown: set[tuple[str, str]], until: float = math.inf
) -> tuple[list[str], list[str]]:
    """Return the table's reservations as lines that `scontrol` would print, and notes on those left out.

    A row without a reservation becomes an empty line, so that the numbers of lines stay.

    Parameters
    ----------
    text, file
        The table, and the name of its file.
    shown
        Name and begin of reservations to skip, which `scontrol` shows.
    until
        Reservations that end after this wall-clock time, in seconds since 1970, are skipped too.
    """
    head, *rows = [line.split("|") for line in text.splitlines()] or [[]]
    names = [name.strip().lower() for name in head]
    columns = {word: next((name for name in heads if name in names), "") for word, heads in HEADS.items()}
    there = sum(any(row) for row in rows)
    if there and (missing := [word for word, name in columns.items() if not name]):
        return [], [f"{counted(there, 'past reservation')} left out, for {file} has no column {HEADS[missing[0]][0]}"]
    lines, without = [""], Counter[str]()
    for row in rows:
        words = dict(zip(names, row, strict=False))
        name, begin, end, nodes = (words.get(column, "") for column in columns.values())
        first, last = (math.nan if moment is None else moment.seconds for moment in map(wall_time_of, (begin, end)))
        lines.append("")
        if not any(row) or (name, begin) in shown or last > until:
            continue
        if not first < last:
            without["a begin and an end"] += 1
        elif nodes.lower() in NOTHING:
            without["nodes"] += 1
        else:
            flags = words.get("flags", "") or "SPEC_NODES"
            lines[-1] = f"ReservationName={name} StartTime={begin} EndTime={end} Nodes={nodes} Flags={flags}"
    kinds = ("nodes", "a begin and an end")
    said = [f"{counted(without[what], 'past reservation')} without {what} left out" for what in kinds if without[what]]
    if any(lines) and "flags" not in names:
        said.append(f"{file} has no column Flags: past reservations are taken to have none")
    return lines, said


def read_past_reservations(text: str, terms: Terms) -> list[Downtime]:
    """Return the downtimes of the reservations in the output of `sacctmgr -P show reservations`, sorted by begin.

    They are read as `scontrol` would print them. Reservations of other clusters, and those with the name of an earlier
    one at another time, are left out and noted in `terms`.
    """
    lines, said = lines_of_past(_of_these_clusters(text, terms), terms.path, shown=set())
    times: dict[str, str] = {}
    again = []
    for k, line in enumerate(lines):
        name, _, span = line.removeprefix("ReservationName=").partition(" StartTime=")
        if line and "MAINT" not in line and times.setdefault(name, span) != span:
            again.append(name)
            lines[k] = ""
    if again:
        many = counted(len(again), "reservation")
        said.append(f"{many} of a name that an earlier one has left out ({listed(again)})")
    for note in said:
        terms.leave_out(note)
    return read_reservations("\n".join(lines), terms)


def _of_these_clusters(text: str, terms: Terms) -> str:
    """Return the table with empty lines for rows of other clusters, which are noted in `terms`.

    If no row is of the federation's clusters and all are of one, that is taken to be the federation's only cluster.
    """
    lines = text.splitlines()
    names = lines[0].lower().split("|")
    if "cluster" not in names:
        return text
    at, known = names.index("cluster"), {one.name for one in terms.machine.federation.clusters}
    of = ["".join(line.split("|")[at : at + 1]) for line in lines[1:]]
    strangers = [name for name in of if name and name not in known]
    if known.isdisjoint(of) and len(known) == 1 and len(set(strangers)) <= 1:
        terms.assumed += [f"the cluster {strangers[0]} of the reservations is {listed(known)}"] * bool(strangers)
        return text
    if known.isdisjoint(of) and strangers:
        raise FederationError(
            f"{terms.path}: its reservations are of the clusters {listed(strangers)}, none of which the federation has "
            f"({listed(sorted(known))}); give a cluster one of these names."
        )
    if strangers:
        terms.leave_out(f"{counted(len(strangers), 'reservation')} of other clusters left out ({listed(strangers)})")
    kept = ["" if name and name not in known else line for name, line in zip(of, lines[1:], strict=True)]
    return "\n".join([lines[0], *kept])
