"""Generator of random compute fractions and task bandwidths, which logs do not record."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.values import bytes_a_second, is_number, seed_of
from fedsched.io.arguments import workload_of

if TYPE_CHECKING:
    from fedsched.io.arguments import AnyJobs
    from fedsched.model.jobs.workload import Workload


def communication(
    workload: AnyJobs,
    *,
    bandwidth: float | str,
    compute_fraction: float | tuple[float, float] = (0.5, 1.0),
    spread: float = 4.0,
    seed: int = 0,
) -> Workload:
    """Return the jobs with random compute fractions and task bandwidths, which replace those that they have.

    Parameters
    ----------
    workload
        The jobs.
    bandwidth
        The median of the tasks' bandwidths, in bytes a second: a number, or a text like "10M".
    compute_fraction
        The share σ of a job's run time that is computing: one number for all jobs, or the least and the greatest of a
        uniform draw for each job.
    spread
        Bandwidths are log-uniform from the median divided by `spread` to the median times `spread`.
    seed
        The seed of the only random generator.

    Examples
    --------
    >>> jobs = fs.generate.communication(fs.read("sample").head(50), bandwidth="10M", seed=1)
    >>> bool((jobs.compute_fraction >= 0.5).all()), bool((jobs.task_bandwidth <= 4e7).all())
    (True, True)
    """
    workload = workload_of("communication", "workload", workload)
    low, high = compute_fraction if isinstance(compute_fraction, tuple) else (compute_fraction, compute_fraction)
    if not 0 <= low <= high <= 1:
        raise ValueError(f"compute_fraction={compute_fraction!r}: it must lie within 0..1.")
    if not 1 <= spread < math.inf:
        raise ValueError(f"spread={spread!r}: it must be finite and at least 1 (1 gives every task the median).")
    median = bytes_a_second(bandwidth) if isinstance(bandwidth, str) else bandwidth
    if median is None or not is_number(median) or median < 0:
        raise ValueError(f"bandwidth={bandwidth!r}: it must be finite and at least 0 bytes/s (or '10M': k, M, G, T).")
    rng = np.random.default_rng(seed_of("communication", seed))
    share = rng.uniform(low, high, len(workload))
    factor = np.exp(rng.uniform(-math.log(spread), math.log(spread), len(workload)))
    said = f"communication: bandwidth={median:g}, compute_fraction={compute_fraction}, spread={spread:g}, seed={seed}"
    return replace(
        workload,
        compute_fraction=share,
        task_bandwidth=median * factor,
        history=(*workload.history, said),
    )
