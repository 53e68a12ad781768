"""The minimum tree finds the next entry within a bound, as a search through all entries does."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched.core.jit import kernel
from fedsched.core.least_tree import NO_PLACE, next_within, places_for, put

NONE = 2**62  # the value of an empty place


@kernel
def put_entry(tree: np.ndarray, place: int, asked: int) -> None:
    """Put an entry at a place."""
    put(tree, place, asked)


@kernel
def found(tree: np.ndarray, place: int, most: int) -> int:
    """Return the first place from one on."""
    return next_within(tree, place, most)


@pytest.mark.parametrize("many", [0, 1, 2, 3, 5, 8, 33])
def test_the_next_entry_is_that_of_a_full_search(many: int) -> None:
    """Tests that as entries come and leave, each search finds the first entry within the bound, or none."""
    rng, tree = np.random.default_rng(many), np.full(2 * places_for(many), NONE)
    asked = np.full(many, NONE)
    for _ in range(40 if many else 1):
        if many:
            place = int(rng.integers(many))
            asked[place] = NONE if rng.random() < 0.4 else rng.integers(1, 9)
            put_entry(tree, place, asked[place])
        for first in range(many + 1):
            for most in (0, 1, 4, 9):
                able = [k for k in range(first, many) if asked[k] <= most]
                assert found(tree, first, most) == (able[0] if able else NO_PLACE)
