"""The search for plans, `optimize`, with its result; and `shifts`: what moving jobs in space and time saves."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.lazy import lazily
from fedsched.optimize.entry_point import optimize as optimize
from fedsched.optimize.result import Baseline, Front, PlannedQueue, Result, Settings

if TYPE_CHECKING:
    from fedsched.optimize.rolling import Rolling as Rolling
    from fedsched.optimize.shifting import Shift as Shift
    from fedsched.optimize.shifting import Shifts as Shifts
    from fedsched.optimize.shifting import shifts as shifts

__all__ = [
    "Baseline", "Front", "PlannedQueue", "Result", "Rolling", "Settings", "Shift", "Shifts", "optimize", "shifts",
]  # fmt: skip
__getattr__, __dir__ = lazily(
    __name__,
    {
        "Rolling": "optimize.rolling",
        "Shift": "optimize.shifting",
        "Shifts": "optimize.shifting",
        "shifts": "optimize.shifting",
    },
)
