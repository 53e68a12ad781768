"""What is measured on whole schedules of the naive reference, in slow, plain Python.

Written from `docs/readings` ("reading n" below); nothing is imported from the package.
"""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

from reference import naive

if TYPE_CHECKING:
    from reference.naive import Result


class Workflow(NamedTuple):
    """Jobs that are tied by conditions: their indexes, what all of them took, and what they had to take."""

    jobs: list[int]
    makespan: float
    critical_path: float

    @property
    def stretch(self) -> float:
        return self.makespan / self.critical_path


def metrics(result: Result) -> dict[str, float]:
    """Return every metric of a schedule, by name."""
    return naive.metrics(result) | of_workflows(result) | {"drain_loss": drain_loss(result)}


# ------------------------------------------------------------------------------------- workflows (reading 51)


def workflows(result: Result) -> list[Workflow]:
    """Return the workflows all of whose jobs ran to their ends."""
    found = []
    for jobs in tied(result):
        if not any(math.isnan(result.finish[j]) for j in jobs):
            submit = min(result.jobs[j].submit for j in jobs)
            last, least = max(result.finish[j] for j in jobs), max(earliest(result, j)[1] for j in jobs)
            found.append(Workflow(jobs, last - submit, least - submit))
    return found


def of_workflows(result: Result) -> dict[str, float]:
    """Return the metrics of the workflows; NaN where none is finished."""
    done = workflows(result)
    if not done:
        return dict.fromkeys(("workflow_makespan", "mean_stretch", "max_stretch"), math.nan)
    stretches = [one.stretch for one in done]
    return {
        "workflow_makespan": sum(one.makespan for one in done) / len(done),
        "mean_stretch": sum(stretches) / len(done),
        "max_stretch": max(stretches),
    }


def tied(result: Result) -> list[list[int]]:
    """Return the jobs that are tied by conditions, in either direction and by way of others."""
    parts = [{j} for j in range(len(result.jobs))]
    for j, conditions in enumerate(result.ties):
        for _, on, _ in conditions:
            joined = {i for part in parts if part & {j, on} for i in part}
            parts = [part for part in parts if not part & joined] + [joined]
    return [sorted(part) for part in parts if len(part) > 1]


def earliest(result: Result, j: int) -> tuple[float, float]:
    """Return when a job could have started and ended at the earliest, had all nodes been free."""
    job = result.jobs[j]
    moments = [job.submit, job.begin]
    if job.reservation is not None:
        moments.append(result.machine.kept(job.reservation)[0].begin)
    for kind, on, lag in result.ties[j]:
        start, end = earliest(result, on)
        moments.append((start if kind == "after" else end) + lag)
    begin = naive.released(job, max(moments), max(moments))
    runtime = min(job.runtime, job.estimate) if result.kill_at_estimate else job.runtime
    duration = naive.shortest_duration(replace(job, caps=None, estimate=runtime), result.machine)
    if result.start[j] < result.t0:
        duration = min(duration, result.finish[j] - result.start[j])
    return begin, naive.ends_at(begin + duration, begin)


# ------------------------------------------------------------------------------------ drain loss (reading 47)


class Stay(NamedTuple):
    """A run as the schedule has it, or a wait of whom was cancelled, which holds nothing."""

    job: int
    since: float
    start: float
    end: float
    counts: naive.Counts


def drain_loss(result: Result) -> float:
    """Return the node-seconds that idle before known closures while somebody waits whom they keep away."""
    runs = naive.runs_of(result)
    if not runs:
        return 0.0
    if result.machine.timeout is not None:  # who has his nodes waits no more
        result = replace(result, start=result.promised)
    stays = stays_of(result)
    last = max(run.end for run in runs)
    times = {time for stay in stays for time in (stay.since, stay.start, stay.end)} | {result.t0, last}
    times |= {time for one in result.machine.closures for time in (one.begin, one.end, one.known_from)}
    lost = 0.0
    for begin, end in pairwise(sorted(time for time in times if result.t0 <= time <= last)):
        lost += lost_nodes(result, stays, begin) * (end - begin)
    return lost


def stays_of(result: Result) -> list[Stay]:
    """Return who waited from when, and held what until when."""
    stays, since = [], list(result.ready)
    vain: list[tuple[int, float, float]] = []
    for run in sorted(naive.runs_of(result), key=lambda run: run.start):
        *before, (last, _) = naive.unheld(result.jobs[run.job], min(since[run.job], run.start), run.start)
        stays.append(Stay(run.job, last, run.start, run.end, run.counts))
        vain += [(run.job, *one) for one in before]
        since[run.job] = run.end
    nothing = [0 for _ in result.machine.groups]
    for j in result.cancelled:
        vain += [(j, *one) for one in naive.unheld(result.jobs[j], since[j], result.jobs[j].cancel_at)]
    return stays + [Stay(j, begin, left, left, nothing) for j, begin, left in vain if begin < left]


def lost_nodes(result: Result, stays: list[Stay], now: float) -> int:
    """Return how many nodes idle from now until the next instant because of known closures."""
    present = [stay for stay in stays if stay.since <= now]
    running = [(stay.job, stay.counts) for stay in present if stay.start <= now < stay.end]
    left = list(result.machine.pools)
    for j, _ in running:
        left = naive.less(left, result.jobs[j])
    lost, tasks = [0 for _ in result.machine.groups], 0
    for stay in present:
        job = result.jobs[stay.job]
        if not now < stay.start or job.reservation is not None:
            continue
        if naive.over_limit(result.machine, result.jobs, stay.job, running) or not naive.needs_fit(job, left):
            continue
        open_ = [g for g, cap in enumerate(naive.effective_caps(replace(job, caps=None), result.machine)) if cap > 0]
        until = now + naive.shortest_duration(replace(job, caps=None), result.machine)
        kept = kept_away(result.machine, present, now, until, job, open_)
        if kept is not None:
            tasks += job.tasks
            lost = [max(nodes, kept[g]) if g in open_ else nodes for g, nodes in enumerate(lost)]
    return min(tasks, sum(lost))


