"""Made workloads follow their models, and the same seed makes the same jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.generate import calibrate_bandwidth, lublin, planted, poisson, tsafrir_estimates
from fedsched.generate.communication import saturated_share
from fedsched.generate.lublin import BATCH, INTERACTIVE, TYPELESS, daily_cycle

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("kind", ["typeless", "batch", "interactive", "both"])
def test_lublin_is_seeded_and_fits_the_machine(kind: str) -> None:
    """The same seed gives the same jobs; none is larger than the machine or longer than e^12 s."""
    first, again, other = (lublin(300, 64, kind=kind, seed=seed) for seed in (1, 1, 2))
    assert first == again
    assert first != other
    assert first.tasks.max() <= 64
    assert first.runtime.max() <= np.exp(12)
    assert (np.diff(first.submit) >= 0).all()


@pytest.mark.needs_traces
def test_lublin_looks_like_the_models_own_output(traces_dir: Path) -> None:
    """Sizes and run times are not told apart from those of the original program at 1 %, nor is the median gap."""
    from scipy.stats import ks_2samp

    theirs = fs.read(traces_dir / "lublin_256.swf.gz")
    ours = lublin(10_000, 256, umed=5.5, seed=1)
    assert ks_2samp(ours.tasks, theirs.tasks).pvalue > 0.01
    assert ks_2samp(ours.runtime, theirs.runtime).pvalue > 0.01
    assert abs(np.median(np.diff(ours.submit)) - 116) < 6


@pytest.mark.parametrize("parameters", [TYPELESS, BATCH, INTERACTIVE])
def test_the_day_has_its_rush_hours(parameters: object) -> None:
    """The weights have mean 1, and the afternoon outweighs the night."""
    weights = daily_cycle(parameters)  # type: ignore[arg-type]
    assert weights.mean() == pytest.approx(1.0)
    assert weights[24:36].mean() > 2 * weights[4:12].mean()


def test_a_load_is_met() -> None:
    """`load` stretches the arrivals until area over machine and period is that."""
    assert lublin(2000, 64, load=0.6, seed=3).load(64) == pytest.approx(0.6)


def test_tsafrir_estimates_are_few_and_long_enough() -> None:
    """No request is below its run time; twenty values hold 89 % of the jobs; the greatest value leads."""
    runtime = lublin(10_000, 256, seed=1).runtime
    requested = tsafrir_estimates(runtime, seed=4)
    assert (requested >= runtime).all()
    values, counts = np.unique(requested, return_counts=True)
    assert np.sort(counts)[-20:].sum() / 10_000 == pytest.approx(0.89, abs=0.02)
    assert values[np.argmax(counts)] == values.max()
    assert len(values) <= 95
    assert (tsafrir_estimates(runtime, seed=4) == requested).all()


def test_estimates_by_factor_and_exact() -> None:
    """A factor lies in its range; exact is the run time; a factor below 1 is refused."""
    jobs = lublin(200, 16, seed=1)
    ratio = jobs.with_estimates("factor", factor=(2.0, 3.0), seed=1).estimate / jobs.runtime
    assert ratio.min() >= 2
    assert ratio.max() <= 3
    assert (jobs.with_estimates("exact").estimate == jobs.runtime).all()
    with pytest.raises(ValueError, match="at least the run time"):
        jobs.with_estimates("factor", factor=0.5)


def test_poisson_has_the_load_it_is_asked_for() -> None:
    """Long streams come near the offered load; the wrong number of rates is refused."""
    assert poisson(20_000, 32, load=0.7, seed=1).load(32) == pytest.approx(0.7, rel=0.05)
    assert set(poisson(200, 32, rate=1.0, sizes="pow2", seed=1).tasks.tolist()) <= {1, 2, 4, 8, 16, 32}
    with pytest.raises(ValueError, match="not both and not neither"):
        poisson(10, 4)


def test_communication_is_recorded_and_calibrated() -> None:
    """Drawn shares lie in their range, and the calibrated median gives the wanted share of saturated jobs."""
    federation = fs.Federation.of(8, 8, 4, uplink=1e8)
    jobs = lublin(600, 16, seed=2, load=0.9)
    drawn = jobs.with_communication(bandwidth=1e6, seed=1)
    assert ((drawn.compute_fraction >= 0.5) & (drawn.compute_fraction <= 1)).all()
    assert "communication" in drawn.history[-1]
    found = calibrate_bandwidth(jobs, federation, 0.3, rounds=18)
    share = saturated_share(fs.simulate(found, federation, "fcfs"))
    assert share == pytest.approx(0.3, abs=0.05)
    with pytest.raises(ValueError, match="no finite uplink"):
        calibrate_bandwidth(jobs, fs.Federation.of(8, 8), 0.3)


@pytest.mark.parametrize("seed", range(5))
def test_a_planted_optimum_is_an_optimum(seed: int) -> None:
    """The area certificate holds exactly enough, and no policy beats the optimum."""
    federation = fs.Federation(
        (
            fs.Cluster("A", (fs.NodeGroup(6, speed=2.0), fs.NodeGroup(4))),
            fs.Cluster("B", (fs.NodeGroup(5),)),
        )
    )
    jobs, best = planted(federation, jobs=40, makespan=1000.0, seed=seed)
    speeds = sum(group.count * group.speed for group in federation.groups)
    assert (jobs.tasks * jobs.runtime).sum() == pytest.approx(best * speeds)
    assert len(jobs) == 40
    for policy in ("fcfs", "greedy", "laf-greedy", "conservative"):
        assert fs.simulate(jobs, federation, policy).makespan >= best * (1 - 1e-12)
