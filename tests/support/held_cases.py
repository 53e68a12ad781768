"""Three jobs one after the other on one machine, some of them held: for tests of holds by hand."""

from __future__ import annotations

from typing import Any

import fedsched as fs

MACHINE = fs.Federation.homogeneous(4, name="m")


def log(held: Any, **columns: Any) -> fs.Workload:
    """Return three jobs that arrive one after the other, each of all nodes for 10 s, some of them held."""
    given: dict[str, Any] = {"submit": [0.0, 1.0, 2.0], "tasks": 4, "runtime": 10.0}
    return fs.Workload(**(given | columns), held=held)


def starts(jobs: fs.Workload, dispatch: str, **options: Any) -> list[float]:
    """Return the starts, of a schedule that is checked whole."""
    schedule = fs.simulate(jobs, MACHINE, fs.Rules(dispatch=dispatch), **options)
    schedule.verify(claimed=schedule.metrics())
    return schedule.start.tolist()
