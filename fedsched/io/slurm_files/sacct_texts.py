"""The texts of an sacct dump: kept as codes while it is read, each distinct text once; then made into jobs' labels."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.io.slurm_files.sacct_demands import NOTHING, OF_TEXTS, choice_of_licences
from fedsched.io.slurm_files.sacct_lines import BAR
from fedsched.io.slurm_files.sacct_submit import lines_with_requests, requests_in
from fedsched.io.slurm_files.slurm_options import OF_FIELDS, TOLD_BY
from fedsched.io.tables.frame import named
from fedsched.model.jobs.labels import Labels, as_objects
from fedsched.model.jobs.log import OPTIONS, SEPARATOR, Demand
from fedsched.model.machine.node_features import alternatives

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

# The label that each column becomes. Partition, which is also a queue, has codes of its own.
LABELS = {
    "user": "user",
    "account": "account",
    "qos": "qos",
    "jobname": "name",
    "constraints": "features",
    "reservation": "reservation",
    "reason": "reason",
    "restarts": "restarts",
    "flags": "started_by",
    "priority": "priority",
    "nodelist": "nodes",
}
RECORDED = frozenset({"reason", "restarts", "flags", "priority", "nodelist"})  # results, not requests of jobs
WORDS_FOR_NONE = {"restarts": ("0",), "priority": ("0",), "nodelist": ("none assigned",)}  # values that stand for none
SCHEDULERS = {  # a job's flags that name the scheduler, as sacct prints them and as its JSON has them
    **{"schedmain": "main", "schedbackfill": "backfill", "schedsubmit": "submit"},
    **{"started_on_schedule": "main", "started_on_backfill": "backfill", "started_on_submit": "submit"},
}
REQUEST_COLUMNS = ("submitline", "dependency")
REQUEST_FIELDS = {*REQUEST_COLUMNS, *OF_FIELDS}
COLUMNS = {*LABELS, *REQUEST_FIELDS}
PREFIX = "text."
BEYOND, LICENSES = "beyond", "licences asked"  # from the command line: options that are not modelled, and licences
OF_NODES = frozenset({"--ntasks-per-node", "--tasks-per-node"})  # not counted as unread if a job's size is its nodes
ALONE = PREFIX + "exclusive"  # whether a job requests whole nodes
TOLD = PREFIX + "told"  # whether a job's command line is known


class _Codes(dict[str, int]):
    """A dictionary from texts to codes: a new text gets the next whole number, and the empty text has 0."""

    def __init__(self) -> None:
        self[""] = 0

    def __missing__(self, text: str) -> int:
        self[text] = number = len(self)
        return number


class Texts:
    """A store of an sacct dump's texts and their codes, by column: the columns for labels, and the `kept` ones.

    A code is a whole number, one for each distinct text of a column.
    """

    def __init__(self, kept: Iterable[str] = ()) -> None:
        self.kept = frozenset(kept)
        self.codes: dict[str, _Codes] = defaultdict(_Codes)

    def read(self, texts: Mapping[str, list[str]], *, nodes: bool = False) -> dict[str, NDArray[Any]]:
        """Return the codes of the texts of some lines, by column; new texts get codes.

        Command lines are parsed: their requests are columns of codes, numbers or flags. `nodes` says whether a job's
        size is its number of nodes; --ntasks-per-node is then not counted as unread.
        """
        columns = dict.fromkeys((*LABELS, *sorted(self.kept)))
        found = {column: self._coded(column, texts[column]) for column in columns if column in texts}
        if not texts.keys().isdisjoint(REQUEST_FIELDS):
            found |= self._requested(texts, OF_NODES if nodes else frozenset())
        return {PREFIX + column: values for column, values in found.items()}

    def _coded(self, column: str, texts: list[str]) -> NDArray[Any]:
        return np.fromiter(map(self.codes[column].__getitem__, texts), dtype=np.int32, count=len(texts))

    def _requested(self, texts: Mapping[str, list[str]], sized: frozenset[str]) -> dict[str, NDArray[Any]]:
        jobs = len(next(iter(texts.values())))
        names = ("dependency", "begin", "together", "nice", "maybe", "exclusive", LICENSES, BEYOND, "told")
        found = {name: np.zeros(jobs, dtype=np.int32) for name in names}
        beyond: dict[int, set[str]] = {}
        lines = texts.get("submitline", [])
        untold = frozenset(option for option, fields in TOLD_BY.items() if texts.keys().isdisjoint(fields))
        for k in lines_with_requests(lines, untold):
            asked = requests_in(lines[k].replace(BAR, "|"), untold)
            found["dependency"][k] = self.codes["dependency"][asked.dependency]
            found["begin"][k] = self.codes["begin"][asked.begin]
            found["together"][k], found["nice"][k] = int(asked.together or 0), asked.nice
            found["maybe"][k] = Demand.DEPENDENCY * asked.maybe_dependency | Demand.BEGIN * asked.maybe_begin
            found["maybe"][k] |= Demand.PARTITIONS * asked.partitions
            found["exclusive"][k] = asked.exclusive
            found[LICENSES][k] = self.codes[LICENSES][asked.licenses]
            if more := set(asked.beyond) - sized:
                beyond[k] = more
        for field, option in OF_FIELDS.items():
            for k, text in enumerate(texts.get(field, ())):
                if text.strip().lower() not in NOTHING:
                    found["exclusive"][k] |= field == "exclusive" and text.lower() == "node"
                    if said := option(text.strip()):
                        beyond.setdefault(k, set()).add(said)
        for k, options in beyond.items():
            found[BEYOND][k] = self.codes[BEYOND][SEPARATOR.join(sorted(options))]
        for k, text in enumerate(texts.get("dependency", ())):
            if text.strip().lower() not in NOTHING:  # this field holds over the command line: it is newer
                found["dependency"][k] = self.codes["dependency"][text]
        found["told"][: len(lines)] = [bool(line) for line in lines]
        return found

    def licences(self, read: Mapping[str, NDArray[Any]]) -> dict[str, list[str]]:
        """Return one column of texts, by name: the licences that each job's command line requests; {} if none does."""
        codes = read.get(PREFIX + LICENSES)
        if codes is None or not codes.any():
            return {}
        words = self.texts(LICENSES)
        return {LICENSES: [words[code] for code in codes.tolist()]}

    def texts(self, column: str) -> list[str]:
        """Return a column's distinct texts, in the order of their codes."""
        return list(self.codes[column])

    def labels(self, read: Mapping[str, NDArray[Any]], partitions: list[str]) -> dict[str, NDArray[Any]]:
        """Return the labels of the jobs, and their nice values, under their names in tables.

        Parameters
        ----------
        read
            The columns of codes and numbers.
        partitions
            The names of the partitions, in the order of their numbers from 1.
        """
        found = {}
        if partitions and "partition" in read:
            first = [name.split(",")[0] for name in partitions]
            found["partition"] = as_objects(["", *first])[np.maximum(read["partition"], 0).astype(np.int64)]
        if PREFIX + "together" in read:
            found["array"] = _arrays(read)
        for column, label in LABELS.items():
            if PREFIX + column in read:
                said = [_label(column, text.replace(BAR, "|").strip()) for text in self.texts(column)]
                if any(said):
                    found[label] = as_objects(said)[read[PREFIX + column]]
        if PREFIX + BEYOND in read and read[PREFIX + BEYOND].any():
            found[OPTIONS] = as_objects(self.texts(BEYOND))[read[PREFIX + BEYOND]]
        nice = read.get(PREFIX + "nice", np.zeros(0))
        return dict(named(Labels, found)) | ({"nice": nice.astype(np.float64)} if nice.any() else {})

    def demands(self, read: Mapping[str, NDArray[Any]], partitions: list[str]) -> NDArray[np.int64]:
        """Return for each job the `Demand` bits of requests in its texts that are not modelled."""
        bits = np.zeros(len(read["submit"]), dtype=np.int64)
        for column, value in (OF_TEXTS | {LICENSES: choice_of_licences}).items():
            if PREFIX + column in read:
                of_texts = np.array([value(text.replace(BAR, "|")) for text in self.texts(column)], dtype=np.int64)
                bits |= of_texts[read[PREFIX + column]]
        if PREFIX + "maybe" in read:
            bits |= read[PREFIX + "maybe"].astype(np.int64)
        if any("," in name for name in partitions):
            several_names = np.array([0, *(Demand.PARTITIONS * ("," in name) for name in partitions)], dtype=np.int64)
            bits |= several_names[np.maximum(read["partition"], 0).astype(np.int64)]
        return bits


def _arrays(read: Mapping[str, NDArray[Any]]) -> NDArray[Any]:
    """Return each job's label "array": 17%5 if at most 5 tasks of its array 17 may run at once; "" for other jobs."""
    together = read[PREFIX + "together"]
    said = np.full(together.size, "", dtype=object)
    cluster = read.get("cluster", np.zeros(together.size))
    for row in np.flatnonzero((together > 0) & (read["task"] >= 0)).tolist():
        apart = f".{int(cluster[row])}" if cluster[row] > 1 else ""  # clusters may use the same numbers
        said[row] = f"{int(read['array'][row])}{apart}%{together[row]}"
    return said


def _label(column: str, text: str) -> str:
    """Return the label for a text of a column; "" for words that mean none, except in job names.

    For flags it is the scheduler that started the job; unreadable constraints give "".
    """
    if column == "flags":
        return next((by for flag in text.lower().split(",") if (by := SCHEDULERS.get(flag.strip()))), "")
    if (column != "jobname" and text.lower() in NOTHING) or text.lower() in WORDS_FOR_NONE.get(column, ()):
        return ""
    if column == "constraints":
        try:
            alternatives(text)
        except ValueError:
            return ""
    return text
