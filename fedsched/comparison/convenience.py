"""The methods of `Comparison` that make summaries, frames, pictures and reports, as a base class of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from fedsched.core.text import ShortRepr

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.comparison.record import Blocks, Comparison


class ComparisonConvenience(ShortRepr):
    """Methods of `Comparison` that use tables, pictures and reports."""

    __slots__ = ()

    def summary(
        self: Comparison,
        measure: str | None = None,
        *,
        by: Blocks = "instance",
        against: str | None = None,
        alpha: float = 0.05,
    ) -> str:
        """Return the comparison in at most four lines: which method ranks first, and whether a test shows it.

        With `against`, what tests show of that method. The parameters are those of `pairs`.
        """
        from fedsched.comparison.verdict import in_brief

        return in_brief(self, measure, by=by, alpha=alpha, against=against)

    def to_frame(self: Comparison) -> Any:
        """Return one row per run, with its best value of each objective: see `Schedule.to_frame`.

        `table(measure).to_frame()` has one row per instance and method.
        """
        from fedsched.comparison.verdict import columns_of
        from fedsched.core.frames import frame_of

        return frame_of(columns_of(self), {"reading": self.reading})

    def to_latex(self: Comparison, measure: str | None = None) -> str:
        r"""Return the table of a measure in LaTeX, for \usepackage{booktabs}; the best medians are bold."""
        return self.table(measure).to_latex()

    def plot(
        self: Comparison,
        measure: str | None = None,
        *,
        by: Blocks = "instance",
        alpha: float = 0.05,
        ax: Any = None,
    ) -> Any:
        """Return the axes with the critical-difference diagram; with too few blocks for one, the performance profile.

        The parameters are those of `pairs`.
        """
        from fedsched.core.errors import TooFewRunsError

        try:
            return self.plot_ranks(measure, by=by, alpha=alpha, ax=ax)
        except TooFewRunsError:
            return self.plot_profile(measure, by=by, ax=ax)

    def plot_ranks(
        self: Comparison, measure: str | None = None, *, by: Blocks = "instance", alpha: float = 0.05, ax: Any = None
    ) -> Any:
        """Return the axes with the critical-difference diagram.

        Parameters
        ----------
        measure, by
            As of `friedman`.
        alpha
            The chance that a difference is shown that is none.
        ax
            Matplotlib axes; by default those of a new figure.
        """
        from fedsched.comparison.statistics import critical_difference
        from fedsched.plot import ranks, style

        scores = self.scores(measure, by=by)
        difference = critical_difference(len(scores.methods), len(scores.blocks), alpha)
        title = style.wrapped(self.reading)
        return ranks.draw(scores.average_ranks(), difference=difference, alpha=alpha, title=title, ax=ax)

    def plot_profile(
        self: Comparison,
        measure: str | None = None,
        *,
        by: Blocks = "instance",
        most: float | None = None,
        ax: Any = None,
    ) -> Any:
        """Return the axes with the performance profile, up to the factor `most` of the best.

        Parameters
        ----------
        measure, by
            As of `friedman`.
        most
            The largest factor shown.
        ax
            Matplotlib axes; by default those of a new figure.
        """
        from fedsched.plot import profile, style

        scores = self.scores(measure, by=by)
        mark = self.mark(scores.measure)
        value = f"{scores.measure} ({mark})" if mark else scores.measure
        return profile.draw(scores.costs(), value=value, most=most, title=style.wrapped(self.reading), ax=ax)

    def report(
        self: Comparison,
        path: str | PathLike[str],
        *,
        title: str = "",
        repeat: str = "",
        by: Blocks = "instance",
        against: str | None = None,
        alpha: float = 0.05,
    ) -> None:
        """Write one HTML page that needs no network and no script: tables, tests, both pictures, how to repeat it.

        Parameters
        ----------
        path
            The page's file.
        title
            The page's heading.
        repeat
            The command or code that made the comparison, quoted in the page; by default code made from the runs.
        by, against, alpha
            As in `pairs`.
        """
        from fedsched.comparison.report import write

        write(self, path, title=title, repeat=repeat, by=by, alpha=alpha, against=against)
