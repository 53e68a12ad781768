"""Forecast when the jobs of a live Slurm queue will start, as ranges, and tell what keeps each from starting."""

from __future__ import annotations

from fedsched.site.outlook.causes import Cause, Why, why
from fedsched.site.outlook.forecast import Forecast, Outlook, forecast
from fedsched.site.outlook.habits import Habits
from fedsched.site.outlook.present import Present, present
from fedsched.site.outlook.scoring import Score, score

__all__ = [
    "Cause", "Forecast", "Habits", "Outlook", "Present", "Score", "Why", "forecast", "present", "score", "why",
]  # fmt: skip
