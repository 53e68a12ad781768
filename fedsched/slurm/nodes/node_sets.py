"""Sets of nodes as 64-bit words, one bit per node: sizes, next members, intersections, and runs of nodes.

No operation here may overflow: uncompiled, numpy would warn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.slurm.loop.structs import Words

BITS = 64
_0, _1, _2, _4, _8, _16, _32 = (np.uint64(k) for k in (0, 1, 2, 4, 8, 16, 32))
_PAIRS, _FOURS, _EIGHTS = (np.uint64(k) for k in (0x5555555555555555, 0x3333333333333333, 0x0F0F0F0F0F0F0F0F))
_LAST, _ALL = np.uint64(0x7F), np.uint64(2**64 - 1)


@inlined
def ones(word: np.uint64) -> int:
    """Return how many bits of a 64-bit word are set."""
    word = word - ((word >> _1) & _PAIRS)
    word = (word & _FOURS) + ((word >> _2) & _FOURS)
    word = (word + (word >> _4)) & _EIGHTS
    word = word + (word >> _8)
    word = word + (word >> _16)
    word = word + (word >> _32)
    return np.int64(word & _LAST)  # type: ignore[return-value]


@inlined
def count(nodes: Words) -> int:
    """Return how many nodes are in a set of nodes."""
    total = 0
    for k in range(nodes.size):
        total += ones(nodes[k])
    return total


@inlined
def meet(one: Words, other: Words) -> bool:
    """Return whether two sets of nodes have a node in common."""
    for k in range(one.size):
        both = one[k] & other[k]
        if both != _0:
            return True
    return False


@inlined
def lowest(word: np.uint64) -> int:
    """Return the place, from 0 on, of the lowest set bit of a word that is not 0."""
    return ones(~word & (word - _1))


@inlined
def next_in(nodes: Words, first: int) -> int:
    """Return the first node from `first` on that is in a set; a number beyond all nodes if there is none."""
    k = first // BITS
    if k >= nodes.size:
        return nodes.size * BITS
    word = (nodes[k] >> np.uint64(first % BITS)) << np.uint64(first % BITS)
    while word == _0:
        k += 1
        if k == nodes.size:
            return nodes.size * BITS
        word = nodes[k]
    return k * BITS + lowest(word)


@inlined
def next_out(nodes: Words, first: int) -> int:
    """Return the first node from `first` on that is not in a set; a number beyond all nodes if there is none."""
    k = first // BITS
    if k >= nodes.size:
        return nodes.size * BITS
    word = (~nodes[k] >> np.uint64(first % BITS)) << np.uint64(first % BITS)
    while word == _0:
        k += 1
        if k == nodes.size:
            return nodes.size * BITS
        word = ~nodes[k]
    return k * BITS + lowest(word)


@inlined
def add(nodes: Words, first: int, after: int) -> None:
    """Add the nodes `first` to `after` − 1 to a set, in place."""
    for k in range(first // BITS, -(-after // BITS)):
        nodes[k] |= _between(first - k * BITS, after - k * BITS)


@inlined
def drop(nodes: Words, first: int, after: int) -> None:
    """Remove the nodes `first` to `after` − 1 from a set, in place."""
    for k in range(first // BITS, -(-after // BITS)):
        nodes[k] &= ~_between(first - k * BITS, after - k * BITS)


@inlined
def _between(first: int, after: int) -> np.uint64:
    # A word with the bits from `first` to before `after` set; at least one of them is within the word.
    return (_ALL << np.uint64(max(first, 0))) & (_ALL >> np.uint64(BITS - min(after, BITS)))


def words_of(members: NDArray[np.bool_]) -> Words:
    """Return a boolean table, sets × nodes, packed into 64-bit words: sets × words, one bit per node."""
    many = -(-members.shape[1] // 64)
    wide = np.zeros((len(members), 64 * many), dtype=np.bool_)
    wide[:, : members.shape[1]] = members
    packed = np.packbits(wide, axis=1, bitorder="little")
    return np.ascontiguousarray(packed).view("<u8").astype(np.uint64).reshape(len(members), many)
