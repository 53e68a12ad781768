"""A reader of `scontrol show res`: reservations for maintenance close nodes [38], others keep nodes for their jobs.

Properties of reservations that are not modelled are left out and named.
"""

from __future__ import annotations

import math
import re
from collections import defaultdict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError, shortened
from fedsched.core.text import counted
from fedsched.core.values import digits_of
from fedsched.io.slurm_files.hosts import hosts_of
from fedsched.io.slurm_files.sacct_values import duration_of
from fedsched.io.tables.closed_hosts import Host, Stretch, downtimes_of, listed, name_of
from fedsched.io.wall_clock import WallTime, wall_time_of
from fedsched.model.machine.node_ranges import ALL
from fedsched.model.time.downtimes import RESERVATION, Downtime

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fedsched.io.tables.calendar_terms import Terms

BEGIN = "ReservationName="
NONE = "No reservations in the system"
_WORD = re.compile(r"(?:^|(?<=\s))([A-Za-z]+)=", re.ASCII)
_DAY = 86400.0
# The step in seconds of a repeated reservation, and the days of the week on which it occurs, Monday being 0.
_REPEATED = {
    "HOURLY": (3600.0, range(7)), "DAILY": (_DAY, range(7)), "WEEKLY": (7 * _DAY, range(7)),
    "WEEKDAY": (_DAY, range(5)), "WEEKEND": (_DAY, range(5, 7)),
}  # fmt: skip
_EMPTY = ("", "(null)", "n/a", "0")
MOST_TIMES = 100_000  # repetitions of one reservation
MAINT = "MAINT"
# Flags of reservations for jobs that are not modelled.
_OTHERWISE = {
    "FLEX": "with jobs that may also run outside (FLEX), which is left out",
    "MAGNETIC": "that draw jobs which do not name them (MAGNETIC), which is left out",
    "REPLACE": "that take other nodes for those in use (REPLACE), which is left out",
}


