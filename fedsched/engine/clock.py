"""The clock: how a time that is not after now is read [0]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats


@inlined
def end_after(time: float, now: float) -> float:
    """Return an end as seen at `now`: if it is not later (a job outran its estimate), right after now [0, 8]."""
    return time if time > now else np.nextafter(now, np.inf)


@inlined
def first_after(lookout: Floats, time: float, low: int) -> int:
    """Return the index of the first of ascending times after `time`; no index before `low` qualifies.

    The steps from `low` on double, as the result is mostly near.
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
