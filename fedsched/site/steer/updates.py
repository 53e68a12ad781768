"""The commands that change a queue, as pure functions of what is to be: Nice, begin times, clusters, and undoing them.

There is none that holds a job: who holds and dies leaves it held for ever.
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
    """Return the command by which a job does not begin before so many seconds since 1970.

    That is the same time to every clock and in every zone, and Slurm tells it back to the second: so it is known whose
    it is. One that is over is the controller's present to it.
    """
    return ("scontrol", "update", f"JobId={target}", f"StartTime=uts{round(when)}")


def bind(target: str, clusters: str) -> Command:
    """Return the command after which a job of a federation starts on these of its clusters alone."""
    return ("scontrol", "update", f"JobId={target}", f"Clusters={clusters}")


def look_at(number: int) -> Command:
    """Return the command that says what priority and Nice a job has."""
    return ("squeue", "-h", "-j", str(number), "-o", "%A|%Q|%y|%T")


def commands_of(plan: Plan) -> list[Command]:
    """Return the commands that a plan is carried out by."""
    return [give_nice(job.target, plan.niceties[job.number]) for job in plan.changes]


def restoring(queue: Queue, undo: Undo) -> Iterator[tuple[SlurmJob, Command]]:
    """Give the commands that undo all that is still to be undone, of jobs that wait and of those that run.

    Who runs may be begun anew, with the Nice that he has. What jobs have that neither we gave them nor they had before
    is somebody else's doing, and stays; so does all that another user's job has.
    """
    for job in queue.jobs:
        former = undo.jobs.get(job.number)
        if former is None or not (job.waits or job.holds_nodes):
            continue
        if job.waits and former.began(job) and job.eligible > queue.now:
            yield job, begin_at(job.target, queue.now)
        if former.is_given(job):
            yield job, give_nice(job.target, former.nice)
