"""Features: what nodes offer and jobs require, in Slurm's syntax: "gpu&ib|bigmem" [41]."""

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
    """Return the sets of features of which a node must have at least one in full; empty if nothing is required."""
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
    """Return jobs × groups: whether the group's nodes have the features that the job asks for."""
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
