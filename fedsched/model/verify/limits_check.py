"""Check that a schedule keeps its limits on users, accounts, QOS, partitions and arrays [43, 55].

Also a tracker of what is left of each limit. If jobs share nodes, a limit on nodes counts each node once, however many
of a user's jobs use it. It shares no code with the simulation.
"""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.text import one_line
from fedsched.model.machine.limits import limited_names

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from fedsched.model.machine.counters import Counters
    from fedsched.model.schedule.node_use import NodeUse
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.model.verify.lost_nodes_check import Runs


def broken_limits(schedule: Schedule, counters: Counters, runs: Runs) -> Iterator[str]:
    """Yield an error for each counter of a limit that is exceeded, at the first start that exceeds it."""
    of_job = np.argsort(runs.job, kind="stable")
    firsts = np.searchsorted(runs.job[of_job], counters.job, side="left")
    lasts = np.searchsorted(runs.job[of_job], counters.job, side="right")
    begins = np.searchsorted(counters.counter, np.arange(len(counters.names) + 1))
    for c, name in enumerate(counters.names):
        mine = slice(begins[c], begins[c + 1])
        several = lasts[mine] - firsts[mine]  # runs of each job
        rows = of_job[np.repeat(lasts[mine] - np.cumsum(several), several) + np.arange(several.sum())]
        entries = np.repeat(np.arange(begins[c], begins[c + 1]), several)
        part = counters.amounts_used(entries, runs.all.counts[rows])
        start, end = runs.all.start[rows], runs.all.finish[rows]
        times, kind = np.concatenate([end, start]), np.repeat([0, 1], rows.size)
        order = np.lexsort((kind, times))  # ends come before starts
        held = np.cumsum(np.concatenate([-part, part])[order])
        over = np.flatnonzero(held > counters.amount[c])
        if over.size:
            event = order[over[0]]
            job = schedule.workload.id[runs.job[rows[event % rows.size]]]
            yield (
                f"Job {job}: at {times[event]:g} {int(held[over[0]])} are in use under the limit of "
                f"{counters.amount[c]} of {name}."
            )


class LimitsLeft:
    """The amount that is left of each counter of a limit; `take` changes it as runs start and end."""

    def __init__(self, counters: Counters) -> None:
        self._left = counters.amount.tolist()
        self._parts: dict[int, list[tuple[int, int, list[int]]]] = {}
        of_node = [[], *counters.of_node.tolist()]
        columns = (counters.job.tolist(), counters.counter.tolist(), counters.weight.tolist(), counters.row.tolist())
        for job, counter, weight, row in zip(*columns, strict=True):
            self._parts.setdefault(job, []).append((counter, weight, of_node[row + 1]))

    def class_key(self, job: int, tasks: int) -> tuple[tuple[int, int, int], ...]:
        """Return a key of a job by what it uses of limits.

        Of two jobs with the same key, the job with fewer tasks uses no more of any limit.
        """
        parts = [(c, weight) for c, weight, _ in self._parts.get(job, ())]
        return tuple((c, 0, w // tasks) if w > 1 and w % tasks == 0 else (c, w, 0) for c, w in parts)

    def take(self, job: int, counts: Sequence[int], times: int) -> None:
        """Subtract from the limits what a job uses if it runs on these nodes; with times = -1, add it again."""
        for counter, weight, each in self._parts.get(job, ()):
            taken = sum(n * of_node for n, of_node in zip(counts, each, strict=True)) if each else weight
            self._left[counter] -= times * taken

    def full_for(self, job: int) -> bool:
        """Return whether the least that a job may use exceeds what is left of some limit."""
        return any(weight > self._left[counter] for counter, weight, _ in self._parts.get(job, ()))


def broken_node_limits(use: NodeUse) -> Iterator[str]:
    """Yield an error for each limit on nodes that is exceeded if jobs share nodes, at the first start that exceeds it.

    A node counts once, however many jobs use it.
    """
    for limit in use.federation.limits:
        if limit.nodes is None:
            continue
        whose = limited_names(limit, use.workload, use.federation)[use.job]
        for name in sorted(set(whose.tolist()) - {""}):
            called = f"{limit.of} {one_line(name)!r}"
            yield from _too_many(use, np.flatnonzero(whose == name), limit.nodes, called)


def _too_many(use: NodeUse, rows: NDArray[np.int64], most: int, called: str) -> Iterator[str]:
    events = [(float(use.start[use.job[row]]), 1, row) for row in rows.tolist()]
    events += [(float(use.finish[use.job[row]]), 0, row) for row in rows.tolist()]
    on: Counter[int] = Counter()
    for time, begins, row in sorted(events):  # ends come before starts
        node = int(use.node[row])
        on[node] += 1 if begins else -1
        if not on[node]:
            del on[node]
        if len(on) > most:
            yield (
                f"{use.whose(int(use.job[row]))}: at {time:.15g} {len(on)} nodes are in use under the limit of {most} "
                f"of {called}."
            )
            return
