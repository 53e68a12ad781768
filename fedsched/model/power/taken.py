"""The used share of shared nodes, by cores, and the energy that follows from it [54]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.jobs.shares import CORES

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation

    Floats = NDArray[np.float64]


def node_shares(federation: Federation, cores: NDArray[np.int64], counts: NDArray[np.int64]) -> Floats:
    """Return jobs × groups: how many nodes' worth of cores jobs use, given tasks (jobs x groups) and cores per task."""
    has = np.array([dict(group.resources).get(CORES, 0) for group in federation.groups], dtype=np.float64)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(counts > 0, counts * cores[:, None] / has, 0.0)


def node_seconds(shares: Floats, start: Floats, finish: Floats, t0: float) -> Floats:
    """Return the node-seconds of each group; jobs that have not finished, and times before t0, do not count."""
    jobs, groups = shares.shape
    seconds = np.maximum(finish - np.maximum(start, t0), 0.0)[:, None]
    taken = np.where(np.isnan(seconds), 0.0, shares * seconds)
    return np.bincount(np.tile(np.arange(groups), jobs), weights=taken.ravel(), minlength=groups).astype(np.float64)


def measures_of(federation: Federation, taken: Floats, makespan: float, more: float = 0.0) -> dict[str, float]:
    """Return the metrics that depend on the used node-seconds, by name.

    `more` is the energy, in joules, above the groups' busy watts, for jobs that state their own watts.
    """
    sizes = np.array([group.count for group in federation.groups])
    busy, idle = (np.array([getattr(one, name) for one in federation.groups]) for name in ("busy_watts", "idle_watts"))
    busy_energy, idle_energy = float(busy @ taken) + more, float(idle @ (sizes * makespan - taken))
    with np.errstate(divide="ignore", invalid="ignore"):
        utilisation = float(np.divide(taken.sum(), sizes.sum() * makespan))
    return {
        "utilisation": utilisation,
        "energy": busy_energy + idle_energy,
        "busy_energy": busy_energy,
        "idle_energy": idle_energy,
    }
