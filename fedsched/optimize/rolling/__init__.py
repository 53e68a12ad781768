"""Rolling horizon: a search that plans anew, while jobs arrive and end, what waits at the moment."""

from __future__ import annotations

from fedsched.optimize.rolling.policy import Rolling

__all__ = ["Rolling"]
