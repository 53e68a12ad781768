"""Lost runs: runs of jobs that a downtime aborted by taking their nodes [42]; and tables of all runs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.core.text import counted, first_of
from fedsched.model.schedule.integrals import Integrals, Wasted

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule


class LostRuns(NamedTuple):
    """Lost runs, one per row, in the order of their ends: the job's row, start, end, and nodes of each group."""

    job: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    counts: NDArray[np.int64]  # run × group
    requeued: NDArray[np.bool_]  # True: the job returned to the queue; False: it was killed

    @classmethod
    def of(cls, rows: Sequence[tuple[int, float, float, Sequence[int], bool]]) -> LostRuns:
        """Return these runs (at least one), given as (job, start, end, counts, requeued), as columns."""
        job, start, end, counts, requeued = zip(*rows, strict=True)
        return cls(
            np.array(job, dtype=np.int64),
            np.array(start, dtype=np.float64),
            np.array(end, dtype=np.float64),
            np.array(counts, dtype=np.int64),
            np.array(requeued, dtype=np.bool_),
        )

    @property
    def runs(self) -> int:
        """Return the number of lost runs."""
        return self.job.size

    @property
    def killed(self) -> NDArray[np.int64]:
        """Return the rows of the jobs that were killed, so that their run was not begun anew."""
        return self.job[~self.requeued]

    def frozen(self) -> LostRuns:
        """Return a copy with read-only arrays."""
        job, start, end, counts, requeued = (
            np.array(self.job), np.array(self.start), np.array(self.end), np.array(self.counts), np.array(self.requeued)
        )  # fmt: skip
        for column in (job, start, end, counts, requeued):
            column.setflags(write=False)
        return LostRuns(job, start, end, counts, requeued)

    def of_rows(self, rows: NDArray[np.int64]) -> LostRuns:
        """Return the lost runs of the jobs in these rows; a run's `job` becomes the job's index in `rows`."""
        place = {row: k for k, row in enumerate(rows.tolist())}
        kept = np.array([job in place for job in self.job.tolist()], dtype=np.bool_)
        job = np.array([place[job] for job in self.job[kept].tolist()], dtype=np.int64)
        return LostRuns(job, self.start[kept], self.end[kept], self.counts[kept], self.requeued[kept])

    def wasted(self, t0: float) -> Wasted:
        """Return what the lost runs used from t0 on: node-seconds by group, and their last end."""
        seconds = np.zeros(self.counts.shape[1])
        for counts, lasted in zip(self.counts, self.end - np.maximum(self.start, t0), strict=True):
            seconds += counts * lasted
        return Wasted(seconds, float(self.end.max(initial=-np.inf)))

    def added_to(self, known: Integrals, t0: float) -> Integrals:
        """Return the integrals `known`, with requeues and wasted node-seconds filled in from these runs if NaN."""
        if known.requeues != known.requeues:
            known = known._replace(requeues=float(self.requeued.sum()))
        if known.wasted_node_seconds != known.wasted_node_seconds:
            known = known._replace(wasted_node_seconds=float(self.wasted(t0).seconds.sum()))
        return known

    def in_words(self, workload: Workload) -> list[str]:
        """Return texts that count and name the jobs that lost a run: one text for requeued jobs, one for killed jobs.

        A text is left out if there are no such jobs.
        """
        said = []
        for rows, what in ((self.job[self.requeued], "queued again"), (self.killed, "killed")):
            if rows.size:
                ids = workload.id[np.unique(rows)]
                times = f" ({rows.size} times)" if rows.size > ids.size else ""
                said.append(f"{what} by downtimes: {counted(ids.size, 'job')}{times} ({first_of(ids)})")
        return said


class RunTable(NamedTuple):
    """Runs that used nodes, one per row: the job's row, start, end, and nodes of each group."""

    job: NDArray[np.int64]
    start: NDArray[np.float64]
    end: NDArray[np.float64]
    counts: NDArray[Any]  # run x group: nodes, or the share in use if jobs share nodes

    def joined_with(self, other: RunTable) -> RunTable:
        """Return the table of these runs, followed by the other runs."""
        return RunTable(*(np.concatenate(columns) for columns in zip(self, other, strict=True)))


def finished_runs(schedule: Schedule) -> RunTable:
    """Return all runs of a schedule that are over: those of jobs with a finish, then lost runs."""
    done, lost = np.flatnonzero(~np.isnan(schedule.finish)), schedule.lost
    ended = RunTable(done, schedule.start[done], schedule.finish[done], schedule.counts[done])
    return ended.joined_with(RunTable(lost.job, lost.start, lost.end, lost.counts))


def no_runs(groups: int) -> LostRuns:
    """Return an empty table of lost runs, read-only, with this number of groups."""
    none = np.zeros(0)
    runs = LostRuns(none.astype(np.int64), none, none, np.zeros((0, groups), dtype=np.int64), none.astype(np.bool_))
    return runs.frozen()
