"""Names of users and accounts, whose numbers a log of the Standard Workload Format has, in notes of its header."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.io.tables.frame import named
from fedsched.model.jobs.labels import Labels

if TYPE_CHECKING:
    from fedsched.io.swf.swf_table import RawLog
    from fedsched.model.jobs.workload import Workload

_NAMED = re.compile(r"fedsched: (user|account) (\d{1,15}) is (.+)")
FIELDS = {"user": 11, "account": 12}  # the label's number: its place in a row


def with_names(raw: RawLog) -> RawLog:
    """Return a log with its names as labels in place of the notes that tell them."""
    known: dict[str, dict[float, str]] = {}
    for label, text in raw.header:
        if label == "Note" and (match := _NAMED.fullmatch(text)):
            known.setdefault(match[1], {})[float(match[2])] = match[3]
    labels = {
        name: np.array([names.get(number, "") for number in raw.table[FIELDS[name]].tolist()], dtype=object)
        for name, names in known.items()
        if Labels.PREFIX + name not in raw.columns  # a further field says it
    }
    header = tuple(line for line in raw.header if not is_name(*line))
    return replace(raw, header=header, columns=raw.columns | named(Labels, labels)) if known else raw


def is_name(label: str, text: str) -> bool:
    """Return whether a line of a header tells a name."""
    return label == "Note" and _NAMED.fullmatch(text) is not None


def names_in(workload: Workload) -> dict[str, dict[int, str]]:
    """Return by label what each number is called, of the labels that numbers of the log tell."""
    groups = None if workload.log is None else workload.log.group
    found: dict[str, dict[int, str]] = {}
    for label, numbers in {"user": workload.user, "account": groups}.items():
        texts = workload.label(label)
        if numbers is None or not (texts != "").any():
            continue
        pairs = set(zip(numbers.tolist(), texts.tolist(), strict=True))
        names = {int(number): text for number, text in pairs if text}
        told = all(number >= 0 and number == int(number) for number, text in pairs if text)
        once = len({number for number, _ in pairs}) == len(pairs)
        if told and once and not any("\n" in name for name in names.values()):
            found[label] = dict(sorted(names.items()))
    return found
