"""A tree of the least: who stands in a row and asks for no more than so much is found without looking at all others."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Tree = NDArray[np.int64] | NDArray[np.float64]  # as many inner nodes as places, a power of two, then the places

NOBODY = constant(-1)


def places_for(many: int) -> int:
    """Return how many places a tree has in which so many stand; it is twice as long."""
    return 1 << max(many - 1, 0).bit_length()


@inlined
def put(tree: Tree, place: int, asked: float) -> None:
    """Put one who asks for so much at a place; the most that there is: nobody stands there."""
    node = (tree.size >> 1) + place
    tree[node] = asked
    while node > 1:
        node >>= 1
        least = min(tree[2 * node], tree[2 * node + 1])
        if tree[node] == least:
            break
        tree[node] = least


@inlined
def next_within(tree: Tree, place: int, most: float) -> int:
    """Return the first place, from this one on, at which one stands who asks for at most so much, or NOBODY."""
    places = tree.size >> 1
    if place >= places:
        return NOBODY
    node = places + place
    while True:
        if tree[node] <= most:
            if node >= places:
                return node - places
            node *= 2
        else:
            while node & 1:  # the last of its parent's, or the root
                node >>= 1
            if node == 0:
                return NOBODY
            node += 1
