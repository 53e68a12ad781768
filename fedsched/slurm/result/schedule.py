"""The schedules that Slurm's scheduler makes: besides starts and ends, the pass that started each job and its nodes."""

from __future__ import annotations

from dataclasses import fields
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.errors import ScheduleError, unknown_name
from fedsched.engine.sharing.result import SharedSchedule
from fedsched.model.jobs.requests import SLURM_ONLY
from fedsched.model.schedule.schedule import Schedule
from fedsched.slurm.loop.structs import By

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.slurm.loop.structs import Words

    Runs = tuple["SlurmSchedule | SharedSlurmSchedule", ...]

NAMES = {By.NOBODY: "", By.MAIN: "main", By.BACKFILL: "backfill"}


class Played(NamedTuple):
    """What a run of Slurm's scheduler yields besides starts and counts of nodes: passes, tests and each job's nodes."""

    by: NDArray[np.int64]  # which pass started each job, as `By`
    held: Words  # the nodes of each job
    passes: int  # number of backfill passes
    tests: int  # number of tests of jobs in backfill passes


class Spread(NamedTuple):
    """The mean, standard deviation, least and largest value of a metric over the runs of an ensemble."""

    mean: float
    deviation: float  # standard deviation of single runs
    least: float
    most: float


class EnsembleSchedule(Schedule):
    """A schedule with all `runs` of an ensemble (the same jobs with other clocks), which gives ranges over these runs.

    Without an ensemble it is the only run.
    """

    __slots__ = ()

    runs: Runs

    @property
    def unmodelled(self) -> tuple[str, ...]:
        """Return what is in the jobs' log but not in the model or the federation, a few words each.

        Facts that only the plain model lacks, and this scheduler has, are left out.
        """
        return tuple(fact for fact in super().unmodelled if not fact.endswith(SLURM_ONLY))

    def interval_of(self, row: int) -> tuple[float, float]:
        """Return the earliest and the latest start of a job, in seconds, over the runs of the ensemble."""
        starts = [float(run.start[row]) for run in self._all()]
        return min(starts), max(starts)

    def spread_of(self, metric: str) -> Spread:
        """Return the mean, standard deviation, least and largest value of a metric over the runs of the ensemble.

        Raise an error if there is no metric of that name.
        """
        rows = [run.metrics(users=False) for run in self._all()]
        if metric not in (names := [field.name for field in fields(rows[0])]):
            raise unknown_name("metric", metric, names)
        values = np.array([getattr(row, metric) for row in rows], dtype=float)
        return Spread(float(values.mean()), float(values.std()), float(values.min()), float(values.max()))

    def _all(self) -> Runs:
        return self.runs or (self,)  # type: ignore[return-value]


class SlurmSchedule(EnsembleSchedule):
    """A schedule of Slurm's own scheduler; `played` has its further results, or None if they are lost.

    They are lost if the schedule is made again from its columns. In an ensemble it is the run with the given clocks,
    and `runs` are all runs, this one first.
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
        """Return which pass started each job: "main" or "backfill", "" if none did.

        Raise ScheduleError if that is not known.
        """
        return tuple(NAMES[By(one)] for one in self._known().by.tolist())

    def nodes_of(self, row: int) -> tuple[int, ...]:
        """Return the numbers of a job's nodes, counted from 0 on through the federation's clusters.

        Raise ScheduleError if they are not known.
        """
        words = self._known().held[row].astype("<u8").tobytes()
        return tuple(np.flatnonzero(np.unpackbits(np.frombuffer(words, dtype=np.uint8), bitorder="little")).tolist())

    def _known(self) -> Played:
        if self.played is None:
            raise ScheduleError("Schedule: it was made from another's columns, which lack this; ask that schedule.")
        return self.played


class SharedSlurmSchedule(EnsembleSchedule, SharedSchedule):
    """A schedule of Slurm's own scheduler on shared nodes; in an ensemble, `runs` are all runs, this one first."""

    __slots__ = ("by", "runs")

    by: NDArray[np.int64] | None
    runs: Runs

    def __init__(self, *, by: NDArray[np.int64] | None = None, runs: Runs = (), **columns: Any) -> None:
        super().__init__(**columns)
        object.__setattr__(self, "by", by)
        object.__setattr__(self, "runs", runs)

    @property
    def started_by(self) -> tuple[str, ...]:
        """Return which pass started each job: "main" or "backfill", "" if none did.

        Raise ScheduleError if that is not known.
        """
        if self.by is None:
            raise ScheduleError("Schedule: it was made from another's columns, which lack this; ask that schedule.")
        return tuple(NAMES[By(one)] for one in self.by.tolist())


def joined_runs(runs: Sequence[SlurmSchedule | SharedSlurmSchedule]) -> SlurmSchedule | SharedSlurmSchedule:
    """Return the first run of an ensemble, changed in place: all runs and a note on their spread are added to it."""
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
