"""The tree of the least, by which whoever asks for few enough is found: against looking at everybody."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched.core.jit import kernel
from fedsched.core.least_tree import NO_PLACE, next_within, places_for, put

NONE = 2**62  # is asked for where nobody stands


@kernel
def stands(tree: np.ndarray, place: int, asked: int) -> None:
    """Let one stand at a place."""
    put(tree, place, asked)


@kernel
def found(tree: np.ndarray, place: int, most: int) -> int:
    """Return the first place from one on."""
    return next_within(tree, place, most)


@pytest.mark.parametrize("many", [0, 1, 2, 3, 5, 8, 33])
def test_who_comes_next_is_whom_one_finds_by_looking(many: int) -> None:
    """Tests that as some come and others leave, each search finds the first of those who ask for no more, or nobody."""
    rng, tree = np.random.default_rng(many), np.full(2 * places_for(many), NONE)
    asked = np.full(many, NONE)
    for _ in range(40 if many else 1):
        if many:
            place = int(rng.integers(many))
            asked[place] = NONE if rng.random() < 0.4 else rng.integers(1, 9)
            stands(tree, place, asked[place])
        for first in range(many + 1):
            for most in (0, 1, 4, 9):
                able = [k for k in range(first, many) if asked[k] <= most]
                assert found(tree, first, most) == (able[0] if able else NO_PLACE)
