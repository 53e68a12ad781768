"""Further fields of a log, those after the eighteenth of each line: reading as labels of jobs, and writing."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import TraceError
from fedsched.core.text import one_line
from fedsched.io.platforms.metacentrum import nodes_of, requests_of
from fedsched.io.tables.frame import named
from fedsched.model.jobs.labels import Labels
from fedsched.model.jobs.log import (
    AS_METACENTRUM,
    FIRST_FURTHER_FIELD,
    METACENTRUM,
    NODES,
    REQUEST,
    further_field_names,
    further_labels,
    name_further_fields,
    unnamed_field,
)
from fedsched.model.jobs.validation import check_labels

if TYPE_CHECKING:
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.io.swf.swf_table import RawLog
    from fedsched.model.jobs.workload import Workload

NONE = "-1"
METACENTRUM_NAMES = (NODES, "queue", REQUEST)
_WRITABLE = re.compile(r"[^\s;]+")


def with_further_fields(raw: RawLog, path: str | PathLike[str], descriptor: str | None) -> RawLog:
    """Return a log with its further fields, those after the eighteenth, as labels.

    `descriptor` has their names, joined by commas, else the header, else they are "field 19" and so on. With the
    descriptor "metacentrum" the log also gets the features and demands that jobs requested. Raise a TraceError if the
    number of names is wrong.
    """
    count = len(raw.further)
    if descriptor is None:
        if AS_METACENTRUM in raw.header and count == len(METACENTRUM_NAMES):
            return with_further_fields(raw, path, METACENTRUM)
        known = further_field_names(raw.header)
        names = [known.get(FIRST_FURTHER_FIELD + k, "") for k in range(count)]
    else:
        names = list(METACENTRUM_NAMES) if descriptor == METACENTRUM else descriptor.split(",")
        if len(names) != count:
            there = f"fields 19 to {18 + count}" if count else "no field"
            raise TraceError(
                f"{path}: descriptor={descriptor!r} describes fields 19 to {18 + len(names)}, but the log has {there} "
                "beyond the 18th; give as many names."
            )
        raw = replace(raw, header=name_further_fields(raw.header, names))
    labels = [name or unnamed_field(FIRST_FURTHER_FIELD + k) for k, name in enumerate(names)]
    try:
        check_labels("A log's field", labels)
    except ValueError as error:
        raise TraceError(f"{path}: {error}") from None
    texts = {name: np.where(column == NONE, "", column) for name, column in zip(labels, raw.further, strict=True)}
    raw = replace(raw, columns=raw.columns | named(Labels, texts))
    return _as_metacentrum(raw, path, texts) if descriptor == METACENTRUM else raw


def _as_metacentrum(raw: RawLog, path: str | PathLike[str], texts: dict[str, NDArray[Any]]) -> RawLog:
    for text in dict.fromkeys(texts[NODES].tolist()):
        if text and nodes_of(text) is None:
            raise TraceError(
                f"{path}: field 19 is {text[:40]!r}; MetaCentrum names the node of every processor there, as "
                "{1241,1241,1242}; leave the descriptor out, or name the fields."
            )
    features, demands = requests_of(texts[REQUEST])
    columns = named(Labels, {"features": features}) | {"demands": demands}
    header = raw.header if AS_METACENTRUM in raw.header else (*raw.header, AS_METACENTRUM)
    return replace(raw, header=header, columns=raw.columns | columns)


def further_of(workload: Workload) -> dict[int, str]:
    """Return the names of labels that can be written as further fields, by the fields' numbers from 19 on.

    A label with a text that has blanks or semicolons, or is "-1", cannot.
    """
    texts = {} if workload.labels is None else workload.labels.texts
    return {
        number: name
        for number, name in further_labels(workload).items()
        if all(text == "" or (_WRITABLE.fullmatch(text) and text != NONE) for text in set(texts[name].tolist()))
    }


def labels_read_again(workload: Workload) -> set[str]:
    """Return {"features"} if reading a written log derives this label again from MetaCentrum's requests, else set()."""
    if workload.labels is None or AS_METACENTRUM not in workload.header:
        return set()
    texts = workload.labels.texts
    if tuple(further_of(workload).values())[-1:] != (REQUEST,) or "features" not in texts:
        return set()
    return {"features"} if np.array_equal(requests_of(texts[REQUEST])[0], texts["features"]) else set()


def columns_of(workload: Workload) -> list[NDArray[Any]]:
    """Return the texts of the further fields to write, one column for each field from the nineteenth on.

    An empty text, and a field without a label, are "-1".
    """
    found = further_of(workload)
    nothing = np.full(len(workload), NONE, dtype=object)
    columns = [nothing] * (max(found, default=FIRST_FURTHER_FIELD - 1) - FIRST_FURTHER_FIELD + 1)
    for number, name in found.items():
        column = workload.label(name)
        columns[number - FIRST_FURTHER_FIELD] = np.where(column == "", NONE, column)
    return columns


def labels_in_words(names: list[str]) -> str:
    """Return the names of labels as text for an error: "labels (a, b)"."""
    return f"labels ({', '.join(map(one_line, names))})"
