"""Certificates by cases: of three jobs that are too wide for a pool together, two never run at the same time.

If each two of the three overlapped in time, all three would run at one instant (pairwise overlapping intervals have a
common instant), and the pool is too small for that. So there is one case for each pair: the two jobs then share an
imaginary node. A case without further cases is a leaf, with prices of its own. In a leaf each job fills pools once.
The leaf's linear program generates patterns of jobs as prices require (column generation).
"""

from __future__ import annotations

from fractions import Fraction
from itertools import combinations
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.bench.forms import shortest
from fedsched.bench.programs import UNIT, Rows

if TYPE_CHECKING:
    from fedsched.bench.proof import Problem

    Shared = list[frozenset[int]]

LONGEST = 4  # longest jobs among which three are sought
MOST_LEAVES = 30
MOST_PATTERNS = 100  # rounds of column generation
NEAR = 1e-7


class Leaf(NamedTuple):
    """A case without further cases: its bound, its proof, and the imaginary nodes that jobs share.

    Jobs that share such a node never run at the same time.
    """

    value: float
    shared: Shared
    proof: dict[str, Any]


class Fill(NamedTuple):
    """A pool of nodes, and the jobs that need nodes of it, with the least number that each needs."""

    room: frozenset[int]
    most: int
    jobs: list[int]
    sizes: list[int]


def fewest(problem: Problem, shared: Shared, j: int, pool: frozenset[int]) -> int:
    """Return the least number of a pool's nodes that a job must have, however it runs."""
    outside = max(sum(problem.nodes[g] for g in room - pool) for _, room in problem.ways[j])
    found: int = max(len(shared[j] & pool), problem.tasks[j] - outside)
    return found


def crowded(problem: Problem, shared: Shared) -> tuple[list[int], list[int]] | None:
    """Return three of the longest jobs of which a pool holds any two but not all, and that pool; or None."""
    length = [min(d for d, _ in ways) for ways in problem.ways]
    jobs = sorted(range(len(length)), key=lambda j: -length[j])[:LONGEST]
    pools = {room for j in jobs for _, room in problem.ways[j]}
    for pool in sorted(pools, key=lambda room: (-len(room), sorted(room))):
        most = sum(problem.nodes[g] for g in pool)
        size = {j: fewest(problem, shared, j, pool) for j in jobs}
        for three in combinations(jobs, 3):
            pairs = [*combinations(three, 2)]
            fit = all(size[i] + size[j] <= most and not shared[i] & shared[j] for i, j in pairs)
            if fit and sum(size[j] for j in three) > most:
                return [*three], sorted(pool)
    return None


def fills_of(problem: Problem, shared: Shared) -> list[Fill]:
    """Return the pools that cannot hold all jobs at once: groups, the jobs' sets of groups, and imaginary nodes."""
    groups = len(problem.nodes)
    pools = {room for ways in problem.ways for _, room in ways} | {frozenset({g}) for g in range(groups)}
    found = []
    for pool in sorted(pools | {frozenset({g}) for has in shared for g in has}, key=sorted):
        size = {j: fewest(problem, shared, j, pool) for j in range(len(shared))}
        size = {j: n for j, n in size.items() if n}
        most = sum(problem.nodes[g] if g < groups else 1 for g in pool)
        if sum(size.values()) > most:
            found.append(Fill(pool, most, [*size], [*size.values()]))
    return found


def fullest(fill: Fill, pays: list[float]) -> tuple[float, list[int]]:
    """Return the most that jobs can pay which fit into a pool together, and the places of these jobs.

    `pays` is what each of the pool's jobs pays.
    """
    best = np.zeros((len(pays) + 1, fill.most + 1))
    for k, (size, x) in enumerate(zip(fill.sizes, pays, strict=True)):
        best[k + 1] = best[k]
        best[k + 1, size:] = np.maximum(best[k, size:], best[k, : fill.most + 1 - size] + x)
    n, chosen = fill.most, []
    for k in range(len(pays) - 1, -1, -1):
        if best[k + 1, n] > best[k, n]:
            chosen.append(k)
            n -= fill.sizes[k]
    return float(best[-1, fill.most]), chosen


