"""Placement rules: which nodes, as counts per group, a job takes of those that are free.

Numbers in brackets are those of docs/readings.md.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import inlined, part
from fedsched.engine.codes import Placement

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats, Ints, Plan, Problem, State


@inlined
def _usable_in(problem: Problem, k: int, free: Ints, caps: Ints, row: int) -> int:
    usable = 0
    for g in range(problem.cluster_begin[k], problem.cluster_begin[k + 1]):
        usable += min(free[g], caps[row, g])
    return usable


@inlined
def _left_over(problem: Problem, k: int, free: Ints, tasks: int) -> int:
    left = -tasks
    for g in range(problem.cluster_begin[k], problem.cluster_begin[k + 1]):
        left += free[g]
    return left


@inlined
def _fill(order: Ints, begin: int, end: int, need: int, free: Ints, caps: Ints, row: int, chosen: Ints) -> int:
    # Takes usable nodes of the groups order[begin:end] until `need` is met; returns what is still needed.
    for i in range(begin, end):
        if need == 0:
            return 0
        g = order[i]
        take = min(need, free[g], caps[row, g])
        chosen[g] = take
        need -= take
    return need


@inlined
def _fill_cluster(
    problem: Problem, order: Ints, k: int, need: int, free: Ints, caps: Ints, row: int, chosen: Ints
) -> int:
    return _fill(order, problem.cluster_begin[k], problem.cluster_begin[k + 1], need, free, caps, row, chosen)


@inlined
def _slowest_used(problem: Problem, k: int, need: int, free: Ints, caps: Ints, row: int) -> float:
    speed = 0.0
    for i in range(problem.cluster_begin[k], problem.cluster_begin[k + 1]):
        g = problem.fast_in_cluster[i]
        usable = min(free[g], caps[row, g])
        if usable > 0:
            speed = problem.speed[g]
            need -= usable
            if need <= 0:
                break
    return speed


@inlined
def _fastest_cluster(problem: Problem, tasks: int, free: Ints, caps: Ints, row: int) -> int:
    # [15] the greatest speed of the slowest node used; then the fewest left over; then the lower index
    best = -1
    best_speed = 0.0
    best_left = 0
    for k in range(problem.uplink.size):
        if _usable_in(problem, k, free, caps, row) < tasks:
            continue
        speed = _slowest_used(problem, k, tasks, free, caps, row)
        left = _left_over(problem, k, free, tasks)
        if best < 0 or speed > best_speed or (speed == best_speed and left < best_left):
            best, best_speed, best_left = k, speed, left
    return best


@inlined
def _tightest_cluster(problem: Problem, tasks: int, free: Ints, caps: Ints, row: int) -> int:
    # [18] the fewest nodes left over; then the lower index
    best = -1
    best_left = 0
    for k in range(problem.uplink.size):
        if _usable_in(problem, k, free, caps, row) >= tasks:
            left = _left_over(problem, k, free, tasks)
            if best < 0 or left < best_left:
                best, best_left = k, left
    return best


@part
def _thriftiest_cluster(problem: Problem, j: int, free: Ints, caps: Ints, row: int, chosen: Ints) -> int:
    # [19] the least added busy energy plus the job's share of the federation's idle energy
    tasks = problem.tasks[j]
    best = -1
    best_cost = 0.0
    for k in range(problem.uplink.size):
        if _usable_in(problem, k, free, caps, row) < tasks:
            continue
        chosen[:] = 0
        _fill_cluster(problem, problem.cheap_in_cluster, k, tasks, free, caps, row, chosen)
        duration = planned_duration(problem, j, chosen)
        cost = 0.0
        for g in range(problem.cluster_begin[k], problem.cluster_begin[k + 1]):
            cost += chosen[g] * (problem.busy_watts[g] - problem.idle_watts[g]) * duration
        cost += tasks / problem.nodes * problem.idle_total * duration
        if best < 0 or cost < best_cost:
            best, best_cost = k, cost
    return best


@part
def _fill_fastest_groups(problem: Problem, need: int, free: Ints, caps: Ints, row: int, state: State) -> int:
    # [16] fastest groups first; among equals the cluster with more free nodes, then the lower index
    chosen, cluster_sum, mark = state.chosen, state.cluster_sum, state.mark
    for k in range(problem.uplink.size):
        cluster_sum[k] = _left_over(problem, k, free, 0)
    groups = problem.fast.size
    begin = 0
    while begin < groups and need > 0:
        end = begin + 1
        while end < groups and problem.speed[problem.fast[end]] == problem.speed[problem.fast[begin]]:
            end += 1
        if end == begin + 1:
            need = _fill(problem.fast, begin, end, need, free, caps, row, chosen)
        else:
            for i in range(begin, end):
                mark[i] = 0
            for _ in range(begin, end):
                best = -1
                for i in range(begin, end):
                    if mark[i] == 0 and (
                        best < 0
                        or cluster_sum[problem.group_cluster[problem.fast[i]]]
                        > cluster_sum[problem.group_cluster[problem.fast[best]]]
                    ):
                        best = i
                mark[best] = 1
                need = _fill(problem.fast, best, best + 1, need, free, caps, row, chosen)
        begin = end
    return need


@part
def _fill_largest_chunks(problem: Problem, need: int, free: Ints, caps: Ints, row: int, state: State) -> int:
    # [18, 21] clusters by usable nodes, most first; ties: lower index
    chosen, cluster_sum = state.chosen, state.cluster_sum
    for k in range(problem.uplink.size):
        cluster_sum[k] = _usable_in(problem, k, free, caps, row)
    while need > 0:
        best = 0
        for k in range(1, problem.uplink.size):
            if cluster_sum[k] > cluster_sum[best]:
                best = k
        if cluster_sum[best] <= 0:
            break
        cluster_sum[best] = 0
        need = _fill_cluster(problem, problem.fast_in_cluster, best, need, free, caps, row, chosen)
    return need


@inlined
def planned_duration(problem: Problem, j: int, chosen: Ints) -> float:
    """Return the duration that plans give a job on these nodes: estimate·(σ·PS + 1 − σ)."""
    return problem.estimate[j] * uncontended_cost(problem, j, chosen)


@inlined
def uncontended_cost(problem: Problem, j: int, chosen: Ints) -> float:
    """Return the time cost on these nodes while no uplink is saturated (eqs. 1.1, 1.7)."""
    slowdown = 0.0
    for g in range(chosen.size):
        if chosen[g] > 0:
            slowdown = max(slowdown, problem.slowdown[g])
    return problem.sigma[j] * slowdown + (1.0 - problem.sigma[j])


@part
def shortest_duration(problem: Problem, j: int, caps: Ints, row: int) -> float:
    """Return the job's planned duration on the fastest nodes that its caps allow."""
    need = problem.tasks[j]
    slowdown = 0.0
    for i in range(problem.fast.size):
        g = problem.fast[i]
        usable = min(problem.group_nodes[g], caps[row, g])
        if usable > 0:
            slowdown = problem.slowdown[g]
            need -= usable
            if need <= 0:
                break
    return problem.estimate[j] * (problem.sigma[j] * slowdown + (1.0 - problem.sigma[j]))


