"""Fields of a log after the eighteenth: labels, named by the log's header or else by their number."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.model.jobs.workload import Workload

    Header = tuple[tuple[str, str], ...]

FIRST = 19
METACENTRUM = "metacentrum"
NODES, REQUEST = "nodes", "request"  # the names of two of MetaCentrum's three fields
AS_METACENTRUM = ("Note", "fedsched: the further fields are as MetaCentrum writes them")
_NAMED = re.compile(r"fedsched: field (\d{1,4}) is (.+)")
_BY_PLACE = re.compile(r"field (19|[2-9]\d|[1-9]\d{2,3})")


def named_in(header: Header) -> dict[int, str]:
    """Return the names that a header gives to further fields, by field number."""
    found = (_NAMED.fullmatch(text) for label, text in header if label == "Note")
    return {int(match[1]): match[2] for match in found if match}


def naming(header: Header, names: Iterable[str]) -> Header:
    """Return the header with these names for the further fields ('' = none), replacing earlier names."""
    others = [(label, text) for label, text in header if not (label == "Note" and _NAMED.fullmatch(text))]
    notes = [("Note", f"fedsched: field {k} is {name}") for k, name in enumerate(names, FIRST) if name]
    return (*others, *notes)


def by_place(number: int) -> str:
    """Return the label of a further field without a name."""
    return f"field {number}"


def further_labels(workload: Workload) -> dict[int, str]:
    """Return the labels that are further fields of the jobs' log, by field number."""
    labels = {} if workload.labels is None else workload.labels.texts
    found = {number: name for number, name in named_in(workload.header).items() if name in labels}
    for name in labels:
        if (match := _BY_PLACE.fullmatch(name)) and name not in found.values():
            found.setdefault(int(match[1]), name)
    return dict(sorted(found.items()))


def kept_in_words(workload: Workload) -> list[str]:
    """Return which further fields are kept as labels without any effect in the model."""
    read = {NODES, REQUEST} if AS_METACENTRUM in workload.header else {"partition", "account", "features"}
    names = [name for name in further_labels(workload).values() if name not in read]
    return [f"further fields kept as labels: {', '.join(names)}"] if names else []
