"""What was sought in vain: a job as wide and as long as one that found no room before some time finds none either.

A plan only fills up as it is made. A table over widths and lengths remembers the latest such time, so that the search
for a window begins there and not at now. It is a Fenwick tree of maxima in both directions: an entry counts for all
greater keys.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, inlined, part

if TYPE_CHECKING:
    from fedsched.engine.arrays import Floats

WIDTHS = constant(48)  # keys, from one node on
LENGTHS = constant(88)  # keys, from SHORTEST on
PER_OCTAVE = 4  # keys from one power of two to the next
SHORTEST = 1.0  # s
ROOM = int(WIDTHS) * int(LENGTHS)  # entries of a table
NOWHERE = -np.inf


@inlined
def _key_below(value: float) -> int:
    # The key of the greatest bound that is at most `value`; -1 below the first.
    mantissa, exponent = math.frexp(value)
    return PER_OCTAVE * (exponent - 1) + int((mantissa - 0.5) * 2.0 * PER_OCTAVE)


@inlined
def _key_above(value: float) -> int:
    # The key of the least bound that is at least `value`, the first at the least.
    mantissa, exponent = math.frexp(value)
    part_of_octave = (mantissa - 0.5) * 2.0 * PER_OCTAVE
    whole = int(part_of_octave)
    return max(PER_OCTAVE * (exponent - 1) + whole + (1 if part_of_octave > whole else 0), 0)


@inlined
def forget(vain: Floats) -> None:
    """Forget everything, as a new plan begins."""
    for i in range(vain.size):
        vain[i] = NOWHERE


@part
def remember(vain: Floats, tasks: int, duration: float, time: float) -> None:
    """Note that a job of so many tasks, for so long, finds no room before `time`."""
    length = _key_above(duration / SHORTEST) + 1
    width = _key_above(float(tasks)) + 1
    while width <= WIDTHS:
        k = length
        while k <= LENGTHS:
            cell = (width - 1) * LENGTHS + k - 1
            vain[cell] = max(vain[cell], time)
            k += k & -k
        width += width & -width


@part
def sought_until(vain: Floats, tasks: int, duration: float) -> float:
    """Return before which time a job of so many tasks, for so long, was sought room for in vain."""
    time = NOWHERE
    length = min(_key_below(duration / SHORTEST) + 1, LENGTHS)
    width = min(_key_below(float(tasks)) + 1, WIDTHS)
    while width > 0:
        k = length
        while k > 0:
            time = max(time, vain[(width - 1) * LENGTHS + k - 1])
            k -= k & -k
        width -= width & -width
    return time
