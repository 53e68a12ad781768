"""Strict, greedy and local dispatch, and the reservation of a head, each on a machine that can be drawn by hand."""

from __future__ import annotations

import math

import numpy as np
from support.plain import arrived, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.numbers import Clock, Counter

dispatch = plain("fedsched.engine.dispatch.greedy")
FOUR = fs.Federation.homogeneous(4)


def started(state) -> list[int]:
    """Return the jobs that have started, in start order."""
    size = int(state.counter[Counter.STARTED])
    rows = np.flatnonzero(~np.isnan(state.start))
    assert rows.size == size
    return rows[np.argsort(state.heap.sequence[rows])].tolist()


def test_a_start_sets_what_a_run_goes_by() -> None:
    """Times by σ·PS + 1 − σ: 8 s of work and 12 s believed, half of it at speed 4, are 5 s and 7.5 s."""
    federation = clusters(((2, 4.0),), ((2, 1.0),))
    workload = jobs([2], [8.0], estimate=[12.0], compute_fraction=[0.5], submit=[100.0])
    problem, plan, state = arrived(workload, federation, dispatch="easy")
    state.clock[Clock.NOW] = 103.0
    state.scratch.chosen[:] = [2, 0]
    dispatch.start_job(problem, plan, state, 0)
    assert (state.start[0], state.finish[0], state.planned_end[0]) == (103.0, 108.0, 110.5)
    assert state.counts.tolist() == [[2, 0]]
    rates = state.rates
    assert (rates.tc[0], rates.processing[0], rates.since[0]) == (0.625, 0.25, 103.0)
    assert (rates.work_left[0], rates.estimate_left[0]) == (8.0, 12.0)
    assert (state.free.tolist(), state.counter[Counter.FREE]) == ([0, 2], 2)
    assert (state.counter[Counter.QUEUED], state.counter[Counter.RUNNING]) == (0, 1)


def test_a_run_below_the_clock_ends_right_after_its_start() -> None:
    """[0] At 1.7e9 s a run of 1e-9 s ends at the next number that the clock can hold."""
    problem, plan, state = arrived(jobs([1], [1e-9], submit=[1.7e9]), FOUR)
    state.scratch.chosen[:] = 1
    dispatch.start_job(problem, plan, state, 0)
    assert state.finish[0] == state.planned_end[0] == math.nextafter(1.7e9, math.inf)


def test_strict_stops_at_the_first_that_does_not_fit() -> None:
    """Jobs start in queue order until one cannot; it is said which, though one behind it would fit."""
    problem, plan, state = arrived(jobs([2, 1, 3, 1], [5.0] * 4), FOUR)
    assert dispatch.start_from_head(problem, plan, state) == 2
    assert started(state) == [0, 1]
    assert state.counter[Counter.FREE] == 1


def test_strict_says_when_nobody_waits() -> None:
    """−1 where the queue has become empty."""
    problem, plan, state = arrived(jobs([2, 2], [5.0, 5.0]), FOUR)
    assert dispatch.start_from_head(problem, plan, state) == -1
    assert started(state) == [0, 1]


def test_strict_waits_for_the_nodes_that_it_may_use() -> None:
    """A head for which enough nodes are free, but not where its rule lets it run, holds up the queue."""
    problem, plan, state = arrived(
        jobs([3, 1], [5.0, 5.0]), clusters(((2, 1.0),), ((3, 1.0),)), placement="single", dispatch="strict"
    )
    state.free[1], state.counter[Counter.FREE] = 2, 4
    assert dispatch.start_from_head(problem, plan, state) == 0
    assert started(state) == []


def test_greedy_starts_whatever_fits() -> None:
    """[10] One scan in queue order; what comes too late for the nodes that are left waits."""
    problem, plan, state = arrived(jobs([3, 2, 1, 1], [5.0] * 4), FOUR, dispatch="greedy")
    dispatch.start_all_that_fit(problem, plan, state)
    assert started(state) == [0, 2]


def test_greedy_goes_past_who_fits_on_no_nodes_it_may_use() -> None:
    """[10] A job that is small enough in all, but is bound to a full cluster, does not end the scan."""
    caps = np.array([[4, 0], [4, 0], [4, 4]])
    problem, plan, state = arrived(
        jobs([4, 2, 2], [5.0] * 3), clusters(((4, 1.0),), ((4, 1.0),)), caps=caps, dispatch="greedy"
    )
    dispatch.start_all_that_fit(problem, plan, state)
    assert started(state) == [0, 2]
    assert state.counts[2].tolist() == [0, 2]


def test_local_queues_hold_their_own_clusters_only() -> None:
    """A job that waits for its cluster holds it against those behind it, and leaves other clusters alone."""
    caps = np.array([[3, 0], [2, 0], [1, 0], [0, 4], [1, 1]])
    problem, plan, state = arrived(
        jobs([3, 2, 1, 3, 1], [5.0] * 5), clusters(((4, 1.0),), ((4, 1.0),)), caps=caps, dispatch="local"
    )
    dispatch.start_per_cluster(problem, plan, state)
    # job 1 waits for the first cluster: jobs 2 and 4, which may use it, wait behind it although a node is free
    assert started(state) == [0, 3]


def test_nothing_is_held_from_the_pass_before() -> None:
    """Each pass begins with all clusters open, whoever waited for them at the last one."""
    problem, plan, state = arrived(jobs([4, 1], [5.0, 5.0]), FOUR, dispatch="local")
    state.scratch.limited[:] = 1
    dispatch.start_per_cluster(problem, plan, state)
    assert started(state) == [0]


def test_a_held_cluster_is_held_whole() -> None:
    """A job that may use one group of a cluster holds all of its groups."""
    problem, plan, state = arrived(
        jobs([3, 3, 2, 1], [5.0] * 4),
        clusters(((3, 1.0), (2, 1.0)), ((1, 1.0),)),
        caps=np.array([[3, 0, 0], [3, 0, 0], [0, 2, 0], [0, 0, 1]]),
        dispatch="local",
    )  # fmt: skip
    dispatch.start_per_cluster(problem, plan, state)
    assert started(state) == [0, 3]
