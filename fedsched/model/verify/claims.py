"""Recompute the claims of a schedule, above all its metric row, from start times and node counts.

It shares no code with the engine or the metric kernels; the definitions are implemented anew.
"""

from __future__ import annotations

import heapq
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.time.downtimes import closures_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.metrics import Metrics
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.verify.claimed_switching import Nights
    from fedsched.model.verify.limits_check import Shares
    from fedsched.model.verify.lost_nodes_check import Runs

    Floats = NDArray[np.float64]


def broken_claims(
    runs: Runs,
    shares: Shares,
    demand: Floats,
    reserved: NDArray[np.int64],
    eligible: Floats,
    of_all: dict[str, float],
    nights: Nights,
    claimed: Metrics | None,
    tolerance: float,
) -> Iterator[str]:
    """Yield an error for each column with a claimed value that differs from the recomputed one.

    `reserved` is the reservation of each run, or -1. `eligible` is when each job that ran to its end might start.
    `of_all` has the metrics of all jobs, including those that did not run. `nights` says which nodes were off.
    """
    if len(runs.ended) == 0:
        return
    own = runs.all.integrals._asdict()
    claims = {name: [] if np.isnan(value) else [value] for name, value in own.items()}
    # Lost runs tell what was lost. The row may lack the other integrals if the schedule itself does not know them.
    unknown = {name for name in ("saturated_seconds", "loss_of_capacity") if np.isnan(own[name])}
    cut = np.isfinite(runs.cut)
    held = runs.all.counts.sum(axis=1) * (runs.all.finish - np.maximum(runs.all.start, runs.all.t0))
    expected = {
        "saturated_seconds": _saturated_seconds(runs.all, demand),
        "loss_of_capacity": _loss_of_capacity(runs, shares, reserved, nights.promised),
        "wasted_node_seconds": float(held[cut].sum()),
        "requeues": float(runs.requeues),
    }
    if claimed is not None:
        expected |= _columns(runs.ended, runs.all, eligible) | of_all
        less = sum(one.watts * (one.end - one.begin) for one in nights.stretches)
        expected |= {name: expected[name] + less for name in ("energy", "idle_energy")}
        for name, value in claimed.as_dict().items():
            claims.setdefault(name, []).append(value)
    for name, values in claims.items():
        for value in values:
            if np.isnan(value) and name in unknown:
                continue
            is_so = expected.get(name, np.nan)  # without signals there are no costs
            whole = expected.get("energy", 1.0) if name == "idle_energy" else is_so  # it is a difference
            if not _agree(value, is_so, 1e3 * tolerance * max(1.0, abs(whole))):
                told = f"{name} is given as {value:.9g}, but start times and nodes make it {is_so:.9g}"
                yield f"Schedule: {told}."
                break


def _agree(value: float, expected: float, slack: float) -> bool:
    if not np.isfinite(expected):  # a run of no length, in a schedule that comes from elsewhere
        return bool(value == expected or (np.isnan(value) and np.isnan(expected)))
    return abs(value - expected) <= slack


def _columns(schedule: Schedule, runs: Schedule, eligible: Floats) -> dict[str, float]:
    workload, groups = schedule.workload, schedule.federation.groups
    start, finish, tasks = schedule.start, schedule.finish, workload.tasks
    wait, run, response = start - workload.submit, finish - start, finish - workload.submit
    makespan = max(0.0, float(runs.finish.max()) - schedule.t0)
    since = np.maximum(runs.start, schedule.t0)  # times before t0 do not count
    occupied = np.maximum(runs.finish - since, 0.0) @ runs.counts  # node-seconds of each group
    busy, idle = (np.array([getattr(group, name) for group in groups]) for name in ("busy_watts", "idle_watts"))
    sizes = np.array([group.count for group in groups])
    with np.errstate(divide="ignore", invalid="ignore"):
        slowdown = response / run
        utilisation = float(np.divide(occupied.sum(), schedule.federation.nodes * makespan))
    bounded = np.maximum(1.0, response / np.maximum(run, 10.0))
    _, user = np.unique(workload.user, return_inverse=True)
    of_users = np.bincount(user, weights=bounded) / np.bincount(user)
    clusters = np.array(schedule.federation.group_cluster)
    used = np.stack([schedule.counts[:, clusters == k].any(axis=1) for k in range(clusters.max() + 1)])
    return {
        "makespan": makespan,
        "flow": float(response.sum()),
        "mean_wait": float(wait.mean()),
        "mean_wait_eligible": float((start - eligible).mean()),
        "max_wait": float(wait.max()),
        "mean_response": float(response.mean()),
        "mean_slowdown": float(slowdown.mean()),
        "bounded_slowdown": float(bounded.mean()),
        "weighted_response": float(np.average(response, weights=tasks)),
        "weighted_slowdown": float(np.average(slowdown, weights=tasks)),
        "utilisation": utilisation,
        "energy": _energy(runs),
        "busy_energy": float(busy @ occupied) + _beyond(runs),
        "idle_energy": float(idle @ (sizes * makespan - occupied)),
        "coallocated": float((used.sum(axis=0) > 1).sum()),
        "user_spread": float(of_users.std()),
    }


