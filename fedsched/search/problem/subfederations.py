"""The machine cut into units: parts that run as federations of their own in plans that keep each job within one."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays.read_only import floats, ints
from fedsched.engine.arrays.structs import Groups
from fedsched.search.problem.subfederation_runs import Units

if TYPE_CHECKING:

    from fedsched.engine.arrays.structs import Floats, Ints, Problem
    from fedsched.search.problem.packed import PackedProblem


def units_of(problem: PackedProblem) -> Units | None:
    """Return the units of the machine; None if it is one unit.

    Units are single clusters. If a job is too wide for each cluster, the largest clusters form one unit: as few of them
    as hold every such job.
    """
    packed, limits = problem.problem, problem.space.limits
    groups, tasks = packed.groups, packed.tasks[: len(limits), None]
    clusters = groups.uplink.size
    room = np.add.reduceat(limits, groups.cluster_begin[:-1], axis=1)  # job × cluster
    nodes = np.add.reduceat(groups.nodes, groups.cluster_begin[:-1])
    largest = np.argsort(-nodes, kind="stable")
    holds_all = (np.cumsum(room[:, largest], axis=1) >= tasks) | (room >= tasks).any(axis=1, keepdims=True)
    joined = 1 + int(np.argmax(holds_all.all(axis=0)))
    if joined == clusters:
        return None
    alone = np.sort(largest if joined == 1 else largest[joined:])[:, None]
    return _units([*alone] if joined == 1 else [np.sort(largest[:joined]), *alone], problem)


def one_unit(problem: PackedProblem) -> Units:
    """Return the whole machine as one unit; a job's home (the nodes that it may use) is then one cluster or all."""
    return _units([np.arange(problem.problem.groups.uplink.size)], problem)


def _units(parts: list[Ints], problem: PackedProblem) -> Units:
    groups, limits = problem.problem.groups, problem.space.limits
    members = [np.flatnonzero(np.isin(groups.cluster, part)) for part in parts]
    inside = [groups.cluster == k for k in range(groups.uplink.size)]  # home → the groups that it covers
    unit = [next(u for u, part in enumerate(parts) if k in part) for k in range(len(inside))]
    for u, part in enumerate(parts):
        if len(part) > 1:
            inside.append(np.isin(groups.cluster, part))
            unit.append(u)
    homes = [[home for home in range(len(inside)) if unit[home] == u] for u in range(len(parts))]
    caps = [
        np.concatenate([np.where(inside[home], limits, 0)[:, own] for home in of_unit]).ravel()
        for own, of_unit in zip(members, homes, strict=True)
    ]
    covers = np.array(inside).astype(np.int64)
    return Units(
        groups=_groups(groups, parts, members),
        group=ints(np.concatenate(members)),
        first_group=_ends(members),
        first_cluster=_ends(parts),
        unit=ints(unit),
        option=ints([homes[u].index(home) for home, u in enumerate(unit)]),
        covers=ints(covers),
        allowed=ints(limits @ covers.T >= problem.problem.tasks[: len(limits), None]),
        area=floats(np.array([_areas(problem.problem, own)[: len(limits)] for own in members])),
        caps=np.concatenate(caps),
        first_cap=_ends(caps),
    )


def _areas(packed: Problem, own: Ints) -> Floats:
    # Each job's node-seconds on the fastest nodes of these groups.
    cost = packed.sigma * packed.groups.slowdown[own].min() + (1.0 - packed.sigma)
    return np.asarray(packed.tasks * packed.runtime * cost)


def _groups(groups: Groups, parts: list[Ints], members: list[Ints]) -> Groups:
    clusters = [np.searchsorted(part, groups.cluster[own]) for part, own in zip(parts, members, strict=True)]
    begins = [np.searchsorted(of, np.arange(len(part) + 1)) for of, part in zip(clusters, parts, strict=True)]
    number = np.empty_like(groups.cluster)  # of each group within its unit
    for own in members:
        number[own] = np.arange(len(own))

    def ordered(everyone: Ints) -> Ints:
        # Each unit's groups, in the given order of all groups.
        return ints(np.concatenate([number[everyone[np.isin(everyone, own)]] for own in members]))

    own = np.concatenate(members)
    return Groups(
        nodes=ints(groups.nodes[own]),
        cluster=ints(np.concatenate(clusters)),
        slowdown=floats(groups.slowdown[own]),
        speed=floats(groups.speed[own]),
        busy_watts=floats(groups.busy_watts[own]),
        idle_watts=floats(groups.idle_watts[own]),
        cluster_begin=ints(np.concatenate(begins)),
        fast_in_cluster=ordered(groups.fast_in_cluster),
        cheap_in_cluster=ordered(groups.cheap_in_cluster),
        fast=ordered(groups.fast),
        cheap=ordered(groups.cheap),
        uplink=floats(groups.uplink[np.concatenate(parts)]),
    )


def _ends(parts: list[Ints]) -> Ints:
    return ints(np.cumsum([0, *(len(part) for part in parts)]))
