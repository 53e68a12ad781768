"""Check that no job starts on closed or reserved nodes, or on nodes that are known to close before its planned end.

It shares no code with the simulation; readings 38 to 40 are implemented anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.time.downtimes import closures_of
from fedsched.model.time.reservations import NO_RESERVATION, reservations_of
from fedsched.model.verify.lost_nodes_check import job_name

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.downtimes import Closures


def broken_closures(schedule: Schedule, steady: NDArray[np.bool_], planned_end: NDArray[np.float64]) -> Iterator[str]:
    """Yield an error for starts on closed nodes, or on nodes known to close before the job's planned end.

    One error is reported per group and downtime. Planned ends are checked for `steady` jobs only; uplinks cannot move
    the planned ends of these.
    """
    closures = closures_of(schedule.federation)
    closures = closures.take(closures.reservation == NO_RESERVATION)
    for g in np.unique(closures.group).tolist():
        here, count = closures.take(closures.group == g), schedule.federation.groups[g].count
        rows = np.flatnonzero(schedule.counts[:, g] > 0)
        for job, time, used, closed in _beyond_what_is_left(schedule, rows, here, here.begin, g):
            yield f"{job}: at {time:g} group {g} has {used} nodes in use, but {closed} of its {count} are closed."
        if schedule.knowledge is None:
            continue  # it is not known what plans were made on
        rows = rows[steady[rows]]
        for begin in np.unique(here.begin).tolist():
            over = rows[(schedule.start[rows] < begin) & (planned_end[rows] > begin)]
            covering = here.take((here.begin <= begin) & (begin < here.planned_end))
            for job, time, used, closed in _beyond_what_is_left(schedule, over, covering, covering.known_from, g):
                yield (
                    f"{job}: it starts at {time:g} and is planned to run beyond {begin:g}, when {used} nodes of group "
                    f"{g} would be in use and {closed} of its {count} closed."
                )


def broken_reservations(
    schedule: Schedule, reserved: NDArray[np.int64], steady: NDArray[np.bool_], planned_end: NDArray[np.float64]
) -> Iterator[str]:
    """Yield an error for each job that starts on nodes of another reservation, or outside the nodes or time of its own.

    `reserved` is the reservation of each job, or -1. For `steady` jobs, runs planned beyond a reservation's begin or
    end are errors too.
    """
    planned = steady if schedule.knowledge is not None else np.zeros_like(steady)
    mine = schedule.start >= schedule.t0
    closures = closures_of(schedule.federation)
    for r, one in enumerate(reservations_of(schedule.federation)):
        member, name = (reserved == r) & mine, repr(one.name)
        for row in np.flatnonzero(member & (schedule.counts[:, ~one.groups] > 0).any(axis=1)):
            yield f"{job_name(schedule, row)}: it has nodes outside its reservation {name}."
        for row in np.flatnonzero(member & ((schedule.start < one.begin) | (schedule.start >= one.end))):
            yield f"{job_name(schedule, row)}: it starts at {schedule.start[row]:g}, outside its reservation {name}."
        for row in np.flatnonzero(member & planned & (planned_end > one.end)):
            planned_to = f"it is planned to run beyond {one.end:g}"
            yield f"{job_name(schedule, row)}: {planned_to}, the end of its reservation {name}."
        known = closures.known_from[closures.reservation == r][0]
        there = (reserved != r) & mine & (schedule.counts[:, one.groups] > 0).any(axis=1)
        for row in np.flatnonzero(there & (schedule.start >= one.begin) & (schedule.start < one.end)):
            yield f"{job_name(schedule, row)}: it starts at {schedule.start[row]:g} on nodes of reservation {name}."
        into = (schedule.start >= known) & (schedule.start < one.begin) & (planned_end > one.begin)
        for row in np.flatnonzero(there & planned & into):
            yield (
                f"{job_name(schedule, row)}: it starts at {schedule.start[row]:g} and is planned to run beyond "
                f"{one.begin:g} on nodes of reservation {name}."
            )


def _beyond_what_is_left(
    schedule: Schedule, rows: NDArray[np.int64], here: Closures, since: NDArray[np.float64], g: int
) -> Iterator[tuple[str, float, int, int]]:
    # The first of these jobs that starts while they hold more nodes of a group than the closures leave.
    mine = rows[schedule.start[rows] >= schedule.t0]
    times = schedule.start[mine]
    closed = np.zeros(mine.size, dtype=np.int64)
    for nodes, begin, end in zip(here.nodes, since, here.end, strict=True):
        closed += nodes * ((begin <= times) & (times < end))
    count = schedule.federation.groups[g].count
    used = _used(schedule, rows, g, times)
    for i in np.flatnonzero((closed > 0) & (used > count - closed))[:1]:
        yield job_name(schedule, mine[i]), float(times[i]), int(used[i]), int(min(closed[i], count))


def _used(schedule: Schedule, rows: NDArray[np.int64], g: int, times: NDArray[np.float64]) -> NDArray[np.int64]:
    # The group's nodes that these jobs hold right after each of the times.
    counts = schedule.counts[rows, g]
    begun, ended = (np.argsort(column[rows], kind="stable") for column in (schedule.start, schedule.finish))
    taken = np.concatenate([[0], np.cumsum(counts[begun])])
    given = np.concatenate([[0], np.cumsum(counts[ended])])
    before = np.searchsorted(schedule.start[rows][begun], times, side="right")
    over = np.searchsorted(schedule.finish[rows][ended], times, side="right")
    return np.asarray(taken[before] - given[over])
