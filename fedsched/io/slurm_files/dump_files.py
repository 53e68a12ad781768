"""The files in a dump's folder with Slurm's configuration: the output of `scontrol show`."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from os import PathLike

CONFIG, PARTITIONS, NODES, JOBS = "config.txt", "partitions.txt", "nodes.txt", "jobs.sacct"
ACCOUNTS, QOS = "accounts.txt", "qos.txt"
CONFIGURATION = "Configuration data as of"  # the begin of the output of `scontrol show config`
_SETTING = re.compile(r"(\w+)(?:\[\d+\])?\s*=\s*(.*?)\s*", re.ASCII)
# scontrol prints units after values that are plain numbers in a slurm.conf.
_UNIT = re.compile(r"(-?\d+) (?:usec|sec|min|minutes?|seconds?)", re.ASCII)


def dump_of(path: str | PathLike[str]) -> Path | None:
    """Return the folder of a dump from its path or that of its config.txt; None if it is no dump."""
    named = Path(path)
    folder = named.parent if named.name == CONFIG else named
    return folder if all((folder / file).is_file() for file in (CONFIG, PARTITIONS, NODES)) else None


def settings_in(text: str) -> dict[str, str]:
    """Return the parameters that are set in the output of `scontrol show config`, by name in lower case."""
    found = {}
    for line in text.splitlines():
        match = _SETTING.fullmatch(line.strip())
        if match and match[2].lower() not in ("", "(null)"):
            unit = _UNIT.fullmatch(match[2])
            found[match[1].lower()] = unit[1] if unit else match[2]
    return found
