"""One story on a real Slurm: who steers, the controller, squeue and the clock fail in turn, and every job ends."""

from __future__ import annotations

import contextlib
import json
import multiprocessing
import random
import re
import time
from typing import TYPE_CHECKING

import pytest
from slurm.busy import played
from slurm.cluster import ASKED, InvalidRun, SlurmCluster, SlurmError
from slurm.driver import ENVIRONMENT, UNDO, steer
from slurm.faults import FAILURES, Squeue, with_its_clock_ahead, without_controller
from slurm.recorder import settings_of
from support.beside_slurm import Beside

from fedsched.core.errors import SteerError
from fedsched.site.steer import CommandError, JobChanger, Undo, read_queue
from fedsched.site.steer.state_files import exclusive_lock

if TYPE_CHECKING:
    from contextlib import AbstractContextManager
    from pathlib import Path
    from types import TracebackType

    from fedsched.site.steer import Queue, SlurmJob

FACTOR = 20.0
NODES, JOBS = 8, 28
LEASE = 400.0  # seconds of Slurm's clock
ANEW = 600  # for so long Slurm itself lets a job wait that it begins anew
NICE, LATER = 30, 1600  # what users give some of their jobs: a Nice of their own, a time to begin in so many seconds
FORKED = multiprocessing.get_context("forkserver")
pytestmark = [pytest.mark.usefixtures("slurm_is_here"), pytest.mark.slow]


class Driver:
    """A process that steers by Nice or by begin times until it is killed, within the with statement."""

    def __init__(self, folder: Path, *, lease: bool) -> None:
        self._hears, tells = FORKED.Pipe(duplex=False)
        self._process = FORKED.Process(target=steer, args=(folder, LEASE if lease else None, tells.send))
        self._process.start()
        tells.close()
        self.said: list[str] = []

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self.kill()
        self._hears.close()

    def until(self, words: str) -> bool:
        """Wait until it says so; return whether it did before its end."""
        with contextlib.suppress(EOFError):
            while words not in (line := str(self._hears.recv())):
                self.said.append(line)
            self.said.append(line)
            return True
        return False

    def goes_on(self, seconds: float) -> None:
        """Let it steer for so many seconds of the world."""
        self._process.join(seconds)

    def kill(self) -> None:
        """End it as one ends what does not listen."""
        self._process.kill()
        self._process.join()
        self.until("what it never says")


class Users:
    """Who submit jobs of any size that need a part of their limits, and know what they asked for.

    Some have a Nice of their own, one a time to begin, and one is held.
    """

    def __init__(self, slurm: SlurmCluster, draw: random.Random) -> None:
        self.slurm, self.draw = slurm, draw
        self.nice: dict[int, int] = {}
        self.begin: dict[int, int] = {}
        self.held = 0

    def submit(self, *words: str, nice: int = 0) -> int:
        """Submit one, and return its number."""
        minutes, name = self.draw.choice([2, 3, 5]), f"the{len(self.nice)}"
        command = (
            "sbatch", "--parsable", "--output=/dev/null", "--chdir=/", f"--job-name={name}", f"--nice={nice}",
            f"--nodes={self.draw.choice([1, 2, 3, 4, 6, 8])}", f"--time={minutes}",
            f"--wrap=sleep {self.draw.uniform(0.3, 0.7) * minutes * 60:.0f}", *words,
        )  # fmt: skip
        number = self._submitted(name, command)
        self.nice[number] = nice
        return number

    def _submitted(self, name: str, command: tuple[str, ...]) -> int:
        """Return the number of a job that is submitted once: a command that fails may have done so, or not."""
        for _ in range(ASKED):
            with contextlib.suppress(SlurmError):
                return int(self.slurm.tell(*command))
            if known := self.slurm.ask("squeue", "-h", "-t", "all", "-n", name, "-o", "%i"):
                return int(known)
        return int(self.slurm.tell(*command))

    def begin_all(self) -> None:
        """Submit all but those who come later."""
        for k in range(JOBS):
            self.submit(nice=NICE if k % 5 == 4 else 0)
        later = round(self.slurm.clock.now()) + LATER
        self.begin[self.submit(f"--begin=uts{later}")] = later
        self.held = self.submit("--hold")

    def have_what_they_gave(
        self, jobs: list[SlurmJob], now: float, written: dict[int, set[int]], held: list[str]
    ) -> None:
        """Assert that jobs that wait have it, and no begin time that was written by who steered; Slurm held some."""
        assert {job.number: job.nice for job in jobs} == {job.number: self.nice[job.number] for job in jobs}
        to_come = {job.number: job.eligible for job in jobs if job.eligible > now}
        assert not {number for number, when in to_come.items() if when in written.get(number, ())}
        asked = {job.number: when for job in jobs if (when := self.begin.get(job.number, 0)) > now}
        assert {number: to_come.get(number) for number in asked} == asked
        assert [job.number for job in jobs if job.is_held and job.target not in held] == [self.held]


def has_steered(said: list[str]) -> bool:
    """Return whether commands gave jobs a Nice as well as a begin time."""
    return bool(written_by(said)) and any(" Nice=" in line for line in said)


def written_by(said: list[str]) -> dict[int, set[int]]:
    """Return the begin times that commands gave jobs, by their numbers."""
    found: dict[int, set[int]] = {}
    for number, when in re.findall(r"scontrol update JobId=(\d+) StartTime=uts(\d+)", "\n".join(said)):
        found.setdefault(int(number), set()).add(int(when))
    return found


