"""A reader of Batsim's external events: lines of JSON, each with machines that become unavailable or available [38]."""

from __future__ import annotations

import json
import math
import re
from bisect import bisect_right
from collections import Counter, defaultdict
from itertools import accumulate
from typing import TYPE_CHECKING, Any, NamedTuple

from fedsched.core.errors import FederationError, shortened
from fedsched.core.text import counted
from fedsched.io.files import parse_json
from fedsched.io.slurm_files.hosts import Hosts, Place
from fedsched.io.tables.closed_hosts import Host, SiteHosts, Stretch, downtimes_of, listed

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.io.tables.calendar_terms import Terms
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.downtimes import Downtime

GONE, BACK = "machine_unavailable", "machine_available"
GENERIC = "generic"  # newer versions put the event into a text within the event
_IDS = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


class Event(NamedTuple):
    """A change at `time` seconds: ranges of machine numbers become unavailable, or with `back` available again."""

    time: float
    back: bool
    machines: list[tuple[int, int]]
    line: int


def are_events(text: str) -> bool:
    """Return whether a text may be Batsim's events: it begins with a brace, as JSON does."""
    return text.lstrip().startswith("{")


def events_in(text: str, path: str, others: Counter[str]) -> Iterator[Event]:
    """Give the events about machines, one for each line; count events of other types in `others`, by type.

    Raise a FederationError for an invalid line.
    """
    for number, line in enumerate(text.splitlines(), 1):
        where = f"{path}, line {number}"
        if not line.strip():
            continue
        data = _object(line, where)
        time, kind = data.get("timestamp"), data.get("type")
        if isinstance(time, bool) or not isinstance(time, int | float) or not 0 <= time < 2**53:
            raise FederationError(f"{where}: timestamp={shortened(repr(time))} must be seconds, at least 0.")
        if not isinstance(kind, str):
            raise FederationError(f"{where}: type={shortened(repr(kind))} must be a text, like {GONE}.")
        if kind == GENERIC:
            data = _inner(data.get("data"))
            kind = data["type"] if data.get("type") in (GONE, BACK) else kind
        if kind in (GONE, BACK):
            yield Event(float(time), kind == BACK, list(_machines(data.get("resources"), where)), number)
        else:
            others[kind] += 1


def _object(line: str, where: str) -> dict[str, Any]:
    data = parse_json(line, where)
    if not isinstance(data, dict) or not {"timestamp", "type"} <= data.keys():
        raise FederationError(
            f"{where}: it has no timestamp and type; give lines like "
            f'{{"type": "{GONE}", "resources": "0-3 7", "timestamp": 10}}.'
        )
    return data


def _inner(text: Any) -> dict[str, Any]:
    # A generic event may contain anything; only events about machines are read.
    try:
        data = json.loads(text) if isinstance(text, str) else None
    except (ValueError, RecursionError):
        data = None
    return data if isinstance(data, dict) else {}


def _machines(resources: Any, where: str) -> Iterator[tuple[int, int]]:
    parts = re.split(r"[\s,]+", resources.strip()) if isinstance(resources, str) else [""]
    for part in parts:
        match = _IDS.fullmatch(part)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if last < first:
            raise FederationError(f"{where}: resources={shortened(repr(resources))} must be machines like '0-3 7'.")
        yield first, last


def read_events(text: str, terms: Terms) -> list[Downtime]:
    """Return the outages that Batsim's events mean, sorted by begin; machine k is the federation's node k, from 0 on.

    Machines that do not come back are closed for ever. Other events are left out and noted in `terms`.
    """
    if '"reservations"' in text:
        raise FederationError(f"{terms.path}: Slurm's JSON is not read; give what `scontrol show res -o` prints.")
    others: Counter[str] = Counter()
    federation = terms.machine.federation
    gone: dict[int, float] = {}
    closed: dict[Host, list[Stretch]] = defaultdict(list)
    places: dict[str, Place] = {}

    def close(machine: int, end: float) -> None:
        begin = gone.pop(machine)
        if end > begin:
            places[str(machine)] = _place(machine, federation)
            closed[Host(str(machine))] += terms.kept([Stretch(begin, end, "outage")])

    for event in sorted(events_in(text, terms.path, others), key=lambda event: event.time):
        for first, last in event.machines:
            if last >= federation.nodes:
                raise FederationError(
                    f"{terms.path}, line {event.line}: machine {last} is none of the federation's {federation.nodes} "
                    f"nodes, 0 to {federation.nodes - 1}."
                )
            for machine in range(first, last + 1):
                if not event.back:
                    gone.setdefault(machine, event.time)
                elif machine in gone:
                    close(machine, event.time)
    if gone:
        terms.assumed.append(f"{counted(len(gone), 'machine')} that do not come back never do")
    for machine in list(gone):
        close(machine, math.inf)
    if others:
        kinds = listed([f"{count:,} {kind}" for kind, count in others.items()])
        terms.leave_out(f"{counted(others.total(), 'event')} that say nothing of machines ({kinds})")
    named = SiteHosts(federation, Hosts(places, terms.path))
    return downtimes_of(closed, named, terms.path, terms.outage_effect)


def _place(machine: int, federation: Federation) -> Place:
    firsts = [0, *accumulate(cluster.nodes for cluster in federation.clusters)]
    k = bisect_right(firsts, machine) - 1
    node = machine - firsts[k]
    return Place(federation.clusters[k].name, node, node)
