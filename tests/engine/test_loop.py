"""The event loop, instant by instant: what a run begins with, what an instant does, and what a run comes back with."""

from __future__ import annotations

import numpy as np
import pytest
from engine.test_dispatch import started
from plain import begun, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.arrays import Clock, Counter
from fedsched.engine.codes import SameTime, Status
from fedsched.metrics import Column

loop = plain("fedsched.engine.loop")
FOUR = fs.Federation.homogeneous(4)
FOREVER = np.inf


def test_a_run_begins_with_everything_free() -> None:
    """At t0 nothing is queued, all nodes are free, and nobody has started; only planning rules keep planned ends."""
    problem, _, state = begun(jobs([2, 1], [5.0, 5.0], submit=[3.0, 4.0]), FOUR, dispatch="greedy")
    assert (state.free.tolist(), state.counter[Counter.FREE], state.clock[Clock.NOW]) == ([4], 4, 3.0)
    assert np.isnan(state.start).all()
    assert state.counter[Counter.TRACK_ENDS] == 0
    assert begun(jobs([1], [5.0]), FOUR, dispatch="easy")[2].counter[Counter.TRACK_ENDS] == 1
    for reading, tracked in ((SameTime.BATCH, 0), (SameTime.SEQUENTIAL, 1)):
        assert begun(jobs([1], [5.0]), FOUR, same_time=reading)[2].counter[Counter.TRACK_ENDS] == tracked
    assert problem.arrival.tolist() == [0, 1]


def test_a_state_that_was_used_begins_anew() -> None:
    """Nothing is left of the run before: no load on the links, no job that has started, no time, no counter."""
    problem, plan, state = begun(jobs([2, 1], [5.0, 5.0]), clusters(((2, 1.0),), ((2, 1.0),)), dispatch="easy")
    loop.run(problem, plan, state, 1, FOREVER)
    state.load[:] = 7.0
    state.clock[:] = 8.0
    state.counter[:] = 9
    loop.begin(problem, plan, state)
    fresh = begun(jobs([2, 1], [5.0, 5.0]), clusters(((2, 1.0),), ((2, 1.0),)), dispatch="easy")[2]
    for name in ("load", "clock", "counter", "free", "start", "finish"):
        np.testing.assert_array_equal(getattr(state, name), getattr(fresh, name))
    np.testing.assert_array_equal(state.queue.tasks, fresh.queue.tasks)


def test_a_job_that_ends_early_ends_the_plan() -> None:
    """Under conservative backfilling the next job starts when the first is done, not when it was planned to be."""
    problem, plan, state = begun(jobs([4, 4], [5.0, 5.0], estimate=[10.0, 10.0]), FOUR, dispatch="conservative")
    assert loop.run(problem, plan, state, 9, FOREVER) == Status.DONE
    assert state.start.tolist() == [0.0, 5.0]


def test_the_shortest_durations_are_known_to_planning_rules() -> None:
    """Under EASY each job's shortest duration is that on the fastest nodes it may use."""
    _, _, state = begun(jobs([2, 3], [8.0, 8.0]), clusters(((2, 4.0),), ((4, 1.0),)), dispatch="easy")
    assert state.shortest.tolist() == [2.0, 8.0]


def test_the_next_instant_is_the_next_finish_or_submit() -> None:
    """Whichever comes first, but never before now; infinite where nothing is left to come."""
    problem, plan, state = begun(jobs([4, 1], [5.0, 5.0], submit=[0.0, 9.0]), FOUR)
    assert loop._next_time(problem, state) == 0.0
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.MORE
    assert loop._next_time(problem, state) == 5.0
    loop.run(problem, plan, state, 1, FOREVER)
    assert loop._next_time(problem, state) == 9.0
    loop.run(problem, plan, state, 1, FOREVER)
    assert loop._next_time(problem, state) == 14.0
    loop.run(problem, plan, state, 1, FOREVER)
    assert loop._next_time(problem, state) == np.inf


def test_the_clock_does_not_run_backwards() -> None:
    """Jobs submitted before t0 arrive at t0."""
    problem, plan, state = begun(jobs([4, 4], [5.0, 5.0], submit=[1.0, 2.0]), FOUR, t0=100.0)
    assert loop.run(problem, plan, state, 99, FOREVER) == Status.DONE
    assert state.start.tolist() == [100.0, 105.0]


def test_what_a_run_comes_back_with() -> None:
    """DONE when all have finished, MORE after so many instants, PAUSED before an instant that is too late."""
    problem, plan, state = begun(jobs([4, 4], [5.0, 5.0]), FOUR)
    assert loop.run(problem, plan, state, 0, FOREVER) == Status.MORE
    assert loop.run(problem, plan, state, 9, 4.9) == Status.PAUSED
    assert (state.counter[Counter.FINISHED], state.clock[Clock.NOW]) == (0, 0.0)
    assert loop.run(problem, plan, state, 9, 5.0) == Status.PAUSED
    assert (state.counter[Counter.FINISHED], started(state)) == (1, [0, 1])
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.DONE  # at the very instant that was the last allowed
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.DONE
    assert state.finish.tolist() == [5.0, 10.0]


def test_a_queue_that_nothing_can_start_is_stuck() -> None:
    """STUCK where jobs wait, none runs and none is to come."""
    problem, plan, state = begun(jobs([4], [5.0]), FOUR)
    plan = plan._replace(caps=np.array([[3]]))
    assert loop.run(problem, plan, state, 9, FOREVER) == Status.STUCK


