"""Generators of requested times: the run times, multiples of them, or the few popular values of Tsafrir's model."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedsched.core.errors import shown, unknown_name
from fedsched.core.values import seed_of
from fedsched.io.arguments import workload_of

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.io.arguments import AnyJobs
    from fedsched.model.jobs.workload import Workload

POPULAR = 20  # values that most jobs request
POPULAR_SHARE = 89.0  # per cent
MINUTE, HOUR = 60.0, 3600.0
_FAVOURITES = (5, 15, 10, 20, 30)  # minutes
_FAVOURITE_HOURS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 18)
_VALUES_BY_JOBS = ((0, 0), (20, 10), (200, 20), (1_000, 35), (10_000, 90), (70_000, 340), (250_000, 565))
DEFAULT_MAXIMUM = 36 * HOUR
MODELS = ("exact", "factor", "tsafrir")


def estimates(
    workload: AnyJobs,
    model: Literal["exact", "factor", "tsafrir"],
    *,
    factor: float | tuple[float, float] = 2.0,
    maximum: float | None = None,
    seed: int = 0,
) -> Workload:
    """Return the workload with its requested times replaced by a model's; none is below its job's run time.

    Parameters
    ----------
    workload
        The jobs.
    model
        "exact": the run time. "factor": the run time times `factor`. "tsafrir": a few round values that most users
        request, as `tsafrir_estimates` returns them.
    factor
        One factor for all jobs, at least 1; or the least and the greatest of a uniform draw for each job ("factor").
    maximum
        The longest request that the machine allows, in seconds ("tsafrir"). By default it is 36 h, or the longest run
        time rounded up to whole hours if that is longer.
    seed
        The seed of the only random generator.

    Examples
    --------
    >>> jobs = fs.generate.estimates(fs.read("sample").head(3), "factor", factor=2)
    >>> jobs.estimate / jobs.runtime
    array([2., 2., 2.])
    """
    workload = workload_of("estimates", "workload", workload)
    if workload.alternatives is not None:
        raise ValueError(
            "estimates: the jobs have alternatives, which state their own requested times; draw estimates first, then "
            "alternatives, or leave these out: dataclasses.replace(workload, alternatives=None)."
        )
    runtime, seed = workload.runtime, seed_of("estimates", seed)
    said = f"estimates: {model}"
    if model == "exact":
        requested = runtime
    elif model == "factor":
        low, high = factor if isinstance(factor, tuple) else (factor, factor)
        if not 1 <= low <= high < np.inf:
            raise ValueError(
                f"factor={factor!r}: it must be finite, with 1 <= least <= greatest: a requested time is at least the "
                "run time."
            )
        requested = runtime * np.random.default_rng(seed).uniform(low, high, len(workload))
        said += f", factor={factor}, seed={seed}"
    elif model == "tsafrir":
        requested = tsafrir_estimates(runtime, maximum=maximum, seed=seed)
        said += f", maximum={maximum}, seed={seed}"
    else:
        raise unknown_name("model of estimates", model, MODELS)
    return replace(workload, estimate=requested, history=(*workload.history, said))


def tsafrir_estimates(runtime: ArrayLike, *, maximum: float | None = None, seed: int = 0) -> NDArray[np.float64]:
    """Return a requested time for every run time: few different values, mostly round, none below the run time.

    In the model of Tsafrir, Etsion and Feitelson the values and the number of jobs with each are fixed first. Then each
    job, longest first, takes at random one of the unused requests that are long enough, or `maximum` if none is left.

    Parameters
    ----------
    runtime
        A run time for each job, in seconds.
    maximum
        The longest request that the machine allows, in seconds. By default it is 36 h, or the longest run time rounded
        up to whole hours if that is longer.
    seed
        The seed of the only random generator.

    Examples
    --------
    >>> requests = fs.generate.tsafrir_estimates(fs.read("sample").runtime, seed=1)
    >>> bool((requests >= fs.read("sample").runtime).all()), len(set(requests.tolist()))
    (True, 35)
    """
    try:
        runtime = np.atleast_1d(np.asarray(runtime, dtype=np.float64))
    except (TypeError, ValueError):
        raise TypeError(f"tsafrir_estimates: runtime={shown(runtime)} must be run times, in seconds.") from None
    if runtime.ndim != 1 or not (runtime > 0).all():
        raise ValueError(f"tsafrir_estimates: runtime={shown(runtime)} must be a row of run times above 0 seconds.")
    jobs = runtime.size
    longest = float(runtime.max(initial=1.0))
    limit = max(DEFAULT_MAXIMUM, _round_up(longest, HOUR)) if maximum is None else float(maximum)
    if not np.isfinite(limit):
        raise ValueError(f"maximum={limit:g} s must be finite: popular requests are the times below it.")
    if limit < longest:
        raise ValueError(f"maximum={limit:g} s is below the longest run time, {longest:g} s.")
    values, shares = _values_and_shares(jobs, limit)
    requests = np.sort(np.repeat(values, _whole(shares, jobs)))[::-1]
    rng = np.random.default_rng(seed_of("tsafrir_estimates", seed))
    requested = np.empty(jobs)
    order = np.argsort(-runtime, kind="stable")
    # Requests are sorted from the longest down; the first `fit` of them are long enough for the current job.
    unused = requests.tolist()
    fit = 0
    pool: list[float] = []
    for j, draw in zip(order.tolist(), rng.random(jobs).tolist(), strict=True):
        while fit < jobs and unused[fit] >= runtime[j]:
            pool.append(unused[fit])
            fit += 1
        if not pool:  # fewer long requests than long jobs: such users request the limit
            requested[j] = limit
            continue
        k = int(draw * len(pool))
        pool[k], pool[-1] = pool[-1], pool[k]
        requested[j] = pool.pop()
    return requested


def _values_and_shares(jobs: int, limit: float) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    known_jobs, known_values = zip(*_VALUES_BY_JOBS, strict=True)
    count = max(1, round(float(np.interp(jobs, known_jobs, known_values))))
    popular = _popular_values(limit, min(POPULAR, count))
    ranks = np.arange(2, popular.size + 1)
    share = 14.0491 * np.exp(-0.177531 * ranks) + 0.462513
    head = np.concatenate([[max(POPULAR_SHARE - share.sum(), 0.0)], share])
    tail_count = count - popular.size
    if tail_count < 1:
        return popular, head / head.sum()
    # Tail times fall on t = max·(a − 1)x/(a − x), to the minute, but no later than max.
    a = 1 + 12.1039 * count**-0.6026
    x = np.arange(1, tail_count + 1) / (tail_count + 1)
    tail = np.minimum(np.maximum(np.round(limit * (a - 1) * x / (a - x) / MINUTE), 1) * MINUTE, limit)
    tail_ranks = np.arange(POPULAR + 1, POPULAR + 1 + tail_count)
    weight = 795.6 * tail_ranks**-2.267
    weight *= (100.0 - POPULAR_SHARE) / weight.sum()
    # The popularity of each tail time is part of the model, so it does not depend on the user's seed.
    shares = np.concatenate([head, np.random.default_rng(count).permutation(weight)])
    return np.concatenate([popular, tail]), shares / shares.sum()


def _popular_values(limit: float, count: int) -> NDArray[np.float64]:
    favourites = [limit, *(m * MINUTE for m in _FAVOURITES), *(h * HOUR for h in _FAVOURITE_HOURS)]
    values = [value for k, value in enumerate(favourites) if k == 0 or value < limit]
    step = 1
    while len(values) < count:
        for candidate in (24 * HOUR * step, 7 * HOUR * step, 40 * MINUTE * step, 25 * MINUTE * step, MINUTE * step):
            if candidate < limit and candidate not in values and len(values) < count:
                values.append(candidate)
        step += 1
        if step > limit / MINUTE:
            break
    return np.array(values[:count])


def _whole(shares: NDArray[np.float64], jobs: int) -> NDArray[np.int64]:
    # Largest remainders: whole numbers that sum to `jobs`.
    exact = shares * jobs
    counts = np.floor(exact).astype(np.int64)
    missing = jobs - int(counts.sum())
    counts[np.argsort(-(exact - counts), kind="stable")[:missing]] += 1
    return counts


def _round_up(value: float, unit: float) -> float:
    return float(np.ceil(value / unit) * unit)
