"""GangSchedule: when and on which processors every gang and local job runs, with metrics, check and series."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import ScheduleError, unknown_name

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import NDArray

    from fedsched.gang.system import GangSystem
    from fedsched.workload import Workload

CLASSES = ("all", "gangs", "locals")


@dataclass(frozen=True, slots=True)
class GangMetrics:
    """The figures of one class of jobs; times are of its completed jobs, NaN where there are none."""

    completed: int
    completed_share: float
    mean_wait: float
    mean_response: float
    weighted_response: float
    mean_slowdown: float
    weighted_slowdown: float
    utilisation: float
    loss_of_capacity: float


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GangSchedule:
    """The answer to a gang simulation. NaN: not started, or cut off by a limit before its end.

    `processor[first[j]:first[j + 1]]` are the processors of job j, counted through the sites; -1 where never placed.
    """

    workload: Workload
    system: GangSystem
    start: NDArray[np.float64]
    finish: NDArray[np.float64]
    length: NDArray[np.float64]
    first: NDArray[np.int64]
    processor: NDArray[np.int64]
    local: NDArray[np.bool_]
    rejected: NDArray[np.bool_]
    end: float
    lost: float
    backfilled: int
    events: int
    notes: tuple[str, ...] = ()

    def __len__(self) -> int:
        return len(self.workload)

    @property
    def completed(self) -> NDArray[np.bool_]:
        """Return which jobs are done."""
        return ~np.isnan(self.finish)

    @property
    def complete(self) -> bool:
        """Return whether every job that was not turned away is done."""
        return bool((self.completed | self.rejected).all())

    @property
    def t0(self) -> float:
        """Return the first arrival."""
        return float(self.workload.submit[~self.rejected].min(initial=self.end))

    def metrics(self, jobs: str = "all", *, warmup: float = 0.0) -> GangMetrics:
        """Return the figures of `all` jobs, the `gangs` or the `locals`.

        Utilisation and loss of capacity are always of the whole run; unfinished work counts as idle, as in the paper.

        Parameters
        ----------
        jobs
            Which class.
        warmup
            Jobs submitted in the first so many seconds are left out of the means.
        """
        if jobs not in CLASSES:
            raise unknown_name("class of jobs", jobs, CLASSES)
        if not warmup >= 0:
            raise ValueError(f"metrics: warmup={warmup} must be at least 0 seconds.")
        of_class = np.ones(len(self), dtype=bool) if jobs == "all" else self.local == (jobs == "locals")
        arrived = of_class & (self.workload.submit <= self.end) & (self.workload.submit >= self.t0 + warmup)
        done = arrived & self.completed
        size, service = self.workload.tasks[done], self.workload.runtime[done]
        response = self.finish[done] - self.workload.submit[done]
        slowdown = np.divide(response, service, out=np.full(len(response), np.nan), where=service > 0)
        area = float((self.workload.tasks * self.length)[of_class & self.completed].sum())
        span = self.system.total * (self.end - self.t0)
        none = not done.any()
        return GangMetrics(
            completed=int(done.sum()),
            completed_share=float(done.sum() / arrived.sum()) if arrived.any() else np.nan,
            mean_wait=np.nan if none else float((self.start[done] - self.workload.submit[done]).mean()),
            mean_response=np.nan if none else float(response.mean()),
            weighted_response=np.nan if none else float((size * response).sum() / size.sum()),
            mean_slowdown=np.nan if none else float(slowdown.mean()),
            weighted_slowdown=np.nan if none else float((size * slowdown).sum() / size.sum()),
            utilisation=area / span if span > 0 else np.nan,
            loss_of_capacity=self.lost / span if span > 0 else np.nan,
        )

    def verify(self) -> None:
        """Raise ScheduleError at the first job that breaks the model: its gang, its processors, or its times."""
        tasks = self.workload.tasks
        started = ~np.isnan(self.start)
        last = np.where(self.completed, self.finish, self.end)
        owner = np.repeat(np.arange(len(self)), np.diff(self.first))
        running = started[owner]
        for j in np.flatnonzero(started):
            used = self.processor[self.first[j] : self.first[j + 1]]
            name = f"Job {self.workload.id[j]}"
            if used.size != tasks[j] or np.unique(used).size != tasks[j] or used.min() < 0:
                raise ScheduleError(f"{name}: {tasks[j]} tasks need as many distinct processors, not {used.tolist()}.")
            if self.start[j] < self.workload.submit[j]:
                raise ScheduleError(f"{name}: start {self.start[j]} lies before its submit {self.workload.submit[j]}.")
            sites = np.unique(np.searchsorted(np.cumsum(self.system.processors), used, side="right"))
            if sites.size > 1 and self.system.approach == 1:
                raise ScheduleError(f"{name}: it runs on {sites.size} sites; approach 1 keeps a gang on one.")
            if self.local[j] and sites[0] != self.workload.origin[j]:
                raise ScheduleError(f"{name}: a local job of site {self.workload.origin[j]} runs on site {sites[0]}.")
            length = self.workload.runtime[j] * (1.0 + self.system.overhead * (sites.size > 1))
            if self.completed[j] and not np.isclose(self.finish[j] - self.start[j], length, rtol=1e-9, atol=1e-9):
                raise ScheduleError(f"{name}: it ran {self.finish[j] - self.start[j]} s; its service is {length} s.")
        order = np.lexsort((self.start[owner[running]], self.processor[running]))
        jobs, places = owner[running][order], self.processor[running][order]
        overlap = (places[1:] == places[:-1]) & (self.start[jobs[1:]] < last[jobs[:-1]] - 1e-9)
        if overlap.any():
            k = int(np.flatnonzero(overlap)[0])
            raise ScheduleError(
                f"Job {self.workload.id[jobs[k + 1]]}: it starts on processor {places[k]} while job "
                f"{self.workload.id[jobs[k]]} still runs there."
            )

    def series(self, times: NDArray[np.float64]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return, at each of these times, how many jobs wait and how many processors work."""
        taken = ~self.rejected
        begun, tasks = ~np.isnan(self.start), self.workload.tasks
        at_starts, at_ends = np.sort(self.start[begun]), np.sort(self.finish[self.completed])
        by_start, by_end = np.argsort(self.start[begun]), np.argsort(self.finish[self.completed])
        started = np.concatenate(([0], np.cumsum(tasks[begun][by_start])))
        ended = np.concatenate(([0], np.cumsum(tasks[self.completed][by_end])))
        starts = np.searchsorted(at_starts, times, side="right")
        waiting = np.searchsorted(np.sort(self.workload.submit[taken]), times, side="right") - starts
        return waiting, started[starts] - ended[np.searchsorted(at_ends, times, side="right")]

    def gantt(self, ax: Axes | None = None) -> Axes:
        """Return the axes with a row a processor: gangs in colour, local jobs in grey."""
        import matplotlib.pyplot as plt
        from matplotlib.collections import PolyCollection

        if ax is None:
            _, ax = plt.subplots(figsize=(10, 5), layout="constrained")
        begun = ~np.isnan(self.start)
        owner = np.repeat(np.arange(len(self)), np.diff(self.first))
        shown = np.flatnonzero(begun[owner])
        job, row = owner[shown], self.processor[shown]
        left, right = self.start[job], np.where(self.completed, self.finish, self.end)[job]
        corners = np.stack(
            [np.stack((x, row + y), axis=1) for x, y in ((left, -0.45), (right, -0.45), (right, 0.45), (left, 0.45))],
            axis=1,
        )
        hues = np.delete(plt.get_cmap("tab10")(np.arange(10)), 7, axis=0)  # its grey would pass for a local job
        palette = hues[self.workload.id[job] % 9]
        palette[self.local[job]] = (0.75, 0.75, 0.75, 1.0)
        ax.add_collection(PolyCollection(list(corners), facecolors=palette, edgecolors="white", linewidths=0.3))
        for border in np.cumsum(self.system.processors)[:-1]:
            ax.axhline(border - 0.5, color="black", linewidth=0.8)
        ax.set(xlim=(self.t0, self.end), ylim=(-0.5, self.system.total - 0.5), xlabel="time", ylabel="processor")
        return ax

    def __str__(self) -> str:
        done = f"{int(self.completed.sum())} of {len(self)} jobs done by {self.end:g}"
        return "; ".join((f"GangSchedule: approach {self.system.approach}, {done}", *self.notes))
