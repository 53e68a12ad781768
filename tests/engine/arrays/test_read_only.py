"""Arrays that kernels take."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched.engine.arrays.read_only import floats, ints


@pytest.mark.parametrize(("made", "kind"), [(floats, np.float64), (ints, np.int64)])
def test_they_are_copies_of_one_type(made: object, kind: type) -> None:
    """Of any values, in rows, and nobody writes to them."""
    given = np.arange(6, dtype=np.int32).reshape(2, 3).T
    array = made(given)
    assert (array.dtype, array.flags.c_contiguous, array.flags.writeable) == (kind, True, False)
    given[0, 0] = 7
    assert array.tolist() == [[0, 3], [1, 4], [2, 5]]
    assert made([]).shape == (0,)
