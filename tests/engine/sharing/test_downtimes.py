"""Shared nodes that close for a while: cases by hand, and what the check finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import InfeasibleError, ScheduleError
from fedsched.engine.sharing.result import SharedSchedule

NODE = fs.NodeGroup(2, resources={"cpu": 4}, off_watts=0.0)


def machine(*downtimes: fs.Downtime, **others: Any) -> fs.Federation:
    """Return two nodes of 4 cores."""
    return fs.Federation((fs.Cluster("m", (NODE,)),), calendar=downtimes, **others)


def shared(workload: fs.Workload, federation: fs.Federation, policy: str = "easy") -> SharedSchedule:
    """Return the schedule, which is checked."""
    schedule = fs.simulate(workload, federation, policy, sharing="first")
    assert isinstance(schedule, SharedSchedule)
    schedule.verify(claimed=schedule.metrics())
    return schedule


def jobs(*rows: tuple[float, int, float], **others: Any) -> fs.Workload:
    """Return jobs by submit, tasks and run time."""
    submit, tasks, runtime = zip(*rows, strict=True)
    return fs.Workload(submit=submit, tasks=tasks, runtime=runtime, **others)


def spoilt(schedule: SharedSchedule, **others: Any) -> SharedSchedule:
    """Return the schedule with another federation, other lost runs, or others' nodes in those."""
    played = schedule.played
    if "federation" in others:
        parts = {name: getattr(played, name) for name in ("use", "lost") if getattr(played, name) is not None}
        parts = {name: replace(part, federation=others["federation"]) for name, part in parts.items()}
        played = played._replace(**parts)
    if "lost_use" in others:
        played = played._replace(lost=others.pop("lost_use"))
    columns = {name: getattr(schedule, name) for name in fs.Schedule.__slots__}
    return SharedSchedule(**(columns | others), played=played)


def test_nobody_starts_who_would_run_into_a_downtime() -> None:
    """Tests that a long job takes the node that stays open, and a short one the other until it closes."""
    schedule = shared(jobs((0, 3, 20), (0, 3, 5), (4, 3, 7)), machine(fs.Downtime("m", 10.0, 30.0, nodes="0")))
    assert [schedule.nodes_of(row) for row in range(3)] == [(1,), (0,), (1,)]
    assert schedule.start.tolist() == [0, 0, 20]
    assert np.isnan(schedule.metrics().drain_loss)
    assert "closed by 1 downtime" in " ".join(schedule.remarks)


def test_all_of_a_cluster_closes() -> None:
    """Tests that who is too long for what is left before a downtime of all waits until its end."""
    schedule = shared(jobs((0, 1, 20), (0, 1, 10)), machine(fs.Downtime("m", 10.0, 30.0)))
    assert schedule.start.tolist() == [30, 0]
    strict = shared(jobs((0, 1, 20), (0, 1, 10)), machine(fs.Downtime("m", 10.0, 30.0)), "fcfs")
    assert strict.start.tolist() == [30, 30]


def test_the_head_is_reserved_what_opens() -> None:
    """Tests that the shadow time is the end of a downtime, beside which others go on that end by then."""
    closed = machine(fs.Downtime("m", 5.0, 30.0, nodes="1"))
    schedule = shared(jobs((0, 2, 40), (1, 6, 20), (2, 1, 28), (2, 1, 60), (2, 2, 60)), closed)
    assert schedule.start.tolist() == [0, 30, 2, 40, 50]


def test_outages_are_not_foreseen() -> None:
    """Tests that nobody knows of an outage before it comes, nor of its end, and that who runs goes on."""
    outage = fs.Downtime("m", 5.0, 30.0, nodes="0", kind="outage")
    schedule = shared(jobs((0, 4, 20), (6, 4, 20), (6, 1, 20)), machine(outage))
    assert [schedule.nodes_of(row) for row in range(3)] == [(0,), (1,), (1,)]
    assert schedule.start.tolist() == [0, 6, 26]


@pytest.mark.filterwarnings("ignore:overflow encountered")  # of the random numbers, where nothing is compiled
def test_nodes_hit_at_random_are_drawn_from_those_that_stay_open_else() -> None:
    """Tests that a seed says which nodes are hit, that many seeds hit each, and none that is closed already."""
    four = fs.NodeGroup(4, resources={"cpu": 4})
    drain = fs.Downtime("m", 1.0, 99.0, nodes="1 of all", kind="drain")
    outage = fs.Downtime("m", 5.0, 9.0, nodes="2 of all", kind="outage", on_running="kill", victims="random")
    hit = [names((drain, replace(outage, seed=seed)), four) for seed in range(12)]
    assert hit == [names((drain, replace(outage, seed=seed)), four) for seed in range(12)]
    assert {one[0] for one in hit} == {"3"}
    assert {one[1] for one in hit} == {"0-1", "1-2", "0,2"}