@pytest.mark.parametrize("seed", [1])
def test_every_job_ends_whatever_fails_and_comes_back(seed: int, short_path: Path) -> None:
    """Nobody is held, nothing that was written by who steered is left, and what users gave their jobs is as it was."""
    played(lambda folder: story(folder, seed), short_path, FACTOR)


def story(folder: Path, seed: int) -> None:
    """Play it once in a folder."""
    draw = random.Random(seed)
    make_ready()
    cluster = SlurmCluster(folder / "slurm", nodes=NODES, settings=settings_of("backfill"), factor=FACTOR, anew=ANEW)
    with cluster as slurm:
        users, squeue, runner = Users(slurm, draw), Squeue(folder), Beside(slurm)
        environment = {**slurm._environment, "PATH": squeue.first}
        (folder / ENVIRONMENT).write_text(json.dumps(environment), encoding="utf-8")
        users.begin_all()
        said: list[str] = []
        faults = ["controller", "squeue", "clock"] * 2 + ["controller"]
        draw.shuffle(faults)
        ways = [True, True, True, True, False, False]
        draw.shuffle(ways)
        ways = [False, *ways]  # by Nice at first: who waits for a begin time of ours takes no part in that
        for fault, lease in zip(faults, ways, strict=True):
            users.submit()
            if len(asked(runner).waiting) < 4:
                raise InvalidRun("drivers take so long to begin that the jobs are over before all has failed")
            with Driver(folder, lease=lease) as driver:
                # Both ways have been gone by one who has looked, before any is disturbed at once.
                assert driver.until("ready" if has_steered(said) and draw.random() < 0.3 else "looked")
                driver.goes_on(draw.uniform(0.0, 2.5))
                failing: AbstractContextManager[None] = {
                    "controller": lambda: without_controller(slurm),
                    "squeue": lambda: squeue.failing(draw.choice(FAILURES)),
                    "clock": lambda: with_its_clock_ahead(slurm, draw.choice([900, -300])),
                }[fault]()
                with failing:
                    driver.until("this look changes nothing more")
                    if draw.random() < 0.5:
                        driver.kill()
                driver.goes_on(draw.uniform(0.0, 2.0))
            said += driver.said
        if not has_steered(said):
            raise InvalidRun("all was over before the drivers had given jobs both a Nice and a begin time")
        slurm._wait_for("the last commands", lambda: undone(runner, folder / UNDO))
        assert not (folder / UNDO).exists()
        queue = asked(runner)
        waiting = [job for job in queue.jobs if job.waits]
        users.have_what_they_gave(waiting, queue.now, written_by(said), held_by_slurm(slurm))
        slurm.tell("scontrol", "release", str(users.held))
        all_end(slurm)


def make_ready() -> None:
    """Have the server that forks drivers read, or compile, all that they need: jobs do not wait for that."""
    FORKED.set_forkserver_preload(["slurm.ready_driver"])
    first = FORKED.Process(target=time.time)
    first.start()
    first.join()


def asked(runner: Beside) -> Queue:
    """Return the queue, asked again where a command fails: on a busy machine and a fast clock some do."""
    for _ in range(ASKED):
        with contextlib.suppress(CommandError):
            return read_queue(runner)
    return read_queue(runner)


def undone(runner: Beside, path: Path) -> bool:
    """Undo all, as `fedsched apply --undo` does; return whether it was: else it says why, and is to be called again."""
    try:
        with exclusive_lock(path):
            JobChanger(runner, Undo.open(path, "referee")).restore()
    except SteerError:
        return False
    return True


def held_by_slurm(slurm: SlurmCluster) -> list[str]:
    """Return the jobs that Slurm itself holds, for they were on their nodes already as it wanted to begin them there.

    So it is with those of whose beginning a controller that was killed had written nothing; who runs a cluster releases
    them.
    """
    waiting = slurm.ask("squeue", "-h", "-t", "PENDING", "-o", "%i %r").splitlines()
    return [line.split()[0] for line in waiting if "launch failed" in line]


def all_end(slurm: SlurmCluster) -> None:
    """Wait until all jobs have ended, and assert that each has by itself; what Slurm holds or drained goes on."""
    while left := slurm.ask("squeue", "-h", "-o", "%i %T %r"):
        if "launch failed" in left and (held := held_by_slurm(slurm)):
            slurm.ask("scontrol", "release", ",".join(held))
        # Nodes on which a controller that was killed had begun a job, and the next one began it again.
        if "DRAINED" in left and (drained := slurm.ask("sinfo", "-h", "-N", "-t", "drain", "-o", "%N").split()):
            slurm.ask("scontrol", "update", f"NodeName={','.join(drained)}", "State=RESUME")
        time.sleep(0.3)
    ended = dict(re.findall(r"JobId=(\d+) .* JobState=(\w+)", slurm.ask("scontrol", "-o", "show", "job")))
    assert len(ended) > JOBS
    # TIMEOUT is of those whose limit was over when the clock jumped.
    assert {job for job, state in ended.items() if state not in ("COMPLETED", "TIMEOUT")} <= given_up_by_slurm(slurm)


def given_up_by_slurm(slurm: SlurmCluster) -> set[str]:
    """Return the jobs that Slurm itself ended, for it had killed them before on nodes where it began them again.

    So it is with those that a controller that was killed had begun in a time of its own, and the next one did not know.
    """
    log = (slurm.folder / "slurmctld.log").read_text(encoding="utf-8", errors="replace")
    return set(re.findall(r"Killing non-startable batch JobId=(\d+): Job credential revoked", log))
