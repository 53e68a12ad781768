"""The clock: ends as they are seen from now [0]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import inlined

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Floats


@inlined
def end_after(time: float, now: float) -> float:
    """Return an end as it is seen at `now`: one too near for the clock, or outrun, lies right after now [0, 8]."""
    return time if time > now else np.nextafter(now, np.inf)


@inlined
def first_after(lookout: Floats, time: float, low: int) -> int:
    """Return the first of ascending times after a time, none before `low` being so: it is mostly near."""
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