@inlined
def demands(problem: Problem, j: int, counts: Ints, demand: Floats) -> bool:
    """Fill the job's demand on every uplink (eq. 1.2); return whether it sends anything between clusters."""
    tasks = problem.tasks[j]
    communicates = False
    for k in range(problem.uplink.size):
        here = 0
        for g in range(problem.cluster_begin[k], problem.cluster_begin[k + 1]):
            here += counts[g]
        if 0 < here < tasks:
            demand[k] = here * problem.bandwidth[j] * (tasks - here) / (tasks - 1)
            communicates = communicates or demand[k] > 0.0
        else:
            demand[k] = 0.0
    return communicates


@inlined
def _links_bear(problem: Problem, j: int, load: Floats, state: State) -> bool:
    # [22] no uplink that the job would use goes over its bandwidth
    demands(problem, j, state.chosen, state.demand)
    for k in range(problem.uplink.size):
        if state.demand[k] > 0.0 and load[k] + state.demand[k] > problem.uplink[k]:
            return False
    return True


@part
def place(problem: Problem, plan: Plan, j: int, free: Ints, load: Floats, state: State) -> bool:
    """Fill `state.chosen` with the job's nodes per group out of `free`; return whether it fits.

    `load` is the load of the uplinks at that time; only link-aware placement looks at it.
    """
    rule = plan.placement
    tasks = problem.tasks[j]
    caps = plan.caps
    row = plan.cap_row[j]
    chosen = state.chosen
    if chosen.size == 1:
        chosen[0] = tasks
        return min(free[0], caps[row, 0]) >= tasks and (rule != Placement.HOME or problem.origin[j] == 0)
    chosen[:] = 0

    if rule == Placement.POWERFUL:  # [20]
        return _fill(problem.fast, 0, problem.fast.size, tasks, free, caps, row, chosen) == 0
    if rule == Placement.HOME:  # [17]
        home = problem.origin[j]
        if home < 0 or _usable_in(problem, home, free, caps, row) < tasks:
            return False
        return _fill_cluster(problem, problem.fast_in_cluster, home, tasks, free, caps, row, chosen) == 0
    if rule == Placement.EFFICIENT:
        cluster = _thriftiest_cluster(problem, j, free, caps, row, chosen)
        chosen[:] = 0
        if cluster >= 0:
            return _fill_cluster(problem, problem.cheap_in_cluster, cluster, tasks, free, caps, row, chosen) == 0
        return _fill(problem.cheap, 0, problem.cheap.size, tasks, free, caps, row, chosen) == 0

    if rule == Placement.BEST_FIT:
        cluster = _tightest_cluster(problem, tasks, free, caps, row)
    else:
        cluster = _fastest_cluster(problem, tasks, free, caps, row)
    if cluster >= 0:
        return _fill_cluster(problem, problem.fast_in_cluster, cluster, tasks, free, caps, row, chosen) == 0

    if rule == Placement.SINGLE:
        return False
    if rule == Placement.BEST_FIT:
        return _fill_largest_chunks(problem, tasks, free, caps, row, state) == 0
    if rule == Placement.BIG_SMALL:
        most = 0
        for k in range(problem.uplink.size):
            most = max(most, _usable_in(problem, k, free, caps, row))
        if 4 * most < 3 * tasks:  # most < ⌈0.75·τ⌉
            return False
        return _fill_largest_chunks(problem, tasks, free, caps, row, state) == 0
    if _fill_fastest_groups(problem, tasks, free, caps, row, state) > 0:
        return False
    return rule != Placement.LINK_AWARE or _links_bear(problem, j, load, state)
