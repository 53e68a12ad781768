"""Queue orders by name, as a fixed permutation of the jobs or as the code of a sort key that changes with time."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import QueueKey
from fedsched.engine.queue.queue_tree import fill_keys

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedsched.engine.arrays.structs import Floats, Ints, Problem

CHANGING = {"xfactor": QueueKey.XFACTOR, "wfp3": QueueKey.WFP3, "unicef": QueueKey.UNICEF}
BY_SUBMIT = {"fcfs": QueueKey.SUBMITTED, "f1": QueueKey.F1}  # they change if submits depend on the schedule


def _fixed_key(problem: Problem, name: str) -> Floats:
    # The least key comes first.
    area = problem.tasks * problem.estimate
    if name == "f1":
        age = np.maximum(problem.submit - problem.t0, 1.0)
        return np.log10(np.maximum(problem.estimate, 1.0)) * problem.tasks + 870.0 * np.log10(age)
    keys: dict[str, Floats] = {
        "fcfs": problem.submit,
        "sjf": problem.estimate,
        "ljf": -problem.estimate,
        "smallest": problem.tasks.astype(np.float64),
        "largest": -problem.tasks.astype(np.float64),
        "saf": area,
        "laf": -area,
    }
    return keys[name]


def queue_order(problem: Problem, order: str | ArrayLike) -> tuple[Ints, QueueKey]:
    """Return the jobs in queue order, and a code that says how the queue is sorted.

    With FIXED the permutation is the order. Any other code names a key that changes; then the jobs come in row order.
    `order` is a name, or the rows in an order of their own: ValueError if these are no permutation.
    """
    jobs = problem.submit.size
    if not isinstance(order, str):
        permutation = np.asarray(order)
        if permutation.shape != (jobs,) or not np.array_equal(np.sort(permutation), np.arange(jobs)):
            raise ValueError(f"order: it must hold each of the rows 0..{jobs - 1} exactly once.")
        return np.ascontiguousarray(permutation, dtype=np.int64), QueueKey.FIXED
    if order in BY_SUBMIT and np.isinf(problem.submit).any():
        return np.arange(jobs), BY_SUBMIT[order]
    if order in CHANGING:
        return np.arange(jobs), CHANGING[order]
    return np.lexsort((problem.arrival_rank, _fixed_key(problem, order), *_tiers(problem))), QueueKey.FIXED


def order_as_recorded(problem: Problem, name: str) -> Ints:
    """Return `queue_order`'s permutation, also if jobs are submitted only after another's end [45].

    For such jobs FCFS uses the recorded submits; all other orders use t0 as their submit.
    """
    moving = np.isinf(problem.submit)
    if not moving.any():
        return queue_order(problem, name)[0]
    if name == "fcfs":
        return np.argsort(problem.arrival_rank, kind="stable")
    return queue_order(problem._replace(submit=np.where(moving, problem.t0, problem.submit)), name)[0]


def order_at_begin(problem: Problem, name: str) -> Ints:
    """Return the jobs sorted by a queue order as of t0; an order that changes with time is evaluated at t0."""
    order, order_key = queue_order(problem, name)
    if order_key == QueueKey.FIXED:
        return order
    key = np.zeros(problem.submit.size)
    fill_keys(problem, int(order_key), problem.t0, key)
    return np.lexsort((problem.arrival_rank, -key, *_tiers(problem)))


def _tiers(problem: Problem) -> tuple[Ints, ...]:
    # Tiers are compared before any key; the least comes first.
    return (-problem.extras.tier,) if problem.extras is not None and problem.extras.tier.size else ()
