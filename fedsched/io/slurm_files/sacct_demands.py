"""Requests of Slurm's jobs besides nodes and time: resources of each node, licences as pools, others as `Demand` bits.

If nodes are allocated whole, each node of a job must have cores, MiB of memory and GPUs [50]. Requests that are not
modelled are counted.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.values import digits_of
from fedsched.io.slurm_files.sacct_values import UNKNOWN, WORDS, duration_of, values_of
from fedsched.io.tables.frame import field_of, named
from fedsched.model.jobs.job import OPTIONAL
from fedsched.model.jobs.layout import NODES, NodeLayout
from fedsched.model.jobs.log import Demand
from fedsched.model.machine.node_features import alternatives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

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
        told = _table(texts["reqmem"], _memory_by_kind)
        nothing = np.zeros(jobs)
        parts = told.get("all", nothing) / share, told.get("node", nothing), told.get("cpu", nothing) * each
        found["memory"] = np.ceil(np.add.reduce(parts))
    return {name: values for name, values in found.items() if values.any()}


def nodes_of_trace(text: str) -> float:
    """Return the requested number of nodes in a text like cpu=8,mem=32G,node=2; Slurm writes 1 if none was given."""
    told = _NODES.search(text)
    return float(told[1]) if told else UNKNOWN


def requested_nodes(read: Mapping[str, Column], tasks: Column) -> dict[str, Column]:
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


def _memory_by_kind(text: str) -> dict[str, float]:
    """Return the MiB in a text like 4000Mc, 16Gn or 32G, under "cpu", "node" or "all"."""
    size = _AMOUNT.fullmatch(text)
    if not size:
        return {}
    over = {"c": "cpu", "n": "node"}.get(size[3].lower(), "all")
    return {over: float(size[1]) * MEBIBYTES[size[2].upper()]}


NOTHING = (*WORDS, "(null)")
_LICENCE = re.compile(r"([^,;:@|=\s]+)(?:@[^,;:|=\s]+)?(?::(\d{1,9}))?")
_OF_TRES = re.compile(r"license/([^,;:@|=\s]+)=(\d{1,9})")
_NO_MEMORY = re.compile(r"0*(?:\.0*)?[KMGTP]?[cn]?", re.ASCII)


def _resources(text: str) -> float:
    """Return the bits of a list of TRES like cpu=4,mem=8G,gres/gpu:a100=2,license/matlab=1, or of GRES like gpu:2."""
    found = Demand(0)
    for resource in text.lower().split(","):
        name, _, amount = resource.partition("=")
        kind, _, of_kind = name.partition("/")
        if not name or name in WORDS or amount.strip("0kmgtp") == "" != amount or kind in ("cpu", "node", "billing"):
            continue
        if (of_kind or kind).startswith("gpu"):
            found |= Demand.GPU
        elif kind == "mem":
            found |= Demand.MEMORY
        elif kind == "license":
            # Licences that can be read are needs of pools instead.
            found |= Demand(0) if _OF_TRES.fullmatch(resource.strip()) else Demand.OTHER
        elif kind not in ("energy", "fs", "ic", "pages", "vmem"):  # these are only measured
            found |= Demand.OTHER
    return float(found)


def licences_in(text: str) -> dict[str, int] | None:
    """Return the licences of a list like matlab:2,ansys@server or cpu=4,license/matlab=2; None if it is a choice."""
    found: dict[str, int] = {}
    if text.strip().lower() in NOTHING:
        return found
    for one in re.split("[,;]", text):
        of_trace = _OF_TRES.fullmatch(one.strip())
        plain = of_trace or (None if "=" in one else _LICENCE.fullmatch(one.strip()))
        if plain:
            found[plain[1]] = found.get(plain[1], 0) + int(plain[2] or 1)
        elif "=" not in one and one.strip():
            return None
    return found


def licences_of(columns: Iterable[list[str]]) -> dict[str, NDArray[np.float64]]:
    """Return each job's number of licences by kind, from the first of these columns that has any."""
    for column in columns:
        known = {text: licences_in(text) or {} for text in set(column)}
        if names := sorted({name for licences in known.values() for name in licences}):
            return {name: np.array([known[text].get(name, 0) for text in column], dtype=np.float64) for name in names}
    return {}


def column_of_part(part: Mapping[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    """Return a column of a part of a dump; if the part lacks it, as no job there requests the licence, its default."""
    if name in part or not (field := field_of(name)):
        return part[name]
    return np.full(len(part["submit"]), OPTIONAL[field].NOTHING)


def choice_of_licences(text: str) -> float:
    """Return the bit of a choice among licences, 0 if there is no choice."""
    return float(Demand.OTHER) if licences_in(text) is None else 0.0


def _said(demand: Demand, *usual: str) -> Callable[[str], float]:
    """Return a function of a text: the bits of `demand`, or 0 if the text is empty or one of the usual words."""
    return lambda text: 0.0 if text.strip().lower() in {*NOTHING, *usual} else float(demand)


def _memory(text: str) -> float:
    return 0.0 if text.lower() in WORDS or _NO_MEMORY.fullmatch(text) else float(Demand.MEMORY)


def _suspended(text: str) -> float:
    return float(Demand.SUSPENDED) if duration_of(text) > 0 else 0.0


def _unread_features(text: str) -> float:
    if text.strip().lower() in NOTHING:
        return 0.0
    try:
        alternatives(text)
    except ValueError:
        return float(Demand.FEATURES)
    return 0.0


def _kind_of_job(text: str) -> int:
    """Return the bits of a JobID: 17_3 is a task of an array, 17+1 a part of a heterogeneous job."""
    return Demand.ARRAY * ("_" in text) | Demand.HETEROGENEOUS * ("+" in text)


DEMANDS: dict[str, Callable[[str], float]] = {
    "jobid": _kind_of_job,
    **dict.fromkeys(("reqtres", "alloctres", "reqgres", "allocgres"), _resources),
    "reqmem": _memory,
    "licenses": choice_of_licences,
    "suspended": _suspended,
}
# The same for columns that become labels; the parser keeps each of their texts once.
OF_TEXTS: dict[str, Callable[[str], float]] = {
    "qos": _said(Demand.QOS, "normal"),
    "reservation": _said(Demand.RESERVATION),
    "constraints": _unread_features,
}


def demands_of(texts: Mapping[str, list[str]], jobs: int) -> NDArray[np.float64]:
    """Return the `Demand` bits of every job, from all columns of `DEMANDS`."""
    bits = np.zeros(jobs, dtype=np.int64)
    for column, value in DEMANDS.items():
        if column == "jobid" and column in texts:
            for k, text in enumerate(texts[column]):
                if "_" in text or "+" in text:
                    bits[k] |= _kind_of_job(text)
        elif column in texts:
            bits |= values_of(texts[column], value).astype(np.int64)
    return bits.astype(np.float64)
