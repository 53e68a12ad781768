"""Drawn communication, and its calibration to a share of saturation."""

from __future__ import annotations

import math

import numpy as np
import pytest

import fedsched as fs
from fedsched import generate
from fedsched.calibration import saturated_share

PAIR = fs.Federation.of(16, 16, uplink=1e6, name="pair")


@pytest.fixture(scope="module")
def jobs() -> fs.Workload:
    return generate.poisson(300, 32, load=0.9, sizes="uniform", largest=28, seed=1)


def test_draws_lie_where_they_should(jobs: fs.Workload) -> None:
    """Tests that fractions lie in their range, bandwidths around the median, and the history says how."""
    many = generate.poisson(20_000, 8, rate=1).with_communication(bandwidth=1e6, compute_fraction=(0.2, 0.6), spread=10)
    assert many.compute_fraction.min() >= 0.2
    assert many.compute_fraction.max() <= 0.6
    assert many.compute_fraction.mean() == pytest.approx(0.4, abs=0.01)
    assert many.task_bandwidth.min() >= 1e5
    assert many.task_bandwidth.max() <= 1e7
    assert np.median(many.task_bandwidth) == pytest.approx(1e6, rel=0.1)
    assert "bandwidth=1e+06" in many.history[-1]
    fixed = jobs.with_communication(bandwidth=5.0, compute_fraction=0.7, spread=1)
    assert set(fixed.task_bandwidth) == {5.0}
    assert set(fixed.compute_fraction) == {0.7}


def test_the_same_seed_scales_with_the_median(jobs: fs.Workload) -> None:
    """Tests that only the scale changes with the median, so that a calibration compares like with like."""
    small, large = (jobs.with_communication(bandwidth=b, seed=3) for b in (1.0, 1000.0))
    assert np.allclose(small.task_bandwidth * 1000, large.task_bandwidth)
    assert np.array_equal(small.compute_fraction, large.compute_fraction)
    assert small != jobs.with_communication(bandwidth=1.0, seed=4)


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_calibration_reaches_the_share(jobs: fs.Workload, share: float) -> None:
    """Tests that simulating the calibrated workload anew finds the share of saturated jobs that was asked for."""
    found = generate.calibrate_bandwidth(jobs, PAIR, share, rounds=16)
    schedule = fs.simulate(found, PAIR, "fcfs")
    assert saturated_share(schedule) == pytest.approx(share, abs=0.1)
    assert f"calibrated: {saturated_share(schedule):.4f}" in found.history[-1]


def test_without_demand_nothing_is_saturated(jobs: fs.Workload) -> None:
    """Tests that a schedule whose tasks send nothing has a saturated share of 0, and some jobs cross clusters."""
    schedule = fs.simulate(jobs, PAIR, "fcfs")
    assert schedule.coallocated.any()
    assert saturated_share(schedule) == 0.0


def test_calibration_refuses_what_cannot_be(jobs: fs.Workload) -> None:
    """Tests that free uplinks, shares out of range and jobs that never cross clusters are errors that say so."""
    with pytest.raises(ValueError, match="no finite uplink"):
        generate.calibrate_bandwidth(jobs, fs.Federation.of(16, 16), 0.5)
    with pytest.raises(ValueError, match=r"share=1\.5"):
        generate.calibrate_bandwidth(jobs, PAIR, 1.5)
    with pytest.raises(ValueError, match="too few of those communicate"):
        generate.calibrate_bandwidth(jobs, PAIR, 0.5, compute_fraction=1.0)
    serial = generate.poisson(20, 32, rate=1, sizes="serial")
    with pytest.raises(ValueError, match="too few jobs cross"):
        generate.calibrate_bandwidth(serial, PAIR, 0.5)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"bandwidth": -1.0}, "bandwidth=-1"),
        ({"bandwidth": math.inf}, "bandwidth=inf"),
        ({"bandwidth": 1.0, "compute_fraction": 1.5}, "compute_fraction=1.5"),
        ({"bandwidth": 1.0, "compute_fraction": (0.9, 0.1)}, "compute_fraction"),
        ({"bandwidth": 1.0, "spread": 0.5}, "spread=0.5"),
        ({"bandwidth": 1.0, "spread": math.inf}, "spread=inf"),
    ],
)
def test_wrong_arguments_are_named(jobs: fs.Workload, options: dict[str, float], said: str) -> None:
    """Tests that impossible draws are errors that name the argument and its value."""
    with pytest.raises(ValueError, match=said):
        jobs.with_communication(**options)  # type: ignore[arg-type]
