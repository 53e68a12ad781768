"""The assignment encoding: a plan says for every task on which group's nodes it runs, as blacklists do not.

Tasks of a job are alike and so are nodes of a group: how many tasks lie on each group is all that an assignment says.
It is a row as any plan's, whose caps add up to the job's tasks: the job waits for just these nodes. Of one whose
nodes hold different numbers of its tasks [76] they are nodes that hold all of them, none of which it could do without.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.placement.tasks_per_node import places_on
from fedsched.model.jobs.uneven import without_spare
from fedsched.search.run.population import random_beside

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints
    from fedsched.search.problem.packed import PackedProblem
    from fedsched.search.run.run import Run

ORDER_SHARE = 0.5  # of the moves; the others move tasks
WHOLE_SHARE = 0.5  # of the moves of tasks: all of the job's
MOVES = 1  # the purpose of the draws, apart from a run's own
SWAP_SHARE = 0.25  # of the moves of order; the rest inserts


def first_assignments(run: Run, size: int) -> Ints:
    """Return what the run's seeds give every job, and random assignments beside them: so many at least."""
    wanted = random_beside(run, size)
    room = run.first_room(wanted)
    run.too_few |= room < size
    seeds = run.seeds[: max(room - wanted, 1)]
    random = random_assignments(run.problem, min(room, wanted), run.generator())
    return np.concatenate([assigned(run, seeds), random])


def assigned(run: Run, rows: Ints) -> Ints:
    """Return assignments that do as these plans: jobs in the order of their starts, on the nodes that they had then.

    Plans that leave a choice are evaluated for it.
    """
    problem = run.problem
    layout, (fits, tasks) = problem.layout, places_on(problem.problem, np.arange(problem.layout.jobs))
    found = rows.copy()
    layout.rules(found)[:] = problem.default_rules()
    caps = layout.caps(rows)
    empty = (caps * fits).sum(axis=2) - tasks
    spare = ((caps > 0) & (fits <= empty[:, :, None])).any(axis=2)  # nodes that it could do without
    for k in np.flatnonzero(((empty < 0) | spare).any(axis=1)).tolist():
        run.evaluate(rows[k : k + 1])
        state = problem.states[0]
        layout.caps(found)[k] = without_spare(state.counts[: layout.jobs], fits, tasks)
        layout.orders(found)[k] = np.argsort(state.start[: layout.jobs], kind="stable")
    return problem.repaired(found)


def random_assignments(problem: PackedProblem, count: int, rng: np.random.Generator) -> Ints:
    """Return random orders, every job on a cluster drawn at random, and on others what that does not hold."""
    jobs = problem.layout.jobs
    orders = rng.permuted(np.tile(np.arange(jobs), (count, 1)), axis=1)
    caps = _on_random_clusters(problem, np.tile(np.arange(jobs), count), rng).reshape(count, jobs, -1)
    rules = np.tile(np.array(problem.default_rules(), dtype=np.int64), (count, 1))
    return problem.repaired(problem.layout.pack(orders, caps, rules))


def reassigned(problem: PackedProblem, rows: Ints, moves: Ints, *, seed: int, generation: int) -> Ints:
    """Return the assignments, each changed in place by so many random moves: of jobs in the queue, or of tasks."""
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
    # Some tasks of one group, all that it has at most, to another one that has room for them.
    to = np.flatnonzero(counts < limits)
    if not to.size:
        return
    target = int(rng.choice(to))
    source = int(rng.choice(np.flatnonzero(counts > 0)))
    some = int(rng.integers(1, counts[source] + 1))
    if source != target:
        counts[source] -= some
        for g in (target, source):  # back, what has no room there
            lacking = max(tasks - int((counts * fits).sum()), 0)
            counts[g] += min(-(-lacking // int(fits[g])), int(limits[g] - counts[g]))
        if int((counts * fits).sum()) > tasks:
            counts[:] = without_spare(counts[None], fits[None], np.array([tasks]))[0]


def _on_random_clusters(problem: PackedProblem, jobs: Ints, rng: np.random.Generator) -> Ints:
    """Return the counts of jobs that fill clusters, and the groups of each, in an order drawn for each of them."""
    groups, limits = problem.problem.groups, problem.space.limits[jobs]
    turn = rng.random((len(jobs), groups.uplink.size))[:, groups.cluster]  # of the group's cluster
    order = np.lexsort((rng.random(limits.shape), turn), axis=1)
    in_turn = np.take_along_axis(limits, order, axis=1)
    fits, tasks = places_on(problem.problem, jobs)
    held = np.maximum(np.take_along_axis(fits, order, axis=1), 1)
    before = np.cumsum(in_turn * held, axis=1) - in_turn * held
    taken = np.clip(-((before - tasks[:, None]) // held), 0, in_turn)
    counts = np.empty_like(limits)
    np.put_along_axis(counts, order, taken, axis=1)
    return without_spare(counts, fits, tasks)
