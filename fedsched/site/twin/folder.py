"""The folder of a dump (output of Slurm's commands): its files, when it was taken, the earliest time of its jobs."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.core.errors import TwinError, shortened
from fedsched.io.files import read_text
from fedsched.io.wall_clock import wall_time_of
from fedsched.site.twin.commands import CONFIG, JOBS, MANIFEST, NODES, PARTITIONS

if TYPE_CHECKING:
    from os import PathLike

_TAKEN = re.compile(r"Configuration data as of (\S+)")
_AGO = re.compile(r"now\s*-\s*(\d{1,9})\s*(second|minute|hour|day|week)?s?", re.IGNORECASE)
_SECONDS = {"second": 1, "minute": 60, "hour": 3600, "day": 86_400, "week": 604_800}


@dataclass(frozen=True)
class Dump:
    """A folder that `dump`, or its script, has written; making this object raises if a needed file is missing."""

    folder: Path

    def __post_init__(self) -> None:
        if not self.folder.is_dir():
            raise TwinError(f"{self.folder}: there is no such folder; make it with: fedsched twin dump {self.folder}.")
        for file in (MANIFEST, CONFIG, NODES, PARTITIONS, JOBS):
            if not self.has(file):
                raise TwinError(f"{self.folder}: it has no {file}, so the dump is incomplete; make it again.")
        if not self.text(MANIFEST).startswith("fedsched dump 1"):
            raise TwinError(f"{self.path(MANIFEST)}: it is of another version; dump again with this one.")

    def path(self, file: str) -> Path:
        """Return the path of a file of the dump."""
        return self.folder / file

    def has(self, file: str) -> bool:
        """Return whether the dump has a file."""
        return self.path(file).is_file()

    def text(self, file: str) -> str:
        """Return the text of a file: what its command printed."""
        return read_text(self.path(file))

    @cached_property
    def taken(self) -> float:
        """Return when the dump was taken: the cluster's wall-clock time in seconds from 1970 on."""
        match = _TAKEN.search(self.text(CONFIG))
        moment = None if match is None else wall_time_of(match[1])
        if moment is None or math.isnan(moment.seconds):
            raise TwinError(f"{self.path(CONFIG)}: it does not say when it was made; give what `scontrol show config` "
                            "prints.")  # fmt: skip
        return moment.seconds

    @cached_property
    def since(self) -> float:
        """Return the earliest time of jobs that the dump asked for: wall-clock time in seconds from 1970 on."""
        match = re.search(r"^since (.*)$", self.text(MANIFEST), re.MULTILINE)
        said = match[1].strip() if match else ""
        if ago := _AGO.fullmatch(said):
            return self.taken - int(ago[1]) * _SECONDS[(ago[2] or "second").lower()]
        moment = wall_time_of(said)
        if moment is None or math.isnan(moment.seconds):
            raise TwinError(f"{self.path(MANIFEST)}: since {shortened(said)} is not a time like 2027-01-12T08:00:00.")
        return moment.seconds


def dump_in(folder: str | PathLike[str] | Dump) -> Dump:
    """Return the dump in a folder; a `Dump` is returned as it is."""
    return folder if isinstance(folder, Dump) else Dump(Path(folder))
