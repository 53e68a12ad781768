"""Metrics that a simulation sums up over time while it runs, and other inputs of the metric kernel."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Wasted(NamedTuple):
    """What runs that lost their nodes used: `seconds` (node-seconds by group) until the last of their ends (`until`).

    `seconds` is empty, or all 0, if no run was lost. `more` is their energy above the groups' busy watts, in joules.
    """

    seconds: NDArray[np.float64]
    until: float
    more: float = 0.0


NOTHING_WASTED = Wasted(np.zeros(0), -np.inf)


class Eligible(NamedTuple):
    """The time in seconds from which each job might start; empty if that is the submit time of all jobs."""

    since: NDArray[np.float64]


class Integrals(NamedTuple):
    """Metrics that are summed up during a simulation, in the order of the metric row; NaN = not known.

    Examples
    --------
    >>> fs.simulate(fs.read("sample").head(50), fs.read_federation("example")).integrals.requeues
    0.0
    """

    saturated_seconds: float = math.nan
    loss_of_capacity: float = math.nan
    wasted_node_seconds: float = math.nan
    requeues: float = math.nan


NOT_KNOWN = Integrals()
