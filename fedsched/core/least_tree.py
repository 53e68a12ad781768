"""A minimum tree: an array of numbers at places 0, 1, …, with the least of each subtree, as a heap stores a tree.

It finds the next place with a number of at most a bound in O(log n). The number is what an entry, such as a job, asks
for.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    Tree = NDArray[np.int64] | NDArray[np.float64]  # inner nodes (as many as places, a power of two), then the places

NO_PLACE = constant(-1)


def places_for(many: int) -> int:
    """Return the places of a tree for `many` entries: the next power of two; the tree's array is twice as long."""
    return 1 << max(many - 1, 0).bit_length()


@inlined
def put(tree: Tree, place: int, asked: float) -> None:
    """Set the number of the entry at a place, and the minima above it; the largest value of the type: no entry."""
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
    """Return the first place, this one or a later one, with a number of at most `most`; -1 if there is none."""
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
