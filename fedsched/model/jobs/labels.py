"""Labels: named texts of each job, such as its name or its user; and functions on columns of texts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.text import counted, one_line
from fedsched.model.jobs.columns import JobColumns
from fedsched.model.jobs.validation import check_labels

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.machine.federation import Federation

SHOWN, MOST_LETTERS = 6, 60  # up to these numbers, a label's texts are listed rather than counted


@dataclass(frozen=True, slots=True, eq=False)
class Labels(JobColumns):
    """Named columns of texts, one text per job; "" = none.

    The label `name` is the job's name, which singleton conditions compare. Other labels are, for example, `user`,
    `account`, `partition` and `features`.
    """

    PREFIX = "label."
    CELL = str
    NOTHING = ""

    texts: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, given: Labels | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> Labels | None:
        """Return the labels of these jobs, without labels that are empty for all; None if none is left."""
        if isinstance(given, Labels):
            return given
        if not isinstance(given, Mapping):
            raise TypeError(f"Workload: labels={given!r} must give texts by name: {{'name': ['a', 'b']}}.")
        kept = {}
        for name in check_labels("Workload: label", given):
            values = np.array(np.broadcast_to(as_objects(given[name]), ids.shape))
            if (values != "").any():
                values.setflags(write=False)
                kept[name] = values
        return cls(kept) if kept else None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the columns of texts by label name."""
        return dict(self.texts)

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return a text that says how many jobs ask for features if no node has any feature; else []."""
        asking = int((self.texts["features"] != "").sum()) if "features" in self.texts else 0
        if not asking or federation.has_features:
            return []
        return [f"{counted(asking, 'job')} with features (the machine's nodes have none)"]

    def __str__(self) -> str:
        return ", ".join(f"{one_line(name)} of {_shown(texts)}" for name, texts in self.texts.items())


def _shown(texts: NDArray[Any]) -> str:
    """Return, in words, how many jobs have a text, and the texts: "7 jobs (long, short)".

    Many or long texts are only counted: "900 jobs (45 different)".
    """
    names, which = distinct(texts)
    jobs = counted(int(np.count_nonzero(texts != "")), "job")
    often = np.argsort(-np.bincount(which, minlength=len(names)), kind="stable")
    said = [names[k] for k in often.tolist() if names[k]]
    short = len(said) <= SHOWN and sum(map(len, said)) <= MOST_LETTERS
    return f"{jobs} ({', '.join(map(one_line, said)) if short else f'{len(said):,} different'})"


def distinct(texts: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts, sorted, and for every text its index among the distinct texts."""
    column = texts.tolist()
    names = sorted(set(column))
    place = {name: k for k, name in enumerate(names)}
    return names, np.array([place[text] for text in column], dtype=np.int64)


def as_objects(given: ArrayLike) -> NDArray[Any]:
    """Return an array of Python strings (dtype object) with these texts; equal texts share one string."""
    values = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    if values.dtype == object and set(map(type, values.flat)) <= {str}:
        return values
    known: dict[str, str] = {}
    texts = [known.setdefault(text, text) for text in map(str, values.ravel().tolist())]
    column = np.empty(values.size, dtype=object)
    column[:] = texts
    return column.reshape(values.shape)
