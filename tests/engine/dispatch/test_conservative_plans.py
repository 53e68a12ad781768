"""What a plan over several groups promised: recalled where nothing touched it, sought again where that may be."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from engine.test_against_naive import first_difference, run_engine
from reference import naive
from support import strategies
from support.plain import arrived, clusters, jobs, plain
from support.tiers import tries

from fedsched.engine.numbers import Clock, Counter

conservative = plain("fedsched.engine.dispatch.conservative")
promises = plain("fedsched.engine.dispatch.conservative_plans")
running = plain("fedsched.engine.loop.running")
A, B = [5, 0], [0, 5]  # bound to one cluster
EITHER = [5, 5]
TWINS = clusters(((5, 1.0),), ((5, 1.0),))


def crowd(seed: int) -> strategies.Scenario:
    """Return a scenario in which many jobs wait; in half of them all are exact, and clusters nearly alike."""
    if seed % 2:
        scenario = strategies.random_scenario(seed, max_jobs=36, dispatch="conservative")
        return replace(scenario, jobs=[replace(job, submit=job.submit / 4) for job in scenario.jobs])
    rng = random.Random(seed)
    groups = [naive.Group(k, rng.randint(4, 6), rng.choice((1.0, 1.0, 0.5))) for k in range(rng.randint(2, 4))]
    jobs = []
    for job_id in range(1, 31):
        runtime = float(rng.randint(1, 40))
        jobs.append(naive.Job(job_id, 0.0, rng.choice((1, 1, 2, 3, 4, 6, 8)), runtime, runtime))
    placement = rng.choice(("fastest", "best_fit", "efficient", "powerful"))
    chosen = strategies.Settings(dispatch="conservative", placement=placement)
    return strategies.Scenario(naive.Machine(groups, [1.0] * len(groups)), jobs, chosen)


def assert_as_sought(seed: int) -> None:
    """Fail unless a crowd starts where and when it does in the reference."""
    scenario = crowd(seed)
    difference = first_difference(scenario, run_engine(scenario), scenario.simulate())
    assert not difference, f"seed {seed}: {difference}"


def test_plans_with_promises_are_the_reference_s() -> None:
    """[12] With many waiting, and most promises kept, every job starts as in the reference, which seeks every time."""
    for seed in range(tries(96, 4)):
        assert_as_sought(seed)


@pytest.mark.parametrize("seed", [16, 40])
def test_what_follows_a_job_that_finds_another_place_is_sought(seed: int) -> None:
    """[12] Here a start from behind moves a job, and what it leaves and takes moves those that come after it."""
    assert_as_sought(seed)


def planned(tasks: list[int], runtime: list[float], caps: list[list[int]], placement: str = "single"):
    """Return problem, plan and state after the first pass over two clusters of five."""
    problem, plan, state = arrived(
        jobs(tasks, runtime), TWINS, dispatch="conservative", placement=placement, caps=np.array(caps)
    )
    conservative.plan_the_queue(problem, plan, state)
    return problem, plan, state


def pass_at(now: float, problem, plan, state, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Let end what ends until `now`, make a pass, and return the jobs whose place it sought."""
    state.clock[Clock.NOW] = now
    while state.counter[Counter.RUNNING] > 0 and state.heap.time[0] <= now:
        j = running.pop_finish(state)
        running.ends_as_planned(state, j)
        running.vacate(problem, state, j)
    sought, seek = [], conservative.first_fit
    with monkeypatch.context() as patch:
        patch.setattr(conservative, "first_fit", lambda *given: sought.append(int(given[3])) or seek(*given))
        conservative.plan_the_queue(problem, plan, state)
    return sought


