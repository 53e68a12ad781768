"""Check of a schedule's metrics and power caps: the values are computed anew from start times and node counts.

Computed anew are waits and node time, costs and peak power [65] and workflows [51]. So are drain loss, which is nodes
that idle before known downtimes [47], and the planned power under caps [70]. The code shares nothing with what computes
the metrics.
Under power caps, each job is assumed to be planned without contention on uplinks. So every violation found is real, but
some may be missed.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_right
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.constraints.dependencies import Condition, Kind, conditions_of
from fedsched.model.constraints.holds import hold_at
from fedsched.model.jobs.admission import usable_groups
from fedsched.model.jobs.demands import pool_needs
from fedsched.model.power.switching import Reserve, is_switching
from fedsched.model.time.downtimes import RESERVATION, closures_of
from fedsched.model.verify.lost_nodes_check import job_name
from fedsched.model.verify.tasks_per_node_check import places_in, tasks_of, uneven_rows

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from numpy.typing import NDArray

    from fedsched.model.schedule.metrics import Metrics
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.time.signal import Signal
    from fedsched.model.verify.claimed_switching import OffTimes, Stretch
    from fedsched.model.verify.limits_check import LimitsLeft
    from fedsched.model.verify.lost_nodes_check import Runs

    Floats = NDArray[np.float64]
    Waits = dict[int, list[tuple[Condition, int]]]  # row: its conditions, each with the row that it refers to


def broken_claims(
    runs: Runs,
    limits: LimitsLeft,
    demand: Floats,
    reserved: NDArray[np.int64],
    eligible: Floats,
    of_all: dict[str, float],
    off_times: OffTimes,
    claimed: Metrics | None,
    tolerance: float,
) -> Iterator[str]:
    """Yield an error for each metric with a claimed value that differs from the value that is computed here.

    Values are claimed by the schedule's integrals and, if given, by the metrics `claimed`. `demand` (runs × clusters)
    is the bytes a second that runs send, `reserved` the reservation of each run, or -1. `eligible` is when each job
    that ran to its end might start. `of_all` has metrics that are computed already. `off_times` says which nodes were
    off. The greatest accepted relative error is 1000 × `tolerance`.
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
        "saturated_seconds": saturated_seconds(runs.all, demand),
        "loss_of_capacity": _loss_of_capacity(runs, limits, reserved, off_times.promised),
        "wasted_node_seconds": float(held[cut].sum()),
        "requeues": float(runs.requeues),
    }
    if claimed is not None:
        expected |= _columns(runs.ended, runs.all, eligible) | of_all
        less = sum(one.watts * (one.end - one.begin) for one in off_times.stretches)
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
        "p95_wait": float(np.quantile(wait, 0.95)),
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


def saturated_seconds(schedule: Schedule, demand: Floats) -> float:
    """Return for how long uplinks were saturated, in seconds over all uplinks, by what runs send over them."""
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
        gear = np.asarray(workload.gear.values)
        for k in range(1, len(groups[0].gears) + 1):
            drawn = schedule.counts @ np.array([group.gears[k - 1][1] for group in groups])
            beyond = np.where(gear == k, drawn - busy, beyond)
    if workload.watts is not None:
        own = np.asarray(workload.watts.values)
        beyond = np.where(own < 0.0, beyond, schedule.counts.sum(axis=1) * own - busy)
    return beyond


def _beyond(schedule: Schedule) -> float:
    lasted = np.maximum(schedule.finish - np.maximum(schedule.start, schedule.t0), 0.0)
    return float(_watts_beyond(schedule) @ lasted)


def _smallest(heaps: Iterable[list[tuple[int, int]]], gone: list[bool]) -> Iterator[tuple[int, int]]:
    """Yield, as (tasks, row), the smallest job in each heap that still waits; jobs that are `gone` are removed.

    If this job is too large or over a limit, so are all other jobs of its heap.
    """
    for heap in heaps:
        while heap and gone[heap[0][1]]:
            heapq.heappop(heap)
        yield from heap[:1]


def _loss_of_capacity(runs: Runs, limits: LimitsLeft, reserved: NDArray[np.int64], start: Floats) -> float:
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
            if any(tasks <= idle and not limits.full_for(job[i]) for tasks, i in _smallest(waiting.values(), gone)):
                lost += idle * (time - now)
            now = time
        if kind == 1:
            heapq.heappush(waiting.setdefault(limits.class_key(job[row], tasks[row]), []), (tasks[row], row))
        elif kind == 5:
            gone[row] = True
        elif kind > 2:
            free[closures.group[row]] += int(closures.nodes[row]) * (1 if kind == 4 else -1)
        else:
            gone[row] = gone[row] or kind == 2
            limits.take(job[row], counts[row], -1 if kind == 0 else 1)
            free = [left + (n if kind == 0 else -n) for left, n in zip(free, held[row], strict=True)]
    return lost / (nodes * (last - schedule.t0)) if last > schedule.t0 else 0.0


