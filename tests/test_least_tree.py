"""The tree of the least, by which whoever asks for few enough is found: against looking at everybody."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched.compiled import kernel
from fedsched.model.least_tree import EMPTY, next_of, room_for, stands


@kernel
def put(tree: np.ndarray, place: int, asked: int) -> None:
    """Let one stand at a place."""
    stands(tree, place, asked)


@kernel
def found(tree: np.ndarray, place: int, most: int) -> int:
    """Return the first place from one on."""
    return next_of(tree, place, most)


@pytest.mark.parametrize("many", [0, 1, 2, 3, 5, 8, 33])
def test_who_comes_next_is_whom_one_finds_by_looking(many: int) -> None:
    """Tests that as some come and others leave, each search finds the first of those who ask for no more, or nobody."""
    rng, tree = np.random.default_rng(many), room_for(many)
    asked = np.full(many, EMPTY)
    for _ in range(40 if many else 1):
        if many:
            place = int(rng.integers(many))
            asked[place] = EMPTY if rng.random() < 0.4 else rng.integers(1, 9)
            put(tree, place, asked[place])
        for first in range(many + 1):
            for most in (0, 1, 4, 9):
                able = [k for k in range(first, many) if asked[k] <= most]
                at = found(tree, first, most)
                assert at == able[0] if able else at >= many
