"""A Slurm's queue: read, forecast, planned for, and steered by what can be undone."""

from __future__ import annotations

from fedsched.steer.commands import CommandError, Runner, Shell
from fedsched.steer.plan import Plan, Start
from fedsched.steer.planning import Aims, Choice, plan
from fedsched.steer.queue import Queue, SlurmJob, SlurmNode, SlurmPartition
from fedsched.steer.reading import read_queue

__all__ = [
    "Aims", "Choice", "CommandError", "Plan", "Queue", "Runner", "Shell", "SlurmJob", "SlurmNode", "SlurmPartition",
    "Start", "plan", "read_queue",
]  # fmt: skip
