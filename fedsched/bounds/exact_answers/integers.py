"""Seconds and joules as whole numbers, for a solver that takes no others, with bounds that stay valid."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.bounds.lower.relaxation import Floats, Ints

UNITS = (1.0, 60.0, 0.1, 0.5, 0.01, 1 / 3, 1 / 60, 0.001)  # seconds: tried as common divisors of all times
NEAR = 1e-9
STEPS = 1 << 21  # of a schedule with times that have no common unit


@dataclass(frozen=True, slots=True)
class TimeUnit:
    """A unit of time: times become whole multiples of `seconds`, rounded down.

    Rounding down starts and durations keeps a schedule feasible (⌊s⌋ + ⌊d⌋ <= ⌊s + d⌋), so the best schedule in whole
    units is no longer than the best in true times. `slack` is the share by which a multiple may exceed its time, if
    that time is a multiple up to rounding.
    """

    seconds: float
    exact: bool
    slack: float

    def down(self, times: Floats) -> Ints:
        """Return the times in whole units."""
        return np.floor(np.asarray(times) / self.seconds * (1 + NEAR)).astype(np.int64)

    def truth(self, units: float) -> float:
        """Return the seconds of this many units, or slightly less."""
        return units * self.seconds * (1 - self.slack)


def time_unit(times: Sequence[Floats], scale: float) -> TimeUnit:
    """Return a unit of which all times are multiples, or else 2^−21 of `scale` seconds."""
    values = np.unique(np.concatenate([np.ravel(part) for part in times]))
    values = values[values > 0]

    def slack(unit: float) -> float:
        whole = np.floor(values / unit * (1 + NEAR)) * unit
        return float(np.max(whole / values - 1.0, initial=0.0)) + 2**-52

    for unit in UNITS:
        ratio = values / unit
        if (abs(ratio - np.round(ratio)) <= NEAR * ratio / 4).all() and scale / unit < STEPS:
            return TimeUnit(unit, True, slack(unit))
    unit = scale / STEPS
    return TimeUnit(unit, False, slack(unit))
