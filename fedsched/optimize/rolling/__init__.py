"""Rolling horizon: a search that plans the waiting jobs anew while jobs arrive and end."""

from __future__ import annotations

from fedsched.optimize.rolling.policy import Rolling

__all__ = ["Rolling"]
