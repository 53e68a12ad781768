"""The twin of a real Slurm: a small log is submitted, run, dumped, replayed, and each start that differs explained.

The dump is then asked what would have been otherwise, and how good forecasts would have been; and the same log is run
once more with a watch in charge.
"""

from __future__ import annotations

import time
from contextlib import nullcontext
from functools import partial
from typing import TYPE_CHECKING

import pytest
from slurm.accounted import AccountedCluster, missing
from slurm.busy import played
from slurm.days import mixed
from slurm.script import Submit
from slurm.watcher import Watcher

import fedsched as fs
from fedsched.site.outlook import score
from fedsched.site.twin import dump, explain, read_site
from fedsched.site.twin.page import write

if TYPE_CHECKING:
    from pathlib import Path

    from slurm.cluster import SlurmCluster
    from slurm.recorder import Beside

    from fedsched.site.twin import Site

FACTOR = 20.0
STEERED = 30.0  # how fast the clock runs where a watch is in charge, as on the watched days
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
WHAT_IF = {
    "a quarter more": "nodes=+25%",
    "no backfilling": "set.SchedulerType=sched/builtin",
    "rare passes": "set.bf_interval=120",
    "honest requests": "estimates=exact",
    "works": "maintenance=5m..15m",
    "another scheduler": "policy=easy",
}
pytestmark = [
    pytest.mark.usefixtures("slurm_is_here"),
    pytest.mark.skipif(bool(missing()), reason=f"no accounts of a real Slurm here: {', '.join(missing())}"),
]


def run_through(slurm: AccountedCluster, jobs: list[Submit], beside: Beside = lambda *_: nullcontext()) -> None:
    """Submit the jobs in turn, release who is held, and wait until the accounts know how all of them ended."""
    begin = slurm.clock.now() + 5.0
    numbers: dict[str, str] = {}
    with beside(slurm, begin, numbers):
        _play(slurm, jobs, begin, numbers)


def _play(slurm: AccountedCluster, jobs: list[Submit], begin: float, numbers: dict[str, str]) -> None:
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


def dumped(
    folder: Path,
    monkeypatch: pytest.MonkeyPatch,
    beside: Beside = lambda *_: nullcontext(),
    factor: float = FACTOR,
) -> Path:
    """Return the dump of the log as a real Slurm has run it, played in this folder."""
    slurm = AccountedCluster(folder / "slurm", accounts=ACCOUNTS, nodes=NODES, settings=SETTINGS, factor=factor)
    with slurm:
        since = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(slurm.clock.now()))
        run_through(slurm, a_log(), beside)
        slurm.check()
        with monkeypatch.context() as environment:
            for name, value in slurm._environment.items():
                environment.setenv(name, value)
            dump(folder / "dump", since=since)
    return folder / "dump"


def mean_wait(site: Site) -> float:
    """Return how long jobs waited in the mean, on record."""
    return float((site.records.start - site.records.submit).mean())


def test_a_day_of_a_real_slurm_is_explained(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of the starts of a real Slurm at least 95 % are equal or have a cause; no job's own start is ever given.

    More nodes would have let jobs wait less, works longer; forecasts are better than starts by limits.
    """
    folder = played(partial(dumped, monkeypatch=monkeypatch), short_path, FACTOR)
    site = read_site(folder)
    assert len(site.records) == JOBS + 8
    assert site.federation.nodes == NODES
    found = explain(site)
    assert len(found.cause) == JOBS + 8
    assert found.share >= 0.95, found.counts()
    write(found, short_path / "twin.html")
    what_if = fs.study(folder, WHAT_IF, bounds=False)
    apart = {one.name: what_if.difference(one).value for one in what_if.scenarios}
    assert set(apart) == set(WHAT_IF)
    assert apart["a quarter more"] < 0.0 < apart["works"]
    assert abs(what_if.base.metrics["mean_wait"] - mean_wait(site)) < 0.25 * mean_wait(site)
    now = score(site, moments=8, draws=20)
    assert len(now.wait) > JOBS // 2
    assert now.pinball < now.pinball_by_limits


def test_a_watch_takes_charge_of_the_same_log(short_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """All its jobs end, whom it promised something starts in time, and nothing of it is left.

    They wait less than they would have waited without it, as the twin of the same dump has it.
    """
    watchers: list[Watcher] = []

    def steered(slurm: SlurmCluster, begin: float, numbers: dict[str, str]) -> Watcher:
        watchers.append(Watcher(slurm, begin, numbers, lease=False))
        return watchers[-1]

    play = partial(dumped, monkeypatch=monkeypatch, beside=steered, factor=STEERED)
    folder = played(play, short_path, STEERED)
    site, watch = read_site(folder), watchers[-1].watch
    assert len(site.records) == JOBS + 8
    assert watch.plans > 5
    assert not (folder.parent / "slurm" / "undo.json").exists()
    begun = dict(zip(site.records.id.tolist(), site.records.start.tolist(), strict=True))
    promised = watchers[-1].promised
    assert len(promised) > JOBS // 3
    assert all(begun[number] <= until + 1.0 for number, until in promised.items() if number in begun)
    alone = fs.study(folder, {"shortest first": "policy=sjf-easy"}, bounds=False).base
    assert mean_wait(site) < alone.metrics["mean_wait"]
