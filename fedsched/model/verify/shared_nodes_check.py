"""The independent check of schedules in which jobs share nodes: node use, times, and metrics [55].

It shares no code with the simulation of such schedules.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.model.constraints.holds import broken_holds
from fedsched.model.jobs.demands import GPU, WHOLE, gpus_per_task
from fedsched.model.jobs.layout import EXCLUSIVE, PER_NODE
from fedsched.model.power.watts import drawn_watts, watts_of
from fedsched.model.schedule.node_use import every_run
from fedsched.model.time.reservations import reservation_of_jobs
from fedsched.model.verify.claims import cost_measures, saturated_seconds
from fedsched.model.verify.lost_nodes_check import broken_losses
from fedsched.model.verify.placement_check import over_caps
from fedsched.model.verify.queue_check import broken_cancellations, broken_submits, unstarted
from fedsched.model.verify.rates_check import broken_calendar, broken_rates, demand_of
from fedsched.model.verify.starts_check import broken_conditions, broken_starts, hopeless_in

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.metrics import Metrics
    from fedsched.model.schedule.node_use import NodeUse
    from fedsched.model.schedule.schedule import Schedule


def violations(
    schedule: Schedule,
    use: NodeUse,
    lost: NodeUse | None,
    *,
    tolerance: float,
    caps: NDArray[np.int64] | None,
    claimed: Metrics | None,
) -> list[str]:
    """Return all ways in which a schedule with shared nodes violates the model, one line each; [] if it is valid.

    `use` and `lost` are the node use of its jobs and of its lost runs. After some kinds of error, later checks are left
    out. `caps` (jobs × groups) are the most tasks of a job on a group. `claimed` are metrics to check as well.
    """
    gone = unstarted(schedule)
    away = hopeless_in(schedule, gone) & ~gone
    found = [*broken_starts(schedule, away, gone), *broken_cancellations(schedule, gone)]
    found += [*broken_submits(schedule, gone), *broken_conditions(schedule), *broken_holds(schedule)]
    found += broken_losses(schedule)
    if caps is not None:
        found += over_caps(schedule, caps, called="tasks")
    if found:
        return found
    columns = {"start": schedule.start, "finish": schedule.finish, "counts": schedule.counts}
    found, t0 = [*_same(use, columns), *_same_lost(schedule, lost)], schedule.t0
    if found:
        return found
    away |= gone
    away[schedule.lost.killed] = True
    rows = np.flatnonzero(~away)
    runs = None if lost is None else every_run(schedule, use, lost, rows)
    if away.any() and rows.size:
        schedule = schedule.take(rows)
        use = use.take(rows, schedule.workload)
    every, of_all = (schedule, use) if runs is None else runs
    if not len(every) or np.isnan(every.start).all():
        return found  # no job ran
    every = replace(every, t0=t0)
    reserved = reservation_of_jobs(every.workload, every.federation)
    found += [*_layout(of_all), *of_all.broken(), *broken_calendar(every, reserved, every.start)]
    cut = np.where(np.arange(len(every)) < rows.size, np.inf, every.finish)  # the first rows ended by themselves
    found = found or [*_devices(of_all), *broken_rates(every, cut, tolerance)]
    if found or not rows.size:
        return found
    costs = cost_measures(every, (), _above_idle(of_all), t0)
    if not np.isnan(schedule.integrals.saturated_seconds):
        costs["saturated_seconds"] = saturated_seconds(every, demand_of(every))
    return [*_claims(schedule, use, lost, claimed, t0, tolerance, costs)]


def _same(use: NodeUse, columns: dict[str, NDArray[Any]]) -> Iterator[str]:
    # The schedule agrees with the node use.
    for name, given in columns.items():
        there = getattr(use, name)
        differs = (given != there) & ~(np.isnan(given) & np.isnan(there))  # both are NaN for a job that never starts
        odd = np.flatnonzero(differs.reshape(len(given), -1).any(axis=1))
        for row in odd[:1]:
            yield f"{use.whose(row)}: its {name} differs between schedule and node use."


def _same_lost(schedule: Schedule, lost: NodeUse | None) -> Iterator[str]:
    runs = schedule.lost
    if lost is None or len(lost.workload) != runs.runs:
        if runs.runs:
            yield f"Schedule: it does not say which nodes its {runs.runs} lost runs used."
        return
    yield from _same(lost, {"start": runs.start, "finish": runs.end, "counts": runs.counts})


def _layout(use: NodeUse) -> Iterator[str]:
    # Each node but one has `tasks_per_node` tasks, and an exclusive job shares its nodes with no other.
    workload = use.workload
    none = np.zeros(len(workload), dtype=np.int64)
    columns = {} if workload.layout is None else workload.layout.columns()
    for row in np.flatnonzero((columns.get(EXCLUSIVE, none) == 1) & ~use.alone)[:1]:
        yield f"{use.whose(row)}: it is exclusive, but its nodes are not its own."
    each = columns.get(PER_NODE, none)
    for row in np.flatnonzero(each > 0):
        tasks = sorted(use.tasks[use.job == row].tolist(), reverse=True)
        wanted = [int(each[row])] * (int(workload.tasks[row]) // int(each[row]))
        rest = int(workload.tasks[row]) % int(each[row])
        if tasks != [*wanted, *([rest] if rest else [])]:
            yield f"{use.whose(row)}: it has {tasks} tasks on its nodes, with {PER_NODE}={each[row]}."


def _devices(use: NodeUse) -> Iterator[str]:
    # Each task has its share of one GPU, or whole GPUs; no GPU is used beyond 1000 thousandths.
    if use.devices is None:
        return
    whole, share = gpus_per_task(use.workload)
    groups = use.federation.groups
    has = np.array([dict(group.resources).get(GPU, 0) for group in groups])[use.federation.group_of_node]
    if not has.any():
        return
    given = Counter((job, node, amount) for job, node, _, amount in use.devices.tolist())
    for job, node, tasks in zip(use.job.tolist(), use.node.tolist(), use.tasks.tolist(), strict=True):
        if use.alone[job]:
            continue
        for part, amount in ((int(whole[job]) * tasks, WHOLE), (tasks * bool(share[job]), int(share[job]))):
            if part != given.pop((job, node, amount), 0) and part:
                what = f"{part} times {amount}/1000 of a GPU"
                yield f"{use.whose(job)}: {use.where(node)} does not give it {what}."
    for job, node, _ in given:
        yield f"{use.whose(job)}: {use.where(node)} gives it a GPU that it did not ask for."
    held: Counter[tuple[int, int]] = Counter()
    events = [(use.finish[job], 0, node, device, -amount, job) for job, node, device, amount in use.devices.tolist()]
    events += [(use.start[job], 1, node, device, amount, job) for job, node, device, amount in use.devices.tolist()]
    for time, _, node, device, amount, job in sorted(events):
        held[node, device] += amount
        if held[node, device] > WHOLE or not 0 <= device < has[node]:
            yield (
                f"{use.whose(job)}: at {time:.15g} GPU {device} of {use.where(node)} has "
                f"{held[node, device]}/1000 in use."
            )


def _claims(
    schedule: Schedule,
    use: NodeUse,
    lost: NodeUse | None,
    claimed: Metrics | None,
    t0: float,
    tolerance: float,
    costs: dict[str, float],
) -> Iterator[str]:
    # Busy energy and time row by row, lost runs included; mean waits; and costs.
    if claimed is None:
        return
    groups, last = schedule.federation.groups, [schedule.finish] if lost is None else [schedule.finish, lost.finish]
    clock = max(float(finish.max()) for finish in last) - t0
    of_node = [groups[g] for g in schedule.federation.group_of_node.tolist()]
    wasted = _node_seconds(lost, t0) if lost is not None else [0.0 for _ in of_node]
    seconds = [mine + other for mine, other in zip(_node_seconds(use, t0), wasted, strict=True)]
    busy = _joules(use, t0) + (0.0 if lost is None else _joules(lost, t0))
    idle = sum(group.idle_watts * (clock - taken) for group, taken in zip(of_node, seconds, strict=True))
    wait = schedule.start - schedule.workload.submit
    expected = {
        "makespan": clock, "utilisation": sum(seconds) / (len(of_node) * clock), "busy_energy": busy,
        "energy": busy + idle, "idle_energy": idle, "mean_wait": float(wait.mean()), "max_wait": float(wait.max()),
        "flow": float((schedule.finish - schedule.workload.submit).sum()), "wasted_node_seconds": sum(wasted),
    }  # fmt: skip
    for name, value in (expected | costs).items():
        given, scale = getattr(claimed, name), abs(busy + idle) * (name == "idle_energy")
        if not abs(given - value) <= 1e3 * tolerance * max(1.0, abs(value), scale):
            yield f"Schedule: {name} is given as {given:.9g}, but start times and nodes make it {value:.9g}."


def _node_seconds(use: NodeUse, t0: float) -> list[float]:
    # The busy seconds of each node, weighted by the share of its cores in use.
    seconds = [0.0] * use.federation.nodes
    for job, node, share in _shares(use):
        seconds[node] += share * float(use.finish[job] - max(use.start[job], t0))
    return seconds


def _joules(use: NodeUse, t0: float) -> float:
    # The energy of jobs, or runs: the watts under each, weighted by its share of the node's cores.
    of_node, drawn = use.federation.group_of_node.tolist(), _drawn(use)
    return sum(
        share * float(use.finish[job] - max(use.start[job], t0)) * float(drawn[job, of_node[node]])
        for job, node, share in _shares(use)
    )


def _drawn(use: NodeUse) -> NDArray[np.float64]:
    # Job (or run) × group: the watts of a node that the job has to itself.
    groups = use.federation.groups
    return drawn_watts(watts_of(use.workload, groups), groups, np.arange(len(use.workload)))


def _above_idle(use: NodeUse) -> NDArray[np.float64]:
    # Job (or run) × group: the watts by which the job's nodes exceed idle ones.
    groups, of_node = use.federation.groups, use.federation.group_of_node.tolist()
    above, drawn = np.zeros((len(use.workload), len(groups))), _drawn(use)
    for job, node, share in _shares(use):
        g = of_node[node]
        above[job, g] += share * (drawn[job, g] - groups[g].idle_watts)
    return above


def _shares(use: NodeUse) -> Iterator[tuple[int, int, float]]:
    # For each row: the job, the node, and the share of the node's cores in use.
    of_node = [use.federation.groups[g] for g in use.federation.group_of_node.tolist()]
    cores = None if use.workload.demand is None else use.workload.demand.columns().get("cpu")
    for job, node, tasks in zip(use.job.tolist(), use.node.tolist(), use.tasks.tolist(), strict=True):
        each = 1 if cores is None else max(1, int(cores[job]))
        yield job, node, 1.0 if use.alone[job] else tasks * each / dict(of_node[node].resources)["cpu"]
