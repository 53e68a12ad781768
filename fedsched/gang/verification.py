"""Find violations of the model in a GangSchedule, from its record alone, independently of the kernel that made it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from fedsched.gang.schedule import GangSchedule

TOLERANCE = 1e-9


def violations(schedule: GangSchedule) -> Iterator[str]:
    """Yield every violation of the model by a gang schedule, a line each."""
    yield from _stretches(schedule)
    yield from _lengths(schedule)
    yield from _overlaps(schedule)
    yield from _stops(schedule)


def _name(schedule: GangSchedule, job: np.integer[Any] | int) -> str:
    return f"Job {schedule.workload.id[job]}"


def _stretches(schedule: GangSchedule) -> Iterator[str]:
    """Yield a line for each stretch before its job's submit, on wrong sites, or without a processor for each task."""
    system, workload = schedule.system, schedule.workload
    ends = np.cumsum(system.processors)
    one_site = system.grid != "multi_site" or system.approach == 1
    for k, job in enumerate(schedule.segment_job):
        used = schedule.segment_processor[schedule.segment_first[k] : schedule.segment_first[k + 1]]
        name, tasks = _name(schedule, job), workload.tasks[job]
        if used.size != tasks or np.unique(used).size != tasks or used.min() < 0 or used.max() >= system.total:
            yield f"{name}: {tasks} tasks need as many distinct processors, not {used.tolist()}."
            continue
        if schedule.segment_start[k] < workload.submit[job]:
            yield f"{name}: start {schedule.segment_start[k]} lies before its submit {workload.submit[job]}."
        sites = np.unique(np.searchsorted(ends, used, side="right"))
        if sites.size > 1 and one_site:
            yield f"{name}: it runs on {sites.size} sites; this system keeps a gang on one."
        if schedule.local[job] and workload.origin[job] >= 0 and sites[0] != workload.origin[job]:
            yield f"{name}: a local job of site {workload.origin[job]} runs on site {sites[0]}."


def _lengths(schedule: GangSchedule) -> Iterator[str]:
    """Yield a line for each completed job that did not run for its service time, or ran twice at a time.

    Also yield one if jobs are left undone without a note that says why, or if a rejected job has run.
    """
    system, workload = schedule.system, schedule.workload
    clocks = np.full(system.total, system.reference_clock) if system.clocks is None else np.array(system.clocks)
    ends = np.cumsum(system.processors)
    resumes = system.preempted == "resume"
    work = np.zeros(len(schedule))  # in seconds at the reference clock
    last_end = np.full(len(schedule), -np.inf)
    for k in np.argsort(schedule.segment_start, kind="stable"):
        job = schedule.segment_job[k]
        used = schedule.segment_processor[schedule.segment_first[k] : schedule.segment_first[k + 1]]
        ran = schedule.segment_end[k] - schedule.segment_start[k]
        if schedule.segment_start[k] < last_end[job] - TOLERANCE:
            yield f"{_name(schedule, job)}: it starts again at {schedule.segment_start[k]} while it still runs."
        last_end[job] = schedule.segment_end[k]
        if workload.tasks[job] > 1:
            ran = max(ran - system.latency - workload.tasks[job] * system.megabytes / system.bandwidth, 0.0)
        if np.unique(np.searchsorted(ends, used, side="right")).size > 1:
            ran /= 1.0 + system.overhead
        ran *= clocks[used].min() / system.reference_clock
        work[job] = work[job] + ran if resumes else ran
    for job in np.flatnonzero(schedule.completed):
        scale = max(1.0, abs(float(schedule.finish[job])), float(workload.runtime[job]))
        if schedule.finish[job] != last_end[job]:
            said, ran_until = schedule.finish[job], last_end[job]
            yield f"{_name(schedule, job)}: it is said to finish at {said}; it ran until {ran_until}."
        elif abs(work[job] - workload.runtime[job]) > TOLERANCE * scale:
            yield f"{_name(schedule, job)}: it ran {work[job]} s; its service is {workload.runtime[job]} s."
    lost = ~schedule.completed & ~schedule.rejected
    if lost.any() and not any(note.startswith("stopped at") for note in schedule.notes):
        yield f"{_name(schedule, int(np.flatnonzero(lost)[0]))}: it has not run, and no note says why."
    if np.isfinite(schedule.finish[schedule.rejected]).any() or schedule.rejected[schedule.segment_job].any():
        yield "A job that was turned away has run."


