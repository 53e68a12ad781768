"""Trials of confs on jobs: each conf is simulated once per phase of Slurm's clocks, and its objectives are kept."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from fedsched.simulate import simulate
from fedsched.site.tuning.confs import changed
from fedsched.site.tuning.limits import with_limits
from fedsched.slurm.loop.pack import epoch_of

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats
    from fedsched.engine.sharing import NodeSharing
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.slurm import Slurm

Changes: TypeAlias = "tuple[tuple[str, str], ...]"  # (gene, value) of each change to the site's conf


@dataclass(slots=True)
class Budget:
    """The greatest number of simulations and the time when they end; `made` counts those made."""

    most: int | None
    until: float
    made: int = 0

    def is_spent(self) -> bool:
        """Return whether no further simulation may begin."""
        return (self.most is not None and self.made >= self.most) or time.monotonic() >= self.until


@dataclass(slots=True)
class Trials:
    """The jobs and the machine on which confs are tried, and the objectives known so far."""

    policy: Slurm
    workload: Workload
    federation: Federation
    reading: Reading
    objectives: tuple[str, ...]
    phases: tuple[int, ...]
    budget: Budget
    sharing: NodeSharing | str | None = None
    known: dict[Changes, Floats] = field(default_factory=dict)

    def values(self, changes: Changes) -> Floats:
        """Return the objectives of a conf, as an array of phases × objectives."""
        if changes not in self.known:
            self.known[changes] = np.array([self._run(changes, phase) for phase in self.phases])
        return self.known[changes]

    def mean(self, changes: Changes) -> Floats:
        """Return the objectives of a conf, means over the phases."""
        return np.asarray(self.values(changes).mean(axis=0))

    def spread(self, changes: Changes) -> Floats:
        """Return the greatest minus the least value of each objective over the phases."""
        return np.asarray(np.ptp(self.values(changes), axis=0))

    def _run(self, changes: Changes, phase: int) -> list[float]:
        # A phase delays the first backfill pass, and moves the epoch's seconds, to which passes round their times.
        self.budget.made += 1
        base = self.policy
        accounts = None if base.assoc is None else with_limits(base.assoc, dict(changes))
        policy = replace(
            base.on_another(changed(base.conf, dict(changes))),
            assoc=accounts, phase=base.phase + phase, epoch=epoch_of(self.workload, base) + phase,
        )  # fmt: skip
        schedule = simulate(self.workload, self.federation, policy, sharing=self.sharing, reading=self.reading)
        row = schedule.metrics()
        return [float(getattr(row, name)) for name in self.objectives]

    def on(self, workload: Workload) -> Trials:
        """Return trials on other jobs, with the same budget and nothing known yet."""
        return replace(self, workload=workload, known={})
