"""What a parameter is that a slurm.conf does not name: Slurm's default, which is another one since some version."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.io.slurm_files.slurm_conf import SlurmConf

TOLD = "slurm_version"  # as `scontrol show config` names it
# The defaults of what decides on starts, each with the version since which it is one, the newest last.
DEFAULTS: Mapping[str, tuple[tuple[tuple[int, int], str], ...]] = {
    "SelectType": (((0, 0), "select/linear"), ((23, 11), "select/cons_tres")),
    "PriorityType": (((0, 0), "priority/basic"), ((23, 11), "priority/multifactor")),
}
_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})(?:[.-].*)?", re.ASCII)


def with_version(conf: SlurmConf, version: str | None) -> SlurmConf:
    """Return a conf of this version of Slurm; None: as it is."""
    return conf if version is None else replace(conf, parameters={**conf.parameters, TOLD: version})


def version_of(conf: SlurmConf) -> tuple[int, int] | None:
    """Return which Slurm a conf is of, as (22, 5); None where nobody tells."""
    said = conf.parameters.get(TOLD)
    if said is None:
        return None
    match = _VERSION.fullmatch(said)
    if match is None:
        raise FederationError(f"{conf.path}: Slurm's version {shortened(repr(said))} is none like 22.05 or 23.11.")
    return int(match[1]), int(match[2])


def said_or_usual(conf: SlurmConf, name: str) -> str:
    """Return a parameter in small letters, the default of the conf's version where it is not named."""
    version = version_of(conf)
    usual = [value for since, value in DEFAULTS[name] if version is None or version >= since][-1]
    return conf.parameters.get(name.lower(), usual).lower()


def assumed_of(conf: SlurmConf) -> str:
    """Return which defaults are taken, and why those; "" where the conf names all that have changed."""
    taken = [f"{name}={said_or_usual(conf, name)}" for name in DEFAULTS if name.lower() not in conf.parameters]
    if not taken:
        return ""
    if version_of(conf) is not None:
        why = f"the defaults of Slurm {conf.parameters[TOLD]}"
    else:
        why = "the newest defaults; slurm_version= (fedsched: --slurm-version) tells of a Slurm before 23.11"
    return f"assumed of {conf.path}: {', '.join(taken)} ({why})"
