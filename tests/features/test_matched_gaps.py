"""Which nodes go off between uses that are known: no other turn of a group's nodes takes less energy [66]."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support.tiers import tries

import fedsched as fs
from fedsched.model.schedule.matched_gaps import energy_saved, is_concave
from fedsched.policies import Planned

FRUGAL = {"off_watts": 5.0, "boot_watts": 20.0, "shutdown_watts": 10.0, "boot_seconds": 20.0, "shutdown_seconds": 10.0}
DEAR = {"off_watts": 5.0, "boot_seconds": 20.0, "shutdown_seconds": 10.0}


def of_one_group(node: fs.NodeGroup, runs: list[tuple[float, float]]) -> fs.Schedule:
    """Return one-node jobs that begin and end so, on nodes that are off by plan."""
    begin, end = np.array(runs).T
    log = fs.Workload(submit=begin, tasks=[1] * len(runs), runtime=end - begin)
    schedule = fs.simulate(log, fs.Federation((fs.Cluster("a", (node,)),), power=Planned()), "greedy")
    assert schedule.start.tolist() == begin.tolist()
    schedule.verify(claimed=schedule.metrics())
    return schedule


def least_energy(node: fs.NodeGroup, runs: list[tuple[float, float]]) -> float:
    """Return the least energy of all ways to say which run follows which end on a node; runs come as they begin."""
    first, last = runs[0][0], max(end for _, end in runs)
    busy = sum((end - begin) * (node.busy_watts - node.idle_watts) for begin, end in runs)
    always = busy + node.count * node.idle_watts * (last - first)

    def most_spared(k: int, free: tuple[float, ...]) -> float:
        if k == len(runs):
            return sum(max(0.0, energy_saved(node, last - one, again=False)) for one in free)
        begin, end = runs[k]
        return max(
            max(0.0, energy_saved(node, begin - one, again=True)) + most_spared(k + 1, (*free[:i], *free[i + 1 :], end))
            for i, one in enumerate(free)
            if one <= begin
        )

    return always - most_spared(0, (first,) * node.count)


def test_two_gaps_of_middling_length_by_hand() -> None:
    """Ends at 0 and 20, uses at 40 and 60: two gaps of 40 s are slept through, one of 20 s beside 60 s would idle."""
    node = fs.NodeGroup(2, 1.0, 200.0, 100.0, **FRUGAL)
    assert not is_concave(node)
    schedule = of_one_group(node, [(0.0, 10.0), (0.0, 30.0), (50.0, 60.0), (70.0, 80.0)])
    asleep = 10 * 10.0 + 10 * 5.0 + 20 * 20.0
    busy = (10.0 + 30.0 + 10.0 + 10.0) * 200.0
    last = 10 * 10.0 + 10 * 5.0  # of the node whose job ends at 60
    assert schedule.metrics().energy == pytest.approx(busy + 2 * asleep + last, rel=1e-12)
    assert schedule.metrics().switches == 3


@pytest.mark.parametrize("states", [FRUGAL, DEAR, FRUGAL | {"shutdown_watts": 0.0}])
def test_no_turn_of_the_nodes_takes_less_energy(states: dict[str, float]) -> None:
    """Of up to six uses of three nodes no other turn takes less; the last freed first is as good where claimed."""
    rng = random.Random(len(states))
    saved = 0
    for _ in range(tries(60)):
        node = fs.NodeGroup(rng.randint(1, 3), 1.0, 200.0, 100.0, **states)
        runs: list[tuple[float, float]] = []
        for begin in sorted(5.0 * rng.randrange(30) for _ in range(rng.randint(1, 6))):
            end = begin + 5.0 * rng.randint(1, 6)
            if sum(other > begin for _, other in runs) < node.count:
                runs.append((begin, end))
        found = of_one_group(node, runs).metrics()
        assert found.energy == pytest.approx(least_energy(node, runs), rel=1e-9)
        saved += found.switches > 0
    assert saved > tries(60) // 4
