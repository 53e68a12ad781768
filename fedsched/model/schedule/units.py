"""The units in which values are shown, the same in tables, pages and pictures."""

from __future__ import annotations

from fedsched.model.schedule.metrics import METRICS

# Unit -> (name, size, least value for which it is used), the largest first.
SCALES = {
    "s": (("d", 86400.0, 259200.0), ("h", 3600.0, 7200.0), ("min", 60.0, 120.0), ("s", 1.0, 0.0)),
    "J": (("GWh", 3.6e12, 3.6e12), ("MWh", 3.6e9, 3.6e9), ("kWh", 3.6e6, 3.6e6), ("Wh", 3600.0, 3600.0),
          ("J", 1.0, 0.0)),
    "W": (("MW", 1e6, 2e6), ("kW", 1e3, 2e3), ("W", 1.0, 0.0)),
}  # fmt: skip
UNITS = {metric.name: metric.unit for metric in METRICS}
SHARES = ("utilisation", "loss_of_capacity")


def scaled(unit: str, most: float) -> tuple[str, float]:
    """Return the name and size of the unit in which to show values up to `most`."""
    return next((name, size) for name, size, least in SCALES[unit] if abs(most) >= least)


def scale_of(name: str, most: float) -> tuple[str, float]:
    """Return the name and size of the unit in which to show a metric's values up to `most`."""
    if name in SHARES:
        return "%", 0.01
    unit = UNITS.get(name, "")
    return scaled(unit, most) if unit in SCALES else (unit, 1.0)
