"""Finds the nodes that a job may use, how much of them is free, and which running jobs have the others."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedsched.core.text import counted
from fedsched.site.steer.picture import Unit, has_features
from fedsched.site.steer.queue import YEAR

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

    from fedsched.site.steer import Queue, SlurmJob, SlurmReservation

class UsableNodes:
    """The nodes that one job may use: those of its partition that have the features that it asks for.

    Amounts are numbers of CPUs if `shared`: jobs share nodes, and this job is not exclusive. Else they are of nodes.
    """

    def __init__(self, queue: Queue, job: SlurmJob) -> None:
        self.queue, self.job = queue, job
        self._unit = Unit.of(queue)
        self.shared = self._unit.cpus and not job.exclusive
        of_partition = next((one.nodes for one in queue.partitions if one.name == job.partition), frozenset[str]())
        nodes = [one for one in queue.nodes if one.name in of_partition and has_features(job.features, one.features)]
        self._sizes = {one.name: one.cpus if self.shared else 1 for one in queue.nodes}
        self.all = frozenset(one.name for one in nodes)
        self.up = frozenset(one.name for one in nodes if one.is_up)
        self.need = self._unit.needs(job) if self.shared else job.nodes

    def said(self, amount: int) -> str:
        """Return an amount of nodes, or of CPUs, in words."""
        alone = " to itself" if self._unit.cpus and not self.shared else ""
        return counted(amount, "CPU" if self.shared else "node") + alone

    def size(self, nodes: Collection[str]) -> int:
        """Return the nodes' total size: their number, or their CPUs."""
        return sum(self._sizes[name] for name in nodes)

    def has(self, job: SlurmJob) -> dict[str, int]:
        """Return, by node name, how much of each of its nodes a running job has: 1, or a number of CPUs."""
        if not self.shared:
            return dict.fromkeys(job.hosts, 1)
        each = -(-job.cpus // max(1, len(job.hosts)))
        return {name: min(each, self._sizes.get(name, 0)) for name in job.hosts}

    def reservations(self, moment: float) -> list[SlurmReservation]:
        """Return the other reservations that the job would overlap if it started at a moment and ran to its limit."""
        until = moment + min(self.job.limit, YEAR)
        return [
            one for one in self.queue.reservations
            if one.name != self.job.reservation and one.begin < until and not one.end <= moment
        ]  # fmt: skip

    def reserved(self, moment: float) -> frozenset[str]:
        """Return the nodes that other reservations keep from the job if it started at a moment."""
        return frozenset[str]().union(*(one.nodes for one in self.reservations(moment)))

    def free(self) -> int:
        """Return how many nodes (or CPUs) are free of those that are up and not reserved for others now."""
        return self._left(self._taken())

    def _taken(self) -> dict[str, int]:
        """Return, by usable node that is not reserved for others now, how much running jobs have of it together."""
        taken = dict.fromkeys(self.up - self.reserved(self.queue.now), 0)
        for job in self.queue.running:
            for name, amount in self.has(job).items():
                if name in taken:
                    taken[name] += amount
        return taken

    def _left(self, taken: Mapping[str, int]) -> int:
        return sum(max(0, self._sizes[name] - amount) for name, amount in taken.items())

    def until_enough(self) -> tuple[tuple[str, ...], float]:
        """Return the running jobs that must end until the job's need is free, and the time of the last of these ends.

        Jobs are named in the order of their ends, if they run to their limits. The time is now if enough is free, and
        NaN if all these ends do not free enough.
        """
        taken, now = self._taken(), self.queue.now
        names: list[str] = []
        last = now
        for job in sorted(self.queue.running, key=lambda one: one.expected_end(now)):
            if self._left(taken) >= self.need:
                break
            freed = {name: amount for name, amount in self.has(job).items() if name in taken}
            if any(freed.values()):
                names.append(job.target)
                last = job.expected_end(now)
                taken |= {name: taken[name] - amount for name, amount in freed.items()}
        return tuple(names), last if self._left(taken) >= self.need else math.nan
