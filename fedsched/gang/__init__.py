"""Simulation of gang scheduling on sites in which every processor has its own queue."""

from __future__ import annotations

from fedsched.gang import presets
from fedsched.gang.replications import Interval, replicate
from fedsched.gang.run import simulate
from fedsched.gang.schedule import GangMetrics, GangSchedule
from fedsched.gang.system import GangSystem

__all__ = ["GangMetrics", "GangSchedule", "GangSystem", "Interval", "presets", "replicate", "simulate"]
