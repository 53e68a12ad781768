"""What is free and when, one call at a time: loads, breakpoints, windows."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import arrived, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.numbers import Clock, Counter

availability = plain("fedsched.engine.profile.free_profile")
conservative = plain("fedsched.engine.dispatch.conservative")
dispatch = plain("fedsched.engine.dispatch.greedy")
TEN = fs.Federation.homogeneous(10)


def profile_of(state) -> list[tuple[float, list[int]]]:
    """Return the breakpoints: from when on how many nodes of each group are free."""
    rows = int(state.counter[Counter.BREAKPOINTS])
    free = state.profile.free if len(state.profile.free) else state.profile.total[None]
    return [(float(state.profile.time[b]), free[:, b].tolist()) for b in range(rows)]


def busy(*ends: tuple[int, float], waiting: tuple[int, float] = (1, 1.0)):
    """Return a state at 0 s in which jobs of so many nodes run until their ends, and one job waits."""
    tasks, runtime = [t for t, _ in ends] + [waiting[0]], [end for _, end in ends] + [waiting[1]]
    problem, plan, state = arrived(jobs(tasks, runtime), TEN, dispatch="conservative")
    for j, size in enumerate(tasks[:-1]):
        state.scratch.chosen[:] = size
        dispatch.start_job(problem, plan, state, j)
    availability.fill_profile(problem, plan, state)
    return problem, plan, state


def test_planned_load_forgets_who_has_ended_by_then() -> None:
    """[22] The load at a time is that of jobs planned to end after it, and of those that have outrun their estimate."""
    federation = clusters(((2, 1.0),), ((2, 1.0),), uplinks=[10.0, 10.0])
    problem, plan, state = arrived(jobs([2, 2], [10.0, 20.0], task_bandwidth=[1.0, 2.0]), federation, dispatch="easy")
    for j in (0, 1):
        state.scratch.chosen[:] = 1
        dispatch.start_job(problem, plan, state, j)
    load = np.full(2, 9.0)
    for time, expected in ((5.0, 3.0), (10.0, 2.0), (19.0, 2.0), (20.0, 0.0)):
        availability.planned_load(problem, state, time, load)
        assert load.tolist() == [expected, expected]
    state.clock[Clock.NOW] = 30.0
    availability.planned_load(problem, state, 30.0, load)
    assert load.tolist() == [3.0, 3.0]


def test_the_profile_of_running_jobs() -> None:
    """[12] A breakpoint at now and at each planned end; those that end together make one."""
    _, _, state = busy((3, 20.0), (2, 10.0), (4, 20.0))
    assert profile_of(state) == [(0.0, [1]), (10.0, [3]), (20.0, [10])]


def test_a_breakpoint_is_made_once() -> None:
    """[12] A new one has what was free before it; where there is one already it is found."""
    _, _, state = busy((3, 20.0), (2, 10.0))
    assert availability._break_at(None, state, 10.0, 0, False) == 1
    assert availability._break_at(None, state, 15.0, 0, False) == 2
    assert profile_of(state) == [(0.0, [5]), (10.0, [7]), (15.0, [7]), (20.0, [10])]
    assert availability._break_at(None, state, 25.0, 2, False) == 4
    assert profile_of(state)[-1] == (25.0, [10])
    assert availability._break_at(None, state, 20.0, 3, False) == 3


@pytest.mark.parametrize(
    ("waiting", "begin"),
    [
        ((3, 10.0), 0),  # from now until the very instant at which less is free
        ((3, 10.5), 2),  # half a second too long: only from 20 s on
        ((2, 99.0), 0),
        ((7, 1.0), 2),
        ((8, 1.0), 3),
        ((10, 1.0), 3),
    ],
)
def test_the_first_window_that_is_long_enough(waiting: tuple[int, float], begin: int) -> None:
    """[12] 5 nodes are free now, 2 from 10 s, 7 from 20 s, 10 from 30 s: a window is half open."""
    problem, plan, state = busy((3, 30.0), (2, 20.0), waiting=waiting)
    state.scratch.chosen[:] = 3
    availability._break_at(None, state, 10.0, 0, False)
    state.profile.total[1] = 2
    assert [free for _, (free,) in profile_of(state)] == [5, 2, 7, 10]
    assert availability.first_fit(problem, plan, state, 2) == begin
    assert state.scratch.chosen.tolist() == [waiting[0]]


def test_a_reservation_takes_its_nodes_for_its_time() -> None:
    """[12] From its breakpoint up to its end, and no longer."""
    problem, plan, state = busy((6, 10.0), waiting=(8, 5.0))
    begin = availability.first_fit(problem, plan, state, 1)
    availability.reserve_window(problem, plan, state, 1, begin, 15.0)
    assert profile_of(state) == [(0.0, [4]), (10.0, [2]), (15.0, [10])]


def test_the_past_of_a_profile_is_forgotten() -> None:
    """What is free now is what the last breakpoint that is not after now says."""
    problem, plan, state = busy((3, 20.0), (2, 10.0))
    for now, expected in ((4.0, [5, 7, 10]), (10.0, [7, 10]), (25.0, [10])):
        state.clock[Clock.NOW] = now
        availability.drop_past(problem, plan, state)
        assert profile_of(state)[0][0] == now
        assert [free for _, (free,) in profile_of(state)] == expected


def test_windows_bear_the_greatest_load_within_them() -> None:
    """[22] A job that sends between clusters waits until the uplink bears it over its whole window."""
    pair = clusters(((3, 1.0),), ((3, 1.0),), uplinks=[3.0, 3.0])
    workload = {"task_bandwidth": [1.0, 1.0, 1.0]}
    problem, plan, state = arrived(
        jobs([2, 4, 2], [10.0, 5.0, 5.0], **workload), pair, dispatch="conservative", placement="link_aware"
    )
    state.scratch.chosen[:] = 1
    dispatch.start_job(problem, plan, state, 0)  # 1·1·1/1 on each link till 10 s
    availability.fill_profile(problem, plan, state)
    # four tasks, 2 + 2 free on each side: 2·1·2/3 each, with 1 there already 2.33: below 3
    assert availability.first_fit(problem, plan, state, 1) == 0
    tight = problem._replace(groups=problem.groups._replace(uplink=np.array([2.0, 2.0])))
    assert availability.first_fit(tight, plan, state, 1) == 1
    assert state.scratch.chosen.sum() == 4
