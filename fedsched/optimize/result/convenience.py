"""Methods of `Result` that use files, pictures and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedsched.model.schedule.convenience import ReportConvenience

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.optimize.result.record import Result


class ResultConvenience(ReportConvenience):
    """Methods of `Result` that use files, pictures and reports."""

    __slots__ = ()

    def __str__(self: Result) -> str:
        from fedsched.optimize.result.printed import text

        return text(self)

    def _repr_html_(self: Result) -> str:
        from fedsched.optimize.result.printed import html

        return html(self)

    def plot(self: Result) -> Any:
        """Return a figure: the front with baselines and bounds, the convergence, and the knee's Gantt chart."""
        from fedsched.plot.result import draw_result

        return draw_result(self)

    def save(self: Result, path: str | PathLike[str]) -> None:
        """Write everything to a JSON file (.json, also .gz), from which `Result.load` restores the Result."""
        from fedsched.optimize.result.files import write_result

        write_result(self, path)

    @classmethod
    def load(cls, path: str | PathLike[str], *, baselines: bool | None = None) -> Result:
        """Return a saved Result, with its plans and baselines simulated again; `unverified` names the unchecked parts.

        A file with values that differ from those of its plans is refused.

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
