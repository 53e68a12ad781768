"""Requested times: exact, by a factor, and Tsafrir's popular values."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched import Workload, generate
from fedsched.core.errors import UnknownNameError


@pytest.fixture(scope="module")
def jobs() -> Workload:
    return generate.lublin(10_000, 128, seed=1)


def test_exact_estimates_are_the_run_times(jobs: Workload) -> None:
    """Tests that "exact" undoes any other model."""
    assert (jobs.with_estimates("tsafrir").with_estimates("exact").estimate == jobs.runtime).all()


def test_a_factor_multiplies_and_a_pair_draws(jobs: Workload) -> None:
    """Tests that one factor is applied to all, and two are the ends of an even draw."""
    assert (jobs.with_estimates("factor", factor=3).estimate == 3 * jobs.runtime).all()
    drawn = jobs.with_estimates("factor", factor=(1, 5), seed=2).estimate / jobs.runtime
    assert drawn.min() >= 1
    assert drawn.max() <= 5
    assert drawn.mean() == pytest.approx(3, abs=0.1)


@pytest.mark.parametrize("maximum", [None, 72 * 3600.0])
def test_tsafrir_estimates_cluster_on_popular_values(jobs: Workload, maximum: float | None) -> None:
    """Tests that no request is below its run, twenty values hold nearly nine jobs in ten, and the maximum leads."""
    estimate = jobs.with_estimates("tsafrir", maximum=maximum, seed=1).estimate
    values, counts = np.unique(estimate, return_counts=True)
    assert (estimate >= jobs.runtime).all()
    assert values[counts.argmax()] == values.max()
    assert np.sort(counts)[-20:].sum() / len(jobs) == pytest.approx(0.89, abs=0.02)
    assert 60 <= len(values) <= 90
    assert (values % 60 == 0).all()
    if maximum is not None:
        assert values.max() == maximum


@pytest.mark.parametrize(("count", "values"), [(20, 10), (200, 20), (1_000, 35)])
def test_few_jobs_use_few_values(jobs: Workload, count: int, values: int) -> None:
    """Tests that the number of values follows the number of jobs."""
    used = len(np.unique(jobs.head(count).with_estimates("tsafrir").estimate))
    assert values * 0.6 <= used <= values


def test_popular_shares_fall_with_the_rank(jobs: Workload) -> None:
    """Tests that the second most popular value has the share of its rank: 14.0491·e^(−0.355)+0.46 per cent."""
    short = jobs.filter(jobs.runtime < 240)  # so that every request is long enough for every job
    counts = np.sort(np.unique(short.with_estimates("tsafrir").estimate, return_counts=True)[1])[::-1]
    assert counts[1] / len(short) == pytest.approx(0.1031, abs=0.004)


def test_a_single_job_and_a_seed(jobs: Workload) -> None:
    """Tests that one job is enough, and that a seed gives the same requests again."""
    assert jobs.head(1).with_estimates("tsafrir").estimate[0] >= jobs.runtime[0]
    assert jobs.with_estimates("tsafrir", seed=3) == jobs.with_estimates("tsafrir", seed=3)
    assert jobs.with_estimates("tsafrir", seed=3) != jobs.with_estimates("tsafrir", seed=4)
    assert "tsafrir" in jobs.with_estimates("tsafrir").history[-1]


def test_wrong_arguments_are_named(jobs: Workload) -> None:
    """Tests that a maximum below a run, a factor below 1 and an unknown model are errors that say so."""
    with pytest.raises(ValueError, match="maximum=60"):
        jobs.with_estimates("tsafrir", maximum=60)
    for endless in (np.inf, np.nan):
        with pytest.raises(ValueError, match="must be finite"):
            jobs.with_estimates("tsafrir", maximum=endless)
    with pytest.raises(ValueError, match=r"factor=0\.5"):
        jobs.with_estimates("factor", factor=0.5)
    with pytest.raises(UnknownNameError, match="tsafrir"):
        jobs.with_estimates("tsafrr")  # type: ignore[arg-type]


@pytest.mark.parametrize("maximum", [30.0, 100.0, 5429.0])
def test_no_request_is_above_the_machines_maximum(maximum: float) -> None:
    """Tests that rounding to the minute makes no request longer than the longest that is allowed."""
    requested = generate.tsafrir_estimates(np.full(3000, 20.0), maximum=maximum)
    assert requested.max() == maximum
    assert requested.min() >= 20.0


@pytest.mark.parametrize("factor", [np.inf, (1.0, np.inf), np.nan])
def test_a_factor_is_finite(jobs: Workload, factor: float | tuple[float, float]) -> None:
    """Tests that an endless factor is an error that names it."""
    with pytest.raises(ValueError, match="factor="):
        jobs.with_estimates("factor", factor=factor)
