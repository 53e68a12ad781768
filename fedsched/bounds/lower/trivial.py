"""Which bounds are useful: that a job waits at least 0 s is trivial."""

from __future__ import annotations

# What every schedule meets by the metric's own definition; 0 for the others.
LEAST = {"mean_slowdown": 1.0, "bounded_slowdown": 1.0, "weighted_slowdown": 1.0}


def is_telling(metric: str, bound: float) -> bool:
    """Return whether a bound exceeds what every schedule meets by definition; False if it is unknown."""
    return bound > LEAST.get(metric, 0.0)
