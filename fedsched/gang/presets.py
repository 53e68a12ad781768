"""The configurations of the published experiments, by the names of their authors."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fedsched.errors import unknown_name
from fedsched.gang.run import simulate
from fedsched.gang.schedule import GangSchedule  # noqa: TC001 a public type of this module's functions
from fedsched.gang.system import GangSystem
from fedsched.workload import Workload

# Pinto et al. 2019, section 8.1: how many of the 3000 jobs need how many processors (139,170 tasks; the text says
# 140,441), and the clocks of section 3.
SIZES_2019 = {1: 30, 2: 90, 4: 60, 8: 60, 32: 1860, 64: 570, 128: 330}
CLOCKS_2019 = (1500, 1600, 1700, 1800, 1900, 2000, 2500, 3000, 3500)
# Pinto et al. 2014 give 1500 jobs, 24,152 tasks and sizes of 1 to 64; this list has both.
SIZES_2014 = {1: 300, 2: 150, 4: 190, 8: 250, 16: 290, 32: 210, 56: 1, 64: 109}
SECONDS_AT_MOST, SECONDS_AT_LEAST = 64_800.0, 10.0


class Preset(Protocol):
    """What replicate() runs: anything that makes a run of a seed."""

    def run(self, seed: int = 0) -> GangSchedule:
        """Return one run."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DimitriadouKaratza:
    """Two sites of 16 processors, Poisson arrivals, exponential service: "Multi-Site Allocation Policies on a Grid".

    Parameters
    ----------
    approach, overhead, threshold, routing
        See GangSystem.
    local_rate
        λ: the arrivals of local jobs at each site in a unit of time.
    gang_rate
        λ3: the arrivals of gangs at the grid.
    completions
        A run ends after so many completed jobs.
    """

    approach: int = 1
    local_rate: float = 12.5
    gang_rate: float = 0.5
    overhead: float = 0.1
    threshold: float = 0.0
    routing: str = "shortest_waiting"
    completions: int = 40_000

    def __post_init__(self) -> None:
        for name in ("local_rate", "gang_rate"):
            value = getattr(self, name)
            if not (np.isfinite(value) and value > 0):
                raise ValueError(f"DimitriadouKaratza: {name}={value!r} must be finite and above 0.")
        if self.completions < 1:
            raise ValueError(f"DimitriadouKaratza: completions={self.completions!r} must be at least 1.")
        self.system()

    def system(self, seed: int = 0) -> GangSystem:
        """Return the system of this experiment; it is the same for every seed."""
        return GangSystem(
            processors=(16, 16),
            approach=self.approach,
            overhead=self.overhead,
            threshold=self.threshold,
            routing=self.routing,
        )

    def workload(self, seed: int = 0) -> Workload:
        """Return local jobs of both sites and gangs of 2, 4, 8 or 16 tasks, enough for the completions and the tail."""
        rng = np.random.default_rng(seed)
        streams = []
        total = 2 * self.local_rate + self.gang_rate
        # Jobs go on arriving until the last completion, so more are drawn than will be completed.
        horizon = 1.25 * self.completions / total + 50.0
        for site, rate in ((0, self.local_rate), (1, self.local_rate), (-1, self.gang_rate)):
            count = int(horizon * rate + 10.0 * np.sqrt(horizon * rate) + 10)
            submit = np.cumsum(rng.exponential(1.0 / rate, count))
            tasks = np.ones(count, dtype=np.int64) if site >= 0 else rng.choice([2, 4, 8, 16], count)
            streams.append((submit, tasks, rng.exponential(1.0, count), np.full(count, site)))
        submit, tasks, service, origin = (np.concatenate(columns) for columns in zip(*streams, strict=True))
        early = submit <= min(stream[0][-1] for stream in streams)
        order = np.flatnonzero(early)[np.argsort(submit[early], kind="stable")]
        return Workload(
            submit=submit[order],
            tasks=tasks[order],
            runtime=service[order],
            origin=origin[order],
            sites=("site1", "site2"),
            name=f"locals {self.local_rate:g}, gangs {self.gang_rate:g}",
        )

    def run(self, seed: int = 0) -> GangSchedule:
        """Return one run of the experiment."""
        return simulate(self.workload(seed), self.system(), max_completions=self.completions, seed=seed)
