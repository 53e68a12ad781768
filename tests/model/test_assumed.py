"""Default figures are known to be assumed wherever they go, and results that follow from them are marked."""

from __future__ import annotations

import math
import pickle
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.io import read_federation
from fedsched.model.jobs.assumed import WATTS_MARK, are_assumed, assumptions, marked
from fedsched.optimize.result import Result

if TYPE_CHECKING:
    from pathlib import Path

WATTS = "135 W busy and 93.7 W idle for each node"
GIVEN = fs.NodeGroup(8, speed=1.0, busy_watts=135.0, idle_watts=93.7)


@pytest.fixture
def jobs() -> fs.Workload:
    """Return a few jobs, some of which wait."""
    return fs.Workload(submit=[0, 0, 5, 9], tasks=[4, 6, 8, 2], runtime=[30, 20, 15, 40])


def one(group: fs.NodeGroup) -> fs.Federation:
    """Return a federation of one group."""
    return fs.Federation((fs.Cluster("C", (group,)),), name="one")


def test_default_watts_are_assumed_and_the_same_given_are_not() -> None:
    """Tests that watts count as assumed if they were not given, whatever their value."""
    assert one(GIVEN) == one(fs.NodeGroup(8))
    assert not one(GIVEN).watts_assumed
    assert assumptions(one(GIVEN)) == ()
    assert assumptions(one(fs.NodeGroup(8))) == (WATTS,)
    assert assumptions(fs.Federation.homogeneous(8)) == (WATTS,)
    assert not fs.Federation.homogeneous(8, busy_watts=200.0, idle_watts=90.0).watts_assumed
    mixed = fs.Federation((fs.Cluster("C", (GIVEN, fs.NodeGroup(3, speed=2.0))),))
    assert assumptions(mixed) == ("135 W busy and 93.7 W idle for each of 3 nodes",)


def test_what_is_assumed_survives(tmp_path: Path) -> None:
    """Tests that replacing, pickling and files keep what is assumed, and make nothing assumed that was given."""
    for federation in (fs.Federation.of(4, 4), one(fs.NodeGroup(8)), one(GIVEN), fs.Federation.example()):
        federation.write(tmp_path / "f.toml")
        copies = (
            read_federation(tmp_path / "f.toml"),
            pickle.loads(pickle.dumps(federation)),
            replace(federation, name=federation.name),
        )
        for copy in copies:
            assert copy == federation
            assert assumptions(copy) == assumptions(federation)
    assert are_assumed(replace(fs.NodeGroup(8), count=9).busy_watts)
    assert not are_assumed(replace(fs.NodeGroup(8), busy_watts=200.0).busy_watts)


def test_files_name_what_is_assumed(tmp_path: Path) -> None:
    """Tests that a file's figures are assumed where it leaves them out or says so, and nowhere else."""
    path = tmp_path / "f.toml"
    path.write_text('[[cluster]]\nname = "a"\n[[cluster.group]]\ncount = 3\n')
    assert assumptions(read_federation(path)) == (WATTS,)
    path.write_text(
        '[[cluster]]\nname = "a"\nuplink = 5\nassumed = ["uplink"]\n[[cluster.group]]\ncount = 3\nbusy_watts = 200\n'
        'idle_watts = 80\nassumed = ["idle_watts"]\n[[cluster]]\nname = "b"\nuplink = 7\n[[cluster.group]]\ncount = 1\n'
        "speed = 2\nbusy_watts = 135\nidle_watts = 93.7\n"
    )
    facts = ("200 W busy and 80 W idle for each of 3 nodes", "speeds", "uplinks of a")
    assert assumptions(read_federation(path)) == facts
    path.write_text('[[cluster]]\nname = "a"\nassumed = ["speed"]\n[[cluster.group]]\ncount = 3\n')
    with pytest.raises(fs.errors.FederationError, match=r"cluster 1: assumed=\['speed'\] must be a list of uplink\."):
        read_federation(path)


