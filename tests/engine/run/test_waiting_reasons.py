"""The reasons that keep a job from starting: each one by hand."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import ScheduleError
from fedsched.engine.run.waiting import Waits
from fedsched.simulate import prepare

FOUR = fs.Federation.homogeneous(4, name="C")


def jobs(tasks: list[int], runtime: list[float], **more: Any) -> fs.Workload:
    """Return jobs that are submitted at 0."""
    return fs.Workload(**{"submit": np.zeros(len(tasks)), "tasks": tasks, "runtime": runtime, **more})


def told(found: Waits) -> list[tuple[float, float, str]]:
    """Return begin, end and reason of each stretch."""
    return [(one.begin, one.end, one.reason) for one in found.waits]


TOO_FEW = "it needs 1 node; 0 of those that it may use are free"


@pytest.mark.parametrize(
    ("policy", "why"),
    [
        ("easy", "it fits, but its nodes are reserved for job 2, the first in the queue"),
        ("fcfs", "it fits, but job 2 is before it in the queue, and none is passed"),
        ("conservative", "it fits, but its nodes are reserved for jobs before it in the queue, first job 2"),
    ],
)
def test_a_job_that_fits_waits_for_its_turn(policy: str, why: str) -> None:
    """By hand: job 3 would delay job 2, and then job 2 takes all nodes."""
    schedule = fs.simulate(jobs([3, 4, 1], [600.0, 600.0, 900.0]), FOUR, policy)
    assert told(schedule.why(3)) == [(0.0, 600.0, why), (600.0, 1200.0, TOO_FEW)]
    assert told(schedule.why(2)) == [(0.0, 600.0, "it needs 4 nodes; 1 of those that it may use is free")]
    assert schedule.why(1) == Waits(1, 0.0, 0.0, ())


def test_what_is_not_nodes_is_named() -> None:
    """By hand: a limit of jobs, a pool, another job, a begin of its own, and a hold."""
    two = [[1, 1], [10.0, 10.0]]
    limited = replace(FOUR, limits=(fs.Limit("user", jobs=1, names=("7",)),))
    one = fs.simulate(jobs(*two, user=[7, 7]), limited).why(2)
    assert told(one) == [(0.0, 10.0, "the limit of user '7' is reached")]
    pools = replace(FOUR, pools=(fs.Pool("lm", 1),))
    one = fs.simulate(jobs(*two, pools={"lm": [1, 1]}), pools).why(2)
    assert told(one) == [(0.0, 10.0, "too little of pool 'lm' is free")]
    one = fs.simulate(jobs(*two, after=["", "afterany:1"]), FOUR).why(2)
    assert told(one) == [(0.0, 10.0, "it waits for job 1")]
    one = fs.simulate(jobs(*two, begin=[0.0, 5.0]), FOUR).why(2)
    assert told(one) == [(0.0, 5.0, "it may not begin before a time of its own")]
    one = fs.simulate(jobs(*two, held={2: [(0.0, 7.0)]}), FOUR).why(2)
    assert told(one) == [(0.0, 7.0, "it is held")]


def test_downtimes_keep_jobs_away_and_take_their_nodes() -> None:
    """By hand: a job is too long for the time before a downtime; a shorter one starts, loses its nodes, and waits."""
    closed = replace(FOUR, calendar=(fs.Downtime("C", 8.0, 12.0),))
    found = fs.simulate(jobs([1], [10.0]), closed).why(1)
    close = "it fits, but nodes that it needs close before its requested time ends"
    assert told(found) == [(0.0, 8.0, close), (8.0, 12.0, TOO_FEW)]
    sudden = replace(FOUR, calendar=(fs.Downtime("C", 8.0, 12.0, known_from=8.0, on_running="requeue"),))
    found = fs.simulate(jobs([1], [10.0]), sudden).why(1)
    assert told(found) == [(0.0, 8.0, "it runs, and loses its nodes to a downtime"), (8.0, 12.0, TOO_FEW)]
    assert found.start == 12.0


def test_reservations_and_power_caps_are_named() -> None:
    """By hand: a job of a reservation waits for its begin, and a cap leaves watts for one node."""
    kept = replace(FOUR, calendar=(fs.Downtime("C", 5.0, 50.0, kind="reservation", name="R"),))
    found = fs.simulate(jobs([1], [10.0], labels={"reservation": ["R"]}), kept).why(1)
    assert told(found) == [(0.0, 5.0, "it waits for the nodes of its reservation")]
    group = fs.NodeGroup(2, busy_watts=100.0, idle_watts=0.0)
    cap = fs.Signal(times=(0.0,), values=(150.0,), unit="W", beyond="last")
    capped = fs.Federation((fs.Cluster("C", (group,)),), signals=(cap,))
    found = fs.simulate(jobs([1, 1], [10.0, 10.0]), capped, "greedy").why(2)
    assert told(found) == [(0.0, 10.0, "it fits, but a power cap does not allow it")]


def test_on_shared_nodes_room_is_counted_in_tasks() -> None:
    """By hand: of two tasks that need three cores each, one fits beside jobs of two cores."""
    machine = fs.Federation((fs.Cluster("C", (fs.NodeGroup(2, resources={"cpu": 4}),)),))
    some = jobs([1, 1, 2], [60.0, 60.0, 10.0], demand={"cpu": [2, 2, 3]})
    found = fs.simulate(some, machine, sharing="first").why(3)
    assert told(found) == [(0.0, 60.0, "it has 2 tasks; there is room for 1 on the nodes that it may use")]
    assert str(found).splitlines()[0] == "Job 3, submitted at 0 s, starts at 60 s."
    closed = replace(machine, calendar=(fs.Downtime("C", 5.0, 9.0),))
    found = fs.simulate(some, closed, sharing="first").why(3)
    assert told(found)[0][2] == "it fits, but nodes that it needs close before its requested time ends"


def test_limits_and_placement_on_shared_nodes_are_named() -> None:
    """By hand: a user's second job would be on a second node; and no cluster alone has room for two tasks."""
    machine = fs.Federation((fs.Cluster("C", (fs.NodeGroup(2, resources={"cpu": 4}),)),))
    limited = replace(machine, limits=(fs.Limit("user", nodes=1, names=("7",)),))
    some = jobs([1, 1], [10.0, 10.0], demand={"cpu": [3, 3]}, user=[7, 7])
    found = fs.simulate(some, limited, sharing="first").why(2)
    assert told(found) == [(0.0, 10.0, "its nodes would exceed a limit")]
    two = fs.Federation(tuple(fs.Cluster(name, (fs.NodeGroup(1, resources={"cpu": 2}),)) for name in "AB"))
    some = jobs([1, 1, 2], [10.0, 10.0, 5.0], demand={"cpu": [1, 1, 1]}, sites=["A", "B"], origin=[0, 1, 0])
    found = fs.simulate(some, two, fs.Rules(placement="home"), sharing="first").why(3)
    assert told(found) == [(0.0, 10.0, "it has 2 tasks; there is room for 2, but its placement rule cannot combine it")]


