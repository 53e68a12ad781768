"""The queue's trees, one call at a time: which position may fit next, and orders that change with time."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import arrived, begun, jobs, plain

import fedsched as fs
from fedsched.engine.arrays.new_state import _new_queue
from fedsched.engine.codes import QueueKey

queues = plain("fedsched.engine.queue.queue_tree")
FOUR = fs.Federation.homogeneous(4)


def filled(tasks: list[int], shortest: list[float]):
    """Return a queue whose positions hold these jobs; 0 tasks: nobody there."""
    queue = _new_queue(len(tasks), with_durations=True)
    queues.clear(queue)
    for position, (size, seconds) in enumerate(zip(tasks, shortest, strict=True)):
        if size:
            queues.set_leaf(queue, position, size, seconds)
    return queue


def test_the_next_small_job() -> None:
    """The first position at or behind a given one whose job needs no more than what is free."""
    queue = filled([5, 3, 0, 4, 3], [1.0] * 5)
    assert [queues.next_small(queue, at, 3) for at in range(5)] == [1, 1, 4, 4, 4]
    assert [queues.next_small(queue, at, 4) for at in range(5)] == [1, 1, 3, 3, 4]
    assert queues.next_small(queue, 0, 2) == -1
    assert [queues.next_small(queue, at, queues.ANY) for at in (0, 2, 5, 8, 9)] == [0, 3, -1, -1, -1]


def test_an_empty_place_is_nobodys() -> None:
    """A position that nobody holds is not even found by who would take any job."""
    queue = filled([0, 0, 0], [1.0] * 3)
    assert queues.next_small(queue, 0, queues.ANY) == -1
    assert queues.next_candidate(queue, 0, queues.ANY, np.inf, queues.ANY) == -1


def test_the_next_candidate_is_small_and_short_or_smaller_still() -> None:
    """What fits into what is free, and either into the window (its end included) or into what stays free beyond it."""
    queue = filled([3, 2, 4, 1], [5.0, 9.0, 1.0, 20.0])

    def found(free: int, window: float, extra: int) -> list[int]:
        places, at = [], queues.next_candidate(queue, 0, free, window, extra)
        while at >= 0:
            places.append(at)
            at = queues.next_candidate(queue, at + 1, free, window, extra)
        return places

    assert found(3, 5.0, 0) == [0]
    assert found(3, 4.9, 0) == []
    assert found(3, 9.0, 0) == [0, 1]
    assert found(3, 0.0, 1) == [3]
    assert found(3, 0.0, 2) == [1, 3]
    assert found(2, 100.0, 4) == [1, 3]
    assert found(4, 1.0, 0) == [2]


@pytest.mark.parametrize("count", [1, 2, 3, 7, 8, 9])
def test_a_tree_mended_at_once_is_that_mended_step_by_step(count: int) -> None:
    """`mend_prefix` above written leaves gives the trees of as many single changes, and the least of all on top."""
    rng = np.random.default_rng(count)
    tasks, seconds = rng.integers(1, 50, count).tolist(), rng.integers(1, 50, count).astype(float).tolist()
    one, other = filled(tasks, seconds), _new_queue(count, with_durations=True)
    queues.clear(other)
    for position in range(count):
        queues._write_leaf(other, position, tasks[position], seconds[position])
    queues.rebuild_prefix(other, count)
    np.testing.assert_array_equal(one.tasks[1:], other.tasks[1:])
    np.testing.assert_array_equal(one.shortest[1:], other.shortest[1:])
    assert (one.tasks[1], one.shortest[1]) == (min(tasks), min(seconds))


def test_a_leaf_that_grows_is_seen_from_the_root() -> None:
    """When the smallest job leaves, the least on top is that of the rest."""
    queue = filled([5, 1, 3, 4], [9.0, 2.0, 7.0, 8.0])
    queues.set_leaf(queue, 1, queues.ABSENT, queues.NEVER)
    assert (queue.tasks[1], queue.shortest[1]) == (3, 7.0)
    queues.set_leaf(queue, 2, 6, 1.0)
    assert (queue.tasks[1], queue.shortest[1]) == (4, 1.0)


def test_queues_without_durations_keep_none() -> None:
    """Where a rule does not ask how long jobs take, no second tree is kept."""
    queue = _new_queue(3, with_durations=False)
    queues.clear(queue)
    queues.set_leaf(queue, 0, 2, 7.0)
    queues._write_leaf(queue, 1, 1, 7.0)
    queues.rebuild_prefix(queue, 3)
    assert queue.shortest.size == 0
    assert queue.tasks[1] == 1


@pytest.mark.parametrize(
    ("key", "expected"),
    [
        (QueueKey.XFACTOR, (30.0 + 20.0) / 20.0),
        (QueueKey.WFP3, (30.0 / 20.0) ** 3 * 8),
        (QueueKey.UNICEF, 30.0 / (3.0 * 20.0)),
    ],
)
def test_the_changing_keys(key: QueueKey, expected: float) -> None:
    """Expansion factor, WFP3 and UNICEF of a job of 8 nodes and 20 s that has waited 30 s [13]."""
    problem, _, _ = begun(jobs([8], [20.0], submit=[100.0]), fs.Federation.homogeneous(8))
    assert queues.key_of(problem, key, 0, 30.0) == expected


def test_one_node_counts_as_two_in_unicef() -> None:
    """The logarithm of one node is none to divide by: it is taken of two."""
    problem, _, _ = begun(jobs([1], [20.0], submit=[0.0]), FOUR)
    assert queues.key_of(problem, QueueKey.UNICEF, 0, 40.0) == 2.0


@pytest.mark.parametrize("count", [0, 1, 2, 3, 40, 400])
@pytest.mark.parametrize("shape", ["sorted", "reversed", "random", "ties"])
def test_jobs_are_sorted_by_key_then_rank(count: int, shape: str) -> None:
    """The greatest key comes first and the lowest rank among equals, however far from order they begin."""
    rng = np.random.default_rng(count)
    key = {"sorted": -np.arange(count), "reversed": np.arange(count), "ties": rng.integers(0, 3, count)}.get(
        shape, rng.permutation(count)
    )
    rank, order = rng.permutation(count), np.arange(count)
    queues._sort(None, rank, key.astype(float), order, count)
    assert order.tolist() == sorted(range(count), key=lambda j: (-key[j], rank[j]))


def test_reordering_drops_who_has_started() -> None:
    """A queue that is sorted anew holds who still waits, by key, and finds nobody in the places behind them."""
    workload = jobs([2, 1, 3], [10.0, 40.0, 20.0])
    problem, _, state = arrived(workload, fs.Federation.homogeneous(4), order="xfactor", dispatch="greedy")
    assert state.queue.members[0] == 3
    state.start[0] = 0.0
    queues.reorder(problem, state, state.queue, QueueKey.XFACTOR, 60.0)
    # 20 s: (60 + 20)/20 = 4 comes before 40 s: 2.5
    assert state.queue.order[:2].tolist() == [2, 1]
    assert state.queue.position[[2, 1]].tolist() == [0, 1]
    assert state.queue.members[0] == 2
    assert state.queue.tasks[1] == 1
    assert [queues.next_small(state.queue, at, queues.ANY) for at in (0, 1, 2)] == [0, 1, -1]


def test_a_queue_by_submits_is_sorted_where_it_is_out_of_order() -> None:
    """Whoever joins by its submit stays where it is; one that joins later than others behind it is sorted in."""
    follows = {"preceding": [-1, -1, -1, 1], "think_time": [-1.0, -1.0, -1.0, 5.0]}
    workload = jobs([1, 2, 3, 1], [10.0] * 4, submit=[0.0, 1.0, 2.0, 3.0], feedback=follows)
    problem, plan, state = begun(workload, FOUR)
    assert plan.order_key == QueueKey.SUBMITTED
    state.extras.waiting.submitted[3] = 3.0  # as the first one's end has it
    for j in (0, 2, 3):
        queues.enqueue(problem, plan, state, j, queues.AT_ONCE)
    assert state.queue.members.tolist() == [3, 0]
    queues.sort(problem, state, state.queue, plan.order_key, 4.0)
    assert state.queue.order[:3].tolist() == [0, 2, 3]  # untouched
    queues.enqueue(problem, plan, state, 1, queues.AT_ONCE)
    assert state.queue.members.tolist() == [4, 1]
    queues.sort(problem, state, state.queue, plan.order_key, 5.0)
    assert state.queue.order.tolist() == [0, 1, 2, 3]
    assert state.queue.members.tolist() == [4, 0]
    assert [queues.next_small(state.queue, at, 2) for at in (0, 1, 2)] == [0, 1, 3]


def test_a_fixed_queue_keeps_its_places() -> None:
    """Jobs join at the places that the order gives them, before or behind who waits already, in both queues."""
    workload = jobs([2, 1, 3], [10.0, 40.0, 20.0])
    problem, plan, state = begun(
        workload, FOUR, order=[2, 0, 1], backfill_order=[1, 2, 0], dispatch="easy", placement="single"
    )
    for j in (0, 2):
        queues.enqueue(problem, plan, state, j, queues.AT_ONCE)
    assert [queues.next_small(state.queue, at, queues.ANY) for at in (0, 1, 2)] == [0, 1, -1]
    assert [queues.next_small(state.backfill, at, queues.ANY) for at in (0, 2)] == [1, 2]
    queues.dequeue(problem, plan, state, 2)
    assert queues.next_small(state.queue, 0, queues.ANY) == 1
    assert queues.next_small(state.backfill, 0, queues.ANY) == 2