def test_a_place_is_recalled_where_all_from_behind_ends_before_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A job promised the first cluster from 10 s on starts there unsought, where one from behind ended just then."""
    problem, plan, state = planned([5, 4, 2, 1], [10.0, 10.0, 5.0, 10.0], [A, B, EITHER, B])
    assert state.start[3] == 0.0
    assert state.profile.untouched[2] == state.profile.reserved[2] == 10.0
    assert pass_at(10.0, problem, plan, state, monkeypatch) == []
    assert state.counts[2].tolist() == [2, 0]


def test_a_place_that_a_start_from_behind_may_touch_is_sought_again(monkeypatch: pytest.MonkeyPatch) -> None:
    """[15] Where the one from behind runs beyond 10 s on the second cluster, that one has fewer nodes left over."""
    problem, plan, state = planned([5, 4, 2, 1], [10.0, 10.0, 5.0, 10.5], [A, B, EITHER, B])
    assert state.profile.promised[2].tolist() == [2, 0]
    assert state.profile.untouched[2] == promises.IN_DOUBT
    assert pass_at(10.0, problem, plan, state, monkeypatch) == [2]
    assert state.counts[2].tolist() == [0, 2]


def test_nothing_is_recalled_once_a_job_has_ended_early(monkeypatch: pytest.MonkeyPatch) -> None:
    """What ends early frees nodes that nobody was promised, so every place is sought."""
    problem, plan, state = planned([5, 4, 2, 1], [10.0, 10.0, 5.0, 10.0], [A, B, EITHER, B])
    state.planned_end[3] = 11.0
    assert pass_at(10.0, problem, plan, state, monkeypatch) == [2]


def test_untouched_is_what_begins_before_the_first_window_with_nodes_enough_in_all() -> None:
    """Two nodes are free at once, but on two clusters: what starts from behind may change how this job is placed."""
    _, _, state = planned([4, 4, 2], [10.0, 10.0, 5.0], [A, B, EITHER])
    assert (state.profile.untouched[2], state.profile.reserved[2]) == (0.0, 10.0)
    _, _, state = planned([5, 4, 2, 1], [10.0, 10.0, 5.0, 9.0], [A, B, EITHER, B])
    assert (state.profile.untouched[2], state.profile.reserved[2]) == (10.0, 10.0)


def test_a_promise_is_no_promise_at_another_time() -> None:
    """A place is recalled only where the profile has a breakpoint at its very begin."""
    _, _, state = planned([5, 4, 2, 1], [10.0, 10.0, 5.0, 10.0], [A, B, EITHER, B])
    assert promises.recall_promise(state, 2) == 1
    assert state.scratch.chosen.tolist() == [2, 0]
    for elsewhere in (9.0, 10.5, 99.0):
        state.profile.reserved[2] = elsewhere
        assert promises.recall_promise(state, 2) == promises.NONE


def test_a_promise_is_the_same_by_its_begin_and_all_its_nodes() -> None:
    """Another begin, or other nodes, or none at all, and what follows in the queue has to be sought."""
    _, _, state = planned([5, 4, 2, 1], [10.0, 10.0, 5.0, 10.0], [A, B, EITHER, B])
    state.scratch.chosen[:] = 2, 0
    assert promises.keep_promise(state, 2, 1)
    assert not promises.keep_promise(state, 2, 0)
    assert not promises.keep_promise(state, 2, -1)
    state.scratch.chosen[:] = 1, 1
    assert not promises.keep_promise(state, 2, 1)
    assert promises.keep_promise(state, 2, 1)
    assert state.profile.promised[2].tolist() == [1, 1]


def test_a_shorter_pass_leaves_what_was_promised_beyond_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pass that ends early for want of nodes forgets no promise: the next that goes further recalls them all."""
    tasks, runtime = [4, 4, 1, 5, 5, 5, 1], [10.0, 10.0, 5.0, 9.0, 9.0, 9.0, 5.0]
    problem, plan, state = planned(tasks, runtime, [A, B, A, A, B, EITHER, B])
    assert state.start[[2, 6]].tolist() == [0.0, 0.0]
    reach = state.counter[Counter.PLANNED_TO]
    kept = state.profile.reserved.copy()
    assert pass_at(4.0, problem, plan, state, monkeypatch) == []  # nobody can start, so nobody is planned
    assert state.counter[Counter.PLANNED_TO] == reach
    assert pass_at(5.0, problem, plan, state, monkeypatch) == []
    assert pass_at(10.0, problem, plan, state, monkeypatch) == []
    assert state.profile.reserved.tolist() == kept.tolist()
    assert state.start[[3, 4]].tolist() == [10.0, 10.0]
