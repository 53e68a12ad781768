"""Lower bounds that prove how good a schedule is, and exact answers for small problems."""

from fedsched.bounds.lower import LowerBounds, lower_bounds

__all__ = ["LowerBounds", "lower_bounds"]
