"""Reads from a dump when nodes were unavailable: nodes down or drained, and reservations, past ones included."""

from __future__ import annotations

import math
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.core.text import counted
from fedsched.io.slurm_files.hosts import read_hosts
from fedsched.io.slurm_files.node_events import events_in, kind_of
from fedsched.io.slurm_files.past_reservations import lines_of_past, shown_in
from fedsched.io.slurm_files.slurm_records import rows_of_cluster
from fedsched.io.tables.downtimes import read_calendar
from fedsched.io.wall_clock import WallTime
from fedsched.model.time.downtimes import RESERVATION, Downtime
from fedsched.site.twin.commands import EVENTS, NODES, PAST_RESERVATIONS, RESERVATIONS

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.model.machine.federation import Federation
    from fedsched.site.twin.folder import Dump


def downtimes_of(dump: Dump, federation: Federation, zero: float) -> tuple[tuple[Downtime, ...], list[str]]:
    """Return downtimes for when nodes were down or drained, and notes on what is left out or assumed.

    Their times are on the jobs' clock; `zero` is its second 0, as wall-clock time.
    """
    events, strange = _rows_of_cluster(dump, EVENTS, federation)
    said = [f"{counted(strange, 'event')} of other clusters left out"] * bool(strange)
    if len(events) < 2:
        return (), said
    found = _read(EVENTS, events, dump, federation, zero)
    return tuple(found), [*said, *_notes_of(found)]


def downtimes_with_nodes(dump: Dump, federation: Federation, zero: float) -> tuple[Downtime, ...]:
    """Return downtimes for when nodes were down or drained, each with the numbers of its nodes.

    They are for policies that tell nodes apart. `zero` is second 0 of the jobs' clock, as wall-clock time.
    """
    events, _ = _rows_of_cluster(dump, EVENTS, federation)
    places = read_hosts(dump.path(NODES), federation).places
    by_span: dict[tuple[float, float, str], list[int]] = {}
    for event in events_in("\n".join(events), str(dump.path(EVENTS))):
        kind = kind_of(event.state)
        if not kind or event.node not in places:
            continue
        begin = max(event.begin.seconds - zero, 0.0)
        end = math.inf if event.end is None else event.end.seconds - zero
        if end > begin:
            by_span.setdefault((begin, end, kind), []).append(places[event.node].first)
    cluster = federation.clusters[0].name
    return tuple(
        Downtime(cluster, begin, end, nodes=",".join(map(str, sorted(set(nodes)))), kind=kind)
        for (begin, end, kind), nodes in sorted(by_span.items())
    )


def reservations_of(dump: Dump, federation: Federation, zero: float) -> tuple[tuple[Downtime, ...], list[str]]:
    """Return downtimes for the present, future and past reservations, and notes on what is left out or assumed.

    `scontrol` shows present and future ones. Past ones and their nodes are in the database (slurmdbd). `zero` is
    second 0 of the jobs' clock, as wall-clock time.
    """
    past, strange = _rows_of_cluster(dump, PAST_RESERVATIONS, federation)
    said = [f"{counted(strange, 'reservation')} of other clusters left out"] * bool(strange)
    over, unread = _past(dump, past)
    said += unread
    lines = [line for line in _present(dump) if line] + over
    if not lines:
        return (), said
    found = _read(RESERVATIONS, lines, dump, federation, zero)
    return with_unique_names(found), [*said, *_notes_of(found)]


def _rows_of_cluster(dump: Dump, file: str, federation: Federation) -> tuple[list[str], int]:
    """Return the lines of a table of the database, head first, and how many rows of other clusters are left out.

    Without such a file there is no line.
    """
    text, strange = rows_of_cluster(dump.text(file) if dump.has(file) else "", federation.clusters[0].name)
    return [line for line in text.splitlines() if line], strange


def with_unique_names(downtimes: Iterable[Downtime]) -> tuple[Downtime, ...]:
    """Return the downtimes with unique names of reservations: the same name at another time becomes "weekly (2)"."""
    times: dict[str, list[tuple[float, float]]] = {}
    found = []
    for one in downtimes:
        if one.kind == RESERVATION:
            known = times.setdefault(one.name, [])
            span = (one.begin, one.end)
            if span not in known:
                known.append(span)
            number = known.index(span) + 1
            found.append(replace(one, name=one.name if number == 1 else f"{one.name} ({number})"))
        else:
            found.append(one)
    return tuple(found)


def reservation_named(downtimes: Iterable[Downtime], name: str, eligible: float) -> str:
    """Return the unique name of the reservation that a job means by this name; "" if there is none.

    Of the reservations with the same name it is the first that ends after the job became eligible.
    """
    same = [one for one in downtimes if one.kind == RESERVATION and one.name.partition(" (")[0] == name]
    later = [one for one in same if one.end > eligible]
    return min(later, key=lambda one: one.begin).name if later else ""


def _read(name: str, lines: Iterable[str], dump: Dump, federation: Federation, zero: float) -> tuple[Downtime, ...]:
    until, hosts = _moment(dump.taken), dump.path(NODES)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        return read_calendar(path, federation=federation, origin=_moment(zero), hosts=hosts, until=until)


def _present(dump: Dump) -> list[str]:
    if not dump.has(RESERVATIONS):
        return []
    return [line for line in dump.text(RESERVATIONS).splitlines() if line.startswith("ReservationName=")]


def _past(dump: Dump, table: Iterable[str]) -> tuple[list[str], list[str]]:
    """Return the database's reservations that are over, as lines that `scontrol` would print, and notes on omissions.

    Those that the dump's `scontrol` shows already are skipped.
    """
    shown = shown_in(dump.text(RESERVATIONS) if dump.has(RESERVATIONS) else "", RESERVATIONS)
    lines, said = lines_of_past("\n".join(table), PAST_RESERVATIONS, shown=shown, until=dump.taken)
    return [line for line in lines if line], said


def _moment(seconds: float) -> str:
    return str(WallTime(math.floor(seconds)))


def _notes_of(found: object) -> list[str]:
    return [*getattr(found, "left_out", ()), *getattr(found, "assumed", ())]
