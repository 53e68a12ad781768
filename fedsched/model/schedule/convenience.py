"""Methods of `Schedule` that call files, pictures and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.optimize.result import Result


class ReportConvenience:
    """The method of `Schedule` and of `Result` that writes a page."""

    __slots__ = ()

    def report(
        self: Schedule | Result,
        path: str | PathLike[str],
        *,
        title: str = "",
        price_per_kwh: float | None = None,
        co2_per_kwh: float | None = None,
    ) -> None:
        """Write one HTML page: Gantt charts, jobs and the cost of energy; for a search also its front and its progress.

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
    """Methods of `Schedule` that call files, pictures and reports."""

    __slots__ = ()

    def to_frame(self: Schedule) -> Any:
        """Return one row per job: the workload's columns, start, finish and nodes of each group.

        Returns
        -------
        pandas.DataFrame or dict
            A table of pandas; if pandas is not installed, a dictionary of columns with the same keys.
        """
        from fedsched.core.frames import frame_of
        from fedsched.io.schedules import columns_of

        return frame_of(columns_of(self), {"reading": self.question})

    def to_csv(self: Schedule, path: str | PathLike[str]) -> None:
        """Write one row per job, with start, finish and the nodes of each group."""
        from fedsched.io.schedules import write_csv

        write_csv(self, path)

    def to_swf(self: Schedule, path: str | PathLike[str]) -> None:
        """Write the workload as a log in which every job waited and ran as scheduled."""
        from fedsched.io.schedules import write_swf_of

        write_swf_of(self, path)

    def to_evalys(self: Schedule, path: str | PathLike[str]) -> None:
        """Write Batsim's `jobs.csv`, with every job's node numbers, for evalys."""
        from fedsched.io.batsim.evalys import write_jobs

        write_jobs(self, path)

    @classmethod
    def read(cls, path: str | PathLike[str], workload: Workload, federation: Federation, **options: Any) -> Schedule:
        """Return the schedule in a CSV file, for this workload on this federation."""
        from fedsched.io.schedules import read_csv

        return read_csv(path, workload, federation, **options)

    def plot(self: Schedule, ax: Any = None) -> Any:
        """Return the axes with the schedule's Gantt chart."""
        from fedsched.plot.gantt import draw

        return draw(self, ax)

    def gantt(self: Schedule, path: str | PathLike[str]) -> None:
        """Write the schedule's Gantt chart as SVG or PNG."""
        from fedsched.plot.gantt import save

        save(self, path)
