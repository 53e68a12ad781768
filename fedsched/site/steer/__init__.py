"""Read a live Slurm queue, plan a better order of its jobs, and apply the plan by commands that can be undone."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.moved import former_names
from fedsched.site.steer.applying import JobChanger, SetByHandError
from fedsched.site.steer.commands import CommandError, Runner, Shell, shell_line
from fedsched.site.steer.plan import Plan, Start
from fedsched.site.steer.planning import Aims, Choice, plan
from fedsched.site.steer.queue import Queue, SlurmJob, SlurmNode, SlurmPartition, SlurmReservation
from fedsched.site.steer.reading import read_queue
from fedsched.site.steer.undo import Undo
from fedsched.site.steer.watching import Watch

__all__ = [
    "Aims", "Choice", "CommandError", "JobChanger", "Plan", "Queue", "Runner", "SetByHandError", "Shell", "SlurmJob",
    "SlurmNode", "SlurmPartition", "SlurmReservation", "Start", "Undo", "Watch", "plan", "read_queue", "shell_line",
]  # fmt: skip

if not TYPE_CHECKING:
    __getattr__ = former_names(__name__, {"Hand": "JobChanger", "written": "shell_line"})