def _saturated_seconds(schedule: Schedule, demand: Floats) -> float:
    rows = np.flatnonzero(demand.any(axis=1))
    uplink = np.array([cluster.uplink for cluster in schedule.federation.clusters])
    begin = np.maximum(schedule.start[rows], schedule.t0)
    times = np.unique(np.concatenate([begin, schedule.finish[rows]]))
    total = 0.0
    running: list[int] = []
    by_start = rows[np.argsort(begin, kind="stable")].tolist()[::-1]
    for now, then in zip(times[:-1].tolist(), times[1:].tolist(), strict=True):
        running = [row for row in running if schedule.finish[row] > now]
        while by_start and max(schedule.start[by_start[-1]], schedule.t0) <= now:
            running.append(by_start.pop())
        load = demand[running].sum(axis=0)
        # a load that differs from the bandwidth by rounding alone counts as neither
        total += (then - now) * int((load > uplink * (1 + 1e-12)).sum())
    return total


def _energy(schedule: Schedule) -> float:
    # the integral of power over [t0, last finish] (eq. 1.8)
    groups = schedule.federation.groups
    begin = np.maximum(schedule.start, schedule.t0)
    step = schedule.counts @ np.array([group.busy_watts - group.idle_watts for group in groups])
    step = step + _watts_beyond(schedule)
    times = np.concatenate([begin, np.maximum(schedule.finish, begin)])
    change = np.concatenate([step, -step])
    order = np.argsort(times, kind="stable")
    idle_power = sum(group.idle_watts * group.count for group in groups)
    power = idle_power + np.cumsum(change[order])
    return float(idle_power * (times[order][0] - schedule.t0) + (power[:-1] * np.diff(times[order])).sum())


def _watts_beyond(schedule: Schedule) -> Floats:
    # The watts of each run above its groups' busy watts: by its job's own watts, or by its gear (69, 77).
    groups, workload = schedule.federation.groups, schedule.workload
    busy = schedule.counts @ np.array([group.busy_watts for group in groups])
    beyond = np.zeros(len(schedule))
    if workload.gear is not None:
        gear = np.asarray(workload.gear.given)
        for k in range(1, len(groups[0].gears) + 1):
            drawn = schedule.counts @ np.array([group.gears[k - 1][1] for group in groups])
            beyond = np.where(gear == k, drawn - busy, beyond)
    if workload.watts is not None:
        own = np.asarray(workload.watts.given)
        beyond = np.where(own < 0.0, beyond, schedule.counts.sum(axis=1) * own - busy)
    return beyond


def _beyond(schedule: Schedule) -> float:
    lasted = np.maximum(schedule.finish - np.maximum(schedule.start, schedule.t0), 0.0)
    return float(_watts_beyond(schedule) @ lasted)


def _smallest(heaps: Iterable[list[tuple[int, int]]], gone: list[bool]) -> Iterator[tuple[int, int]]:
    """Yield each heap's smallest job that still waits: if it is too large or over a limit, so are all others."""
    for heap in heaps:
        while heap and gone[heap[0][1]]:
            heapq.heappop(heap)
        yield from heap[:1]


def _loss_of_capacity(runs: Runs, shares: Shares, reserved: NDArray[np.int64], start: Floats) -> float:
    # A job with its nodes does not wait any more, though these may have to boot.
    schedule, workload, nodes = runs.all, runs.all.workload, runs.all.federation.nodes
    finish, in_vain = schedule.finish, runs.in_vain
    tasks = workload.tasks.tolist() + runs.in_vain.tasks.tolist()
    last = float(finish.max())
    # Without downtimes, all groups count as one.
    counts = schedule.counts.tolist()
    free, held = [nodes], schedule.counts.sum(axis=1, keepdims=True).tolist()
    closures = closures_of(schedule.federation)
    if closures.begin.size:
        free, held = [group.count for group in schedule.federation.groups], counts
    events = [(time, 0, row) for row, time in enumerate(finish.tolist())]
    since = np.maximum(runs.since, schedule.t0).tolist()
    events += [(since[row], 1, row) for row in np.flatnonzero(reserved < 0).tolist()]
    events += [(time, 2, row) for row, time in enumerate(start.tolist())]
    events += [(time, 3, c) for c, time in enumerate(closures.begin.tolist())]
    events += [(time, 4, c) for c, time in enumerate(closures.end.tolist())]
    for row, (since, until) in enumerate(zip(in_vain.since.tolist(), in_vain.until.tolist(), strict=True), len(start)):
        events += [(max(since, schedule.t0), 1, row), (until, 5, row)]
    events.sort()
    waiting: dict[object, list[tuple[int, int]]] = {}  # heaps of the waiting jobs with the same use of limits
    job = runs.job.tolist() + in_vain.job.tolist()
    gone = [False] * len(job)
    lost, now = 0.0, schedule.t0
    for time, kind, row in events:
        if now < time <= last:
            idle = sum(max(0, left) for left in free)
            if any(tasks <= idle and not shares.full_for(job[i]) for tasks, i in _smallest(waiting.values(), gone)):
                lost += idle * (time - now)
            now = time
        if kind == 1:
            heapq.heappush(waiting.setdefault(shares.like(job[row], tasks[row]), []), (tasks[row], row))
        elif kind == 5:
            gone[row] = True
        elif kind > 2:
            free[closures.group[row]] += int(closures.nodes[row]) * (1 if kind == 4 else -1)
        else:
            gone[row] = gone[row] or kind == 2
            shares.give(job[row], counts[row], -1 if kind == 0 else 1)
            free = [left + (n if kind == 0 else -n) for left, n in zip(free, held[row], strict=True)]
    return lost / (nodes * (last - schedule.t0)) if last > schedule.t0 else 0.0
