"""The Lublin–Feitelson model: its distributions, its two streams, its day."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched import generate
from fedsched.errors import UnknownNameError
from fedsched.generate.lublin import BATCH, INTERACTIVE, TYPELESS, daily_cycle

if TYPE_CHECKING:
    from pathlib import Path


def test_the_archives_output_of_the_model_is_of_the_same_kind(traces_dir: Path) -> None:
    """Tests that sizes and run times cannot be told from those of the model's own program (KS test at 1 %)."""
    from scipy.stats import ks_2samp

    theirs = fs.read(traces_dir / "lublin_256.swf.gz")
    ours = generate.lublin(10_000, 256, seed=7)
    assert ks_2samp(ours.tasks, theirs.tasks).pvalue > 0.01
    assert ks_2samp(ours.runtime, theirs.runtime).pvalue > 0.01
    wrong = generate.lublin(10_000, 256, umed=4.5, seed=7)
    assert ks_2samp(wrong.tasks, theirs.tasks).pvalue < 1e-6


def test_median_gap() -> None:
    """Tests that half of the gaps between submits are shorter than about 116 s on 256 nodes."""
    gaps = np.diff(generate.lublin(20_000, 256, seed=3).submit)
    assert np.median(gaps) == pytest.approx(116, rel=0.06)


@pytest.mark.parametrize(
    ("kind", "serial", "powers"),
    [("typeless", 0.244, 0.576), ("batch", 0.2927, 0.6686), ("interactive", 0.1541, 0.625)],
)
def test_shares_of_serial_jobs_and_powers_of_two(kind: str, serial: float, powers: float) -> None:
    """Tests that the three columns of parameters give their own shares of serial and power-of-two jobs."""
    tasks = generate.lublin(20_000, 1024, kind=kind, seed=1).tasks
    assert np.mean(tasks == 1) == pytest.approx(serial, abs=0.02)
    # Some sizes that are drawn freely are powers of two by chance.
    assert serial + powers - 0.02 < np.mean((tasks & (tasks - 1)) == 0) < serial + powers + 0.08


@pytest.mark.parametrize("nodes", [1, 2, 5, 12, 100, 128, 1000])
def test_no_job_is_larger_than_the_machine(nodes: int) -> None:
    """Tests that sizes stay within machines of any size, powers of two or not, and runs are whole seconds."""
    workload = generate.lublin(2_000, nodes, seed=1)
    assert workload.tasks.max() <= nodes
    assert workload.nodes == nodes
    assert workload.runtime.min() >= 1
    assert workload.runtime.max() <= np.exp(12)
    assert (workload.runtime == np.floor(workload.runtime)).all()
    assert (np.diff(workload.submit) >= 0).all()


@pytest.mark.parametrize("parameters", [TYPELESS, BATCH, INTERACTIVE])
def test_the_day_has_a_mean_of_one_and_quiet_nights(parameters: object) -> None:
    """Tests that the 48 weights have mean 1 and that far more is submitted by day than by night."""
    weights = daily_cycle(parameters)  # type: ignore[arg-type]
    assert weights.mean() == pytest.approx(1)
    assert weights[20:34].mean() > 3 * weights[6:10].mean()


def test_submits_follow_the_day() -> None:
    """Tests that the jobs of each half hour are in proportion to its weight."""
    workload = generate.lublin(50_000, 128, seed=5)
    counts = np.bincount((workload.submit // 1800).astype(int) % 48, minlength=48)
    assert np.corrcoef(counts, daily_cycle(TYPELESS))[0, 1] > 0.98


def test_both_streams_are_merged_in_time() -> None:
    """Tests that "both" holds batch and interactive jobs, sorted, as many as asked."""
    workload = generate.lublin(4_000, 128, kind="both", seed=2)
    assert len(workload) == 4_000
    assert (np.diff(workload.submit) >= 0).all()
    lone = generate.lublin(4_000, 128, kind="batch", seed=2)
    assert np.ptp(workload.submit) < np.ptp(lone.submit)


def test_load_is_as_asked_and_the_seed_decides() -> None:
    """Tests that the offered load is what was asked, and that a seed gives the same jobs again."""
    first = generate.lublin(500, 64, load=0.7, seed=1)
    assert first.load() == pytest.approx(0.7)
    assert first == generate.lublin(500, 64, load=0.7, seed=1)
    assert first != generate.lublin(500, 64, load=0.7, seed=2)
    assert "lublin(jobs=500, nodes=64" in first.history[0]


def test_wrong_arguments_are_named() -> None:
    """Tests that no jobs, no nodes and an unknown kind are errors that say so."""
    with pytest.raises(ValueError, match="jobs=0"):
        generate.lublin(0, 4)
    with pytest.raises(ValueError, match="nodes=0"):
        generate.lublin(4, 0)
    with pytest.raises(UnknownNameError, match="interactive"):
        generate.lublin(4, 4, kind="interactiv")
