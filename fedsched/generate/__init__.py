"""Made workloads: Lublin–Feitelson, Poisson, and planted optima; requested times and communication for any."""

from __future__ import annotations

from fedsched.generate.communication import calibrate_bandwidth, communication
from fedsched.generate.estimates import estimates, tsafrir_estimates
from fedsched.generate.lublin import lublin
from fedsched.generate.planted import planted
from fedsched.generate.poisson import poisson

__all__ = [
    "calibrate_bandwidth",
    "communication",
    "estimates",
    "lublin",
    "planted",
    "poisson",
    "tsafrir_estimates",
]
