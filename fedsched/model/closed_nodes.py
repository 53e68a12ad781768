"""Whether a schedule keeps to the calendar: no start on closed nodes, nor on ones that are known to close in its run.

It shares no code with the engine; readings 38 to 40 are written out once more.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.calendar import closures_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.calendar import Closures
    from fedsched.model.schedule import Schedule


def broken_closures(schedule: Schedule, steady: NDArray[np.bool_], planned_end: NDArray[np.float64]) -> Iterator[str]:
    """Give the starts that break the calendar; of `steady` jobs the planned end is what it was at their start."""
    closures = closures_of(schedule.federation)
    for g in np.unique(closures.group).tolist():
        here = closures.take(closures.group == g)
        rows = np.flatnonzero(schedule.counts[:, g] > 0)
        yield from _starts_on_closed(schedule, here, rows, g)
        if schedule.knowledge is not None:  # else nobody knows what plans were made on
            rows = rows[steady[rows]]
            for begin in np.unique(here.begin).tolist():
                over = rows[(schedule.start[rows] < begin) & (planned_end[rows] > begin)]
                yield from _starts_into_closed(schedule, here, over, g, begin)


def _used(schedule: Schedule, rows: NDArray[np.int64], g: int, times: NDArray[np.float64]) -> NDArray[np.int64]:
    # The group's nodes that these jobs hold right after each of the times.
    counts = schedule.counts[rows, g]
    begun, ended = (np.argsort(column[rows], kind="stable") for column in (schedule.start, schedule.finish))
    taken = np.concatenate([[0], np.cumsum(counts[begun])])
    given = np.concatenate([[0], np.cumsum(counts[ended])])
    before = np.searchsorted(schedule.start[rows][begun], times, side="right")
    over = np.searchsorted(schedule.finish[rows][ended], times, side="right")
    return np.asarray(taken[before] - given[over])


def _starts_on_closed(schedule: Schedule, here: Closures, rows: NDArray[np.int64], g: int) -> Iterator[str]:
    mine = rows[schedule.start[rows] >= schedule.t0]
    times = schedule.start[mine]
    closed = np.zeros(mine.size, dtype=np.int64)
    for nodes, begin, end in zip(here.nodes, here.begin, here.end, strict=True):
        closed += nodes * ((begin <= times) & (times < end))
    count = schedule.federation.groups[g].count
    used = _used(schedule, rows, g, times)
    for i in np.flatnonzero((closed > 0) & (used > count - closed))[:1]:
        yield (
            f"Job {schedule.workload.id[mine[i]]}: at {times[i]:g} group {g} has {used[i]} nodes in use, but "
            f"{min(closed[i], count)} of its {count} are closed."
        )


def _starts_into_closed(
    schedule: Schedule, here: Closures, over: NDArray[np.int64], g: int, begin: float
) -> Iterator[str]:
    # Of the jobs that are planned to run over this begin, those that start although it is known that too few are left.
    mine = over[schedule.start[over] >= schedule.t0]
    times = schedule.start[mine]
    closed = np.zeros(mine.size, dtype=np.int64)
    covering = (here.begin <= begin) & (begin < here.planned_end)
    for nodes, known_from, end in zip(here.nodes[covering], here.known_from[covering], here.end[covering], strict=True):
        closed += nodes * ((known_from <= times) & (times < end))
    count = schedule.federation.groups[g].count
    used = _used(schedule, over, g, times)
    for i in np.flatnonzero((closed > 0) & (used > count - closed))[:1]:
        yield (
            f"Job {schedule.workload.id[mine[i]]}: it starts at {times[i]:g} and is planned to run beyond {begin:g}, "
            f"where {used[i]} nodes of group {g} would be in use, and {min(closed[i], count)} of its {count} closed."
        )