def kept_away(
    machine: naive.Machine, present: list[Stay], now: float, until: float, job: naive.Job, open_: list[int]
) -> naive.Counts | None:
    """Return what stays free of each group until a closure leaves these too few nodes; None where none does first."""
    known = [one for one in machine.closures if one.known_from <= now]
    least = free_of(machine, known, present, now, started=True)
    times = {time for stay in present for time in (stay.start, stay.end)} | {one.begin for one in known}
    if sum(least[g] * naive.together(job, g) for g in open_) < naive.wanted(job):
        return None
    for time in sorted(time for time in times if now < time < until):
        before = free_of(machine, known, present, time, started=False)
        closed = [min(nodes) for nodes in zip(least, before, strict=True)]
        if sum(closed[g] * naive.together(job, g) for g in open_) < naive.wanted(job):
            return least
        least = [min(nodes) for nodes in zip(closed, free_of(machine, known, present, time, started=True), strict=True)]
        if sum(least[g] * naive.together(job, g) for g in open_) < naive.wanted(job):
            return None
    return None


def free_of(
    machine: naive.Machine, known: list[naive.Closure], present: list[Stay], time: float, *, started: bool
) -> naive.Counts:
    """Return what is free of each group at a time, after the starts of that time or before them."""
    free = [group.count for group in machine.groups]
    for one in known:
        free[one.group] -= one.nodes if one.covers(time) else 0
    for stay in present:
        if (stay.start < time or (started and stay.start == time)) and time < stay.end:
            free = [nodes - x for nodes, x in zip(free, stay.counts, strict=True)]
    return [max(0, nodes) for nodes in free]


# ---------------------------------------------------------------------------------------- signals (reading 65)


class Steps(NamedTuple):
    """A signal: times, values, the end of the last step, what holds beyond, what a joule × value comes to."""

    times: list[float]
    values: list[float]
    until: float
    beyond: str
    weight: float

    def at(self, moment: float) -> float:
        if self.beyond == "repeat":
            period = self.until - self.times[0]
            while moment >= self.until:
                moment -= period
            while moment < self.times[0]:
                moment += period
        assert self.times[0] <= moment
        assert moment < self.until or self.beyond == "last"
        return [value for time, value in zip(self.times, self.values, strict=True) if time <= moment][-1]

    def edges(self, begin: float, end: float) -> list[float]:
        found, shift = list(self.times), self.until - self.times[0]
        if self.beyond == "repeat":
            turns = range(int((begin - self.times[0]) // shift) - 1, int((end - self.times[0]) // shift) + 2)
            found = [time + n * shift for time in self.times for n in turns]
        return [time for time in found if begin < time < end]


def watts_at(result: Result, moment: float) -> list[float]:
    """Return what each cluster draws at a moment."""
    groups = result.machine.groups
    watts = [0.0 for _ in range(1 + max(group.cluster for group in groups))]
    for g, group in enumerate(groups):
        there = [run for run in naive.runs_of(result) if run.start <= moment < run.end]
        watts[group.cluster] += (group.count - sum(run.counts[g] for run in there)) * group.idle
        watts[group.cluster] += sum(run.counts[g] * naive.drawn(result.jobs[run.job], group) for run in there)
    for night in result.nights:
        group = groups[night.group]
        down, up = night.begin + group.shutdown[0], night.end + group.boot[0]
        states = ((night.begin, down, group.shutdown[1]), (down, night.end, group.off), (night.end, up, group.boot[1]))
        for begin, end, state in states:
            if begin <= moment < min(end, night.until):
                watts[group.cluster] += state - group.idle
    return watts


def cost(result: Result, signals: list[Steps]) -> float:
    """Return what the energy of each cluster costs by its signal, piece of time by piece of time."""
    runs = naive.runs_of(result)
    last = max(run.end for run in runs)
    times = {time for run in runs for time in (run.start, run.end)} | {result.t0, last}
    times |= {time for signal in signals for time in signal.edges(result.t0, last)} | changes_of(result)
    total = 0.0
    for begin, end in pairwise(sorted(time for time in times if result.t0 <= time <= last)):
        middle = (begin + end) / 2
        for watts, signal in zip(watts_at(result, middle), signals, strict=True):
            total += watts * signal.at(middle) * signal.weight * (end - begin)
    return total


def changes_of(result: Result) -> set[float]:
    """Return when nodes that go off change their states."""
    found = set()
    for night in result.nights:
        group = result.machine.groups[night.group]
        found |= {night.begin, night.begin + group.shutdown[0], night.end, night.end + group.boot[0], night.until}
    return found


def energy(result: Result) -> float:
    """Return the joules that all nodes draw."""
    always = Steps([-math.inf], [1.0], math.inf, "last", 1.0)
    return cost(result, [always for _ in result.machine.uplinks])


def peak_watts(result: Result) -> float:
    """Return the most that all clusters draw together."""
    runs = naive.runs_of(result)
    times = {result.t0} | {time for run in runs for time in (run.start, run.end)} | changes_of(result)
    last = max(run.end for run in runs)
    return max(sum(watts_at(result, time)) for time in times if result.t0 <= time < last)
