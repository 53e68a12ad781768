"""EASY and conservative backfilling as batsched decides, Batsim's scheduler: reservations are of numbered nodes."""

from __future__ import annotations

import heapq
from typing import NamedTuple


class Job(NamedTuple):
    """A job that runs alone on its nodes for a known time."""

    submit: float
    nodes: int
    walltime: float
    runtime: float


Window = tuple[float, float, frozenset[int]]  # begin, end, nodes


def first_fit(taken: list[Window], now: float, job: Job, machine: int) -> Window:
    """Return the earliest window in which the same nodes are free throughout: the lowest numbers of these."""
    for begin in sorted({now, *(end for _, end, _ in taken if end > now)}):
        end = begin + job.walltime
        busy = frozenset().union(*(nodes for first, last, nodes in taken if first < end and last > begin))
        free = [node for node in range(machine) if node not in busy]
        if len(free) >= job.nodes:
            return begin, end, frozenset(free[: job.nodes])
    raise ValueError(f"{job} is larger than the machine")


def starts(jobs: list[Job], machine: int, policy: str) -> list[float]:
    """Return when jobs start, which are in the order of their submits."""
    begun = [0.0] * len(jobs)
    ends: list[tuple[float, int]] = []
    running: dict[int, Window] = {}
    planned: dict[int, Window] = {}
    waiting: list[int] = []
    arrived = 0
    while arrived < len(jobs) or ends:
        now = min([job.submit for job in jobs[arrived : arrived + 1]] + [end for end, _ in ends[:1]])
        ended = False
        while ends and ends[0][0] <= now:
            del running[heapq.heappop(ends)[1]]
            ended = True
        while arrived < len(jobs) and jobs[arrived].submit <= now:
            waiting.append(arrived)
            arrived += 1
        if policy == "easy":
            planned.clear()
        left = []
        for k in waiting:
            if k in planned and not ended:
                left.append(k)
                continue
            planned.pop(k, None)  # Conservative: a job moves ahead among the plans of all others.
            window = first_fit([*running.values(), *planned.values()], now, jobs[k], machine)
            if window[0] == now:
                begun[k], running[k] = now, window
                heapq.heappush(ends, (now + min(jobs[k].runtime, jobs[k].walltime), k))
                continue
            left.append(k)
            if policy == "conservative" or not planned:  # EASY plans its first waiting job only.
                planned[k] = window
        waiting = left
    return begun
