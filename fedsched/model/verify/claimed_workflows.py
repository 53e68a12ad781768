"""Recompute the claimed metrics of workflows from their jobs' conditions, starts and ends.

It shares no code with what computes the claims; reading 51 is implemented anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.constraints.dependencies import Condition, Kind, conditions_of
from fedsched.model.constraints.holds import held_at
from fedsched.model.jobs.admission import usable_groups
from fedsched.model.time.downtimes import RESERVATION
from fedsched.model.verify.tasks_per_node_check import of_different_numbers, places_in, tasks_of

if TYPE_CHECKING:
    from fedsched.model.schedule.schedule import Schedule

    Waits = dict[int, list[tuple[Condition, int]]]  # row: its conditions, each with the row that it refers to


def workflow_measures(schedule: Schedule) -> dict[str, float]:
    """Return the metrics of workflows by name; NaN if no workflow has finished."""
    waits = _waits(schedule)
    makespans, stretches = [], []
    for rows in _tied(waits):
        if np.isnan(schedule.finish[rows]).any():
            continue
        first = min(float(schedule.workload.submit[row]) for row in rows)
        ends = _earliest_ends(schedule, rows, waits)
        makespans.append(max(float(schedule.finish[row]) for row in rows) - first)
        stretches.append(makespans[-1] / (max(ends) - first))
    known = (sum(makespans) / len(makespans), sum(stretches) / len(stretches), max(stretches)) if stretches else ()
    return dict(zip(("workflow_makespan", "mean_stretch", "max_stretch"), known or (np.nan,) * 3, strict=True))


def _waits(schedule: Schedule) -> Waits:
    workload = schedule.workload
    row_of = {job: row for row, job in enumerate(workload.id.tolist())}
    place = list(zip(workload.submit.tolist(), workload.id.tolist(), strict=True))
    alike: dict[tuple[int, str], list[int]] = {}
    for row, key in enumerate(zip(workload.user.tolist(), workload.label("name").tolist(), strict=True)):
        alike.setdefault(key, []).append(row)
    found: Waits = {}
    for row, text in enumerate([] if workload.after is None else workload.after.texts.tolist()):
        for condition in conditions_of(text):
            others = [row_of[condition.on]] if condition.on in row_of else []
            if condition.kind is Kind.SINGLETON:
                like = alike[int(workload.user[row]), workload.label("name")[row]]
                others = [other for other in like if place[other] < place[row]]
            found.setdefault(row, []).extend((condition, other) for other in others)
    return found


def _tied(waits: Waits) -> list[list[int]]:
    beside: dict[int, set[int]] = {}
    for row, conditions in waits.items():
        for _, other in conditions:
            beside.setdefault(row, set()).add(other)
            beside.setdefault(other, set()).add(row)
    found = []
    while beside:
        rows, reached = [], [next(iter(beside))]
        while reached:
            row = reached.pop()
            if row in beside:
                rows.append(row)
                reached += beside.pop(row)
        found.append(sorted(rows))
    return found


def _earliest_ends(schedule: Schedule, rows: list[int], waits: Waits) -> list[float]:
    begins, workload = _not_before(schedule, rows), schedule.workload
    work = np.minimum(workload.runtime, workload.estimate) if schedule.kill_at_estimate else workload.runtime
    part = workload.take(np.array(rows))
    usable, uneven = usable_groups(part, schedule.federation), {*of_different_numbers(workload).tolist()}
    speeds = [(group.speed, group.count) for group in schedule.federation.groups]
    known: dict[int, tuple[float, float]] = {}
    open_ = list(rows)
    while open_:
        row = open_[-1]
        lacking = [other for _, other in waits.get(row, ()) if other not in known]
        if lacking:
            open_ += lacking
            continue
        open_.pop()
        begin = begins[row]
        for condition, other in waits.get(row, ()):
            begin = max(begin, known[other][0 if condition.kind is Kind.AFTER else 1] + condition.lag)
        if (hold := held_at(workload, row, begin)) is not None:
            begin = hold.end
        # All nodes that it may use, the fastest first.
        may = usable[rows.index(row)]
        here, left, slowest = may.astype(np.int64), int(workload.tasks[row]), np.inf
        if row in uneven:  # as many as these hold of its tasks (reading 76)
            here, left = places_in(workload, schedule.federation, row, here), int(tasks_of(workload)[row])
        nodes = sorted(((speed, many * k) for (speed, many), k in zip(speeds, here.tolist(), strict=True) if k),
                       reverse=True)  # fmt: skip
        for speed, count in nodes:
            slowest = min(slowest, speed) if left > 0 else slowest
            left -= count
        sigma = workload.compute_fraction[row]
        run = work[row] * (sigma / slowest + (1.0 - sigma))
        if schedule.start[row] < schedule.t0:
            run = min(run, schedule.finish[row] - schedule.start[row])
        known[row] = begin, max(begin + run, np.nextafter(begin, np.inf))
    return [known[row][1] for row in rows]


def _not_before(schedule: Schedule, rows: list[int]) -> dict[int, float]:
    workload, asked = schedule.workload, schedule.workload.label(RESERVATION)
    reserved = {one.name: one.begin for one in schedule.federation.calendar if one.kind == RESERVATION}
    begin = workload.submit if workload.begin is None else np.maximum(workload.submit, workload.begin.begin)
    return {row: max(float(begin[row]), reserved.get(asked[row], -np.inf)) for row in rows}
