"""Metrics that are integrals over time: a run adds them up as it goes, and they are carried whole to their columns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Wasted(NamedTuple):
    """What runs held that came to nothing: node-seconds of each group, and until when; of no size where none did.

    `more` joules than the groups' busy watts make of these are of jobs that say what they draw.
    """

    seconds: NDArray[np.float64]
    until: float
    more: float = 0.0


NOTHING_WASTED = Wasted(np.zeros(0), -np.inf)


class Eligible(NamedTuple):
    """Since when jobs might start, a time each; of no size where all might from their submits on."""

    since: NDArray[np.float64]


class Integrals(NamedTuple):
    """What was added up over a run, by the metrics' names and in the order of their columns; NaN = not known."""

    saturated_seconds: float = math.nan
    loss_of_capacity: float = math.nan
    wasted_node_seconds: float = math.nan
    requeues: float = math.nan


NOT_KNOWN = Integrals()