def names(calendar: tuple[fs.Downtime, ...], *groups: fs.NodeGroup) -> list[str]:
    """Return the nodes of each downtime of a machine, as a schedule's federation names them."""
    federation = fs.Federation((fs.Cluster("m", groups),), calendar=calendar)
    schedule = fs.simulate(jobs((0, 1, 1)), federation, "easy", sharing="first")
    schedule.verify()
    return [one.nodes for one in schedule.federation.calendar]


def test_how_many_become_the_last_ones_that_stay_open_else() -> None:
    """Tests which nodes downtimes close that say how many: beside named ones, beside each other, and where all are."""
    four, two = fs.NodeGroup(4, resources={"cpu": 4}), fs.NodeGroup(2, resources={"cpu": 8})
    one = fs.Downtime("m", 5.0, 10.0, nodes="1 of all")
    assert names((one,), four) == ["3"]
    assert names((one, replace(one, begin=10.0, end=20.0)), four) == ["3", "3"]
    assert names((replace(one, begin=9.0, end=20.0), one), four) == ["2", "3"]
    assert names((one, fs.Downtime("m", 8.0, 9.0, nodes="2-3")), four) == ["3", "2-3"]  # of the last group
    assert names((one, fs.Downtime("m", 8.0, 9.0, nodes="2-3")), two, four) == ["5", "2-3"]
    assert names((replace(one, nodes="3 of all"),) * 2, four) == ["1-3", "0,2-3"]
    assert names((replace(one, nodes="5 of all"),), four, two) == ["1-5"]


def test_nobody_starts_on_so_many_nodes_that_close() -> None:
    """Tests that the last node closes, for whom it matters, whoever is on it, and comes back."""
    closed = machine(fs.Downtime("m", 10.0, 30.0, nodes="1 of all"))
    schedule = shared(jobs((0, 3, 20), (0, 3, 5), (4, 3, 7)), closed)
    assert [schedule.nodes_of(row) for row in range(3)] == [(0,), (0, 1), (0,)]
    assert schedule.start.tolist() == [0, 0, 20]
    outage = machine(fs.Downtime("m", 5.0, 30.0, nodes="1 of all", kind="outage"))
    schedule = shared(jobs((0, 8, 20), (6, 1, 20), (6, 4, 20)), outage)
    assert schedule.start.tolist() == [0, 20, 30]


def test_whoever_is_on_nodes_that_are_taken_loses_its_run() -> None:
    """Tests that all jobs with a task on a node lose it and what they hold elsewhere, and run anew or are gone."""
    work = jobs((0, 6, 20), (0, 1, 8), (1, 1, 30))  # six tasks are on both nodes, the others on the second
    outage = fs.Downtime("m", 5.0, 9.0, nodes="1", kind="outage", on_running="requeue")
    schedule = shared(work, machine(outage))
    assert schedule.start.tolist() == [9, 5, 5]
    assert [schedule.nodes_of(row) for row in range(3)] == [(0, 1), (0,), (0,)]
    lost = schedule.lost
    assert (lost.job.tolist(), lost.start.tolist(), lost.end.tolist()) == ([0, 1, 2], [0, 0, 1], [5, 5, 5])
    assert schedule.lost_use is not None
    assert schedule.lost_use.counts.sum(axis=1).tolist() == [6, 1, 1]
    row = schedule.metrics()
    assert (row.wasted_node_seconds, row.requeues) == ((6 * 5 + 5 + 4) / 4, 3)
    assert row.utilisation == pytest.approx(((6 * 20 + 8 + 30) / 4 + row.wasted_node_seconds) / (2 * 35))
    assert "queued again by downtimes: 3 jobs" in " ".join(schedule.remarks)
    killed = shared(work, machine(replace(outage, on_running="kill", nodes="0")))
    assert np.array_equal(killed.start, [np.nan, 0, 1], equal_nan=True)
    assert (killed.metrics().wasted_node_seconds, killed.metrics().requeues) == (6 * 5 / 4, 0)


