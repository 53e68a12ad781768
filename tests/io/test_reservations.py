"""What `scontrol show res` prints, as calendars: recorded from a Slurm (tests/io/slurm), and what is refused."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.core.errors import FederationError
from fedsched.io.tables.downtimes import read_calendar, write_calendar
from fedsched.model.jobs.assumed import Noted, assumed_of, left_out_of

if TYPE_CHECKING:
    from fedsched.model.time.downtimes import Downtime

SLURM = Path(__file__).parent / "slurm"
NORTH = fs.Federation((fs.Cluster("north", (fs.NodeGroup(10, name="cn"), fs.NodeGroup(4, name="gpu"))),))
HOUR, DAY = 3600.0, 86400.0
BEGIN = "2027-01-10T00:00:00"  # a Sunday
LINE = (
    "ReservationName=r StartTime=2027-01-12T08:00:00 EndTime=2027-01-12T16:00:00 Duration=08:00:00 "
    "Nodes=cn[001-004] NodeCnt=4 CoreCnt=16 PartitionName=(null) Flags=MAINT,SPEC_NODES TRES=cpu=16 Users=root"
)


def calendar(path: Path = SLURM / "reservations-o.txt", **words: Any) -> Noted:
    """Return the calendar of a file, from a Sunday on for thirty days."""
    found = read_calendar(path, **({"federation": NORTH, "origin": BEGIN, "until": "2027-02-09"} | words))
    assert isinstance(found, Noted)
    return found


def written(folder: Path, text: str) -> Path:
    """Return a file with a text."""
    (folder / "res.txt").write_text(text, encoding="utf-8")
    return folder / "res.txt"


def named(found: tuple[Downtime, ...], name: str) -> list[tuple[float, float, str]]:
    """Return when and where the downtimes of a name are."""
    return [(one.begin, one.end, one.nodes) for one in found if one.name == name]


PAST = (
    "Cluster|Name|TRES|TimeStart|TimeEnd|NodeName|Flags\n"
    "north|rack|cpu=16|2027-01-12T08:00:00|2027-01-12T16:00:00|cn[001-004]|MAINT,SPEC_NODES\n"
    "north|course|cpu=8|2027-01-12T08:00:00|2027-01-12T10:00:00|cn[009-010]|SPEC_NODES\n"
    "north|course|cpu=8|2027-01-13T08:00:00|2027-01-13T10:00:00|cn[009-010]|SPEC_NODES\n"
    "north|licences||2027-01-13T08:00:00|2027-01-13T10:00:00||ANY_NODES\n"
)


def test_past_reservations_are_read_as_sacctmgr_prints_them(tmp_path: Path) -> None:
    """Tests that the database's reservations close what they name, and that what is left out is noted."""
    found = calendar(written(tmp_path, PAST), hosts=SLURM / "nodes-o.txt")
    assert named(found, "rack") == [(2 * DAY + 8 * HOUR, 2 * DAY + 16 * HOUR, "0-3")]
    assert named(found, "course") == [(2 * DAY + 8 * HOUR, 2 * DAY + 10 * HOUR, "8-9")]
    assert left_out_of(found) == (
        "1 past reservation without nodes left out",
        "1 reservation of a name that an earlier one has left out (course)",
    )
    other = calendar(written(tmp_path, PAST.replace("north|", "east|")), hosts=SLURM / "nodes-o.txt")
    assert other == found
    assert "the cluster east of the reservations is north" in assumed_of(other)
    mixed = calendar(written(tmp_path, PAST.replace("north|course", "east|course")), hosts=SLURM / "nodes-o.txt")
    assert "2 reservations of other clusters left out (east)" in left_out_of(mixed)
    with pytest.raises(FederationError, match="of the clusters east, west, none of which the federation has"):
        calendar(written(tmp_path, PAST.replace("north|", "east|", 1).replace("north|", "west|")))


def test_reservations_for_maintenance_are_downtimes() -> None:
    """Their hosts are named nodes where a file says which they are, and those of all nodes are all."""
    found = calendar(hosts=SLURM / "nodes-o.txt")
    assert named(found, "switches") == [(2 * DAY + 8 * HOUR, 2 * DAY + 16 * HOUR, "all")]
    assert named(found, "rack") == [(3 * DAY + 8 * HOUR, 3 * DAY + 18 * HOUR, "0-3,6,10")]
    assert named(found, "both") == [(10 * DAY + 12 * HOUR, 10 * DAY + 14 * HOUR, "13")]
    assert {(one.cluster, one.kind, one.known_from, one.end_known) for one in found if one.name != "course"} == {
        ("north", "maintenance", -math.inf, True)
    }
    closed = replace(fs.Federation(NORTH.clusters, calendar=found), name="north")
    for calendar_of in (
        closed.calendar,
        pickle.loads(pickle.dumps(closed)).calendar,
    ):  # what works elsewhere says it too
        assert (left_out_of(calendar_of), assumed_of(calendar_of)) == (found.left_out, found.assumed)


