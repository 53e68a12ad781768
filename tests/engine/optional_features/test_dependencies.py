"""Jobs that wait for others, under each dispatch rule: cases worked out by hand from readings 34 to 36."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.plain import begun, jobs, plain

import fedsched as fs

precedence = plain("fedsched.engine.optional_features.dependencies")
TWO = fs.Federation.homogeneous(2)


def starts(workload: fs.Workload, nodes: int = 2, **options: object) -> list[float]:
    """Return when each job starts; the check and the metrics must agree."""
    options = {"policy": fs.Rules(dispatch="greedy"), **options}
    schedule = fs.simulate(workload, fs.Federation.homogeneous(nodes), **options)
    schedule.verify(claimed=schedule.metrics())
    return schedule.start.tolist()


def test_without_extras_nothing_is_done() -> None:
    """A plain problem has no timer; every job joins as it is submitted."""
    submit, rank = np.array([3.0, 4.0]), np.array([0, 1])
    assert precedence.note_submit(None, None, rank, 0, 3.0)
    assert precedence.next_moment(None) == np.inf
    assert precedence.joined_count(None, 2) == 2
    assert precedence.joined_job(None, rank, 1) == 1
    assert precedence.eligible_since(None, submit, 1) == 4.0
    assert precedence.note_joined(None, 1) is None
    assert precedence.reset(None, None, None, submit) is None
    assert precedence.note_start(None, None, rank, 0, 3.0) is None
    assert precedence.note_end(None, None, rank, 0, 3.0) == 0


@pytest.mark.parametrize("dispatch", ["strict", "greedy", "local", "easy", "conservative", "lookahead"])
def test_nobody_starts_before_whom_it_waits_for(dispatch: str) -> None:
    """Under each rule a chain runs one after the other, and its waiting jobs block nobody behind them."""
    chain = jobs([1, 1, 1, 1], [10.0, 5.0, 4.0, 30.0], after={2: "afterok:1", 3: "afterany:2+30s"})
    assert starts(chain, policy=fs.Rules(dispatch=dispatch)) == [0.0, 10.0, 45.0, 0.0]


def test_a_lag_counts_from_a_start_or_an_end() -> None:
    """`after` counts from the start and the others from the end; the latest condition, or the own time, decides."""
    after = {2: "after:1+3s", 3: "after:1+3s,afterany:2"}
    both = jobs([1, 1, 1], [10.0, 5.0, 4.0], after=after, begin=[1.0, 0.0, 10.0])
    assert starts(both) == [1.0, 4.0, 10.0]  # 2 ends at 9, and 3 may not begin before 10


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
def test_who_waits_for_a_start_may_start_at_the_same_instant(same_time: str) -> None:
    """A start lets another job be eligible in an instant of the same time; an end lets it join the pass of that end."""
    at_once = jobs([1, 1, 1], [10.0, 5.0, 4.0], after={2: "after:1", 3: "after:2,afterany:2"})
    assert starts(at_once, nodes=3, same_time=same_time) == [0.0, 0.0, 5.0]


def test_the_ends_of_one_event_come_before_its_pass() -> None:
    """Sequential: who becomes eligible by an end competes, by its place in the queue, in the pass of that very end."""
    late = jobs([2, 2, 2], [10.0, 5.0, 4.0], after={2: "afterany:1"}, submit=[0.0, 0.0, 1.0])
    for same_time in ("batch", "sequential"):
        assert starts(late, same_time=same_time, policy="fcfs") == [0.0, 10.0, 15.0]


def test_waits_that_keys_grow_with_count_from_eligibility() -> None:
    """Of two like jobs the one that could have started earlier has the greater expansion factor, whoever came first."""
    grown = jobs([2, 2, 2], [10.0, 5.0, 5.0], after={2: "after:1+8s"}, submit=[0.0, 0.0, 1.0])
    assert starts(grown, policy=fs.Rules(order="fcfs")) == [0.0, 10.0, 15.0]
    assert starts(grown, policy=fs.Rules(order="xfactor")) == [0.0, 15.0, 10.0]


def test_waiting_for_others_is_no_loss_of_capacity() -> None:
    """Nodes that idle while all who wait are not eligible are not lost."""
    chain = jobs([1, 1], [10.0, 10.0], after={2: "afterok:1+10s"})
    assert fs.simulate(chain, TWO).loss_of_capacity == 0.0


def test_jobs_of_a_running_state_have_started() -> None:
    """Where a job runs already, `after` counts from its start and the others from its end."""
    workload = jobs([1, 1, 1], [20.0, 5.0, 4.0], after={2: "after:1+12s", 3: "afterok:1"}, submit=[0.0, 0.0, 0.0])
    whole = fs.simulate(workload, TWO)
    half = fs.simulate.__globals__["prepare"](workload, TWO, "easy").advance(until=6.0)
    running = half.running()
    rest = fs.simulate(workload, TWO, running=running)
    assert whole.start.tolist() == rest.start.tolist() == [0.0, 12.0, 20.0]


def test_the_timer_gives_jobs_by_moment_then_by_submit_and_id() -> None:
    """Jobs come off the timer in the order of their moments, those of one moment in that of their submits and ids."""
    rng = np.random.default_rng(3)
    count = 40
    begin = rng.integers(1, 9, count) * 10.0
    workload = replace(jobs([1] * count, [1.0] * count), begin=begin, submit=rng.integers(0, 3, count).astype(float))
    problem, _, state = begun(workload, TWO)
    extras, waits, rank = problem.extras, state.extras, problem.arrival_rank
    assert [precedence.note_submit(extras, waits, rank, j, 5.0) for j in range(count)] == [False] * count
    assert precedence.next_moment(waits) == begin.min()
    found = [precedence.pop_due(waits, rank) for _ in range(count)]
    assert found == sorted(range(count), key=lambda j: (begin[j], workload.submit[j], workload.id[j]))
    assert precedence.next_moment(waits) == np.inf


def test_who_joins_late_finds_its_class() -> None:
    """In a queue so long that it is grouped, jobs that become eligible on the way start as in the reference."""
    rng = np.random.default_rng(5)
    count = 3000
    tasks, runtime = rng.integers(1, 40, count), rng.integers(1, 50, count).astype(float)
    after = ["" if k < 10 or rng.random() < 0.5 else f"afterany:{rng.integers(1, k)}" for k in range(1, count + 1)]
    chained = replace(jobs(tasks.tolist(), runtime.tolist()), after=after)
    groups = fs.Federation.of(32, 24)
    for policy in ("easy", fs.Rules(order="sjf", dispatch="greedy")):
        schedule = fs.simulate(chained, groups, policy)
        schedule.verify(claimed=schedule.metrics())
        assert schedule.complete
