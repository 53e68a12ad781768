"""Metrics that are integrals over time: summed up during a run, then copied into the metric row."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray


class Wasted(NamedTuple):
    """Resources of lost runs: node-seconds of each group, and the last end; empty if no run was lost.

    `more` is the energy, in joules, above the groups' busy watts, for jobs that state their own watts.
    """

    seconds: NDArray[np.float64]
    until: float
    more: float = 0.0


NOTHING_WASTED = Wasted(np.zeros(0), -np.inf)


class Eligible(NamedTuple):
    """The time from which each job might start; empty if it is the submit time for all jobs."""

    since: NDArray[np.float64]


class Integrals(NamedTuple):
    """The integrals of a run, by metric name and in the order of their columns; NaN = not known.

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
