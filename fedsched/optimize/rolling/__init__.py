"""Rolling horizon: a policy that searches for a new plan of the waiting jobs while jobs arrive and end."""

from __future__ import annotations

from fedsched.optimize.rolling.policy import Rolling

__all__ = ["Rolling"]
