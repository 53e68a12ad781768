"""A Slurm in the memory that keeps accounts, too: what its users' jobs ran before, and who may have how much."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from support.fake_slurm import FakeSlurm, Job

from fedsched.site.outlook import Present, present
from fedsched.site.steer import CommandError

if TYPE_CHECKING:
    from fedsched.site.steer import Command

ASSOC = """\
Cluster|Account|User|Partition|Share|MaxJobs
fake|root|||1|
fake| physics|||1|
fake|  physics|ann||1|
fake|  physics|bob||1|
fake|  physics|eve||1|1
"""
QOS = "Name|Priority|GrpJobs|MaxJobsPU|MaxTRESPU\nnormal|0|||\nnarrow|0|||node=2\ntwo|0|2||\n"


@dataclass
class Accounted(FakeSlurm):
    """A fake with a past: of each user the parts of their limits that jobs have run."""

    past: tuple[tuple[str, float], ...] = ()
    goes_on: tuple[tuple[str, float], ...] = ()  # the same of runs that are not over
    reserved: str = ""  # a line of scontrol's
    partition_state: str = "UP"

    def _sacct(self, command: Command) -> str:
        if not self.past:
            raise CommandError(command, "Slurm accounting storage is disabled")
        rows = [f"{user}|100|{round(6000 * part)}|COMPLETED|{k:09}" for k, (user, part) in enumerate(self.past)]
        rows += ["ann|100|60|NODE_FAIL|9", "ann|UNLIMITED|60|COMPLETED|9", "ann|100|0|CANCELLED by 0|9"]
        rows += [f"{user}|100|{round(6000 * part)}|RUNNING|Unknown" for user, part in self.goes_on]
        return "\n".join(rows)

    def _sacctmgr(self, command: Command) -> str:
        return ASSOC if "assoc" in command else QOS

    def _scontrol(self, command: Command) -> str:
        if command[-1] == "reservation" and self.reserved:
            return self.reserved
        text = super()._scontrol(command)
        return text.replace("State=UP", f"State={self.partition_state}") if command[-1] == "partition" else text


def seen(*jobs: Job, past: tuple[tuple[str, float], ...] = (), **others: object) -> Present:
    """Return what is known of a fake cluster with these jobs."""
    return present(Accounted.of(*jobs, past=past, **others))
