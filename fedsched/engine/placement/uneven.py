"""Placement of uneven jobs: nodes of different groups hold different numbers of a job's tasks [76].

The rules are those of `node_choice.py`, but a group's usable nodes count as the tasks that they hold. Groups are taken
in the rule's order until all tasks have a place; of the last group, only as many nodes as the remaining tasks need.
Left-over and free nodes of a cluster are still counted in nodes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.allocation_sums import joules_in, slowest, sum_in
from fedsched.engine.codes import Placement

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Groups, Ints, Plan, Problem, Scratch
    from fedsched.engine.placement.tasks_per_node import TasksPerNode

NONE = constant(-1)
FIRST = constant(0)


@inlined
def _holds(per_node: TasksPerNode, j: int, g: int, nodes: int) -> int:
    return nodes * per_node.fits[per_node.row[j], g]


@inlined
def _fill(
    per_node: TasksPerNode, j: int, order: Ints, begin: int, end: int, need: int, free: Ints, caps: Ints, chosen: Ints
) -> int:
    # Takes usable nodes of the groups order[begin:end] until `need` tasks have a place; returns how many have none.
    for i in range(begin, end):
        g = order[i]
        fit = per_node.fits[per_node.row[j], g]
        if need > 0 and fit > 0:
            chosen[g] = min((need + fit - 1) // fit, free[g], caps[g])
            need -= chosen[g] * fit
    return max(need, 0)


@inlined
def _cost(problem: Problem, rule: int, j: int, k: int, free: Ints, chosen: Ints) -> tuple[float, float]:
    # The two costs by which a rule compares clusters that hold the whole job; the second breaks ties [15, 18, 19].
    groups, nodes = problem.groups, chosen.sum()
    left_over = 1.0 * (sum_in(groups, k, free) - nodes)
    if rule == Placement.BEST_FIT:
        return left_over, 0.0
    if rule != Placement.EFFICIENT:
        return slowest(groups, chosen), left_over
    duration = (problem.sigma[j] * slowest(groups, chosen) + (1.0 - problem.sigma[j])) * problem.estimate[j]
    return joules_in(groups, k, chosen, duration) + nodes / problem.nodes * problem.idle_total * duration, 0.0


@inlined
def _best_cluster(
    per_node: TasksPerNode, problem: Problem, rule: int, j: int, order: Ints, free: Ints, caps: Ints, chosen: Ints
) -> int:
    best, least, next_least, groups = NONE, np.inf, np.inf, problem.groups
    for k in range(groups.uplink.size):
        if rule == Placement.HOME and k != problem.origin[j]:
            continue
        chosen[:] = 0
        begin, end = groups.cluster_begin[k], groups.cluster_begin[k + 1]
        if _fill(per_node, j, order, begin, end, per_node.tasks[j], free, caps, chosen) > 0:
            continue
        cost, after = _cost(problem, rule, j, k, free, chosen)
        if best < 0 or cost < least or (cost == least and after < next_least):
            best, least, next_least = k, cost, after
    return best


@inlined
def _fill_fastest_groups(
    per_node: TasksPerNode, groups: Groups, j: int, free: Ints, caps: Ints, scratch: Scratch
) -> int:
    # [16] fastest groups first; among equals the cluster with more free nodes, then the lower index
    need, mark = per_node.tasks[j], scratch.mark
    for i in range(groups.fast.size):
        mark[i] = 0
    for _ in range(groups.fast.size):
        best, most = NONE, NONE
        for i in range(groups.fast.size):
            if mark[i] == 0 and (best < 0 or groups.speed[groups.fast[i]] == groups.speed[groups.fast[best]]):
                nodes = sum_in(groups, groups.cluster[groups.fast[i]], free)
                if best < 0 or nodes > most:
                    best, most = i, nodes
        mark[best] = 1
        need = _fill(per_node, j, groups.fast, best, best + 1, need, free, caps, scratch.chosen)
    return need


@inlined
def _fill_largest_chunks(
    per_node: TasksPerNode, groups: Groups, rule: int, j: int, free: Ints, caps: Ints, scratch: Scratch
) -> int:
    # [18, 21] clusters by how many of the tasks they hold, most first; ties: lower index
    need, held, most = per_node.tasks[j], scratch.cluster_sum, 0
    for k in range(groups.uplink.size):
        held[k] = 0
        for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
            held[k] += _holds(per_node, j, g, min(free[g], caps[g]))
        most = max(most, held[k])
    if rule == Placement.BIG_SMALL and 4 * most < 3 * need:
        return need
    for _ in range(groups.uplink.size):
        best = FIRST
        for k in range(1, groups.uplink.size):
            if held[k] > held[best]:
                best = k
        held[best] = NONE
        begin, end = groups.cluster_begin[best], groups.cluster_begin[best + 1]
        need = _fill(per_node, j, groups.fast_in_cluster, begin, end, need, free, caps, scratch.chosen)
    return need


@part
def _place(
    per_node: TasksPerNode, problem: Problem, rule: int, j: int, free: Ints, caps: Ints, scratch: Scratch
) -> bool:
    groups, chosen, tasks = problem.groups, scratch.chosen, per_node.tasks[j]
    chosen[:] = 0
    if rule == Placement.POWERFUL:  # [20]
        return _fill(per_node, j, groups.fast, FIRST, groups.fast.size, tasks, free, caps, chosen) == 0
    order = groups.cheap_in_cluster if rule == Placement.EFFICIENT else groups.fast_in_cluster
    k = _best_cluster(per_node, problem, rule, j, order, free, caps, chosen)
    chosen[:] = 0
    if k >= 0:
        begin, end = groups.cluster_begin[k], groups.cluster_begin[k + 1]
        return _fill(per_node, j, order, begin, end, tasks, free, caps, chosen) == 0
    if rule in (Placement.SINGLE, Placement.HOME):
        return False
    if rule == Placement.EFFICIENT:
        return _fill(per_node, j, groups.cheap, FIRST, groups.cheap.size, tasks, free, caps, chosen) == 0
    if rule in (Placement.BEST_FIT, Placement.BIG_SMALL):
        return _fill_largest_chunks(per_node, groups, rule, j, free, caps, scratch) == 0
    return _fill_fastest_groups(per_node, groups, j, free, caps, scratch) == 0


@inlined
def place(extras: Extras | None, problem: Problem, plan: Plan, j: int, free: Ints, scratch: Scratch) -> bool:
    """Choose nodes for an uneven job among the nodes `free` in each group; return whether it fits.

    If it fits, `scratch.chosen` has the number of its nodes in each group.
    """
    if extras is None:
        return False
    return _place(extras.standing, problem, plan.placement, j, free, plan.caps[plan.cap_row[j]], scratch)


@inlined
def slowest_needed(extras: Extras | None, groups: Groups, j: int, caps: Ints, row: int) -> float:
    """Return the slowdown (1/speed) of the slowest node that an uneven job needs.

    It takes the fastest nodes of the machine that its caps allow.
    """
    slowdown = 0.0
    if extras is None:
        return slowdown
    need = extras.standing.tasks[j]
    for i in range(groups.fast.size):
        g = groups.fast[i]
        held = _holds(extras.standing, j, g, min(groups.nodes[g], caps[row, g]))
        if held > 0 and need > 0:
            slowdown = groups.slowdown[g]
            need -= held
    return slowdown
