"""Items of arrays: what our instructions for them read and write is what numba's do."""

from __future__ import annotations

import inspect
from typing import Any

import numba
import numpy as np
import pytest

from fedsched.core.jit import decorators, items, kernel

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(decorators.CHOICE.name != "lean", reason="items are numba's own where it compiles by itself"),
]


@kernel
def moved(values: np.ndarray, table: np.ndarray, k: int, to: np.ndarray) -> int:
    to[0, k] = values[k]
    to[1, -2] = values[0]
    to[k, -1] = table[-1, k]
    to[2, k] = table[k, k]
    return 0


@pytest.mark.parametrize(
    ("dtype", "into"),
    [
        (np.int64, np.int64), (np.float64, np.int64), (np.uint64, np.float64), (np.int8, np.int64),
        (np.float32, np.float64), (np.bool_, np.float64),
    ],
)  # fmt: skip
def test_items_are_numbas(dtype: Any, into: Any) -> None:
    """Items are found from both ends, and converted to what the array holds, as numba and numpy do it."""
    table = np.random.default_rng(1).integers(0, 100, (4, 4)).astype(dtype)
    numpys = inspect.unwrap(moved)
    ways = moved, numba.njit(numpys), numpys
    for index in (0, 3, -1, -4, np.uint64(2), np.int32(-2)):
        found = [np.zeros((4, 4), into) for _ in ways]
        for way, to in zip(ways, found, strict=True):
            way(table[2].copy(), table, index, to)
        assert found[0].tolist() == found[1].tolist() == found[2].tolist()


@pytest.mark.parametrize(
    ("array", "index", "plain"),
    [
        (numba.float64[::1], numba.int64, True),
        (numba.float64[:, ::1], numba.types.UniTuple(numba.int64, 2), True),
        (numba.float64[:, ::1], numba.int64, False),  # a row
        (numba.float64[:], numba.int64, False),  # with steps between its items
        (numba.float64[::1], numba.types.slice2_type, False),
        (numba.complex128[::1], numba.int64, False),
    ],
)
def test_what_is_not_one_number_is_left_to_numba(array: Any, index: Any, plain: bool) -> None:
    """Only one number of an array in C's order is read by our own instructions."""
    assert items._plain(array, index) == plain
