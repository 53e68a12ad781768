"""A reader of `sacctmgr -P show events`: times in which nodes were down or drained become outages and drains [38]."""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import FederationError, shortened
from fedsched.core.text import counted, one_line
from fedsched.io.tables.closed_hosts import Host, Stretch, downtime, downtimes_of, listed, name_of, without_overlaps
from fedsched.io.wall_clock import WallTime, wall_time_of
from fedsched.model.machine.node_ranges import ALL

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.io.tables.calendar_terms import Terms
    from fedsched.model.time.downtimes import Downtime

# OUTAGE: the node is gone. DRAIN: it takes no new jobs, but its running jobs go on. OPEN: it takes jobs, at the latest
# when it has been powered up.
OUTAGE = {
    "DOWN", "ERROR", "INVAL", "INVALID", "INVALID_REG", "UNK", "UNKNOWN", "FUTR", "FUTURE", "REBOOT", "REBOOT_ISSUED",
    "REBOOT_REQUESTED", "NO_RESPOND", "NO_RESP", "NOT_RESPONDING",
}  # fmt: skip
DRAIN = {"DRAIN", "DRAINED", "DRAINING", "DRNG", "FAIL", "FAILG", "FAILING", "MAINT", "MAINTENANCE"}
OPEN = {
    "ALLOC", "ALLOCATED", "BLOCK", "BLOCKED", "BOOT", "CLOUD", "COMP", "COMPLETING", "DYNAMIC_NORM", "EXTERNAL", "IDLE",
    "MIX", "MIXED", "NPC", "PERFCTRS", "PLANNED", "PLND", "POW_DN", "POW_UP", "POWER_DOWN", "POWER_UP", "POWERED_DOWN",
    "POWERING_DOWN", "POWERING_UP", "RES", "RESERVED", "RESUME", "RESV", "UNDRAIN",
}  # fmt: skip
# Marks after a state: * does not answer, ^ is rebooting, $ is in maintenance; the other marks close nothing.
MARKS = {"*": "outage", "^": "outage", "$": "drain"}
_STATE = re.compile(r"([A-Z_]+(?:\+[A-Z_]+)*)([*~#!%$@^\-]*)")


def kind_of(state: str) -> str | None:
    """Return "outage" or "drain" for a state of a node, "" if the node takes jobs, None if it is no state of Slurm."""
    match = _STATE.fullmatch(state.strip().upper())
    if match is None:
        return None
    words = set(match[1].split("+"))
    if not words <= OUTAGE | DRAIN | OPEN:
        return None
    kinds = {"outage"} if words & OUTAGE else {"drain"} if words & DRAIN else {MARKS.get(mark, "") for mark in match[2]}
    return next((kind for kind in ("outage", "drain") if kind in kinds), "")


COMMAND = "sacctmgr -P show events start=2026-01-01 format=Cluster,NodeName,TimeStart,TimeEnd,State,Reason"
_BEGIN, _END = "timestart", "timeend"
_NAMES = {"start": _BEGIN, "end": _END, "node": "nodename", "cluster nodes": "clusternodes", "cpu cnt": "cpucount"}
SIZE = "Cluster Registered TRES"  # the reason in rows that give the size of a cluster from then on
AWAY = "slurmctld disconnect"  # the reason in rows that tell that the controller is away


class Event(NamedTuple):
    """A row of the output: a node, or a cluster if `node` is "", was in a state from begin to end.

    The end is None if the state lasts. `where` is the file and line.
    """

    cluster: str
    node: str
    begin: WallTime
    end: WallTime | None
    state: str
    reason: str
    where: str


