"""The methods of `Scenario` that read and write files, in a base class of it."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

    from fedsched.study.scenario.scenario import Scenario


class ScenarioConvenience:
    """The base class of `Scenario` with its methods that read and write files."""

    __slots__ = ()

    @classmethod
    def load(cls, path: str | PathLike[str]) -> Scenario:
        """Return the scenario in a TOML file; relative paths in it start at its folder."""
        from fedsched.study.scenario.files import read_scenario

        return read_scenario(path)

    def save(self: Scenario, path: str | PathLike[str]) -> None:
        """Write the scenario to a TOML file that `load` reads; relative paths in it start at the file's folder.

        Examples
        --------
        >>> from fedsched.study import Log
        >>> scenario = fs.Scenario(jobs=Log(file="sample", head=50))
        >>> scenario.save("fifty.toml")
        >>> fs.Scenario.load("fifty.toml") == scenario
        True
        """
        from fedsched.study.scenario.files import write_scenario

        write_scenario(self, path)
