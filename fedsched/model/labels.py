"""What jobs are called, and by whom they are sent: names that a log gives them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.model.job_columns import JobColumns
from fedsched.model.validation import check_labels
from fedsched.text import counted, one_line

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.federation import Federation


@dataclass(frozen=True, slots=True, eq=False)
class Labels(JobColumns):
    """Texts by name, one a job: its `name`, which a singleton goes by, and whatever else is worth keeping."""

    PREFIX = "label."
    CELL = str
    NOTHING = ""

    texts: Mapping[str, NDArray[Any]]

    @classmethod
    def of(cls, given: Labels | Mapping[str, ArrayLike], ids: NDArray[np.int64]) -> Labels | None:
        """Return the labels of these jobs; None where all are empty."""
        if isinstance(given, Labels):
            return given
        if not isinstance(given, Mapping):
            raise TypeError(f"Workload: labels={given!r} must give texts by name: {{'name': ['a', 'b']}}.")
        kept = {}
        for name in check_labels("Workload: label", given):
            values = np.array(np.broadcast_to(_texts(given[name]), ids.shape))
            if (values != "").any():
                values.setflags(write=False)
                kept[name] = values
        return cls(kept) if kept else None

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return the texts by name."""
        return dict(self.texts)

    def unmodelled(self, federation: Federation) -> list[str]:
        """Return how many partitions of the jobs became one, and which features bind nobody: the machine has none."""
        names = np.unique(self.texts["partition"]) if "partition" in self.texts else ()
        said = [f"{len(names):,} partitions pooled"] if len(names) > 1 and not federation.partitions else []
        asking = int((self.texts["features"] != "").sum()) if "features" in self.texts else 0
        if asking and not federation.has_features:
            said.append(f"{counted(asking, 'job')} with features (the machine's nodes have none)")
        return said

    def __str__(self) -> str:
        known = [(name, int((texts != "").sum())) for name, texts in self.texts.items()]
        return ", ".join(f"{one_line(name)} of {counted(jobs, 'job')}" for name, jobs in known)


def distinct(texts: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the texts that differ, sorted, and the place of every text among them."""
    column = texts.tolist()
    names = sorted(set(column))
    place = {name: k for k, name in enumerate(names)}
    return names, np.array([place[text] for text in column], dtype=np.int64)


def _texts(given: ArrayLike) -> NDArray[Any]:
    """Return texts as objects of Python: a long one takes its own room, and no more, and like ones are one."""
    values = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    if values.dtype == object and set(map(type, values.flat)) <= {str}:
        return values
    known: dict[str, str] = {}
    texts = [known.setdefault(text, text) for text in map(str, values.ravel().tolist())]
    column = np.empty(values.size, dtype=object)
    column[:] = texts
    return column.reshape(values.shape)
