"""Since when jobs had their nodes, some of which had to boot, and in which turn they got them [66]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule


class Promises(NamedTuple):
    """By row of the workload: when a job was promised its nodes (NaN: never), and before whom of the same instant."""

    time: NDArray[np.float64]
    turn: NDArray[np.int64]

    def frozen(self) -> Promises:
        """Return the same as arrays that cannot be written."""
        time, turn = np.array(self.time, dtype=np.float64), np.array(self.turn, dtype=np.int64)
        for column in (time, turn):
            column.setflags(write=False)
        return Promises(time, turn)

    def of_rows(self, rows: NDArray[np.int64]) -> Promises:
        """Return those of some jobs."""
        return Promises(self.time[rows], self.turn[rows])


def same_promises(mine: Promises | None, theirs: Promises | None) -> bool:
    """Return whether two schedules' jobs had their nodes at the same times, or both say nothing of that."""
    if mine is None or theirs is None:
        return mine is theirs
    return all(np.array_equal(one, other, equal_nan=True) for one, other in zip(mine, theirs, strict=True))


def same_delays(mine: NDArray[np.float64] | None, theirs: NDArray[np.float64] | None) -> bool:
    """Return whether two schedules' jobs are put off by the same times, or neither's may be."""
    if mine is None or theirs is None:
        return mine is theirs
    return np.array_equal(mine, theirs)


def broken_turns(schedule: Schedule) -> Iterator[str]:
    """Give whose turn is not its place among all that were promised nodes, in the order of time."""
    if schedule.promises is None:
        return
    time, turn = schedule.promises
    rows = np.flatnonzero(~np.isnan(time))
    rows = rows[np.lexsort((turn[rows], time[rows]))]
    for place in np.flatnonzero(turn[rows] != np.arange(rows.size)).tolist():
        row = rows[place]
        yield (
            f"Job {schedule.workload.id[row]}: it is promised nodes at {time[row]:g} in turn {turn[row]}, "
            f"but {place} jobs are promised theirs before."
        )
