"""A watch that is killed at random moments, again and again: every job ends, and nothing is left behind that harms."""

from __future__ import annotations

import contextlib
import json
import os
import random
import re
import subprocess
import sys
import time
from pathlib import Path

import pytest
from slurm.busy import played
from slurm.cluster import InvalidRun, SlurmCluster
from slurm.driver import AIMS, ENVIRONMENT, UNDO
from slurm.recorder import settings_of
from support.beside_slurm import Beside

from fedsched.site.steer import JobChanger, Undo, plan, read_queue
from fedsched.site.steer.runners import RecordedRunner

FACTOR = 30.0
KILLS = 20
JOBS = 36  # that are there from the outset: more than end before the last kill
NODES = 8
LEASE = "240"  # seconds of Slurm's clock
TESTS = Path(__file__).parents[1]
pytestmark = [pytest.mark.usefixtures("slurm_is_here"), pytest.mark.slow]


def submit(slurm: SlurmCluster, draw: random.Random) -> None:
    """Submit a job of any size that needs a part of its limit."""
    minutes = draw.choice([3, 5, 8])
    slurm.tell(
        "sbatch", "--parsable", "--output=/dev/null", f"--nodes={draw.choice([1, 1, 2, 3, 4, 6, 8])}",
        f"--time={minutes}", f"--wrap=sleep {draw.uniform(0.3, 0.7) * minutes * 60:.0f}",
    )  # fmt: skip


def steered_and_killed(folder: Path, after: float, *lease: str) -> list[str]:
    """Let a driver steer for so many seconds, kill it as one kills what does not listen, and return what it said."""
    environment = {**os.environ, "PYTHONPATH": str(TESTS)}
    driver = subprocess.Popen(
        (sys.executable, "-m", "slurm.driver", str(folder), *lease), env=environment, stdout=subprocess.PIPE, text=True
    )
    assert driver.stdout is not None
    with driver.stdout as said:
        first = said.readline()
        with contextlib.suppress(subprocess.TimeoutExpired):
            driver.wait(after)
        driver.kill()
        driver.wait()
        return [first, *said]


def test_a_driver_that_is_killed_at_twenty_moments(short_path: Path) -> None:
    """By Nice or by begin times, as drawn; then all is undone from the file of the last one, and all jobs end."""
    played(steered_and_undone, short_path, FACTOR, again=(InvalidRun,))


def steered_and_undone(folder: Path) -> None:
    """Play it once in a folder."""
    draw = random.Random(8)
    plan(read_queue(RecordedRunner("sample")), AIMS)  # so that drivers need not compile
    with SlurmCluster(folder / "slurm", nodes=NODES, settings=settings_of("backfill"), factor=FACTOR) as slurm:
        (folder / ENVIRONMENT).write_text(json.dumps(slurm._environment), encoding="utf-8")
        for _ in range(JOBS):
            submit(slurm, draw)
        runner = Beside(slurm)
        plan(read_queue(runner), AIMS)
        said: list[str] = []
        for _ in range(KILLS):
            submit(slurm, draw)
            if len(read_queue(runner).waiting) < 2:
                raise InvalidRun("drivers take so long to begin that the jobs are over before all are killed")
            said += steered_and_killed(folder, draw.uniform(0.1, 2.5), *draw.choice([(), (LEASE,)]))
        assert said.count("ready\n") == KILLS
        updates = [line for line in said if line.startswith("scontrol update")]
        assert {re.findall(r" (Nice|StartTime)=", line)[0] for line in updates} == {"Nice", "StartTime"}
        undo = Undo.open(folder / UNDO, "referee")
        assert undo.jobs
        JobChanger(runner, undo).restore()
        assert not (folder / UNDO).exists()
        queue = read_queue(runner)
        assert {job.nice for job in queue.waiting} == {0}
        assert not [job for job in queue.waiting if job.comes_later(queue.now)]
        while slurm.ask("squeue", "-h", "-o", "%i"):
            slurm.check()
            time.sleep(0.3)
        ended = re.findall(r" JobState=(\w+)", slurm.ask("scontrol", "-o", "show", "job"))
        assert len(ended) == JOBS + KILLS
        assert set(ended) <= {"COMPLETED", "TIMEOUT"}  # a busy machine may be slow to begin one
