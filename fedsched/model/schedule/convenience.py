"""The methods of `Schedule` that read and write files, draw charts and write reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedsched.core.text import ShortRepr
from fedsched.model.reading import UNRECORDED

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.core.names import Alternatives, Knowledge, SameTime, Saturation, Submits
    from fedsched.engine.run.waiting import Waits
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.result import Result


class ReportConvenience(ShortRepr):
    """Base class of `Schedule` and `Result` with the method that writes an HTML report."""

    __slots__ = ()

    def report(
        self: Schedule | Result,
        path: str | PathLike[str],
        *,
        title: str = "",
        price_per_kwh: float | None = None,
        co2_per_kwh: float | None = None,
    ) -> None:
        """Write one HTML page with Gantt charts, jobs and the cost of energy, and with a search's front and progress.

        Parameters
        ----------
        path
            The path of the page (.html); it opens from the disk and needs no network.
        title
            The heading; by default it names the jobs and the machine.
        price_per_kwh, co2_per_kwh
            Money in any currency, and kilograms of CO2, for each kWh; the reader can change them in the page.
        """
        from fedsched.model.schedule.schedule import Schedule
        from fedsched.report import of_result, of_schedules, write

        material = of_schedules([self]) if isinstance(self, Schedule) else of_result(self)
        write(material, path, title=title, price_per_kwh=price_per_kwh, co2_per_kwh=co2_per_kwh)


class ScheduleConvenience(ReportConvenience):
    """Base class of `Schedule` with the methods that read and write files, draw charts and write reports."""

    __slots__ = ()

    def to_frame(self: Schedule) -> Any:
        """Return a table with one row per job: id, submit, tasks, times, wait and nodes of each group.

        The times are run time, estimate, start and finish. Promises and delays are added if the schedule has them. If
        jobs share nodes, the table has a job's tasks on each group: `nodes_of` names its nodes.

        Returns
        -------
        pandas.DataFrame or dict
            A table of pandas; if pandas is not installed, a dictionary of columns with the same keys.
        """
        from fedsched.core.frames import frame_of
        from fedsched.io.schedules import columns_of

        return frame_of(columns_of(self), {"reading": self.question})

    def to_csv(self: Schedule, path: str | PathLike[str]) -> None:
        """Write a CSV file with the columns of `to_frame`: one row per job, then one marked row per lost run."""
        from fedsched.io.schedules import write_csv

        write_csv(self, path)

    def to_swf(self: Schedule, path: str | PathLike[str]) -> None:
        """Write the workload as a log (Standard Workload Format) in which every job waited and ran as scheduled."""
        from fedsched.io.schedules import write_swf_of

        write_swf_of(self, path)

    def to_evalys(self: Schedule, path: str | PathLike[str]) -> None:
        """Write the file `jobs.csv` of Batsim, which the tool evalys reads, with every job's node numbers.

        The file has whole nodes: a node that jobs share is named for each of them.
        """
        from fedsched.io.batsim.evalys import write_jobs

        write_jobs(self, path)

    @classmethod
    def read(
        cls,
        path: str | PathLike[str],
        workload: Workload,
        federation: Federation,
        *,
        submits: Submits = "keep",
        t0: float | None = None,
        reading: Reading = UNRECORDED,
        same_time: SameTime | None = None,
        knowledge: Knowledge | None = None,
        saturation: Saturation | None = None,
        kill_at_estimate: bool | None = None,
        alternatives: Alternatives | None = None,
    ) -> Schedule:
        """Return the schedule in a CSV file with the columns id, start, finish and `nodes:…` of every group.

        Raise a ScheduleError if two rows have the same id, or if submit, tasks, runtime, estimate or wait, where the
        file has them, differ from the workload's by more than 0.001 and one part in 10⁹. A note counts the rows if jobs
        have none.

        Parameters
        ----------
        path
            The file.
        workload, federation
            The jobs, and the machine that they ran on.
        submits
            "now" if all jobs waited from the beginning, as in `optimize`; "keep" if they came at their times.
        t0
            The origin of time; by default the earliest submit.
        reading, same_time, knowledge, saturation, kill_at_estimate, alternatives
            The reading under which the schedule was made, as in `simulate`: the file does not contain it.

        Examples
        --------
        >>> schedule = fs.simulate(fs.read("sample").head(50), fs.read_federation("example"))
        >>> schedule.to_csv("plan.csv")
        >>> fs.Schedule.read("plan.csv", schedule.workload, schedule.federation, reading=schedule.reading) == schedule
        True
        """
        from fedsched.io.schedules import read_csv
        from fedsched.model.jobs.transformations import with_submits

        workload = with_submits("Schedule.read", workload, submits, t0, some_run=False)
        reading = reading.but(
            same_time=same_time, knowledge=knowledge, saturation=saturation, kill_at_estimate=kill_at_estimate,
            alternatives=alternatives,
        )  # fmt: skip
        return read_csv(path, workload, federation, t0=t0, reading=reading)

    def why(self: Schedule, job: int) -> Waits:
        """Return why a job waited: what kept it from starting, and from when to when.

        The simulation is run again, to the job's start even if it was interrupted before, and asked after each of its
        dispatch passes. Raise ScheduleError if no job has the
        id, or if the schedule is not of a simulation in this process.

        Parameters
        ----------
        job
            The job's id.

        Examples
        --------
        >>> jobs = fs.Workload(submit=[0, 0, 0], tasks=[3, 4, 1], runtime=[600, 600, 900])
        >>> print(fs.simulate(jobs, 4).why(2))
        Job 2, submitted at 0 s, starts at 600 s.
          0 to 600 s  it needs 4 nodes; 1 of those that it may use is free
        """
        from fedsched.engine.run.waiting import why

        return why(self, job)

    def plot(self: Schedule, ax: Any = None) -> Any:
        """Draw the schedule's Gantt chart into `ax` (None: new axes), and return the axes of matplotlib."""
        from fedsched.plot.gantt import draw

        return draw(self, ax)

    def gantt(self: Schedule, path: str | PathLike[str]) -> None:
        """Write the schedule's Gantt chart to a file, as SVG or PNG."""
        from fedsched.plot.gantt import save

        save(self, path)
