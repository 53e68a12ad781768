"""Running jobs, one call at a time: the heap of finishes, planned ends, loads and rates."""

from __future__ import annotations

import math

import numpy as np
import pytest
from support.plain import arrived, begun, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.codes import SameTime, Saturation
from fedsched.engine.numbers import Clock, Counter

running = plain("fedsched.engine.loop.running")


def entered(finish: list[float], tasks: list[int] | None = None, **options: object):
    """Return problem and state of jobs that have entered in their order, to finish at these times."""
    tasks = tasks or [1] * len(finish)
    problem, _, state = begun(jobs(tasks, [1.0] * len(finish)), fs.Federation.homogeneous(20), **options)
    for j, time in enumerate(finish):
        state.finish[j] = state.planned_end[j] = time
        state.counts[j, 0] = tasks[j]
        running.enter(problem, state, j)
    return problem, state


@pytest.mark.parametrize("seed", range(8))
def test_the_earliest_finish_comes_first_then_the_earliest_start(seed: int) -> None:
    """The heap gives its jobs by finish, and those of one finish in the order in which they started."""
    finish = np.random.default_rng(seed).integers(0, 6, 15).astype(float).tolist()
    _, state = entered(finish)
    assert state.counter[Counter.RUNNING] == 15
    popped = [running.pop_finish(state) for _ in finish]
    assert popped == sorted(range(15), key=lambda j: (finish[j], j))
    assert state.counter[Counter.RUNNING] == 0


def test_a_job_knows_its_place_in_the_heap() -> None:
    """Whatever enters and leaves, `place` says where in the heap a job is."""
    _, state = entered([5.0, 3.0, 8.0, 1.0, 9.0, 2.0])
    for size in range(6, 0, -1):
        assert [int(state.heap.place[state.heap.job[i]]) for i in range(size)] == list(range(size))
        running.pop_finish(state)


def test_planned_ends_are_kept_latest_first() -> None:
    """The list of planned ends falls, and of equal ends whoever came later stands behind; removing keeps the rest."""
    _, state = entered([5.0, 9.0, 5.0, 1.0], dispatch="easy")
    ends = state.ends
    assert (ends.time[:4].tolist(), ends.job[:4].tolist()) == ([9.0, 5.0, 5.0, 1.0], [1, 0, 2, 3])
    running._remove_end(ends, 4, 5.0, 0)
    assert (ends.time[:3].tolist(), ends.job[:3].tolist()) == ([9.0, 5.0, 1.0], [1, 2, 3])
    running._remove_end(ends, 3, 9.0, 1)
    running._add_end(ends, 2, 0.5, 0)
    running._add_end(ends, 3, 7.0, 1)
    assert (ends.time[:4].tolist(), ends.job[:4].tolist()) == ([7.0, 5.0, 1.0, 0.5], [1, 2, 3, 0])


def test_entering_and_leaving_take_and_give_nodes() -> None:
    """Nodes are busy from a job's entry to its leaving, in all and by group."""
    problem, state = entered([4.0, 2.0], [3, 5], dispatch="easy")
    assert (state.free.tolist(), state.counter[Counter.FREE], state.counter[Counter.ENDS]) == ([12], 12, 2)
    j = running.pop_finish(state)
    running.vacate(problem, state, j)
    assert j == 1
    assert (state.free.tolist(), state.counter[Counter.FREE], state.counter[Counter.ENDS]) == ([17], 17, 1)
    assert state.ends.job[0] == 0


def test_an_end_lies_after_now() -> None:
    """[0, 8] A later end stays; one at now, or outrun, lies at the next representable number."""
    assert running.end_after(5.0, 4.0) == 5.0
    assert running.end_after(4.0, 4.0) == math.nextafter(4.0, math.inf)
    assert running.end_after(3.0, 4.0) == math.nextafter(4.0, math.inf)


def test_loads_are_summed_and_saturated_links_counted() -> None:
    """Eq. 1.3: each uplink's load is the sum of its jobs' demands; one is saturated above its bandwidth, not at it."""
    demand = np.array([[1.0, 2.0, 0.0], [9.0, 9.0, 9.0], [3.0, 0.0, 4.0]])
    load = np.full(3, 7.0)
    saturated = running.sum_loads(np.array([4.0, 1.5, 4.0]), np.array([0, 2, 1]), 2, demand, load)
    assert load.tolist() == [4.0, 2.0, 4.0]
    assert saturated == 1


def test_the_worst_link_that_a_job_uses_slows_it() -> None:
    """Eq. 1.5: the greatest L/B over the links with demand, and at least 1."""
    uplink, load = np.array([1.0, 2.0, 1.0]), np.array([1.5, 5.0, 9.0])
    demand = np.array([[1.0, 1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]])
    assert [running._communication_slowdown(uplink, load, demand, j) for j in range(3)] == [2.5, 1.5, 1.0]
    assert running._communication_slowdown(uplink, load / 10, demand, 0) == 1.0


PAIR = clusters(((2, 1.0),), ((2, 1.0),), uplinks=[2.0, 100.0])


