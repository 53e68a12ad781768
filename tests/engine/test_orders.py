"""Queue orders by name, each on four jobs whose order can be read off."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import begun, jobs

import fedsched as fs
from fedsched.engine.codes import QueueKey
from fedsched.engine.orders import CHANGING, order_at_begin, queue_order
from fedsched.policies.named import ORDERS
from fedsched.simulate import prepare

PROBLEM = begun(
    jobs([4, 1, 2, 8], [10.0, 100.0, 30.0, 10.0], submit=[30.0, 20.0, 10.0, 10.0], id=[1, 2, 4, 3]),
    fs.Federation.homogeneous(8),
)[0]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("fcfs", [3, 2, 1, 0]),  # of two submitted at 10 s the lower id
        ("sjf", [3, 0, 2, 1]),
        ("ljf", [1, 2, 3, 0]),
        ("smallest", [1, 2, 0, 3]),
        ("largest", [3, 0, 2, 1]),
        ("saf", [0, 2, 3, 1]),  # 40, 60, 80, 100 node-seconds
        ("laf", [1, 3, 2, 0]),
        ("f1", [2, 3, 1, 0]),  # log10(30)·2 = 2.95, log10(10)·8 = 8, then 870·log10 of the ages 10 and 20
    ],
)
def test_a_fixed_order(name: str, expected: list[int]) -> None:
    """What is least by its key comes first; ties go by submit, then id."""
    order, key = queue_order(PROBLEM, name)
    assert order.tolist() == expected
    assert key == QueueKey.FIXED


@pytest.mark.parametrize("name", sorted(CHANGING))
def test_a_changing_order_starts_from_the_rows(name: str) -> None:
    """Orders that change with time name their key; the queue sorts itself at each pass."""
    order, key = queue_order(PROBLEM, name)
    assert order.tolist() == [0, 1, 2, 3]
    assert key == QueueKey[name.upper()]


def test_an_order_of_ones_own_is_taken_as_it_is() -> None:
    """A permutation is the queue's order; what is none is refused."""
    order, key = queue_order(PROBLEM, [2, 0, 3, 1])
    assert (order.tolist(), order.dtype, key) == ([2, 0, 3, 1], np.int64, QueueKey.FIXED)
    for wrong in ([0, 1, 2], [0, 1, 2, 2], [1, 2, 3, 4]):
        with pytest.raises(ValueError, match=r"each of the rows 0..3 exactly once"):
            queue_order(PROBLEM, wrong)


def test_f1_counts_from_the_origin_of_time() -> None:
    """The age in F1 is that since t0, at least a second: a log that starts at another hour has the same order."""
    later = PROBLEM._replace(submit=PROBLEM.submit + 1000.0, t0=1000.0)
    assert queue_order(later, "f1")[0].tolist() == queue_order(PROBLEM._replace(t0=0.0), "f1")[0].tolist()


@pytest.mark.parametrize("name", ORDERS)
def test_the_order_at_begin_is_the_queues(name: str) -> None:
    """What says the order of jobs that wait at t0 says what the queue holds there, whatever the order."""
    rng = np.random.default_rng(5)
    workload = jobs(
        rng.integers(1, 9, 40).tolist(), rng.integers(5, 200, 40).astype(float).tolist(),
        submit=rng.integers(0, 60, 40).astype(float).tolist(),
    )  # fmt: skip
    run = prepare(workload, fs.Federation.homogeneous(8), fs.Rules(order=name), t0=100.0)
    held = run.advance(until=100.0).in_queue_order(np.arange(40))
    assert order_at_begin(run.problem, name).tolist() == held.tolist()
