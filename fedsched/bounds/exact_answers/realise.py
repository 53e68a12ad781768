"""The step from a solver's starts and node counts to a schedule in true times, and heuristic first schedules."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.constraints.cancellations import may_be_cancelled
from fedsched.model.constraints.dependencies import Condition, Dependencies, Kind
from fedsched.model.constraints.feedback import followers_of, submits_after
from fedsched.model.reading import CLAIRVOYANT
from fedsched.model.schedule.integrals import Integrals

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.bounds.exact_answers.rules import Break, ExactRules
    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.schedule import Schedule


def true_schedule(
    workload: Workload,
    federation: Federation,
    relaxation: Relaxation,
    starts: Ints,
    class_counts: Ints,
    rules: ExactRules,
) -> Schedule:
    """Return the schedule in which jobs start in the solver's order, each on its nodes as soon as they are free.

    With contention the jobs are simulated in that order, and may take longer. Jobs without nodes never start.
    """
    from fedsched.model.schedule.schedule import Schedule
    from fedsched.policies import Rules
    from fedsched.simulate import simulate

    there = np.asarray(class_counts.any(axis=1))
    order = _in_order(starts, there, rules)
    start, finish, counts = _shifted(federation, relaxation, order, class_counts, rules)
    notes = ("the exact model's schedule",)
    if relaxation.uncontended or np.isnan(start).all():
        return Schedule(workload=as_submitted(workload, finish), federation=federation, start=start, finish=finish,
                        counts=counts, t0=relaxation.t0, policy="exact", reading=CLAIRVOYANT,
                        integrals=Integrals(saturated_seconds=0.0), notes=notes)  # fmt: skip
    # With contention jobs may take longer, and later jobs start later; the event loop computes by how much. Jobs that
    # never start have left by then.
    rows = np.flatnonzero(~np.isnan(start))
    place = {row: i for i, row in enumerate(rows.tolist())}
    in_order = Rules(order=np.array([place[j] for j in order if j in place]), dispatch="strict", placement="powerful")
    bound = replace(workload, after=_all_dependencies(workload), feedback=None, allowed=None).take(rows)
    bound = replace(bound, submit=np.maximum(start[rows], 0.0))
    run = simulate(bound, federation, in_order, reading=CLAIRVOYANT, caps=counts[rows], t0=relaxation.t0)
    for all_jobs, those in ((start, run.start), (finish, run.finish), (counts, run.counts)):
        all_jobs[rows] = those
    # (In that run no job waits, so its loss of capacity is left out; saturation does not depend on waits.)
    known = Integrals(saturated_seconds=run.saturated_seconds)
    return Schedule(workload=as_submitted(workload, finish), federation=federation, start=start, finish=finish,
                    counts=counts, t0=relaxation.t0, policy="exact", reading=CLAIRVOYANT, integrals=known, notes=notes,
                    lost=run.lost._replace(job=rows[run.lost.job]), until=run.until)  # fmt: skip


def as_submitted(workload: Workload, finish: Floats) -> Workload:
    """Return the workload with the submit times that follow if jobs end at these times [45].

    NaN: the job never starts. Without jobs that follow others the workload is unchanged.
    """
    if workload.feedback is None:
        return workload
    gone, over = np.isnan(finish) & may_be_cancelled(workload), np.array(finish)
    if workload.cancel_at is not None:
        over[gone] = workload.cancel_at.times[gone]
    return replace(workload, submit=submits_after(workload, over, gone))


def _all_dependencies(workload: Workload) -> Dependencies | None:
    """Return the jobs' dependencies, plus the wait of each job for the end of the job that it follows."""
    rows, on, think = followers_of(workload)
    if not rows.size:
        return workload.after
    texts = [""] * len(workload) if workload.after is None else workload.after.texts.tolist()
    for row, other, seconds in zip(rows.tolist(), workload.id[on].tolist(), think.tolist(), strict=True):
        texts[row] += f",{Condition(Kind.AFTERANY, other, seconds)}"
    return Dependencies.of(texts, workload.id)


