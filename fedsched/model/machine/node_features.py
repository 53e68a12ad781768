"""Features: words that describe nodes, which jobs may require in Slurm's syntax: "gpu&ib|bigmem" [41]."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.core.errors import InfeasibleError
from fedsched.model.jobs.labels import distinct

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

FEATURE = re.compile(r"[^\s&|,;\[\]()*\"']+")


def alternatives(text: str) -> tuple[frozenset[str], ...]:
    """Return the sets of features in a job's request: a node must have all features of at least one of the sets.

    Empty if nothing is required. Raise if a name is invalid.
    """
    if not text.strip():
        return ()
    found = []
    for part in text.split("|"):
        names = [name.strip() for name in part.split("&")]
        for name in names:
            if not FEATURE.fullmatch(name):
                raise ValueError(
                    f"features={text!r}: {name!r} is not a feature's name; join names by & (all) and | (any); brackets "
                    "and counts are not modelled"
                )
        found.append(frozenset(names))
    return tuple(found)


def have_features(texts: NDArray[Any], ids: NDArray[np.int64], groups: Sequence[Iterable[str]]) -> NDArray[np.bool_]:
    """Return jobs × groups: whether the group's nodes have the features that the job asks for.

    `texts` are the jobs' requests; a job that asks for nothing may use every group. Raise if a request is invalid.
    """
    names, which = distinct(texts)
    there = [frozenset(features) for features in groups]
    table = np.ones((len(names), len(there)), dtype=np.bool_)
    for k, text in enumerate(names):
        try:
            asked = alternatives(text)
        except ValueError as error:
            raise InfeasibleError(f"Job {ids[int(np.argmax(which == k))]}: {error}.") from None
        if asked:
            table[k] = [any(one <= has for one in asked) for has in there]
    return np.asarray(table[which])
