"""Check of which jobs start and from when on they may, and that pools suffice: readings 30, 34, 35 and 44.

It shares no code with the simulation; the readings are implemented anew.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.constraints.dependencies import Condition, Kind, conditions_of
from fedsched.model.constraints.holds import eligible_after_holds
from fedsched.model.time.downtimes import RESERVATION
from fedsched.model.verify.lost_nodes_check import job_name
from fedsched.model.verify.queue_check import followed, unstarted

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule


def broken_starts(schedule: Schedule, hopeless: NDArray[np.bool_], cancelled: NDArray[np.bool_]) -> Iterator[str]:
    """Yield an error for each job that starts but cannot, that can start but does not, or that starts without a finish.

    Also for each id that occurs twice, and each infinite time. `hopeless` jobs cannot start; `cancelled` jobs need not.
    """
    ids, times = np.unique(schedule.workload.id, return_counts=True)
    for job in ids[times > 1]:
        yield f"Job {job}: its id occurs in more than one row."
    for row in np.flatnonzero(hopeless & ~np.isnan(schedule.start)):
        yield f"{job_name(schedule, row)}: it starts at {schedule.start[row]:g}, but its conditions cannot hold."
    killed = np.isin(np.arange(len(schedule)), schedule.lost.killed)
    for row in np.flatnonzero(killed & ~np.isnan(schedule.start)):
        yield f"{job_name(schedule, row)}: it starts at {schedule.start[row]:g}, but was killed."
    for row in np.flatnonzero(np.isnan(schedule.start) & ~hopeless & ~killed & ~cancelled):
        yield f"{job_name(schedule, row)}: it was never started."
    for row in np.flatnonzero(~np.isnan(schedule.start) & np.isnan(schedule.finish)):
        yield f"{job_name(schedule, row)}: it was started at {schedule.start[row]:g} but has no finish."
    for row in np.flatnonzero(np.isinf(schedule.start) | np.isinf(schedule.finish)):
        yield f"{job_name(schedule, row)}: start or finish is not finite."


def hopeless_in(schedule: Schedule, gone: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """Return which jobs never start: a condition cannot hold or is on such a job, or the job missed its reservation.

    Conditions on the jobs `gone`, which were cancelled, may hold: such a job ends at its cancellation [35, 44, 46].
    """
    workload = schedule.workload
    names = [one.name for one in schedule.federation.calendar if one.kind == RESERVATION]
    hopeless = np.isin(workload.label(RESERVATION).astype(np.str_), names) & np.isnan(schedule.start)
    hopeless[schedule.lost.killed] = False
    waits = list(_waits(schedule))
    status = np.full(len(workload), 1.0) if workload.log is None else np.asarray(workload.log.status)
    cancelled, badly = status == 5.0, status == 0.0
    if schedule.kill_at_estimate:
        badly = badly | ((workload.estimate < workload.runtime) & ~cancelled)
    badly[schedule.lost.killed], cancelled[schedule.lost.killed] = True, False
    cancelled, badly = cancelled | gone, badly & ~gone
    unseen = gone & ~np.isin(np.arange(len(workload)), schedule.lost.job)
    for row, condition, others in waits:
        unmet = {
            Kind.AFTER: unseen, Kind.AFTEROK: badly | cancelled, Kind.AFTERNOTOK: ~badly | cancelled
        }.get(condition.kind)  # fmt: skip
        hopeless[row] |= unmet is not None and bool(unmet[others].any())
    known = -1
    while known < (known := int(hopeless.sum())):
        for row, _, others in waits:
            hopeless[row] |= bool((hopeless & ~gone)[others].any())
    return hopeless


def broken_conditions(schedule: Schedule) -> Iterator[str]:
    """Yield an error for each job that starts before its earliest start, or before one of its conditions holds [34]."""
    (start, finish), workload = _begun_and_over(schedule), schedule.workload
    if workload.begin is not None:
        begin = workload.begin.begin
        for early in np.flatnonzero(start < begin):
            yield (
                f"{job_name(schedule, early)}: it starts at {start[early]:g}, before its earliest start at "
                f"{begin[early]:g}."
            )
    for row, condition, others in _waits(schedule):
        for other in others:
            since = (start if condition.kind is Kind.AFTER else finish)[other] + condition.lag
            if start[row] < since:
                yield f"{job_name(schedule, row)}: it starts at {start[row]:g}, before {condition} holds at {since:g}."


def eligible_in(schedule: Schedule) -> NDArray[np.float64]:
    """Return the time in seconds from which each job might start: the latest of its submit and all its conditions.

    These are earliest starts, delays of plans, reservations, other jobs and holds [34, 46, 51].
    """
    (start, finish), workload = _begun_and_over(schedule), schedule.workload
    since = np.array(workload.submit)
    if workload.begin is not None:
        since = np.maximum(since, workload.begin.begin)
    if schedule.delays is not None:
        put_off = schedule.delays > 0.0
        since[put_off] = np.maximum(since, schedule.t0)[put_off] + schedule.delays[put_off]
    begins = {one.name: one.begin for one in schedule.federation.calendar if one.kind == RESERVATION}
    for row, name in enumerate(workload.label(RESERVATION).tolist() if begins else ()):
        since[row] = max(since[row], begins.get(name, since[row]))
    for row, condition, others in _waits(schedule):
        for other in others:
            since[row] = max(since[row], (start if condition.kind is Kind.AFTER else finish)[other] + condition.lag)
    return eligible_after_holds(schedule, since)


def _waits(schedule: Schedule) -> Iterator[tuple[int, Condition, list[int]]]:
    # Each condition of each job, with the rows that it refers to (reading 34).
    workload = schedule.workload
    row_of = {job: row for row, job in enumerate(workload.id.tolist())}
    for row, on, think in followed(workload):
        yield row, Condition(Kind.AFTERANY, int(workload.id[on]), think), [on]
    if workload.after is None:
        return
    names = workload.label("name").tolist()
    alike: dict[tuple[int, str], list[int]] = {}
    for row in range(len(workload)):
        alike.setdefault((int(workload.user[row]), names[row]), []).append(row)
    key_of = {row: key for key, rows in alike.items() for row in rows}
    for row, text in enumerate(workload.after.texts.tolist()):
        for condition in conditions_of(text):
            if condition.kind is not Kind.SINGLETON:
                yield row, condition, [row_of[condition.on]] if condition.on in row_of else []
                continue
            mine = (workload.submit[row], workload.id[row])
            before = [i for i in alike[key_of[row]] if (workload.submit[i], workload.id[i]) < mine]
            yield row, condition, before


def _begun_and_over(schedule: Schedule) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    # A job that lost its nodes counts as started, and a killed or cancelled one as ended (readings 42 and 44).
    start, finish, workload, lost = schedule.start.copy(), schedule.finish.copy(), schedule.workload, schedule.lost
    np.fmin.at(start, lost.job, lost.start)
    finish[lost.killed] = lost.end[~lost.requeued]
    if workload.cancel_at is not None:
        gone = unstarted(schedule)
        finish[gone] = workload.cancel_at.cancel_at[gone]
    return start, finish


def broken_pools(schedule: Schedule) -> Iterator[str]:
    """Yield an error for each pool of which jobs hold more than its amount, at the first start that exceeds it [30]."""
    start, finish, needs = schedule.start, schedule.finish, schedule.workload.pools
    if needs is None:
        return
    times, kind = np.concatenate([finish, start]), np.repeat([0, 1], len(start))
    order = np.lexsort((kind, times))
    for pool in schedule.federation.pools:
        if pool.name not in needs.names:
            continue
        need = needs.amounts[:, needs.names.index(pool.name)]
        held = np.cumsum(np.concatenate([-need, need])[order])
        over = np.flatnonzero(held > pool.amount)
        if over.size:
            event = order[over[0]]
            yield (
                f"{job_name(schedule, int(event % len(start)))}: at {times[event]:g} {int(held[over[0]])} of pool "
                f"{pool.name!r} are in use, but there are only {pool.amount}."
            )
