"""GangSchedule: when and on which processors every gang and local job runs, with metrics, checks and series."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import ScheduleError, unknown_name
from fedsched.core.text import counted, one_line
from fedsched.core.values import is_number

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from numpy.typing import ArrayLike, NDArray

    from fedsched.gang.system import GangSystem
    from fedsched.model.jobs.workload import Workload

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Flags = NDArray[np.bool_]

CLASSES = ("all", "gangs", "locals")


@dataclass(frozen=True, slots=True)
class GangMetrics:
    """The metrics of one class of jobs; times are means over its completed jobs, NaN if there are none.

    Weighted means weigh a job by its number of tasks.

    Parameters
    ----------
    completed, completed_share
        The number of completed jobs, and their share.
    mean_wait
        AWT: the response minus the run that counted; a preempted gang waits from its arrival on.
    mean_response, weighted_response
        RT or ART, and WRT.
    mean_slowdown, weighted_slowdown
        SLD and WSLD: they divide by the run that counted, clock and overhead included.
    utilisation, wasted
        The completed jobs' share of all processors' time, and the share of the lost runs of restarted gangs.
    loss_of_capacity, loss_by_site
        LoC over all processors, and the same site by site.
    preemptions, migrations
        How often jobs of the class were preempted, and how often they migrated.

    Examples
    --------
    >>> metrics = fs.gang.presets.DimitriadouKaratza(completions=200).run(seed=1).metrics("gangs")
    >>> metrics.completed, metrics.mean_response > 0
    (5, True)
    """

    completed: int
    completed_share: float
    mean_wait: float
    mean_response: float
    weighted_response: float
    mean_slowdown: float
    weighted_slowdown: float
    utilisation: float
    wasted: float
    loss_of_capacity: float
    loss_by_site: float
    preemptions: int
    migrations: int


class Series(NamedTuple):
    """The numbers of waiting jobs and of working processors, one of each for every time that was asked for."""

    waiting: Ints
    working: Ints


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class GangSchedule:
    """The result of a gang simulation: every stretch of running, every event, and their totals.

    A job has one stretch unless local jobs preempt it.

    Parameters
    ----------
    workload, system
        The jobs, and the sites with their rules.
    finish
        When each job ended; NaN for jobs that were rejected or not done when the run stopped.
    segment_job, segment_start, segment_end
        The job (a row of the workload), the begin and the end of each stretch.
    segment_first, segment_processor
        Stretch k has the processors `segment_processor[segment_first[k]:segment_first[k + 1]]`, numbered through the
        sites.
    local, rejected
        Which jobs are local, and which are too large for the system.
    preemptions, migrations
        How often each job was preempted and migrated.
    end
        When the run stopped.
    event_time, event_job, event_ends
        When each event was, of which job, and whether it is its end (or its arrival).
    idle, waiting
        The number of idle processors and of waiting jobs after each event.
    lost
        The processor seconds lost before each event, over all processors and site by site. The last row is for the end
        of the run.
    backfilled, local_migrations, external_migrations, moved_tasks
        How many jobs were backfilled, how many gangs migrated in each way, and how many tasks moved.
    notes
        Remarks on the run, a line each: rejected jobs, why it stopped early, what of the workload plays no part.

    Examples
    --------
    >>> schedule = fs.gang.presets.DimitriadouKaratza(completions=200).run(seed=1)
    >>> int(schedule.completed.sum())
    200
    >>> schedule.verify()
    """

    workload: Workload
    system: GangSystem
    finish: Floats
    segment_job: Ints
    segment_start: Floats
    segment_end: Floats
    segment_first: Ints
    segment_processor: Ints
    local: Flags
    rejected: Flags
    preemptions: Ints
    migrations: Ints
    end: float
    event_time: Floats
    event_job: Ints
    event_ends: Flags
    idle: Ints
    waiting: Ints
    lost: Floats
    backfilled: int
    local_migrations: int
    external_migrations: int
    moved_tasks: int
    notes: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, np.ndarray):
                value.setflags(write=False)

    def __len__(self) -> int:
        return len(self.workload)

    @property
    def events(self) -> int:
        """Return the number of arrivals and ends in the run."""
        return self.event_time.size

    @property
    def start(self) -> Floats:
        """Return when each job first started; NaN: never."""
        first = np.full(len(self), np.nan)
        order = np.argsort(-self.segment_start, kind="stable")  # the earliest is written last, and stays
        first[self.segment_job[order]] = self.segment_start[order]
        return first

    @property
    def completed(self) -> Flags:
        """Return, for each job, whether it is done."""
        return ~np.isnan(self.finish)

    @property
    def complete(self) -> bool:
        """Return whether every job that was not rejected is done."""
        return bool((self.completed | self.rejected).all())

    @property
    def t0(self) -> float:
        """Return the time of the first arrival of a job that is not rejected."""
        return float(self.workload.submit[~self.rejected].min(initial=self.end))

    def processors_of(self, job: int) -> Ints:
        """Return the processors of a job's last stretch; empty if it never ran."""
        stretches = np.flatnonzero(self.segment_job == job)
        if stretches.size == 0:
            return np.zeros(0, dtype=np.int64)
        k = stretches[np.argmax(self.segment_end[stretches])]
        return self.segment_processor[self.segment_first[k] : self.segment_first[k + 1]]

    def metrics(self, jobs: str = "all", *, warmup: float = 0.0) -> GangMetrics:
        """Return the metrics of `all` jobs, the `gangs` or the `locals`.

        Parameters
        ----------
        jobs
            The class of jobs.
        warmup
            Seconds from the first arrival that are left out: jobs submitted in them, work and losses.

        Examples
        --------
        >>> schedule = fs.gang.presets.DimitriadouKaratza(completions=200).run(seed=1)
        >>> schedule.metrics("locals").completed
        195
        """
        if jobs not in CLASSES:
            raise unknown_name("class of jobs", jobs, CLASSES)
        if not (is_number(warmup) and warmup >= 0):
            raise ValueError(f"metrics: warmup={warmup!r} must be finite and at least 0 seconds.")
        begin = self.t0 + warmup
        of_class = np.ones(len(self), dtype=bool) if jobs == "all" else self.local == (jobs == "locals")
        arrived = of_class & (self.workload.submit <= self.end) & (self.workload.submit >= begin)
        done = arrived & self.completed
        size, ran = self.workload.tasks[done], self._counted()[done]
        response = self.finish[done] - self.workload.submit[done]
        # A run may be shorter than the resolution of the clock; its start and end are then equal.
        slowdown = response / np.where(ran > 0, ran, self.workload.runtime[done])
        useful, wasted = self._areas(of_class, begin)
        span = self.system.total * max(self.end - begin, 0.0)
        lost = self.lost[-1] - self._lost_before(begin)
        none = not done.any()
        return GangMetrics(
            completed=int(done.sum()),
            completed_share=float(done.sum() / arrived.sum()) if arrived.any() else np.nan,
            mean_wait=np.nan if none else float((response - ran).mean()),
            mean_response=np.nan if none else float(response.mean()),
            weighted_response=np.nan if none else float((size * response).sum() / size.sum()),
            mean_slowdown=np.nan if none else float(slowdown.mean()),
            weighted_slowdown=np.nan if none else float((size * slowdown).sum() / size.sum()),
            utilisation=useful / span if span > 0 else np.nan,
            wasted=wasted / span if span > 0 else np.nan,
            loss_of_capacity=float(lost[0] / span) if span > 0 else np.nan,
            loss_by_site=float(lost[1] / span) if span > 0 else np.nan,
            preemptions=int(self.preemptions[arrived].sum()),
            migrations=int(self.migrations[arrived].sum()),
        )

    def _counts(self) -> Flags:
        """Return which stretches count as completed work: all of a job that resumes, only the last if it restarts."""
        counts = self.completed[self.segment_job]
        if self.system.preempted == "restart":
            counts &= self.segment_end == self.finish[self.segment_job]
        return counts

    def _counted(self) -> Floats:
        """Return the run time of each completed job in the stretches that count (`_counts`); 0 for other jobs."""
        counts = self._counts()
        length = self.segment_end - self.segment_start
        ran = np.bincount(self.segment_job[counts], weights=length[counts], minlength=len(self))
        return ran.astype(np.float64)

    def _areas(self, of_class: Flags, begin: float) -> tuple[float, float]:
        """Return the processor seconds of completed work, and of runs lost by restarts, of a class from `begin` on."""
        length = np.maximum(self.segment_end - np.maximum(self.segment_start, begin), 0.0)
        area = length * self.workload.tasks[self.segment_job]
        of_these, counts = of_class[self.segment_job], self._counts()
        stopped = of_these & ~counts & (self.system.preempted == "restart")
        stopped &= ~self._cut_off()
        return float(area[of_these & counts].sum()), float(area[stopped].sum())

    def _cut_off(self) -> Flags:
        """Return which stretches were still running when the run stopped; they are the last in the record."""
        cut = np.zeros(self.segment_job.size, dtype=bool)
        cut[self.segment_job.size - self._running_at_end() :] = True
        return cut

    def _running_at_end(self) -> int:
        ended = int(self.event_ends.sum()) + int(self.preemptions.sum())
        return self.segment_job.size - ended

    def _lost_before(self, time: float) -> Floats:
        """Return the processor seconds lost until a time, over all processors and site by site, interpolated."""
        times = np.append(self.event_time, self.end)
        if times.size < 2 or time <= times[0]:
            return np.zeros(2)
        return np.array([np.interp(time, times, self.lost[:, k]) for k in range(2)])

    def verify(self) -> None:
        """Raise ScheduleError at the first violation of the model: of a gang, its processors, or its times."""
        from fedsched.gang.verification import violations

        for line in violations(self):
            raise ScheduleError(line)

    def series(self, times: ArrayLike) -> Series:
        """Return the number of waiting jobs and of working processors at each of these times."""
        place = np.searchsorted(self.event_time, np.asarray(times, dtype=np.float64), side="right")
        waiting = np.concatenate(([0], self.waiting))[place]
        working = self.system.total - np.concatenate(([self.system.total], self.idle))[place]
        return Series(waiting, working)

    def gantt(self, ax: Axes | None = None) -> Axes:
        """Draw a Gantt chart with a row for each processor, gangs in colour, local jobs in grey; return the axes."""
        from fedsched.gang.pictures import draw_gantt

        return draw_gantt(self, ax)

    def plot_load(self, ax: Axes | None = None) -> Axes:
        """Draw the working processors and the waiting jobs over time; return the axes."""
        from fedsched.gang.pictures import draw_load

        return draw_load(self, ax)

    def __str__(self) -> str:
        where = f"approach {self.system.approach}" if self.system.grid == "multi_site" else self.system.discipline
        done = f"{int(self.completed.sum())} of {counted(len(self), 'job')} done by {self.end:g}"
        return one_line("; ".join((f"GangSchedule: {where}, {done}", *self.notes)))
