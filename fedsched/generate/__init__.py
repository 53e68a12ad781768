"""Made workloads: Lublin–Feitelson, Poisson, and planted optima; requested times and communication for any."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

from fedsched.generate.alternatives import alternatives
from fedsched.generate.communication import communication
from fedsched.generate.estimates import estimates, tsafrir_estimates
from fedsched.generate.feedback import Sessions, feedback
from fedsched.generate.gears import geared, gears
from fedsched.generate.lublin import lublin
from fedsched.generate.planted import planted
from fedsched.generate.poisson import poisson

if TYPE_CHECKING:
    from fedsched.calibration import calibrate_bandwidth as calibrate_bandwidth

__all__ = [
    "Sessions",
    "alternatives",
    "calibrate_bandwidth",
    "communication",
    "estimates",
    "feedback",
    "geared",
    "gears",
    "lublin",
    "planted",
    "poisson",
    "tsafrir_estimates",
]


def __getattr__(name: str) -> object:
    # It simulates, which generators else do not: it stands above the engine, and is called by the name of before.
    if name == "calibrate_bandwidth":
        return import_module("fedsched.calibration").calibrate_bandwidth
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
