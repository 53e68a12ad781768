"""Independent replications of a preset, with confidence intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import shown
from fedsched.core.values import whole
from fedsched.gang.schedule import CLASSES, GangMetrics

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent.futures import Executor

    from numpy.typing import NDArray

    from fedsched.gang.presets import Preset

MOST_PLACES = 6  # of a decimal fraction; smaller numbers are shown in powers of ten


@dataclass(frozen=True, slots=True)
class Interval:
    """A mean over replications and half the width of its confidence interval.

    Parameters
    ----------
    mean
        The mean.
    half_width
        Half the width of the interval; NaN of a single run.

    Examples
    --------
    >>> interval = fs.gang.Interval(10.0, 1.5)
    >>> interval.low, interval.high
    (8.5, 11.5)
    """

    mean: float
    half_width: float

    @property
    def low(self) -> float:
        """Return the lower end of the interval."""
        return self.mean - self.half_width

    @property
    def high(self) -> float:
        """Return the upper end of the interval."""
        return self.mean + self.half_width

    def __str__(self) -> str:
        half = self.half_width
        places = max(0, 1 - math.floor(math.log10(half))) if 0.0 < half < math.inf else MOST_PLACES + 1
        if places > MOST_PLACES:
            return f"{self.mean:,.5g} ± {half:.2g}"
        return f"{self.mean:,.{places}f} ± {half:,.{places}f}"  # two digits of the interval; the mean is as precise


def replicate(
    preset: Preset,
    *,
    against: Preset | None = None,
    replications: int = 10,
    seed: int = 0,
    confidence: float = 0.95,
    warmup: float = 0.0,
    executor: Executor | None = None,
) -> dict[str, dict[str, Interval]]:
    """Return mean and confidence interval of every metric of every class, over runs with independent seeds.

    Parameters
    ----------
    preset
        A published experiment of `presets`, or any object with a `run(seed)` that returns a GangSchedule.
    against
        Another one: each metric is then the difference, the preset's minus the other's, of runs with the same seed.
        Jobs and clock rates that both draw alike cancel out, and the interval shows whether the two differ.
    replications, seed
        The runs take the seeds seed, seed + 1, ….
    confidence
        The level of the intervals (Student's t).
    warmup
        See GangSchedule.metrics.
    executor
        Any concurrent.futures executor; default: one run after the other.

    Examples
    --------
    >>> preset = fs.gang.presets.DimitriadouKaratza(completions=200)
    >>> found = fs.gang.replicate(preset, replications=3)
    >>> sorted(found), found["gangs"]["mean_response"].half_width > 0
    (['all', 'gangs', 'locals'], True)
    """
    for field, given in (("preset", preset), *([] if against is None else [("against", against)])):
        if not callable(getattr(given, "run", None)):
            raise TypeError(
                f"replicate: {field}={shown(given)} makes no runs; give a published experiment, as "
                "presets.Pinto2014(), or anything with a run(seed) of its own."
            )
    whole("replicate", "replications", replications, least=2)
    whole("replicate", "seed", seed, least=0)
    if not 0 < confidence < 1:
        raise ValueError(f"replicate: confidence={confidence} must lie between 0 and 1.")
    seeds = range(seed, seed + replications)
    rows = metrics_of_runs(preset, seeds, warmup=warmup, executor=executor)
    if against is not None:
        rows = rows - metrics_of_runs(against, seeds, warmup=warmup, executor=executor)
    return intervals_of(rows, confidence=confidence)


def metrics_of_runs(
    preset: Preset, seeds: Sequence[int], *, warmup: float = 0.0, executor: Executor | None = None
) -> NDArray[np.float64]:
    """Return the metrics of the runs with these seeds: runs × classes of jobs × fields of GangMetrics."""
    run = partial(_metrics_of_run, preset, warmup)
    return np.array(list(map(run, seeds) if executor is None else executor.map(run, seeds)))


def intervals_of(rows: NDArray[np.float64], *, confidence: float = 0.95) -> dict[str, dict[str, Interval]]:
    """Return means over runs with confidence intervals, by class of jobs and metric.

    `rows` is an array of metrics_of_runs(), or the difference of two.
    """
    from scipy.stats import t

    mean, deviation = rows.mean(axis=0), rows.std(axis=0, ddof=1)
    half = t.ppf(0.5 + confidence / 2.0, len(rows) - 1) * deviation / np.sqrt(len(rows))
    names = [field.name for field in fields(GangMetrics)]
    return {
        jobs: {name: Interval(float(mean[c, k]), float(half[c, k])) for k, name in enumerate(names)}
        for c, jobs in enumerate(CLASSES)
    }


def _metrics_of_run(preset: Preset, warmup: float, seed: int) -> list[list[float]]:
    schedule = preset.run(seed)
    names = [field.name for field in fields(GangMetrics)]
    of_classes = [schedule.metrics(jobs, warmup=warmup) for jobs in CLASSES]
    return [[float(getattr(metrics, name)) for name in names] for metrics in of_classes]