def test_what_comes_again_does_so_on_its_days() -> None:
    """Weekly, on working days, at weekends, and daily beyond midnight; until the time that is given."""
    found = calendar(hosts=SLURM / "nodes-o.txt")
    at = {name: [begin / DAY for begin, _, _ in named(found, name)] for name in ("workday", "weekend", "daily")}
    assert [day // 1 % 7 for day in at["workday"]] == [5, 1, 2, 3, 4, 5, 1, 2, 3, 4, 5, 1]
    assert [day // 1 for day in at["weekend"]] == [13, 14, 20, 21, 27, 28]
    assert at["daily"] == [22 + k + 23.5 / 24 for k in range(8)]
    # From the third on the weekly ones are within one that has not ended by then: closed once.
    assert named(found, "patches") == [(day * DAY + 2 * HOUR, day * DAY + 3 * HOUR, "10-13") for day in (4, 11)]
    assert named(found, "endless, patches") == [(11 * DAY + 9 * HOUR, 376 * DAY + 9 * HOUR, "10-13")]
    soon = [one.begin / DAY for one in calendar(until=13 * DAY)]
    assert sum(day >= 13 for day in soon) == 2  # the first weekend and the first daily one, which are given
    with pytest.raises(FederationError, match=r"line 3: reservation 'patches' repeats without end; give until="):
        calendar(until=None)
    with pytest.raises(FederationError, match="repeats more than 100,000 times until"):
        calendar(until="3500-01-01")


def test_slurm_lets_them_come_again_at_the_same_times() -> None:
    """The second time of each, as it was reckoned here before, is the one that Slurm shows once the first is over."""
    words = {"origin": "2026-11-23", "until": "2026-12-01"}  # a Monday
    before, after = (calendar(SLURM / f"again-{when}.txt", **words) for when in ("before", "after"))
    names = {one.name for one in before}
    assert names == {"rHOURLY", "rDAILY", "rWEEKLY", "rWEEKDAY", "rWEEKEND", "we2"}
    for name in names:
        assert next(begin // DAY for begin, _, _ in named(before, name)) == 0
        assert named(before, name)[1:] == named(after, name)


def test_others_keep_their_nodes_for_whom_they_name(tmp_path: Path) -> None:
    """Users and accounts are read, nodes are those of the hosts, or so many; of two that overlap the first is kept."""
    (course,) = (one for one in calendar(hosts=SLURM / "nodes-o.txt") if one.kind == "reservation")
    assert (course.name, course.nodes, course.users, course.accounts) == ("course", "2-4", ("root",), ())
    line = LINE.replace("MAINT,SPEC_NODES", "SPEC_NODES").replace("Users=root", "Users=ann,bob Accounts=physics,chem")
    (r,) = calendar(written(tmp_path, line))
    assert (r.kind, r.nodes, r.users, r.accounts) == ("reservation", "4 of all", ("ann", "bob"), ("physics", "chem"))
    whole = calendar(written(tmp_path, line.replace("SPEC_NODES", "ALL_NODES,MAGNETIC")))
    assert [one.nodes for one in whole] == ["all"]
    assert whole.left_out == (
        "1 reservation that draw jobs which do not name them (MAGNETIC), which is left out (r)",
    )
    both = f"{line}\n{line.replace('=r ', '=other ').replace('T08', 'T10')}\n"
    found = calendar(written(tmp_path, both), hosts=SLURM / "nodes-o.txt")
    assert [one.name for one in found] == ["r"]
    assert found.left_out == ("1 reservation that overlap others left out (other)",)
    apart = calendar(written(tmp_path, both.replace("=other", "=other ", 1).replace("T10:00:00 EndTime=2027-01-12T16",
                     "T16:00:00 EndTime=2027-01-12T18")), hosts=SLURM / "nodes-o.txt")  # fmt: skip
    assert [one.name for one in apart] == ["r", "other"]
    fs.Federation(NORTH.clusters, calendar=apart)
    kept = tmp_path / "kept.csv"
    write_calendar(apart, kept)
    assert read_calendar(kept) == tuple(apart)


def test_what_is_not_modelled_is_said(tmp_path: Path) -> None:
    """Reservations that come again, of licences, of some cores and whose begin moves are left out by name."""
    assert calendar(hosts=SLURM / "nodes-o.txt").left_out == (
        "2 reservations for users or accounts left out, since they repeat (tests, hourly)",
        "1 reservation with jobs that may also run outside (FLEX), which is left out (course)",
        "1 reservation of some cores of their nodes left out (cores)",
        "1 reservation left out with a begin that moves (TIME_FLOAT) (float)",
        "1 reservation of no nodes left out (licences)",
        "1 reservation with licences, buffers or watts, which are left out (both)",
    )
    late = calendar(written(tmp_path, f"{LINE} MaxStartDelay=01:00:00 Watts=500"))
    assert late.left_out == (
        "1 reservation with licences, buffers or watts, which are left out (r)",
        "1 reservation assumed to begin on time, but may be late (r)",
    )
    assert calendar().assumed == (
        "nodes of 2 reservations taken whole (course, cores; --hosts with their CPUs tells)",
        "closed hosts are counted, whichever nodes they are (--hosts says which)",
    )


@pytest.mark.parametrize("file", ["reservations.txt", "reservations-seconds.txt"])
@pytest.mark.parametrize("hosts", [None, "nodes.txt", "sinfo-cpus.txt", "slurm.conf"])
def test_every_form_says_the_same(file: str, hosts: str | None) -> None:
    """Records of several lines, times in seconds, and hosts from each file that tells of them."""
    path = None if hosts is None else SLURM / hosts
    as_usual = None if hosts is None else SLURM / "nodes-o.txt"
    found, usual = calendar(SLURM / file, hosts=path), calendar(hosts=as_usual)
    assert (found, found.left_out, found.assumed) == (usual, usual.left_out, usual.assumed)


def test_hosts_are_counted_where_nobody_says_which_nodes_they_are() -> None:
    """All nodes and those of a partition of that name need no names; a table names them as well as a file does."""
    found = calendar()
    assert [nodes for _, _, nodes in named(found, "switches") + named(found, "rack")] == ["all", "6 of all"]
    gpus = fs.Federation(NORTH.clusters, partitions=(fs.Partition("gpus", {"north": "10-13"}),))
    assert [nodes for _, _, nodes in named(calendar(federation=gpus), "endless")] == ["10-13"]
    names = [f"cn{k:03d}" for k in range(1, 11)] + [f"gpu{k}" for k in range(1, 5)]
    table = {name: ("north", 13 - k) for k, name in enumerate(names)}
    assert named(calendar(hosts=table), "rack")[0][2] == "3,7,10-13"


def test_a_host_may_be_as_many_nodes_as_it_has_cpus() -> None:
    """Where the log counts CPUs: the machine then has as many nodes as the hosts have CPUs."""
    cpus = fs.Federation((fs.Cluster("north", (fs.NodeGroup(72),)),))
    found = calendar(federation=cpus, hosts=SLURM / "nodes-o.txt")
    assert named(found, "rack")[0][2] == "0-15,24-27,40-47"
    log = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], header=[("Note", "tasks are CPUs")])
    with pytest.raises(FederationError, match=r"it names hosts, and the log's tasks are CPUs; .*--unit nodes"):
        calendar(federation=cpus, workload=log)


def test_the_log_tells_which_second_a_date_is(tmp_path: Path) -> None:
    """By its header; what is over before its first job is left out, and what was assumed is said."""
    header = [("StartTime", "2027-01-12 20:00:00 (as the dump says it)")]
    log = fs.Workload(submit=[0.0, DAY], tasks=[1, 1], runtime=[1.0, 1.0], header=header)
    found = calendar(origin=None, until=None, workload=log)
    assert named(found, "rack") == [(12 * HOUR, 22 * HOUR, "6 of all")]
    assert named(found, "switches") == named(found, "running") == []
    assert found.left_out[-1] == "2 downtimes over before the first job"
    assert found.assumed[:2] == (
        "second 0 is 2027-01-12 20:00:00 by the calendar's clock, StartTime of the log's header",
        "what comes again does so until 2027-02-12 20:00:00, 30 days after the last submit",
    )
    early = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0], header=[("StartTime", "2026-11-01 00:00:00")])
    one = read_calendar(written(tmp_path, LINE), federation=NORTH, workload=early)
    assert "so that every downtime begins after the last submit (--calendar-origin" in assumed_of(one)[0]
    nothing = fs.Workload(submit=[0.0], tasks=[1], runtime=[1.0])
    with pytest.raises(FederationError, match=r"line 1: its times are dates, .*--calendar-origin\), the time"):
        calendar(origin=None, workload=nothing, until=5.0)
    with pytest.raises(FederationError, match=r"its submits were moved \(rebased to 5\) since its header was written"):
        calendar(origin=None, workload=log.rebased(5.0))