def _overlaps(schedule: GangSchedule) -> Iterator[str]:
    """Yield a line for each task that starts on a processor while another still runs there."""
    stretch = np.repeat(np.arange(schedule.segment_job.size), np.diff(schedule.segment_first))
    where = schedule.segment_processor
    order = np.lexsort((schedule.segment_end[stretch], schedule.segment_start[stretch], where))
    stretch, where = stretch[order], where[order]
    begins, ends = schedule.segment_start[stretch], schedule.segment_end[stretch]
    overlap = (where[1:] == where[:-1]) & (begins[1:] < ends[:-1] - TOLERANCE)
    for k in np.flatnonzero(overlap):
        late, early = schedule.segment_job[stretch[k + 1]], schedule.segment_job[stretch[k]]
        other = _name(schedule, early)
        yield f"{_name(schedule, late)}: it starts on processor {where[k]} while {other} still runs there."


def _stops(schedule: GangSchedule) -> Iterator[str]:
    """Yield a line for each wrong preemption: of a local job, or of a gang without a local job that takes its place.

    Nor may a processor be idle at that instant that the local job should take instead: on the gang's site, or anywhere.
    """
    done = schedule.segment_end == schedule.finish[schedule.segment_job]
    going_on = schedule.segment_end == schedule.end
    stopped = np.flatnonzero(~done & ~going_on)
    if stopped.size == 0:
        return
    of_local = np.flatnonzero(schedule.local[schedule.segment_job])
    starts = {
        (float(schedule.segment_start[k]), int(schedule.segment_processor[schedule.segment_first[k]])) for k in of_local
    }
    idle = _idle_at(schedule, stopped)
    for k in stopped.tolist():
        job, time = schedule.segment_job[k], float(schedule.segment_end[k])
        used = schedule.segment_processor[schedule.segment_first[k] : schedule.segment_first[k + 1]]
        if schedule.local[job]:
            yield f"{_name(schedule, job)}: a local job was stopped at {time}."
        elif schedule.system.preempts == "never" or not any((time, int(p)) in starts for p in used):
            yield f"{_name(schedule, job)}: it was stopped at {time}, and no local job took its place."
        elif idle[k] > 0:
            yield f"{_name(schedule, job)}: it was stopped at {time} with {idle[k]} processors idle for the local job."


def _idle_at(schedule: GangSchedule, stopped: NDArray[np.int64]) -> dict[int, int]:
    """Return, for each preempted stretch, how many idle processors its local job should have taken instead.

    If several events share that instant, the record does not tell their order. A processor that is used at any moment
    of the instant then counts as busy.
    """
    system, time = schedule.system, schedule.segment_end[stopped]
    site_of = np.searchsorted(np.cumsum(system.processors), schedule.segment_processor, side="right")
    stretch = np.repeat(np.arange(schedule.segment_job.size), np.diff(schedule.segment_first))
    happens = [np.searchsorted(schedule.event_time, time, side=side) for side in ("left", "right")]
    alone = happens[1] - happens[0] == 1
    idle = np.zeros((len(system.processors), stopped.size), dtype=np.int64)
    for site, count in enumerate(system.processors):
        here = stretch[site_of == site]
        begins, ends = np.sort(schedule.segment_start[here]), np.sort(schedule.segment_end[here])
        begun = np.where(alone, np.searchsorted(begins, time), np.searchsorted(begins, time, side="right"))
        idle[site] = np.maximum(count - begun + np.searchsorted(ends, time), 0)
    if system.preempts == "site":
        counts = idle[site_of[schedule.segment_first[stopped]], np.arange(stopped.size)]
    else:
        counts = idle.sum(axis=0)
    return dict(zip(stopped.tolist(), counts.tolist(), strict=True))