def two_that_talk(saturation: Saturation, rule: str = "greedy"):
    """Return a state in which a job of 10 s that sends 3/4 bytes/s runs from 0, one of 2·9/4 starts at 4 s."""
    workload = jobs([2, 2], [10.0, 10.0], task_bandwidth=[1.0, 1.0], compute_fraction=[0.5, 0.5])
    problem, plan, state = arrived(workload, PAIR, saturation=saturation, dispatch=rule)
    dispatch = plain("fedsched.engine.dispatch.greedy")
    problem = problem._replace(bandwidth=np.array([1.5, 1.5]))
    for j, now in ((0, 0.0), (1, 4.0)):
        state.clock[Clock.NOW] = now
        state.scratch.chosen[:] = 1  # one node on either side: each sends 1·1.5·1/1
        dispatch.start_job(problem, plan, state, j)
        running.update_rates(problem, state)
    return problem, state


def test_a_link_that_fills_slows_who_uses_it() -> None:
    """At 4 s a load of 3 on a link of 2 makes half of the work 1.5 times as long: of 6 s left 7.5, for both alike."""
    _, state = two_that_talk(Saturation.DYNAMIC)
    assert state.load.tolist() == [3.0, 3.0]
    assert state.counter[Counter.SATURATED_LINKS] == 1
    assert state.rates.tc.tolist() == [1.25, 1.25]
    assert state.rates.work_left.tolist() == [6.0, 10.0]
    assert state.rates.since.tolist() == [4.0, 4.0]
    assert state.finish.tolist() == [11.5, 16.5]
    assert [running.pop_finish(state) for _ in range(2)] == [0, 1]


def test_under_the_static_reading_only_the_newcomer_is_slowed() -> None:
    """[6] Who runs already keeps its rate; who starts has that of the loads right after the pass, for good."""
    problem, state = two_that_talk(Saturation.STATIC)
    assert state.finish.tolist() == [10.0, 16.5]
    state.clock[Clock.NOW] = 10.0
    running.vacate(problem, state, running.pop_finish(state))
    running.update_rates(problem, state)
    assert (state.load.tolist(), state.finish[1]) == ([1.5, 1.5], 16.5)
    assert (state.counter[Counter.SPANNING], state.counter[Counter.SPANNING_FIXED]) == (1, 1)


def test_a_link_that_clears_speeds_up_who_still_runs() -> None:
    """When the first ends at 11.5 s the other has 10 − 7.5/1.25 = 4 s left, at full rate again."""
    problem, state = two_that_talk(Saturation.DYNAMIC)
    state.clock[Clock.NOW] = 11.5
    running.vacate(problem, state, running.pop_finish(state))
    running.update_rates(problem, state)
    assert state.counter[Counter.SATURATED_LINKS] == 0
    assert (state.rates.tc[1], state.rates.work_left[1], state.finish[1]) == (1.0, 4.0, 15.5)


def test_what_is_left_below_the_clock_ends_right_after_the_change_of_rate() -> None:
    """[0, 5] Where less is left of work and estimate than the clock can tell, the new ends still lie after now."""
    problem, state = two_that_talk(Saturation.DYNAMIC)
    state.clock[Clock.NOW] = 11.5
    state.rates.work_left[1] = state.rates.estimate_left[1] = (11.5 - 4.0) / 1.25  # done, but for what rounds away
    running.vacate(problem, state, running.pop_finish(state))
    running.update_rates(problem, state)
    assert state.rates.work_left[1] == 0.0
    assert state.finish[1] == state.planned_end[1] == np.nextafter(11.5, np.inf)


def test_planned_ends_follow_the_rate() -> None:
    """Where a rule plans, the list of planned ends moves with the jobs, by what their estimates leave."""
    _, state = two_that_talk(Saturation.DYNAMIC, "easy")
    assert state.planned_end.tolist() == [11.5, 16.5]
    assert (state.ends.time[:2].tolist(), state.ends.job[:2].tolist()) == ([16.5, 11.5], [1, 0])
    assert state.rates.estimate_left.tolist() == [6.0, 10.0]


def test_a_change_of_rate_lets_a_plan_fall() -> None:
    """What ends later or sooner than planned leaves no conservative plan as it was; a pass without one does."""
    problem, state = two_that_talk(Saturation.DYNAMIC, "easy")
    state.counter[Counter.PLAN_HOLDS] = 1
    running.update_rates(problem, state)
    assert state.counter[Counter.PLAN_HOLDS] == 1
    state.clock[Clock.NOW] = 11.5
    running.vacate(problem, state, running.pop_finish(state))
    running.update_rates(problem, state)
    assert state.counter[Counter.PLAN_HOLDS] == 0


def test_pending_finishes_count_as_free_once() -> None:
    """[3] What ends now as planned is free before its event, and its event then frees nothing more."""
    problem, state = entered([4.0, 4.0, 6.0], [3, 5, 2], dispatch="easy", same_time=SameTime.SEQUENTIAL)
    state.planned_end[1] = 9.0
    running._remove_end(state.ends, 3, 4.0, 1)
    running._add_end(state.ends, 2, 9.0, 1)
    state.clock[Clock.NOW] = 4.0
    running.release_pending(problem, state)
    assert (state.free.tolist(), state.counter[Counter.ENDS]) == ([13], 2)  # not job 1: it is planned to run on
    assert state.ends.released.tolist() == [1, 0, 0]
    running.vacate(problem, state, running.pop_finish(state))
    assert (state.free.tolist(), state.counter[Counter.ENDS]) == ([13], 2)
    running.vacate(problem, state, running.pop_finish(state))
    assert (state.free.tolist(), state.counter[Counter.ENDS]) == ([18], 1)