def test_no_reservations_are_no_downtimes(tmp_path: Path) -> None:
    """Slurm says in words that there are none."""
    assert calendar(written(tmp_path, "No reservations in the system\n")) == ()


def test_a_calendar_of_slurm_can_be_written_as_ours(tmp_path: Path) -> None:
    """A CSV file of it gives the same downtimes, to be looked through and changed."""
    found = calendar(hosts=SLURM / "nodes-o.txt")
    write_calendar(found, tmp_path / "works.csv")
    assert read_calendar(tmp_path / "works.csv") == found
    with pytest.raises(FederationError, match=r"leave out origin= \(fedsched: --calendar-origin\)"):
        read_calendar(tmp_path / "works.csv", origin=BEGIN)


def test_a_comment_changes_no_field(tmp_path: Path) -> None:
    """What looks like a field in free text at the end of a record is none."""
    found = calendar(written(tmp_path, f"{LINE} Comment=see Flags=DAILY and Nodes=cn001\n"))
    assert [(one.nodes, one.begin) for one in found] == [("4 of all", 2 * DAY + 8 * HOUR)]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (("Nodes=cn[001-004]", "Nodes=cn[004-001]"), r"res.txt, line 1: '\[004-001\]' is not a list of hosts"),
        (("Nodes=cn[001-004]", "Nodes=cn[001"), r"line 1: 'cn\[001' is not a list of hosts like"),
        (("Nodes=cn[001-004]", "Nodes=cn[1-999999999]"), "are more than 1,000,000 hosts"),
        (("Nodes=cn[001-004]", "Nodes=cn[1-15]"), "15 hosts, but the cluster 'north' has 14 nodes; give the machine"),
        (
            ("Nodes=cn[001-004] NodeCnt=4", "Nodes=(null) NodeCnt=15"),
            "'r' has 15 nodes, but the cluster 'north' has 14",
        ),
        (("Nodes=cn[001-004] NodeCnt=4", "Nodes=(null) NodeCnt=4x"), "NodeCnt='4x' of reservation 'r' must be a whole"),
        (("StartTime=2027-01-12", "StartTime=2027-13-12"), r"StartTime='2027-13-12T08:00:00' of .* must be a time"),
        (("EndTime=2027-01-12", "EndTime=2027-01-11"), "must come after its StartTime"),
        (
            ("EndTime=2027-01-12T16:00:00 Duration=08:00:00", "EndTime=Unknown Duration=x"),
            "Duration='x' of reservation",
        ),
        (("ReservationName=r ", "ReservationName=r\nand more "), "res.txt, line 2: 'and more .* belongs to no res"),
    ],
)
def test_a_broken_reservation_is_refused_by_its_line(tmp_path: Path, change: tuple[str, str], message: str) -> None:
    """The error names file, line, reservation and field."""
    assert change[0] in LINE
    with pytest.raises(FederationError, match=message):
        calendar(written(tmp_path, LINE.replace(*change)))


