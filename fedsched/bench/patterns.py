"""A linear program over patterns of job widths that fill pools of nodes at once; its duals make a certificate.

A pattern is how many jobs of each width run at once, each in a pool of nodes. A pool is the nodes of a partition, of
some speed or faster. Time is divided among patterns, which are generated as prices require (column generation).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.bench.programs import UNIT, Rows

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from fedsched.bench.documents import Document
    from fedsched.bench.proof import Problem

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

ALONE = 120  # up to this number of jobs, each is its own class; beyond it, jobs that are equal in ALIKE are a class
MOST_PATTERNS = 400  # rounds of pattern generation
NEAR = 1e-7
ALIKE = ("tasks", "partition", "compute_fraction", "task_bandwidth")


class Pool(NamedTuple):
    """A pool of nodes: a set of groups (`room`) and their number of nodes."""

    room: frozenset[int]
    nodes: int


class Width(NamedTuple):
    """The jobs of this many tasks in one pool of a chain, and in no earlier pool of it.

    `chain` and `pool` are indices. A chain is a list of pools of nodes, each of them part of the next one.
    """

    chain: int
    pool: int
    tasks: int


class Ways(NamedTuple):
    """The ways in which classes of jobs can run: for each its class, set of groups, and total run time in seconds."""

    of: list[int]
    room: list[frozenset[int]]
    takes: list[float]


def chains_of(problem: Problem) -> list[list[Pool]]:
    """Return chains of pools, each pool part of the next.

    A chain begins with the fastest groups of a set of nodes open to jobs. It adds slower ones step by step, and
    ends with the whole set.
    """

    def fastest(room: frozenset[int], speed: Fraction) -> frozenset[int]:
        return frozenset(g for g in room if problem.speed[g] >= speed)

    rooms = {room for ways in problem.ways for _, room in ways}
    slowest = {room: min(problem.speed[g] for g in room) for room in rooms}
    lasts = [
        room for room in rooms if not any(room < other and room == fastest(other, slowest[room]) for other in rooms)
    ]
    chains = []
    for last in sorted(lasts, key=sorted):
        steps = [fastest(last, speed) for speed in sorted({problem.speed[g] for g in last}, reverse=True)]
        chains.append([Pool(room, sum(problem.nodes[g] for g in room)) for room in steps])
    return chains


def widest(pools: list[Pool], widths: list[Width], price: Floats) -> tuple[float, Counts]:
    """Return the most that a pattern of a chain pays a second at these prices, and its number of jobs of each width."""
    best, tables = np.zeros(1), []
    for k, one in enumerate(widths):
        best = np.concatenate([best, np.full(pools[one.pool].nodes + 1 - best.size, best[-1])])
        rows = -(-best.size // one.tasks)
        padded = np.concatenate([best, np.full(rows * one.tasks - best.size, -np.inf)]).reshape(rows, one.tasks)
        less = price[k] * np.arange(rows)[:, None]
        best = (np.maximum.accumulate(padded - less, axis=0) + less).ravel()[: best.size]
        tables.append(best)
    counts, n = np.zeros(len(widths), dtype=np.int64), best.size - 1
    for k in range(len(widths) - 1, -1, -1):
        before = tables[k - 1] if k else np.zeros(1)
        n = min(n, tables[k].size - 1)
        while n >= widths[k].tasks and tables[k][n] > before[min(n, before.size - 1)] + 1e-12 * tables[k][n]:
            counts[k] += 1
            n -= widths[k].tasks
    return float(price @ counts), counts


def classes_of(document: Document) -> list[list[int]]:
    """Return the classes of jobs that are treated together, as lists of rows.

    Up to 120 jobs each is a class of its own. Of more jobs, those of equal tasks, partition, `compute_fraction` and
    `task_bandwidth` share a class.
    """
    jobs = document.data["jobs"]
    many = len(jobs["tasks"])
    if many <= ALONE:
        return [[j] for j in range(many)]
    found: dict[object, list[int]] = {}
    for j in range(many):
        key = tuple(jobs[name][j] for name in ALIKE if name in jobs)
        found.setdefault(key, []).append(j)
    return list(found.values())


def ways_of(problem: Problem, classes: list[list[int]], before: float) -> Ways:
    """Return the ways in which each class of jobs can run and all of its jobs end before this time."""
    ways = Ways([], [], [])
    for c, jobs in enumerate(classes):
        for k, (_, room) in enumerate(problem.ways[jobs[0]]):
            takes = [float(problem.ways[j][k][0]) for j in jobs]
            if all(float(problem.release[j]) + d < before for j, d in zip(jobs, takes, strict=True)):
                ways.of.append(c)
                ways.room.append(room)
                ways.takes.append(sum(takes))
    return ways


class Program(NamedTuple):
    """The fixed part of the linear program, to which patterns are added.

    Its columns are ways to run, uses of groups, and time.
    """

    problem: Problem
    classes: list[list[int]]
    ways: Ways
    tasks: list[int]  # of each way
    chains: list[list[Pool]]
    widths: list[Width]
    uses: list[tuple[frozenset[int], int, int]]  # a room, tasks, and a group of it on which they may run

    @property
    def time(self) -> int:
        """Return the index of the column of time."""
        return len(self.ways.of) + len(self.uses)

    def fixed_rows(self) -> Rows:
        """Return the inequalities of groups, of single jobs, and of the most that wide jobs use of a small group."""
        ways, rows, nodes = self.ways, Rows(), self.problem.nodes
        first = len(ways.of)
        for g, many in enumerate(nodes):
            mine = [first + k for k, use in enumerate(self.uses) if use[2] == g]
            rows.add(np.array([*mine, self.time]), np.array([1.0] * len(mine) + [-float(many)]), 0.0)
        for c, jobs in enumerate(self.classes):
            mine = [k for k, of in enumerate(ways.of) if of == c and len(jobs) == 1]
            values = np.array([*(ways.takes[k] for k in mine), -1.0])
            rows.add(np.array([*mine, self.time]), values, -float(self.problem.release[jobs[0]]) if mine else 0.0)
        for k, (room, tasks, g) in enumerate(self.uses):
            if nodes[g] < tasks:
                mine = self.with_room(room, tasks)
                values = np.array([1.0, *(-nodes[g] * ways.takes[one] for one in mine)])
                rows.add(np.array([first + k, *mine]), values, 0.0)
        return rows

    def with_room(self, room: frozenset[int], tasks: int) -> list[int]:
        """Return the indices of the ways with this many tasks in exactly this set of groups."""
        return [k for k, own in enumerate(self.ways.room) if own == room and self.tasks[k] == tasks]

    def equations(self) -> tuple[Rows, list[float]]:
        """Return the equations: each class runs, and ways use as many nodes as they have tasks.

        The second value is their right-hand sides.
        """
        rows, first = Rows(), len(self.ways.of)
        for c in range(len(self.classes)):
            mine = [k for k, of in enumerate(self.ways.of) if of == c]
            rows.add(np.array(mine), np.ones(len(mine)), 1.0)
        for room, tasks in dict.fromkeys(use[:2] for use in self.uses):
            used = [first + k for k, use in enumerate(self.uses) if use[:2] == (room, tasks)]
            mine = self.with_room(room, tasks)
            values = [1.0] * len(used) + [-tasks * self.ways.takes[k] for k in mine]
            rows.add(np.array(used + mine), np.array(values), 0.0)
        return rows, rows.limit

    def of_width(self, one: Width) -> list[int]:
        """Return the indices of the ways of a width.

        They have its number of tasks, and run in its pool and in no earlier pool of the chain.
        """
        pools = self.chains[one.chain]
        before = pools[one.pool - 1].room if one.pool else frozenset()
        fits = [room <= pools[one.pool].room and not (before and room <= before) for room in self.ways.room]
        return [k for k, tasks in enumerate(self.tasks) if fits[k] and tasks == one.tasks]


def program_of(document: Document, problem: Problem, before: Fraction | None) -> Program | None:
    """Return the linear program without patterns; None if some job cannot end before the time `before`."""
    classes = classes_of(document)
    ways = ways_of(problem, classes, np.inf if before is None else float(before))
    if len({*ways.of}) < len(classes):
        return None
    tasks = [problem.tasks[classes[c][0]] for c in ways.of]
    chains = chains_of(problem)
    widths = {
        Width(i, next(p for p, pool in enumerate(pools) if room <= pool.room), wide)
        for i, pools in enumerate(chains) for room, wide in zip(ways.room, tasks, strict=True) if room <= pools[-1].room
    }  # fmt: skip
    kinds = dict.fromkeys(zip(ways.room, tasks, strict=True))
    uses = [(room, wide, g) for room, wide in kinds for g in sorted(room)]
    return Program(problem, classes, ways, tasks, chains, sorted(widths), uses)


def packed(document: Document, problem: Problem, *, of_energy: bool, before: Fraction | None = None) -> Any:
    """Return a proof by patterns, in the form of certificates; None if some job cannot end before the time `before`.

    This time is not written into the proof.
    """
    program = program_of(document, problem, before)
    if program is None:
        return None
    mine = [[k for k, one in enumerate(program.widths) if one.chain == i] for i in range(len(program.chains))]
    patterns: list[list[Counts]] = [[] for _ in mine]
    for pools, rows, found in zip(program.chains, mine, patterns, strict=True):
        for k, row in enumerate(rows):
            alone = np.zeros(len(rows), dtype=np.int64)
            alone[k] = pools[program.widths[row].pool].nodes // program.widths[row].tasks
            found.append(alone)
    ways_of_width = [program.of_width(one) for one in program.widths]
    for _ in range(MOST_PATTERNS):
        price, limits = duals(program, mine, patterns, ways_of_width, of_energy=of_energy)
        more = False
        for i, rows in enumerate(mine):
            of_rows = price[len(price) - len(program.widths) :][rows]
            value, counts = widest(program.chains[i], [program.widths[k] for k in rows], of_rows)
            if value > limits[i] * (1 + NEAR) + NEAR * max(limits):
                patterns[i].append(counts)
                more = True
        if not more:
            break
    return written(program, mine, price)


def duals(
    program: Program, mine: list[list[int]], patterns: list[list[Counts]], ways_of_width: list[list[int]], *,
    of_energy: bool,
) -> tuple[Floats, list[float]]:  # fmt: skip
    """Solve the program with these patterns; return its prices, and each chain's price of a second.

    The prices are those of groups, jobs, small groups and widths, in this order.
    """
    from scipy.optimize import linprog

    rows, (equal, right) = program.fixed_rows(), program.equations()
    many = len(rows.limit)
    column, time = program.time + 1, program.time
    of_chain = []
    for i, ks in enumerate(mine):
        of_chain.append(np.arange(column, column := column + len(patterns[i])))
        for at, k in enumerate(ks):
            ways = ways_of_width[k]
            values = [program.ways.takes[way] for way in ways] + [-float(one[at]) for one in patterns[i]]
            rows.add(np.array([*ways, *of_chain[i]]), np.array(values), 0.0)
    for columns in of_chain:
        rows.add(np.append(columns, time), np.append(np.ones(columns.size), -1.0), 0.0)
    cost = np.zeros(column)
    cost[time] = float(sum(watts * n for watts, n in zip(program.problem.idle, program.problem.nodes, strict=True)))
    if of_energy:
        cost[len(program.ways.of) : time] = [float(program.problem.extra[g]) for _, _, g in program.uses]
    else:
        cost[time] = 1.0
    solved = linprog(
        cost, A_ub=rows.table(column), b_ub=rows.limit, A_eq=equal.table(column), b_eq=right, method="highs"
    )
    price = np.maximum(-solved.ineqlin.marginals, 0.0)
    order = [k for ks in mine for k in ks]
    widths = np.zeros(len(order))
    widths[order] = price[many : many + len(order)]
    return np.concatenate([price[:many], widths]), price[many + len(order) :].tolist()


def written(program: Program, mine: list[list[int]], price: Floats) -> dict[str, Any]:
    """Return the prices in the form of certificates, scaled to whole numbers."""
    groups = len(program.problem.nodes)
    whole = np.rint(price / (price.max() or 1.0) * UNIT).astype(np.int64).tolist()
    alone, widths = whole[groups : groups + len(program.classes)], whole[len(whole) - len(program.widths) :]
    packs = []
    for pools, ks in zip(program.chains, mine, strict=True):
        of_pools = [
            {str(program.widths[k].tasks): widths[k] for k in ks if program.widths[k].pool == p and widths[k]}
            for p in range(len(pools))
        ]
        if any(of_pools):
            packs.append([[sorted(pool.room), of] for pool, of in zip(pools, of_pools, strict=True)])
    return {
        "edges": [0], "unit": 1, "prices": [[one] for one in whole[:groups]], "packs": packs,
        "job": {str(jobs[0]): one for jobs, one in zip(program.classes, alone, strict=True) if one and len(jobs) == 1},
        "watt": 0,
    }  # fmt: skip