def test_a_state_that_asks_stops_before_the_pass() -> None:
    """ASKED between the events of an instant and its pass, where some queued job is small enough; the pass follows."""
    problem, plan, state = begun(jobs([3, 2, 1], [5.0, 5.0, 5.0], submit=[0.0, 1.0, 2.0]), FOUR)
    state.counter[Counter.ASKS] = 1
    assert loop.run(problem, plan, state, 9, FOREVER) == Status.ASKED
    assert (state.clock[Clock.NOW], started(state)) == (0.0, [])
    # at 1 s nobody fits, so nobody is asked; at 2 s a job of one node would
    assert loop.run(problem, plan, state, 9, FOREVER) == Status.ASKED
    assert (state.clock[Clock.NOW], started(state)) == (2.0, [0])


def test_of_one_instant_all_events_come_before_the_pass() -> None:
    """[1] In the batch reading who ends at 5 s makes room for who comes at 5 s, whatever their order."""
    problem, plan, state = begun(jobs([4, 4, 2], [5.0, 5.0, 5.0], submit=[0.0, 5.0, 5.0]), FOUR, order=[0, 2, 1],
                                 dispatch="greedy")  # fmt: skip
    assert loop.run(problem, plan, state, 99, FOREVER) == Status.DONE
    assert state.start.tolist() == [0.0, 10.0, 5.0]


def test_one_event_a_pass_in_the_sequential_reading() -> None:
    """[2] Each submission has a pass of its own: the first to come starts before the better one of the same instant."""
    problem, plan, state = begun(
        jobs([4, 4], [5.0, 5.0]), FOUR, order=[1, 0], dispatch="greedy", same_time=SameTime.SEQUENTIAL
    )
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.MORE
    assert started(state) == [0]
    assert loop.run(problem, plan, state, 99, FOREVER) == Status.DONE
    assert state.start.tolist() == [0.0, 5.0]


def test_capacity_is_lost_while_nodes_idle_beside_one_that_would_fit() -> None:
    """3 of 4 nodes busy till 10 s, a job of 2 first and one of 1 behind it: one node idles for 10 s of the 30."""
    problem, plan, state = begun(jobs([3, 2, 1], [10.0, 10.0, 30.0]), FOUR)
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.MORE
    assert loop.loss_of_capacity(problem, state) == 0.0
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.MORE
    assert state.clock[Clock.LOST_NODE_SECONDS] == 10.0
    assert loop.loss_of_capacity(problem, state) == 10.0 / 40.0
    assert loop.run(problem, plan, state, 9, FOREVER) == Status.DONE
    assert loop.loss_of_capacity(problem, state) == 10.0 / 160.0


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
    assert state.clock[Clock.SATURATED_SECONDS] == 50.0


@pytest.mark.parametrize("many", [3, 40])
def test_few_or_many_arrivals_leave_the_same_queue(many: int) -> None:
    """Whether the trees are mended for each arrival or once for all, the same jobs are found."""
    queues = plain("fedsched.engine.queue")
    tasks = np.random.default_rng(many).integers(1, 5, 64)
    submit = np.where(np.arange(64) < many, 0.0, 9.0)
    problem, plan, state = begun(jobs(tasks.tolist(), [1.0] * 64, submit=submit), FOUR, backfill_order="sjf",
                                 dispatch="easy")  # fmt: skip
    assert loop._arrive_all(problem, plan, state) == many
    assert state.counter[Counter.QUEUED] == state.counter[Counter.ARRIVED] == many
    for queue in (state.queue, state.backfill):
        found, at = [], queues.next_small(queue, 0, 2)
        while at >= 0:
            found.append(int(queue.order[at]))
            at = queues.next_small(queue, at + 1, 2)
        waiting = [int(j) for j in queue.order if j < many and tasks[j] <= 2]
        assert found == waiting
        assert queue.tasks[1] == tasks[:many].min()


def test_the_first_job_that_fits_nowhere() -> None:
    """In the order of arrival, on the empty federation; −1 where all fit."""
    problem, plan, state = begun(jobs([1, 3, 3], [1.0] * 3, submit=[2.0, 1.0, 0.0]), clusters(((2, 1.0),), ((2, 1.0),)))
    single = plan._replace(placement=1)
    state.free[:] = 0
    assert loop.first_unplaceable(problem, plan, state) == -1
    assert loop.first_unplaceable(problem, single, state) == 2


def test_the_batch_entry_measures_each_candidate() -> None:
    """Two orders of two jobs that exclude each other: the same makespan, another flow, in rows of their own."""
    problem, plan, state = begun(jobs([4, 4], [3.0, 5.0]), FOUR, dispatch="greedy")
    orders, caps = np.array([[0, 1], [1, 0], [0, 1]]), np.full((3, 2, 1), 4)
    rows = np.full((3, len(Column)), np.nan)
    one, zero = np.ones(3, dtype=int), np.zeros(3, dtype=int)
    common = plan._replace(cap_row=np.array([0, 1]))
    assert loop.evaluate(problem, common, orders, caps, one, zero, state, np.zeros((0, 2)), rows, 0, 2) == Status.DONE
    assert rows[:2, Column.MAKESPAN].tolist() == [8.0, 8.0]
    assert rows[:2, Column.FLOW].tolist() == [3.0 + 8.0, 5.0 + 8.0]
    assert np.isnan(rows[2]).all()
