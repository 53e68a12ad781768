"""Replay a queue with run times drawn from users' past jobs; forecasts are made of these replays."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.site.steer.queue import ENDING

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fedsched.site.outlook.habits import Habits
    from fedsched.site.steer.picture import Picture

LEAST = 1.0  # seconds that a job runs at least


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
        """Return the starts of each job in all replays, with jobs scheduled in this order of numbers."""
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
        # A job that completes, or is over its limit, leaves its nodes at once, whatever is drawn.
        ends = np.minimum(np.maximum(state.start + run[n:], state.time + ENDING), state.planned_end)
        left = ends - state.time
        running = state._replace(finish=ends, work_left=left)
        workload = replace(picture.workload, runtime=np.maximum(run, LEAST))
        return picture.simulated(workload, running, rows)
