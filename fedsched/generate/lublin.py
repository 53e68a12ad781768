"""Generator of workloads by the model of Lublin and Feitelson (1999, 2003): random sizes, run times and arrivals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.values import is_number, seed_of, whole
from fedsched.model.jobs.workload import Workload

if TYPE_CHECKING:
    from numpy.typing import NDArray

BUCKET = 1800  # seconds: the day has 48 half hours
DAY_BUCKETS = 48
LONGEST_LOG_RUNTIME = 12.0  # run times above e^12 s are drawn again
LONGEST_LOG_GAP = 13.0


@dataclass(frozen=True, slots=True)
class Parameters:
    """Parameters of the Lublin–Feitelson model for one type of job, named as in the paper; sizes are log2 of nodes."""

    serial: float
    pow2: float
    ulow: float
    uprob: float
    a1: float
    b1: float
    a2: float
    b2: float
    pa: float
    pb: float
    aarr: float
    barr: float
    anum: float
    bnum: float
    arar: float


TYPELESS = Parameters(
    serial=0.244, pow2=0.576, ulow=0.8, uprob=0.86, a1=4.2, b1=0.94, a2=312.0, b2=0.03, pa=-0.0054, pb=0.78,
    aarr=10.2303, barr=0.4871, anum=8.1737, bnum=3.9631, arar=1.0225,
)  # fmt: skip
BATCH = Parameters(
    serial=0.2927, pow2=0.6686, ulow=1.2, uprob=0.875, a1=6.57, b1=0.823, a2=639.1, b2=0.0156, pa=-0.003, pb=0.6986,
    aarr=6.0415, barr=0.8531, anum=6.1271, bnum=5.2740, arar=1.0519,
)  # fmt: skip
INTERACTIVE = Parameters(
    serial=0.1541, pow2=0.625, ulow=1.0, uprob=0.705, a1=3.8351, b1=0.6605, a2=7.073, b2=0.6856, pa=-0.0118,
    pb=0.9156, aarr=6.5510, barr=0.6621, anum=8.9186, bnum=3.6680, arar=0.9797,
)  # fmt: skip
KINDS = {"typeless": (TYPELESS,), "batch": (BATCH,), "interactive": (INTERACTIVE,), "both": (BATCH, INTERACTIVE)}


def lublin(
    jobs: int,
    nodes: int,
    *,
    kind: Literal["typeless", "batch", "interactive", "both"] = "typeless",
    umed: float | None = None,
    load: float | None = None,
    seed: int = 0,
) -> Workload:
    """Return a random workload by the Lublin–Feitelson model; estimates equal run times.

    Parameters
    ----------
    jobs, nodes
        The number of jobs, and the machine's nodes: no job is larger (uhi = log2 of nodes).
    kind
        "typeless", "batch", "interactive", or "both". "both" merges a stream of batch and one of interactive jobs and
        keeps the first `jobs` submits; `user` is then 0 for batch and 1 for interactive jobs.
    umed
        The middle of the size distribution in log2, from uhi − 3.5 to uhi − 1.5; uhi − 2.5 when not given.
    load
        The offered load (area over machine × period); submit times are scaled to reach it. None leaves them.
    seed
        The seed of the only random generator.

    Examples
    --------
    >>> fs.generate.lublin(100, 128, load=0.8, seed=1)
    <Workload 'lublin-128': 100 jobs>
    >>> round(fs.generate.lublin(100, 128, load=0.8, seed=1).load(), 2)
    0.8
    """
    jobs, nodes = whole("lublin", "jobs", jobs, least=1), whole("lublin", "nodes", nodes, least=1)
    seed = seed_of("lublin", seed)
    if kind not in KINDS:
        raise unknown_name("kind of Lublin jobs", kind, KINDS)
    high = math.log2(nodes)
    if umed is not None and not high - 3.5 <= umed <= high - 1.5:
        raise ValueError(
            f"lublin: umed={umed!r} must lie in {high - 3.5:g}..{high - 1.5:g} "
            f"(uhi − 3.5 to uhi − 1.5, where uhi is log2 of nodes={nodes})."
        )
    if load is not None and not (is_number(load) and load > 0):
        raise ValueError(f"lublin: load={load!r} must be finite and above 0.")
    streams = KINDS[kind]
    rng = np.random.default_rng(seed)
    parts = [_stream(jobs, nodes, parameters, umed, rng) for parameters in streams]
    submit, tasks, runtime = (np.concatenate(columns) for columns in zip(*parts, strict=True))
    source = np.repeat(np.arange(len(streams)), jobs)
    first = np.argsort(submit, kind="stable")[:jobs]
    workload = Workload(
        submit=submit[first],
        tasks=tasks[first],
        runtime=runtime[first],
        user=source[first] if len(streams) > 1 else -1,
        name=f"lublin-{nodes}",
        nodes=nodes,
        history=(f"generated: lublin(jobs={jobs}, nodes={nodes}, kind={kind!r}, umed={umed}, seed={seed})",),
    )
    if load is None:
        return workload
    present = workload.load(nodes)
    if not math.isfinite(present):
        raise ValueError(
            f"lublin: load={load:g} needs jobs submitted at different times; ask for more than jobs={jobs}."
        )
    return workload.scale_load(load / present)


def _stream(
    jobs: int, nodes: int, parameters: Parameters, umed: float | None, rng: np.random.Generator
) -> tuple[NDArray[np.float64], NDArray[np.int64], NDArray[np.float64]]:
    tasks = _sizes(jobs, nodes, parameters, umed, rng)
    return _arrivals(jobs, parameters, rng), tasks, _runtimes(tasks, parameters, rng)


def _sizes(
    jobs: int, nodes: int, parameters: Parameters, umed: float | None, rng: np.random.Generator
) -> NDArray[np.int64]:
    high = math.log2(nodes)
    middle = high - 2.5 if umed is None else umed
    low = min(parameters.ulow, high)
    middle = min(max(middle, low), high)
    kind = rng.random(jobs)
    near = rng.random(jobs) <= parameters.uprob
    exponent = np.where(near, rng.uniform(low, middle, jobs), rng.uniform(middle, high, jobs))
    is_power = kind <= parameters.serial + parameters.pow2
    exponent = np.where(is_power, np.floor(exponent + 0.5), exponent)
    sizes = np.floor(np.exp2(exponent) + 0.5).astype(np.int64)
    return np.where(kind <= parameters.serial, 1, np.minimum(sizes, nodes))


def _runtimes(tasks: NDArray[np.int64], parameters: Parameters, rng: np.random.Generator) -> NDArray[np.float64]:
    short = np.clip(parameters.pa * tasks + parameters.pb, 0.0, 1.0)
    runtime = np.zeros(tasks.size)
    todo = np.arange(tasks.size)
    while todo.size:
        first = rng.random(todo.size) <= short[todo]
        drawn = np.where(
            first,
            rng.gamma(parameters.a1, parameters.b1, todo.size),
            rng.gamma(parameters.a2, parameters.b2, todo.size),
        )
        runtime[todo] = np.floor(np.exp(drawn))
        todo = todo[drawn > LONGEST_LOG_RUNTIME]
    return np.maximum(runtime, 1.0)


def daily_cycle(parameters: Parameters) -> NDArray[np.float64]:
    """Return the relative rate of arrivals in each of the 48 half hours of a day, from midnight on; the mean is 1."""
    from scipy.stats import gamma

    cycle = gamma(parameters.anum, scale=parameters.bnum)
    weights = np.zeros(DAY_BUCKETS)
    for i in range(11, 59):
        weights[(i - 1) % DAY_BUCKETS] = cycle.cdf(i + 0.5) - cycle.cdf(i - 0.5)
    return np.asarray(weights / weights.mean())


def _arrivals(jobs: int, parameters: Parameters, rng: np.random.Generator) -> NDArray[np.float64]:
    # A gap is counted in points, and a half hour has its weight in points: gaps last longer if the weight is small.
    weights = daily_cycle(parameters).tolist()
    gaps = rng.gamma(parameters.aarr * parameters.arar, parameters.barr, jobs)
    while (late := gaps > LONGEST_LOG_GAP).any():
        gaps[late] = rng.gamma(parameters.aarr * parameters.arar, parameters.barr, int(late.sum()))
    submit = np.empty(jobs)
    now = points = remainder = 0.0
    bucket = 0
    for j, step in enumerate((np.exp(gaps) / BUCKET).tolist()):
        points += step
        while points > weights[bucket]:
            points -= weights[bucket]
            bucket = (bucket + 1) % DAY_BUCKETS
            now += BUCKET
        reached = points / weights[bucket]
        now += BUCKET * (reached - remainder)
        remainder = reached
        submit[j] = now
    return np.floor(submit)
