"""Check that each start kept the planned power under the federation's caps [70].

It shares no code with the engine. The effect of uplinks on planned ends is not replayed: each job is assumed to be
planned without contention, so every violation found is real, but some may be missed.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.verify.lost_nodes_check import whose

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.signal import Signal
    from fedsched.model.verify.lost_nodes_check import Runs

    Floats = NDArray[np.float64]

_SIZES = {"W": 1.0, "kW": 1e3, "MW": 1e6}


def broken_caps(runs: Runs, schedule: Schedule) -> Iterator[str]:
    """Yield an error for each start at which the planned power exceeded a cap."""
    caps = [signal for signal in schedule.federation.signals if signal.unit in _SIZES]
    if not caps or not len(runs.all):
        return
    start, finish = runs.all.start, runs.all.finish
    end = _planned_ends(runs.all)
    for signal in caps:
        needs, idle = _needs(runs.all, signal.cluster)
        for time in np.unique(start[start >= runs.all.t0]).tolist():
            there = (start <= time) & (finish > time)
            new = there & (start == time)
            if not needs[new].any():
                continue
            moments = [time]
            if schedule.federation.cap == "run" and end is not None:
                # Planned sums only fall from here on, so a repeating cap is broken in its first period or never.
                period = signal.until - signal.times[0] if signal.beyond == "repeat" and signal.until else math.inf
                moments += _steps(signal, time, min(float(end[new].max(initial=time)), time + period))
            for moment in moments:
                then = there if moment == time else there & (end > moment)
                if moment > time and not (needs[new & then] > 0).any():
                    continue
                most = round(1000.0 * (_value(signal, moment) * _SIZES[signal.unit]))
                if idle + int(needs[then].sum()) > most:
                    last = int(np.flatnonzero(new)[-1])
                    planned = f"{(idle + needs[then].sum()) / 1000:g} W are planned at {moment:.9g}"
                    cap = f"{signal.where[0].lower()}{signal.where[1:]} is {most / 1000:g} W"
                    yield f"{whose(schedule, runs.job[last])}: as it starts at {time:.9g}, {planned}, and {cap}."
                    break


def _planned_ends(runs: Schedule) -> Floats | None:
    # None if it is not recorded what plans knew of run times.
    knowledge = runs.reading.knowledge
    if knowledge is None:
        return None
    workload = runs.workload
    known = workload.estimate if knowledge == "estimate" else workload.runtime
    if knowledge != "estimate" and runs.kill_at_estimate:
        known = np.minimum(known, workload.estimate)
    slow = np.array([1.0 / group.speed for group in runs.federation.groups])
    processing = np.where(runs.counts > 0, slow, 0.0).max(axis=1)
    sigma = workload.compute_fraction
    end = runs.start + known * (sigma * processing + (1.0 - sigma))
    return np.asarray(np.maximum(end, np.nextafter(runs.start, np.inf)))


def _needs(runs: Schedule, cluster: str) -> tuple[NDArray[np.int64], int]:
    # The milliwatts of each run as planned, above idle nodes, and the milliwatts of all nodes when idle.
    federation, total = runs.federation, 0
    found = np.zeros(len(runs), dtype=np.int64)
    own = None if runs.workload.watts is None else np.asarray(runs.workload.watts.given)
    gear = np.zeros(len(runs), dtype=np.int64) if runs.workload.gear is None else np.asarray(runs.workload.gear.given)
    for g, (group, k) in enumerate(zip(federation.groups, federation.group_cluster, strict=True)):
        if cluster not in ("", federation.clusters[k].name):
            continue
        idle = round(1000.0 * group.idle_watts)
        total += idle * group.count
        drawn = np.array([group.busy_watts, *(watts for _, watts in group.gears)])[gear]
        if own is not None:
            drawn = np.where(own < 0.0, drawn, own)
        found += runs.counts[:, g] * np.maximum(np.rint(1000.0 * drawn).astype(np.int64) - idle, 0)
    return found, total


def _steps(signal: Signal, begin: float, end: float) -> list[float]:
    assert signal.until is not None
    if signal.beyond != "repeat" or math.isinf(signal.until):
        return [time for time in signal.times if begin < time < end]
    period, found = signal.until - signal.times[0], []
    for time in signal.times:
        n = math.floor((begin - time) / period) - 1
        while time + n * period < end:
            found += [time + n * period] * (time + n * period > begin)
            n += 1
    return sorted(found)


def _value(signal: Signal, moment: float) -> float:
    # The value of the last step that has begun by then, in any period.
    assert signal.until is not None
    turns = [0]
    if signal.beyond == "repeat" and math.isfinite(signal.until):
        period = signal.until - signal.times[0]
        turns = [math.floor((moment - signal.times[0]) / period) + n for n in (-1, 0, 1)]
    period = signal.until - signal.times[0] if len(turns) > 1 else 0.0
    begun = [
        (time + n * period, value)
        for n in turns
        for time, value in zip(signal.times, signal.values, strict=True)
        if time + n * period <= moment
    ]
    return max(begun)[1] if begun else math.inf
