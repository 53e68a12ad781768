"""Linear programs with the multipliers of certificates as duals: areas, wide jobs in pools of nodes, single jobs."""

from __future__ import annotations

from dataclasses import dataclass, field
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation

UNIT = 10**9  # the largest multiplier after scaling


class Family(NamedTuple):
    """A family f_p of wide jobs (p tasks or more) in one pool: a partition's nodes of some speed or faster."""

    threshold: int
    slowdown: int  # its index in the relaxation's slowdowns
    home: str  # a partition, or "" for all jobs
    nodes: int
    jobs: Ints


@dataclass(frozen=True, slots=True)
class Rows:
    """The inequalities A·x <= b of a program, added one by one."""

    place: list[tuple[int, Any]] = field(default_factory=list)
    value: list[float] = field(default_factory=list)
    limit: list[float] = field(default_factory=list)

    def add(self, columns: Ints, values: Floats, limit: float) -> None:
        """Add an inequality: the values in these columns, times the variables, are at most `limit`."""
        row = len(self.limit)
        self.place.extend((row, column) for column in columns.tolist())
        self.value.extend(values.tolist())
        self.limit.append(limit)

    def table(self, columns: int) -> Any:
        """Return the sparse matrix A of all inequalities, with this many columns."""
        from scipy.sparse import csr_matrix

        return csr_matrix((self.value, tuple(zip(*self.place, strict=True))), shape=(len(self.limit), columns))


def families(relaxation: Relaxation, homes: list[str]) -> list[Family]:
    """Return the families of wide jobs: one for each pool of nodes and each threshold at which its jobs change.

    `homes` has the jobs' partitions.
    """
    found, named = [], np.array(homes)
    for home in sorted({"", *homes}):
        jobs = np.flatnonzero((named == home) | (home == ""))
        for v in range(relaxation.slowdown.size):
            cells = relaxation.class_slowdown <= v
            if home:
                cells = cells & (relaxation.caps[jobs[0]] > 0)
            pool = int(relaxation.nodes[cells].sum())
            widths = np.unique(relaxation.tasks[jobs[relaxation.usable[jobs, v]]])
            steps = {*widths.tolist(), *(pool - widths + 1).tolist()}
            found += [Family(p, v, home, pool, jobs) for p in sorted(steps) if 0 < p <= (pool + 1) // 2]
    return found


def multipliers(
    relaxation: Relaxation,
    levels: Floats,
    homes: list[str],
    *,
    of_energy: bool,
    before: float | None = None,
    left: float | None = None,
) -> dict[str, Any] | None:
    """Return a proof by the program's multipliers, as whole numbers; None if the program has no solution.

    With `before`, only schedules that end earlier count: no job runs so that it ends then or later. `left` is the
    power in watts that a cap leaves beside idle nodes.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix

    jobs, classes = relaxation.caps.shape
    ends = relaxation.release[:, None] + relaxation.duration
    usable = relaxation.usable & (ends < (np.inf if before is None else before))
    job, slow = np.nonzero(usable)
    way, of = np.nonzero((relaxation.class_slowdown <= slow[:, None]) & (relaxation.caps[job] > 0))
    takes, used = relaxation.duration[job, slow], 1 + job.size + np.arange(way.size)
    least = np.minimum(relaxation.caps[job[way], of], relaxation.tasks[job[way]])
    rows, pools = Rows(), families(relaxation, homes)
    for at in levels.tolist():
        for c in range(classes):
            mine = np.flatnonzero((of == c) & (relaxation.release[job[way]] >= at))
            nodes = float(relaxation.nodes[c])
            rows.add(np.append(used[mine], 0), np.append(takes[way[mine]], -nodes), -nodes * at)
    for one in pools:
        sized = np.where(relaxation.tasks > one.nodes - one.threshold, one.nodes, relaxation.tasks)
        wide = one.jobs[relaxation.tasks[one.jobs] >= one.threshold]
        mine = np.flatnonzero(np.isin(job, wide) & (slow <= one.slowdown))
        limit = -one.nodes * float(levels[0])
        rows.add(np.append(1 + mine, 0), np.append((sized[job[mine]] * takes[mine]), -float(one.nodes)), limit)
    for j in range(jobs):
        mine = np.flatnonzero(job == j)
        rows.add(np.append(1 + mine, 0), np.append(takes[mine], -1.0), -float(relaxation.release[j]))
    watts = np.append(takes[way] * relaxation.extra_watts[of], -(left or 0.0))
    rows.add(np.append(used, 0), watts if left else 0.0 * watts, -(left or 0.0) * float(levels[0]))
    for k in range(way.size):
        rows.add(np.array([used[k], 1 + way[k]]), np.array([1.0, -float(least[k])]), 0.0)
    columns = 1 + job.size + way.size
    ways = np.arange(job.size)
    equal = coo_matrix(
        (
            np.concatenate([np.ones(job.size + way.size), -relaxation.tasks[job].astype(float)]),
            (np.concatenate([job, jobs + way, jobs + ways]), np.concatenate([1 + ways, used, 1 + ways])),
        ),
        shape=(jobs + job.size, columns),
    )
    cost = np.zeros(columns)
    cost[0] = relaxation.idle_total if of_energy else 1.0
    if of_energy:
        cost[used] = takes[way] * relaxation.extra_watts[of]
    table = coo_matrix((rows.value, tuple(zip(*rows.place, strict=True))), shape=(len(rows.limit), columns))
    right = np.concatenate([np.ones(jobs), np.zeros(job.size)])
    solved = linprog(cost, A_ub=table.tocsr(), b_ub=rows.limit, A_eq=equal.tocsr(), b_eq=right, method="highs")
    if solved.status != 0:
        return None
    price = np.maximum(-solved.ineqlin.marginals, 0.0)
    whole = np.rint(price / (price.max() or 1.0) * UNIT).astype(np.int64)
    area, rest = whole[: levels.size * classes].reshape(levels.size, classes), whole[levels.size * classes :]
    return {
        "levels": [text_of(level) for level in levels.tolist()],
        "area": [[int(row[c]) for c in relaxation.group_class.tolist()] for row in area],
        "wide": {_key(relaxation, one): int(w) for one, w in zip(pools, rest, strict=False) if w},
        "job": {str(j): int(w) for j, w in enumerate(rest[len(pools) : len(pools) + jobs].tolist()) if w},
    } | ({"watt": int(rest[len(pools) + jobs])} if left else {})


def text_of(value: float) -> str | int:
    """Return a float in the form of certificates: an int if it is whole, else an exact fraction as text."""
    return int(value) if value.is_integer() else str(Fraction(repr(value)))


def _key(relaxation: Relaxation, one: Family) -> str:
    """Return a family's name in a certificate: threshold:speed:partition."""
    speed = Fraction(1 / relaxation.slowdown[one.slowdown]).limit_denominator(10**6)
    return f"{one.threshold}:{speed}:{one.home}"
