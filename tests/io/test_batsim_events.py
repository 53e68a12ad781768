"""Batsim's external events, as calendars."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.io.tables.downtimes import read_calendar
from fedsched.model.jobs.assumed import Noted

if TYPE_CHECKING:
    from pathlib import Path

TWO = fs.Federation(
    (fs.Cluster("a", (fs.NodeGroup(2), fs.NodeGroup(2))), fs.Cluster("b", (fs.NodeGroup(3),))), name="two"
)


def event(time: float, resources: str, *, back: bool = False) -> dict[str, Any]:
    """Return an event as a line has it."""
    return {"type": f"machine_{'' if back else 'un'}available", "resources": resources, "timestamp": time}


def calendar(folder: Path, *events: object, **words: Any) -> Noted:
    """Return the calendar of some events, or of lines of text."""
    lines = [one if isinstance(one, str) else json.dumps(one) for one in events]
    (folder / "events.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    found = read_calendar(folder / "events.txt", **({"federation": TWO} | words))
    assert isinstance(found, Noted)
    return found


def test_machines_that_go_and_come_back_are_outages(tmp_path: Path) -> None:
    """Machine k is the federation's k-th node; those that go and come together are counted within their group."""
    found = calendar(
        tmp_path,
        event(20, "0-1 3"),
        event(0, "0"),
        event(10, "0", back=True),
        event(250, "0 1", back=True),
        event(300, "3", back=True),
        event(400, "4-6"),
        event(500, "5"),  # it is away already
        event(600, "2", back=True),  # it never went
    )
    assert [(one.cluster, one.begin, one.end, one.nodes) for one in found] == [
        ("a", 0.0, 10.0, "1 of 0-1"),
        ("a", 20.0, 250.0, "0-1"),
        ("a", 20.0, 300.0, "1 of 2-3"),
        ("b", 400.0, math.inf, "all"),
    ]
    assert all((one.kind, one.known_from, one.end_known) == ("outage", one.begin, False) for one in found)
    assert (found.left_out, found.assumed) == ((), ("3 machines that do not come back never do",))


def test_recorded_outages_are_of_the_very_machines(tmp_path: Path) -> None:
    """Which nodes they are stands in the file; without that they are counted."""
    found = calendar(tmp_path, event(20, "0 3"), event(50, "0 3", back=True), on_running="kill", victims="recorded")
    assert [(one.nodes, one.on_running, one.victims) for one in found] == [("0,3", "kill", "recorded")]
    found = calendar(tmp_path, event(20, "0 3"), event(50, "0 3", back=True), on_running="kill", victims="random")
    assert [(one.nodes, one.victims) for one in found] == [("1 of 0-1", "random"), ("1 of 2-3", "random")]


def test_newer_versions_put_it_into_a_text(tmp_path: Path) -> None:
    """A generic event may be about machines; others, and those of other types, are counted."""
    inside = {"type": "generic", "timestamp": 5, "data": json.dumps({"type": "machine_unavailable", "resources": "6"})}
    other = [{"type": "generic", "timestamp": 6, "data": data} for data in ("hello", 3, "[]", '{"type": "x"}')]
    found = calendar(tmp_path, inside, *other, {"type": "party", "timestamp": 7}, event(9, "6", back=True))
    assert [(one.cluster, one.begin, one.end, one.nodes) for one in found] == [("b", 5.0, 9.0, "1 of all")]
    assert found.left_out == ("5 events that say nothing of machines (4 generic, 1 party)",)


def test_its_seconds_are_the_jobs(tmp_path: Path) -> None:
    """No date is needed, nor taken; what is over before the first job is left out."""
    log = fs.Workload(submit=[100.0], tasks=[1], runtime=[1.0], history=["rebased to 100"])
    found = calendar(tmp_path, event(1, "0"), event(50, "0", back=True), event(60, "1"), workload=log)
    assert [(one.begin, one.nodes) for one in found] == [(60.0, "1 of 0-1")]
    assert found.left_out == ("1 downtime over before the first job",)
    for words in ({"hosts": {"x": ("a", 0)}}, {"origin": "2027-01-01"}, {"until": 5.0}):
        with pytest.raises(FederationError, match=rf"leave out {next(iter(words))}= .* for Slurm's output"):
            calendar(tmp_path, event(1, "0"), **words)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (event(1, "0-7"), r"events.txt, line 1: machine 7 is none of the federation's 7 nodes, 0 to 6"),
        (event(1, "3-2"), r"line 1: resources='3-2' must be machines like '0-3 7'"),
        (event(1, ""), r"line 1: resources='' must be machines"),
        (event(1, 3), r"line 1: resources=3 must be machines"),  # type: ignore[arg-type]
        (event(-1, "0"), r"line 1: timestamp=-1 must be seconds, at least 0"),
        ('{"timestamp": NaN, "type": "x"}', r"line 1: timestamp=nan must be seconds"),
        ({"type": 3, "timestamp": 1}, r"line 1: type=3 must be a text"),
        ({"jobs": []}, r"line 1: it has no timestamp and type; give lines like"),
        ('{"type": "x"', r"line 1: not valid JSON"),
        ('{\n"reservations": []}', r"Slurm's JSON is not read; give what `scontrol show res -o` prints"),
    ],
)
def test_a_broken_event_is_refused_by_its_line(tmp_path: Path, line: object, message: str) -> None:
    """The error names file, line, field and cure."""
    with pytest.raises(FederationError, match=message):
        calendar(tmp_path, line)


def test_schedules_keep_to_what_comes_of_it(tmp_path: Path) -> None:
    """An outage that nobody sees coming takes its nodes as jobs end, and whoever comes then waits."""
    found = calendar(tmp_path, event(5, "0-6"), event(50, "0-6", back=True))
    log = fs.Workload(submit=[0.0, 10.0], tasks=[7, 1], runtime=[20.0, 5.0])
    schedule = fs.simulate(log, fs.Federation(TWO.clusters, calendar=found), "easy")
    schedule.verify()
    assert schedule.start.tolist() == [0.0, 50.0]
