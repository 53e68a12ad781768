"""The machine of a dump, and its scheduler's settings: what `scontrol show` prints, as a slurm.conf would say it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.errors import TwinError
from fedsched.io.hosts import records_of
from fedsched.io.slurm_conf import Line, SlurmConf, read_slurm_conf
from fedsched.io.slurm_machine import federation_of
from fedsched.slurm.versions import said_or_usual
from fedsched.twin.commands import CONFIG, NODES, PARTITIONS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.model.federation import Federation
    from fedsched.twin.folder import Dump

_SETTING = re.compile(r"(\w+)(?:\[\d+\])?\s*=\s*(.*?)\s*", re.ASCII)
_UNIT = re.compile(
    r"(-?\d+) (?:usec|sec|min|minutes?|seconds?)", re.ASCII
)  # as it prints what a slurm.conf has as numbers


@dataclass(frozen=True, slots=True)
class Machine:
    """What jobs run on, and the settings by which Slurm gives it to them."""

    conf: SlurmConf
    federation: Federation

    @property
    def shared(self) -> bool:
        """Return whether several jobs may have one node."""
        select = said_or_usual(self.conf, "SelectType")
        whole = [
            line.words.get("oversubscribe", line.words.get("shared", "")).lower().startswith("exclusive")
            for line in self.conf.partitions.values()
        ]
        return "cons" in select and not all(whole)


def machine_of(dump: Dump, changes: Mapping[str, str] | None = None) -> Machine:
    """Return the machine of a dump; `changes` are parameters in place of its own, by name in small letters."""
    nodes = read_slurm_conf(dump.path(NODES)).nodes
    partitions = {}
    for line, words in records_of(dump.text(PARTITIONS)):
        if "partitionname" in words:
            partitions[words["partitionname"]] = Line(f"{dump.path(PARTITIONS)}, line {line}", words)
    if not partitions:
        raise TwinError(f"{dump.path(PARTITIONS)}: it tells of no partition; give what `scontrol -o show partition` "
                        "prints.")  # fmt: skip
    parameters = dict(_settings(dump)) | dict(changes or {})
    conf = SlurmConf(str(dump.path(CONFIG)), parameters, nodes, partitions, {})
    return Machine(conf, federation_of(conf))


def _settings(dump: Dump) -> dict[str, str]:
    """Return the parameters that are set, by name in small letters, as a slurm.conf has them."""
    found = {}
    for line in dump.text(CONFIG).splitlines():
        match = _SETTING.fullmatch(line.strip())
        if match and match[2].lower() not in ("", "(null)"):
            unit = _UNIT.fullmatch(match[2])
            found[match[1].lower()] = unit[1] if unit else match[2]
    if "schedulertype" not in found:
        raise TwinError(f"{dump.path(CONFIG)}: it names no SchedulerType; give what `scontrol show config` prints.")
    return found