def test_jobs_that_never_start_or_are_cancelled_say_so() -> None:
    """By hand: a machine that closes for good, a job that is cancelled at 30 s, and a hold after a condition."""
    shut = replace(FOUR, calendar=(fs.Downtime("C", 10.0),))
    found = fs.simulate(jobs([4, 1], [10.0, 5.0], submit=[0.0, 20.0]), shut).why(2)
    assert told(found) == [(20.0, np.inf, TOO_FEW)]
    assert "never starts" in str(found)
    found = fs.simulate(jobs([4, 4], [100.0, 5.0], cancel_at=[-1.0, 30.0]), FOUR).why(2)
    assert np.isnan(found.start)
    assert [(one.begin, one.end) for one in found.waits] == [(0.0, 30.0)]
    some = jobs([1, 1], [10.0, 10.0], after=["", "afterany:1"], held={2: [(20.0, 70.0)]})
    some = replace(some, begin=[0.0, 15.0], held={2: [(12.0, 70.0)]})
    found = fs.simulate(some, FOUR).why(2)
    assert told(found)[0] == (0.0, 10.0, "it waits for job 1")
    assert found.start == 70.0


def test_a_queue_that_was_ordered_by_hand_does_not_answer() -> None:
    """Tests that `why` is refused if the queue was reordered by hand, as a new run would keep the usual order."""
    run = prepare(jobs([4, 4, 4], [10.0, 10.0, 10.0]), FOUR).advance(until=0.0)
    run.line_up([2, 1])
    with pytest.raises(ScheduleError, match="does not say how it was made"):
        run.advance().schedule().why(3)
