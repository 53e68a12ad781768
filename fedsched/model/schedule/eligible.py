"""Eligible times: from when on each job of a schedule might start, by its submit and its conditions [34]."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.model.constraints.dependencies import Kind, broken_edges, edges_of
from fedsched.model.constraints.slack import delayed_until
from fedsched.model.time.reservations import earliest_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.schedule.schedule import Schedule


def eligible_since(schedule: Schedule) -> NDArray[np.float64]:
    """Return the time in seconds from which each job might start; NaN if the time is not known or never came.

    This is `ready_since`, or the end of the job's last hold before its start if that is later [73].
    """
    moment, held = ready_since(schedule), schedule.workload.held
    if held is None:
        return moment
    given = schedule.start if schedule.promises is None else schedule.promises.time  # then it has its nodes
    until = np.where(np.isnan(schedule.start), last_waited(schedule), given)
    rows = zip(range(moment.size), moment.tolist(), until.tolist(), strict=True)
    return np.array([held.eligible_from(row, *times) for row, *times in rows], dtype=np.float64)


def last_waited(schedule: Schedule) -> NDArray[np.float64]:
    """Return, for each job, the time at which it was cancelled in the queue; t0 for jobs that were not cancelled."""
    until = np.full(len(schedule), schedule.t0)
    if schedule.workload.cancel_at is not None:
        gone = schedule.cancelled
        until[gone] = schedule.workload.cancel_at.times[gone]
    return until


def ready_since(schedule: Schedule) -> NDArray[np.float64]:
    """Return the time in seconds from which each job might start if holds that begin later are ignored.

    It is the latest of the submit, the earliest start, the plan's delay, and the times at which conditions on other
    jobs hold. NaN if a condition cannot hold, or holds at an unknown time.
    """
    workload = schedule.workload
    alone = workload.after is None and workload.begin is None and workload.feedback is None and workload.held is None
    if alone and schedule.delays is None and not schedule.federation.calendar:
        return np.array(workload.submit)
    moment = np.maximum(workload.submit, delayed_until(schedule))
    earliest = earliest_starts(workload, schedule.federation)
    if earliest is not None:
        moment = np.maximum(moment, earliest)
    edges = edges_of(workload)
    begun, over, lost = np.array(schedule.start), np.array(schedule.finish), schedule.lost
    np.fmin.at(begun, lost.job, lost.start)  # the first run counts if there are several
    over[lost.killed] = lost.end[~lost.requeued]
    gone = schedule.cancelled
    if workload.cancel_at is not None:
        over[gone] = workload.cancel_at.times[gone]
    since = np.where(edges.kind == Kind.AFTER, begun[edges.on], over[edges.on]) + edges.lag
    since[broken_edges(workload, schedule.reading, edges, killed=lost.killed, cancelled=gone, begun=lost.job)] = np.nan
    with np.errstate(invalid="ignore"):
        np.maximum.at(moment, edges.job, since)
    return moment
