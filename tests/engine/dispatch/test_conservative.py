"""Conservative backfilling by hand: who has which place in the plan, and for how long the plan stands."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from engine.dispatch.test_greedy import started
from engine.profile.test_free_profile import profile_of
from support.plain import arrived, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.codes import Placement
from fedsched.engine.numbers import Clock, Counter

if TYPE_CHECKING:
    from collections.abc import Sequence

conservative = plain("fedsched.engine.dispatch.conservative")
dispatch = plain("fedsched.engine.dispatch.greedy")
running = plain("fedsched.engine.loop.running")
TEN = fs.Federation.homogeneous(10)


def planned(
    tasks: list[int],
    runtime: list[float],
    federation: fs.Federation = TEN,
    *,
    task_bandwidth: Sequence[float] | None = None,
    **options: object,
):
    """Return problem, plan and state after the first conservative pass."""
    workload = jobs(tasks, runtime, task_bandwidth=[0.0] * len(tasks) if task_bandwidth is None else task_bandwidth)
    problem, plan, state = arrived(workload, federation, dispatch="conservative", **options)
    conservative.plan_the_queue(problem, plan, state)
    return problem, plan, state


def test_every_job_has_its_place_in_queue_order() -> None:
    """[12] 6 nodes till 10 s; the head of 8 gets 10 s; 4 nodes for 12 s would delay it, 2 nodes for 12 s do not."""
    _, _, state = planned([6, 8, 4, 2], [10.0, 5.0, 12.0, 12.0])
    assert started(state) == [0, 3]
    assert state.profile.reserved[[1, 2]].tolist() == [10.0, 15.0]


def test_a_later_job_delays_no_earlier_one() -> None:
    """[12] A third job that EASY would let pass the second waits, for the second has its reservation too."""
    tasks, runtime = [6, 8, 4, 4], [10.0, 5.0, 10.5, 9.0]
    _, _, state = planned(tasks, runtime)
    assert started(state) == [0, 3]
    _, _, state = planned([6, 8, 10, 2], [10.0, 5.0, 5.0, 16.0])
    assert started(state) == [0]
    _, _, state = planned([6, 8, 10, 2], [10.0, 5.0, 5.0, 15.0])
    assert started(state) == [0, 3]


def test_a_standing_plan_starts_what_is_due() -> None:
    """On one group a plan holds while jobs end as planned: at 10 s the head starts by it, and no sooner."""
    problem, plan, state = planned([6, 8, 4], [10.0, 5.0, 12.0])
    assert state.counter[Counter.PLAN_HOLDS] == 1
    assert state.clock[Clock.NEXT_DUE] == 10.0
    state.clock[Clock.NOW] = 10.0
    j = running.pop_finish(state)
    running.ends_as_planned(state, j)
    running.vacate(problem, state, j)
    assert state.counter[Counter.PLAN_HOLDS] == 1
    conservative.plan_the_queue(problem, plan, state)
    assert state.start[1] == 10.0
    assert state.clock[Clock.NEXT_DUE] == np.inf  # no other job could start yet, so none is planned
    assert profile_of(state)[0] == (10.0, [2])


def test_a_plan_falls_when_a_job_ends_early_or_another_comes_first() -> None:
    """A job that ends off its planned end, or one that joins ahead of a planned one, ends the plan; others do not."""
    _, _, state = planned([6, 8, 4], [10.0, 5.0, 12.0], order=[0, 1, 2])
    conservative.note_joined(state, 2)
    state.counter[Counter.PLANNED_TO] = 2
    state.counter[Counter.PLAN_HOLDS] = 1
    conservative.note_joined(state, 2)
    assert state.counter[Counter.PLAN_HOLDS] == 1
    conservative.note_joined(state, 1)
    assert state.counter[Counter.PLAN_HOLDS] == 0
    state.counter[Counter.PLAN_HOLDS] = 1
    state.clock[Clock.NOW] = 9.0
    running.ends_as_planned(state, 0)
    assert state.counter[Counter.PLAN_HOLDS] == 0


def test_a_plan_that_a_job_has_outrun_does_not_stand() -> None:
    """While a job runs on beyond its planned end the profile is made anew; so it is where loads of links count."""
    problem, plan, state = planned([6, 8, 4], [10.0, 5.0, 12.0])
    assert conservative._started_as_planned(problem, plan, state)
    state.clock[Clock.NOW] = 10.0
    assert not conservative._started_as_planned(problem, plan, state)
    state.clock[Clock.NOW] = 9.0
    assert conservative._started_as_planned(problem, plan, state)
    assert not conservative._started_as_planned(problem, plan._replace(order_key=1), state)
    linked = plan._replace(placement=Placement.LINK_AWARE)
    assert conservative._started_as_planned(problem, linked, state)
    assert not conservative._started_as_planned(problem, linked, state._replace(free=np.zeros(2)))


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
def test_a_plan_falls_when_jobs_that_outran_their_estimates_end_at_the_instant_of_a_submit(same_time: str) -> None:
    """At 40 s jobs 1 and 2 end, 20 s late: job 3, planned for 20 s, starts then, and job 4 not beside it."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0, 0.0, 20.0, 40.0], tasks=[1, 1, 3, 3, 1, 1], runtime=[40.0, 40.0, 20.0, 20.0, 5.0, 5.0],
        estimate=[20.0, 20.0, 20.0, 20.0, 5.0, 5.0],
    )  # fmt: skip
    schedule = fs.simulate(log, fs.Federation.homogeneous(3), "conservative", same_time=same_time)
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [0.0, 0.0, 40.0, 60.0, 80.0, 80.0]


def test_on_several_groups_the_placement_decides_how_long_the_window_is() -> None:
    """[12] The shortest duration is that on the fast cluster; on the slow one, where nodes are free, it is twice so."""
    pair = clusters(((2, 2.0),), ((3, 1.0),))
    _, _, state = planned([2, 3, 3, 2], [20.0, 6.0, 5.0, 8.0], pair, placement="single")
    # fast: job 0 till 10 s. slow: job 1 till 6 s, then job 2 till 11 s. job 3: fast at 10 s.
    assert started(state) == [0, 1]
    _, _, state = planned([2, 1, 3, 2], [20.0, 6.0, 5.0, 6.0], pair, placement="single")
    assert started(state) == [0, 1, 3]  # beside job 1, until the very 6 s
    _, _, state = planned([2, 1, 3, 2], [20.0, 6.0, 5.0, 6.5], pair, placement="single")
    assert started(state) == [0, 1]


@pytest.mark.parametrize(("uplink", "expected"), [(2.7, [0]), (2.9, [0, 2])])
def test_reservations_load_the_uplinks_that_they_will_use(uplink: float, expected: list[int]) -> None:
    """[22] A job that would talk until 15 s finds in its window the load of one that will talk from 10 s on."""
    pair = clusters(((4, 1.0),), ((4, 1.0),), uplinks=[uplink, uplink])
    # from 10 s on job 1 sends 3·1·3/5 = 1.8 bytes/s from either side, job 2 would send 1·1·1/1
    _, _, state = planned(
        [3, 6, 2], [10.0, 5.0, 15.0], pair, caps=np.array([[3, 0], [3, 3], [1, 1]]), placement="link_aware",
        task_bandwidth=[0.0, 1.0, 1.0],
    )  # fmt: skip
    assert started(state) == expected
