"""Exact numbers of instances, the same on every machine: decimals as text, and random whole numbers.

`Draws` has the random numbers of `fedsched.core.random` as whole numbers.
"""

from __future__ import annotations

from fractions import Fraction
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

Number = int | str
Item = TypeVar("Item")

ALL_BITS = (1 << 64) - 1
STEP = 0x9E3779B97F4A7C15


def decimal(value: float | str | Fraction) -> Number:
    """Return a number as an exact decimal: an int if it is whole, else a text; "inf" for infinity.

    A float becomes the shortest decimal that is read as it. Raise ValueError for a fraction that is no finite
    decimal, or one below 0.
    """
    if not isinstance(value, Fraction):
        if str(value) == "inf":
            return "inf"
        value = Fraction(repr(value) if isinstance(value, float) else value)
    whole, rest = divmod(value, 1)
    if not rest:
        return int(whole)
    if value < 0:
        raise ValueError(f"{value}: a number of an instance must be at least 0.")
    digits, places = rest.numerator, 0
    power = 1
    while power % rest.denominator:
        places += 1
        power *= 10
        if places > 30:
            raise ValueError(f"{value} must be a finite decimal.")
    return f"{int(whole)}.{digits * (power // rest.denominator):0{places}d}"


def mixed(z: int) -> int:
    """Return splitmix64's 64-bit hash of a whole number."""
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 & ALL_BITS
    z = (z ^ (z >> 27)) * 0x94D049BB133111EB & ALL_BITS
    return z ^ (z >> 31)


class Draws:
    """A stream of random whole numbers, determined by a seed, a generation and an index."""

    def __init__(self, seed: int, generation: int = 0, index: int = 0) -> None:
        z = mixed((seed + STEP) & ALL_BITS)
        z = mixed(((z ^ generation) + STEP) & ALL_BITS)
        self._counter = mixed(((z ^ index) + STEP) & ALL_BITS)

    def bits(self) -> int:
        """Return the next 53 random bits as a whole number."""
        self._counter = (self._counter + STEP) & ALL_BITS
        return mixed(self._counter) >> 11

    def below(self, bound: int) -> int:
        """Return a random whole number from 0 to `bound` − 1."""
        return self.bits() * bound >> 53

    def between(self, least: int, greatest: int) -> int:
        """Return a random whole number from `least` to `greatest`, both included."""
        return least + self.below(greatest - least + 1)

    def one_of(self, items: Sequence[Item]) -> Item:
        """Return one of the items at random."""
        return items[self.below(len(items))]

    def shuffled(self, items: Sequence[Item]) -> list[Item]:
        """Return the items in random order, as a new list."""
        left = list(items)
        for last in range(len(left) - 1, 0, -1):
            other = self.below(last + 1)
            left[last], left[other] = left[other], left[last]
        return left
