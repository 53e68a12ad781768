"""Forecast when waiting jobs will start, by replays of the queue with run times drawn from users' past jobs."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import SteerError
from fedsched.core.text import counted
from fedsched.site.outlook.calibration import Calibration, MomentForecasts
from fedsched.site.outlook.replays import Replays, has_old_reason, in_turn, picture_within
from fedsched.site.outlook.unmodelled import notes_of, unmodelled_obstacle

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from fedsched.site.outlook.present import Present
    from fedsched.site.steer import Queue, SlurmJob

DRAWS = 100
SHARE = 0.8
NO_FURTHER_JOBS = "assumed: no further jobs are submitted"
BACKFILLS = "assumed: jobs are planned one after the other by their requests, as in Slurm's backfill"
IN_TURN = "assumed: no job starts before the jobs ahead of it, since sched/builtin does not backfill"


class Forecast(NamedTuple):
    """The forecast of when a job will start, as times of the queue (in seconds).

    Parameters
    ----------
    job
        The job.
    earliest, latest
        The range: the start is as likely before it as after it. It comes from the starts in the replays and, if ranges
        are calibrated, from the errors of earlier forecasts.
    median
        The median of the starts in the replays.
    by_limits
        The start if every job ran to its limit, as `squeue --start` assumes.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> first = outlook.forecast(outlook.present("sample"), draws=20).forecasts[0]
    >>> first.by_limits >= first.earliest
    True
    """

    job: SlurmJob
    earliest: float
    median: float
    latest: float
    by_limits: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """Forecasts of the waiting jobs, in the order of the queue.

    Parameters
    ----------
    share
        The part of the starts that each range is to hold.
    notes
        What is assumed, not modelled or left aside.
    unknown
        What keeps each job that has no forecast because the replays do not model it, by job number.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> found = outlook.forecast(outlook.present("sample"), draws=20)
    >>> found.share, found.of(found.forecasts[0].job) is found.forecasts[0]
    (0.8, True)
    """

    present: Present
    forecasts: tuple[Forecast, ...]
    share: float
    draws: int
    notes: tuple[str, ...]
    unknown: Mapping[int, str] = field(default_factory=dict)

    def of(self, job: SlurmJob) -> Forecast | None:
        """Return the forecast of a job; None if it has none."""
        return next((one for one in self.forecasts if one.job.number == job.number), None)


def forecast(
    present: Present,
    *,
    draws: int = DRAWS,
    share: float = SHARE,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Outlook:
    """Return when each job that waits in turn will start, as a range; jobs that replays cannot model have none.

    Parameters
    ----------
    present
        A cluster as it is now. If its records tell of earlier moments, ranges are calibrated by the errors of
        forecasts made then.
    draws
        How many times the queue is replayed, each time with other run times: those of each user's jobs are drawn from
        the parts of their limits that the user's jobs have used so far.
    share
        Which part of the starts a range is to hold.
    seed
        The seed of the draws.
    progress
        Called after each replay with the number of replays done, and their total number.

    Examples
    --------
    >>> from fedsched.site import outlook
    >>> found = outlook.forecast(outlook.present("sample"), draws=20)
    >>> first = found.forecasts[0]
    >>> first.earliest <= first.median <= first.latest
    True
    """
    if draws < 1:
        raise SteerError(f"draws={draws} must be at least 1.")
    if not 0.0 < share < 1.0:
        raise SteerError(f"share={share!r} must be above 0 and below 1.")
    queue = in_turn(present.queue, present.limits)
    notes = (*present.notes, *_of_old_reasons(present.queue), NO_FURTHER_JOBS)
    if not queue.waiting:
        return Outlook(present, (), share, draws, (*queue.aside_in_words(), *notes))
    picture = picture_within(queue, present.limits, present.free)
    replays = Replays(picture, present.habits, draws=draws, seed=seed)
    order = [job.number for job in queue.waiting if job.number in replays.numbers]
    starts = replays.starts(order, progress)
    by_limits = picture.starts(picture.rows_of(order))
    calibration = present.calibration(draws, seed)
    waiting = [job for job in queue.waiting if job.number in starts]
    obstacles = ((job.number, unmodelled_obstacle(queue, job, by_limits[job.number])) for job in waiting)
    unknown = {number: words for number, words in obstacles if words}
    known = {number: found for number, found in starts.items() if number not in unknown}
    found = ranged(queue, known, by_limits, share, calibration)
    notes = (*notes_of(queue, unknown), *notes, BACKFILLS if picture.backfills else IN_TURN)
    if calibration is not None:
        notes = (*notes, calibration.in_words())
    return Outlook(present, found, share, draws, (*picture.notes, *queue.aside_in_words(), *notes), unknown)


def _of_old_reasons(queue: Queue) -> list[str]:
    """Return a note on how many jobs are taken to wait in turn although Slurm says ReqNodeNotAvail; none if no job is.

    For these jobs enough nodes are up, so the reason is outdated.
    """
    old = sum(has_old_reason(queue, job) for job in queue.jobs)
    if not old:
        return []
    return [f"{counted(old, 'job')} with the reason ReqNodeNotAvail {'waits' if old == 1 else 'wait'} in turn: enough "
            "nodes are up, and Slurm keeps that reason until it looks again"]  # fmt: skip


def ranged(
    queue: Queue,
    starts: Mapping[int, NDArray[np.float64]],
    by_limits: Mapping[int, float],
    share: float,
    calibration: Calibration | None,
) -> tuple[Forecast, ...]:
    """Return the forecasts of the jobs in `starts`, with ranges that are to hold this share of their starts.

    Ranges are quantiles of the starts in all replays, or calibrated if a calibration with enough data is given.
    """
    jobs = {job.number: job for job in queue.waiting}
    if calibration is None or not calibration.enough:
        levels = [(1.0 - share) / 2.0, 0.5, (1.0 + share) / 2.0]
        ends = {number: np.quantile(one, levels).tolist() for number, one in starts.items()}
    else:
        said = MomentForecasts.of(queue.now, starts)
        rows = zip(*calibration.ranges(said, share), said.median.tolist(), strict=True)
        ends = {number: [queue.now + x for x in (low, median, high)]
                for number, (low, high, median) in zip(starts, rows, strict=True)}  # fmt: skip
    return tuple(
        Forecast(jobs[number], earliest, median, latest, by_limits[number])
        for number, (earliest, median, latest) in ends.items()
    )


def expected_end(job: SlurmJob, queue: Queue, found: Forecast | None) -> float:
    """Return when a job ends if it runs to its time limit; NaN if it has not started and has no forecast.

    A waiting job is taken to start at the forecast's `by_limits`.
    """
    if job.holds_nodes:
        return job.expected_end(queue.now)
    return math.nan if found is None else found.by_limits + job.limit
