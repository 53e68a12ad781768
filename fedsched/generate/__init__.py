"""Functions that generate workloads (Lublin–Feitelson, Poisson, planted optima), or that add data to a workload.

The added data are requested times, alternative shapes, communication, feedback and gears.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.lazy import lazily
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


# It simulates, as no other generator does, so it lives above the engine; its former name here still works.
__getattr__, __dir__ = lazily(__name__, {"calibrate_bandwidth": "calibration"})
