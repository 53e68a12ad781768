"""Compiled list scheduling: each job is bound to the cluster with its earliest predicted end."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import kernel, part

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats, Ints, Problem


@part
def _instant(
    tasks: int, groups: Ints, first: int, last: int, limit: Ints, begin: Ints, free: Floats, head: Ints
) -> float:
    """Return the time from which `tasks` nodes are free on the groups at places `first` .. `last` − 1 of a list.

    At most `limit[g]` nodes of group g count; inf if the groups have too few. `head` is scratch memory.
    """
    for i in range(first, last):
        head[groups[i]] = 0
    now = -np.inf
    for _ in range(tasks):
        chosen, least = -1, np.inf
        for i in range(first, last):
            g = groups[i]
            if head[g] < limit[g] and (chosen < 0 or free[begin[g] + head[g]] < least):
                chosen, least = g, free[begin[g] + head[g]]
        if chosen < 0:
            return np.inf
        head[chosen] += 1
        now = least
    return now


@part
def _occupy(free: Floats, first: int, last: int, taken: int, until: float) -> None:
    """Set the first `taken` of the free times from `first` to `last` to `until`, and keep them in rising order."""
    if taken == 0:
        return
    i = first + taken
    while i < last and free[i] < until:
        free[i - taken] = free[i]
        i += 1
    for k in range(i - taken, i):
        free[k] = until


@kernel
def bind(
    problem: Problem, limits: Ints, order: Ints, begin: Ints, free: Floats, head: Ints, caps: Ints, start: Floats
) -> None:
    """Bind each job, in the order `order`, to the cluster with its earliest predicted end: fill its caps and start.

    The job then occupies its nodes until its predicted end. `free[begin[g]:begin[g + 1]]` are the times from which
    the nodes of group g are free, rising. `limits` has one row more than there are jobs: all nodes of each group. A
    job that fits no single cluster keeps its limits as caps, and occupies no nodes.
    """
    groups = problem.groups
    every = limits[problem.submit.size]
    for position in range(order.size):
        j = order[position]
        tasks, least = problem.tasks[j], np.inf
        cluster, last = -1, -1
        for k in range(groups.uplink.size):
            usable = 0
            # Groups are added from the fastest on; the set with the earliest end is kept.
            for i in range(groups.cluster_begin[k], groups.cluster_begin[k + 1]):
                g = groups.fast_in_cluster[i]
                usable += limits[j, g]
                if usable < tasks:
                    continue
                ready = _instant(
                    tasks, groups.fast_in_cluster, groups.cluster_begin[k], i + 1, limits[j], begin, free, head
                )
                now = max(ready, problem.submit[j])
                cost = problem.sigma[j] * groups.slowdown[g] + 1.0 - problem.sigma[j]
                end = now + problem.estimate[j] * cost
                if end < least:
                    least, cluster, last, start[j] = end, k, i, now
        if cluster < 0:
            all_groups = groups.cluster_begin[groups.uplink.size]
            ready = _instant(
                tasks, groups.fast_in_cluster, groups.cluster_begin[0], all_groups, every, begin, free, head
            )
            start[j] = max(ready, problem.submit[j])
            for g in range(groups.nodes.size):
                caps[j, g] = limits[j, g]
            continue
        need = tasks
        for i in range(groups.cluster_begin[cluster], last + 1):
            g = groups.fast_in_cluster[i]
            caps[j, g] = limits[j, g]
            taken = 0
            while taken < min(need, limits[j, g]) and free[begin[g] + taken] <= start[j]:
                taken += 1
            _occupy(free, begin[g], begin[g + 1], taken, least)
            need -= taken
