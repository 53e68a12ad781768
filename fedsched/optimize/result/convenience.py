"""Methods of `Result` that use files, pictures and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.optimize.result.record import Result


class ResultConvenience:
    """Methods of `Result` that use files, pictures and reports."""

    __slots__ = ()

    def __str__(self: Result) -> str:
        from fedsched.optimize.result.faces import text

        return text(self)

    def _repr_html_(self: Result) -> str:
        from fedsched.optimize.result.faces import html

        return html(self)

    def plot(self: Result) -> Any:
        """Return a figure: the front with baselines and bounds, the convergence, and the knee's Gantt chart."""
        from fedsched.plot.result import draw_result

        return draw_result(self)

    def save(self: Result, path: str | PathLike[str]) -> None:
        """Write everything to a JSON file (.json, also .gz), from which `Result.load` restores the Result."""
        from fedsched.optimize.result.files import write_result

        write_result(self, path)

    def report(
        self: Result,
        path: str | PathLike[str],
        *,
        title: str = "",
        price_per_kwh: float | None = None,
        co2_per_kwh: float | None = None,
    ) -> None:
        """Write one HTML page about the search: the front, every plan's Gantt chart, and the cost of energy.

        Parameters
        ----------
        path
            The path of the page (.html); it opens from the disk and needs no network.
        title
            The heading; by default the jobs and the machine.
        price_per_kwh, co2_per_kwh
            Money in any currency, and kilograms of CO2, for each kWh; the reader can change them in the page.
        """
        from fedsched.report import of_result, write

        write(of_result(self), path, title=title, price_per_kwh=price_per_kwh, co2_per_kwh=co2_per_kwh)

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
