"""Calendars of downtimes: CSV files with one row each, TOML files of [[downtime]] tables, and other programs' files."""

from __future__ import annotations

import csv
import math
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from fedsched.core.errors import FederationError, OutputError, TraceError, shortened, unknown_name
from fedsched.core.text import counted
from fedsched.core.values import digits_of
from fedsched.io.atomic import atomic_text
from fedsched.io.files import read_text
from fedsched.io.slurm_files.slurm_records import (
    CONFIG,
    EVENTS,
    NODES,
    PAST_RESERVATIONS,
    RESERVATIONS,
    dump_of,
    rows_of_cluster,
    settings_in,
)
from fedsched.io.tables.csv import escaped, table_of, unescaped
from fedsched.model.jobs.assumed import Noted
from fedsched.model.time.downtimes import RECORDED, Downtime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping
    from os import PathLike

    from fedsched.io.tables.calendar_terms import Terms
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation

COLUMNS = tuple(field.name for field in fields(Downtime))
_NEEDED = ("cluster", "begin")
NAMES = ("users", "accounts")  # columns with several names, separated by commas
_YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def read_calendar(
    path: str | PathLike[str],
    *,
    federation: Federation | None = None,
    workload: Workload | None = None,
    origin: str | float | None = None,
    hosts: str | PathLike[str] | Mapping[str, tuple[str, int]] | None = None,
    until: str | float | None = None,
    on_running: str | None = None,
    victims: str | None = None,
) -> tuple[Downtime, ...]:
    r"""Return the downtimes in a file, or in the folder of a dump; its content tells the format.

    fedsched's own files are CSV, or TOML of [[downtime]] tables if the name ends in .toml. The columns of a CSV file
    are the parameters of `Downtime`; `cluster` and `begin` are needed, and an empty cell means the default. Other
    programs' files are the output of `scontrol show res` (with or without -o), `sacctmgr -P show reservations` or
    `sacctmgr -P show events`, and Batsim's external events. The folder that `fedsched twin dump` has written has all
    three of Slurm's; its downtimes close exactly the nodes that it names. The result's `left_out` lists facts that the
    model does not represent, and its `assumed` the assumptions; the command line prints both.

    Parameters
    ----------
    path
        The file or the folder.
    federation
        The federation with the hosts of other programs' files; fedsched's own files name its nodes.
    workload
        The jobs that the downtimes are for: their header gives the second of a date, and downtimes that end before
        the first submit are left out.
    origin
        The time at second 0, as "2027-01-12T08:00:00", in place of the header's.
    hosts
        The hosts' nodes: a file for `fedsched.io.read_hosts`, or a table of host: (cluster, node).
        Without it hosts are counted ("6 of all").
    until
        The time until which repeated reservations are taken, as a date or a second of the jobs; by default 30 days
        after the last submit.
    on_running, victims
        What an outage in Slurm's or Batsim's events does with running jobs, and which jobs it takes, as in `Downtime`;
        by default outages wait for jobs. With victims="recorded" all downtimes of the events close exactly their
        hosts' nodes, also if outages wait, and each of these nodes is, or may be, a group of its own.

    Examples
    --------
    >>> from pathlib import Path
    >>> from fedsched.io import read_calendar
    >>> written = Path("closed.csv").write_text("cluster,begin,end\nnorth,3600,7200\n")
    >>> read_calendar("closed.csv")[0].end
    7200.0
    """
    given: dict[str, Any] = {"origin": origin, "hosts": hosts, "until": until}
    of_outages: dict[str, Any] = {"on_running": on_running, "victims": victims}
    if (folder := dump_of(path)) is not None and Path(path).is_dir():
        return _of_dump(folder, federation, workload, given, of_outages)
    if str(path).lower().endswith(".toml"):
        from fedsched.io.platforms.toml import read_downtimes

        _refuse_given(path, given | of_outages)
        return read_downtimes(path)
    try:
        text = read_text(path)
        if (reader := _reader_of(text)) is not None:
            return _of_program(str(path), text, reader, federation, workload, given, of_outages)
        table = table_of(text, path)
    except TraceError as error:
        raise FederationError(str(error)) from error
    _refuse_given(path, given | of_outages)
    for name in table.names:
        if name not in COLUMNS:
            raise FederationError(f"{path}: {unknown_name('column', name, COLUMNS)}")
    for name in _NEEDED:
        if name not in table.names:
            raise FederationError(f"{path}: the column {name!r} is missing; add it.")
    return tuple(
        _downtime(dict(zip(table.names, row, strict=True)), f"{path}, line {line}", decimal=table.decimal)
        for row, line in zip(table.rows, table.lines, strict=True)
    )


def _of_program(
    path: str,
    text: str,
    reader: _Reader,
    federation: Federation | None,
    workload: Workload | None,
    given: Mapping[str, Any],
    of_outages: Mapping[str, Any],
) -> Noted[Downtime]:
    """Return the downtimes in a text of another program; the arguments are grouped as in `read_calendar`."""
    from fedsched.io.tables.calendar_terms import terms_of

    how = {**given, **of_outages}
    _refuse_given(path, ({} if reader.by_dates else {**given}) | ({} if reader.outages else {**of_outages}))
    terms = terms_of(path, federation=federation, workload=workload, by_dates=reader.by_dates, **how)
    return terms.calendar(reader.read(text, terms))


