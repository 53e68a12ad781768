"""Poisson arrivals: rate, load, sizes, run times."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched import generate


def test_gaps_are_exponential_at_the_rate() -> None:
    """Tests that gaps have the mean of the rate and that their spread equals their mean."""
    gaps = np.diff(generate.poisson(20_000, 64, rate=0.01, seed=1).submit)
    assert gaps.mean() == pytest.approx(100, rel=0.03)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)


def test_load_is_as_asked() -> None:
    """Tests that a wished load sets the rate."""
    assert generate.poisson(20_000, 64, load=0.6, seed=1).load() == pytest.approx(0.6, rel=0.03)


@pytest.mark.parametrize(("sizes", "known"), [("uniform", set(range(1, 13))), ("pow2", {1, 2, 4, 8}), ("serial", {1})])
def test_sizes(sizes: str, known: set[int]) -> None:
    """Tests that each distribution of sizes gives all its sizes up to the largest, and no other."""
    workload = generate.poisson(2_000, 64, rate=1, sizes=sizes, largest=12)  # type: ignore[arg-type]
    assert set(workload.tasks.tolist()) == known


@pytest.mark.parametrize(("runtimes", "spread"), [("exponential", 50.0), ("uniform", 50 / 3**0.5), ("constant", 0.0)])
def test_run_times(runtimes: str, spread: float) -> None:
    """Tests that each distribution of run times has the mean asked for and its own spread."""
    runtime = generate.poisson(20_000, 8, rate=1, runtimes=runtimes, mean_runtime=50.0).runtime  # type: ignore[arg-type]
    assert runtime.mean() == pytest.approx(50, rel=0.03)
    assert runtime.std() == pytest.approx(spread, rel=0.05)


def test_arrivals_do_not_depend_on_other_knobs() -> None:
    """Tests that with one seed the gaps stay when sizes or run times change: one knob at a time."""
    one = generate.poisson(50, 8, rate=0.5, seed=4)
    other = generate.poisson(50, 8, rate=0.5, sizes="serial", runtimes="constant", seed=4)
    assert np.array_equal(one.submit, other.submit)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({}, "exactly one of rate"),
        ({"rate": 1.0, "load": 1.0}, "exactly one of rate"),
        ({"rate": -1.0}, "above 0"),
        ({"rate": float("inf")}, "finite"),
        ({"rate": 1.0, "largest": 9}, "largest=9"),
        ({"rate": 1.0, "mean_runtime": 0.0}, "mean_runtime=0"),
        ({"rate": 1.0, "sizes": "pow3"}, "pow2"),
        ({"rate": 1.0, "runtimes": "exponental"}, "exponential"),
    ],
)
def test_wrong_arguments_are_named(options: dict[str, object], said: str) -> None:
    """Tests that what cannot be generated is an error that says why."""
    with pytest.raises(ValueError, match=said):
        generate.poisson(10, 8, **options)  # type: ignore[arg-type]
