"""What a job asks for beside nodes, CPUs and memory: GPUs and other devices, licences."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Mapping

LICENCES = "licenses"
# Columns of squeue and scontrol, in lower case and without underscores.
DEVICES = ("trespernode", "tresperjob", "trespertask", "trespersocket", "tresreqstr", "reqtres", "tres", "gres")
NOTHING = ("", "n/a", "(null)", "none", "unknown", "null")
COUNTED = ("cpu", "mem", "node", "billing", "energy", "fs", "ic", "pages", "vmem")  # modelled, or only measured
_PARTS = re.compile(r"[/:=@*()]")


def beside_of(record: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the names of the devices and licences that a job asks for, such as "gres/gpu" or "licence matlab".

    `record` is the job's row in the output of one of Slurm's commands.
    """
    told = {name.lower().replace("_", ""): str(value) for name, value in record.items() if isinstance(value, str)}
    found: dict[str, None] = {}
    for column in DEVICES:
        for one in _items(told.get(column, "")):
            kind, *names = filter(None, _PARTS.split(one.strip().lower()))
            if kind in ("gres", "license") and names:
                found[f"gres/{names[0]}" if kind == "gres" else f"licence {names[0]}"] = None
            elif kind not in COUNTED:
                found[f"gres/{kind}"] = None
    for one in _items(told.get(LICENCES, "")):
        found[f"licence {_PARTS.split(one.strip())[0].lower()}"] = None
    return tuple(sorted(found))


def _items(text: str) -> list[str]:
    """Return the entries of one of Slurm's lists; "|" separates licences of which one is enough."""
    return [] if text.strip().lower() in NOTHING else [one for one in re.split(r"[,;|]", text) if _PARTS.sub("", one)]
