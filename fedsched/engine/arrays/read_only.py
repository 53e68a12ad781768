"""Read-only arrays, as kernels take them: a kernel is compiled for one type of each argument."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import ArrayLike

    from fedsched.engine.arrays.structs import Floats, Ints


def floats(values: ArrayLike) -> Floats:
    """Return values as a new read-only array of floats."""
    array = np.array(values, dtype=np.float64, order="C")
    array.setflags(write=False)
    return array


def ints(values: ArrayLike) -> Ints:
    """Return values as a new read-only array of integers."""
    array = np.array(values, dtype=np.int64, order="C")
    array.setflags(write=False)
    return array
