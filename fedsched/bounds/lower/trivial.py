"""Which bounds say anything: that no job waits less than nothing is no news."""

from __future__ import annotations

# What every schedule meets by the metric's own definition; 0 for those not named.
LEAST = {"mean_slowdown": 1.0, "bounded_slowdown": 1.0, "weighted_slowdown": 1.0}


def is_telling(metric: str, bound: float) -> bool:
    """Return whether a bound is above what every schedule meets by definition; of one that is unknown, False."""
    return bound > LEAST.get(metric, 0.0)
