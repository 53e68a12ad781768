"""Commands that change a queue, from pure functions: they set Nice, begin times and clusters, and undo that.

No command holds a job: if the process that holds it died, the job would stay held for ever.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.site.steer.commands import Command
    from fedsched.site.steer.plan import Plan
    from fedsched.site.steer.queue import Queue, SlurmJob
    from fedsched.site.steer.undo import Undo


def give_nice(target: str, nice: int) -> Command:
    """Return the command that gives a job this Nice."""
    return ("scontrol", "update", f"JobId={target}", f"Nice={nice}")


def begin_at(target: str, when: float) -> Command:
    """Return the command that sets a job's begin time, in seconds since 1970.

    Such a time does not depend on time zones, and Slurm reports it to the second, so that fedsched recognises its own
    begin times. The controller takes a time in the past as the present.
    """
    return ("scontrol", "update", f"JobId={target}", f"StartTime=uts{round(when)}")


def bind(target: str, clusters: str) -> Command:
    """Return the command that restricts a job of a federation to these of its clusters."""
    return ("scontrol", "update", f"JobId={target}", f"Clusters={clusters}")


def look_at(number: int) -> Command:
    """Return the command that says what priority and Nice a job has."""
    return ("squeue", "-h", "-j", str(number), "-o", "%A|%Q|%y|%T")


def commands_of(plan: Plan) -> list[Command]:
    """Return the commands that carry out a plan."""
    return [give_nice(job.target, plan.niceties[job.number]) for job in plan.changes]


def restoring(queue: Queue, undo: Undo) -> Iterator[tuple[SlurmJob, Command]]:
    """Give the commands that undo all remaining changes, of waiting and of running jobs.

    Running jobs are included, since they may be requeued with the Nice that they have. Values that fedsched did not set
    stay, and so do all values of another user's job.
    """
    for job in queue.jobs:
        former = undo.jobs.get(job.number)
        if former is None or not (job.waits or job.holds_nodes):
            continue
        if job.waits and former.began(job) and job.eligible > queue.now:
            yield job, begin_at(job.target, queue.now)
        if former.is_given(job):
            yield job, give_nice(job.target, former.nice)
