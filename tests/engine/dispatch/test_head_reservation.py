"""The reservation of the head, one call at a time: when it can start, and what may start beside it."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.plain import arrived, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.numbers import Clock, Counter

dispatch = plain("fedsched.engine.dispatch.greedy")
reservation = plain("fedsched.engine.dispatch.head_reservation")


def head_that_waits(free: int = 4, **options: object):
    """Return 10 nodes of which 2, 1 and 3 are taken until 20, 10 and 30 s, and a head of 7 nodes in the queue."""
    workload = jobs([3, 2, 1, 7, 1], [30.0, 20.0, 10.0, 5.0, 5.0])
    problem, plan, state = arrived(workload, fs.Federation.homogeneous(10), dispatch="easy", **options)
    for j in (0, 1, 2):
        state.scratch.chosen[:] = problem.tasks[j]
        dispatch.start_job(problem, plan, state, j)
    assert state.counter[Counter.FREE] == free
    return problem, plan, state


def test_the_shadow_time_is_the_first_planned_end_at_which_the_head_fits() -> None:
    """[11] 4 free, 5 from 10 s on, 7 from 20 s on: a head of 7 has its reservation at 20 s, and leaves nothing then."""
    problem, plan, state = head_that_waits()
    assert reservation.reserve_for_head(problem, plan, state, 3) == 20.0
    assert state.scratch.extra.tolist() == [0]
    six = problem._replace(tasks=np.array([3, 2, 1, 6, 1]))
    assert reservation.reserve_for_head(six, plan, state, 3) == 20.0
    assert state.scratch.extra.tolist() == [1]
    five = problem._replace(tasks=np.array([3, 2, 1, 5, 1]))
    assert reservation.reserve_for_head(five, plan, state, 3) == 10.0
    assert state.scratch.extra.tolist() == [0]


def test_all_that_end_at_the_shadow_time_count() -> None:
    """[11] Two jobs planned to end at one time give their nodes together; an outrun one counts as ending right now."""
    problem, plan, state = head_that_waits()
    state.ends.time[1] = 10.0
    assert reservation.reserve_for_head(problem, plan, state, 3) == 10.0
    assert state.scratch.extra.tolist() == [0]
    state.clock[Clock.NOW] = 15.0
    assert reservation.reserve_for_head(problem, plan, state, 3) == math.nextafter(15.0, math.inf)


@pytest.mark.parametrize(
    ("runtime", "extra", "expected"),
    [(20.0, 0, "BRIEF"), (20.1, 0, "REFUSED"), (20.1, 1, "LASTING"), (19.0, 4, "BRIEF")],
)
def test_beside_the_reservation(runtime: float, extra: int, expected: str) -> None:
    """[11] Who ends by the shadow time is brief; who lasts must fit into the extra nodes, else it is refused."""
    problem, plan, state = head_that_waits()
    problem = problem._replace(estimate=np.array([30.0, 20.0, 10.0, 5.0, runtime]))
    state.scratch.extra[:] = extra
    fit = reservation.place_beside_reservation(problem, plan, state, 4, 20.0)
    assert fit == getattr(reservation, expected)
    if expected != "REFUSED":
        assert state.scratch.chosen.tolist() == [1]


def test_a_second_placement_keeps_out_of_the_reservation() -> None:
    """[11] A job that would last on the head's nodes is placed anew on what is free and extra, or ends in time."""
    federation = clusters(((2, 2.0),), ((2, 1.0),))
    problem, plan, state = arrived(jobs([1, 2], [10.0, 10.0]), federation, dispatch="easy", placement="fastest")
    extra = state.scratch.extra
    extra[:] = [0, 1]
    assert reservation.place_beside_reservation(problem, plan, state, 0, 4.0) == reservation.LASTING
    assert state.scratch.chosen.tolist() == [0, 1]
    assert reservation.place_beside_reservation(problem, plan, state, 0, 5.0) == reservation.BRIEF
    assert state.scratch.chosen.tolist() == [1, 0]
    extra[:] = [1, 1]
    assert reservation.place_beside_reservation(problem, plan, state, 1, 4.0) == reservation.LASTING
    assert state.scratch.chosen.tolist() == [1, 1]
    extra[:] = [1, 0]
    assert reservation.place_beside_reservation(problem, plan, state, 1, 4.0) == reservation.REFUSED


def test_a_head_that_waits_only_for_load_is_reserved_now() -> None:
    """[22] Where no planned end makes room, the head waits for load that is about to go: its reservation is now."""
    workload = jobs([3, 1], [10.0, 10.0], submit=[5.0, 5.0], compute_fraction=[0.5, 0.5], task_bandwidth=[6.0, 6.0])
    federation = clusters(((2, 1.0),), ((2, 1.0),), uplinks=[10.0, 10.0])
    problem, plan, state = arrived(workload, federation, dispatch="easy", placement="link_aware")
    state.profile.peak[:] = 10.0  # of a look at some time before
    state.scratch.chosen[:] = 9
    assert state.counter[Counter.ENDS] == 0
    assert reservation.reserve_for_head(problem, plan, state, 0) == state.clock[Clock.NOW] == 5.0
    assert state.profile.peak.tolist() == [0.0, 0.0]
    assert state.scratch.chosen.tolist() == [2, 1]
    assert state.scratch.extra.tolist() == [0, 1]


@pytest.mark.parametrize("runtime", [1e-9, 5.0])
def test_nobody_ends_by_a_reservation_that_is_now(runtime: float) -> None:
    """[8, 11] Beside a reservation of this instant every job lasts, however short: on what is extra, or not at all."""
    now = 1.7e9
    federation = clusters(((2, 2.0),), ((2, 1.0),))
    workload = jobs([1, 2], [runtime, runtime], submit=[now, now])
    problem, plan, state = arrived(workload, federation, dispatch="easy", placement="fastest")
    assert state.clock[Clock.NOW] == now
    extra = state.scratch.extra
    for given, expected, chosen in (
        ([2, 2], "LASTING", [1, 0]),
        ([0, 1], "LASTING", [0, 1]),
        ([0, 0], "REFUSED", None),
    ):
        extra[:] = given
        assert reservation.place_beside_reservation(problem, plan, state, 0, now) == getattr(reservation, expected)
        if chosen:
            assert state.scratch.chosen.tolist() == chosen


@pytest.mark.parametrize(
    ("federation", "placement", "expected"),
    [
        (fs.Federation.homogeneous(4), "fastest", True),
        (fs.Federation.homogeneous(4), "efficient", False),
        (clusters(((2, 1.0),), ((2, 1.0),)), "fastest", False),
    ],
)
def test_what_closes_in_a_run_may_leave_room_for_a_shorter_one_elsewhere(
    federation: fs.Federation, placement: str, expected: bool
) -> None:
    """[39] Whom a downtime keeps from starting starts on fewer nodes no more where all fill the fastest ones first."""
    name = federation.clusters[0].name
    closing = replace(federation, calendar=(fs.Downtime(name, 5.0, 9.0, "all", "maintenance"),))
    problem, plan, state = arrived(jobs([4, 1], [10.0, 2.0]), closing, dispatch="easy", placement=placement)
    assert not dispatch.fits_now(problem, plan, state, 0)
    assert reservation.could_not_start(problem, plan, state, 0) == expected
    assert not reservation.could_not_start(problem, plan, state, 1)
