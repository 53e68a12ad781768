"""Integrals over time, each from a case that can be added up by hand."""

from __future__ import annotations

import numpy as np
from support.plain import begun, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.codes import Status
from fedsched.engine.numbers import Clock

loop = plain("fedsched.engine.loop.event_loop")
meters = plain("fedsched.engine.loop.metric_integrals")
FOUR = fs.Federation.homogeneous(4)
FOREVER = np.inf


def test_capacity_is_lost_while_nodes_idle_beside_one_that_would_fit() -> None:
    """3 of 4 nodes busy till 10 s, a job of 2 first and one of 1 behind it: one node idles for 10 s of the 30."""
    problem, plan, state = begun(jobs([3, 2, 1], [10.0, 10.0, 30.0]), FOUR)
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.MORE
    assert meters.integrals(problem, state).loss_of_capacity == 0.0
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.MORE
    assert state.clock[Clock.LOST_NODE_SECONDS] == 10.0
    assert meters.integrals(problem, state).loss_of_capacity == 10.0 / 40.0
    assert loop.run(problem, plan, state, 9, FOREVER) == Status.DONE
    assert meters.integrals(problem, state).loss_of_capacity == 10.0 / 160.0


def test_idle_nodes_are_not_lost_where_nobody_would_fit() -> None:
    """Nodes that are too few for the smallest job in the queue count for nothing, just enough ones do."""
    for smallest, lost in ((2, 0.0), (1, 10.0)):
        problem, plan, state = begun(jobs([3, 4, smallest], [10.0, 10.0, 10.0]), FOUR)
        loop.run(problem, plan, state, 2, FOREVER)
        assert state.clock[Clock.LOST_NODE_SECONDS] == lost


def test_saturated_seconds_are_counted_for_each_uplink() -> None:
    """[9] Two links above their bandwidth for 20 s are 40 s."""
    federation = clusters(((1, 1.0),), ((1, 1.0),), uplinks=[1.0, 1.0])
    workload = jobs([2], [10.0], task_bandwidth=[4.0], compute_fraction=[0.5])
    problem, plan, state = begun(workload, federation, dispatch="greedy")
    assert loop.run(problem, plan, state, 9, FOREVER) == Status.DONE
    assert state.finish[0] == 25.0  # L/B = 4: 0.5 + 0.5·4
    assert meters.integrals(problem, state).saturated_seconds == 50.0
