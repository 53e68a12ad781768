"""The schedule that Slurm makes: one like any other, and who started each job on which nodes."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import ScheduleError, unknown_name
from fedsched.engine.sharing.result import SharedSchedule
from fedsched.model.jobs.nice import SLURM_ALONE
from fedsched.model.schedule.schedule import Schedule
from fedsched.slurm.loop.structs import By

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.slurm.loop.structs import Words

    Runs = tuple["SlurmSchedule | SharedSlurmSchedule", ...]

NAMES = {By.NOBODY: "", By.MAIN: "main", By.BACKFILL: "backfill"}


class Played(NamedTuple):
    """What there is of a run of Slurm beside starts and counts of nodes."""

    by: NDArray[np.int64]  # who started each job
    held: Words  # on which nodes
    passes: int  # of backfill
    tests: int  # of jobs in those


class Spread(NamedTuple):
    """What the runs of an ensemble make of a metric."""

    mean: float
    deviation: float  # the standard one, of single runs
    least: float
    most: float


class OfRuns(Schedule):
    """What the runs of an ensemble make of jobs and metrics; `runs` are all of them, the schedule itself first."""

    __slots__ = ()

    runs: Runs

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return what the jobs' log holds and the model or the federation does not, a few words each."""
        return tuple(fact for fact in super().unmodelled if not fact.endswith(SLURM_ALONE))

    def interval_of(self, row: int) -> tuple[float, float]:
        """Return the earliest and the latest start of a job in the runs of an ensemble."""
        starts = [float(run.start[row]) for run in self._all()]
        return min(starts), max(starts)

    def spread_of(self, metric: str) -> Spread:
        """Return the mean of a metric over the runs of an ensemble, and how far they are from each other."""
        rows = [run.metrics(users=False) for run in self._all()]
        if metric not in (names := [field.name for field in fields(rows[0])]):
            raise unknown_name("metric", metric, names)
        values = np.array([getattr(row, metric) for row in rows], dtype=float)
        return Spread(float(values.mean()), float(values.std()), float(values.min()), float(values.max()))

    def _all(self) -> Runs:
        return self.runs or (self,)  # type: ignore[return-value]


class SlurmSchedule(OfRuns):
    """A schedule of Slurm's own scheduler; `played` is lost where a schedule is made anew from its columns.

    Of an ensemble it is the run with the clocks as they are given, and `runs` are all of them, this one first.
    """

    __slots__ = ("played", "runs")

    played: Played | None
    runs: Runs

    def __init__(self, *, played: Played | None = None, runs: Runs = (), **columns: Any) -> None:
        super().__init__(**columns)
        object.__setattr__(self, "played", played)
        object.__setattr__(self, "runs", runs)

    @property
    def started_by(self) -> tuple[str, ...]:
        """Return which scheduler started each job: "main" or "backfill"."""
        return tuple(NAMES[By(one)] for one in self._known().by.tolist())

    def nodes_of(self, row: int) -> tuple[int, ...]:
        """Return the numbers of a job's own nodes, from 0 on through the federation's clusters."""
        words = self._known().held[row].astype("<u8").tobytes()
        return tuple(np.flatnonzero(np.unpackbits(np.frombuffer(words, dtype=np.uint8), bitorder="little")).tolist())

    def _known(self) -> Played:
        if self.played is None:
            raise ScheduleError("Schedule: it was made of another's columns, which do not tell; ask that one.")
        return self.played


class SharedSlurmSchedule(OfRuns, SharedSchedule):
    """A schedule of Slurm's own scheduler on nodes that jobs share; of an ensemble `runs` are all of them."""

    __slots__ = ("by", "runs")

    by: NDArray[np.int64] | None
    runs: Runs

    def __init__(self, *, by: NDArray[np.int64] | None = None, runs: Runs = (), **columns: Any) -> None:
        super().__init__(**columns)
        object.__setattr__(self, "by", by)
        object.__setattr__(self, "runs", runs)

    @property
    def started_by(self) -> tuple[str, ...]:
        """Return which scheduler started each job: "main" or "backfill"."""
        if self.by is None:
            raise ScheduleError("Schedule: it was made of another's columns, which do not tell; ask that one.")
        return tuple(NAMES[By(one)] for one in self.by.tolist())


def together(runs: Sequence[SlurmSchedule | SharedSlurmSchedule]) -> SlurmSchedule | SharedSlurmSchedule:
    """Return the first run of an ensemble, which knows all of them."""
    first = runs[0]
    object.__setattr__(first, "runs", tuple(runs))
    starts = np.array([run.start for run in runs])
    waits = first.spread_of("mean_wait")
    note = (
        f"{len(runs)} runs with drawn clocks: mean wait {waits.mean:,.0f} s, {waits.least:,.0f} to "
        f"{waits.most:,.0f} s; a job's starts are {float(np.nanmean(np.ptp(starts, axis=0))):,.0f} s apart in the mean"
    )
    object.__setattr__(first, "notes", (*first.notes, note))
    return first
