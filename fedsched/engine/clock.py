"""Two functions on simulated time: one keeps an end later than now [0], the other searches ascending times."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats


@inlined
def end_after(time: float, now: float) -> float:
    """Return `time` if it is after `now`; else (a job outran its estimate) the next float after `now` [0, 8]."""
    return time if time > now else np.nextafter(now, np.inf)


@inlined
def first_after(lookout: Floats, time: float, low: int) -> int:
    """Return the index of the first entry of `lookout` (ascending) after `time`, at `low` at the earliest.

    It is `lookout.size` if there is no such entry. The search steps from `low` by 1, 2, 4, …: the result is mostly
    near.
    """
    step = 1
    while low + step <= lookout.size and lookout[low + step - 1] <= time:
        low += step
        step *= 2
    high = min(low + step - 1, lookout.size)
    while low < high:
        middle = (low + high) >> 1
        if lookout[middle] <= time:
            low = middle + 1
        else:
            high = middle
    return low
