"""The lines of a slurm.conf as Slurm reads them: no comments, lines joined after a backslash, blanks around `=`."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Iterator

_COMMENT = re.compile(r"(?<!\\)((?:\\\\)*)#.*")
_GOES_ON = re.compile(r"(?<!\\)((?:\\\\)*)\\\s*\Z")  # an even number of backslashes continues no line
_PAIR = re.compile(r"(?<!\S)([A-Za-z][\w/.:-]*)\s*=\s*(\"[^\"]*\"|\S*)")
# Words in scontrol's output on nodes, partitions and jobs. A value there may be empty, so a blank after `=` ends it.
_OF_SCONTROL = re.compile(r"\b(?:CPUTot|TotalNodes|JobId|ReservationName)=", re.IGNORECASE)


class ConfLine(NamedTuple):
    """A line of a slurm.conf, joined with the lines that continue it, and the number of the first."""

    number: int
    text: str

    @property
    def words(self) -> dict[str, str]:
        """Return the values by name in lower case."""
        return {name.lower(): value.strip('"') for name, value in _PAIR.findall(self.text)}

    @property
    def names(self) -> list[str]:
        """Return the names in it as they are written."""
        return [name for name, _ in _PAIR.findall(self.text)]

    @property
    def strange(self) -> str:
        """Return the parts of the line that are not NAME=VALUE."""
        return " ".join(_PAIR.sub(" ", self.text).split())


def is_of_scontrol(text: str) -> bool:
    """Return whether a text is scontrol's output, not a slurm.conf."""
    return _OF_SCONTROL.search(text) is not None


def conf_lines(text: str) -> Iterator[ConfLine]:
    """Give the lines of a slurm.conf that are not empty."""
    begun, parts = 0, list[str]()
    lines = text.splitlines()
    for number, line in enumerate(lines, 1):
        part, goes_on = _GOES_ON.subn(r"\1", _COMMENT.sub(r"\1", line))
        begun = begun if parts else number
        parts.append(part)
        if not goes_on or number == len(lines):
            whole = "".join(parts).replace("\\#", "#").strip()
            parts = []
            if whole:
                yield ConfLine(begun, whole)
