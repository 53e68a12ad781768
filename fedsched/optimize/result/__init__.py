"""What a search found: the record, how it prints, and its files."""

from fedsched.optimize.result.record import Baseline, Front, PlannedQueue, Result, Settings

__all__ = ["Baseline", "Front", "PlannedQueue", "Result", "Settings"]
