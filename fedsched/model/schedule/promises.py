"""Promises: when and in which order jobs were given their nodes [66].

They exist with power saving only, if nodes may have to boot before their job starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule


class Promises(NamedTuple):
    """For each job, the time at which it was promised its nodes (NaN: never), and its turn among all promises.

    A job holds its nodes from then on, and starts when all of them are on.
    """

    time: NDArray[np.float64]
    turn: NDArray[np.int64]

    def frozen(self) -> Promises:
        """Return a copy with read-only arrays."""
        time, turn = np.array(self.time, dtype=np.float64), np.array(self.turn, dtype=np.int64)
        for column in (time, turn):
            column.setflags(write=False)
        return Promises(time, turn)

    def of_rows(self, rows: NDArray[np.int64]) -> Promises:
        """Return the promises of the jobs in these rows; turns stay."""
        return Promises(self.time[rows], self.turn[rows])


def held_from(schedule: Schedule) -> NDArray[np.float64]:
    """Return since when each job has had its nodes: its promise, or else its start; NaN without a start."""
    if schedule.promises is None:
        return schedule.start
    return np.where(np.isnan(schedule.start), np.nan, schedule.promises.time)


def same_promises(mine: Promises | None, theirs: Promises | None) -> bool:
    """Return whether two schedules have the same promises, or both have none (None)."""
    if mine is None or theirs is None:
        return mine is theirs
    return all(np.array_equal(one, other, equal_nan=True) for one, other in zip(mine, theirs, strict=True))


def same_delays(mine: NDArray[np.float64] | None, theirs: NDArray[np.float64] | None) -> bool:
    """Return whether two schedules have the same delays by plans, or both have none (None)."""
    if mine is None or theirs is None:
        return mine is theirs
    return np.array_equal(mine, theirs)


def broken_turns(schedule: Schedule) -> Iterator[str]:
    """Yield an error for each job with a turn other than its place among all promises, sorted by time, then turn.

    Jobs that run at t0 come first, in the order of their turns.
    """
    if schedule.promises is None:
        return
    time, turn = np.maximum(schedule.promises.time, schedule.t0), schedule.promises.turn
    rows = np.flatnonzero(~np.isnan(time))
    rows = rows[np.lexsort((turn[rows], time[rows]))]
    for place in np.flatnonzero(turn[rows] != np.arange(rows.size)).tolist():
        row = rows[place]
        yield (
            f"Job {schedule.workload.id[row]}: it is promised nodes at {time[row]:g} in turn {turn[row]}, "
            f"but {place} jobs are promised theirs before."
        )
