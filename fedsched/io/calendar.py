"""Calendars as CSV files, a row a downtime, and as TOML files of [[downtime]] tables."""

from __future__ import annotations

import csv
import math
from dataclasses import fields
from typing import TYPE_CHECKING, Any

from fedsched.errors import FederationError, OutputError, TraceError, shortened, unknown_name
from fedsched.io.atomic import atomic_text
from fedsched.io.csv import guarded, table_of, unguarded
from fedsched.io.files import read_text
from fedsched.model.calendar import Downtime

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

COLUMNS = tuple(field.name for field in fields(Downtime))
_NEEDED = ("cluster", "begin")
_YES_NO = {"yes": True, "true": True, "1": True, "no": False, "false": False, "0": False}


def read_calendar(path: str | PathLike[str]) -> tuple[Downtime, ...]:
    """Return the downtimes in a file: one of [[downtime]] tables where it ends in .toml, else a CSV file.

    The columns of a CSV file are the parameters of `Downtime`, of which `cluster` and `begin` are needed; an empty cell
    is what is usual.
    """
    if str(path).lower().endswith(".toml"):
        from fedsched.io.toml import read_downtimes

        return read_downtimes(path)
    try:
        table = table_of(read_text(path), path)
    except TraceError as error:
        raise FederationError(str(error)) from error
    for name in table.names:
        if name not in COLUMNS:
            raise FederationError(f"{path}: {unknown_name('column', name, COLUMNS)}")
    for name in _NEEDED:
        if name not in table.names:
            raise FederationError(f"{path}: the column {name!r} is missing.")
    return tuple(
        _downtime(dict(zip(table.names, row, strict=True)), f"{path}, line {line}", decimal=table.decimal)
        for row, line in zip(table.rows, table.lines, strict=True)
    )


def _downtime(cells: dict[str, str], where: str, *, decimal: str) -> Downtime:
    values: dict[str, Any] = {}
    for name, cell in cells.items():
        if cell.strip():
            values[name] = _value(name, unguarded(cell.strip()), where, decimal)
    for name in _NEEDED:
        if name not in values:
            raise FederationError(f"{where}: {name} is empty.")
    try:
        return Downtime(**values)
    except FederationError as error:
        raise FederationError(f"{where}: {error}") from None


def _value(name: str, text: str, where: str, decimal: str) -> str | float | bool:
    if name == "seed":
        if not text.isdecimal():
            raise FederationError(f"{where}: seed={shortened(repr(text))} must be a whole number.")
        return int(text)
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
    """Write downtimes to a CSV file that `read_calendar` gives back unchanged."""
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
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return "" if name == "end" and math.isinf(value) else repr(value)
    return str(value) if isinstance(value, int) else guarded(value)
