"""The defaults of parameters that a slurm.conf does not set; some differ by Slurm's version."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError, shortened

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.io.slurm_files.slurm_conf import SlurmConf

TOLD = "slurm_version"  # as `scontrol show config` names it
# Defaults of parameters that affect starts, each with the version since which it holds, the newest last.
DEFAULTS: Mapping[str, tuple[tuple[tuple[int, int], str], ...]] = {
    "SelectType": (((0, 0), "select/linear"), ((23, 11), "select/cons_tres")),
    "PriorityType": (((0, 0), "priority/basic"), ((23, 11), "priority/multifactor")),
}
_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})(?:[.-].*)?", re.ASCII)


def with_version(conf: SlurmConf, version: str | None) -> SlurmConf:
    """Return the conf with Slurm's version set to this one; None: unchanged."""
    return conf if version is None else replace(conf, parameters={**conf.parameters, TOLD: version})


def version_of(conf: SlurmConf) -> tuple[int, int] | None:
    """Return Slurm's version of a conf, as (22, 5); None if it is unknown."""
    said = conf.parameters.get(TOLD)
    if said is None:
        return None
    match = _VERSION.fullmatch(said)
    if match is None:
        raise FederationError(f"{conf.path}: Slurm's version {shortened(repr(said))} is none like 22.05 or 23.11.")
    return int(match[1]), int(match[2])


def said_or_usual(conf: SlurmConf, name: str) -> str:
    """Return a parameter in lower case; if the conf does not set it, the default of its version."""
    version = version_of(conf)
    usual = [value for since, value in DEFAULTS[name] if version is None or version >= since][-1]
    return conf.parameters.get(name.lower(), usual).lower()


def assumed_of(conf: SlurmConf) -> str:
    """Return a note on the defaults that are taken and why; "" if the conf sets all that differ by version."""
    taken = [f"{name}={said_or_usual(conf, name)}" for name in DEFAULTS if name.lower() not in conf.parameters]
    if not taken:
        return ""
    if version_of(conf) is not None:
        why = f"the defaults of Slurm {conf.parameters[TOLD]}"
    else:
        why = "the newest defaults; slurm_version= (fedsched: --slurm-version) tells of a Slurm before 23.11"
    return f"assumed of {conf.path}: {', '.join(taken)} ({why})"
