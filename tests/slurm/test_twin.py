"""The twin of a real Slurm: a small log is submitted, run, dumped, replayed, and each start that differs explained."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING

import pytest
from slurm.accounted import AccountedCluster, missing
from slurm.busy import played
from slurm.days import mixed
from slurm.script import Submit

from fedsched.twin import dump, explain, read_site
from fedsched.twin.page import write

if TYPE_CHECKING:
    from pathlib import Path

FACTOR = 12.0
NODES = 8
JOBS = 44
ACCOUNTS = (
    "add cluster referee",
    "add account physics Cluster=referee Fairshare=2",
    "add user root Account=physics Fairshare=1",
)
# Passes of a real clock fall where they fall: starts within half a minute count as equal, as on a site.
SETTINGS = """\
SchedulerType=sched/backfill
SchedulerParameters=batch_sched_delay=1,sched_interval=20,bf_interval=30,bf_resolution=10
PriorityType=priority/basic
SelectType=select/linear
KillWait=5
OverTimeLimit=0
EpilogMsgTime=0"""
pytestmark = [
    pytest.mark.usefixtures("slurm_is_here"),
    pytest.mark.skipif(bool(missing()), reason=f"no accounts of a real Slurm here: {', '.join(missing())}"),
]


def run_through(slurm: AccountedCluster, jobs: list[Submit]) -> None:
    """Submit the jobs in turn, release who is held, and wait until the accounts know how all of them ended."""
    begin = slurm.clock.now() + 5.0
    numbers: dict[str, str] = {}
    held: list[tuple[float, str]] = []
    for job in sorted(jobs, key=lambda one: one.at):
        slurm.clock.sleep_until(begin + job.at)
        for moment, number in [one for one in held if one[0] <= job.at]:
            slurm.tell("scontrol", "release", number)
            held.remove((moment, number))
        command = job.command(numbers)
        if job.key.startswith("held"):
            command.insert(1, "--hold")
        numbers[job.key] = slurm.tell(*command).partition(";")[0]
        if job.key.startswith("held"):
            held.append((job.at + 100.0, numbers[job.key]))
    for _, number in held:
        slurm.tell("scontrol", "release", number)
    while slurm.ask("squeue", "-h", "-o", "%i"):
        slurm.check()
        time.sleep(0.5)
    since = "now-1days"
    while True:  # the accounts are told a little later
        told = slurm.ask("sacct", "-a", "-X", "-n", "-P", "-S", since, "--format=JobIDRaw,End").splitlines()
        if len(told) >= len(jobs) and not any(line.endswith("|Unknown") for line in told):
            return
        time.sleep(0.5)


def a_log() -> list[Submit]:
    """Return a small log: jobs of all sizes, two that were held, a chain, and an array."""
    jobs = mixed(11, JOBS, nodes=NODES, every=24.0)
    return [
        *jobs,
        Submit("held1", 130, 2, 4, 100),
        Submit("held2", 400, 3, 3, 90),
        Submit("first", 200, 2, 4, 150),
        Submit("then", 206, 2, 3, 80, "afterok:{first}"),
        Submit("tasks", 300, 1, 3, 70, array="0-3"),
    ]


def dumped(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the dump of the log as a real Slurm has run it, played in this folder."""
    slurm = AccountedCluster(folder / "slurm", accounts=ACCOUNTS, nodes=NODES, settings=SETTINGS, factor=FACTOR)
    with slurm:
        run_through(slurm, a_log())
        slurm.check()
        with monkeypatch.context() as environment:
            for name, value in slurm._environment.items():
                environment.setenv(name, value)
            dump(folder / "dump", since="now-1days")
    return folder / "dump"


def test_a_day_of_a_real_slurm_is_explained(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the starts of a real Slurm at least 95 % are equal or have a cause; no job's own start is ever given."""
    folder = played(partial(dumped, monkeypatch=monkeypatch), short_path, FACTOR)
    site = read_site(folder)
    assert len(site.records) == JOBS + 8
    assert site.federation.nodes == NODES
    found = explain(site)
    assert len(found.cause) == JOBS + 8
    assert found.share >= 0.95, found.counts()
    write(found, short_path / "twin.html")
