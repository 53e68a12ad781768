"""Habits: which part of their time limits users' jobs have used, and run times of current jobs drawn from that."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.site.steer import SlurmJob

    Column = NDArray[np.float64]

LATEST = 100  # jobs of a user, the latest, that count at most: habits change
FEW = 10  # with fewer jobs of a user, the jobs of all users count, too
OF_ALL = 2000  # jobs of all users, the latest, that count at most
ENDED = ("COMPLETED", "TIMEOUT", "FAILED", "OUT_OF_MEMORY", "CANCELLED", "DEADLINE")
RUNS = "RUNNING"


class Runs(NamedTuple):
    """Runs of jobs, the latest last: user, time limit and run time so far in seconds, and whether each run is over."""

    user: NDArray[np.object_]
    limit: Column  # seconds
    run: Column
    over: NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Habits:
    """Which part (from 0 to 1) of their time limits jobs have used, as sorted samples for each user and for all users.

    Parameters
    ----------
    of_user
        By user: the parts of their limits that the user's jobs have used, sorted.
    of_all
        The parts that the jobs of all users together have used, sorted.
    known
        The number of ended jobs from which the parts come.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> outlook.Habits.none().known
    0
    """

    of_user: Mapping[str, Column]
    of_all: Column
    known: int

    @classmethod
    def of(cls, ran: Runs) -> Habits:
        """Return the habits from runs: each user's latest runs, filled up from all users' runs if they are few.

        Jobs that still run count as using at least what they have used so far; otherwise jobs that end early would
        count too much. Without an ended run, return `none()`.
        """
        told = (ran.limit > 0.0) & np.isfinite(ran.limit) & (ran.run > 0.0)
        user, part = ran.user[told], np.minimum(ran.run[told] / ran.limit[told], 1.0)
        over = ran.over[told] | (part >= 1.0)
        if not over.any():
            return cls.none()
        of_all = _likely(part[-OF_ALL:], over[-OF_ALL:])
        rows: dict[str, list[int]] = {}
        for row, name in enumerate(user.tolist()):
            rows.setdefault(name, []).append(row)
        own = {}
        for name, mine in rows.items():
            latest = mine[-LATEST:]
            parts = _likely(part[latest], over[latest])
            if parts.size < FEW:  # fill up with those of all users, evenly from the shortest to the longest
                at = np.linspace(0, of_all.size - 1, FEW - parts.size).round().astype(np.int64)
                parts = np.concatenate([parts, of_all[at]])
            own[name] = np.sort(parts)
        return cls(own, of_all, int(over.sum()))

    @classmethod
    def none(cls) -> Habits:
        """Return habits by which all jobs run to their limits, for the case that no ended job is known."""
        return cls({}, np.ones(1), 0)

    def parts(self, user: str) -> Column:
        """Return the parts of their limits that a user's jobs use, sorted and equally likely.

        For an unknown user they are those of all users.
        """
        found = self.of_user.get(user, self.of_all)
        return found if found.size else np.ones(1)

    def drawn(self, jobs: Sequence[SlurmJob], limits: Column, now: float, rng: np.random.Generator) -> Column:
        """Return a random run time for each job, in seconds: longer than it has run so far, and alike for alike jobs.

        Jobs of a user with the same nodes and limit are mostly the same program on other data. So they draw one common
        quantile of the user's run times. Each takes that quantile of the run times that are still possible for it.
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
        if not left.size:  # none of the user's jobs has run as long: uniform up to its limit
            return sofar + at * max(0.0, limit - sofar)
        return float(left[math.floor(at * left.size)]) * limit


def _likely(part: Column, over: NDArray[np.bool_]) -> Column:
    """Return sorted, equally likely samples of the part of its limit that a job uses in all, as many as there are jobs.

    `part` is what each job has used so far; for jobs that are not `over` it is a lower bound. The distribution is
    estimated after Kaplan and Meier. Beyond the greatest part of an ended job, samples are 1, the whole limit.
    """
    order = np.lexsort((~over, part))
    part, over = part[order], over[order]
    if over.all():
        return part
    count = part.size
    ended = 1.0 - np.cumprod(1.0 - over / (count - np.arange(count)))
    at = np.searchsorted(ended, (np.arange(count) + 0.5) / count)
    return np.concatenate([part, [1.0]])[at]
