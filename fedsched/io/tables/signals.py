"""A reader of signals, such as prices over time, in CSV files: a line for each step, with its time and its value."""

from __future__ import annotations

import math
from collections import Counter
from datetime import datetime, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple
from zoneinfo import ZoneInfo

from fedsched.core.errors import FederationError, TraceError, shortened
from fedsched.io.files import read_text
from fedsched.io.tables.csv import table_of
from fedsched.io.wall_clock import WallTime, clock_from, wall_time_of
from fedsched.model.time.signal import Signal

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.io.tables.csv import Table
    from fedsched.io.wall_clock import WallClock
    from fedsched.model.jobs.workload import Workload

USUAL_UNITS = {"price": "money/MWh", "carbon": "g/kWh"}
SECONDS = ("second", "seconds")  # a column of this name has seconds of the workload
LOCAL = "local"
_GIVE = "give origin= (fedsched: --signal-origin), the time at second 0, like 2027-01-12T08:00:00"
_ZERO = datetime(1970, 1, 1)


class _Step(NamedTuple):
    time: float
    value: float | None  # None: the cell is empty
    line: int


def read_signal(
    path: str | PathLike[str],
    unit: str,
    *,
    workload: Workload | None = None,
    origin: str | float | None = None,
    zone: str = "UTC",
    step: float | None = None,
    cluster: str = "",
    beyond: str = "refuse",
) -> Signal:
    """Return the signal in a CSV file with a line of column names and two columns: ascending times, and values.

    A value holds until the next line's time. If lines or values are missing, the value before holds; `held` counts
    these steps, and reports of costs mention them.

    Parameters
    ----------
    path
        The file.
    unit
        "EUR/MWh", "g/kWh", … as in `Signal`.
    workload
        The jobs that the signal is for: their header gives the second of a date.
    origin
        The time at second 0 of the jobs, as "2027-01-12T08:00:00", by the same clock as the file's times, in place of
        the header's.
    zone
        The time zone of the file's times: "UTC" (default), the name of another zone, or "local", that of the log.
        It is ignored if times count seconds, of the jobs (a column named `second`) or since 1970.
    step
        The seconds that a line covers; by default the distance of most lines, if all other distances are multiples of
        it. Otherwise steps are taken as uneven, with none missing.
    cluster, beyond
        As in `Signal`.
    """
    try:
        table = table_of(read_text(path), path)
    except TraceError as error:
        raise FederationError(str(error)) from error
    if len(table.names) != 2 or not table.rows:
        raise FederationError(
            f"{path}: a signal has two columns, times and values, below a line of their names; this has "
            f"{len(table.names)} columns and {len(table.rows)} lines."
        )
    if step is not None and not (math.isfinite(step) and step > 0):
        raise FederationError(f"{path}: step={step!r} must be seconds, above 0.")
    notes: list[str] = []
    steps = _steps(table, path, _reader(table, path, workload, origin, zone, notes))
    if steps[0].value is None:
        raise FederationError(f"{path}, line {steps[0].line}: the first value is empty; leave such lines out.")
    for before, after in pairwise(steps):
        if after.time <= before.time:
            raise FederationError(
                f"{path}, line {after.line}: its time is not after that of line {before.line}; lines must ascend "
                "(if clocks are set back, an hour occurs twice: give times in UTC)."
            )
    apart = _usual_step([after.time - before.time for before, after in pairwise(steps)]) if step is None else step
    gaps = 0
    if apart is not None:
        gaps = sum(max(0, round((after.time - before.time) / apart) - 1) for before, after in pairwise(steps))
    kept = [one for one in steps if one.value is not None]
    return Signal(
        tuple(one.time for one in kept),
        tuple(float(one.value) for one in kept if one.value is not None),
        unit,
        cluster,
        until=None if apart is None else steps[-1].time + apart,
        beyond=beyond,
        held=gaps + len(steps) - len(kept),
        notes=tuple(notes),
    )


def _steps(table: Table, path: str | PathLike[str], reader: _Reader) -> list[_Step]:
    found = []
    for (moment, value), line in zip(table.rows, table.lines, strict=True):
        where = f"{path}, line {line}"
        try:
            number = float(value.replace(table.decimal, ".")) if value.strip() else None
        except ValueError:
            number = math.nan
        if number is not None and not math.isfinite(number):
            raise FederationError(f"{where}: {table.names[1]}={shortened(repr(value))} must be a number.")
        found.append(_Step(reader.second(moment, where), number, line))
    return found


class _Reader(NamedTuple):
    name: str
    own: bool  # times are seconds of the workload
    clock: WallClock | None
    zone: ZoneInfo | None  # None: the log's local time, or the clock of the given origin
    decimal: str

    def second(self, text: str, where: str) -> float:
        """Return the time in a cell as seconds on the workload's own clock.

        Raise a FederationError if it is no time, or a date although the date of second 0 is unknown. `where` is the
        file and line.
        """
        if self.own:
            try:
                return float(text.replace(self.decimal, "."))
            except ValueError:
                raise FederationError(f"{where}: {self.name}={shortened(repr(text))} must be seconds.") from None
        moment = wall_time_of(text)
        if moment is None or not math.isfinite(moment.seconds):
            raise FederationError(f"{where}: {self.name}={shortened(repr(text))} must be a time like 2027-01-12 08:00.")
        if self.clock is None:
            raise FederationError(f"{where}: its times are dates, and the date of second 0 is unknown; {_GIVE}.")
        if self.zone is not None and not moment.exact:
            there = (_ZERO + timedelta(seconds=moment.seconds)).replace(tzinfo=self.zone)
            moment = WallTime(there.timestamp(), exact=True)
        return self.clock.second(moment)


def _reader(
    table: Table,
    path: str | PathLike[str],
    workload: Workload | None,
    origin: str | float | None,
    zone: str,
    notes: list[str],
) -> _Reader:
    if table.names[0].lower() in SECONDS:
        return _Reader(table.names[0], True, None, None, table.decimal)
    clock = clock_from(workload if origin is None else origin)
    there = None if zone == LOCAL or origin is not None else _zone(zone, path)
    if clock is not None and clock.said:
        notes.append(f"second 0 is {clock.zero}, {clock.said}, for a signal with times in {zone}")
    if clock is not None and there is not None and clock.unix is None:
        there = None
        notes.append("the log's clock for a signal's, for nothing says in which zone that is")
    return _Reader(table.names[0], False, clock, there, table.decimal)


def _zone(name: str, path: str | PathLike[str]) -> ZoneInfo:
    try:
        return ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        raise FederationError(
            f"{path}: zone={shortened(repr(name))} is not a time zone; give UTC, Europe/Prague or local."
        ) from None


def _usual_step(apart: list[float]) -> float | None:
    # The distance of most lines, if all other distances are whole multiples of it.
    if not apart:
        return None
    usual, times = Counter(apart).most_common(1)[0]
    even = all(abs(one / usual - round(one / usual)) < 1e-9 and one >= usual for one in apart)
    return usual if even and 2 * times > len(apart) else None
