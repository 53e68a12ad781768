"""Read a live Slurm queue, plan a better order of its jobs, and apply the plan by commands that can be undone."""

from __future__ import annotations

from fedsched.site.steer.applying import Hand, SetByHandError
from fedsched.site.steer.commands import CommandError, Runner, Shell, written
from fedsched.site.steer.plan import Plan, Start
from fedsched.site.steer.planning import Aims, Choice, plan
from fedsched.site.steer.queue import Queue, SlurmJob, SlurmNode, SlurmPartition, SlurmReservation
from fedsched.site.steer.reading import read_queue
from fedsched.site.steer.undo import Undo
from fedsched.site.steer.watching import Watch

__all__ = [
    "Aims", "Choice", "CommandError", "Hand", "Plan", "Queue", "Runner", "SetByHandError", "Shell", "SlurmJob",
    "SlurmNode", "SlurmPartition", "SlurmReservation", "Start", "Undo", "Watch", "plan", "read_queue", "written",
]  # fmt: skip
