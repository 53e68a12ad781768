"""What bench_scaling.py says of its measurements."""

from __future__ import annotations

import importlib
import math
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from types import ModuleType

BENCHMARKS = Path(__file__).resolve().parent.parent / "benchmarks"


@pytest.fixture
def bench(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """Return the benchmark as a module, found as when it is run from its folder."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))
    for name in ("measuring", "scaling_points", "bench_scaling"):
        monkeypatch.delitem(sys.modules, name, raising=False)
    return importlib.import_module("bench_scaling")


def test_exponents_are_those_of_the_curve(bench: ModuleType) -> None:
    """Tests growth like n^1.5, like n log n, and that only sizes from the least on are looked at."""
    sizes = [100, 1000, 10_000, 100_000]
    power = bench.Curve(sizes, [1e-6 * n**1.5 for n in sizes])
    assert power.exponent() == pytest.approx(1.5)
    sorting = bench.Curve(sizes, [1e-6 * n * math.log(n) for n in sizes])
    assert sorting.exponent(over_log=True) == pytest.approx(1.0)
    assert 1.0 < sorting.exponent() < 1.3
    bent = bench.Curve(sizes, [1.0, *(1e-6 * n**2 for n in sizes[1:])])
    assert bent.exponent(1000) == pytest.approx(2.0)
    assert bent.exponent() < 1.9
    assert math.isnan(bench.Curve([100], [1.0]).exponent())


def test_a_curve_foresees_its_next_point(bench: ModuleType) -> None:
    """Tests that time is taken to go on growing as between the last two sizes, never less than linearly."""
    assert bench.Curve([100], [1.0]).next_seconds(1000) == 0.0
    assert bench.Curve([100, 1000], [1.0, 100.0]).next_seconds(10_000) == pytest.approx(10_000.0)
    assert bench.Curve([100, 1000], [1.0, 1.0]).next_seconds(10_000) == pytest.approx(10.0)


def test_memory_is_the_growth_between_the_largest_sizes(bench: ModuleType) -> None:
    """Tests that what a process needs anyway is not counted to the jobs."""
    assert bench.Curve([10, 100, 1100], [1.0] * 3, [9e8, 9e8, 9e8 + 5e5]).bytes_a_job() == 500.0


@pytest.mark.parametrize(("nodes", "groups", "sizes"), [(10, 4, [3, 3, 2, 2]), (3, 8, [1, 1, 1]), (256, 1, [256])])
def test_a_machine_is_split_evenly(bench: ModuleType, nodes: int, groups: int, sizes: list[int]) -> None:
    """Tests that no node is lost and no group empty."""
    assert bench.split(nodes, groups) == sizes
