"""Metrics that are integrals over time: a run adds them up as it goes, and they are carried whole to their columns."""

from __future__ import annotations

import math
from typing import NamedTuple


class Integrals(NamedTuple):
    """What was added up over a run, by the metrics' names and in the order of their columns; NaN = not known."""

    saturated_seconds: float = math.nan
    loss_of_capacity: float = math.nan


NOT_KNOWN = Integrals()
