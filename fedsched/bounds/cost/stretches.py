"""Stretches of a signal: the least cost of a stretch of given length, from which bounds on costs are made."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.time.signal import Curve

    Floats = NDArray[np.float64]

ROUNDING = 1e-9  # sums of integrals may be too high by this share
AT_ONCE = 1_000_000  # begins of stretches that are computed together


def at_least(curve: Curve, lasts: Floats) -> Floats:
    """Return a lower bound on the integral over any stretch of each length."""
    return np.asarray((1.0 - ROUNDING) * curve.values.min() * lasts)


def cheapest(curve: Curve, release: Floats, lasts: Floats, until: float = math.inf) -> Floats:
    """Return the least integral over a stretch of each length from its release on.

    Its slope changes only where the stretch begins or ends at a step. The least is therefore at such a begin, at the
    release, or at the last begin within the signal. When time is up (`until`, by `time.perf_counter`), the signal's
    least value is used instead.
    """
    signal, steps = curve.signal, curve.times
    assert signal.until is not None
    if signal.beyond == "repeat" and math.isfinite(signal.until):  # a whole period is to come, whatever the release
        length, which = np.unique(lasts, return_inverse=True)
        first = steps[0] - length
    else:
        length, which, first = lasts, np.arange(lasts.size), release
        steps = np.unique(np.append(steps, signal.until if math.isfinite(signal.until) else steps[-1]))
    found = at_least(curve, length)
    step = max(1, AT_ONCE // (2 * steps.size + 1))
    for rows in np.array_split(np.arange(length.size), max(1, math.ceil(length.size / step))):
        if time.perf_counter() >= until:
            break
        earliest, long = first[rows, None], length[rows, None]
        begins = np.concatenate([earliest, np.tile(steps, (rows.size, 1)), steps - long], axis=1)
        begins = np.maximum(begins, earliest)
        found[rows] = (curve.integral(begins + long) - curve.integral(begins)).min(axis=1)
    return np.maximum(found, 0.0)[which]
