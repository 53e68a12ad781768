"""A Slurm's queue: read, forecast, planned for, and steered by what can be undone."""

from __future__ import annotations

from fedsched.steer.applying import Hand, SetByHandError
from fedsched.steer.commands import CommandError, Runner, Shell, written
from fedsched.steer.plan import Plan, Start
from fedsched.steer.planning import Aims, Choice, plan
from fedsched.steer.queue import Queue, SlurmJob, SlurmNode, SlurmPartition, SlurmReservation
from fedsched.steer.reading import read_queue
from fedsched.steer.undo import Undo
from fedsched.steer.watching import Watch

__all__ = [
    "Aims", "Choice", "CommandError", "Hand", "Plan", "Queue", "Runner", "SetByHandError", "Shell", "SlurmJob",
    "SlurmNode", "SlurmPartition", "SlurmReservation", "Start", "Undo", "Watch", "plan", "read_queue", "written",
]  # fmt: skip
