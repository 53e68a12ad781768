"""Requests of Slurm's jobs besides nodes and time, from columns of sacct.

If tasks are nodes, each node of a job must have the requested cores, MiB of memory and GPUs [50]; if tasks are CPUs,
each takes its share of the memory. Licences are needs of pools. Requests that are not modelled are bits of `Demand`,
by which jobs are counted.
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
    """Return, by resource, the amount that each node of every job must have: CPUs, MiB of memory, GPUs.

    Resources that no job requests are left out.

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


def memory_of_cpus(texts: Mapping[str, list[str]], nodes: Column | None, cpus: Column) -> dict[str, Column]:
    """Return, as "memory", the MiB that each CPU of every job requests, rounded up; {} if no job requests memory.

    The columns are read as in `resources_of`; the CPUs are those of the same text if it tells them.
    """
    own = np.where(np.isfinite(cpus) & (cpus > 0), cpus, 1.0)
    memory = np.zeros(len(cpus))
    for column in ("reqtres", "alloctres"):
        if column in texts and not memory.any():
            told = _table(texts[column], _of_trace)
            each = told.get("cpu", np.zeros(len(cpus)))
            memory = told.get("memory", memory) / np.where(each > 0, each, own)
    if "reqmem" in texts and not memory.any():
        told, nothing = _table(texts["reqmem"], _memory_by_kind), np.zeros(len(cpus))
        share = np.ones(len(cpus)) if nodes is None else np.where(np.isfinite(nodes) & (nodes > 0), nodes, 1.0)
        total = told.get("all", nothing) + told.get("node", nothing) * share
        memory = total / own + told.get("cpu", nothing)
    return {"memory": np.ceil(memory)} if memory.any() else {}


def nodes_of_trace(text: str) -> float:
    """Return the number of nodes in a text like cpu=8,mem=32G,node=2; -infinity (unknown) if it names none."""
    told = _NODES.search(text)
    return float(told[1]) if told else UNKNOWN


def requested_nodes(read: Mapping[str, Column], tasks: Column) -> dict[str, Column]:
    """Return a layout's column, by name, of the requested nodes of each job; 0 if unknown, or for a single task.

    Return {} if it would have only zeros.
    """
    asked = read.get("asked_nodes", np.zeros(tasks.size))
    told = np.where(np.isfinite(asked) & (asked > 0) & (tasks > 1), asked, 0.0)
    return named(NodeLayout, {NODES: told}) if told.any() else {}


def known_demands(read: Mapping[str, Column], prefix: str) -> NDArray[np.int64]:
    """Return for each job the `Demand` bits of memory and GPUs if their amounts are in columns with this prefix.

    These resources are modelled, so their bits can be cleared.
    """
    bits = np.zeros(len(read["submit"]), dtype=np.int64)
    for name, bit in KNOWN_AS.items():
        if prefix + name in read:
            bits[read[prefix + name] > 0] |= int(bit)
    return bits


def _table(texts: list[str], amounts: Callable[[str], dict[str, float]]) -> dict[str, Column]:
    """Return, by resource, a column with the amount that `amounts` finds in each text; 0 if it finds none."""
    known = {text: amounts(text) for text in set(texts)}
    names = sorted({name for one in known.values() for name in one})
    return {name: np.array([known[text].get(name, 0.0) for text in texts]) for name in names}


def _of_trace(text: str) -> dict[str, float]:
    """Return CPUs, MiB of memory and GPUs, by name, in a text like billing=8,cpu=8,gres/gpu:a100=4,mem=32G,node=2."""
    found: dict[str, float] = {}
    for one in text.split(","):
        name, _, amount = one.strip().partition("=")
        if name == "cpu" and digits_of(amount) is not None:
            found["cpu"] = float(amount)
        elif name == "mem" and (size := _AMOUNT.fullmatch(amount)):
            found["memory"] = float(size[1]) * MEBIBYTES[size[2].upper()]
    return found | _devices(text)


def _devices(text: str) -> dict[str, float]:
    """Return the GPUs in a text like gpu:2, gpu:a100:2 or gres/gpu:a100=2: in all as "gpu", by model as "gpu:a100"."""
    found: dict[str, float] = {}
    for one in text.lower().split(","):
        if device := _DEVICES.fullmatch(one.strip()):
            found[device[1]] = found.get(device[1], 0.0) + float(device[2])
    kinds = sum(number for name, number in found.items() if name != "gpu")
    return found | {"gpu": max(found.get("gpu", 0.0), kinds)} if found else found


def _memory_by_kind(text: str) -> dict[str, float]:
    """Return the MiB in a text like 4000Mc, 16Gn or 32G, under "cpu" (c), "node" (n) or "all"; {} if unreadable."""
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
    """Return the `Demand` bits, as a float, for a list of resources like cpu=4,mem=8G,gres/gpu:a100=2, or gpu:2.

    Memory, GPUs and other resources have a bit each; CPUs, nodes and readable licences have none.
    """
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
    """Return the number of each licence in a list like matlab:2,ansys@server or cpu=4,license/matlab=2.

    Return None if the text has a choice of licences, or cannot be read.
    """
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
    """Return, by licence, each job's number of them, from the first of these columns of texts that has any; else {}."""
    for column in columns:
        known = {text: licences_in(text) or {} for text in set(column)}
        if names := sorted({name for licences in known.values() for name in licences}):
            return {name: np.array([known[text].get(name, 0) for text in column], dtype=np.float64) for name in names}
    return {}


def column_of_part(part: Mapping[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
    """Return a column of one chunk of a dump; if the chunk lacks this optional column, its default for each job."""
    if name in part or not (field := field_of(name)):
        return part[name]
    return np.full(len(part["submit"]), OPTIONAL[field].NOTHING)


def choice_of_licences(text: str) -> float:
    """Return the `Demand` bit OTHER, as a float, if a text has a choice of licences or is unreadable; else 0."""
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
    """Return the `Demand` bits of a JobID: ARRAY for a task like 17_3, HETEROGENEOUS for a part like 17+1, else 0."""
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
    """Return the `Demand` bits of each of the jobs, as floats, from the texts of all columns in `DEMANDS`."""
    bits = np.zeros(jobs, dtype=np.int64)
    for column, value in DEMANDS.items():
        if column == "jobid" and column in texts:
            for k, text in enumerate(texts[column]):
                if "_" in text or "+" in text:
                    bits[k] |= _kind_of_job(text)
        elif column in texts:
            bits |= values_of(texts[column], value).astype(np.int64)
    return bits.astype(np.float64)
