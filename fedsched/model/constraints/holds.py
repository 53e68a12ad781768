"""Holds: intervals in which a job may not start, as under `scontrol hold` [73]."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np

from fedsched.core.text import NUMBER, counted, one_line, seconds_text
from fedsched.core.values import MOST_SECONDS
from fedsched.model.jobs.columns import JobLists, split_entries

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

_HOLD = re.compile(rf"({NUMBER})-({NUMBER})")


class Hold(NamedTuple):
    """An interval in seconds in which a job may not start; it may start at the interval's end."""

    begin: float
    end: float

    def __str__(self) -> str:
        return f"{seconds_text(self.begin)}-{seconds_text(self.end)}"


@dataclass(frozen=True, slots=True, eq=False)
class Holds(JobLists):
    """The intervals in which each job is held, sorted and disjoint, in seconds: "3600-7200|9000-9600"."""

    NAMES = ("held",)
    ENTRY = Hold
    KINDS = (np.float64, np.float64)
    GIVE = "stretches of time by job: {12: [(3600, 7200)]}"

    begin: Floats
    end: Floats

    @classmethod
    def listed(cls, given: Any, whose: str) -> list[Hold]:
        """Return the holds in a text, or in pairs: see `holds_of`."""
        return holds_of(given, whose)

    @property
    def jobs(self) -> int:
        """Return the number of jobs with a hold."""
        return int((np.diff(self.first) > 0).sum())

    def holds(self, row: int) -> list[Hold]:
        """Return the holds of the job in this row, in order."""
        return self.entries(row)

    def moved(self, onto: Callable[[Floats], Floats]) -> Self:
        """Return the holds with begins and ends mapped by `onto`; parts before 0 are dropped."""
        begin, end = np.maximum(onto(self.begin), 0.0), np.maximum(onto(self.end), 0.0)
        kept = begin < end
        many = np.bincount(self.owner[kept], minlength=self.first.size - 1)
        return self._of_arrays(np.concatenate([[0], np.cumsum(many, dtype=np.int64)]), begin[kept], end[kept])

    def __str__(self) -> str:
        return f"{counted(self.jobs, 'job')} held for a time, {counted(self.begin.size, 'hold')} in all"

    # ---- the meaning of holds

    def after_holds(self, moment: Floats) -> Floats:
        """Return `moment`, one time per job, with each time in a hold of its job moved to the end of that hold."""
        found = [self.eligible_from(row, time, time) for row, time in enumerate(moment.tolist())]
        return np.array(found, dtype=np.float64)

    def eligible_from(self, row: int, moment: float, time: float) -> float:
        """Return from when on the job in this row may start, if it might from `moment` on without holds.

        This is the later of `moment` and the end of the last hold that begins by `moment` or by now (`time`).
        """
        ends = [hold.end for hold in self.holds(row) if hold.begin <= max(moment, time)]
        return max(moment, *ends[-1:], moment)

    def unheld_intervals(self, row: int, since: float, until: float) -> list[tuple[float, float]]:
        """Return the intervals, in order, in which a job that waits from `since` to `until` is not held.

        The last interval ends at `until`; it begins after `until` if a hold covers `until`.
        """
        found, begin = [], since
        for hold in self.holds(row):
            if hold.end > begin and hold.begin < until:
                found += [(begin, hold.begin)] if hold.begin > begin else []
                begin = hold.end
        return [*found, (begin, until)]


def holds_of(entry: Any, whose: str) -> list[Hold]:
    """Return the holds in a text, or in (begin, end) pairs, sorted; holds that touch are joined; [] for None or NaN.

    Raise an error that names the job if a hold is invalid.
    """
    if entry is None or entry != entry:
        return []
    given = _read(entry, whose) if isinstance(entry, str) else [_hold(one, whose) for one in entry]
    for hold in given:
        if MOST_SECONDS < hold.end < np.inf:
            raise ValueError(f"{whose}: held {hold} must end at {MOST_SECONDS:g} s at the latest.")
        if not 0.0 <= hold.begin < hold.end < np.inf:
            raise ValueError(
                f"{whose}: held {hold} must begin at 0 s or later and end after its begin; leave out a job that is "
                "never released, or cancel it (cancel_at)."
            )
    joined: list[Hold] = []
    for hold in sorted(given):
        if joined and hold.begin <= joined[-1].end:
            joined[-1] = Hold(joined[-1].begin, max(joined[-1].end, hold.end))
        else:
            joined.append(hold)
    return joined


def _read(text: str, whose: str) -> list[Hold]:
    found = []
    for part in split_entries(text):
        match = _HOLD.fullmatch(part.strip())
        if match is None:
            raise ValueError(f"{whose}: held {one_line(part)!r} must be like '3600-7200', begin and end in seconds.")
        found.append(Hold(float(match[1]), float(match[2])))
    return found


def _hold(given: Any, whose: str) -> Hold:
    try:
        begin, end = given
        return Hold(float(begin), float(end))
    except (TypeError, ValueError):
        raise ValueError(f"{whose}: held {given!r} must be (begin, end), in seconds.") from None


# ---- a schedule's jobs


def holds_begun_by(workload: Workload, time: float) -> Holds | None:
    """Return the workload's holds that begin at `time` or earlier; None if there are none.

    It is the workload's own object if none begins later.
    """
    held = workload.held
    if held is None or (held.begin <= time).all():
        return held
    begun = [[one for one in held.holds(row) if one.begin <= time] for row in range(len(workload))]
    return Holds.of(begun, workload.id)


def hold_at(workload: Workload, row: int, time: float) -> Hold | None:
    """Return the hold that the job in this row is under at a time; None if it is not held then."""
    holds = [] if workload.held is None else workload.held.holds(row)
    return next((hold for hold in holds if hold.begin <= time < hold.end), None)


def eligible_after_holds(schedule: Schedule, since: Floats) -> Floats:
    """Return since when each job of a schedule was eligible; `since` is that time without holds.

    The time moves to the end of the last hold that ended by the job's start, if that is later. Checks use it.
    """
    found, held = since.copy(), schedule.workload.held
    given = schedule.start if schedule.promises is None else schedule.promises.time  # holds do not apply after that
    for row in range(0 if held is None else len(since)):
        for hold in held.holds(row) if held is not None else ():
            if found[row] < hold.end <= given[row]:  # the last hold that ended by its start
                found[row] = hold.end
    return found


def broken_holds(schedule: Schedule) -> Iterator[str]:
    """Yield an error for each job of a schedule that started, or was promised its nodes, while it was held.

    Lost runs count as well; starts before t0 are not checked.
    """
    workload, lost = schedule.workload, schedule.lost
    if workload.held is None:
        return
    given = schedule.start if schedule.promises is None else np.fmin(schedule.start, schedule.promises.time)
    times = [*zip(range(len(workload)), given.tolist(), strict=True)]
    times += zip(lost.job.tolist(), lost.start.tolist(), strict=True)
    for row, time in times:
        if time >= schedule.t0 and (hold := hold_at(workload, row, time)) is not None:
            held = f"while it is held from {hold.begin:g} to {hold.end:g}"
            yield f"Job {workload.id[row]}: it starts at {time:g}, {held}."
