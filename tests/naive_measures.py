"""What is measured on whole schedules of the naive reference, in slow, plain Python.

Written from `docs/readings.md` ("reading n" below); nothing is imported from the package.
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import NamedTuple

import naive
from naive import Result


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
    return naive.metrics(result) | of_workflows(result)


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
    begin = max(moments)
    runtime = min(job.runtime, job.estimate) if result.kill_at_estimate else job.runtime
    duration = naive.shortest_duration(replace(job, caps=None, estimate=runtime), result.machine)
    if result.start[j] < result.t0:
        duration = min(duration, result.finish[j] - result.start[j])
    return begin, naive.ends_at(begin + duration, begin)
