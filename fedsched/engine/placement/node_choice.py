"""Placement rules: functions that choose which of the free nodes a job takes, as a number per node group.

Numbers in brackets are those of docs/readings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.allocation_sums import joules_in, slowest, sum_in
from fedsched.engine.codes import Placement
from fedsched.engine.placement import tasks_per_node, uneven

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Extras, Floats, Groups, Ints, Plan, Problem, Scratch, State

NONE = constant(-1)
FIRST = constant(0)


@inlined
def _usable_in(groups: Groups, k: int, free: Ints, caps: Ints, row: int) -> int:
    usable = 0
    for g in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
        usable += min(free[g], caps[row, g])
    return usable


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
    groups: Groups, order: Ints, k: int, need: int, free: Ints, caps: Ints, row: int, chosen: Ints
) -> int:
    return _fill(order, groups.cluster_begin[k], groups.cluster_begin[k + 1], need, free, caps, row, chosen)


@inlined
def _slowest_used(groups: Groups, k: int, need: int, free: Ints, caps: Ints, row: int) -> float:
    speed = 0.0
    for i in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
        g = groups.fast_in_cluster[i]
        usable = min(free[g], caps[row, g])
        if usable > 0:
            speed = groups.speed[g]
            need -= usable
            if need <= 0:
                break
    return speed


@inlined
def _fastest_cluster(groups: Groups, tasks: int, free: Ints, caps: Ints, row: int) -> int:
    # [15] the greatest speed of the slowest node used; then the fewest left over; then the lower index
    best = NONE
    best_speed = 0.0
    best_free = 0
    for k in range(groups.uplink.size):
        if _usable_in(groups, k, free, caps, row) < tasks:
            continue
        speed = _slowest_used(groups, k, tasks, free, caps, row)
        if best < 0 or speed >= best_speed:
            cluster_free = sum_in(groups, k, free)
            if best < 0 or speed > best_speed or cluster_free < best_free:
                best, best_speed, best_free = k, speed, cluster_free
    return best


@inlined
def _tightest_cluster(groups: Groups, tasks: int, free: Ints, caps: Ints, row: int) -> int:
    # [18] the fewest nodes left over; then the lower index
    best = NONE
    best_free = 0
    for k in range(groups.uplink.size):
        if _usable_in(groups, k, free, caps, row) >= tasks:
            cluster_free = sum_in(groups, k, free)
            if best < 0 or cluster_free < best_free:
                best, best_free = k, cluster_free
    return best


@part
def _place_thriftily(
    groups: Groups,
    tasks: int,
    sigma: float,
    estimate: float,
    idle_share: float,
    free: Ints,
    caps: Ints,
    row: int,
    chosen: Ints,
) -> bool:
    # [19] the cluster with the least added busy energy plus the job's share of the federation's idle energy
    best = NONE
    best_cost = 0.0
    for k in range(groups.uplink.size):
        if _usable_in(groups, k, free, caps, row) < tasks:
            continue
        chosen[:] = 0
        _fill_cluster(groups, groups.cheap_in_cluster, k, tasks, free, caps, row, chosen)
        duration = (sigma * slowest(groups, chosen) + (1.0 - sigma)) * estimate
        cost = joules_in(groups, k, chosen, duration) + idle_share * duration
        if best < 0 or cost < best_cost:
            best, best_cost = k, cost
    chosen[:] = 0
    if best >= 0:
        return _fill_cluster(groups, groups.cheap_in_cluster, best, tasks, free, caps, row, chosen) == 0
    return _fill(groups.cheap, groups.cluster_begin[0], groups.cheap.size, tasks, free, caps, row, chosen) == 0


@inlined
def _fill_fastest_groups(groups: Groups, need: int, free: Ints, caps: Ints, row: int, scratch: Scratch) -> int:
    # [16] fastest groups first; among equals the cluster with more free nodes, then the lower index
    chosen, cluster_sum, mark = scratch.chosen, scratch.cluster_sum, scratch.mark
    for k in range(groups.uplink.size):
        cluster_sum[k] = sum_in(groups, k, free)
    count = groups.fast.size
    begin = 0
    while begin < count and need > 0:
        end = begin + 1
        while end < count and groups.speed[groups.fast[end]] == groups.speed[groups.fast[begin]]:
            end += 1
        for i in range(begin, end):
            mark[i] = 0
        for _ in range(begin, end):
            best = NONE
            most = -1
            for i in range(begin, end):
                cluster_free = cluster_sum[groups.cluster[groups.fast[i]]]
                if mark[i] == 0 and cluster_free > most:
                    best, most = i, cluster_free
            mark[best] = 1
            need = _fill(groups.fast, best, best + 1, need, free, caps, row, chosen)
            if need == 0:
                break
        begin = end
    return need


@inlined
def _fill_largest_chunks(groups: Groups, need: int, free: Ints, caps: Ints, row: int, scratch: Scratch) -> int:
    # [18, 21] clusters by usable nodes, most first; ties: lower index
    chosen, cluster_sum = scratch.chosen, scratch.cluster_sum
    for k in range(groups.uplink.size):
        cluster_sum[k] = _usable_in(groups, k, free, caps, row)
    while need > 0:
        best = FIRST
        for k in range(1, groups.uplink.size):
            if cluster_sum[k] > cluster_sum[best]:
                best = k
        if cluster_sum[best] <= 0:
            break
        cluster_sum[best] = 0
        need = _fill_cluster(groups, groups.fast_in_cluster, best, need, free, caps, row, chosen)
    return need


@inlined
def fill_demand(
    extras: Extras | None, groups: Groups, j: int, tasks: int, bandwidth: float, counts: Ints, demand: Floats
) -> bool:
    """Fill `demand` with the bandwidth that a job needs on each cluster's uplink (eq. 1.2).

    `counts` are its nodes per group. Return whether it sends anything between clusters.
    """
    if tasks_per_node.counts_tasks(extras, j):
        return tasks_per_node.fill_demand(extras, groups, j, bandwidth, counts, demand)
    communicates = False
    for k in range(groups.uplink.size):
        here = sum_in(groups, k, counts)
        demand[k] = 0.0
        if 0 < here < tasks:
            demand[k] = here * bandwidth * (tasks - here) / (tasks - 1)
            communicates = communicates or demand[k] > 0.0
    return communicates


@part
def _links_allow(
    extras: Extras | None, groups: Groups, j: int, tasks: int, bandwidth: float, load: Floats, scratch: Scratch
) -> bool:
    # [22] no uplink that the job would use goes over its bandwidth
    fill_demand(extras, groups, j, tasks, bandwidth, scratch.chosen, scratch.demand)
    for k in range(groups.uplink.size):
        if scratch.demand[k] > 0.0 and load[k] + scratch.demand[k] > groups.uplink[k]:
            return False
    return True


@part
def _spread(
    extras: Extras | None,
    groups: Groups,
    rule: int,
    j: int,
    tasks: int,
    bandwidth: float,
    free: Ints,
    caps: Ints,
    row: int,
    load: Floats,
    scratch: Scratch,
) -> bool:
    # Co-allocates a job that no single cluster can hold.
    if rule == Placement.BEST_FIT:
        return _fill_largest_chunks(groups, tasks, free, caps, row, scratch) == 0
    if rule == Placement.BIG_SMALL:
        most = 0
        for k in range(groups.uplink.size):
            most = max(most, _usable_in(groups, k, free, caps, row))
        if 4 * most < 3 * tasks:  # most < ⌈0.75·τ⌉
            return False
        return _fill_largest_chunks(groups, tasks, free, caps, row, scratch) == 0
    if _fill_fastest_groups(groups, tasks, free, caps, row, scratch) > 0:
        return False
    return rule != Placement.LINK_AWARE or _links_allow(extras, groups, j, tasks, bandwidth, load, scratch)


@inlined
def place(problem: Problem, plan: Plan, j: int, free: Ints, load: Floats, state: State) -> bool:
    """Choose a job's nodes among the nodes `free` in each group, by the plan's placement rule; return whether it fits.

    If it fits, `state.scratch.chosen` has the number of its nodes in each group. `load` is the load of the uplinks at
    that time; only link-aware placement looks at it.
    """
    tasks = problem.tasks[j]
    caps, row = plan.caps, plan.cap_row[j]
    if free.size == 1:
        state.scratch.chosen[0] = tasks
        return min(free[0], caps[row, 0]) >= tasks and (plan.placement != Placement.HOME or problem.origin[j] == 0)
    usable = 0
    for g in range(free.size):
        usable += min(free[g], caps[row, g])
    if usable < tasks:  # by far the most frequent case if plans bind jobs to clusters
        return False
    if tasks_per_node.is_uneven(problem.extras, j):
        placed = uneven.place(problem.extras, problem, plan, j, free, state.scratch)
        return placed and (
            plan.placement != Placement.LINK_AWARE
            or _links_allow(problem.extras, problem.groups, j, tasks, problem.bandwidth[j], load, state.scratch)
        )
    return _place_on_groups(
        problem.extras,
        problem.groups,
        plan.placement,
        j,
        tasks,
        problem.sigma[j],
        problem.estimate[j],
        problem.bandwidth[j],
        problem.origin[j],
        tasks / problem.nodes * problem.idle_total,
        free,
        caps,
        row,
        load,
        state.scratch,
    )


@part
def _place_on_groups(
    extras: Extras | None,
    groups: Groups,
    rule: int,
    j: int,
    tasks: int,
    sigma: float,
    estimate: float,
    bandwidth: float,
    origin: int,
    idle_share: float,
    free: Ints,
    caps: Ints,
    row: int,
    load: Floats,
    scratch: Scratch,
) -> bool:
    chosen = scratch.chosen
    if rule == Placement.EFFICIENT:
        return _place_thriftily(groups, tasks, sigma, estimate, idle_share, free, caps, row, chosen)
    for g in range(chosen.size):
        chosen[g] = 0
    if rule == Placement.POWERFUL:  # [20]
        return _fill(groups.fast, groups.cluster_begin[0], groups.fast.size, tasks, free, caps, row, chosen) == 0
    if rule == Placement.HOME:  # [17]
        if origin < 0 or _usable_in(groups, origin, free, caps, row) < tasks:
            return False
        cluster = origin
    elif rule == Placement.BEST_FIT:
        cluster = _tightest_cluster(groups, tasks, free, caps, row)
    else:
        cluster = _fastest_cluster(groups, tasks, free, caps, row)
    if cluster >= 0:
        return _fill_cluster(groups, groups.fast_in_cluster, cluster, tasks, free, caps, row, chosen) == 0
    if rule == Placement.SINGLE:
        return False
    return _spread(extras, groups, rule, j, tasks, bandwidth, free, caps, row, load, scratch)


@inlined
def fills_from_the_fastest(problem: Problem, plan: Plan) -> bool:
    """Return whether there is one cluster, and the placement rule takes its fastest free nodes first.

    Then no job ends sooner with fewer free nodes.
    """
    return problem.groups.uplink.size == 1 and plan.placement != Placement.EFFICIENT


@inlined
def uncontended_cost(problem: Problem, j: int, chosen: Ints) -> float:
    """Return the factor σ·PS + 1 − σ by which a job's duration grows on these nodes (eqs. 1.1, 1.7).

    It holds while no uplink is saturated.
    """
    return problem.sigma[j] * slowest(problem.groups, chosen) + (1.0 - problem.sigma[j])


@inlined
def planned_duration(problem: Problem, j: int, chosen: Ints) -> float:
    """Return the seconds that plans give a job on these nodes: estimate·(σ·PS + 1 − σ)."""
    return problem.estimate[j] * uncontended_cost(problem, j, chosen)


@inlined
def shortest_duration(problem: Problem, j: int, caps: Ints, row: int) -> float:
    """Return the job's planned duration, in seconds, on the fastest nodes of the machine that its caps allow."""
    groups = problem.groups
    need = problem.tasks[j]
    slowdown = 0.0
    if tasks_per_node.is_uneven(problem.extras, j):
        slowdown = uneven.slowest_needed(problem.extras, groups, j, caps, row)
        return problem.estimate[j] * (problem.sigma[j] * slowdown + (1.0 - problem.sigma[j]))
    for i in range(groups.fast.size):
        g = groups.fast[i]
        usable = min(groups.nodes[g], caps[row, g])
        if usable > 0:
            slowdown = groups.slowdown[g]
            need -= usable
            if need <= 0:
                break
    return problem.estimate[j] * (problem.sigma[j] * slowdown + (1.0 - problem.sigma[j]))
