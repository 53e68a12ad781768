"""The exact model with jobs alone on nodes that hold different numbers of their tasks: no schedule at all is better."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from reference import brute, naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import exact
from fedsched.bounds.exact_answers import cp_sat_model

pytestmark = pytest.mark.needs("ortools")

PATIENCE = 600.0  # seconds that no case here needs, on however busy a machine
SPREADS = 600  # orders × ways to spread all jobs: more take too long to try


def cases(number: int) -> list[tuple[list[naive.Job], naive.Machine]]:
    """Return tiny problems of such jobs and others, with all else that the exact model takes."""
    found = []
    for seed in itertools.count():
        drawn = strategies.random_scenario(seed, max_jobs=4).for_the_exact_model()
        scenario = drawn.without_watts()
        if seed % 2:  # none below those of idle nodes
            jobs = [replace(job, gear=0, watts=None if job.watts is None else job.watts + 90.25) for job in drawn.jobs]
            scenario = replace(drawn, jobs=jobs)
        scenario = strategies.on_uneven_nodes(scenario, seed)
        jobs = [replace(job, bandwidth=0.0, estimate=job.runtime) for job in scenario.jobs]
        held = [naive.on_whole_nodes(job, scenario.machine) for job in jobs]
        ways = (len(brute.spreads(job, naive.effective_caps(job, scenario.machine))) for job in held)
        if any(job.fits for job in held) and math.factorial(len(jobs)) * math.prod(ways) <= SPREADS:
            found.append((jobs, scenario.machine))
        if len(found) == number:
            return found
    raise AssertionError


@pytest.mark.slow
@pytest.mark.parametrize("many", [cp_sat_model.MANY, 0], ids=["ways one by one", "numbers of nodes"])
def test_no_schedule_is_better(many: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests the least makespan and energy against every order on every choice of nodes, and that schedules hold."""
    monkeypatch.setattr(cp_sat_model, "MANY", many)
    proven = 0
    for jobs, machine in cases(tries(32)):
        workload, federation, caps = strategies.to_package(jobs, machine)
        _, points = brute.best_of_all([naive.on_whole_nodes(job, machine) for job in jobs], machine)
        for objective, best in (("makespan", min(point[0] for point in points)), ("energy", min(e for _, e in points))):
            answer = exact(workload, federation, objective=objective, caps=caps, seconds=PATIENCE, workers=1)
            answer.schedule.verify(caps=caps)
            assert answer.bound <= best * (1 + 1e-9)
            assert answer.value == pytest.approx(best, rel=1e-6, abs=1e-6)
            proven += answer.status == "optimal"
    assert proven > tries(32)


def test_fewer_large_nodes_or_more_small_ones() -> None:
    """Tests that of 8 tasks on two nodes of four or one of eight the optimum takes what leaves the other job room."""
    groups = tuple(fs.NodeGroup(n, 1.0, 100.0, 1.0, resources={"cpu": cpus}) for n, cpus in ((2, 4), (1, 8)))
    machine = fs.Federation((fs.Cluster("A", groups),))
    jobs = fs.Workload(submit=[0, 0], tasks=[8, 6], runtime=[10.0, 10.0], layout={"exclusive": 1})
    answer = exact(jobs, machine, seconds=PATIENCE, workers=1)
    assert answer.status == "optimal"
    assert answer.value == 10.0
    assert sorted(answer.schedule.counts.tolist()) == [[0, 1], [2, 0]]
    three = fs.Workload(submit=[0, 0, 0], tasks=[8, 6, 8], runtime=[10.0] * 3, layout={"exclusive": 1})
    energy = exact(three, machine, objective="energy", seconds=PATIENCE, workers=1)
    assert energy.value == 30 * (2 * 1.0 + 100.0)  # one after the other on the large node
    assert np.array_equal(energy.schedule.counts, [[0, 1]] * 3)
