"""The next instant, and what happens at it before its pass."""

from __future__ import annotations

import numpy as np
import pytest
from engine.dispatch.test_greedy import started
from support.plain import begun, jobs, plain

import fedsched as fs
from fedsched.engine.codes import SameTime, Status
from fedsched.engine.numbers import Counter

loop = plain("fedsched.engine.loop.event_loop")
events = plain("fedsched.engine.loop.events")
FOUR = fs.Federation.homogeneous(4)
FOREVER = np.inf


def test_the_next_instant_is_the_next_finish_or_submit() -> None:
    """Whichever comes first, but never before now; infinite where nothing is left to come."""
    problem, plan, state = begun(jobs([4, 1], [5.0, 5.0], submit=[0.0, 9.0]), FOUR)
    assert events.next_time(problem, state) == 0.0
    assert loop.run(problem, plan, state, 1, FOREVER) == Status.MORE
    assert events.next_time(problem, state) == 5.0
    loop.run(problem, plan, state, 1, FOREVER)
    assert events.next_time(problem, state) == 9.0
    loop.run(problem, plan, state, 1, FOREVER)
    assert events.next_time(problem, state) == 14.0
    loop.run(problem, plan, state, 1, FOREVER)
    assert events.next_time(problem, state) == np.inf


def test_the_clock_does_not_run_backwards() -> None:
    """Jobs submitted before t0 arrive at t0."""
    problem, plan, state = begun(jobs([4, 4], [5.0, 5.0], submit=[1.0, 2.0]), FOUR, t0=100.0)
    assert loop.run(problem, plan, state, 99, FOREVER) == Status.DONE
    assert state.start.tolist() == [100.0, 105.0]


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


@pytest.mark.parametrize("many", [3, 40])
def test_few_or_many_arrivals_leave_the_same_queue(many: int) -> None:
    """Whether the trees are mended for each arrival or once for all, the same jobs are found."""
    queues = plain("fedsched.engine.queue.queue_tree")
    tasks = np.random.default_rng(many).integers(1, 5, 64)
    submit = np.where(np.arange(64) < many, 0.0, 9.0)
    problem, plan, state = begun(jobs(tasks.tolist(), [1.0] * 64, submit=submit), FOUR, backfill_order="sjf",
                                 dispatch="easy")  # fmt: skip
    assert events.arrive_all(problem, plan, state) == many
    assert state.counter[Counter.QUEUED] == state.counter[Counter.ARRIVED] == many
    for queue in (state.queue, state.backfill):
        found, at = [], queues.next_small(queue, 0, 2)
        while at >= 0:
            found.append(int(queue.order[at]))
            at = queues.next_small(queue, at + 1, 2)
        waiting = [int(j) for j in queue.order if j < many and tasks[j] <= 2]
        assert found == waiting
        assert queue.tasks[1] == tasks[:many].min()
