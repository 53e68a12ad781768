"""What `sacctmgr show events` prints, as calendars: recorded from a Slurm (tests/io/slurm), and what is refused."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.io.slurm_files.node_events import kind_of
from fedsched.io.tables.downtimes import read_calendar
from fedsched.model.jobs.assumed import Noted

SLURM = Path(__file__).parent / "slurm"
NORTH = fs.Federation((fs.Cluster("north", (fs.NodeGroup(10, name="cn"), fs.NodeGroup(4, name="gpu"))),))
BEGIN = "2026-11-23T16:07:00"
HEAD = "Cluster|NodeName|TimeStart|TimeEnd|State|Reason\n"


def calendar(path: Path = SLURM / "events-P.txt", **words: Any) -> Noted:
    """Return the calendar of a file, from a minute before the recording on."""
    found = read_calendar(path, **({"federation": NORTH, "origin": BEGIN} | words))
    assert isinstance(found, Noted)
    return found


def shown(found: Noted) -> list[tuple[float, float, str, str, str]]:
    """Return what there is to see of downtimes."""
    return [(one.begin, one.end, one.nodes, one.kind, one.name) for one in found]


def of(folder: Path, *rows: str, **words: Any) -> Noted:
    """Return the calendar of some rows of north, times as 16:08:… and 16:09:…, without their day."""
    day = "2026-11-23T"
    lines = [row.replace("|16:", f"|{day}16:") for row in rows]
    (folder / "events.txt").write_text(HEAD + "\n".join(lines) + "\n", encoding="utf-8")
    return calendar(folder / "events.txt", **words)


def test_events_are_outages_and_drains_of_so_many_nodes() -> None:
    """Events of a node that touch are one; nodes that are closed alike are counted, within their group."""
    found = calendar(hosts=SLURM / "nodes-o.txt")
    assert shown(found) == [
        (49.0, 50.0, "all", "outage", "cold-start"),
        (51.0, 54.0, "1 of 0-9", "outage", "disk / failed"),
        (51.0, 64.0, "1 of 0-9", "drain", "memory, now down"),
        (54.0, 64.0, "1 of 0-9", "outage", "in maintenance"),
        (54.0, 64.0, "1 of 10-13", "outage", "Set to State=FUTURE"),
        (54.0, math.inf, "1 of 0-9", "drain", "a job ends first"),
        (54.0, math.inf, "1 of 0-9", "drain", "in maintenance"),
        (54.0, math.inf, "1 of 0-9", "drain", "will fail"),
        (58.0, 64.0, "2 of 10-13", "outage", "power"),
    ]
    assert all((one.known_from, one.end_known) == (one.begin, False) for one in found)
    assert found.left_out == ("1 event of a cluster's size", "2 events that ended as they began")
    assert found.assumed == ("3 events without an end never end",)
    closed = fs.Federation(NORTH.clusters, calendar=found)
    assert [group.count for group in closed.clusters[0].groups] == [10, 4]  # no group of single nodes


def test_without_hosts_nodes_are_counted_in_the_cluster() -> None:
    """And that is said."""
    found = calendar()
    assert [one.nodes for one in found if one.name in ("power", "cold-start")] == ["all", "2 of all"]
    assert found.assumed[-1] == "closed hosts are counted, whichever nodes they are (--hosts says which)"


def test_recorded_outages_name_their_nodes() -> None:
    """Outages take jobs as asked, and they and drains close the very nodes that the hosts are; drains wait."""
    found = calendar(hosts=SLURM / "nodes-o.txt", on_running="requeue", victims="recorded")
    assert [(one.begin, one.end, one.nodes, one.name) for one in found] == [
        (49.0, 50.0, "all", "cold-start"),
        (51.0, 54.0, "0", "disk / failed"),
        (51.0, 64.0, "1", "memory, now down"),
        (54.0, 64.0, "11", "Set to State=FUTURE"),
        (54.0, 64.0, "8", "in maintenance"),
        (54.0, math.inf, "2", "a job ends first"),
        (54.0, math.inf, "3", "will fail"),
        (54.0, math.inf, "9", "in maintenance"),
        (58.0, 64.0, "12-13", "power"),
    ]
    assert {(one.kind, one.on_running, one.victims) for one in found} == {
        ("outage", "requeue", "recorded"), ("drain", "wait", "latest")
    }  # fmt: skip
    counted = calendar(hosts=SLURM / "nodes-o.txt", on_running="kill")
    assert shown(counted) == shown(calendar(hosts=SLURM / "nodes-o.txt"))
    assert {one.on_running for one in counted if one.kind == "outage"} == {"kill"}
    waiting = calendar(hosts=SLURM / "nodes-o.txt", victims="recorded")
    assert [(one.begin, one.end, one.nodes, one.name) for one in waiting] == [
        (one.begin, one.end, one.nodes, one.name) for one in found
    ]
    assert {one.on_running for one in waiting} == {"wait"}


def test_recorded_outages_need_to_know_the_nodes() -> None:
    """Hosts that are only counted are no nodes; and outages that wait have no victims."""
    with pytest.raises(FederationError, match=r"--calendar-victims\) closes exactly the recorded nodes, and it names"):
        calendar(on_running="requeue", victims="recorded")
    with pytest.raises(FederationError, match=r"give on_running='requeue' or 'kill' \(fedsched: --calendar-on-ru"):
        calendar(hosts=SLURM / "nodes-o.txt", victims="random")
    with pytest.raises(FederationError, match=r"events-P.txt: Unknown victims 'eldest'"):
        calendar(on_running="requeue", victims="eldest")
    with pytest.raises(FederationError, match=r"Unknown on_running 'stop'"):
        calendar(on_running="stop")
    assert [one.on_running for one in calendar(on_running="requeue") if one.name == "cold-start"] == ["requeue"]


@pytest.mark.parametrize("file", ["events-p.txt", "events-all.txt", "events-seconds.txt"])
def test_every_form_says_the_same(file: str) -> None:
    """A bar at the end of each line, more columns, times in seconds; a reason may have bars in it."""
    assert shown(calendar(SLURM / file)) == shown(calendar())


@pytest.mark.parametrize(
    ("file", "message"),
    [
        ("events-table.txt", r"line 1: the columns of a table are cut; dump with bars between them: sacctmgr -P"),
        ("events-n.txt", r"line 1: no column timestart; the first line must name the columns \(no -n\), as from:"),
    ],
)
def test_forms_that_lack_something_are_refused(file: str, message: str) -> None:
    """A table cuts its columns, and rows alone do not say what is what."""
    with pytest.raises(FederationError, match=message):
        calendar(SLURM / file)


def test_a_node_is_closed_once_by_what_is_strongest(tmp_path: Path) -> None:
    """A drain around an outage is what is left of it; of two outages that overlap one comes."""
    found = of(
        tmp_path,
        "north|a|16:08:00|16:08:50|DRAIN|slow",
        "north|a|16:08:10|16:08:20|DOWN*|gone",
        "north|a|16:08:15|16:08:30|DOWN|dead",
        "north|b|16:08:30|16:08:50|DRAINED|slow",
    )
    assert shown(found) == [
        (60.0, 70.0, "1 of all", "drain", "slow"),
        (70.0, 90.0, "1 of all", "outage", "gone, dead"),
        (90.0, 110.0, "2 of all", "drain", "slow"),
    ]


def test_a_cluster_without_its_controller_starts_nothing(tmp_path: Path) -> None:
    """A row without a node closes the cluster; while the controller is away what runs goes on."""
    found = of(
        tmp_path,
        "north||16:08:00|16:08:10|DOWN|slurmctld disconnect",
        "north||16:08:20|16:08:30|DOWN|power",
        "north||16:08:00|Unknown||Cluster Registered TRES",
    )
    assert shown(found) == [
        (60.0, 70.0, "all", "drain", "slurmctld disconnect"), (80.0, 90.0, "all", "outage", "power")
    ]  # fmt: skip


def test_states_tell_whether_a_node_takes_jobs() -> None:
    """Short and long names, several at once, and what stands behind them."""
    for kind, states in (
        ("outage", "DOWN DOWN* down$ UNK ERROR IDLE* DOWN+DRAIN REBOOT^ FUTURE IDLE+NOT_RESPONDING"),
        ("drain", "DRAIN DRAIN* DRNG DRAINED FAIL FAILG MAINT IDLE+DRAIN IDLE$ DRAIN$~"),
        ("", "IDLE IDLE~ POW_DN POWERED_DOWN MIX- ALLOC# PLND RESV COMP"),
    ):
        assert {state: kind_of(state) for state in states.split()} == dict.fromkeys(states.split(), kind)
    assert [kind_of(state) for state in ("", "PARTY", "DOWN+PARTY", "1", "DOWN?")] == [None] * 5


def test_what_closes_nothing_is_counted(tmp_path: Path) -> None:
    """Nodes that sleep, rows of other clusters, hosts that are gone since; joined dumps are read."""
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("north = a[1-14]\n", encoding="utf-8")
    found = of(
        tmp_path,
        "north|a1|16:08:00|16:08:10|IDLE~|sleeps",
        "north|a1|16:08:00|16:08:10|POWERED_DOWN|sleeps",
        HEAD.strip(),
        "north|a99|16:08:00|16:08:10|DOWN|",
        "south|a2|16:08:00|16:08:10|DOWN|",
        "north|a14|16:08:00|16:08:10|DOWN|",
        hosts=hosts,
    )
    assert shown(found) == [(60.0, 70.0, "1 of 10-13", "outage", "")]
    assert found.left_out == (
        "1 event of other clusters left out (south)",
        "2 events in which nodes take jobs (1 IDLE~, 1 POWERED_DOWN)",
        "1 event of hosts that --hosts does not name (a99)",
    )


def test_rows_go_to_the_cluster_that_they_name(tmp_path: Path) -> None:
    """A federation of one may call it otherwise, which two names do not allow."""
    two = fs.Federation((fs.Cluster("north", (fs.NodeGroup(3),)), fs.Cluster("south", (fs.NodeGroup(2),))))
    rows = ("south|a|16:08:00|16:08:10|DOWN|", "south|b|16:08:00|16:08:10|DOWN|", "north|a|16:08:00|16:08:10|DOWN|")
    found = of(tmp_path, *rows, federation=two)
    assert [(one.cluster, one.nodes) for one in found] == [("north", "1 of all"), ("south", "all")]
    one = fs.Federation.homogeneous(4)
    found = of(tmp_path, rows[0], federation=one)
    assert [(one.cluster, one.nodes) for one in found] == [("cluster", "1 of all")]
    assert found.assumed[0] == "the cluster south of the events is cluster"
    with pytest.raises(FederationError, match=r"are of the clusters south, north, none of which the federation has"):
        of(tmp_path, *rows, federation=one)
    with pytest.raises(FederationError, match=r"'west' is none of these: north, south; give hosts="):
        of(tmp_path, rows[0].replace("south", "west"), federation=two)


def test_what_is_over_before_the_first_job_is_left_out(tmp_path: Path) -> None:
    """With jobs the calendar begins where they do; their CPUs are no hosts."""
    header = [("StartTime", "2026-11-23 16:08:00")]
    log = fs.Workload(submit=[15.0], tasks=[1], runtime=[1.0], header=header)
    rows = ("north|a|16:08:00|16:08:10|DOWN|", "north|a|16:08:10|16:08:20|DRAIN|")
    found = of(tmp_path, *rows, origin=None, workload=log)
    assert shown(found) == [(10.0, 20.0, "1 of all", "drain", "")]
    assert found.left_out == ("1 downtime over before the first job",)
    cpus = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], header=[*header, ("Note", "tasks are CPUs")])
    with pytest.raises(FederationError, match="the log's tasks are CPUs"):
        of(tmp_path, *rows, origin=None, workload=cpus)


def test_the_hour_that_comes_twice_is_none_too_few(tmp_path: Path) -> None:
    """In an autumn's night a node may come back at an earlier time than it went."""
    assert shown(of(tmp_path, "north|a|16:50:00|16:10:00|DOWN|"))[0][:2] == (2580.0, 3780.0)


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("north|a|16:08:00|16:08:10|PARTY|", r"events.txt, line 2: 'PARTY' is not a state of Slurm's nodes"),
        ("north|a|Unknown|16:08:10|DOWN|", r"line 2: TimeStart='Unknown' must be a time"),
        ("north|a|noon|16:08:10|DOWN|", r"line 2: TimeStart='noon' must be a time"),
        ("north|a|16:08:00|noon|DOWN|", r"line 2: TimeEnd='noon' must be a time after its TimeStart"),
        ("north|a|18:08:00|16:08:10|DOWN|", r"line 2: TimeStart='18:08:00' must be a time"),
        ("north|a|16:08:00|2026-11-23T12:08:10|DOWN|", r"TimeEnd='2026-11-23T12:08:10' must be a time after"),
        ("north|a|16:08:00|16:08:10", r"line 2: 4 fields, but 6 columns; dump with"),
    ],
)
def test_a_broken_row_is_refused_by_its_line(tmp_path: Path, row: str, message: str) -> None:
    """The error names file, line, field and cure."""
    with pytest.raises(FederationError, match=message):
        of(tmp_path, row)
