"""Check that runs end when their rates make them: by the speed of their nodes and the loads of the uplinks [4 to 7].

It shares no code with the simulation.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.verify.downtime_check import broken_closures, broken_reservations
from fedsched.model.verify.lost_nodes_check import job_name
from fedsched.model.verify.tasks_per_node_check import tasks_by_cluster, uneven_rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from numpy.typing import ArrayLike, NDArray

    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]

TICKS = 1000  # clock steps by which a replayed finish may differ: rounding errors, multiplied by contention


def _processing(schedule: Schedule) -> NDArray[np.float64]:
    slow = np.array([1.0 / group.speed for group in schedule.federation.groups])  # eq. 1.1
    return np.asarray(np.where(schedule.counts > 0, slow, 0.0).max(axis=1))


def demand_of(schedule: Schedule) -> NDArray[np.float64]:
    """Return what each job sends over each cluster's uplink, jobs × clusters (eq. 1.2).

    With several tasks to a node, all nodes but the last are full [76].
    """
    clusters = np.array(schedule.federation.group_cluster)
    here = np.stack([schedule.counts[:, clusters == k].sum(axis=1) for k in range(clusters.max() + 1)], axis=1)
    tasks = schedule.workload.tasks[:, None]
    layout = {} if schedule.workload.layout is None else schedule.workload.layout.columns()
    if "tasks_on_nodes" in layout:
        told = layout["tasks_on_nodes"][:, None]
        each = layout.get("tasks_per_node", np.zeros(len(schedule), dtype=np.int64))[:, None]
        tasks = np.where(told > 0, told, tasks)
        full = here * np.where(told > 0, each, 1)
        behind = np.cumsum(here[:, ::-1], axis=1)[:, ::-1] - here  # nodes in later clusters
        lacking = np.where((here > 0) & (behind == 0), full.sum(axis=1, keepdims=True) - tasks, 0)
        here = full - np.where(told > 0, lacking, 0)
        for row in uneven_rows(schedule.workload).tolist():
            if schedule.counts[row].any():
                here[row] = tasks_by_cluster(schedule.workload, schedule.federation, row, schedule.counts[row])
    bandwidth = schedule.workload.task_bandwidth[:, None]
    demand = here * bandwidth * (tasks - here) / np.maximum(tasks - 1, 1)
    return np.asarray(np.where((here > 0) & (here < tasks), demand, 0.0))


def broken_calendar(schedule: Schedule, reserved: NDArray[np.int64], given: Floats) -> Iterator[str]:
    """Yield an error for each run on closed nodes, and for each outside of its reservation (`reserved`, -1: in none).

    Planned ends are known of runs that begin after t0 and send nothing between clusters. `given` is when each job got
    its nodes, which is before its start if they had to boot.
    """
    if not schedule.federation.calendar:
        return
    sigma = schedule.workload.compute_fraction
    planned = schedule.reading.planned(schedule.workload) * (sigma * _processing(schedule) + (1.0 - sigma))
    steady = ~demand_of(schedule).any(axis=1) & (schedule.start >= schedule.t0)
    planned_end = _ends(schedule.start + planned, schedule.start)
    schedule = replace(schedule, start=given)
    yield from broken_closures(schedule, steady, planned_end)
    yield from broken_reservations(schedule, reserved, steady, planned_end)


def _work(schedule: Schedule) -> NDArray[np.float64]:
    runtime = schedule.workload.runtime
    return np.minimum(runtime, schedule.workload.estimate) if schedule.kill_at_estimate else runtime


def _ends(end: ArrayLike, begin: ArrayLike) -> NDArray[np.float64]:
    # An end is later than its begin, if only by the smallest step of the clock (reading 0).
    return np.asarray(np.maximum(end, np.nextafter(begin, np.inf)))


def broken_rates(schedule: Schedule, cut: Floats, tolerance: float) -> Iterator[str]:
    """Yield an error for each run that ends at another time than its rates make it.

    `schedule` has a row for each run, and `cut` the time at which the run lost its nodes; infinite if it did not.
    """
    workload = schedule.workload
    sigma, work, processing = workload.compute_fraction, _work(schedule), _processing(schedule)
    early = _ends(schedule.start + work * (sigma * processing + (1.0 - sigma)), schedule.start)
    late = early.copy()
    demand = demand_of(schedule)
    talks = demand.any(axis=1)
    talking = np.flatnonzero(talks)
    given = schedule.start < schedule.t0  # ran before t0: its rate until then is not known here
    loose = given.copy()

    def slack(end: Floats, start: Floats) -> Floats:
        return np.asarray(tolerance * np.maximum(1.0, end - start) + TICKS * np.spacing(np.abs(end)))

    if talking.size:
        uplink = np.array([cluster.uplink for cluster in schedule.federation.clusters])
        if schedule.saturation == "static":
            _static_finishes(schedule, cut, talking, demand, uplink, slack, early, late)
        elif not given[talking].any():
            early[talking] = late[talking] = _dynamic_finishes(schedule, talking, demand[talking], uplink, cut)
        else:
            loose |= talks
    for row in np.flatnonzero(loose).tolist():
        late[row] = _latest(schedule, row, talking, demand)
    ended = ~np.isfinite(cut)
    start, finish = schedule.start, schedule.finish
    wrong = (finish < early - slack(early, start)) & ended
    wrong |= np.isfinite(late) & (finish > late + slack(np.where(np.isfinite(late), late, finish), start))
    for row in np.flatnonzero(wrong).tolist():
        end = early[row] if finish[row] < early[row] else late[row]
        yield f"{job_name(schedule, row)}: it finishes at {finish[row]:.9g}; its rates make it {end:.9g}."


def _latest(schedule: Schedule, row: int, talking: NDArray[np.int64], demand: NDArray[np.float64]) -> float:
    # The latest end of a job: it did nothing before t0, and from then on all jobs that it ever meets slow it at once.
    sigma, processing = float(schedule.workload.compute_fraction[row]), float(_processing(schedule)[row])
    since, slowdown = max(float(schedule.start[row]), schedule.t0), 1.0
    if demand[row].any():
        if schedule.saturation == "static" and since > schedule.start[row]:
            return float("inf")  # jobs that slowed it may have ended before t0
        met = talking[(schedule.start[talking] < schedule.finish[row]) & (schedule.finish[talking] > since)]
        met = np.union1d(met, [row])
        uplink = np.array([cluster.uplink for cluster in schedule.federation.clusters])
        load, own = demand[met].sum(axis=0), demand[row]
        if schedule.saturation == "fair":  # a link is full only when all its users reach their share
            load = (demand[met] / demand[met].max(axis=1, keepdims=True)).sum(axis=0) * own.max()
        slowdown = _communication(load, own, uplink)
    return since + float(_work(schedule)[row]) * (sigma * processing + (1.0 - sigma) * slowdown)


def _communication(load: NDArray[np.float64], demand: NDArray[np.float64], uplink: NDArray[np.float64]) -> float:
    used = demand > 0.0
    return max(1.0, float((load[used] / uplink[used]).max(initial=1.0)))  # eqs. 1.4, 1.5


def _fair_shares(demand: NDArray[np.float64], uplink: NDArray[np.float64]) -> NDArray[np.float64]:
    # All rates rise equally from 0 (reading 59) until a job sends all that it would, or a link is full.
    most = demand.max(axis=1, initial=0.0)
    level = np.zeros(len(demand))
    rising = np.ones(len(demand), dtype=np.bool_)
    while rising.any():
        slope = (demand[rising] / most[rising, None]).sum(axis=0)
        used = slope > 0.0
        room = uplink - (demand / most[:, None] * level[:, None]).sum(axis=0)
        now = level[rising].max()
        steps = np.append(room[used] / slope[used], most[rising].min() - now)
        level[rising] = now + max(0.0, steps.min())
        full = np.zeros(uplink.size, dtype=np.bool_)
        full[used] = room[used] / slope[used] <= steps.min() * (1.0 + 1e-12) + 1e-12 * now
        rising &= (level < most * (1.0 - 1e-12)) & ~(demand[:, full] > 0.0).any(axis=1)
    return np.asarray(np.minimum(level / most, 1.0))


def _dynamic_finishes(
    schedule: Schedule,
    rows: NDArray[np.int64],
    demand: NDArray[np.float64],
    uplink: NDArray[np.float64],
    cut: NDArray[np.float64],
) -> NDArray[np.float64]:
    # Replays only the communicating jobs: only they affect each other's rates. A job that is cut ends at its cut.
    start = schedule.start[rows]
    sigma = schedule.workload.compute_fraction[rows]
    fixed = sigma * _processing(schedule)[rows]
    left = _work(schedule)[rows].astype(float).copy()
    finish = np.full(rows.size, np.nan)
    cost = np.ones(rows.size)
    since = start.copy()
    due, last = np.full(rows.size, np.inf), cut[rows]
    coming = np.argsort(start, kind="stable").tolist()[::-1]
    running: list[int] = []
    while coming or running:
        now = min([due[j] for j in running] + ([start[coming[-1]]] if coming else []))
        for j in [j for j in running if due[j] <= now]:
            finish[j] = due[j]
            running.remove(j)
        fresh = []
        while coming and start[coming[-1]] <= now:
            fresh.append(coming.pop())
        running += fresh
        load = demand[running].sum(axis=0)
        shares = _fair_shares(demand[running], uplink) if schedule.saturation == "fair" else None
        for place, j in enumerate(running):
            slowdown = _communication(load, demand[j], uplink) if shares is None else 1.0 / shares[place]
            rate = fixed[j] + (1.0 - sigma[j]) * slowdown
            if j in fresh or rate != cost[j]:
                left[j] = max(0.0, left[j] - (now - since[j]) / cost[j])
                cost[j], since[j], due[j] = rate, now, min(_ends(now + left[j] * rate, now), last[j])
    return finish


def _static_finishes(
    schedule: Schedule,
    cut: NDArray[np.float64],
    rows: NDArray[np.int64],
    demand: NDArray[np.float64],
    uplink: NDArray[np.float64],
    slack: Callable[[Floats, Floats], Floats],
    early: NDArray[np.float64],
    late: NDArray[np.float64],
) -> None:
    # A job's rate is set once, after the pass that starts it (reading 6), by all jobs that run then, including those
    # that start at the same instant.
    start, finish = schedule.start, schedule.finish
    sigma, processing, work = schedule.workload.compute_fraction, _processing(schedule), _work(schedule)

    def ends(row: int, loads: Floats) -> list[float]:
        costs = [_communication(load, demand[row], uplink) for load in loads]
        costs = [sigma[row] * processing[row] + (1 - sigma[row]) * cost for cost in costs]
        return [float(_ends(start[row] + work[row] * cost, start[row])) for cost in costs]

    def agrees(row: int) -> bool:
        soon, then = (float(slack(end[row], start[row])) for end in (early, late))
        return bool(finish[row] <= late[row] + then) and bool(finish[row] >= early[row] - soon or np.isfinite(cut[row]))

    for now in np.unique(start[rows][start[rows] >= schedule.t0]).tolist():
        begins = rows[start[rows] == now].tolist()
        runs_on = demand[rows[(start[rows] < now) & (finish[rows] > now)]].sum(axis=0)
        ending = rows[(start[rows] < now) & (finish[rows] == now)].tolist()
        if schedule.same_time == "batch":
            for row in begins:
                early[row] = late[row] = ends(row, (runs_on + demand[begins].sum(axis=0))[None])[0]
            continue
        # With several passes per instant: of the jobs with an unknown pass, those of the last pass see all others. They
        # also see any subset of the jobs that end now and of those that start in later passes.
        left, perhaps = list(begins), ending
        while left:
            loads = runs_on + demand[left].sum(axis=0) + _sums(demand[perhaps])
            for row in left:
                possible = ends(row, loads)
                exact = len(perhaps) <= MANY and not np.isfinite(cut[row])  # a job that is cut ends before its end
                early[row], late[row] = _nearest(possible, finish[row], exact)
            fitting = [row for row in left if agrees(row)]
            if not fitting:
                break
            left, perhaps = [row for row in left if row not in fitting], perhaps + fitting


MANY = 8  # jobs for which all subsets are tried; beyond that, every load between none and all is accepted


def _sums(demand: Floats) -> Floats:
    # The sums of all subsets of these demands, one row each; of more than MANY, only the empty and the full sum.
    sums = np.zeros((1, demand.shape[1]))
    if len(demand) > MANY:
        return np.vstack([sums, demand.sum(axis=0)])
    for own in demand:
        sums = np.vstack([sums, sums + own])
    return sums


def _nearest(ends: list[float], finish: float, exact: bool) -> tuple[float, float]:
    # The nearest of these ends, twice; or the first and the last one.
    if not exact:
        return min(ends), max(ends)
    nearest = min(ends, key=lambda end: abs(end - finish))
    return nearest, nearest
