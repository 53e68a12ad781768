"""A plan's exact sums by cluster, over all jobs, even if the page draws only some of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.power.watts import extra_joules, extra_watts, watts_of
from fedsched.model.schedule.lost import finished_runs
from fedsched.model.schedule.power_draw import drawn_off
from fedsched.plot.gantt import link_load, steps_of
from fedsched.plot.shading import in_parts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.schedule.power_draw import Draws
    from fedsched.model.schedule.schedule import Schedule

ROUNDING = 1e-9  # relative excess of a load over its uplink that counts as rounding


def sums_of(schedule: Schedule) -> dict[str, object]:
    """Return the makespan, the peak watts, and for each cluster node-seconds, joules, peak watts and uplink load."""
    groups = schedule.federation.groups
    until = schedule.makespan
    runs, off = finished_runs(schedule), drawn_off(schedule)
    seconds = (runs.end - np.maximum(runs.start, schedule.t0)) @ runs.counts
    beyond = extra_joules(watts_of(schedule.workload, groups), groups, runs, schedule.t0)
    clusters = []
    for k, cluster in enumerate(schedule.federation.clusters):
        here = [g for g, of in enumerate(schedule.federation.group_cluster) if of == k]
        busy = sum(seconds[g] * groups[g].busy_watts + beyond[g] for g in here)
        idle = sum((until * groups[g].count - seconds[g]) * groups[g].idle_watts for g in here)
        idle += float((off.watts * (off.end - off.begin))[off.cluster == k].sum())
        most, above = 0.0, 0.0
        if np.isfinite(cluster.uplink):
            times, load = link_load(schedule, k, 1.0)
            most = float(load.max(initial=0.0))
            above = float(np.diff(times)[load[:-1] > cluster.uplink * (1 + ROUNDING)].sum())
        clusters.append(
            {
                "busySeconds": float(sum(seconds[g] for g in here)),
                "busyEnergy": float(busy),
                "idleEnergy": float(idle),
                "peak": _most(power_of(schedule, here, off)[1]) + idle_watts(schedule, here),
                "peakLoad": most,
                "secondsAbove": above,
            }
        )
    everywhere = list(range(len(groups)))
    peak = _most(power_of(schedule, everywhere, off)[1]) + idle_watts(schedule, everywhere)
    return {"until": until, "peak": peak, "clusters": clusters}


def idle_watts(schedule: Schedule, groups: list[int]) -> float:
    """Return the watts of these node groups if no job runs."""
    return float(sum(schedule.federation.groups[g].idle_watts * schedule.federation.groups[g].count for g in groups))


def power_of(schedule: Schedule, groups: list[int], off: Draws) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Return instants since t0 and the watts above idle from each on, for node groups that make up whole clusters."""
    known, runs = schedule.federation.groups, finished_runs(schedule)
    extra = (runs.counts * extra_watts(watts_of(schedule.workload, known), known, runs.job))[:, groups].sum(axis=1)
    mine = np.isin(off.cluster, [schedule.federation.group_cluster[g] for g in groups])
    start, end = np.concatenate([runs.start, off.begin[mine]]), np.concatenate([runs.end, off.end[mine]])
    watts = np.concatenate([extra, off.watts[mine]])
    return steps_of(runs._replace(start=start, end=end), watts, schedule.t0, 1.0)


def strips_of(schedule: Schedule, columns: int) -> dict[str, NDArray[np.float32]]:
    """Return each cluster's mean watts, and its uplink's mean and peak load, in equal parts of the makespan."""
    found = {}
    edges, off = np.linspace(0.0, schedule.makespan, columns + 1), drawn_off(schedule)
    for k, cluster in enumerate(schedule.federation.clusters):
        here = [g for g, of in enumerate(schedule.federation.group_cluster) if of == k]
        watts, _ = in_parts(*power_of(schedule, here, off), edges)
        found[f"power{k}"] = (watts + idle_watts(schedule, here)).astype(np.float32)
        if np.isfinite(cluster.uplink) and (schedule.workload.task_bandwidth > 0).any():
            mean, most = in_parts(*link_load(schedule, k, 1.0), edges)
            found |= {f"load{k}": mean.astype(np.float32), f"most{k}": most.astype(np.float32)}
    return found


def _most(values: NDArray[np.float64]) -> float:
    return float(values.max(initial=0.0))
