"""Tuples of arrays: compiled code takes rows of them, and other fields into them, as Python does."""

from __future__ import annotations

import inspect
from typing import NamedTuple

import numpy as np
import pytest

from fedsched.core.jit import by_reference, kernel, row, with_fields

pytestmark = pytest.mark.compiled


@by_reference
class Inner(NamedTuple):
    number: np.ndarray
    table: np.ndarray


@by_reference
class Outer(NamedTuple):
    first: np.ndarray
    inner: Inner
    none: Inner | None


@with_fields("none", "first")
def filled(outer: Outer, none: Inner, first: np.ndarray) -> Outer:
    return outer._replace(none=none, first=first)


@kernel
def rows_of(outer: Outer, to: np.ndarray) -> int:
    for k in range(to.shape[0]):
        one = row(outer, k)
        to[k, 0] = one.first
        to[k, 1] = one.inner.number[1]
        to[k, 2] = one.inner.table[1, 0]
        one.inner.number[0] = k
        more = filled(one, one.inner, outer.first)
        to[k, 3] = more.none.number[1] + more.first[k]
        to[k, 4] = more.inner.table[0, 1]
    return 0


def test_rows_and_fields_are_pythons() -> None:
    """Rows are views, and a tuple with other fields keeps its others."""
    found = []
    for way in (rows_of, inspect.unwrap(rows_of)):
        numbers = np.arange(6.0).reshape(3, 2)
        outer = Outer(np.array([7.0, 8.0, 9.0]), Inner(numbers, np.arange(12.0).reshape(3, 2, 2)), None)
        to = np.zeros((3, 5))
        way(outer, to)
        assert numbers[:, 0].tolist() == [0.0, 1.0, 2.0]
        found.append(to.tolist())
    assert found[0] == found[1]
    assert found[0][1] == [8.0, 3.0, 6.0, 11.0, 5.0]
