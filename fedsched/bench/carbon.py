"""A linear program with node prices over time, which propose a proof of a lower bound on carbon."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.bench.programs import UNIT

if TYPE_CHECKING:
    from fedsched.bench.proof import Problem
    from fedsched.bounds.lower.relaxation import Relaxation

STRETCHES = 24  # priced stretches of time, besides those of the signal
ROOM = 2  # they reach this many times as far as all work takes on the slowest nodes


def stretches(relaxation: Relaxation, problem: Problem) -> list[int]:
    """Return the edges, in seconds from 0, of stretches with a constant signal value.

    They reach far enough for any good schedule.
    """
    [signal] = problem.green
    slowest = np.where(relaxation.usable, relaxation.duration, 0.0).max(axis=1)
    work = float(relaxation.tasks @ slowest) / relaxation.total_nodes
    reach = ROOM * max(float(relaxation.shortest.max()), work)
    times, span = signal["times"], signal["until"]
    changes = {turn * span + at for turn in range(int(reach // span) + 2) for at in times}
    step = max(1, int(reach // STRETCHES))
    return sorted({at for at in {*changes, *range(0, int(reach), step)} if at <= reach} | {int(reach) + 1})


def priced_by_carbon(relaxation: Relaxation, problem: Problem) -> dict[str, Any]:
    """Return a proof of a bound on carbon, as a certificate's content, from the duals of a linear program.

    In the program jobs run in parts within stretches, and all nodes are on until the end.
    """
    from scipy.optimize import linprog
    from scipy.sparse import coo_matrix, vstack

    edges = stretches(relaxation, problem)
    lengths = np.diff(edges).astype(float)
    green = np.array([float(problem.greenest(a, b)) for a, b in pairwise(edges)])  # type: ignore[arg-type]
    classes, many = relaxation.nodes.size, lengths.size
    job, slow = np.nonzero(relaxation.usable)
    way, of = np.nonzero((relaxation.class_slowdown <= slow[:, None]) & (relaxation.caps[job] > 0))
    # columns: the share of each stretch in which nodes are on; a job's share that runs in a way; node-seconds by
    # stretch
    ways, uses = job.size, way.size * many
    on, some, used = np.arange(many), many + np.arange(ways), many + ways + np.arange(uses).reshape(way.size, many)
    takes = relaxation.tasks[job] * relaxation.duration[job, slow]
    rows = (of[:, None] * many + on).ravel()
    capacity = coo_matrix(
        (
            np.concatenate([np.ones(uses), -np.repeat(relaxation.nodes, many) * np.tile(lengths, classes)]),
            (
                np.concatenate([rows, np.arange(classes * many)]),
                np.concatenate([used.ravel(), np.tile(on, classes)]),
            ),
        ),
        shape=(classes * many, many + ways + uses),
    )
    later = coo_matrix(
        (
            np.concatenate([np.ones(many - 1), -np.ones(many - 1)]),
            (np.tile(np.arange(many - 1), 2), np.concatenate([on[1:], on[:-1]])),
        ),
        shape=(many - 1, many + ways + uses),
    )
    whole = coo_matrix((np.ones(ways), (job, some)), shape=(relaxation.tasks.size, many + ways + uses))
    shared = coo_matrix(
        (
            np.concatenate([np.ones(uses), -takes]),
            (np.concatenate([np.repeat(way, many), np.arange(ways)]), np.concatenate([used.ravel(), some])),
        ),
        shape=(ways, many + ways + uses),
    )
    cost = np.zeros(many + ways + uses)
    cost[on] = relaxation.idle_total * green * lengths
    cost[used] = relaxation.extra_watts[of][:, None] * green
    solved = linprog(
        cost, A_ub=vstack([capacity, later]).tocsr(), b_ub=np.zeros(classes * many + many - 1),
        A_eq=vstack([whole, shared]).tocsr(), b_eq=np.concatenate([np.ones(relaxation.tasks.size), np.zeros(ways)]),
        bounds=[(0, 1)] * many + [(0, None)] * (ways + uses), method="highs",
    )  # fmt: skip
    price = np.maximum(-solved.ineqlin.marginals[: classes * many], 0.0).reshape(classes, many)
    unit = max(1, round(UNIT / (float(price.max()) or 1.0)))
    whole_prices = np.rint(price * unit).astype(np.int64)
    prices = [[*whole_prices[c].tolist(), 0] for c in relaxation.group_class.tolist()]
    return {
        "objective": "carbon", "edges": edges, "unit": unit, "prices": prices, "packs": [], "job": {}, "watt": 0,
        "before": edges[-1],
    }  # fmt: skip
