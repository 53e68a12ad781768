"""Finds what jobs wait for that replays do not model; such jobs get no forecast, since it would be too early."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from fedsched.core.text import counted, first_of
from fedsched.site.outlook.usable_nodes import UsableNodes
from fedsched.site.steer.picture import can_be_modelled

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.site.steer import Queue, SlurmJob

Starts = TypeVar("Starts")

RESOURCES = "RESOURCES"
PASSES = 300.0  # seconds in which Slurm looks at a job several times
SOON = 1.0  # seconds from now within which a start counts as a start now


def not_modelled(job: SlurmJob) -> str:
    """Return what a job asks for that replays do not model, in words; "" if there is nothing."""
    asked = [*job.other_resources]
    if job.features and not can_be_modelled(job.features):
        asked.append(f"features {job.features}")
    if job.named_nodes:
        asked.append("nodes by name")
    return " and ".join(asked)


def without_unmodelled(queue: Queue, starts: Mapping[int, Starts]) -> dict[int, Starts]:
    """Return these starts by job number, without those of jobs that ask for something that replays do not model."""
    unknown = {job.number for job in queue.waiting if not_modelled(job)}
    return {number: found for number, found in starts.items() if number not in unknown}


def unmodelled_obstacle(queue: Queue, job: SlurmJob, by_limits: float) -> str:
    """Return what keeps a job from starting that the replays do not model, in words; "" if nothing does.

    `by_limits` is the job's start in a replay in which all jobs run to their limits.
    """
    if asked := not_modelled(job):
        return f"it asks for {asked}: which jobs have these, and until when, is not modelled"
    if not job.waits_its_turn(queue.now):
        return ""
    room = UsableNodes(queue, job)
    left = room.size(room.up - room.reserved(queue.now))
    if left < room.need:
        return f"it needs {room.said(room.need)}, and reservations, which are not in the replays, leave {left}"
    if by_limits > queue.now + SOON:
        return ""
    free = room.free()
    if free < room.need and room.reservations(queue.now):
        return f"it needs {room.said(room.need)}, and reservations, which are not in the replays, leave {free} free"
    # If nodes are shared, the replays do not model memory, devices, and which node has how many free CPUs.
    passed_over = room.shared and queue.now - job.eligible > PASSES
    if free >= room.need and (job.reason == RESOURCES or passed_over):
        why = "Slurm says that it waits for resources" if job.reason == RESOURCES else "many passes have left it"
        what = "memory, or CPUs on one node" if room.shared else "memory"
        return (
            f"it needs {room.said(room.need)}, and {free} are free, yet {why}: it waits for something that is not "
            f"modelled, such as {what}"
        )
    return ""


def without_forecast(asked: Mapping[int, str]) -> list[str]:
    """Return a note on how many jobs ask for what is not modelled, and for what; no note if no job does.

    `asked` is what each of these jobs asks for, by job number.
    """
    if not asked:
        return []
    ask = "asks" if len(asked) == 1 else "ask"
    what = first_of(sorted(set(asked.values())))
    return [f"no forecast: {counted(len(asked), 'job')} {ask} for what is not modelled ({what})"]


def notes_of(queue: Queue, unknown: Mapping[int, str]) -> list[str]:
    """Return notes on how many of the queue's waiting jobs have no forecast, and why; none if all have one.

    `unknown` says, by job number, what keeps each of these jobs from starting.
    """
    jobs = [job for job in queue.waiting if job.number in unknown]
    asked = {job.number: not_modelled(job) for job in jobs}
    others = [job for job in jobs if not asked[job.number]]
    notes = without_forecast({number: what for number, what in asked.items() if what})
    if others:
        kept = f"{counted(len(others), 'job')} {'is' if len(others) == 1 else 'are'} kept"
        who = first_of(job.target for job in others)
        notes.append(
            f"no forecast: {kept} by what the replays do not have ({who}); `fedsched twin why JOB` says by what"
        )
    return notes
