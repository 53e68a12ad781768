"""Whether a schedule keeps to limits, and who waited for them and not for nodes [43].

It shares no code with the engine.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.limits import counters_of

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.model.lost_nodes import Runs
    from fedsched.model.schedule import Schedule


def broken_limits(schedule: Schedule, runs: Runs) -> Iterator[str]:
    """Give each limit that is exceeded, at the first start that does so."""
    counters = counters_of(schedule.workload, schedule.federation)
    start, end = runs.all.start, runs.all.finish
    for c, name in enumerate(counters.names):
        mine = counters.counter == c
        part = np.zeros(len(schedule), dtype=np.int64)
        part[counters.job[mine]] = counters.weight[mine]
        part = part[runs.job]
        times, kind = np.concatenate([end, start]), np.repeat([0, 1], start.size)
        order = np.lexsort((kind, times))  # ends come before starts
        held = np.cumsum(np.concatenate([-part, part])[order])
        over = np.flatnonzero(held > counters.amount[c])
        if over.size:
            event = order[over[0]]
            job = schedule.workload.id[runs.job[event % start.size]]
            yield (
                f"Job {job}: at {times[event]:g} {int(held[over[0]])} are in use under the limit of "
                f"{counters.amount[c]} of {name}."
            )


class Shares:
    """What is left of limits as time goes by."""

    def __init__(self, schedule: Schedule) -> None:
        counters = counters_of(schedule.workload, schedule.federation)
        self._left = counters.amount.tolist()
        self._parts: dict[int, list[tuple[int, int]]] = {}
        columns = (counters.job.tolist(), counters.counter.tolist(), counters.weight.tolist())
        for job, counter, weight in zip(*columns, strict=True):
            self._parts.setdefault(job, []).append((counter, weight))

    @property
    def any(self) -> bool:
        """Return whether anybody is limited."""
        return bool(self._parts)

    def give(self, job: int, times: int) -> None:
        """Let a job have its parts, or with times = -1 give them back."""
        for counter, weight in self._parts.get(job, ()):
            self._left[counter] -= times * weight

    def full_for(self, job: int) -> bool:
        """Return whether a job would take more than is left."""
        return any(weight > self._left[counter] for counter, weight in self._parts.get(job, ()))
