"""The terms of reading another program's calendar: the clock, the machine, the time limits and the notes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError, shortened, unknown_name
from fedsched.core.text import counted
from fedsched.io.slurm_files.hosts import hosts_from
from fedsched.io.tables.closed_hosts import OutageEffect, SiteHosts
from fedsched.io.wall_clock import GIVE, WallClock, WallTime, clock_from, wall_time_of
from fedsched.model.jobs.assumed import Noted
from fedsched.model.jobs.log import IN_CPUS
from fedsched.model.time.downtimes import ON_RUNNING, VICTIMS

if TYPE_CHECKING:
    from collections.abc import Mapping
    from os import PathLike

    from fedsched.io.tables.closed_hosts import Stretch
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.downtimes import Downtime

DAYS_AFTER = 30  # days after the last submit until which repeated downtimes are taken


@dataclass(slots=True)
class Terms:
    """What is needed to read another program's calendar, and what is noted while reading it, for the user.

    The first is the machine with its hosts, the clock for dates, the times between which downtimes count, and what
    outages do with running jobs. The notes are the facts left out, the assumptions, and the number of downtimes that
    are `over` before the first job.
    """

    path: str
    machine: SiteHosts
    clock: WallClock | None
    until: WallTime | None
    from_second: float = -math.inf  # downtimes that end before are left out
    last_submit: float = math.inf
    until_said: str = ""
    left_out: list[str] = field(default_factory=list)
    assumed: list[str] = field(default_factory=list)
    over: int = 0
    in_cpus: bool = False
    by_dates: bool = True
    outage_effect: OutageEffect = field(default_factory=OutageEffect)

    @property
    def cpus(self) -> Mapping[str, int]:
        """Return the number of CPUs by host, for hosts with a known number; empty without a mapping of hosts."""
        return {} if self.machine.hosts is None else self.machine.hosts.cpus

    def check_hosts(self) -> None:
        """Raise a FederationError if the log's tasks are CPUs and no mapping tells the nodes of each host.

        A host then is several of the model's nodes, so it cannot be counted as one.
        """
        if self.in_cpus and self.machine.hosts is None:
            raise FederationError(
                f"{self.path}: it names hosts, and the log's tasks are CPUs; read the log with unit='nodes' (fedsched: "
                "--unit nodes), or give hosts= (fedsched: --hosts), a file that says how many CPUs each host has."
            )

    def second(self, moment: WallTime, where: str) -> float:
        """Return a wall-clock time in seconds on the workload's own clock.

        Raise a FederationError, which names `where`, if that clock's date is unknown.
        """
        return self._clock(where).second(moment)

    def on_the_wall(self, moment: WallTime, where: str) -> WallTime:
        """Return a time as local wall-clock time, even if it is counted in UTC.

        Raise a FederationError, which names `where`, if the workload's clock is unknown.
        """
        return self._clock(where).on_the_wall(moment)

    def _clock(self, where: str) -> WallClock:
        if self.clock is None:
            raise FederationError(
                f"{where}: its times are dates, and the date of second 0 of the jobs is unknown; {GIVE}."
            )
        return self.clock

    def kept(self, stretches: list[Stretch]) -> list[Stretch]:
        """Return the closures that end after the first submit; add the number of the others to `over`."""
        found = [stretch for stretch in stretches if stretch.end > self.from_second]
        self.over += len(stretches) - len(found)
        return found

    def leave_out(self, fact: str) -> None:
        """Add to `left_out` a fact of the file that the model does not represent."""
        self.left_out.append(fact)

    def say_until(self) -> None:
        """Add to `assumed` until when repeated downtimes are taken, unless the user gave that time."""
        if self.until_said:
            self.assumed.append(self.until_said)

    def calendar(self, downtimes: list[Downtime]) -> Noted[Downtime]:
        """Return the downtimes as a `Noted`, with what is left out and what is assumed as its notes.

        Assumptions are the clock's origin, and that hosts are counted if their nodes are unknown.
        """
        left = self.left_out + ([f"{counted(self.over, 'downtime')} over before the first job"] if self.over else [])
        assumed = self.assumed.copy()
        if self.clock is not None and self.clock.said:
            after = bool(downtimes) and min(downtime.begin for downtime in downtimes) > self.last_submit
            late = ", so that every downtime begins after the last submit (--calendar-origin sets another)" * after
            assumed.insert(0, f"second 0 is {self.clock.zero} by the calendar's clock, {self.clock.said}{late}")
        if (
            self.by_dates
            and self.machine.hosts is None
            and any(downtime.among[0] is not None for downtime in downtimes)
        ):
            assumed.append("closed hosts are counted, whichever nodes they are (--hosts says which)")
        return Noted(downtimes, left_out=left, assumed=assumed)


def terms_of(
    path: str,
    *,
    federation: Federation | None,
    workload: Workload | None,
    origin: str | float | None,
    hosts: str | PathLike[str] | Mapping[str, tuple[str, int]] | None,
    until: str | float | None,
    on_running: str | None = None,
    victims: str | None = None,
    by_dates: bool = True,
) -> Terms:
    """Return the `Terms` for the arguments of `fedsched.io.read_calendar`, checked.

    By default repeated downtimes are taken until 30 days after the last submit. Raise a FederationError if the
    federation is missing or an argument is invalid. `by_dates` is whether the file's times are dates.
    """
    if federation is None:
        raise FederationError(f"{path}: it names hosts; give federation=, the machine that has them.")
    clock = clock_from(workload if origin is None else origin) if by_dates else None
    machine = SiteHosts(federation, None if hosts is None else hosts_from(hosts, federation))
    outage_effect = _outage_effect(path, on_running or "wait", victims or "latest")
    up_to = None if until is None else _until(until, clock)
    terms = Terms(path, machine, clock, up_to, by_dates=by_dates, outage_effect=outage_effect)
    if workload is None or not len(workload):
        return terms
    terms.in_cpus = IN_CPUS in workload.header
    terms.from_second, terms.last_submit = float(workload.submit.min()), float(workload.submit.max())
    if terms.until is None and clock is not None:
        terms.until = clock.moment(terms.last_submit + DAYS_AFTER * 86400.0)
        terms.until_said = f"what comes again does so until {terms.until}, {DAYS_AFTER} days after the last submit"
    return terms


def _outage_effect(path: str, on_running: str, victims: str) -> OutageEffect:
    for name, given, known in (("on_running", on_running, ON_RUNNING), ("victims", victims, VICTIMS)):
        if given not in known:
            raise FederationError(f"{path}: {unknown_name(name, given, known)}")
    if on_running == "wait" and victims == "random":
        raise FederationError(
            f"{path}: victims={victims!r} (fedsched: --calendar-victims) is for outages that take nodes from jobs; "
            "give on_running='requeue' or 'kill' (fedsched: --calendar-on-running)."
        )
    return OutageEffect(on_running, victims)


def _until(given: str | float, clock: WallClock | None) -> WallTime | None:
    text = given.strip() if isinstance(given, str) else given
    try:
        second = float(text)
    except ValueError:
        moment = wall_time_of(str(text))
    else:
        if clock is None:
            return None  # reading a date reports the missing clock
        moment = clock.moment(second)
    if moment is None or not math.isfinite(moment.seconds):
        raise FederationError(
            f"until={shortened(repr(given))} must be a time like 2027-02-01T00:00:00, or a second of the jobs' clock."
        )
    return moment
