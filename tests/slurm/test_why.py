"""Why jobs wait, beside what a real Slurm says of the same jobs, and starts beside those of `squeue --start`."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from slurm.accounted import AccountedCluster, missing
from support.beside_slurm import Beside

from fedsched.site.outlook import forecast, present, why

if TYPE_CHECKING:
    from pathlib import Path

FACTOR = 5.0
NODES = 8
SETTINGS = """\
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=10,bf_interval=10,bf_resolution=1,batch_sched_delay=1
SelectType=select/linear
PriorityType=priority/basic
AccountingStorageEnforce=associations,limits,qos"""
PARTITIONS = """\
PartitionName=p Nodes=ALL Default=YES MaxTime=INFINITE State=UP
PartitionName=small Nodes=n1 MaxNodes=1 MaxTime=10 State=UP
PartitionName=shut Nodes=ALL MaxTime=INFINITE State=DOWN"""
ACCOUNTS = (
    "add cluster referee", "add qos narrow MaxJobsPerUser=1", "add account physics qos=normal,narrow",
    "add user root account=physics qos=normal,narrow",
)  # fmt: skip
# What of ours stands for Slurm's words.
KINDS = {
    "Resources": "resources", "Priority": "jobs ahead", "JobHeldUser": "held", "JobHeldAdmin": "held",
    "BeginTime": "begin time", "Dependency": "dependency", "QOSMaxJobsPerUserLimit": "limit",
    "PartitionTimeLimit": "partition", "PartitionNodeLimit": "partition", "PartitionConfig": "partition",
    "PartitionDown": "partition", "Reservation": "reservation",
}  # fmt: skip
# The jobs that wait, by the words that sbatch is given, each with what Slurm is known to say of it.
WAITING = {
    ("--nodes=4", "--time=30"): "Resources",
    ("--nodes=2", "--time=30"): "Priority",
    ("--nodes=1", "--qos=narrow"): "QOSMaxJobsPerUserLimit",
    ("--hold",): "JobHeldUser",
    ("--begin=now+2hours",): "BeginTime",
    ("--dependency=afterok:{first}",): "Dependency",
    ("--partition=small", "--time=600"): "PartitionTimeLimit",
    ("--partition=small", "--nodes=2", "--time=5"): "PartitionConfig",
    ("--partition=shut",): "PartitionDown",
    ("--reservation=later",): "Reservation",
}
pytestmark = [
    pytest.mark.usefixtures("slurm_is_here"),
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=f"no accounts of a real Slurm here: {', '.join(missing())}"),
]


def submitted(slurm: AccountedCluster, *words: str) -> str:
    """Submit a job that would run for long, and return its number."""
    usual = ("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--account=physics",
             "--wrap=sleep 20000")  # fmt: skip
    limit = () if any(word.startswith("--time") for word in words) else ("--time=20",)
    return slurm.tell(*usual, *limit, *words)


def reasons(slurm: AccountedCluster) -> dict[str, str]:
    """Return why each job waits, as the Reason column of squeue has it."""
    lines = slurm.ask("squeue", "-h", "-t", "PD", "-o", "%i|%r").splitlines()
    return dict(line.partition("|")[::2] for line in lines)


def waited_for(slurm: AccountedCluster, wanted: dict[str, str]) -> dict[str, str]:
    """Return the reasons once they are those, or after a while what they are then."""
    until = time.monotonic() + 60.0
    while (found := reasons(slurm)) != wanted and time.monotonic() < until:
        time.sleep(0.5)
    return found


def test_causes_are_those_of_the_reason_column(short_path: Path) -> None:
    """Each job that a real Slurm keeps has that cause here; starts by limits are those of `--start`."""
    cluster = AccountedCluster(
        short_path / "slurm", accounts=ACCOUNTS, nodes=NODES, settings=SETTINGS, partitions=PARTITIONS, factor=FACTOR
    )
    with cluster as slurm:
        slurm.tell("scontrol", "create", "reservation", "ReservationName=later", "StartTime=now+3hours", "Duration=60",
                   "Users=root", "Nodes=n1")  # fmt: skip
        first = submitted(slurm, "--nodes=7", "--time=60")
        submitted(slurm, "--nodes=1", "--time=60", "--qos=narrow")
        while len(slurm.ask("squeue", "-h", "-t", "R", "-o", "%i").split()) < 2:
            time.sleep(0.2)
        wanted = {}
        for words, reason in WAITING.items():
            wanted[submitted(slurm, *(word.format(first=first) for word in words))] = reason
        found = waited_for(slurm, wanted)
        assert set(found.values()) <= set(KINDS), found
        assert len(set(found.values()) & set(WAITING.values())) >= 8, found
        runner = Beside(slurm)
        here = present(runner)
        for job, reason in found.items():
            causes = [one.kind for one in why(here, job, draws=1).causes]
            assert KINDS[reason] in causes, (job, reason, causes)
        limited = next(job for job, reason in wanted.items() if reason == "QOSMaxJobsPerUserLimit")
        [full] = [one for one in why(here, limited, draws=1).causes if one.kind == "limit"]
        assert full.what.startswith("maxjobspu of QOS 'narrow' of user 'root' is 1, 1 of it taken by 1 running job")
        by_limits = {one.job.target: one.by_limits for one in forecast(here, draws=1).forecasts}
        waiting = [job for job, reason in found.items() if reason in ("Resources", "Priority")]
        told = {job: runner.run(("squeue", "-h", "--start", "-j", job, "-o", "%S")).strip() for job in waiting}
        known = {job: float(text) for job, text in told.items() if text.isdecimal()}
        assert known
        for job, start in known.items():
            assert abs(by_limits[job] - start) <= 90.0, (job, by_limits[job] - start)
