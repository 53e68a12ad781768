"""From a solver's starts and class counts to a schedule in true times, and schedules to begin a search with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.integrals import Integrals
from fedsched.model.reading import CLAIRVOYANT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.bounds.relaxation import Ints, Relaxation
    from fedsched.model.federation import Federation
    from fedsched.model.schedule import Schedule
    from fedsched.model.workload import Workload


def realised(
    workload: Workload, federation: Federation, relaxation: Relaxation, starts: Ints, class_counts: Ints
) -> Schedule:
    """Return the schedule in which the jobs start in this order, each on its nodes as soon as they are free."""
    from fedsched.model.schedule import Schedule
    from fedsched.policies import Rules
    from fedsched.simulate import simulate

    order = np.argsort(starts, kind="stable")
    start, finish, counts = _shifted(federation, relaxation, order.tolist(), class_counts)
    notes = ("the exact model's schedule",)
    if relaxation.uncontended:
        return Schedule(workload=workload, federation=federation, start=start, finish=finish, counts=counts,
                        t0=relaxation.t0, policy="exact", reading=CLAIRVOYANT,
                        integrals=Integrals(saturated_seconds=0.0), notes=notes)  # fmt: skip
    # With contention jobs may take longer, and those behind them start later: the event loop knows how much.
    rules = Rules(order=order, dispatch="strict", placement="powerful")
    open_to_all = replace(workload, submit=np.maximum(start, 0.0), allowed=None)
    run = simulate(open_to_all, federation, rules, reading=CLAIRVOYANT, caps=counts, t0=relaxation.t0)
    # (What idles beside a waiting job was counted as if nobody waited; links do not know who waits.)
    known = Integrals(saturated_seconds=run.saturated_seconds)
    return replace(run, workload=workload, policy="exact", notes=notes, integrals=known)


def _shifted(
    federation: Federation, relaxation: Relaxation, order: list[int], class_counts: Ints
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return start, finish and group counts of the jobs in this order, each as early as its nodes are free."""
    jobs, groups = relaxation.tasks.size, len(federation.groups)
    start, finish = np.zeros(jobs), np.zeros(jobs)
    counts = np.zeros((jobs, groups), dtype=np.int64)
    free = np.array([group.count for group in federation.groups])
    class_of = relaxation.group_class
    running: list[int] = []
    now = relaxation.t0
    for j in order:
        now = max(now, relaxation.t0 + relaxation.release[j])
        for i in sorted(running, key=lambda i: finish[i]):
            fits = all(free[class_of == c].sum() >= class_counts[j, c] for c in range(relaxation.nodes.size))
            if finish[i] > now and fits:
                break
            now = max(now, finish[i])
            free += counts[i]
            running.remove(i)
        for c in range(relaxation.nodes.size):
            wanted = int(class_counts[j, c])
            for g in np.flatnonzero(class_of == c).tolist():
                taken = min(wanted, int(free[g]))
                counts[j, g] = taken
                wanted -= taken
        free -= counts[j]
        used = relaxation.class_slowdown[class_counts[j] > 0].max()
        start[j], finish[j] = now, max(now + relaxation.duration[j, used], np.nextafter(now, np.inf))
        running.append(j)
    return start, finish, counts


def heuristic_starts(
    workload: Workload, federation: Federation, relaxation: Relaxation, caps: NDArray[np.int64] | None
) -> list[Schedule]:
    """Return the schedules of a few list heuristics, never none: what a search begins with and must beat."""
    from fedsched.policies import Rules
    from fedsched.simulate import simulate

    waiting = replace(workload, submit=relaxation.t0 + relaxation.release, estimate=workload.runtime)
    made = []
    for order in ("fcfs", "ljf", "laf", "largest", "sjf"):
        for placement in ("fastest", "efficient", "powerful"):
            rules = Rules(order=order, dispatch="greedy", placement=placement)
            made.append(simulate(waiting, federation, rules, caps=caps, t0=relaxation.t0))
    return [replace(schedule, workload=workload) for schedule in made]
