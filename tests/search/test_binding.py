"""Binding to the earliest cluster, against the same rule in plain Python."""

from __future__ import annotations

import numpy as np
from support import strategies
from support.plain import plain
from support.tiers import tries

import fedsched as fs
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.seeds import bound_to_earliest
from fedsched.simulate import prepare


def plainly_bound(problem: SearchProblem, order: list[int]) -> tuple[list[int], list[list[int]]]:
    """Return order and caps by sorting all free instants anew for every job."""
    packed, limits = problem.problem, problem.space.limits.tolist()
    clusters: dict[int, list[int]] = {}
    for g in np.lexsort((problem.federation.turns, packed.groups.slowdown)).tolist():
        clusters.setdefault(int(packed.groups.cluster[g]), []).append(g)
    free = [[float(packed.t0)] * count for count in problem.space.nodes.tolist()]
    for i in range(packed.running.size):
        for g, busy in enumerate(problem.space.common.running.counts[i].tolist()):
            until = float(problem.space.common.running.planned_end[i])
            free[g] = sorted([until] * busy + free[g][busy:])
    caps, starts = [[0] * len(row) for row in limits], [0.0] * len(limits)
    for j in order:
        tasks, submit = int(packed.tasks[j]), float(packed.submit[j])
        best: tuple[float, float, list[int]] | None = None
        for _, members in sorted(clusters.items()):
            for most in range(1, len(members) + 1):
                used = members[:most]
                ready = sorted(instant for g in used for instant in free[g][: limits[j][g]])
                if len(ready) < tasks:
                    continue
                now = max(ready[tasks - 1], submit)
                sigma = float(packed.sigma[j])
                end = now + float(packed.estimate[j]) * (sigma * float(packed.groups.slowdown[used[-1]]) + 1.0 - sigma)
                if best is None or end < best[0]:
                    best = end, now, used
        if best is None:
            caps[j] = limits[j]
            starts[j] = max(sorted(instant for group in free for instant in group)[tasks - 1], submit)
            continue
        end, starts[j], used = best
        caps[j] = [limits[j][g] if g in used else 0 for g in range(len(free))]
        need = tasks
        for g in used:
            taken = min(need, sum(instant <= starts[j] for instant in free[g]), limits[j][g])
            free[g] = sorted([end] * taken + free[g][taken:])
            need -= taken
    turns = {j: turn for turn, j in enumerate(order)}
    return sorted(range(len(starts)), key=lambda j: (starts[j], turns.get(j, -1))), caps


def agrees(problem: SearchProblem, order: list[int]) -> bool:
    """Return whether the compiled rule gives what the plain one does."""
    found, caps = bound_to_earliest(problem, np.array(order))
    return (found.tolist(), caps.tolist()) == plainly_bound(problem, order)


def test_binding_is_the_plain_rule() -> None:
    """Tests order and caps on random federations, where some jobs fit on no single cluster."""
    spanning = 0
    for seed in range(tries(60)):
        scenario = strategies.random_scenario(seed, placement="fastest", kill_at_estimate=False).foreseen()
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        for submits in ("now", "keep"):
            problem = SearchProblem(workload, federation, Objectives.of("makespan"), submits=submits)
            order = np.random.default_rng(seed).permutation(len(workload)).tolist()
            assert agrees(problem, order), (seed, submits)
        widest = max(cluster.nodes for cluster in federation.clusters)
        spanning += bool((workload.tasks > widest).any())
    assert spanning >= tries(6)


def test_nodes_that_run_something_are_taken_later() -> None:
    """Tests that running jobs hold their nodes until their planned ends."""
    workload, federation = fs.Workload.example().head(40), fs.Federation.example()
    began = float(workload.submit[25])
    running = prepare(workload, federation, "easy", t0=float(workload.submit[0])).advance(until=began).running()
    assert len(running.rows) > 3
    problem = SearchProblem(workload, federation, Objectives.of("makespan"), submits="keep", running=running)
    order = [j for j in range(40) if j not in set(running.rows.tolist())]
    assert agrees(problem, order)


binding = plain("fedsched.search.problem.binding")


def test_when_so_many_nodes_are_free() -> None:
    """Of two groups with nodes free from 1 4 9 and 2 3 8 s, four are free at 4 s, or at 8 s with one of the first."""
    begin, free, head = np.array([0, 3, 6]), np.array([1.0, 4.0, 9.0, 2.0, 3.0, 8.0]), np.full(2, 77)

    def instant(tasks: int, limits: list[int], groups: tuple[int, ...] = (0, 1)) -> float:
        return binding._instant(tasks, np.array([0, 1]), groups[0], groups[-1] + 1, np.array(limits), begin, free, head)

    assert [instant(tasks, [3, 3]) for tasks in range(1, 8)] == [1.0, 2.0, 3.0, 4.0, 8.0, 9.0, np.inf]
    assert instant(4, [1, 3]) == 8.0
    assert instant(3, [3, 1]) == 4.0
    assert instant(2, [3, 3], (1,)) == 3.0
    assert instant(4, [2, 1]) == np.inf


def test_nodes_that_are_taken_come_back_in_order() -> None:
    """The nodes that come free first are free again at a later time, among the others."""
    for taken, until, expected in (
        (2, 5.0, [4.0, 5.0, 5.0, 9.0]),
        (1, 0.5, [0.5, 2.0, 4.0, 9.0]),
        (4, 7.0, [7.0] * 4),
        (1, 99.0, [2.0, 4.0, 9.0, 99.0]),
        (0, 5.0, [1.0, 2.0, 4.0, 9.0]),
    ):
        free = np.array([-1.0, 1.0, 2.0, 4.0, 9.0, -1.0])
        binding._occupy(free, 1, 5, taken, until)
        assert free.tolist() == [-1.0, *expected, -1.0]