def test_federating_that_looks_free_is_said(jobs: fs.Workload) -> None:
    """Tests that unlimited uplinks, and jobs that send nothing, are said where there are several clusters."""
    free = fs.Federation.of(4, 4)
    assert any(fact.startswith("unlimited uplinks") for fact in assumptions(free, jobs))
    limited = fs.Federation.of(4, 4, uplink=1e6)
    assert any(fact.startswith("jobs that send nothing") for fact in assumptions(limited, jobs))
    assert assumptions(limited, jobs.with_communication(bandwidth=1e3)) == (WATTS,)
    assert assumptions(fs.Federation.of(4, 4, uplink=math.inf)) == (WATTS,)
    assert assumptions(fs.Federation.homogeneous(8), jobs) == (WATTS,)


def test_a_dumps_federation_says_all_that_it_assumes(tmp_path: Path) -> None:
    """Tests that the machine of an sacct dump, of which only sizes are known, says so of watts, speeds and uplinks."""
    path = tmp_path / "a.sacct"
    path.write_text(
        "JobIDRaw|Cluster|Submit|Start|ElapsedRaw|State|AllocCPUS\n"
        "1|east|2024-03-01T10:00:00|2024-03-01T10:00:00|60|COMPLETED|4\n"
        "2|west|2024-03-01T10:00:00|2024-03-01T10:00:00|60|COMPLETED|2\n"
    )
    facts = assumptions(read_federation(path))
    assert facts[:2] == (WATTS, "nodes of one speed")
    assert facts[2].startswith("unlimited uplinks")


def test_a_schedule_marks_its_energy(jobs: fs.Workload, tmp_path: Path) -> None:
    """Tests that prints, JSON, pictures and pages mark energies of assumed watts, and those of given ones not."""
    for federation, assumed in ((fs.Federation.homogeneous(8), True), (one(GIVEN), False)):
        schedule = fs.simulate(jobs, federation)
        lines = [line for line in str(schedule).splitlines() if "energy" in line]
        assert len(lines) == 3
        assert all((WATTS_MARK in line) == assumed for line in lines)
        assert (f"assumed: {WATTS}" in str(schedule)) == assumed
        assert schedule.to_json()["assumed"] == ([WATTS] if assumed else [])
        assert (WATTS_MARK in schedule.plot().get_title(loc="left")) == assumed
        schedule.report(tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        cards = page.partition('<div class="cards">')[2].partition("<table")[0]
        assert ("<h3>energy</h3>" in cards) != assumed
        assert ("every energy follows from them" in page) == assumed
        assert ('"mark":"assumed watts"' in page.replace('": "', '":"')) == assumed


def test_a_search_marks_its_energy(jobs: fs.Workload, tmp_path: Path) -> None:
    """Tests that a result's table, remarks, pictures, page and saved copy mark energies of assumed watts alone."""
    for federation, assumed in ((fs.Federation.homogeneous(8), True), (one(GIVEN), False)):
        result = fs.optimize(jobs, federation, objectives=("makespan", "energy"), evaluations=200)
        result.save(tmp_path / "r.json")
        for one_of in (result, Result.load(tmp_path / "r.json")):
            assert (f"energy J ({WATTS_MARK})" in str(one_of)) == assumed
            assert (f"energy J ({WATTS_MARK})" in one_of._repr_html_()) == assumed
            assert (f"assumed: {WATTS}" in str(one_of)) == assumed
        labels = [text for ax in result.plot().axes for text in (ax.get_xlabel(), ax.get_ylabel())]
        energies = [label for label in labels if label.startswith("energy, ")]
        assert [label.endswith(f" ({WATTS_MARK})") for label in energies] == [assumed]
        result.report(tmp_path / "r.html")
        page = (tmp_path / "r.html").read_text(encoding="utf-8")
        assert (f"best energy ({WATTS_MARK})" in page) == assumed
        assert ("energy that the least makespan costs" in page) != assumed


def test_bounds_mark_their_energy(jobs: fs.Workload) -> None:
    """Tests that a bound on energy says whose watts it is about."""
    from fedsched.bounds import lower_bounds

    assert WATTS_MARK in str(lower_bounds(jobs, fs.Federation.homogeneous(8)))
    assert WATTS_MARK not in str(lower_bounds(jobs, one(GIVEN)))
    assert marked("J", "energy", one(GIVEN)) == "J"
    assert marked("s", "makespan", fs.Federation.homogeneous(8)) == "s"
