"""Methods of `Result` and `Front` that print, and that use files, tables, pictures and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedsched.core.frames import frame_of
from fedsched.core.text import ShortRepr
from fedsched.model.schedule.convenience import ReportConvenience

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.optimize.result.record import Front, Result


class FrontConvenience(ShortRepr):
    """The methods of `Front` that print, and that make tables and pictures."""

    __slots__ = ()

    def __str__(self: Front) -> str:
        return self.summary()

    def _repr_html_(self: Front) -> str:
        from fedsched.optimize.result.printed import front_html

        return front_html(self)

    def summary(self: Front) -> str:
        """Return the front in at most three lines: the number of plans, the range of each objective, and the knee."""
        from fedsched.optimize.result.printed import front_in_brief

        return front_in_brief(self)

    def to_frame(self: Front) -> Any:
        """Return a table with one row per plan: its values, its policy, and whether it is the knee.

        The kind of table is that of `Schedule.to_frame`.
        """
        from fedsched.optimize.result.printed import front_columns

        return frame_of(front_columns(self))

    def plot(self: Front, ax: Any = None) -> Any:
        """Return the axes with the plans: points for two objectives, else a line per plan across the objectives."""
        from fedsched.plot.result import draw_plans

        return draw_plans(self, ax)


class ResultConvenience(ReportConvenience):
    """The methods of `Result` that print, and that use files, tables, pictures and reports."""

    __slots__ = ()

    def summary(self: Result) -> str:
        """Return the result in at most five lines: the best values beside a policy and a bound, the front, the search.

        Examples
        --------
        >>> import fedsched as fs
        >>> jobs = fs.Workload(submit=[0, 0, 0], tasks=[1, 2, 3], runtime=[60, 60, 60])
        >>> result = fs.optimize(jobs, 3, "makespan", evaluations=100)
        >>> print(result.summary().splitlines()[0])
        Best plan: makespan 120 s (2 min), as much as EASY, and the best possible.
        """
        from fedsched.optimize.result.printed import in_brief

        return in_brief(self)

    def to_frame(self: Result) -> Any:
        """Return a table with one row per plan of the front, baseline and bound, with their values.

        The kind of table is that of `Schedule.to_frame`.
        """
        from fedsched.optimize.result.printed import columns_of

        return frame_of(columns_of(self), {"reading": self.reading})

    def __str__(self: Result) -> str:
        from fedsched.optimize.result.printed import text

        return text(self)

    def _repr_html_(self: Result) -> str:
        from fedsched.optimize.result.printed import html

        return html(self)

    def plot(self: Result, ax: Any = None) -> Any:
        """Return a figure: the front with baselines and bounds, the convergence, and the knee's Gantt chart.

        With `ax` only the front is drawn, on these axes, and they are returned.
        """
        from fedsched.plot.result import draw_result, front_on

        return draw_result(self) if ax is None else front_on(self, ax)

    def save(self: Result, path: str | PathLike[str]) -> None:
        """Write the whole Result to a JSON file (.json, also .gz), from which `Result.load` restores it."""
        from fedsched.optimize.result.files import write_result

        write_result(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, baselines: bool | None = None) -> Result:
        """Return a saved Result, with its plans and baselines simulated again; `unverified` names the unchecked parts.

        Raise TraceError if the file states values that its plans do not have.

        Parameters
        ----------
        path
            A file that `save` has written.
        baselines
            Whether the baselines are simulated again too; by default those of at most 5,000 jobs, since with more a
            policy may take a minute. Otherwise they are `unverified`.
        """
        from fedsched.optimize.result.files import read_result

        return read_result(path, baselines=baselines)