def are_events(text: str) -> bool:
    """Return whether a text, by its first line, is the output of `sacctmgr show events`; it may still be invalid."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    names = {_NAMES.get(name, name) for name in first.lower().replace("|", " ").split()}
    return {_BEGIN, "nodename"} <= names or (first.count("|") >= 4 and _holds_times(first))


def _holds_times(line: str) -> bool:
    # The first line is then a row of values, not the names of columns.
    times = (wall_time_of(cell) for cell in line.split("|")[1:4])
    return any(moment is not None and math.isfinite(moment.seconds) for moment in times)


def _columns(header: str) -> list[str]:
    named = [name.strip().lower() for name in header.rstrip("\r\n").split("|")]
    return [_NAMES.get(name, name) for name in named]


def events_in(text: str, path: str) -> Iterator[Event]:
    """Give the rows of the output of `sacctmgr -P show events`; a reason may contain bars.

    Raise a FederationError if a needed column is missing, or a row has a wrong number of fields or a wrong time.
    """
    columns: list[str] = []
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        if not columns:
            columns = _checked(_columns(line), line, where)
            continue
        cells = line.split("|")
        if len(cells) == len(columns) and _columns(line) == columns:
            continue  # a second header: dumps were joined
        surplus = len(cells) - len(columns)
        if surplus > 0 and "reason" in columns:
            k = columns.index("reason")
            cells[k : k + surplus + 1] = ["|".join(cells[k : k + surplus + 1])]
        if len(cells) != len(columns):
            raise FederationError(
                f"{where}: {len(cells)} fields, but {len(columns)} columns; dump with: {COMMAND}."
            )
        yield _event(dict(zip(columns, (cell.strip() for cell in cells), strict=True)), where)


def _checked(columns: list[str], line: str, where: str) -> list[str]:
    if "|" not in line:
        raise FederationError(f"{where}: the columns of a table are cut; dump with bars between them: {COMMAND}.")
    for name in (_BEGIN, _END, "nodename", "state"):
        if name not in columns:
            raise FederationError(
                f"{where}: no column {name}; the first line must name the columns (no -n), as from: {COMMAND}."
            )
    return columns


def _event(cells: dict[str, str], where: str) -> Event:
    begin, end = wall_time_of(cells[_BEGIN]), wall_time_of(cells[_END])
    if begin is None or math.isnan(begin.seconds):
        raise FederationError(f"{where}: TimeStart={shortened(repr(cells[_BEGIN]))} must be a time.")
    if end is not None and 0 < begin.seconds - end.seconds <= 3600:  # the hour that is repeated in autumn
        end = end.later(3600)
    if end is not None and not end.seconds >= begin.seconds:
        raise FederationError(f"{where}: TimeEnd={shortened(repr(cells[_END]))} must be a time after its TimeStart.")
    names = (cells.get("cluster", ""), cells["nodename"])
    return Event(*names, begin, end, cells["state"], cells.get("reason", ""), where)


def read_events(text: str, terms: Terms) -> list[Downtime]:
    """Return the downtimes that the output of `sacctmgr show events` means, sorted by begin.

    Events that close no nodes, or concern other clusters or unknown hosts, are left out and noted in `terms`. Events of
    a whole cluster close all of its nodes.
    """
    events = _of_these_clusters(list(events_in(text, terms.path)), terms)
    closed: dict[Host, list[Stretch]] = defaultdict(list)
    whole: dict[str, list[Stretch]] = defaultdict(list)
    sizes, instants, still = 0, 0, 0
    left: Counter[str] = Counter()
    strangers: Counter[str] = Counter()
    for event in events:
        kind = kind_of(event.state)
        if not event.node and (not event.state or event.reason == SIZE):
            sizes += 1
        elif kind is None:
            raise FederationError(f"{event.where}: {shortened(repr(event.state))} is not a state of Slurm's nodes.")
        elif not kind:
            left[event.state] += 1
        elif event.end is not None and event.end.seconds == event.begin.seconds:
            instants += 1
        elif terms.machine.hosts is not None and event.node and event.node not in terms.machine.hosts.places:
            strangers[event.node] += 1
        else:
            still += event.end is None
            stretches = terms.kept([_stretch(event, kind, terms)])
            if event.node:
                terms.check_hosts()
                closed[Host(event.node, event.cluster)] += stretches
            else:
                whole[terms.machine.cluster(event.cluster, event.where).name] += stretches
    _say(terms, sizes, instants, still, left, strangers)
    found = [
        downtime(cluster, one, ALL, terms.outage_effect)
        for cluster, stretches in whole.items()
        for one in without_overlaps(stretches)
    ]
    found += downtimes_of(closed, terms.machine, terms.path, terms.outage_effect)
    return sorted(found, key=lambda one: one.begin)


def _stretch(event: Event, kind: str, terms: Terms) -> Stretch:
    begin = terms.second(event.begin, event.where)
    end = math.inf if event.end is None else max(terms.second(event.end, event.where), begin + 1.0)
    # While the controller is away no job starts, but running jobs go on.
    kind = "drain" if not event.node and event.reason == AWAY else kind
    return Stretch(begin, end, kind, name_of([event.reason]))


def _of_these_clusters(events: list[Event], terms: Terms) -> list[Event]:
    names = list(dict.fromkeys(event.cluster for event in events if event.cluster))
    known = {cluster.name for cluster in terms.machine.federation.clusters}
    ours = [event for event in events if event.cluster in known or not event.cluster]
    if not known.isdisjoint(names):
        if others := [name for name in names if name not in known]:
            count = counted(len(events) - len(ours), "event")
            terms.leave_out(f"{count} of other clusters left out ({listed(others)})")
        return ours
    if len(names) > 1:
        raise FederationError(
            f"{terms.path}: its events are of the clusters {listed(names)}, none of which the federation "
            f"has ({listed(sorted(known))}); give a cluster one of these names, or dump one cluster (cluster=NAME)."
        )
    if names and len(known) == 1:
        terms.assumed.append(f"the cluster {one_line(names[0])} of the events is {one_line(*known)}")
    return events


def _say(terms: Terms, sizes: int, instants: int, still: int, left: Counter[str], strangers: Counter[str]) -> None:
    if sizes:
        terms.leave_out(f"{counted(sizes, 'event')} of a cluster's size")
    if instants:
        terms.leave_out(f"{counted(instants, 'event')} that ended as they began")
    if left:
        states = listed([f"{count:,} {state}" for state, count in left.items()])
        terms.leave_out(f"{counted(left.total(), 'event')} in which nodes take jobs ({states})")
    if strangers:
        names = listed(strangers)
        terms.leave_out(f"{counted(strangers.total(), 'event')} of hosts that --hosts does not name ({names})")
    if still:
        terms.assumed.append(f"{counted(still, 'event')} without an end never end")
