"""The assignment encoding: a plan fixes how many nodes of each group every job takes.

The other encoding, a blacklist, only forbids nodes. A job's tasks are alike, and so are a group's nodes, so the number
of tasks on each group is all that it needs. An assignment is a row like any plan's, with caps that add up to the job's
tasks: the job waits for exactly these nodes. If a job's nodes hold different numbers of its tasks [76], its caps are
nodes that hold all tasks, with none to spare.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.placement.tasks_per_node import places_on
from fedsched.model.jobs.uneven import drop_spare_nodes
from fedsched.search.run.population import random_beside

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.run import Run

ORDER_SHARE = 0.5  # share of the moves that change the order; the others move tasks
WHOLE_SHARE = 0.5  # share of the moves of tasks that place all tasks of the job again
MOVES = 1  # number of the random stream, to keep it apart from a run's own
SWAP_SHARE = 0.25  # share of the moves of order that swap two jobs; the others insert one


def first_assignments(run: Run, size: int) -> Ints:
    """Return first plans as assignments: the run's seeds, then random ones; at least `size` if there is time.

    If there is not, drop seeds first, then random ones, and set `run.too_few` if fewer than `size` remain.
    """
    wanted = random_beside(run, size)
    room = run.first_plans_in_time(wanted)
    run.too_few |= room < size
    seeds = run.seeds[: max(room - wanted, 1)]
    random = random_assignments(run.problem, min(room, wanted), run.generator())
    return np.concatenate([assigned(run, seeds), random])


def assigned(run: Run, rows: Ints) -> Ints:
    """Return plans as feasible assignments that repeat their schedules, with the default rules.

    If a plan's caps leave a choice of nodes, it is simulated, which counts as an evaluation. Its caps become the
    nodes that the jobs got, and its order that of their starts.
    """
    problem = run.problem
    layout, (fits, tasks) = problem.layout, places_on(problem.problem, np.arange(problem.layout.jobs))
    found = rows.copy()
    layout.rules(found)[:] = problem.default_rules()
    caps = layout.caps(rows)
    empty = (caps * fits).sum(axis=2) - tasks
    spare = ((caps > 0) & (fits <= empty[:, :, None])).any(axis=2)  # some node is not needed
    for k in np.flatnonzero(((empty < 0) | spare).any(axis=1)).tolist():
        run.evaluate(rows[k : k + 1])
        state = problem.states[0]
        layout.caps(found)[k] = drop_spare_nodes(state.counts[: layout.jobs], fits, tasks)
        layout.orders(found)[k] = np.argsort(state.start[: layout.jobs], kind="stable")
    return problem.repaired(found)


def random_assignments(problem: PackedProblem, count: int, rng: np.random.Generator) -> Ints:
    """Return `count` feasible assignments in random orders, with each job on random clusters.

    A job's tasks fill one cluster; those that do not fit go to the next one.
    """
    jobs = problem.layout.jobs
    orders = rng.permuted(np.tile(np.arange(jobs), (count, 1)), axis=1)
    caps = _on_random_clusters(problem, np.tile(np.arange(jobs), count), rng).reshape(count, jobs, -1)
    rules = np.tile(np.array(problem.default_rules(), dtype=np.int64), (count, 1))
    return problem.repaired(problem.layout.pack(orders, caps, rules))


def reassigned(problem: PackedProblem, rows: Ints, moves: Ints, *, seed: int, generation: int) -> Ints:
    """Change each row in place by its number of random moves, `moves[row]`, repair it, and return all rows.

    A move changes the order (it swaps two jobs or moves one), or puts tasks of one job on other groups.
    """
    rng = np.random.default_rng([seed, generation, MOVES])
    jobs = problem.layout.jobs
    orders, caps = problem.layout.orders(rows), problem.layout.caps(rows)
    fits, tasks = places_on(problem.problem, np.arange(jobs))
    for c in np.repeat(np.arange(len(rows)), moves).tolist():
        kind = rng.random()
        if kind < ORDER_SHARE:
            a, b = rng.integers(jobs, size=2).tolist()
            if kind < ORDER_SHARE * SWAP_SHARE:
                orders[c, [a, b]] = orders[c, [b, a]]
            else:
                orders[c] = np.insert(np.delete(orders[c], a), b, orders[c, a])
            continue
        j = int(rng.integers(jobs))
        if kind < ORDER_SHARE + (1.0 - ORDER_SHARE) * WHOLE_SHARE:
            caps[c, j] = _on_random_clusters(problem, np.array([j]), rng)[0]
        else:
            _move_tasks(caps[c, j], problem.space.limits[j], fits[j], int(tasks[j]), rng)
    return problem.repaired(rows)


def _move_tasks(counts: Ints, limits: Ints, fits: Ints, tasks: int, rng: np.random.Generator) -> None:
    # Moves a random number of one group's tasks, possibly all, to another group with room.
    to = np.flatnonzero(counts < limits)
    if not to.size:
        return
    target = int(rng.choice(to))
    source = int(rng.choice(np.flatnonzero(counts > 0)))
    some = int(rng.integers(1, counts[source] + 1))
    if source != target:
        counts[source] -= some
        for g in (target, source):  # tasks without room go back
            lacking = max(tasks - int((counts * fits).sum()), 0)
            counts[g] += min(-(-lacking // int(fits[g])), int(limits[g] - counts[g]))
        if int((counts * fits).sum()) > tasks:
            counts[:] = drop_spare_nodes(counts[None], fits[None], np.array([tasks]))[0]


def _on_random_clusters(problem: PackedProblem, jobs: Ints, rng: np.random.Generator) -> Ints:
    """Return the node counts (jobs × groups) of jobs that fill clusters one after the other until all tasks fit.

    The order of the clusters, and of the groups within each, is random for each job.
    """
    groups, limits = problem.problem.groups, problem.space.limits[jobs]
    turn = rng.random((len(jobs), groups.uplink.size))[:, groups.cluster]  # the random key of each group's cluster
    order = np.lexsort((rng.random(limits.shape), turn), axis=1)
    in_turn = np.take_along_axis(limits, order, axis=1)
    fits, tasks = places_on(problem.problem, jobs)
    held = np.maximum(np.take_along_axis(fits, order, axis=1), 1)
    before = np.cumsum(in_turn * held, axis=1) - in_turn * held
    taken = np.clip(-((before - tasks[:, None]) // held), 0, in_turn)
    counts = np.empty_like(limits)
    np.put_along_axis(counts, order, taken, axis=1)
    return drop_spare_nodes(counts, fits, tasks)
