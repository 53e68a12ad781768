"""A minimum tree over the places of a row: it finds the next entry that asks for at most a bound, in O(log n)."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Tree = NDArray[np.int64] | NDArray[np.float64]  # inner nodes (as many as places, a power of two), then the places

NO_PLACE = constant(-1)


def places_for(many: int) -> int:
    """Return the number of places of a tree for `many` entries; its array is twice as long."""
    return 1 << max(many - 1, 0).bit_length()


@inlined
def put(tree: Tree, place: int, asked: float) -> None:
    """Set what the entry at a place asks for; the largest value of the type marks an empty place."""
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
    """Return the first place, from this one on, with an entry that asks for at most `most`; -1 if there is none."""
    places = tree.size >> 1
    if place >= places:
        return NO_PLACE
    node = places + place
    while True:
        if tree[node] <= most:
            if node >= places:
                return node - places
            node *= 2
        else:
            while node & 1:  # a right child, or the root
                node >>= 1
            if node == 0:
                return NO_PLACE
            node += 1
