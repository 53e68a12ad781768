"""Which jobs of each class of a grouped queue may start now: up to how many nodes, and up to which key.

A key is a job's estimate, or its tasks if no reservation counts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.numbers import ClassNumber, Counter
from fedsched.engine.optional_features import pools
from fedsched.engine.queue.class_tables import ClassColumn, ClassRow, SetColumn

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints, Plan, Problem, State
    from fedsched.engine.queue.class_tables import Tables

ROUNDING = 1e-12  # relative margin by which a limit is wider than the exact test
NOBODYS, ANYBODYS = -np.inf, np.finfo(np.float64).max  # limits that no key, or every waiting job's key, is within
NONE, START = constant(-1), constant(0)


@inlined
def _room(problem: Problem, plan: Plan, usable: Ints, free: Ints) -> int:
    # An upper bound: no job on these groups that needs more nodes could be placed.
    groups = problem.groups
    total = most = 0
    for k in range(groups.uplink.size):
        here = 0
        for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
            here += usable[g] * free[g]
        total += here
        most = max(most, here)
    if plan.placement == Placement.SINGLE:
        return most
    if plan.placement == Placement.BIG_SMALL:  # [21] three quarters in one cluster
        return min(total, 4 * most // 3)
    return total


@inlined
def _least_cost(tables: Tables, k: int, slowdown: float) -> float:
    # The time cost σ·PS + 1 − σ is linear in σ: least at the one end or at the other.
    low, high = tables.limits[ClassRow.LEAST_SIGMA, k], tables.limits[ClassRow.MOST_SIGMA, k]
    return min(low * slowdown + (1.0 - low), high * slowdown + (1.0 - high))


@inlined
def _measure_room(problem: Problem, plan: Plan, state: State, tables: Tables, s: int) -> None:
    usable = tables.sets[s, SetColumn.USABLE :]
    needs = tables.sets[s, SetColumn.USABLE + state.free.size :]
    room = beside = START
    if pools.suffice_for_one(state.extras, needs):
        room = _room(problem, plan, usable, state.free)
        if pools.suffice_for_one_then(state.extras, needs):
            beside = _room(problem, plan, usable, state.scratch.limited)
    tables.sets[s, SetColumn.ROOM], tables.sets[s, SetColumn.BESIDE] = room, beside


@part
def measure(problem: Problem, plan: Plan, state: State, tables: Tables, window: float) -> None:
    """Compute how many nodes a job of each set can get now, and beside the reservation; and each class's greatest key.

    A job with a greater key cannot start. The limit assumes the fastest free nodes, as many as the class's smallest job
    needs. Classes are in ascending order of tasks.
    """
    groups, free, limited = problem.groups, state.free, state.scratch.limited
    for g in range(limited.size):
        limited[g] = min(free[g], state.scratch.extra[g])
    measured, i, found, slowdown = NONE, START, START, 0.0
    for k in range(tables.number[ClassNumber.CLASSES]):
        s, tasks = tables.table[k, ClassColumn.SET], tables.table[k, ClassColumn.TASKS]
        if s != measured:
            _measure_room(problem, plan, state, tables, s)
            measured, i, found = s, START, START
        brief, limit = np.inf, NOBODYS
        if tasks <= tables.sets[s, SetColumn.ROOM]:
            if plan.dispatch == Dispatch.GREEDY:
                limit = 1.0 * tables.sets[s, SetColumn.ROOM]
            else:
                while found < tasks:
                    g = groups.fast[i]
                    i += 1
                    if tables.sets[s, SetColumn.USABLE + g] * free[g] > 0:
                        found += free[g]
                        slowdown = groups.slowdown[g]
                brief = min(window / _least_cost(tables, k, slowdown) * (1.0 + ROUNDING), ANYBODYS)
                limit = ANYBODYS if tasks <= tables.sets[s, SetColumn.BESIDE] else brief
        tables.limits[ClassRow.BRIEF, k] = brief
        tables.limits[ClassRow.LIMIT, k] = limit
    tables.number[ClassNumber.ROOM_AT] = state.counter[Counter.FREE]
