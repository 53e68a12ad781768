"""Structured seeds: first plans made of queue orders, placement rules and simple blacklists."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Dispatch
from fedsched.engine.orders import order_as_recorded
from fedsched.engine.pack.shape_arrays import read_only
from fedsched.policies.list_heuristics import list_keys
from fedsched.search.encoding.delays import cheapest_delays
from fedsched.search.problem.binding import bind

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.engine.arrays.structs import Ints, Problem
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.clock import Clock

UNTIL = 0.6  # share of a budget in seconds, from the call on, after which no more seeds are made
ORDERS = ("fcfs", "ljf", "laf", "largest", "sjf", "saf", "smallest", "f1")


def structured_seeds(problem: PackedProblem, *, limit: int, clock: Clock | None = None) -> Ints:
    """Return at most `limit` different feasible plans, the simplest first.

    There are fewer if 60 % of a budget in seconds is used before. First come the orders under each placement rule, and
    after the usual one jobs bound to the clusters of a list scheduler, with a strict queue for each cluster. Then
    come jobs bound in this way under greedy dispatch, and the orders under strict dispatch. Last come orders and
    placements with the k least efficient groups forbidden, to all jobs or to the small ones.
    """
    seen: set[bytes] = set()
    rows: list[Ints] = []
    for row in _put_off(problem, _shaped(problem, _candidates(problem))):
        problem.repaired(row[None])
        key = row.tobytes()
        if key not in seen:
            seen.add(key)
            rows.append(row)
        if len(rows) == limit or (clock is not None and clock.left(UNTIL) <= 0.0):
            break
    return np.array(rows, dtype=np.int64).reshape(len(rows), problem.layout.length)


def _shaped(problem: PackedProblem, rows: Iterator[Ints]) -> Iterator[Ints]:
    # If plans choose shapes, each seed comes also with all shapes of least area, and with all of least time.
    if problem.shapes is None:
        yield from rows
        return
    shapes = problem.shapes
    owner = np.repeat(np.arange(shapes.first.size - 1), np.diff(shapes.first))
    others = []
    for cost in (shapes.tasks * shapes.estimate, shapes.estimate):
        best = np.lexsort((shapes.tasks, cost, owner))[shapes.first[:-1]]
        others.append(best - shapes.first[:-1])
    for row in rows:
        yield row.copy()
        for choices in others:
            problem.layout.choices(row[None])[:] = choices
            yield row.copy()


def _put_off(problem: PackedProblem, rows: Iterator[Ints]) -> Iterator[Ints]:
    # If jobs have slack, each seed comes also with every job in its cheapest interval.
    cheapest = cheapest_delays(problem)
    for row in rows:
        yield row
        for delays in cheapest:
            late = row.copy()
            problem.layout.delays(late[None])[:] = delays
            yield late


def _candidates(problem: PackedProblem) -> Iterator[Ints]:
    orders = {name: order_as_recorded(problem.problem, name) for name in ORDERS}
    limits = problem.space.limits
    dispatch, usual = problem.default_rules()
    placements = [usual, *(int(rule) for rule in problem.space.placements if rule != usual)]

    def plan(order: Ints, caps: Ints, placement: int = usual, rule: int = dispatch) -> Ints:
        return problem.layout.pack(order[None], caps[None], np.array([[rule, placement]]))[0]

    for placement in placements:
        for order in orders.values():
            yield plan(order, limits, placement)
        if placement == usual and problem.whole_nodes and Dispatch.LOCAL in problem.space.dispatches:
            jobs = order_as_recorded(problem.problem, "fcfs")
            for key in list_keys(problem.problem.tasks[jobs], problem.problem.estimate[jobs]).values():
                yield plan(*bound_to_earliest(problem, jobs[np.argsort(key, kind="stable")]), rule=int(Dispatch.LOCAL))
    if problem.whole_nodes:
        for name in ("ljf", "laf", "fcfs", "sjf"):
            yield plan(*bound_to_earliest(problem, orders[name]))
    for order in orders.values():
        yield plan(order, limits, usual, int(Dispatch.STRICT))
    groups = problem.layout.groups
    cheap = problem.problem.groups.cheap
    small = problem.problem.tasks <= np.median(problem.problem.tasks)
    for forbidden in sorted({1, groups // 4, groups // 2, (3 * groups) // 4} & set(range(1, groups))):
        for chosen in (np.ones(len(limits), dtype=np.bool_), small):
            caps = limits.copy()
            caps[np.ix_(chosen, cheap[groups - forbidden :])] = 0
            for placement in placements:
                for name in ("ljf", "laf", "fcfs", "sjf"):
                    yield plan(orders[name], caps, placement)


def as_if_submitted(problem: Problem) -> Problem:
    """Return the problem with a submit time of t0 for jobs that follow others, which have none before a run."""
    moving = np.isinf(problem.submit)
    return problem._replace(submit=read_only(np.where(moving, problem.t0, problem.submit))) if moving.any() else problem


def bound_to_earliest(problem: PackedProblem, order: Ints) -> tuple[Ints, Ints]:
    """Return an order and caps that bind each job, in the given order, to the cluster with its earliest predicted end.

    The prediction uses the nodes' availability and ignores contention. The returned order is that of predicted
    starts, then the given one; jobs that fit no single cluster keep all their nodes.
    """
    packed, limits, counts = as_if_submitted(problem.problem), problem.space.limits, problem.space.nodes
    begin = np.concatenate([[0], np.cumsum(counts)])
    free = np.full(begin[-1], packed.t0)
    for i in range(packed.running.size):
        for g in range(counts.size):
            of_group = free[begin[g] : begin[g + 1]]
            of_group[: problem.space.common.running.counts[i, g]] = problem.space.common.running.planned_end[i]
            of_group.sort()
    caps, start = np.zeros_like(limits), np.zeros(len(limits))
    head = np.zeros_like(counts)
    bind(packed, np.vstack([limits, counts]), np.array(order, dtype=np.int64), begin, free, head, caps, start)
    turn = np.full(len(limits), -1)
    turn[order] = np.arange(len(order))
    return np.lexsort((turn, start)), caps
