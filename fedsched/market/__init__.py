"""The slot market of Toporkov et al. (docs: the market): jobs buy windows of node slots that begin together."""

from __future__ import annotations

from fedsched.market.assignment import Assignment
from fedsched.market.combination import Combination, choose
from fedsched.market.environment import Environment
from fedsched.market.files import MarketFileError, read_market, write_windows
from fedsched.market.flow import Flow, FlowCycles, FlowTotals, schedule_flow
from fedsched.market.generator import Domain, Jobs, Pricing
from fedsched.market.methods import METHODS, Backfilling, Bsf, Slicer, schedule
from fedsched.market.metrics import Owners, Totals, Users
from fedsched.market.replay import Replay, replay
from fedsched.market.requests import Request, requests_of
from fedsched.market.slots import Slots, Timetable
from fedsched.market.study import STRATEGIES, Cycles, Searches, Strategy, cycles_of, flows_of, searches_of
from fedsched.market.tariff import Demand, Hours, Tariff
from fedsched.market.windows import Window, best_of, find_window, find_windows

__all__ = [
    "METHODS",
    "STRATEGIES",
    "Assignment",
    "Backfilling",
    "Bsf",
    "Combination",
    "Cycles",
    "Demand",
    "Domain",
    "Environment",
    "Flow",
    "FlowCycles",
    "FlowTotals",
    "Hours",
    "Jobs",
    "MarketFileError",
    "Owners",
    "Pricing",
    "Replay",
    "Request",
    "Searches",
    "Slicer",
    "Slots",
    "Strategy",
    "Tariff",
    "Timetable",
    "Totals",
    "Users",
    "Window",
    "best_of",
    "choose",
    "cycles_of",
    "find_window",
    "find_windows",
    "flows_of",
    "read_market",
    "replay",
    "requests_of",
    "schedule",
    "schedule_flow",
    "searches_of",
    "write_windows",
]
