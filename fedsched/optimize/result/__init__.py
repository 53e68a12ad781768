"""Results of a search: the record, its printed forms, and its files."""

from fedsched.optimize.result.record import Baseline, Front, PlannedQueue, Result, Settings

__all__ = ["Baseline", "Front", "PlannedQueue", "Result", "Settings"]
