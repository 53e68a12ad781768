"""Requests of Slurm's jobs besides nodes and time: licences as pools, all others as `Demand` bits, to be counted."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from fedsched.io.slurm_files.sacct_values import WORDS, duration_of, values_of
from fedsched.io.tables.frame import field_of
from fedsched.model.jobs.job import OPTIONAL
from fedsched.model.jobs.log import Demand
from fedsched.model.machine.node_features import alternatives

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping

    from numpy.typing import NDArray

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


def part_of(part: Mapping[str, NDArray[np.float64]], name: str) -> NDArray[np.float64]:
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
