"""Power caps given as texts: 80%, 50kW or a file of steps, for all clusters or for one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from fedsched.core.errors import FieldError

if TYPE_CHECKING:
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.signal import Signal
    from fedsched.study.scenario.signals import Told

NONE = "none"
_AMOUNT = re.compile(r"(\d+(?:\.\d*)?)\s?(%|W|kW|MW|)", re.ASCII)


def cap_files(caps: tuple[str, ...]) -> tuple[str, ...]:
    """Return the files that caps name."""
    told = (one.rpartition("=")[2] for one in caps)
    return tuple(one for one in told if one != NONE and not _AMOUNT.fullmatch(one))


def caps_told(caps: tuple[str, ...], federation: Federation, files: Told) -> list[Signal]:
    """Return the caps given as texts; a percentage is of the power of all busy nodes, of one cluster or of all."""
    from fedsched.model.power.power_cap import most_drawn
    from fedsched.model.time.signal import Signal

    if NONE in caps:
        if len(caps) > 1:
            raise FieldError("{cap}='none' does not go with others; leave it or them out.")
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
