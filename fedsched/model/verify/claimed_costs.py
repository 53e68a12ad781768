"""Recompute the claimed costs and the peak power of a schedule, interval by interval [65].

It shares no code with what computes the claims.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.signal import Signal
    from fedsched.model.verify.claimed_switching import Stretch

_GRAMS = {"g": 1.0, "kg": 1e3, "t": 1e6}
_HOURS = {"kWh": 1e3 * 3600, "MWh": 1e6 * 3600}


def cost_measures(
    runs: Schedule, spared: Sequence[Stretch], above: NDArray[np.float64] | None = None, t0: float | None = None
) -> dict[str, float]:
    """Return peak watts, cost and carbon of a schedule of runs from `t0` on; empty without signals and power saving.

    `spared` is what nodes that were off drew more, or less, than idle nodes. `above` is what each run makes each group
    draw above idle; it is given if jobs do not use whole nodes.
    """
    federation = runs.federation
    if not federation.signals and federation.power is None:
        return {}
    clusters = [cluster.name for cluster in federation.clusters]
    begin, end = runs.t0 if t0 is None else t0, float(runs.finish.max())
    sums = {"cost": 0.0, "carbon": 0.0}
    known = set()
    total: dict[float, float] = {}
    for k, name in enumerate(clusters):
        above = _above_idle(runs) if above is None else above
        times, watts = _watts(runs, above, [one for one in spared if one.cluster == k], k, begin, end)
        for time, change in zip(times.tolist(), np.diff(watts, prepend=0.0).tolist(), strict=True):
            total[time] = total.get(time, 0.0) + change
        for metric in sums:
            own = [one for one in federation.signals if _metric(one) == metric and one.cluster in ("", name)]
            if not own:
                continue
            known.add(metric)
            signal = next((one for one in own if one.cluster), own[0])
            value = _integrals(signal, times)
            what, energy = signal.unit.split("/")
            weight = _GRAMS[what] / 1e3 if metric == "carbon" else 1.0
            sums[metric] += float((watts[:-1] * value).sum()) / _HOURS[energy] * weight
    power = np.cumsum([total[time] for time in sorted(total)])
    return {"peak_watts": float(power[:-1].max(initial=0.0))} | {metric: sums[metric] for metric in known}


def _metric(signal: Signal) -> str:
    if "/" not in signal.unit:
        return "a cap, which costs nothing"
    return "carbon" if signal.unit.split("/")[0] in _GRAMS else "cost"


def _above_idle(runs: Schedule) -> NDArray[np.float64]:
    # Run x group: the watts by which the run's nodes exceed idle nodes.
    groups = runs.federation.groups
    drawn = np.tile(np.array([group.busy_watts for group in groups]), (len(runs), 1))
    if runs.workload.gear is not None:  # or the gear's watts (reading 77)
        gear = np.asarray(runs.workload.gear.given)
        for k in range(1, len(groups[0].gears) + 1):
            drawn[gear == k] = [group.gears[k - 1][1] for group in groups]
    if runs.workload.watts is not None:  # for jobs that state their own watts per node (reading 69)
        own = np.asarray(runs.workload.watts.given)
        drawn[own >= 0.0] = own[own >= 0.0, None]
    return np.asarray(runs.counts * (drawn - np.array([group.idle_watts for group in groups])))


def _watts(
    runs: Schedule, above: NDArray[np.float64], spared: Sequence[Stretch], k: int, begin: float, end: float
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # The times at which a cluster's power changes, and the power from then on; 0 at the end.
    groups = runs.federation.groups
    mine = [g for g, cluster in enumerate(runs.federation.group_cluster) if cluster == k]
    idle = sum(groups[g].idle_watts * groups[g].count for g in mine)
    more = above[:, mine].sum(axis=1)
    start, finish = np.maximum(runs.start, begin), np.maximum(runs.finish, np.maximum(runs.start, begin))
    start = np.concatenate([start, [one.begin for one in spared]])
    finish = np.concatenate([finish, [one.end for one in spared]])
    more = np.concatenate([more, [one.watts for one in spared]])
    times = np.union1d([begin, end], np.concatenate([start, finish]))
    change = np.bincount(np.searchsorted(times, start), more, times.size)
    change -= np.bincount(np.searchsorted(times, finish), more, times.size)
    watts = np.asarray(idle + np.cumsum(change), dtype=np.float64)
    watts[-1] = 0.0
    return times, watts


def _integrals(signal: Signal, times: NDArray[np.float64]) -> NDArray[np.float64]:
    # The signal's integral from each time to the next: the rest of a step, whole steps and periods, and part of a step.
    assert signal.until is not None
    first, steps, values = signal.times[0], np.array([*signal.times, signal.until]), np.array(signal.values)
    turn, within = np.zeros(times.size), times
    if signal.beyond == "repeat" and math.isfinite(signal.until):
        turn, within = np.divmod(times - first, signal.until - first)
        steps = steps - first
    last = values.size - 1 if signal.until == math.inf or signal.beyond != "repeat" else values.size
    before = np.append(0.0, np.cumsum((values * np.diff(steps))[:last]))
    step = np.clip(np.searchsorted(steps, within, side="right") - 1, 0, values.size - 1)
    since, then = step[:-1], step[1:]
    alike = (since == then) & (turn[1:] == turn[:-1])
    found = values[then] * (within[1:] - steps[then])
    here = ~alike
    found[here] += (np.diff(turn) * before[-1] + before[then])[here] - before[since[here] + 1]
    found[here] += (values[since] * (steps[since + 1] - within[:-1]))[here]
    return np.where(alike, values[since] * np.diff(times), found)
