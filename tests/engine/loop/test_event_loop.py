"""The event loop: what a run begins with, and what it comes back with."""

from __future__ import annotations

import numpy as np
import pytest
from engine.dispatch.test_greedy import started
from support.plain import begun, clusters, jobs, plain

import fedsched as fs
from fedsched.engine.codes import Dispatch, SameTime, Status
from fedsched.engine.numbers import Clock, Counter
from fedsched.engine.plans import plan_in_order
from fedsched.simulate import prepare

loop = plain("fedsched.engine.loop.event_loop")
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


def test_the_first_job_that_fits_nowhere() -> None:
    """In the order of arrival, on the empty federation; −1 where all fit."""
    problem, plan, state = begun(jobs([1, 3, 3], [1.0] * 3, submit=[2.0, 1.0, 0.0]), clusters(((2, 1.0),), ((2, 1.0),)))
    single = plan._replace(placement=1)
    state.free[:] = 0
    assert loop.first_unplaceable(problem, plan, state) == -1
    assert loop.first_unplaceable(problem, single, state) == 2


def test_a_rule_that_no_branch_knows_starts_nothing() -> None:
    """A dispatch rule that was forgotten in the loop is not taken for another one: the run says that it is stuck."""
    problem, plan, state = begun(jobs([1], [5.0]), FOUR, dispatch="easy")
    assert loop.run(problem, plan._replace(dispatch=len(Dispatch)), state, 9, FOREVER) == Status.STUCK
    for rule in Dispatch:
        problem, plan, state = begun(jobs([1], [5.0]), FOUR, dispatch=rule.name.lower())
        assert loop.run(problem, plan, state, 9, FOREVER) == Status.DONE


@pytest.mark.parametrize("rules", [{"dispatch": 6}, {"dispatch": -1}, {"placement": 8}])
def test_plans_have_rules_that_there_are(rules: dict[str, int]) -> None:
    """A number that names no rule makes no plan, wherever it comes from."""
    with pytest.raises(ValueError, match="is not a valid"):
        plan_in_order(np.arange(1), np.ones((1, 1), dtype=np.int64), **rules)
    run = prepare(jobs([1], [5.0]), FOUR, "easy")
    none = np.zeros(0, dtype=np.int64)
    with pytest.raises(ValueError, match="is not a valid"):
        run.follow(none, np.zeros((0, 1), dtype=np.int64), none, **({"dispatch": 0, "placement": 0} | rules))
