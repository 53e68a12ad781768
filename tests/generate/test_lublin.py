"""The Lublin–Feitelson model: its distributions, its two streams, its day."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest

import fedsched as fs
from fedsched import generate
from fedsched.core.errors import UnknownNameError
from fedsched.generate.lublin import BATCH, INTERACTIVE, TYPELESS, daily_cycle

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.generate.lublin import Parameters


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
def test_the_day_has_a_mean_of_one_and_quiet_nights(parameters: Parameters) -> None:
    """Tests that the 48 weights have mean 1 and that far more is submitted by day than by night."""
    weights = daily_cycle(parameters)
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
    for umed in (4.4, 6.6, float("nan")):
        with pytest.raises(ValueError, match=r"must lie in 4\.5\.\.6\.5"):
            generate.lublin(4, 256, umed=umed)
    for load in (0.0, -1.0, float("nan")):
        with pytest.raises(ValueError, match="load="):
            generate.lublin(4, 4, load=load)
    with pytest.raises(ValueError, match="different times"):
        generate.lublin(1, 4, load=0.5)


# The table once more, row by row as published: typeless, batch, interactive.
TABLE = {
    "serial": (0.244, 0.2927, 0.1541),
    "pow2": (0.576, 0.6686, 0.625),
    "ulow": (0.8, 1.2, 1.0),
    "uprob": (0.86, 0.875, 0.705),
    "a1": (4.2, 6.57, 3.8351),
    "b1": (0.94, 0.823, 0.6605),
    "a2": (312, 639.1, 7.073),
    "b2": (0.03, 0.0156, 0.6856),
    "pa": (-0.0054, -0.003, -0.0118),
    "pb": (0.78, 0.6986, 0.9156),
    "aarr": (10.2303, 6.0415, 6.5510),
    "barr": (0.4871, 0.8531, 0.6621),
    "anum": (8.1737, 6.1271, 8.9186),
    "bnum": (3.9631, 5.2740, 3.6680),
    "arar": (1.0225, 1.0519, 0.9797),
}


def recipe(jobs: int, uhi: float, column: int, seed: int) -> tuple[list[float], list[int], list[float]]:
    """Return submits, sizes and run times of the model, written as its description reads: one job at a time."""
    from scipy.stats import gamma

    at = {name: row[column] for name, row in TABLE.items()}
    rng = np.random.default_rng(seed)
    weight = [0.0] * 48
    for i in range(11, 59):
        weight[(i - 1) % 48] = float(np.diff(gamma.cdf([i - 0.5, i + 0.5], at["anum"], scale=at["bnum"]))[0])
    weight = [w / (sum(weight) / 48) for w in weight]
    submits, sizes, runs = [], [], []
    clock = points = remainder = 0.0
    bucket = 0
    for _ in range(jobs):
        u = rng.random()
        size = 1
        if u > at["serial"]:
            ends = (at["ulow"], uhi - 2.5) if rng.random() < at["uprob"] else (uhi - 2.5, uhi)
            x = rng.uniform(*ends)
            if u <= at["serial"] + at["pow2"]:
                x = np.floor(x + 0.5)
            size = int(2**x + 0.5)
        sizes.append(size)
        p = min(max(at["pa"] * size + at["pb"], 0), 1)
        g = 13.0
        while g > 12:
            g = rng.gamma(at["a1"], at["b1"]) if rng.random() < p else rng.gamma(at["a2"], at["b2"])
        runs.append(float(np.floor(np.exp(g))))
        g = 14.0
        while g > 13:
            g = rng.gamma(at["aarr"] * at["arar"], at["barr"])
        points += np.exp(g) / 1800
        while points > weight[bucket]:
            points -= weight[bucket]
            bucket = (bucket + 1) % 48
            clock += 1800
        reached = points / weight[bucket]
        clock += 1800 * (reached - remainder)
        remainder = reached
        submits.append(clock)
    return submits, sizes, runs


@pytest.mark.parametrize(("kind", "column"), [("typeless", 0), ("batch", 1), ("interactive", 2)])
def test_each_kind_follows_the_recipe(kind: Literal["typeless", "batch", "interactive"], column: int) -> None:
    """Tests that sizes, run times (of small and large jobs), gaps and hours of the day are those of the recipe."""
    from scipy.stats import ks_2samp

    ours = generate.lublin(8_000, 128, kind=kind, seed=11)
    submits, sizes, runs = (np.array(values) for values in recipe(8_000, 7.0, column, seed=12))
    assert ks_2samp(ours.tasks, sizes).pvalue > 0.01
    for least, most in ((1, 1), (2, 31), (32, 128)):
        mine = ours.runtime[(ours.tasks >= least) & (ours.tasks <= most)]
        assert ks_2samp(mine, runs[(sizes >= least) & (sizes <= most)]).pvalue > 0.01
    assert ks_2samp(np.diff(ours.submit), np.diff(np.floor(submits))).pvalue > 0.01


@pytest.mark.parametrize(("parameters", "column"), [(TYPELESS, 0), (BATCH, 1), (INTERACTIVE, 2)])
def test_the_busiest_half_hour_is_the_cycles_own(parameters: Parameters, column: int) -> None:
    """Tests that the day peaks in the bucket of the mode of its Gamma distribution, (anum − 1)·bnum, less one."""
    mode = (TABLE["anum"][column] - 1) * TABLE["bnum"][column]
    assert daily_cycle(parameters).argmax() == round(mode) - 1
