"""Make signals of texts, for all clusters or for one: prices, carbon, their forecasts, and power caps (80%, 50kW)."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import FieldError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.signal import Signal

OPTION_OF = {"price": "tariff", "carbon": "carbon"}


class Told(NamedTuple):
    """The settings for reading files of signals: the jobs, the times' origin and zone, and the values after the end."""

    workload: Workload | None
    origin: str | None
    zone: str | None
    beyond: str | None

    def signals(self, files: Iterable[str], kind: str) -> list[Signal]:
        """Return the signals of a kind in files, each given as FILE or CLUSTER=FILE."""
        from fedsched.io.tables.signals import USUAL_UNITS

        told = (one.rpartition("=") for one in files)
        return [self.signal(file, USUAL_UNITS[kind], cluster) for cluster, _, file in told]

    def signal(self, file: str, unit: str, cluster: str) -> Signal:
        """Return the signal in a file, in this unit and for this cluster ("" for all)."""
        from fedsched.io.tables.signals import read_signal

        zone, beyond = self.zone or "UTC", self.beyond or "refuse"
        return read_signal(
            file, unit, workload=self.workload, origin=self.origin, zone=zone, cluster=cluster, beyond=beyond
        )


def with_forecasts(signals: list[Signal], forecasts: list[Signal]) -> list[Signal]:
    """Return the list of signals, changed in place: each forecast is added to the signal of its kind and cluster.

    Raise FieldError if there is no such signal.
    """
    for forecast in forecasts:
        place = [k for k, one in enumerate(signals) if (one.kind, one.cluster) == (forecast.kind, forecast.cluster)]
        if not place:
            option, whose = OPTION_OF[forecast.kind], f" of {forecast.cluster!r}" if forecast.cluster else ""
            raise FieldError(
                f"{{{option}_forecast}} is a forecast of a {{{option}}}{whose}, and there is none; give one."
            )
        (k,) = place
        signals[k] = replace(signals[k], forecast=replace(forecast, unit=signals[k].unit))
    return signals


NONE = "none"
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?)\s?(%|W|kW|MW|)", re.ASCII)


def cap_files(caps: tuple[str, ...]) -> tuple[str, ...]:
    """Return the paths of the files that caps name; caps that are amounts or "none" name none."""
    told = (one.rpartition("=")[2] for one in caps)
    return tuple(one for one in told if one != NONE and not _AMOUNT.fullmatch(one))


def caps_told(caps: tuple[str, ...], federation: Federation, files: Told) -> list[Signal]:
    """Return the signals of caps given as texts, in watts: amounts, percentages, or files; [] for "none".

    A percentage is of the power of all busy nodes, of one cluster or of all.
    """
    from fedsched.model.power.power_cap import most_drawn
    from fedsched.model.time.signal import Signal

    if NONE in caps:
        if len(caps) > 1:
            raise FieldError("{cap}='none' excludes other caps; leave it or them out.")
        return []
    found = []
    for one in caps:
        cluster, _, told = one.rpartition("=")
        if amount := _AMOUNT.fullmatch(told):
            value, unit = float(amount[1]), amount[2] or "W"
            if unit == "%":
                value, unit = value / 100.0 * most_drawn(federation, cluster), "W"
            found.append(Signal((0.0,), (value,), unit, cluster, beyond="repeat"))
            continue
        found.append(files.signal(told, "W", cluster))
    return found
