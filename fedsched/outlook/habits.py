"""Habits: which part of what they ask for users' jobs have used, and run times of others' jobs drawn from that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.steer import SlurmJob

    Column = NDArray[np.float64]

LATEST = 100  # ended jobs of a user, at most, that tell of him: habits change
FEW = 10  # with fewer, everybody's jobs tell of him, too
OF_ALL = 2000  # of everybody's jobs, the latest
ENDED = ("COMPLETED", "TIMEOUT", "FAILED", "OUT_OF_MEMORY", "CANCELLED", "DEADLINE")


class Ended(NamedTuple):
    """Jobs that have ended, the latest last: whose they were, what they asked for, and how long they ran."""

    user: NDArray[np.object_]
    limit: Column  # seconds
    run: Column


@dataclass(frozen=True, slots=True, eq=False)
class Habits:
    """Parts of their limits that jobs have run, sorted; `known` is how many ended jobs tell of them."""

    of_user: Mapping[str, Column]
    of_all: Column
    known: int

    @classmethod
    def of(cls, ended: Ended) -> Habits:
        """Return what ended jobs tell: of each user his latest ones, mixed with everybody's where those are few."""
        told = (ended.limit > 0.0) & np.isfinite(ended.limit) & (ended.run > 0.0)
        user, part = ended.user[told], np.minimum(ended.run[told] / ended.limit[told], 1.0)
        of_all = np.sort(part[-OF_ALL:])
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(user.tolist()):
            rows.setdefault(name, []).append(row)
        own = {}
        for name, mine in rows.items():
            parts = part[mine[-LATEST:]]
            if parts.size < FEW:  # as many of everybody's, evenly from the shortest to the longest, as are missing
                at = np.linspace(0, of_all.size - 1, FEW - parts.size).round().astype(np.int64)
                parts = np.concatenate([parts, of_all[at]])
            own[name] = np.sort(parts)
        return cls(own, of_all, int(part.size))

    @classmethod
    def none(cls) -> Habits:
        """Return what is known where no job has ended: that all run to their limits."""
        return cls({}, np.ones(1), 0)

    def parts(self, user: str) -> Column:
        """Return the parts of their limits that a user's jobs run, each as likely as the others, sorted."""
        found = self.of_user.get(user, self.of_all)
        return found if found.size else np.ones(1)

    def drawn(self, jobs: Sequence[SlurmJob], limits: Column, now: float, rng: np.random.Generator) -> Column:
        """Return a run time for each job: longer than it has run so far, and of alike jobs alike.

        Jobs of a user that ask for the same are mostly the same program on other data: they draw one place among what
        his jobs have run. Each takes that place among what is still possible for it.
        """
        place: dict[tuple[str, int, float], float] = {}
        found = np.empty(len(jobs))
        for k, (job, limit) in enumerate(zip(jobs, limits.tolist(), strict=True)):
            own = (job.user, job.nodes, limit)
            at = place[own] if own in place else place.setdefault(own, float(rng.random()))
            sofar = max(0.0, now - job.start) if job.holds_nodes and job.start == job.start else 0.0
            found[k] = self._one(job.user, limit, sofar, at)
        return found

    def _one(self, user: str, limit: float, sofar: float, at: float) -> float:
        parts = self.parts(user)
        left = parts[int(np.searchsorted(parts, sofar / limit, side="right")) :]
        if not left.size:  # none of his has run as long: anything until its limit
            return sofar + at * max(0.0, limit - sofar)
        return float(left[math.floor(at * left.size)]) * limit
