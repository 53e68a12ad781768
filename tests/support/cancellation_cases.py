"""Logs of jobs that may be cancelled, and the run of one, checked."""

from __future__ import annotations

import fedsched as fs

LONG = 100.0


def jobs(submit: list[float], tasks: list[int], cancel_at: list[float], **columns: object) -> fs.Workload:
    """Return jobs of 100 s each, 1, 2, …"""
    runtime = columns.pop("runtime", [LONG] * len(submit))
    return fs.Workload(submit=submit, tasks=tasks, runtime=runtime, cancel_at=cancel_at, **columns)


def run(workload: fs.Workload, nodes: int = 2, dispatch: str = "easy", **options: object) -> fs.Schedule:
    """Return the schedule, checked with its metrics."""
    machine = options.pop("machine", fs.Federation.homogeneous(nodes))
    schedule = fs.simulate(workload, machine, fs.Rules(dispatch=dispatch), **options)
    schedule.verify(claimed=schedule.metrics())
    return schedule
