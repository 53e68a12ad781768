"""Choose tasks' bandwidths, by repeated simulation, so that a wanted share of jobs meets saturated uplinks."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.generate.communication import communication
from fedsched.io.arguments import nouns_of
from fedsched.simulate import simulate

if TYPE_CHECKING:
    from fedsched.io.arguments import AnyJobs, AnyMachine
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule


def calibrate_bandwidth(
    workload: AnyJobs,
    federation: AnyMachine,
    share: float,
    *,
    compute_fraction: float | tuple[float, float] = (0.5, 1.0),
    spread: float = 4.0,
    seed: int = 0,
    rounds: int = 40,
) -> Workload:
    """Return the jobs with communication, so that the wanted share of co-allocated jobs meets saturation under FCFS.

    The median bandwidth is found by bisection. The last line of the workload's history reports the share reached.

    Parameters
    ----------
    workload, federation
        The jobs, and a federation with finite uplinks.
    share
        The wanted share of co-allocated jobs that a saturated uplink slows, between 0 and 1.
    compute_fraction, spread, seed
        As for `communication`.
    rounds
        The most steps of the bisection; it stops earlier if the share is within half a job of the wanted one.

    Examples
    --------
    >>> log = fs.generate.lublin(100, 160, load=0.9, seed=1)
    >>> jobs = fs.generate.calibrate_bandwidth(log, fs.read_federation("example"), share=0.3)
    >>> jobs.history[-1]
    'calibrated: 0.2857 of the co-allocated jobs saturated under FCFS (wanted 0.3)'
    """
    jobs, federation = nouns_of("calibrate_bandwidth", workload, federation, second="federation")
    if not 0 < share < 1:
        raise ValueError(f"share={share!r}: it must lie between 0 and 1.")
    finite = [cluster.uplink for cluster in federation.clusters if math.isfinite(cluster.uplink)]
    if not finite:
        raise ValueError(f"Federation {federation.name!r} has no finite uplink: nothing can saturate it.")

    def drawn(bandwidth: float) -> Workload:
        return communication(jobs, bandwidth=bandwidth, compute_fraction=compute_fraction, spread=spread, seed=seed)

    def reached(bandwidth: float) -> tuple[float, float]:
        schedule = simulate(drawn(bandwidth), federation, "fcfs")
        if np.isnan(schedule.finish).any():  # simulate() ends early on Ctrl-C, and the search must end with it
            raise KeyboardInterrupt
        return saturated_share(schedule), 0.5 / max(1, int(schedule.coallocated.sum()))

    low, high = min(finite) * 1e-9, max(finite) * spread * 1e3
    best, half_a_job = reached(high)
    if not best >= share:
        raise ValueError(
            f"Under FCFS {best:.1%} of the co-allocated jobs meet saturation at best, not {share:.1%}: "
            "too few jobs cross clusters, or too few of those communicate."
        )
    found = high
    for _ in range(rounds):
        if abs(best - share) <= half_a_job:
            break
        middle = math.sqrt(low * high)
        now, half_a_job_now = reached(middle)
        low, high = (low, middle) if now >= share else (middle, high)
        # The share may fall as the bandwidth rises (schedules change too), so the nearest share seen counts.
        if abs(now - share) < abs(best - share):
            best, half_a_job, found = now, half_a_job_now, middle
    said = f"calibrated: {best:.4f} of the co-allocated jobs saturated under FCFS (wanted {share:g})"
    calibrated = drawn(found)
    return replace(calibrated, history=(*calibrated.history, said))


def saturated_share(schedule: Schedule) -> float:
    """Return the share of a schedule's co-allocated jobs that ran longer than without contention."""
    crossing = schedule.coallocated
    if not crossing.any():
        return 0.0
    slowdown = np.array([1.0 / group.speed for group in schedule.federation.groups])
    processing = np.where(schedule.counts > 0, slowdown, 0.0).max(axis=1)
    sigma = schedule.workload.compute_fraction
    uncontended = schedule.workload.runtime * (sigma * processing + (1 - sigma))
    slowed = schedule.run > uncontended * (1 + 1e-9) + 1e-9 * np.abs(schedule.finish)
    return float(slowed[crossing].mean())
