"""Jobs that leave the queue and come back, under each dispatch rule: cases by hand from readings 42 and 73."""

from __future__ import annotations

import pytest
from support.held_cases import MACHINE, log, starts

import fedsched as fs

each_rule = pytest.mark.parametrize("dispatch", ["strict", "greedy", "local", "easy", "conservative", "lookahead"])
each_reading = pytest.mark.parametrize("same_time", ["batch", "sequential"])


@each_reading
@each_rule
def test_a_job_that_is_held_as_it_comes_starts_when_it_is_not(dispatch: str, same_time: str) -> None:
    """Those behind it run meanwhile."""
    assert starts(log({2: [(0, 15)]}), dispatch, same_time=same_time) == [0.0, 20.0, 10.0]
    assert starts(log({2: [(1, 5)]}), dispatch, same_time=same_time) == [0.0, 10.0, 20.0]
    assert starts(log({2: [(0, 1)]}), dispatch, same_time=same_time) == [0.0, 10.0, 20.0]


@each_reading
@each_rule
def test_a_job_that_waits_leaves_the_queue_while_it_is_held(dispatch: str, same_time: str) -> None:
    """The one behind it takes its nodes; back in the queue it has its old place there."""
    assert starts(log({2: [(5, 12)]}), dispatch, same_time=same_time) == [0.0, 20.0, 10.0]
    assert starts(log({2: [(5, 10)]}), dispatch, same_time=same_time) == [0.0, 10.0, 20.0]
    assert starts(log({2: [(10, 11)]}), dispatch, same_time=same_time) == [0.0, 20.0, 10.0]  # not at its begin
    assert starts(log({2: [(3, 4), (10, 30)]}), dispatch, same_time=same_time) == [0.0, 30.0, 10.0]
    assert starts(log({1: [(4, 90)]}), dispatch, same_time=same_time) == [0.0, 10.0, 20.0]  # it runs


@each_rule
def test_a_head_that_is_held_holds_up_nobody(dispatch: str) -> None:
    """At 3 the head of all nodes is held: the small one behind it starts in that very pass."""
    jobs = fs.Workload(submit=[0.0, 1.0, 2.0], tasks=[2, 4, 2], runtime=[10.0, 10.0, 20.0], held={2: [(3, 50)]})
    assert starts(jobs, dispatch)[2] == (2.0 if dispatch == "greedy" else 3.0)


def test_one_that_loses_its_nodes_while_it_is_held_comes_back_when_it_is_not() -> None:
    """The outage at 3 takes its nodes, which are back at 5; it is held from 2 to 9."""
    outage = fs.Downtime("m", 3.0, 5.0, kind="outage", on_running="requeue")
    machine = fs.Federation(MACHINE.clusters, calendar=(outage,))
    schedule = fs.simulate(log({1: [(2, 9)]}, submit=[0.0, 20.0, 20.0]), machine)
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [9.0, 20.0, 30.0]
    assert schedule.eligible.tolist()[0] == 9.0
