"""Stretches of a signal, and what the cheapest one of a length costs: of that, bounds on costs are made."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.time.signal import Curve

    Floats = NDArray[np.float64]

ROUNDING = 1e-9  # sums of integrals are by less than this share too high
AT_ONCE = 1_000_000  # begins of stretches that are looked at together


def at_least(curve: Curve, lasts: Floats) -> Floats:
    """Return what no integral over a stretch of each length is below."""
    return np.asarray((1.0 - ROUNDING) * curve.values.min() * lasts)


def cheapest(curve: Curve, release: Floats, lasts: Floats, until: float = math.inf) -> Floats:
    """Return the least integral over a stretch of each length from its release on.

    It changes its slope only where the stretch begins or ends at a step, so the least is at one of these, at the
    release, or as late as the signal reaches. For whom there is no time (`until`, by `time.perf_counter`), all is as
    cheap as anything ever is.
    """
    signal, steps = curve.signal, curve.times
    assert signal.until is not None
    if signal.beyond == "repeat" and math.isfinite(signal.until):  # all of a period is to come, whatever the release
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
