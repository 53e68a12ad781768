"""Lower bounds on all schedules, which prove how good a schedule is, and optimal schedules of small problems."""

from fedsched.bounds.exact_answers.exact import ExactAnswer, ExactFront, exact, exact_front
from fedsched.bounds.lower.lower_bounds import LowerBounds, lower_bounds

__all__ = ["ExactAnswer", "ExactFront", "LowerBounds", "exact", "exact_front", "lower_bounds"]
