"""When waiting jobs will start: replays of the queue with run times drawn from what users' jobs have used."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.errors import SteerError
from fedsched.steer.picture import Picture, picture_of
from fedsched.steer.queue import ENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fedsched.outlook.habits import Habits
    from fedsched.outlook.present import Present
    from fedsched.steer import Queue, SlurmJob

DRAWS = 100
SHARE = 0.8
LEAST = 1.0  # seconds that a job runs at least
NOBODY = "assumed: nobody else comes"
BACKFILLS = "assumed: each job is planned in turn by what was asked for, as Slurm's backfilling does"
IN_TURN = "assumed: nobody starts before those in front of him, for sched/builtin backfills nothing"


class Forecast(NamedTuple):
    """When a job will start: as many draws start before `earliest` as after `latest`; times like the queue's.

    `by_limits` is the start if every job ran to its limit, which is what `squeue --start` counts with.
    """

    job: SlurmJob
    earliest: float
    median: float
    latest: float
    by_limits: float


@dataclass(frozen=True, slots=True)
class Outlook:
    """Forecasts of those who wait, in the order of their turn.

    Parameters
    ----------
    share
        The part of the draws that lie in each range.
    notes
        What is assumed, not modelled or left aside.
    """

    present: Present
    forecasts: tuple[Forecast, ...]
    share: float
    draws: int
    notes: tuple[str, ...]

    def of(self, job: SlurmJob) -> Forecast | None:
        """Return the forecast of a job; None where there is none."""
        return next((one for one in self.forecasts if one.job.number == job.number), None)


def forecast(
    present: Present,
    *,
    draws: int = DRAWS,
    share: float = SHARE,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Outlook:
    """Return when each job that waits in turn will start, as a range.

    Parameters
    ----------
    present
        A cluster as it is now.
    draws
        How many times the queue is replayed, each time with other run times: those of each user's jobs are drawn from
        what his jobs have used of their limits so far.
    share
        Which part of the replays a range holds.
    seed
        What is drawn follows from it.
    progress
        Called with how many replays are done, of how many.
    """
    if draws < 1:
        raise SteerError(f"draws={draws} must be at least 1.")
    if not 0.0 < share < 1.0:
        raise SteerError(f"share={share!r} must be above 0 and below 1.")
    queue = present.queue
    notes = (*present.notes, NOBODY)
    if not queue.waiting:
        return Outlook(present, (), share, draws, (*queue.aside_in_words(), *notes))
    picture = picture_of(queue)
    replays = Replays(picture, present.habits, draws=draws, seed=seed)
    order = [job.number for job in queue.waiting if job.number in replays.numbers]
    starts = replays.starts(order, progress)
    by_limits = picture.starts(picture.rows_of(order))
    jobs = {job.number: job for job in queue.waiting}
    found = tuple(ranged(jobs[number], starts[number], share, by_limits[number]) for number in order)
    notes = (*notes, BACKFILLS if picture.backfills else IN_TURN)
    return Outlook(present, found, share, draws, (*picture.notes, *queue.aside_in_words(), *notes))


def ranged(job: SlurmJob, starts: NDArray[np.float64], share: float, by_limits: float) -> Forecast:
    """Return the forecast of a job with such starts in all replays."""
    earliest, median, latest = np.quantile(starts, [(1.0 - share) / 2.0, 0.5, (1.0 + share) / 2.0]).tolist()
    return Forecast(job, earliest, median, latest, by_limits)


class Replays:
    """Replays of one queue, each with run times of its own, which are the same whatever the order of the jobs."""

    def __init__(self, picture: Picture, habits: Habits, *, draws: int, seed: int) -> None:
        self.picture = picture
        self.numbers = frozenset(job.number for job in picture.jobs[: picture.waiting])
        rng = np.random.default_rng(seed)
        limits = picture.workload.estimate
        now = picture.queue.now
        self._runs = [habits.drawn(picture.jobs, limits, now, rng) for _ in range(draws)]

    def starts(
        self, order: Sequence[int], progress: Callable[[int, int], None] | None = None
    ) -> dict[int, NDArray[np.float64]]:
        """Return the starts of each job in all replays, jobs having their turn in this order of numbers."""
        rows = self.picture.rows_of(order)
        found: dict[int, list[float]] = {number: [] for number in order}
        for k, run in enumerate(self._runs):
            for number, start in self.picture.by_job(self._replayed(run, rows)).items():
                found[number].append(start)
            if progress is not None:
                progress(k + 1, len(self._runs))
        return {number: np.array(starts) for number, starts in found.items()}

    def _replayed(self, run: NDArray[np.float64], rows: Sequence[int]) -> NDArray[np.float64]:
        picture = self.picture
        state, n = picture.running, picture.waiting
        # Who completes, or has outrun its limit, leaves its nodes at once, whatever is drawn.
        ends = np.minimum(np.maximum(state.start + run[n:], state.time + ENDING), state.planned_end)
        left = ends - state.time
        running = state._replace(finish=ends, work_left=left)
        workload = replace(picture.workload, runtime=np.maximum(run, LEAST))
        return picture.simulated(workload, running, rows)


def expected_end(job: SlurmJob, queue: Queue, found: Forecast | None) -> float:
    """Return by when a job has ended by its limit, NaN where nobody knows when it starts."""
    if job.holds_nodes:
        return job.expected_end(queue.now)
    return math.nan if found is None else found.by_limits + job.limit
