"""Finds the nodes that a job may use, how much of them is free, and which running jobs have the others."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from fedsched.core.text import counted
from fedsched.site.steer.picture import Unit
from fedsched.site.steer.queue import YEAR

if TYPE_CHECKING:
    from collections.abc import Collection

    from fedsched.site.steer import Queue, SlurmJob, SlurmReservation

_ALL_OF = re.compile(r"[\w.-]+(?:&[\w.-]+)*", re.ASCII)
_ONE_OF = re.compile(r"[\w.-]+(?:\|[\w.-]+)+", re.ASCII)


class UsableNodes:
    """The nodes that one job may use: those of its partition that have the features that it asks for.

    Amounts are numbers of nodes or, if jobs share nodes, of CPUs.
    """

    def __init__(self, queue: Queue, job: SlurmJob) -> None:
        self.queue, self.job = queue, job
        self._unit = Unit.of(queue)
        of_partition = next((one.nodes for one in queue.partitions if one.name == job.partition), frozenset[str]())
        nodes = [one for one in queue.nodes if one.name in of_partition and _has(job.features, one.features)]
        self._sizes = {one.name: one.cpus if self._unit.cpus else 1 for one in queue.nodes}
        self.all = frozenset(one.name for one in nodes)
        self.up = frozenset(one.name for one in nodes if one.is_up)
        self.need = self._unit.needs(job)

    @property
    def shared(self) -> bool:
        """Return whether jobs share nodes, so that amounts are numbers of CPUs."""
        return self._unit.cpus

    def said(self, amount: int) -> str:
        """Return an amount of nodes, or of CPUs if jobs share nodes, in words."""
        return counted(amount, "CPU" if self._unit.cpus else "node")

    def size(self, nodes: Collection[str]) -> int:
        """Return the nodes' total size: their number or, if jobs share nodes, their CPUs."""
        return sum(self._sizes[name] for name in nodes)

    def has(self, job: SlurmJob) -> dict[str, int]:
        """Return, by node name, how much of each of its nodes a running job has: 1, or a number of CPUs."""
        if not self._unit.cpus:
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
        usable = self.up - self.reserved(self.queue.now)
        taken = dict.fromkeys(usable, 0)
        for job in self.queue.running:
            for name, amount in self.has(job).items():
                if name in taken:
                    taken[name] += amount
        return sum(max(0, self._sizes[name] - amount) for name, amount in taken.items())

    def until_enough(self) -> tuple[tuple[str, ...], float]:
        """Return the running jobs that must end until the job's need is free, and the time of the last of these ends.

        Jobs are named in the order of their ends, if they run to their limits. The time is now if enough is free, and
        NaN if all these ends do not free enough.
        """
        usable = self.up - self.reserved(self.queue.now)
        free, now = self.free(), self.queue.now
        names = []
        for job in sorted(self.queue.running, key=lambda one: one.expected_end(now)):
            freed = sum(amount for name, amount in self.has(job).items() if name in usable)
            if free >= self.need:
                break
            if freed:
                free += freed
                names.append((job.target, job.expected_end(now)))
        if free < self.need:
            return tuple(name for name, _ in names), math.nan
        return tuple(name for name, _ in names), names[-1][1] if names else now


def _has(asked: str, there: frozenset[str]) -> bool:
    """Return whether a node has the features asked for, like a&b (all) or a|b (one); True for other requests."""
    if _ONE_OF.fullmatch(asked):
        return bool(there & set(asked.split("|")))
    return not _ALL_OF.fullmatch(asked) or set(asked.split("&")) <= there