@dataclass(frozen=True, slots=True)
class Reservation:
    """A reservation in the output of `scontrol show res`: its values by name, and its file and line."""

    words: dict[str, str]
    where: str

    @property
    def name(self) -> str:
        """Return the reservation's name."""
        return self.words["ReservationName"]

    @property
    def flags(self) -> set[str]:
        """Return the reservation's flags in upper case, without the value after an =."""
        return {flag.partition("=")[0] for flag in self.words.get("Flags", "").upper().split(",")}

    def said(self, name: str) -> str:
        """Return the text of the field `name`; "" if it is missing or means none, as "(null)" and "0" do."""
        text = self.words.get(name, "")
        return "" if text in _EMPTY else text

    def times(self, terms: Terms) -> Iterator[tuple[WallTime, WallTime | None]]:
        """Give begin and end of each occurrence, in local time, until the time limit of `terms`.

        The end is None if the reservation has none. Raise a FederationError if it repeats and there is no time limit,
        or if it repeats more than 100,000 times.
        """
        begin, length = terms.on_the_wall(self._begin(), self.where), self._length()
        if self.again is None or math.isinf(length):
            yield begin, None if math.isinf(length) else begin.later(length)
            return
        until = terms.until
        if until is None:
            raise FederationError(
                f"{self.where}: reservation {self.name!r} repeats without end; give until= (fedsched: "
                "--calendar-until), the time until which it repeats."
            )
        step, days = self.again
        if (until.seconds - begin.seconds) / step > MOST_TIMES:
            raise FederationError(
                f"{self.where}: reservation {self.name!r} repeats more than {MOST_TIMES:,} times until {until}; "
                "give an earlier until= (fedsched: --calendar-until)."
            )
        at = begin
        while at == begin or at.seconds < until.seconds:
            if at == begin or (at.seconds // _DAY + 3) % 7 in days:  # 1970 began on a Thursday
                yield at, at.later(length)
            at = at.later(step)

    @property
    def again(self) -> tuple[float, range] | None:
        """Return the seconds between repetitions and their weekdays (Monday is 0); None for a single reservation."""
        return next((step for flag, step in _REPEATED.items() if flag in self.flags), None)

    def _begin(self) -> WallTime:
        moment = wall_time_of(self.words.get("StartTime", ""))
        if moment is None or math.isnan(moment.seconds):
            raise self._wrong("StartTime", "be a time like 2027-01-12T08:00:00")
        return moment

    def _length(self) -> float:
        end, begin = wall_time_of(self.words.get("EndTime", "")), self._begin()
        length = duration_of(self.words.get("Duration", "")) if end is None else end.seconds - begin.seconds
        if not length > 0:
            raise self._wrong("Duration" if end is None else "EndTime", "come after its StartTime")
        return length

    def hosts(self) -> list[str]:
        """Return the names of the reservation's hosts; an empty list if it names none."""
        return hosts_of(text, self.where) if (text := self.said("Nodes")) else []

    def count(self) -> int:
        """Return the reservation's number of nodes, from NodeCnt; 0 if that is missing."""
        text = self.said("NodeCnt")
        if (count := digits_of(text or "0")) is None:
            raise self._wrong("NodeCnt", "be a whole number")
        return count

    def partly(self, cpus: Mapping[str, int]) -> bool | None:
        """Return whether the reservation has only some cores of its nodes; None if the nodes' CPUs needed are unknown.

        `cpus` has the number of CPUs by host.
        """
        cores, traced = self.said("CoreCnt"), re.search(r"\bcpu=(\d{1,9})\b", self.words.get("TRES", ""))
        hosts = self.hosts()
        if "CoreIDs" in self.words or ((told := digits_of(cores)) is not None and told < max(len(hosts), self.count())):
            return True
        if self.flags & {"SPEC_NODES", "ALL_NODES", "PART_NODES"} or not cores:
            return False
        if traced is None or not all(host in cpus for host in hosts):
            return None
        return int(traced[1]) < sum(cpus[host] for host in hosts)

    def _wrong(self, field: str, rule: str) -> FederationError:
        given = shortened(repr(self.words.get(field, "")))
        return FederationError(f"{self.where}: {field}={given} of reservation {self.name!r} must {rule}.")


def are_reservations(text: str) -> bool:
    """Return whether a text is the output of `scontrol show res`."""
    return text.lstrip().startswith((BEGIN, NONE))


def reservations_in(text: str, path: str) -> Iterator[Reservation]:
    """Give the reservations in the output of `scontrol show res`, each on one line or with indented lines below.

    Raise a FederationError for a line that belongs to no reservation.
    """
    words: dict[str, str] = {}
    where = ""
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith(BEGIN):
            if words:
                yield Reservation(words, where)
            words, where = {}, f"{path}, line {number}"
        elif line.strip() and not (words and line[0].isspace()) and not line.startswith(NONE):
            raise FederationError(
                f"{path}, line {number}: {shortened(repr(line.strip()))} belongs to no reservation; give only what "
                "`scontrol show res -o` prints."
            )
        words = _words(line) | words  # the first value holds: a comment may contain NAME=VALUE, too
    if words:
        yield Reservation(words, where)


def _words(line: str) -> dict[str, str]:
    marks = list(_WORD.finditer(line))
    ends = [mark.start() for mark in marks[1:]] + [len(line)]
    pairs = [(mark[1], line[mark.end() : ends[k]].strip()) for k, mark in enumerate(marks)]
    return dict(reversed(pairs))


def read_reservations(text: str, terms: Terms) -> list[Downtime]:
    """Return the downtimes of the reservations in the output of `scontrol show res`, sorted by begin.

    Reservations for maintenance close nodes; others are downtimes that keep nodes for their users and accounts. What is
    left out or assumed is noted in `terms`.
    """
    closed: dict[Host, list[Stretch]] = defaultdict(list)
    whole: list[Downtime] = []
    left: dict[str, list[str]] = defaultdict(list)
    again, taken_whole = False, []
    reserved: list[Downtime] = []
    for one in reservations_in(text, terms.path):
        if why := _left_out(one, terms):
            left[why].append(one.name)
            continue
        if one.partly(terms.cpus) is None:
            taken_whole.append(one.name)
        if any(one.said(field) for field in ("Licenses", "BurstBuffer", "Watts")):
            left["with licences, buffers or watts, which are left out"].append(one.name)
        if one.said("MaxStartDelay"):
            left["assumed to begin on time, but may be late"].append(one.name)
        if MAINT not in one.flags:
            for flag in _OTHERWISE.keys() & one.flags:
                left[_OTHERWISE[flag]].append(one.name)
            mine = _reserved(one, terms)
            if any(_overlap(new, old, terms) for new in mine for old in reserved):
                left["that overlap others left out"].append(one.name)
            else:
                reserved += mine
            continue
        again |= one.again is not None
        stretches = terms.kept([
            Stretch(
                terms.second(begin, one.where),
                math.inf if end is None else terms.second(end, one.where),
                "maintenance",
                name_of([one.name]),
            )
            for begin, end in one.times(terms)
        ])  # fmt: skip
        nodes = _counted(one, terms)
        for host in () if nodes else one.hosts():
            closed[Host(host)] += stretches
        whole += [
            Downtime(cluster, stretch.begin, stretch.end, nodes=some, name=stretch.name)
            for cluster, some in nodes.items()
            for stretch in stretches
        ]
    if again:
        terms.say_until()
    if taken_whole:
        terms.assumed.append(
            f"nodes of {counted(len(taken_whole), 'reservation')} taken whole ({listed(taken_whole)}; "
            "--hosts with their CPUs tells)"
        )
    for why, names in left.items():
        terms.leave_out(f"{counted(len(names), 'reservation')} {why} ({listed(names)})")
    found = whole + downtimes_of(closed, terms.machine, terms.path) + reserved
    return sorted(found, key=lambda downtime: downtime.begin)


def _left_out(one: Reservation, terms: Terms) -> str:
    """Return the reason, as words of a note, why a reservation is left out; "" if it is not left out."""
    if MAINT not in one.flags and one.again is not None:
        return "for users or accounts left out, since they repeat"
    if MAINT not in one.flags and (one.said("Groups") or "-" in f"{one.said('Users')[:1]}{one.said('Accounts')[:1]}"):
        return "left out that name groups, or excluded users"
    if "TIME_FLOAT" in one.flags:
        return "left out with a begin that moves (TIME_FLOAT)"
    if not one.hosts() and not one.count() and "ALL_NODES" not in one.flags:
        return "of no nodes left out"
    return "of some cores of their nodes left out" if one.partly(terms.cpus) else ""


def _reserved(one: Reservation, terms: Terms) -> list[Downtime]:
    """Return downtimes for the first occurrence of a reservation, which keep its nodes for its users and accounts."""
    (begin, end), *_ = one.times(terms)
    until = math.inf if end is None else terms.second(end, one.where)
    stretches = terms.kept([Stretch(terms.second(begin, one.where), until, RESERVATION, name_of([one.name]))])
    nodes, found = _counted(one, terms), []
    for stretch in stretches:
        found += [
            Downtime(cluster, stretch.begin, stretch.end, nodes=some, kind=RESERVATION, name=stretch.name)
            for cluster, some in nodes.items()
        ]
    if not nodes:
        found = downtimes_of({Host(host): stretches for host in one.hosts()}, terms.machine, terms.path)
    users, accounts = (tuple(filter(None, one.said(field).split(","))) for field in ("Users", "Accounts"))
    return [replace(downtime, users=users, accounts=accounts) for downtime in found]


def _overlap(one: Downtime, other: Downtime, terms: Terms) -> bool:
    sizes = {cluster.name: cluster.nodes for cluster in terms.machine.federation.clusters}
    if one.cluster != other.cluster or one.begin >= other.end or other.begin >= one.end:
        return False
    return bool((one.members(sizes) & other.members(sizes)).any())


def _counted(one: Reservation, terms: Terms) -> dict[str, str]:
    """Return, by cluster, the text of the nodes that a reservation closes; {} if its hosts must be located first.

    Their locations are not needed if it has all nodes of a cluster, those of a partition, or only a number of nodes.
    """
    machine = terms.machine
    if machine.hosts is None and "ALL_NODES" in one.flags:
        return {machine.cluster("", one.where).name: ALL}
    parts = {part.name: part for part in machine.federation.partitions}
    if machine.hosts is None and "PART_NODES" in one.flags and one.said("PartitionName") in parts:
        return dict(parts[one.said("PartitionName")].nodes)
    terms.check_hosts()
    if one.hosts():
        return {}
    cluster = machine.cluster("", one.where)
    if one.count() > cluster.nodes:
        raise FederationError(
            f"{one.where}: reservation {one.name!r} has {one.count()} nodes, but the cluster {cluster.name!r} has "
            f"{cluster.nodes}."
        )
    return {cluster.name: ALL if one.count() == cluster.nodes else f"{one.count()} of {ALL}"}
