"""Power caps: upper limits on the power that a cluster or the federation draws [70].

Both what a cap leaves above the power of idle nodes, and what jobs are planned to draw above it, are in milliwatts.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.core.errors import FederationError, shortened
from fedsched.model.power.switching import Reserve, is_switching, watts_off
from fedsched.model.power.watts import drawn_watts, watts_of
from fedsched.model.time.signal import CAP, WATTS, Curve, drawn_over

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.signal import Signal

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

RUN, NOW = "run", "now"  # when a job must fit under the cap: during its planned run, or at its start only
CAP_RULES = (RUN, NOW)
MOST = 2.0**53  # milliwatts


class PowerCap(NamedTuple):
    """A power cap: its signal, which groups it limits (`covers`), and what it leaves above their idle power (`left`).

    `left` has milliwatts from each of the signal's times on; below 0 if the cap is below the idle power.
    """

    signal: Signal
    covers: NDArray[np.bool_]
    left: Ints

    @property
    def period(self) -> float:
        """Return the seconds after which the cap repeats; infinite if it does not."""
        signal = self.signal
        again = signal.beyond == "repeat" and signal.until is not None and math.isfinite(signal.until)
        return signal.until - signal.times[0] if again else math.inf  # type: ignore[operator]


def milliwatts(watts: float | Floats) -> Ints:
    """Return watts as whole milliwatts, rounded, and at most 2**53."""
    return np.rint(np.minimum(1000.0 * np.asarray(watts, dtype=np.float64), MOST)).astype(np.int64)


def is_capped(federation: Federation) -> bool:
    """Return whether the federation, or one of its clusters, has a power cap."""
    return any(signal.kind == CAP for signal in federation.signals)


def without_caps(federation: Federation) -> Federation:
    """Return the federation without its power caps; other signals stay."""
    return replace(federation, signals=tuple(one for one in federation.signals if one.kind != CAP))


def with_caps_only(federation: Federation) -> Federation:
    """Return the federation with its power caps as the only signals: without prices and carbon."""
    return replace(federation, signals=tuple(one for one in federation.signals if one.kind == CAP))


def check_cap_rule(name: str, looks: object) -> None:
    """Raise if `looks`, the field `cap` of the federation `name`, is neither "run" nor "now"."""
    if looks not in CAP_RULES:
        raise FederationError(f"Federation {name!r}: cap={shortened(repr(looks))} is none of {', '.join(CAP_RULES)}.")


def caps_of(federation: Federation) -> list[PowerCap]:
    """Return the federation's power caps, one per signal of this kind."""
    groups, of_cluster = federation.groups, federation.group_cluster
    idle = milliwatts(np.array([group.idle_watts for group in groups])) * [group.count for group in groups]
    if isinstance(federation.power, Reserve):  # all nodes of the reserve may boot at the same time
        idle += _boot_needs(federation) * [min(federation.power.nodes, group.count) for group in groups]
    found = []
    for signal in federation.signals:
        if signal.kind == CAP:
            name = signal.cluster
            covers = np.array([not name or federation.clusters[k].name == name for k in of_cluster])
            left = milliwatts(np.array(signal.values) * WATTS[signal.unit]) - idle[covers].sum()
            found.append(PowerCap(signal, covers, left))
    return found


def planned_needs(workload: Workload, federation: Federation) -> Ints:
    """Return jobs × groups: the milliwatts above its idle power that a node is planned to draw for the job.

    That is while the job runs, or while the node boots for it, whichever is more; 0 if that is less than idle.
    """
    groups = federation.groups
    drawn = drawn_watts(watts_of(workload, groups), groups, np.arange(len(workload)))
    idle = milliwatts(np.array([group.idle_watts for group in groups]))
    needs = np.maximum(milliwatts(drawn) - idle, 0)
    return np.asarray(np.maximum(needs, _boot_needs(federation)) if is_switching(federation.power) else needs)


def _boot_needs(federation: Federation) -> Ints:
    # The milliwatts above its idle power that a node of each group draws while it boots; 0 if that is less.
    watts = np.array([(watts_off(group)[1], group.idle_watts) for group in federation.groups])
    booting, idle = milliwatts(watts).T
    return np.asarray(np.maximum(booting - idle, 0))


def cap_over_time(federation: Federation, begin: float, end: float) -> tuple[Floats, Floats]:
    """Return times from `begin` to before `end`, and the watts that the federation may draw from each time on.

    The watts follow all power caps; a cluster without its own cap counts with the watts of all its nodes busy. Both
    arrays are empty if there is no cap. If there are too many steps for a picture, values are means over equal parts.
    """
    caps = [signal for signal in federation.signals if signal.kind == CAP]
    if not caps:
        return np.zeros(0), np.zeros(0)
    names = [cluster.name for cluster in federation.clusters]
    most = {name: most_drawn(federation, name) for name in ("", *names)}
    watts = {cap.cluster: np.minimum(np.array(cap.values) * WATTS[cap.unit], most[cap.cluster]) for cap in caps}
    curves = [Curve(replace(cap, unit="W", values=tuple(watts[cap.cluster].tolist()))) for cap in caps]
    times, values = drawn_over(curves, begin, end)
    drawn = {name: np.full(times.size, most[name]) for name in most} | dict(zip(watts, values, strict=True))
    return times, np.minimum(drawn[""], np.add.reduce([drawn[name] for name in names]))


def most_drawn(federation: Federation, cluster: str = "") -> float:
    """Return the watts that a cluster (by default, all clusters together) draws if all nodes are busy."""
    chosen = [one for one in federation.clusters if cluster in ("", one.name)]
    return float(sum(group.count * group.busy_watts for one in chosen for group in one.groups))