def test_an_endless_one_never_ends_and_a_count_is_one(tmp_path: Path) -> None:
    """Unlimited is for ever; nodes that are not named are counted, and all of them are all."""
    endless = LINE.replace("EndTime=2027-01-12T16:00:00 Duration=08:00:00", "EndTime=Unknown Duration=UNLIMITED")
    bare = endless.replace("Nodes=cn[001-004] NodeCnt=4", "Nodes=(null) NodeCnt=14")
    (one,) = calendar(written(tmp_path, endless))
    assert (one.end, one.nodes) == (math.inf, "4 of all")
    (one,) = calendar(written(tmp_path, bare))
    assert (one.end, one.nodes) == (math.inf, "all")


def test_which_cluster_it_is_must_be_said(tmp_path: Path) -> None:
    """Slurm does not say it; lines of hosts do, and a host that they do not name is an error."""
    two = fs.Federation((fs.Cluster("a", (fs.NodeGroup(4),)), fs.Cluster("b", (fs.NodeGroup(6),))))
    path = written(tmp_path, LINE.replace("cn[001-004]", "cn[003-006]"))
    with pytest.raises(FederationError, match=r"does not say of which cluster it is: a, b; give hosts="):
        calendar(path, federation=two)
    hosts = tmp_path / "hosts.txt"
    hosts.write_text("# ours\na = cn[001-004]\nb = cn[005-006],cn[011-013]\nb = cn099\n", encoding="utf-8")
    found = calendar(path, federation=two, hosts=hosts)
    assert [(one.cluster, one.nodes) for one in found] == [("a", "2-3"), ("b", "0-1")]
    with pytest.raises(FederationError, match=r"res.txt: .*hosts.txt has no host 'cn007'; add it"):
        calendar(written(tmp_path, LINE.replace("cn[001-004]", "cn007")), federation=two, hosts=hosts)
    with pytest.raises(FederationError, match="it names hosts; give federation=, the machine that has them"):
        read_calendar(path)
