"""The machine of a dump and its scheduler's settings, read from the output of `scontrol show` like a slurm.conf."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError, TwinError
from fedsched.io.slurm_files.slurm_conf import SlurmConf, read_slurm_conf
from fedsched.io.slurm_files.slurm_machine import federation_of
from fedsched.slurm.conf.parameters import value_or_default

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.model.machine.federation import Federation
    from fedsched.site.twin.folder import Dump


@dataclass(frozen=True, slots=True)
class Machine:
    """The nodes that jobs run on, and the settings by which Slurm allocates them."""

    conf: SlurmConf
    federation: Federation

    @property
    def shared(self) -> bool:
        """Return whether several jobs may share a node."""
        select = value_or_default(self.conf, "SelectType")
        whole = [
            line.words.get("oversubscribe", line.words.get("shared", "")).lower().startswith("exclusive")
            for line in self.conf.partitions.values()
        ]
        return "cons" in select and not all(whole)


def machine_of(dump: Dump, changes: Mapping[str, str] | None = None) -> Machine:
    """Return the machine of a dump; `changes` replace parameters of its configuration, by name in small letters."""
    try:
        conf = read_slurm_conf(dump.folder)
    except FederationError as error:
        raise TwinError(str(error)) from error
    conf = replace(conf, parameters={**conf.parameters, **(changes or {})})
    return Machine(conf, federation_of(conf))
