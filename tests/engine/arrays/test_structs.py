"""What the kernels are given: arrays of one type each, and counters that have room."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.plain import begun, jobs

import fedsched as fs
from fedsched.engine.arrays.structs import Problem, State
from fedsched.engine.codes import Dispatch

if TYPE_CHECKING:
    from collections.abc import Iterator


def arrays(tree: tuple[object, ...], name: str = "") -> Iterator[tuple[str, np.ndarray]]:
    """Return every array of a tuple and of those within it, by name."""
    for field, value in zip(tree._fields, tree, strict=True):  # type: ignore[attr-defined]
        if isinstance(value, tuple):
            yield from arrays(value, f"{name}{field}.")
        elif isinstance(value, np.ndarray):
            yield f"{name}{field}", value


@pytest.mark.parametrize("dispatch", list(Dispatch))
def test_kernels_know_one_type_of_each_array(dispatch: Dispatch) -> None:
    """Whole numbers of 64 bits or doubles, contiguous; a Problem may not be written to, a State must be."""
    problem, _, state = begun(jobs([1, 2], [3.0, 4.0]), fs.Federation.example(), dispatch=dispatch.name.lower())
    for tree, kind in ((problem, Problem), (state, State)):
        assert isinstance(tree, kind)
        for name, array in arrays(tree):
            assert array.dtype in (np.int64, np.float64), name
            assert array.flags.c_contiguous, name
            assert array.flags.writeable == (kind is State), name
