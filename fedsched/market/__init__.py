"""Slot windows and the economic metascheduler of Toporkov et al. (docs/market.md): AMP, ALP, AEP, CSS, slicer, BSF."""

from __future__ import annotations

from fedsched.market.environment import Environment
from fedsched.market.generator import Domain, Jobs, Pricing
from fedsched.market.requests import Request, requests_of
from fedsched.market.slots import Slots, Timetable
from fedsched.market.windows import Window, best_of, find_window, find_windows

__all__ = [
    "Domain",
    "Environment",
    "Jobs",
    "Pricing",
    "Request",
    "Slots",
    "Timetable",
    "Window",
    "best_of",
    "find_window",
    "find_windows",
    "requests_of",
]
