"""A grouped queue beside a reservation, as random numbers have it."""

from __future__ import annotations

import numpy as np
from support.plain import arrived, clusters, jobs, plain

from fedsched.engine.numbers import Counter

class_tables = plain("fedsched.engine.queue.class_tables")
classes = plain("fedsched.engine.queue.classes")
JOBS = 150  # some blocks of positions
MACHINE = clusters(((8, 1.0),), ((5, 2.0), (3, 1.0)), ((10, 0.5),))


def busy(seed: int, placement: str = "fastest"):
    """Return problem, plan, state and tables of a grouped queue, some nodes free and some of them reserved."""
    rng = np.random.default_rng(seed)
    sigma = rng.random(JOBS) if seed % 2 else np.full(JOBS, 0.9)
    columns = {"compute_fraction": sigma, "origin": rng.integers(0, 3, JOBS), "sites": ("c0", "c1", "c2")}
    workload = jobs(rng.integers(1, 14, JOBS), rng.integers(1, 100, JOBS), **columns)
    caps = np.array([8, 5, 3, 10]) * np.ones((JOBS, 1), dtype=np.int64)
    bound = (rng.random(JOBS) < 0.5) & (workload.tasks <= 8)
    caps[bound] *= np.array([[1, 0, 0, 0], [0, 1, 1, 0], [0, 0, 0, 1]])[rng.integers(0, 3, bound.sum())]
    problem, plan, state = arrived(workload, MACHINE, dispatch="easy", placement=placement, caps=caps)
    state.free[:] = rng.integers(0, problem.groups.nodes + 1)
    state.counter[Counter.FREE] = state.free.sum()
    state.scratch.extra[:] = rng.integers(0, problem.groups.nodes + 1) * rng.integers(0, 2)
    classes.group(problem, plan, state, state.queue)
    return problem, plan, state, class_tables.tables_of(state), float(rng.integers(0, 60))


def scanned(problem, plan, state, window: float) -> list[int]:
    """Return the positions that a scan hands out while nothing starts."""
    found, position = [], classes.first_of_classes(problem, plan, state, state.queue, 0, window)
    while position >= 0:
        found.append(position)
        position = classes.next_of_classes(problem, plan, state, state.queue, window)
    return found
