"""Resources that each node of a Slurm job must have, if nodes are allocated whole: cores, MiB of memory, GPUs [50]."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.values import digits_of
from fedsched.io.slurm_files.sacct_values import UNKNOWN
from fedsched.io.tables.frame import named
from fedsched.model.jobs.layout import NODES, NodeLayout
from fedsched.model.jobs.log import Demand

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    Column = NDArray[np.float64]

MEBIBYTES = {"K": 2.0**-10, "": 1.0, "M": 1.0, "G": 2.0**10, "T": 2.0**20, "P": 2.0**30}
_AMOUNT = re.compile(r"(\d{1,15}(?:\.\d{1,6})?)([KMGTP]?)([cn]?)", re.ASCII | re.IGNORECASE)
_NODES = re.compile(r"(?:^|,)\s*node=(\d{1,9})\s*(?:,|$)", re.ASCII)
_DEVICES = re.compile(r"(?:gres[:/])?(gpu(?::[^:=,()\s]+)?)[:=](\d{1,6})(?:\([^)]*\))?", re.ASCII)
# The `Demand` bits of resources that are modelled once their amounts are known.
KNOWN_AS = {"memory": Demand.MEMORY, "gpu": Demand.GPU}


def resources_of(texts: Mapping[str, list[str]], nodes: Column, cpus: Column | None) -> dict[str, Column]:
    """Return the amount that each node of every job must have, by resource; without resources that no job requests.

    `ReqTRES`, else `AllocTRES`, is the total over all nodes of a job; `ReqGRES`, else `AllocGRES`, of old versions is
    per node. `ReqMem` ends in n if it is per node, in c if it is per CPU; without a letter it is the total.
    """
    jobs = len(nodes)
    share = np.where(np.isfinite(nodes) & (nodes > 0), nodes, 1.0)
    found: dict[str, Column] = {}
    for column in ("reqtres", "alloctres"):
        if column in texts and not found:
            found = {name: np.ceil(total / share) for name, total in _table(texts[column], _of_trace).items()}
    for column in ("reqgres", "allocgres"):
        if column in texts and "gpu" not in found:
            found |= _table(texts[column], _devices)
    if "memory" not in found and "reqmem" in texts:
        each = np.ones(jobs) if cpus is None else np.where(np.isfinite(cpus), cpus, share) / share
        told = _table(texts["reqmem"], _memory)
        nothing = np.zeros(jobs)
        parts = told.get("all", nothing) / share, told.get("node", nothing), told.get("cpu", nothing) * each
        found["memory"] = np.ceil(np.add.reduce(parts))
    return {name: values for name, values in found.items() if values.any()}


def nodes_of_trace(text: str) -> float:
    """Return the requested number of nodes in a text like cpu=8,mem=32G,node=2; Slurm writes 1 if none was given."""
    told = _NODES.search(text)
    return float(told[1]) if told else UNKNOWN


def nodes_asked(read: Mapping[str, Column], tasks: Column) -> dict[str, Column]:
    """Return the requested nodes of each job of several tasks, 0 if unknown, as a column of a layout."""
    asked = read.get("asked_nodes", np.zeros(tasks.size))
    told = np.where(np.isfinite(asked) & (asked > 0) & (tasks > 1), asked, 0.0)
    return named(NodeLayout, {NODES: told}) if told.any() else {}


def known_demands(read: Mapping[str, Column], prefix: str) -> NDArray[np.int64]:
    """Return the `Demand` bits of the resources of every job with known amounts, in columns with this prefix."""
    bits = np.zeros(len(read["submit"]), dtype=np.int64)
    for name, bit in KNOWN_AS.items():
        if prefix + name in read:
            bits[read[prefix + name] > 0] |= int(bit)
    return bits


def _table(texts: list[str], amounts: Callable[[str], dict[str, float]]) -> dict[str, Column]:
    """Return a column of amounts for each resource in the texts."""
    known = {text: amounts(text) for text in set(texts)}
    names = sorted({name for one in known.values() for name in one})
    return {name: np.array([known[text].get(name, 0.0) for text in texts]) for name in names}


def _of_trace(text: str) -> dict[str, float]:
    """Return the CPUs, memory and GPUs in a text like billing=8,cpu=8,gres/gpu=4,gres/gpu:a100=4,mem=32G,node=2."""
    found: dict[str, float] = {}
    for one in text.split(","):
        name, _, amount = one.strip().partition("=")
        if name == "cpu" and digits_of(amount) is not None:
            found["cpu"] = float(amount)
        elif name == "mem" and (size := _AMOUNT.fullmatch(amount)):
            found["memory"] = float(size[1]) * MEBIBYTES[size[2].upper()]
    return found | _devices(text)


def _devices(text: str) -> dict[str, float]:
    """Return the GPUs in a text like gpu:2, gpu:a100:2 or gres/gpu:a100=2: the total, and by kind."""
    found: dict[str, float] = {}
    for one in text.lower().split(","):
        if device := _DEVICES.fullmatch(one.strip()):
            found[device[1]] = found.get(device[1], 0.0) + float(device[2])
    kinds = sum(number for name, number in found.items() if name != "gpu")
    return found | {"gpu": max(found.get("gpu", 0.0), kinds)} if found else found


def _memory(text: str) -> dict[str, float]:
    """Return the MiB in a text like 4000Mc, 16Gn or 32G, under "cpu", "node" or "all"."""
    size = _AMOUNT.fullmatch(text)
    if not size:
        return {}
    over = {"c": "cpu", "n": "node"}.get(size[3].lower(), "all")
    return {over: float(size[1]) * MEBIBYTES[size[2].upper()]}
