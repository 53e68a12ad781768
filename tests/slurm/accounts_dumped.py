"""Accounts as `sacctmgr -P show assoc tree` and `sacctmgr -P show qos` print them, of the script that made them."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.slurm.priority.associations import Associations

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fedsched.slurm.priority.associations import Association

OF_ASSOCIATIONS = {"GrpJobs": "grpjobs", "MaxJobs": "maxjobs"}
OF_QOS = {"GrpTRES": "grptres", "MaxTRESPU": "maxtrespu", "MaxJobsPU": "maxjobspu"}


def tables(script: str, cluster: str) -> tuple[str, str]:
    """Return what both commands print once a script's commands have been given."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "accounts.script")
        path.write_text(f"{script}\n", encoding="utf-8")
        made = Associations.read(path)
    associations = [f"Cluster|Account|User|Share|{'|'.join(OF_ASSOCIATIONS)}|QOS", *_lines(made, cluster)]
    qualities = [f"Name|Priority|UsageFactor|{'|'.join(OF_QOS)}"]
    for one in made.qos.values():
        limits = "|".join(_said(one.limits, name) for name in OF_QOS.values())
        qualities.append(f"{one.name}|{one.priority}|1.000000|{limits}")
    return "\n".join(associations), "\n".join(qualities)


def _lines(made: Associations, cluster: str) -> Iterator[str]:
    """Give a line for everybody, behind the account that he stands in and a blank further in."""
    below: dict[int, list[int]] = {}
    for k, one in enumerate(made.members):
        below.setdefault(one.parent, []).append(k)

    def lines(k: int, depth: int) -> Iterator[str]:
        yield f"{cluster}|{' ' * depth}{_line(made.members[k])}"
        for other in below.get(k, []):
            yield from lines(other, depth + 1)

    for k in below[-1]:
        yield from lines(k, 0)


def _line(one: Association) -> str:
    limits = "|".join(_said(one.limits, name) for name in OF_ASSOCIATIONS.values())
    return f"{one.account}|{one.user}|{one.shares}|{limits}|{','.join(one.qos)}"


def _said(limits: Mapping[str, float | Mapping[str, float]], name: str) -> str:
    value = limits.get(name, "")
    if isinstance(value, str | float | int):
        return f"{value:g}" if value != "" else ""
    return ",".join(f"{kind}={much:g}" for kind, much in value.items())