def _of_dump(
    folder: Path,
    federation: Federation | None,
    workload: Workload | None,
    given: Mapping[str, Any],
    of_outages: Mapping[str, Any],
) -> Noted[Downtime]:
    """Return the downtimes of a dump's events and reservations, without rows of other clusters.

    They close exactly the nodes that they name. Past reservations that are among the present ones are skipped.
    """
    own = settings_in(read_text(folder / CONFIG)).get("clustername", "")
    hosts = folder / NODES if given["hosts"] is None else given["hosts"]
    victims = RECORDED if of_outages["victims"] is None else of_outages["victims"]
    found: list[Downtime] = []
    left: list[str] = []
    assumed: list[str] = []
    for name in (EVENTS, RESERVATIONS, PAST_RESERVATIONS):
        text, others = rows_of_cluster(read_text(folder / name) if (folder / name).exists() else "", own)
        left += [f"{counted(others, 'row')} of other clusters in {name}"] * bool(others)
        if (reader := _reader_of(text)) is None:
            left += [f"{name}, which is not read"] * bool(text.strip())
            continue
        of_these = {**of_outages, "victims": victims} if reader.outages else dict.fromkeys(of_outages)
        path = str(folder / name)
        part = _of_program(path, text, reader, federation, workload, {**given, "hosts": hosts}, of_these)
        known = {(one.name, one.begin) for one in found}
        found += [one for one in part if name != PAST_RESERVATIONS or (one.name, one.begin) not in known]
        left += part.left_out
        assumed += part.assumed
    return Noted(sorted(found, key=lambda one: one.begin), left_out=left, assumed=dict.fromkeys(assumed))


class _Reader(NamedTuple):
    """A reader of another program's text, whether its times are dates, and whether it contains outages."""

    read: Callable[[str, Terms], list[Downtime]]
    by_dates: bool
    outages: bool


def _reader_of(text: str) -> _Reader | None:
    """Return the reader for a text of Slurm's reservations (present or past), its node events, or Batsim's events.

    Return None for any other text, which should be fedsched's own.
    """
    from fedsched.io.batsim import batsim_events
    from fedsched.io.slurm_files import node_events, past_reservations, reservations

    if reservations.are_reservations(text):
        return _Reader(reservations.read_reservations, by_dates=True, outages=False)
    if past_reservations.are_past_reservations(text):
        return _Reader(past_reservations.read_past_reservations, by_dates=True, outages=False)
    if node_events.are_events(text):
        return _Reader(node_events.read_events, by_dates=True, outages=True)
    found = _Reader(batsim_events.read_events, by_dates=False, outages=True)
    return found if batsim_events.are_events(text) else None


def _refuse_given(path: str | PathLike[str], given: Mapping[str, object]) -> None:
    for name, value in given.items():
        option = "--hosts" if name == "hosts" else f"--calendar-{name.replace('_', '-')}"
        if value is not None and name in ("on_running", "victims"):
            raise FederationError(
                f"{path}: it says what happens to jobs, or has no outages; leave out {name}= (fedsched: "
                f"{option}), which is for Slurm's and Batsim's events."
            )
        if value is not None:
            raise FederationError(
                f"{path}: it gives nodes and seconds itself; leave out {name}= (fedsched: {option}), which is for "
                "Slurm's output."
            )


def _downtime(cells: dict[str, str], where: str, *, decimal: str) -> Downtime:
    values: dict[str, Any] = {}
    for name, cell in cells.items():
        if cell.strip():
            values[name] = _value(name, unescaped(cell.strip()), where, decimal)
    for name in _NEEDED:
        if name not in values:
            raise FederationError(f"{where}: {name} is empty.")
    try:
        return Downtime(**values)
    except FederationError as error:
        raise FederationError(f"{where}: {shortened(str(error), 1000)}") from None


def _value(name: str, text: str, where: str, decimal: str) -> str | float | bool | tuple[str, ...]:
    if name in NAMES:
        return tuple(filter(None, map(str.strip, text.split(","))))
    if name == "seed":
        if (seed := digits_of(text)) is None:
            raise FederationError(f"{where}: seed={shortened(repr(text))} must be a whole number.")
        return seed
    if name in ("begin", "end", "known_from"):
        try:
            return float(text.replace(decimal, "."))
        except ValueError:
            raise FederationError(f"{where}: {name}={shortened(repr(text))} must be seconds.") from None
    if name == "end_known":
        if text.lower() not in _YES_NO:
            raise FederationError(f"{where}: end_known={shortened(repr(text))} must be yes or no.")
        return _YES_NO[text.lower()]
    return text


def write_calendar(downtimes: Iterable[Downtime], path: str | PathLike[str]) -> None:
    """Write downtimes to a CSV file that `read_calendar` reads back unchanged.

    Parameters
    ----------
    downtimes, path
        The downtimes, and the file to write.

    Examples
    --------
    >>> from fedsched.io import read_calendar, write_calendar
    >>> write_calendar([fs.Downtime("north", 3600, 7200)], "closed.csv")
    >>> read_calendar("closed.csv") == (fs.Downtime("north", 3600, 7200),)
    True
    """
    if str(path).lower().endswith(".toml"):
        raise OutputError(
            f"Cannot write {path}: a calendar is written as .csv; a federation's .toml has its downtimes."
        )
    with atomic_text(path) as out:
        rows = csv.writer(out, lineterminator="\n")
        rows.writerow(COLUMNS)
        rows.writerows([_cell(downtime, name) for name in COLUMNS] for downtime in downtimes)


def _cell(downtime: Downtime, name: str) -> str:
    value = getattr(downtime, name)
    if name in ("known_from", "end_known") and downtime.usual:
        return ""
    if name in ("on_running", "victims", "seed") and downtime.on_running == "wait":
        return ""
    if name in NAMES:
        return escaped(",".join(value))
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if name == "end" and math.isinf(value) else repr(value)
    return str(value) if isinstance(value, int) else escaped(value)
