"""Methods of `Result` that call files, pictures and reports."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from os import PathLike
    
    from fedsched.optimize.result.record import Result


class ResultConvenience:
    """Methods of `Result` that call files, pictures and reports."""

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
        """Write everything to a JSON file (.json, also .gz), from which `Result.load` makes the same Result."""
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
        """Write one HTML page about the search, with the front, every plan's Gantt chart and what energy costs.

        Parameters
        ----------
        path
            The page: .html, to be opened from the disk; it needs no network.
        title
            The heading; by default what was scheduled where.
        price_per_kwh, co2_per_kwh
            Money in any currency, and kilograms of CO2, for each kWh; the reader can change them in the page.
        """
        from fedsched.report import of_result, write

        write(of_result(self), path, title=title, price_per_kwh=price_per_kwh, co2_per_kwh=co2_per_kwh)

    @classmethod
    def load(cls, path: str | PathLike[str], *, baselines: bool | None = None) -> Result:
        """Return a saved Result, its plans and baselines simulated again; `unverified` names what was not.

        A file whose values are not what its plans give is refused.

        Parameters
        ----------
        path
            What `save` has written.
        baselines
            Whether the baselines are simulated again too; by default those of at most 5,000 jobs, since a policy may
            take a minute for more. Those that are not are `unverified`.
        """
        from fedsched.optimize.result.files import read_result

        return read_result(path, baselines=baselines)