def _in_order(starts: Ints, there: NDArray[np.bool_], rules: ExactRules) -> list[int]:
    """Return the jobs in order of start; of equal starts, a job comes after those that it waits for.

    Jobs that do not start (`there` is false) come first.
    """
    left = np.lexsort((starts, there)).tolist()
    waited_for = [{wait.on for wait in rules.of_job(j) if there[wait.on]} for j in range(starts.size)]
    order: list[int] = []
    while left:
        placed = set(order)
        order.append(next(j for j in left if not there[j] or waited_for[j] <= placed))
        left.remove(order[-1])
    return order


def _shifted(
    federation: Federation, relaxation: Relaxation, order: list[int], class_counts: Ints, rules: ExactRules
) -> tuple[NDArray[np.float64], NDArray[np.float64], NDArray[np.int64]]:
    """Return start, finish and group counts of jobs that start in this order, each as early as its nodes are free.

    A job without nodes, or with nodes free too late, leaves at its time: start and finish are NaN. A job never
    starts if what it waits for never happens.
    """
    jobs, groups = relaxation.tasks.size, len(federation.groups)
    counts = np.zeros((jobs, groups), dtype=np.int64)
    nodes = np.array([group.count for group in federation.groups])
    class_of = relaxation.group_class
    start: dict[int, float] = {}
    finish: dict[int, float] = {}  # or the time at which the job has left
    running: list[int] = []
    last = relaxation.t0
    for j in order:
        until = rules.leaves_at(j)
        now = max(last, relaxation.t0 + relaxation.release[j], *(wait.over(start, finish) for wait in rules.of_job(j)))
        running = [i for i in running if finish[i] > last]
        while class_counts[j].any() and (now := rules.held_until(j, now)) < until:
            used = relaxation.class_slowdown[class_counts[j] > 0].max()
            end = max(now + float(relaxation.duration[j, used]), np.nextafter(now, np.inf))
            still = [i for i in running if finish[i] > now]
            free = nodes - counts[still].sum(axis=0)
            room = all(
                sum(stock.used(i, class_counts[i].tolist()) for i in (*still, j)) <= stock.amount
                for stock in rules.stocks
            )
            if room and _is_free(class_counts[j], free, class_of, rules.breaks, counts, finish, still, now, end):
                break
            now = min([finish[i] for i in still] + [one.end for one in rules.breaks if one.end > now])
        else:
            if until < np.inf:
                finish[j] = until
            continue
        for c in range(relaxation.nodes.size):
            wanted = int(class_counts[j, c])
            for g in np.flatnonzero(class_of == c).tolist():
                taken = min(wanted, int(free[g]))
                counts[j, g] = taken
                wanted -= taken
        start[j], finish[j] = now, end
        running.append(j)
        last = now
    begun, over = (np.array([times.get(j, np.nan) if j in start else np.nan for j in range(jobs)])
                   for times in (start, finish))  # fmt: skip
    return begun, over, counts


def _is_free(
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
    """Return whether this many nodes of each class are free and not closed from `now` until `end`."""
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
    """Return the schedules of 15 list heuristics (5 orders, 3 placements), which a search must beat."""
    from fedsched.policies import Rules
    from fedsched.simulate import simulate

    waiting = replace(workload, estimate=workload.runtime, alternatives=None)
    if workload.cancel_at is None:  # nothing is submitted before t0
        waiting = replace(waiting, submit=np.maximum(workload.submit, relaxation.t0))
    made = []
    for order in ("fcfs", "ljf", "laf", "largest", "sjf"):
        for placement in ("fastest", "efficient", "powerful"):
            rules = Rules(order=order, dispatch="greedy", placement=placement)
            made.append(simulate(waiting, federation, rules, reading=CLAIRVOYANT, caps=caps, t0=relaxation.t0))
    return [replace(schedule, workload=as_submitted(workload, schedule.finish)) for schedule in made]
