"""The method of `Shifts` that writes an HTML page."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.optimize.shifting import Shifts


class ShiftsConvenience:
    """The method of `Shifts` that writes an HTML page, `report`."""

    __slots__ = ()

    def report(self: Shifts, path: str | PathLike[str], *, title: str = "", repeat: str = "") -> None:
        """Write an HTML page with the schedules, their draw over time, and how to repeat them.

        The page needs no network.

        Parameters
        ----------
        path
            The page.
        title
            Its heading.
        repeat
            The command that made it, if one did; by default the Python code that makes it.
        """
        from fedsched.report import of_schedules, shifts_code, write

        material = of_schedules(self.schedules, second=self.objective)
        words = {"objective": self.objective, **self.asked}
        code = "" if repeat else shifts_code(self.workload, material.federation, words, str(path))
        write(material, path, title=title or f"What moving jobs saves: {self.objective}", repeat=repeat, python=code)
