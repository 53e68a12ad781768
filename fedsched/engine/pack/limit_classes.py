"""Limits as arrays, with the kind of each job [43].

A kind is the set of jobs that take the same amounts of the same limits, so that all or none of them may start.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays.read_only import ints
from fedsched.engine.arrays.structs import Limits

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Ints
    from fedsched.model.machine.counters import Counters


def limits_of(counters: Counters, tasks: Ints) -> Limits | None:
    """Return the arrays of limits for a run, with the kind of each job; None if there are no limits."""
    if not counters.amount.size:
        return None
    jobs = tasks.size
    order = np.argsort(counters.job, kind="stable")
    begin = np.searchsorted(counters.job[order], np.arange(jobs + 1))
    kind = _kinds(counters, order, begin)
    _, example = np.unique(kind[kind >= 0], return_index=True)
    example = np.flatnonzero(kind >= 0)[example]  # a job of each kind
    taken = np.diff(begin)[example]
    rows = order[np.repeat(begin[example], taken) + _within(taken)]
    of_kind = np.repeat(np.arange(example.size), taken)
    by_counter = np.lexsort((counters.weight[rows], counters.counter[rows]))
    members = np.bincount(kind[kind >= 0], minlength=example.size)
    leaves = 1 << np.array([(int(many) - 1).bit_length() for many in members], dtype=np.int64)
    return Limits(
        amount=ints(counters.amount),
        kind=ints(kind),
        first=ints(np.append(0, np.cumsum(taken))),
        counter=ints(counters.counter[rows]),
        weight=ints(counters.weight[rows]),
        row=ints(counters.row[rows] if (counters.row >= 0).any() else counters.row[:0]),
        of_node=ints(counters.of_node),
        first_kind=ints(np.searchsorted(counters.counter[rows][by_counter], np.arange(counters.amount.size + 1))),
        of_counter=ints(of_kind[by_counter]),
        kind_weight=ints(counters.weight[rows][by_counter]),
        first_place=ints(np.append(0, np.cumsum(members))),
        first_node=ints(np.append(0, np.cumsum(2 * leaves))),
        tasks=ints(tasks),
    )


def of_present_shapes(of_shapes: Limits, present: Ints, tasks: Ints) -> Limits:
    """Return the limits of jobs with several shapes, with a kind for every shape.

    `of_shapes` are those of the shapes, each as a job of its own; `present` are the jobs' present shapes.
    """
    return of_shapes._replace(kind=ints(of_shapes.kind[present]), tasks=tasks)


def by_their_nodes(limits: Limits) -> NDArray[np.bool_]:
    """Return for each job whether one of its limits counts the nodes it is placed on; empty if no limit does."""
    if not limits.row.size:
        return np.zeros(0, dtype=np.bool_)
    up = np.append(np.logical_or.reduceat(limits.row >= 0, limits.first[:-1]), False)
    return np.asarray(up[limits.kind])


def _within(many: Ints) -> Ints:
    """Return 0, 1, ..., m − 1 for each number m of `many`, in one array, one after the other."""
    return np.arange(many.sum()) - np.repeat(np.cumsum(many) - many, many)


def _kinds(counters: Counters, order: Ints, begin: Ints) -> Ints:
    """Return the number of each job's kind, -1 if no limit binds the job.

    Jobs that take the same amounts of the same counters have the same kind.
    """
    taken = np.diff(begin)
    kind = np.zeros(taken.size, dtype=np.int64)
    for nth in range(int(taken.max())):
        rows = np.flatnonzero(taken > nth)
        ones = order[begin[rows] + nth]
        key = np.column_stack([kind[rows], counters.counter[ones], counters.weight[ones], counters.row[ones]])
        kind[rows] = 1 + kind.max() + np.unique(key, axis=0, return_inverse=True)[1].ravel()
    bound = taken > 0
    kind[bound] = np.unique(kind[bound], return_inverse=True)[1].ravel()
    kind[~bound] = -1
    return kind
