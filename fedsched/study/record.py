"""The result of a study: scenarios beside the present one, differences of waits with intervals, and bounds."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.text import counted, one_line
from fedsched.report.formatting import duration
from fedsched.study.convenience import StudyConvenience

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload

    Column = NDArray[np.float64]

WEEK, DAY = 7 * 86_400.0, 86_400.0
FEWEST = 4  # blocks that resampling needs; a log of fewer weeks is resampled by days
RESAMPLES = 2000
BETTER = 60.0  # seconds by which a wait must change to count as less or more


class Interval(NamedTuple):
    """A change of the mean wait, in seconds, with its 95 % interval by resampling (NaN with fewer than 4 blocks)."""

    value: float
    low: float
    high: float

    @property
    def shown(self) -> bool:
        """Return whether the interval excludes zero, so that a difference is shown."""
        return self.low > 0 or self.high < 0


class Share(NamedTuple):
    """How many of a group of users or jobs wait over a minute less or more, and the mean change of waits in seconds."""

    name: str
    of: int
    less: int
    more: int
    change: float


class Recorded(NamedTuple):
    """The jobs that started within a record: their number, recorded mean wait and simulated mean wait, in seconds.

    `later` is the number of all other jobs.
    """

    jobs: int
    wait: float
    here: float
    later: int

    def __str__(self) -> str:
        text = (
            f"On record the {counted(self.jobs, 'job')} that began by the end of it waited {duration(self.wait)} in "
            f"the mean; as it is here, the same jobs wait {duration(self.here)}."
        )
        if not self.later:
            return text
        also = f"{counted(self.later, 'job')} that {'begins' if self.later == 1 else 'begin'} later"
        return f"{text} The figures above are also of {also}: the queue is simulated until it is empty."


@dataclass(frozen=True)
class Outcome:
    """A simulated scenario: its figures over the compared jobs, and a lower bound if one is known."""

    name: str
    change: str
    policy: str
    nodes: int
    metrics: dict[str, float]
    wait: Column  # of each compared job, in seconds; NaN if it does not start
    bound: float  # a lower bound of the mean wait; NaN if none is proven
    notes: tuple[str, ...] = ()
    dropped: tuple[str, ...] = ()  # what the scenario lacks beside its change; a part of the difference

    @property
    def includes(self) -> str:
        """Return the words "which includes …" that follow a difference, with what was dropped; empty if nothing was."""
        return f", which includes {' and '.join(self.dropped)}" if self.dropped else ""


@dataclass(frozen=True, repr=False)
class Study(StudyConvenience):
    """The result of `study`: the outcomes of the present state and of each scenario, on the same jobs.

    Parameters
    ----------
    base, scenarios
        The outcome of the present state, and those of the scenarios.
    size, user, block
        The nodes, the user (-1: unknown) and the week, or day, of each compared job.
    days_of_block, seed
        How many days a block has, and the seed of resampling.
    notes
        What was left out or assumed.
    names
        The users' names, as far as they are known.
    recorded
        The recorded waits of a dump.
    unit
        What sizes count: "node", or "task" if jobs share nodes.

    Examples
    --------
    >>> found = fs.study(fs.read("sample").head(100), {"more nodes": "nodes=+20%"}, bounds=False)
    >>> outcome = found.scenarios[0]
    >>> outcome.name, found.blocks
    ('more nodes', 1)
    """

    base: Outcome
    scenarios: tuple[Outcome, ...]
    size: NDArray[np.int64]  # nodes of each compared job; tasks if jobs share nodes
    user: NDArray[np.int64]  # -1: unknown
    block: NDArray[np.int64]
    days_of_block: int
    seed: int
    notes: tuple[str, ...] = ()
    names: Mapping[int, str] = field(default_factory=dict)  # users' names, as far as known
    recorded: Recorded | None = None  # of a dump
    unit: str = "node"  # or "task"

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """Return the present scenario's outcome and then the others'."""
        return (self.base, *self.scenarios)

    @property
    def lines(self) -> tuple[str, ...]:
        """Return what was left out or assumed; a note on one scenario begins with its name."""
        own = [
            f"{one.name}: {note.removeprefix(f'{one.name}: ')}"
            for one in self.outcomes for note in one.notes if note not in self.notes
        ]  # fmt: skip
        return tuple(dict.fromkeys([*self.notes, *own]))

    @property
    def blocks(self) -> int:
        """Return the number of blocks (weeks, or days) that resampling draws from."""
        return int(self.block.max(initial=-1)) + 1

    def difference(self, outcome: Outcome) -> Interval:
        """Return the change of the mean wait from the present state to a scenario, in seconds, with its interval.

        It is over the jobs that start in both; NaN if there are none.
        """
        both = ~np.isnan(outcome.wait) & ~np.isnan(self.base.wait)
        change = (outcome.wait - self.base.wait)[both]
        if not change.size:
            return Interval(float("nan"), float("nan"), float("nan"))
        if self.blocks < FEWEST:
            return Interval(float(change.mean()), float("nan"), float("nan"))
        sums = np.bincount(self.block[both], weights=change, minlength=self.blocks)
        jobs = np.bincount(self.block[both], minlength=self.blocks)
        rng = np.random.default_rng(self.seed)
        drawn = rng.integers(0, self.blocks, (RESAMPLES, self.blocks))
        many = jobs[drawn].sum(axis=1)
        means = sums[drawn].sum(axis=1)[many > 0] / many[many > 0]
        low, high = np.quantile(means, [0.025, 0.975])
        return Interval(float(change.mean()), float(low), float(high))

    def by_size(self, outcome: Outcome) -> list[Share]:
        """Return, for each class of job sizes that occurs, how many jobs wait less and more than at present."""
        limits = [1]
        while limits[-1] < self.size.max(initial=1):
            limits.append(limits[-1] * 4)
        lows = [1, *(limit + 1 for limit in limits[:-1])]
        spans = zip(lows, limits, strict=True)
        names = [f"{low:,} to {high:,} {self.unit}s" if low < high else f"{low} {self.unit}" for low, high in spans]
        which = np.searchsorted(limits, self.size)
        change = outcome.wait - self.base.wait
        return [_share(name, change[which == k]) for k, name in enumerate(names) if (which == k).any()]

    def by_user(self, outcome: Outcome) -> Share:
        """Return how many users' mean waits fall or rise by over a minute from the present state, and the mean change.

        Users are those of compared jobs that start in both.
        """
        means = self._user_changes(outcome)
        return Share("users", len(means), int((means < -BETTER).sum()), int((means > BETTER).sum()),
                     float(means.mean()) if means.size else float("nan"))  # fmt: skip

    def paying(self, outcome: Outcome, most: int = 5) -> list[tuple[int, int, float]]:
        """Return the users with the largest increases of mean wait, above a minute: user, number of jobs, seconds.

        Parameters
        ----------
        outcome
            The scenario's outcome.
        most
            The number of users.
        """
        change = outcome.wait - self.base.wait
        known = ~np.isnan(change) & (self.user >= 0)
        users, which = np.unique(self.user[known], return_inverse=True)
        jobs = np.bincount(which)
        means = np.bincount(which, weights=change[known]) / np.maximum(jobs, 1)
        worst = [k for k in np.argsort(-means, kind="stable")[:most].tolist() if means[k] > BETTER]
        return [(int(users[k]), int(jobs[k]), float(means[k])) for k in worst]

    def _user_changes(self, outcome: Outcome) -> Column:
        change = outcome.wait - self.base.wait
        known = ~np.isnan(change) & (self.user >= 0)
        _, which = np.unique(self.user[known], return_inverse=True)
        jobs = np.bincount(which) if known.any() else np.zeros(0)
        return np.asarray(np.bincount(which, weights=change[known]) / jobs if known.any() else jobs)

    def __str__(self) -> str:
        lines = [f"{counted(len(self.scenarios), 'scenario')} beside what is, {counted(len(self.size), 'job')}"]
        lines += [] if self.recorded is None else [str(self.recorded)]
        for one in self.scenarios:
            value, low, high = self.difference(one)
            within = f" ({low:+,.0f} to {high:+,.0f})" if low == low else ""
            lines.append(f"{one_line(one.name)}: mean wait {value:+,.0f} s{within}{one.includes}")
        return "\n".join(lines)


def _share(name: str, change: Column) -> Share:
    known = change[~np.isnan(change)]
    mean = float(known.mean()) if known.size else float("nan")
    return Share(name, len(change), int((known < -BETTER).sum()), int((known > BETTER).sum()), mean)


def figures_of(
    workload: Workload, start: Column, finish: Column, rows: NDArray[np.int64], nodes: int
) -> tuple[dict[str, float], Column]:
    """Return metrics of the jobs in `rows`, and their waits in seconds, from all jobs' starts and finishes."""
    submit, run = workload.submit[rows], (finish - start)[rows]
    wait = start[rows] - submit
    begun = ~np.isnan(wait)
    tasks = workload.tasks[rows].astype(np.float64)
    slow = np.maximum(1.0, (wait + run) / np.maximum(run, 10.0))[begun]
    span = float(np.nanmax(finish[rows]) - submit.min()) if begun.any() else float("nan")
    known = wait[begun]
    nothing = float("nan")
    return {
        "mean_wait": float(known.mean()) if known.size else nothing,
        "median_wait": float(np.median(known)) if known.size else nothing,
        "p95_wait": float(np.quantile(known, 0.95)) if known.size else nothing,
        "bounded_slowdown": float(slow.mean()) if known.size else nothing,
        "utilisation": float((tasks * np.nan_to_num(run)).sum() / (nodes * span)) if span > 0 else nothing,
        "makespan": span,
    }, wait


def blocks_of(submit: Column) -> tuple[NDArray[np.int64], int]:
    """Return the number of each job's week (its day, if there are fewer than four weeks), and 7 or 1 days a block."""
    first = submit.min(initial=np.inf)
    for length in (WEEK, DAY):
        which = np.floor((submit - first) / length).astype(np.int64)
        if which.max(initial=0) + 1 >= FEWEST:
            break
    _, dense = np.unique(which, return_inverse=True)
    return dense.astype(np.int64), round(length / DAY)