def leaf_of(problem: Problem, shared: Shared, *, of_energy: bool) -> Leaf:
    """Return the best bound of a case, with its proof, by prices of groups, of jobs, and of jobs in pools.

    The bound is one on energy with `of_energy`, else on the makespan.
    """
    from scipy.optimize import linprog

    jobs, groups = len(shared), len(problem.nodes)
    ways = [(j, float(d), room) for j in range(jobs) for d, room in problem.ways[j]]
    uses = [(k, g) for k, (_, _, room) in enumerate(ways) for g in sorted(room)]
    first, time = len(ways), len(ways) + len(uses)
    of_job = [[k for k, way in enumerate(ways) if way[0] == j] for j in range(jobs)]
    fixed, equal = Rows(), Rows()
    for g, many in enumerate(problem.nodes):
        mine = [first + u for u, use in enumerate(uses) if use[1] == g]
        fixed.add(np.array([*mine, time]), np.array([1.0] * len(mine) + [-float(many)]), 0.0)
    for j, mine in enumerate(of_job):
        values = np.array([*(ways[k][1] for k in mine), -1.0])
        fixed.add(np.array([*mine, time]), values, -float(problem.release[j]))
        equal.add(np.array(mine), np.ones(len(mine)), 1.0)
    for u, (k, g) in enumerate(uses):
        most = min(problem.nodes[g], problem.tasks[ways[k][0]]) * ways[k][1]
        fixed.add(np.array([first + u, k]), np.array([1.0, -most]), 0.0)
    for k, (j, seconds, _) in enumerate(ways):
        mine = [first + u for u, use in enumerate(uses) if use[0] == k]
        equal.add(np.array([*mine, k]), np.array([1.0] * len(mine) + [-problem.tasks[j] * seconds]), 0.0)
    fills = fills_of(problem, shared)
    patterns = [[[k] for k in range(len(fill.jobs))] for fill in fills]
    idle = sum((watts * n for watts, n in zip(problem.idle, problem.nodes, strict=True)), start=Fraction(0))
    for _ in range(MOST_PATTERNS):
        rows, column, starts = Rows([*fixed.place], [*fixed.value], [*fixed.limit]), time + 1, []
        for fill, known in zip(fills, patterns, strict=True):
            own = np.arange(column, column := column + len(known))
            starts.append(len(rows.limit))
            for at, j in enumerate(fill.jobs):
                inside = [own[p] for p, pattern in enumerate(known) if at in pattern]
                takes = [ways[k][1] for k in of_job[j]]
                rows.add(np.array([*of_job[j], *inside]), np.array(takes + [-1.0] * len(inside)), 0.0)
            rows.add(np.append(own, time), np.append(np.ones(own.size), -1.0), 0.0)
        cost = np.zeros(column)
        cost[time] = float(idle) if of_energy else 1.0
        if of_energy:
            cost[first:time] = [float(problem.extra[g]) for _, g in uses]
        solved = linprog(
            cost, A_ub=rows.table(column), b_ub=rows.limit, A_eq=equal.table(column), b_eq=equal.limit, method="highs"
        )
        price, more = np.maximum(-solved.ineqlin.marginals, 0.0), False
        for start, fill, known in zip(starts, fills, patterns, strict=True):
            value, chosen = fullest(fill, price[start : start + len(fill.jobs)].tolist())
            if value > price[start + len(fill.jobs)] * (1 + NEAR) + NEAR * price.max():
                known.append(chosen)
                more = True
        if not more:
            break
    whole = np.rint(price / (price.max() or 1.0) * UNIT).astype(np.int64).tolist()
    packs, job = [], {str(j): x for j, x in enumerate(whole[groups : groups + jobs]) if x}
    rate = sum(x * n for x, n in zip(whole, problem.nodes, strict=False)) + sum(job.values())
    for start, fill in zip(starts, fills, strict=True):
        pays = whole[start : start + len(fill.jobs)]
        if any(pays):
            packs.append([[sorted(fill.room), {f"#{j}": x for j, x in zip(fill.jobs, pays, strict=True) if x}]])
            rate += round(fullest(fill, pays)[0])
    proof = {
        "edges": [0], "unit": shortest(rate / idle) if of_energy else 1, "prices": [[x] for x in whole[:groups]],
        "packs": packs, "job": job, "watt": 0,
    }  # fmt: skip
    return Leaf(float(solved.fun), shared, proof)


def by_cases(problem: Problem, objective: str) -> dict[str, Any] | None:
    """Return a proof by at most 30 cases, if three jobs crowd a pool; else None.

    The case of the least bound is divided each time.
    """
    nothing: Shared = [frozenset()] * len(problem.tasks)
    root: dict[str, Any] = {}
    leaves = [(leaf_of(problem, nothing, of_energy=objective == "energy"), root)]
    while len(leaves) < MOST_LEAVES:
        least = min(range(len(leaves)), key=lambda k: leaves[k][0].value)
        leaf, into = leaves[least]
        three = crowded(problem, leaf.shared)
        if three is None:
            break
        jobs, pool = three
        new = max([len(problem.nodes) - 1, *(g for has in leaf.shared for g in has)]) + 1
        cases: list[dict[str, Any]] = []
        leaves.pop(least)
        for pair in combinations(jobs, 2):
            shared = [has | {new} if j in pair else has for j, has in enumerate(leaf.shared)]
            cases.append({})
            leaves.append((leaf_of(problem, shared, of_energy=objective == "energy"), cases[-1]))
        into["apart"] = [jobs, pool, *cases]
    if len(leaves) == 1:
        return None
    for leaf, into in leaves:
        into.update(leaf.proof)
    return {"objective": objective, **root}