def test_the_check_finds_who_should_have_lost_its_run_or_lost_it_for_nothing() -> None:
    """Tests that a job that goes on on nodes that are taken, or loses ones that are not, does not pass."""
    outage = fs.Downtime("m", 5.0, 9.0, nodes="1", kind="outage", on_running="requeue")
    work = jobs((0, 6, 20), (0, 1, 8), (1, 1, 30))
    schedule = shared(work, machine(outage))
    assert schedule.lost_use is not None
    for other, words in (
        (replace(outage, begin=6.0), "when no downtime takes its nodes"),
        (replace(outage, on_running="kill"), "in that way"),
    ):
        with pytest.raises(ScheduleError, match=words):
            spoilt(schedule, federation=machine(other)).verify()
    goes_on = shared(work, machine(replace(outage, on_running="wait")))
    with pytest.raises(ScheduleError, match="jobs keep 4"):
        spoilt(goes_on, federation=machine(outage)).verify()
    late = schedule.lost._replace(end=np.array([5.0, 5.0, 5.5]))
    with pytest.raises(ScheduleError, match="no downtime takes its nodes"):
        spoilt(schedule, lost=late).verify()
    elsewhere = replace(schedule.lost_use, node=np.zeros_like(schedule.lost_use.node))
    with pytest.raises(ScheduleError, match="its counts differs between schedule and node use"):
        spoilt(schedule, lost_use=elsewhere).verify()
    with pytest.raises(ScheduleError, match="does not say which nodes its"):
        spoilt(schedule, lost_use=None).verify()


def test_a_reservation_keeps_nodes_for_those_who_name_it() -> None:
    """Tests that others keep off, that its jobs share its nodes with each other alone, and who misses it is said."""
    kept = fs.Downtime("m", 10.0, 30.0, nodes="1", kind="reservation", name="R")
    work = jobs((0, 4, 15), (0, 4, 12), (0, 2, 10), (1, 2, 15), (2, 1, 8), (2, 1, 25), labels={
        "reservation": ["", "", "R", "R", "R", "R"]
    })  # fmt: skip
    schedule = shared(work, machine(kept))
    assert np.array_equal(schedule.start, [0, 15, 10, 10, 20, np.nan], equal_nan=True)
    assert [schedule.nodes_of(row) for row in range(5)] == [(0,), (0,), (1,), (1,), (1,)]
    said = " ".join(schedule.remarks)
    assert "its 3 jobs used 80.56%" in said
    assert "never started, because their reservation was over or had too few nodes: 1 job (6)" in said
    with pytest.raises(InfeasibleError, match="reservation 'Q' is not in the federation"):
        shared(jobs((0, 1, 1), labels={"reservation": ["Q"]}), machine(kept))
    for other, words in (
        (replace(kept, end=24.0), "is planned to run beyond 24, the end of its reservation 'R'"),
        (replace(kept, nodes="0"), "it has nodes outside its reservation 'R'"),
    ):
        with pytest.raises(ScheduleError, match=words):
            spoilt(schedule, federation=machine(other)).verify()


def test_who_has_no_room_is_left_and_said() -> None:
    """Tests that a job too large for what stays open never starts, nor who waits behind it, and that this is said."""
    forever = machine(fs.Downtime("m", 5.0, nodes="0"))
    schedule = fs.simulate(jobs((0, 8, 20), (0, 1, 20)), forever, "fcfs", sharing="first")
    assert np.isnan(schedule.start).all()
    assert not schedule.complete
    assert "leave the others no room: 0 of 2 jobs finished" in schedule.notes[0]
    assert any("was never started" in line for line in schedule.violations())
    easy = fs.simulate(jobs((0, 8, 20), (0, 1, 20)), forever, "easy", sharing="first")
    assert np.array_equal(easy.start, [np.nan, 0], equal_nan=True)


def test_the_check_finds_starts_on_nodes_that_close() -> None:
    """Tests that a run on a closed node, or into a downtime that was known, does not pass."""
    schedule = shared(jobs((0, 3, 20)), machine(fs.Downtime("m", 50.0, 60.0, nodes="0")))
    for begin, known, words in ((-5.0, -9.0, "are closed"), (10.0, 0.0, "is planned to run beyond 10")):
        other = machine(fs.Downtime("m", begin, 60.0, nodes="0", known_from=known))
        with pytest.raises(ScheduleError, match=words):
            spoilt(schedule, federation=other).verify()
