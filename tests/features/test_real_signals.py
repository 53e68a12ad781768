"""A year's carbon of two countries as it was published: half-hours and quarters, with gaps, beside a plain sum [65]."""

from __future__ import annotations

import csv
import gzip
from datetime import datetime
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched.io.tables.signals import read_signal

if TYPE_CHECKING:
    from pathlib import Path

YEAR = datetime(2020, 1, 1)
DAY = 86_400.0
# The file of a country, its lines, by how many seconds they are apart, and how many lines are missing.
FILES = {"gb": (21_980, {900.0, 1800.0}, 0), "ger": (37_147, {900.0, 1800.0}, 2)}


def lines(file: Path) -> list[tuple[float, float]]:
    """Return the seconds since the year began, and the value, of each line, by Python's own means."""
    with gzip.open(file, "rt", encoding="utf-8") as stream:
        rows = list(csv.reader(stream))[1:]
    return [((datetime.fromisoformat(time) - YEAR).total_seconds(), float(value)) for time, value in rows]


def mean_between(steps: list[tuple[float, float]], begin: float, end: float) -> float:
    """Return the mean of a step function over time, one step after the other."""
    total = 0.0
    for (time, value), (until, _) in pairwise([*steps, (end, 0.0)]):
        total += value * max(0.0, min(until, end) - max(time, begin))
    return total / (end - begin)


@pytest.mark.parametrize("country", FILES)
def test_a_year_is_read_as_it_stands(country: str, signals_dir: Path) -> None:
    """Each line is a step; where one is missing the value before it holds, which is counted and said."""
    count, apart, missing = FILES[country]
    steps = lines(signals_dir / f"{country}_ci.csv.gz")
    signal = read_signal(signals_dir / f"{country}_ci.csv.gz", "g/kWh", origin="2020-01-01T00:00:00")
    assert len(steps) == count
    assert {later - time for (time, _), (later, _) in pairwise(steps)} == apart
    assert signal.held == missing
    assert any("for 2 steps without one" in word for word in signal.said) == (missing == 2)
    assert list(zip(signal.times, signal.values, strict=True)) == steps


@pytest.mark.parametrize("country", FILES)
@pytest.mark.parametrize("day", [0, 100, 364])
def test_what_a_day_comes_to_is_the_plain_sum(country: str, day: int, signals_dir: Path) -> None:
    """A node that draws a kilowatt for a week from some second of a day on, beside the sum over the file's lines."""
    file = signals_dir / f"{country}_ci.csv.gz"
    begin, length = day * DAY + 12_345.0, 7 * DAY
    node = fs.NodeGroup(1, busy_watts=1000.0, idle_watts=0.0)
    signal = read_signal(file, "g/kWh", origin="2020-01-01T00:00:00")
    there = fs.Federation((fs.Cluster("here", (node,)),), signals=(signal,))
    log = fs.Workload(submit=[begin], tasks=[1], runtime=[length])
    carbon = fs.simulate(log, there).metrics().carbon
    assert carbon == pytest.approx(mean_between(lines(file), begin, begin + length) * length / 3.6e6, rel=1e-9)