# ---- costs and peak power

_GRAMS = {"g": 1.0, "kg": 1e3, "t": 1e6}
_HOURS = {"kWh": 1e3 * 3600, "MWh": 1e6 * 3600}


def cost_measures(
    runs: Schedule, spared: Sequence[Stretch], above: NDArray[np.float64] | None = None, t0: float | None = None
) -> dict[str, float]:
    """Return the metrics of peak power, cost and carbon of a schedule of runs from `t0` on, by name.

    Empty if the federation has neither signals nor power saving. `spared` has the watts by which nodes that were not
    on drew more, or less, than idle nodes. `above` (runs × groups) is the watts that a run draws above idle; None:
    computed for whole nodes.
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
        gear = np.asarray(runs.workload.gear.values)
        for k in range(1, len(groups[0].gears) + 1):
            drawn[gear == k] = [group.gears[k - 1][1] for group in groups]
    if runs.workload.watts is not None:  # for jobs that state their own watts per node (reading 69)
        own = np.asarray(runs.workload.watts.values)
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


# ---- power caps

_SIZES = {"W": 1.0, "kW": 1e3, "MW": 1e6}


def broken_caps(runs: Runs, schedule: Schedule) -> Iterator[str]:
    """Yield an error for each start with which the planned power exceeds a power cap, then or later in planned runs.

    A job that waits for boots starts, in this sense, when it is promised its nodes.
    """
    caps = [signal for signal in schedule.federation.signals if signal.unit in _SIZES]
    if not caps or not len(runs.all):
        return
    start, finish = runs.given, runs.all.finish
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
                    yield f"{job_name(schedule, runs.job[last])}: as it starts at {time:.9g}, {planned}, and {cap}."
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
    own = None if runs.workload.watts is None else np.asarray(runs.workload.watts.values)
    gear = np.zeros(len(runs), dtype=np.int64) if runs.workload.gear is None else np.asarray(runs.workload.gear.values)
    for g, (group, k) in enumerate(zip(federation.groups, federation.group_cluster, strict=True)):
        if cluster not in ("", federation.clusters[k].name):
            continue
        idle = round(1000.0 * group.idle_watts)
        total += idle * group.count
        drawn = np.array([group.busy_watts, *(watts for _, watts in group.gears)])[gear]
        if own is not None:
            drawn = np.where(own < 0.0, drawn, own)
        if is_switching(federation.power):
            booting = group.busy_watts if group.boot_watts is None else group.boot_watts
            drawn = np.maximum(drawn, booting)
            if isinstance(federation.power, Reserve):
                ahead = min(federation.power.nodes, group.count)
                total += ahead * max(0, round(1000.0 * booting) - idle)
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


# ---- workflows


def workflow_measures(schedule: Schedule) -> dict[str, float]:
    """Return the metrics of workflows, computed anew, by name; NaN if no workflow has finished."""
    waits = _waits(schedule)
    makespans, stretches = [], []
    for rows in _tied(waits):
        if np.isnan(schedule.finish[rows]).any():
            continue
        first = min(float(schedule.workload.submit[row]) for row in rows)
        ends = _earliest_ends(schedule, rows, waits)
        makespans.append(max(float(schedule.finish[row]) for row in rows) - first)
        stretches.append(makespans[-1] / (max(ends) - first))
    known = (sum(makespans) / len(makespans), sum(stretches) / len(stretches), max(stretches)) if stretches else ()
    return dict(zip(("workflow_makespan", "mean_stretch", "max_stretch"), known or (np.nan,) * 3, strict=True))


def _waits(schedule: Schedule) -> Waits:
    workload = schedule.workload
    row_of = {job: row for row, job in enumerate(workload.id.tolist())}
    place = list(zip(workload.submit.tolist(), workload.id.tolist(), strict=True))
    alike: dict[tuple[int, str], list[int]] = {}
    for row, key in enumerate(zip(workload.user.tolist(), workload.label("name").tolist(), strict=True)):
        alike.setdefault(key, []).append(row)
    found: Waits = {}
    for row, text in enumerate([] if workload.after is None else workload.after.texts.tolist()):
        for condition in conditions_of(text):
            others = [row_of[condition.on]] if condition.on in row_of else []
            if condition.kind is Kind.SINGLETON:
                like = alike[int(workload.user[row]), workload.label("name")[row]]
                others = [other for other in like if place[other] < place[row]]
            found.setdefault(row, []).extend((condition, other) for other in others)
    return found


def _tied(waits: Waits) -> list[list[int]]:
    beside: dict[int, set[int]] = {}
    for row, conditions in waits.items():
        for _, other in conditions:
            beside.setdefault(row, set()).add(other)
            beside.setdefault(other, set()).add(row)
    found = []
    while beside:
        rows, reached = [], [next(iter(beside))]
        while reached:
            row = reached.pop()
            if row in beside:
                rows.append(row)
                reached += beside.pop(row)
        found.append(sorted(rows))
    return found


def _earliest_ends(schedule: Schedule, rows: list[int], waits: Waits) -> list[float]:
    begins, workload = _not_before(schedule, rows), schedule.workload
    work = np.minimum(workload.runtime, workload.estimate) if schedule.kill_at_estimate else workload.runtime
    part = workload.take(np.array(rows))
    usable, uneven = usable_groups(part, schedule.federation), {*uneven_rows(workload).tolist()}
    speeds = [(group.speed, group.count) for group in schedule.federation.groups]
    known: dict[int, tuple[float, float]] = {}
    open_ = list(rows)
    while open_:
        row = open_[-1]
        lacking = [other for _, other in waits.get(row, ()) if other not in known]
        if lacking:
            open_ += lacking
            continue
        open_.pop()
        begin = begins[row]
        for condition, other in waits.get(row, ()):
            begin = max(begin, known[other][0 if condition.kind is Kind.AFTER else 1] + condition.lag)
        if (hold := hold_at(workload, row, begin)) is not None:
            begin = hold.end
        # All nodes that it may use, the fastest first.
        may = usable[rows.index(row)]
        here, left, slowest = may.astype(np.int64), int(workload.tasks[row]), np.inf
        if row in uneven:  # as many as these hold of its tasks (reading 76)
            here, left = places_in(workload, schedule.federation, row, here), int(tasks_of(workload)[row])
        nodes = sorted(((speed, many * k) for (speed, many), k in zip(speeds, here.tolist(), strict=True) if k),
                       reverse=True)  # fmt: skip
        for speed, count in nodes:
            slowest = min(slowest, speed) if left > 0 else slowest
            left -= count
        sigma = workload.compute_fraction[row]
        run = work[row] * (sigma / slowest + (1.0 - sigma))
        if schedule.start[row] < schedule.t0:
            run = min(run, schedule.finish[row] - schedule.start[row])
        known[row] = begin, max(begin + run, np.nextafter(begin, np.inf))
    return [known[row][1] for row in rows]


def _not_before(schedule: Schedule, rows: list[int]) -> dict[int, float]:
    workload, asked = schedule.workload, schedule.workload.label(RESERVATION)
    reserved = {one.name: one.begin for one in schedule.federation.calendar if one.kind == RESERVATION}
    begin = workload.submit if workload.begin is None else np.maximum(workload.submit, workload.begin.begin)
    return {row: max(float(begin[row]), reserved.get(asked[row], -np.inf)) for row in rows}


# ---- drain loss


class Drains:
    """The replay of a schedule that computes its drain loss: node-seconds that idle because of known downtimes [47]."""

    def __init__(self, schedule: Schedule, runs: Runs, limits: LimitsLeft, inside: NDArray[np.bool_]) -> None:
        federation, workload, gone = schedule.federation, schedule.workload, runs.in_vain
        self.closures = closures_of(federation)
        self.start, self.end = runs.given.tolist(), runs.all.finish.tolist()
        self.since = np.minimum(runs.since, runs.given).tolist() + gone.since.tolist()
        self.leaves = gone.until.tolist()
        self.job = runs.job.tolist() + gone.job.tolist()
        self.counts = runs.all.counts
        self.asked = [not inside[job] for job in self.job]
        self.tasks, self.wanted = workload.tasks, workload.tasks.copy()
        self.usable = usable_groups(workload, federation)
        self.places = self.usable.astype(np.int64)  # per node: 1, or the tasks that it holds (reading 76)
        for row in uneven_rows(workload).tolist():
            self.wanted[row] = tasks_of(workload)[row]
            self.places[row] *= places_in(workload, federation, row, self.places[row])
        self.planned = self._least(schedule)
        self.needs, self.limits = pool_needs(workload, federation), limits
        self.nodes = np.array([group.count for group in federation.groups])
        self.held, self.closed = np.zeros_like(self.nodes), np.zeros_like(self.nodes)
        self.pools = np.array([pool.amount for pool in federation.pools], dtype=np.int64)
        self.waiting: set[int] = set()
        self.begins = np.sort(self.closures.begin).tolist()
        self.ahead = sorted(self._ahead())
        self.ahead_times = [time for time, _, _ in self.ahead]

    def loss(self, t0: float) -> float:
        """Replay the schedule and return its drain loss, in node-seconds, from t0 to the last end."""
        last = max(self.end)
        events = [(time, 2, run) for run, time in enumerate(self.since)]
        events += [(time, 4, len(self.start) + k) for k, time in enumerate(self.leaves)]
        events += [(time, 5, 0) for time in (t0, *self.closures.known_from[np.isfinite(self.closures.known_from)])]
        events = sorted([*self.ahead, *events])
        total = 0.0
        for (time, kind, which), (then, _, _) in zip(events, [*events[1:], (last, 5, 0)], strict=True):
            if time >= last:
                break
            self._take(kind, which)
            if then > time >= t0:
                total += self._lost(time) * (min(then, last) - time)
        return total

    def _ahead(self) -> list[tuple[float, int, int]]:
        # Events that free or take nodes: 0 ends, 1 downtimes (openings before closings), 3 starts.
        found = [(time, 0, run) for run, time in enumerate(self.end)]
        found += [(time, 3, run) for run, time in enumerate(self.start)]
        found += [(time, 1, ~c) for c, time in enumerate(self.closures.end.tolist())]
        return found + [(time, 1, c) for c, time in enumerate(self.closures.begin.tolist())]

    def _take(self, kind: int, which: int) -> None:
        if kind == 2:
            self.waiting.add(which)
        if kind in (3, 4):
            self.waiting.discard(which)
        if kind in (0, 3):
            times = 1 if kind == 3 else -1
            self.held += times * self.counts[which]
            self.pools -= times * self.needs[self.job[which]]
            self.limits.take(self.job[which], self.counts[which].tolist(), times)
        if kind == 1:
            c, sign = (which, 1) if which >= 0 else (~which, -1)
            self.closed[self.closures.group[c]] += sign * self.closures.nodes[c]

    def _lost(self, now: float) -> int:
        free = np.maximum(0, self.nodes - self.held - self.closed)
        coming = bisect_right(self.begins, now)
        if not self.waiting or not free.any() or coming == len(self.begins):
            return 0
        fits = {
            wait: now + self.planned[job]
            for wait in self.waiting
            if self.asked[wait]
            and now + self.planned[job := self.job[wait]] > self.begins[coming]
            and free @ self.places[job] >= self.wanted[job]
            and not (self.needs[job] > self.pools).any()
            and not self.limits.full_for(job)
        }
        return self._kept(now, free, fits) if fits else 0

    def _kept(self, now: float, free: NDArray[np.int64], fits: dict[int, float]) -> int:
        held, closed, place = self.held.copy(), self.closed.copy(), bisect_right(self.ahead_times, now)
        lost, tasks, known = np.zeros_like(free), 0, self.closures.known_from
        while fits and place < len(self.ahead) and (time := self.ahead_times[place]) < max(fits.values()):
            for kinds, by_downtimes in (((0, 1), True), ((3,), False)):
                while place < len(self.ahead) and self.ahead_times[place] == time and self.ahead[place][1] in kinds:
                    _, kind, which = self.ahead[place]
                    place += 1
                    c = max(which, ~which)
                    if kind == 1 and known[c] <= now:
                        closed[self.closures.group[c]] += self.closures.nodes[c] * (1 if which >= 0 else -1)
                    elif kind != 1 and self.since[which] <= now:
                        held += self.counts[which] * (1 if kind == 3 else -1)
                less = np.minimum(free, np.maximum(0, self.nodes - held - closed))
                if (less == free).all():
                    continue
                for wait, until in list(fits.items()):
                    job = self.job[wait]
                    if less @ self.places[job] < self.wanted[job]:
                        del fits[wait]
                        if by_downtimes and time < until:
                            tasks += int(self.tasks[job])
                            lost = np.maximum(lost, free * self.usable[job])
                free = less
        return min(tasks, int(lost.sum()))

    def _least(self, schedule: Schedule) -> list[float]:
        # The least planned run time of each job (reading 12).
        workload, groups = schedule.workload, schedule.federation.groups
        planned = schedule.reading.planned(workload)
        by_speed = sorted(range(len(groups)), key=lambda g: -groups[g].speed)
        room = np.cumsum(self.places[:, by_speed] * [groups[g].count for g in by_speed], axis=1)
        enough = (room < self.wanted[:, None]).sum(axis=1) % len(groups)  # a job that fits nowhere is never counted
        slowest = np.array([groups[g].speed for g in by_speed])[enough]
        sigma = workload.compute_fraction
        least: list[float] = (planned * (sigma / slowest + (1.0 - sigma))).tolist()
        return least


def drain_loss(schedule: Schedule, runs: Runs, limits: LimitsLeft, inside: NDArray[np.bool_]) -> float:
    """Return a schedule's drain loss, computed anew: the node-seconds that idled because of known downtimes.

    `inside` says whether each job is in a reservation. 0 without downtimes.
    """
    return Drains(schedule, runs, limits, inside).loss(schedule.t0) if schedule.federation.calendar else 0.0
