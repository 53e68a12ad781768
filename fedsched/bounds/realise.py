"""From a solver's starts and class counts to a schedule in true times, and schedules to begin a search with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.integrals import Integrals
from fedsched.model.reading import CLAIRVOYANT

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.bounds.exact_rules import Break, ExactRules
    from fedsched.bounds.relaxation import Ints, Relaxation
    from fedsched.model.federation import Federation
    from fedsched.model.schedule import Schedule
    from fedsched.model.workload import Workload


def realised(
    workload: Workload,
    federation: Federation,
    relaxation: Relaxation,
    starts: Ints,
    class_counts: Ints,
    rules: ExactRules,
) -> Schedule:
    """Return the schedule in which the jobs start in this order, each on its nodes as soon as they are free."""
    from fedsched.model.schedule import Schedule
    from fedsched.policies import Rules
    from fedsched.simulate import simulate

    order = np.array(_in_order(starts, rules))
    start, finish, counts = _shifted(federation, relaxation, order.tolist(), class_counts, rules)
    notes = ("the exact model's schedule",)
    if relaxation.uncontended:
        return Schedule(workload=workload, federation=federation, start=start, finish=finish, counts=counts,
                        t0=relaxation.t0, policy="exact", reading=CLAIRVOYANT,
                        integrals=Integrals(saturated_seconds=0.0), notes=notes)  # fmt: skip
    # With contention jobs may take longer, and those behind them start later: the event loop knows how much.
    in_order = Rules(order=order, dispatch="strict", placement="powerful")
    open_to_all = replace(workload, submit=np.maximum(start, 0.0), allowed=None)
    run = simulate(open_to_all, federation, in_order, reading=CLAIRVOYANT, caps=counts, t0=relaxation.t0)
    # (What idles beside a waiting job was counted as if nobody waited; links do not know who waits.)
    known = Integrals(saturated_seconds=run.saturated_seconds)
    return replace(run, workload=workload, policy="exact", notes=notes, integrals=known)


def _in_order(starts: Ints, rules: ExactRules) -> list[int]:
    """Return the jobs by their starts, of those that start together whoever is waited for before who waits."""
    left = np.argsort(starts, kind="stable").tolist()
    order: list[int] = []
    while left:
        placed = set(order)
        order.append(next(j for j in left if all(wait.on in placed for wait in rules.of_job(j))))
        left.remove(order[-1])
    return order


def _shifted(
    federation: Federation, relaxation: Relaxation, order: list[int], class_counts: Ints, rules: ExactRules
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return start, finish and group counts of the jobs in this order, each as early as its nodes are free."""
    jobs, groups = relaxation.tasks.size, len(federation.groups)
    counts = np.zeros((jobs, groups), dtype=np.int64)
    free = np.array([group.count for group in federation.groups])
    class_of = relaxation.group_class
    start: dict[int, float] = {}
    finish: dict[int, float] = {}
    running: list[int] = []
    now = relaxation.t0
    for j in order:
        now = max(now, relaxation.t0 + relaxation.release[j], *(wait.over(start, finish) for wait in rules.of_job(j)))
        used = relaxation.class_slowdown[class_counts[j] > 0].max()
        duration = float(relaxation.duration[j, used])
        while True:
            end = max(now + duration, np.nextafter(now, np.inf))
            for i in [i for i in running if finish[i] <= now]:
                free += counts[i]
                running.remove(i)
            if _room(class_counts[j], free, class_of, rules.breaks, counts, finish, running, now, end):
                break
            now = min([finish[i] for i in running] + [one.end for one in rules.breaks if one.end > now])
        for c in range(relaxation.nodes.size):
            wanted = int(class_counts[j, c])
            for g in np.flatnonzero(class_of == c).tolist():
                taken = min(wanted, int(free[g]))
                counts[j, g] = taken
                wanted -= taken
        free -= counts[j]
        start[j], finish[j] = now, end
        running.append(j)
    return np.array([start[j] for j in range(jobs)]), np.array([finish[j] for j in range(jobs)]), counts


def _room(
    wanted: Ints,
    free: Ints,
    class_of: Ints,
    breaks: Sequence[Break],
    counts: Ints,
    finish: Mapping[int, float],
    running: list[int],
    now: float,
    end: float,
) -> bool:
    """Return whether so many nodes of each class are free from now on until `end`, and open."""
    for c in np.flatnonzero(wanted).tolist():
        nodes = int(free[class_of == c].sum())
        if wanted[c] > nodes:
            return False
        mine = [one for one in breaks if one.node_class == c and now < one.end and one.begin < end]
        for begin in {max(now, one.begin) for one in mine}:
            open_then = nodes + sum(int(counts[i][class_of == c].sum()) for i in running if finish[i] <= begin)
            if wanted[c] > open_then - sum(one.nodes for one in mine if one.begin <= begin < one.end):
                return False
    return True


def heuristic_starts(
    workload: Workload, federation: Federation, relaxation: Relaxation, caps: NDArray[np.int64] | None
) -> list[Schedule]:
    """Return the schedules of a few list heuristics, never none: what a search begins with and must beat."""
    from fedsched.policies import Rules
    from fedsched.simulate import simulate

    submit = np.maximum(workload.submit, relaxation.t0)
    waiting = replace(workload, submit=submit, estimate=workload.runtime, alternatives=None)
    made = []
    for order in ("fcfs", "ljf", "laf", "largest", "sjf"):
        for placement in ("fastest", "efficient", "powerful"):
            rules = Rules(order=order, dispatch="greedy", placement=placement)
            made.append(simulate(waiting, federation, rules, reading=CLAIRVOYANT, caps=caps, t0=relaxation.t0))
    return [replace(schedule, workload=workload) for schedule in made]
