"""Columns of texts as Python objects, so that each text takes its own length in memory."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray


def distinct(texts: NDArray[Any]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the distinct texts, sorted, and the index of every text among them."""
    column = texts.tolist()
    names = sorted(set(column))
    place = {name: k for k, name in enumerate(names)}
    return names, np.array([place[text] for text in column], dtype=np.int64)


def as_objects(given: ArrayLike) -> NDArray[Any]:
    """Return texts as Python objects; equal texts share one object."""
    values = given if isinstance(given, np.ndarray) else np.asarray(given, dtype=object)
    if values.dtype == object and set(map(type, values.flat)) <= {str}:
        return values
    known: dict[str, str] = {}
    texts = [known.setdefault(text, text) for text in map(str, values.ravel().tolist())]
    column = np.empty(values.size, dtype=object)
    column[:] = texts
    return column.reshape(values.shape)
