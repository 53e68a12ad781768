"""The exact fronts that benchmarks judge searches by, and that the memetic search finds them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import brute, naive
from support import outside

import fedsched as fs
from fedsched.search.problem.objectives import Objectives

if TYPE_CHECKING:
    from types import ModuleType

    from fedsched.engine.arrays.structs import Floats

VECTORS = (("makespan", "energy"), ("makespan", "energy", "mean_wait"))


@pytest.fixture
def tiny_fronts(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the benchmarks' module."""
    return outside.benchmark(monkeypatch, "enumerated_fronts")


def in_order(values: Floats) -> Floats:
    """Return the rows sorted."""
    return values[np.lexsort(values.T[::-1])]


@pytest.mark.compiled
@pytest.mark.parametrize("objectives", VECTORS)
@pytest.mark.parametrize("seed", [1, 2])
def test_memetic_finds_the_whole_exact_front(tiny_fronts: ModuleType, seed: int, objectives: tuple[str, ...]) -> None:
    """Tests that on five jobs and two clusters the memetic front is the exact one, no plan more and none less."""
    workload, cluster = tiny_fronts.tiny(seed)
    front = tiny_fronts.enumerated_front(workload, cluster, Objectives(objectives))
    assert len(front) > 3
    found = fs.optimize(workload, cluster, objectives=objectives, evaluations=20_000, seed=1).front.values
    assert len(found) == len(front)
    assert in_order(found) == pytest.approx(in_order(front), rel=1e-9)


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_no_naive_schedule_is_beyond_the_enumerated_front(tiny_fronts: ModuleType, seed: int) -> None:
    """Tests that every strict schedule of the naive reference is equalled or dominated; some reach the front."""
    workload, cluster = tiny_fronts.tiny(seed, jobs=3)
    groups = [naive.Group(0, 3, 1.0, 100.0, 10.0), naive.Group(1, 2, 2.0, 600.0, 60.0)]
    jobs = [
        naive.Job(j, 0.0, int(tasks), float(runtime), float(runtime))
        for j, (tasks, runtime) in enumerate(zip(workload.tasks, workload.runtime, strict=True))
    ]
    names = ("makespan", "energy", "mean_wait")
    front = tiny_fronts.enumerated_front(workload, cluster, Objectives(names))
    reached = np.zeros(len(front), dtype=np.bool_)
    for result in brute.schedules(jobs, naive.Machine(groups, [np.inf, np.inf])):
        row = naive.metrics(result)
        values = np.array([row[name] for name in names])
        assert (front <= values * (1 + 1e-9)).all(axis=1).any()
        reached |= np.isclose(front, values, rtol=1e-9).all(axis=1)
    assert reached.any()


@pytest.mark.needs("ortools")
@pytest.mark.compiled
def test_the_enumerated_front_is_the_exact_model_s(tiny_fronts: ModuleType) -> None:
    """Tests that CP-SAT's front of makespan and energy is the one that all orders and choices of nodes give."""
    from fedsched.bounds import exact_front

    workload, cluster = tiny_fronts.tiny(2, jobs=4)
    front = tiny_fronts.enumerated_front(workload, cluster, Objectives(("makespan", "energy")))
    proven = exact_front(workload, cluster, workers=1)
    assert proven.complete
    assert proven.points == pytest.approx(front, rel=1e-5)


def test_jobs_that_send_have_no_enumerated_front(tiny_fronts: ModuleType) -> None:
    """Tests that where jobs may slow each other the enumeration refuses to be called exact."""
    workload, cluster = tiny_fronts.tiny(1)
    sending = fs.Workload(
        submit=workload.submit, tasks=workload.tasks, runtime=workload.runtime, compute_fraction=0.5, task_bandwidth=1.0
    )
    with pytest.raises(ValueError, match="starting early may hurt"):
        tiny_fronts.enumerated_front(sending, cluster, Objectives(("makespan", "energy")))
