"""Generator of workloads with Poisson arrivals and with sizes and run times of simple distributions."""

from __future__ import annotations

from typing import Literal

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.values import LEAST_SECONDS, is_number, seed_of, whole
from fedsched.model.jobs.workload import Workload

SIZES = ("uniform", "pow2", "serial")
RUNTIMES = ("exponential", "uniform", "constant")


def poisson(
    jobs: int,
    nodes: int,
    *,
    rate: float | None = None,
    load: float | None = None,
    sizes: Literal["uniform", "pow2", "serial"] = "uniform",
    largest: int | None = None,
    runtimes: Literal["exponential", "uniform", "constant"] = "exponential",
    mean_runtime: float = 3600.0,
    seed: int = 0,
) -> Workload:
    """Return a random workload with Poisson arrivals: the times between submits are exponential and independent.

    Parameters
    ----------
    jobs, nodes
        The number of jobs, and the machine's nodes.
    rate, load
        Jobs a second, or the offered load from which the rate follows; exactly one of the two.
    sizes, largest
        "uniform" on 1..largest, "pow2" (each power of two up to largest equally likely), or "serial"; largest is
        `nodes` when not given.
    runtimes, mean_runtime
        "exponential", "uniform" on (0, 2·mean), or "constant"; the mean is in seconds.
    seed
        The seed of the only random generator.

    Examples
    --------
    >>> jobs = fs.generate.poisson(100, 64, load=0.7, sizes="pow2", seed=1)
    >>> sorted({int(size) for size in jobs.tasks})
    [1, 2, 4, 8, 16, 32, 64]
    """
    if (rate is None) == (load is None):
        raise ValueError("poisson: give exactly one of rate (jobs a second) and load (offered load).")
    jobs, nodes = whole("poisson", "jobs", jobs, least=1), whole("poisson", "nodes", nodes, least=1)
    largest = whole("poisson", "largest", nodes if largest is None else largest, least=1, most=nodes)
    seed = seed_of("poisson", seed)
    for name, value in (("mean_runtime", mean_runtime), ("rate", rate), ("load", load)):
        if value is not None and not (is_number(value) and value > 0):
            raise ValueError(f"poisson: {name}={value!r} must be finite and above 0.")
    rng = np.random.default_rng(seed)
    gaps = rng.exponential(1.0, jobs)
    if sizes == "uniform":
        tasks = rng.integers(1, largest + 1, jobs)
    elif sizes == "pow2":
        tasks = 2 ** rng.integers(0, int(largest).bit_length(), jobs)
    elif sizes == "serial":
        tasks = np.ones(jobs, dtype=np.int64)
    else:
        raise unknown_name("distribution of sizes", sizes, SIZES)
    if runtimes == "exponential":
        runtime = rng.exponential(mean_runtime, jobs)
    elif runtimes == "uniform":
        runtime = rng.uniform(0.0, 2 * mean_runtime, jobs)
    elif runtimes == "constant":
        runtime = np.full(jobs, mean_runtime)
    else:
        raise unknown_name("distribution of run times", runtimes, RUNTIMES)
    runtime = np.maximum(runtime, LEAST_SECONDS)
    if rate is None:
        rate = float(load or 0) * nodes / float((tasks * runtime).mean())
    return Workload(
        submit=np.cumsum(gaps) / rate,
        tasks=tasks,
        runtime=runtime,
        name=f"poisson-{nodes}",
        nodes=nodes,
        history=(
            f"generated: poisson(jobs={jobs}, nodes={nodes}, rate={rate:.9g}, sizes={sizes!r}, largest={largest}, "
            f"runtimes={runtimes!r}, mean_runtime={mean_runtime:g}, seed={seed})",
        ),
    )
