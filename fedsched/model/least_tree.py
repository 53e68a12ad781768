"""A tree of the least: whoever stands in a row and asks for no more than so many is found without looking at others."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Ints = NDArray[np.int64]

EMPTY = constant(2**62)  # at a place where nobody stands


def room_for(many: int) -> Ints:
    """Return a tree in which nobody stands: places for so many, behind as many inner nodes."""
    places = 1 << max(many - 1, 1).bit_length()
    return np.full(2 * places, EMPTY, dtype=np.int64)


@inlined
def stands(tree: Ints, place: int, asked: int) -> None:
    """Put one who asks for so many at a place; EMPTY: whoever was there leaves."""
    node = place + tree.size // 2
    tree[node] = asked
    while node > 1:
        node //= 2
        least = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == least:
            break
        tree[node] = least


@inlined
def next_of(tree: Ints, place: int, most: int) -> int:
    """Return the first place, from this one on, at which one stands who asks for at most so many; none: its size."""
    places = tree.size // 2
    if place >= places:
        return tree.size
    node = place + places
    while tree[node] > most:
        while node % 2 == 1:  # the last of its parent's, or the root
            node //= 2
        if node == 0:
            return tree.size
        node += 1
    while node < places:
        node *= 2
        if tree[node] > most:
            node += 1
    return node - places
