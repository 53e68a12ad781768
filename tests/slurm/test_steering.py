"""Steering a real Slurm: an order given and taken back, controllers that die, and who may do what."""

from __future__ import annotations

import random
import time
from typing import TYPE_CHECKING

import pytest
from slurm.accounted import AccountedCluster
from slurm.accounted import missing as accounts_missing
from slurm.cluster import SlurmCluster
from slurm.faults import Squeue, begin_controller, kill_controller
from support.beside_slurm import Beside

from fedsched.core.errors import SteerError
from fedsched.site.steer import Aims, CommandError, JobChanger, SetByHandError, Undo, Watch, plan, read_queue
from fedsched.site.steer.commands import RefusedError, begin_at, give_nice

if TYPE_CHECKING:
    from pathlib import Path

FACTOR = 5.0
SETTINGS = """\
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=10,bf_interval=10,bf_resolution=1
SelectType=select/linear
"""
WEIGHED = """\
PriorityType=priority/multifactor
PriorityMaxAge=7-0
PriorityWeightAge=1000
PriorityWeightJobSize=1000
PriorityWeightPartition=10000
"""
AIMS = Aims(evaluations=60, seconds=20.0)
pytestmark = [pytest.mark.usefixtures("slurm_is_here"), pytest.mark.slow]


def fill(slurm: SlurmCluster, jobs: int, seed: int, *words: str) -> None:
    """Submit a job that has all nodes for long, and others of all sizes that wait for it."""
    draw = random.Random(seed)
    usual = ("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--wrap=sleep 20000", *words)
    slurm.tell(*usual, "--nodes=8", "--time=60")
    for _ in range(jobs):
        slurm.tell(*usual, f"--nodes={draw.choice([1, 2, 4, 6])}", f"--time={draw.choice([10, 30, 60, 120])}")
    until = time.monotonic() + 60.0
    while not any(job.holds_nodes for job in read_queue(Beside(slurm)).jobs) and time.monotonic() < until:
        time.sleep(0.2)


def nices(slurm: SlurmCluster) -> set[str]:
    """Return each Nice and begin time that jobs have which wait."""
    return set(slurm.ask("squeue", "-h", "-t", "PD", "-o", "%y").split())


@pytest.mark.parametrize("weighed", ["", WEIGHED])
def test_an_order_is_given_and_taken_back(weighed: str, short_path: Path) -> None:
    """Under both kinds of priorities, the queue has the plan's order, by Nice alone; killed or not, it is undone."""
    cluster = SlurmCluster(short_path / "slurm", nodes=8, settings=SETTINGS + weighed, factor=FACTOR)
    with cluster as slurm:
        fill(slurm, 8, seed=1)
        runner = Beside(slurm)
        queue = read_queue(runner)
        assert len(queue.waiting) == 8
        found = plan(queue, AIMS)
        assert found.gain > 60.0
        path = short_path / "undo.json"
        JobChanger(runner, Undo.open(path, queue.cluster)).apply(found)
        assert [job.number for job in read_queue(runner).waiting] == [job.number for job in found.order]
        assert nices(slurm) != {"0"}
        undone, others = JobChanger(runner, Undo.open(path, queue.cluster)).restore()
        assert (undone, others) == (len(found.changes), [])
        assert nices(slurm) == {"0"}
        assert not path.exists()


def test_priorities_set_by_hand_are_seen_on_a_real_slurm(short_path: Path) -> None:
    """Slurm takes the Nice of such a job with exit code 0 and does nothing: that is seen, and all is taken back."""
    cluster = SlurmCluster(short_path / "slurm", nodes=8, settings=SETTINGS + WEIGHED, factor=FACTOR)
    with cluster as slurm:
        fill(slurm, 6, seed=1)
        runner = Beside(slurm)
        found = plan(read_queue(runner), AIMS)
        job = found.changes[-1]
        slurm.tell("scontrol", "update", f"JobId={job.number}", f"Priority={job.priority + 1}")
        with pytest.raises(SetByHandError, match=f"Job {job.number}: its priority does not follow its Nice"):
            JobChanger(runner, Undo.open(short_path / "undo.json", "referee")).apply(found)
        assert nices(slurm) == {"0"}


def test_a_controller_that_is_killed_and_comes_back(short_path: Path) -> None:
    """Looks pass while it is away, begin times run out, and the watch goes on and undoes all when it is back."""
    cluster = SlurmCluster(short_path / "slurm", nodes=8, settings=SETTINGS, factor=FACTOR)
    with cluster as slurm:
        fill(slurm, 5, seed=2)
        watch = Watch(Beside(slurm), Undo.open(short_path / "undo.json", "referee"), AIMS)
        assert watch.look() is not None
        kill_controller(slurm)
        assert watch.look() is None
        begin_controller(slurm)
        watch.close()
        assert nices(slurm) == {"0"}


@pytest.mark.parametrize("lease", [None, 400.0])
def test_a_squeue_that_fails_changes_nothing(lease: float | None, short_path: Path) -> None:
    """Be it with an error, with half of what it says, or with nothing and exit code 0: no queue is taken for empty."""
    cluster = SlurmCluster(short_path / "slurm", nodes=8, settings=SETTINGS, factor=FACTOR)
    with cluster as slurm:
        fill(slurm, 8, seed=1)
        runner, squeue = Beside(slurm), Squeue(short_path)
        runner._environment["PATH"] = squeue.first
        told: list[str] = []
        watch = Watch(runner, Undo.open(short_path / "undo.json", "referee"), AIMS, lease=lease, told=told.append)
        assert watch.look() is not None
        before = given(slurm)
        assert lease is not None or nices(slurm) != {"0"}
        for how, said in (("fails", "Unable to contact"), ("half", "is not JSON"), ("nothing", "is not JSON")):
            squeue.does(how)
            slurm.tell("sbatch", "--output=/dev/null", "--chdir=/", "--wrap=sleep 20000", "--nodes=8", "--time=5")
            assert watch.look() is None
            assert said in told[-1]
            assert given(slurm)[: len(before)] == before
        squeue.does("whole")
        assert watch.look() is not None
        watch.close()
        assert nices(slurm) == {"0"}
        assert not (short_path / "undo.json").exists()


def given(slurm: SlurmCluster) -> list[str]:
    """Return the Nice and the begin time of each job that waits, in the order of their numbers."""
    said = slurm.ask("squeue", "-h", "-t", "PD", "-S", "i", "-O", "JobID:20,Nice:20,EligibleTime:30")
    return [word for line in said.splitlines() for word in line.split()[1:]]


@pytest.mark.parametrize("lease", [None, 400.0])
def test_a_clock_that_jumps_changes_nothing(lease: float | None, short_path: Path) -> None:
    """The controller comes back an hour ahead: until its clock is right again nobody is steered, then all is undone."""
    cluster = SlurmCluster(short_path / "slurm", nodes=8, settings=SETTINGS, factor=FACTOR)
    with cluster as slurm:
        fill(slurm, 8, seed=1)
        told: list[str] = []
        watch = Watch(
            Beside(slurm), Undo.open(short_path / "undo.json", "referee"), AIMS, lease=lease, told=told.append
        )
        assert watch.look() is not None
        assert lease is not None or nices(slurm) != {"0"}
        many = len(told)
        kill_controller(slurm)
        begin_controller(slurm, FAKETIME=f"+3600 x{FACTOR:g}")
        assert watch.look() is None
        assert "The controller's clock is +3" in told[-1]
        assert len(told) == many + 1  # no command
        kill_controller(slurm)
        begin_controller(slurm)
        watch.look()
        assert watch._failures == 0, told
        watch.close()
        assert nices(slurm) <= {"0"}  # of those who have not started meanwhile
        assert not (short_path / "undo.json").exists()


def test_a_job_that_is_held_stays_held(short_path: Path) -> None:
    """An administrator holds a job that is steered: neither another plan nor the end lets it go."""
    cluster = SlurmCluster(short_path / "slurm", nodes=8, settings=SETTINGS + WEIGHED, factor=FACTOR)
    with cluster as slurm:
        fill(slurm, 6, seed=1)
        watch = Watch(Beside(slurm), Undo.open(short_path / "undo.json", "referee"), AIMS)
        found = watch.look()
        assert found is not None
        held = found.changes[-1].number
        slurm.tell("scontrol", "hold", str(held))
        watch.look()
        watch.close()
        assert slurm.ask("squeue", "-h", "-j", str(held), "-o", "%Q %r") == "0 JobHeldAdmin"
        slurm.tell("scontrol", "release", str(held))
        assert nices(slurm) == {"0"}


def test_a_job_that_is_begun_anew_has_what_it_had(short_path: Path) -> None:
    """A steered job starts and is requeued: while it runs its Nice can be taken back, and after that, too."""
    cluster = SlurmCluster(short_path / "slurm", nodes=8, settings=SETTINGS, factor=FACTOR)
    with cluster as slurm:
        fill(slurm, 8, seed=1)
        watch = Watch(Beside(slurm), Undo.open(short_path / "undo.json", "referee"), AIMS)
        found = watch.look()
        assert found is not None
        lowered = {job.number for job in found.changes}
        assert lowered
        others = [job.number for job in read_queue(Beside(slurm)).jobs if job.number not in lowered]
        slurm.tell("scancel", *map(str, others))
        until = time.monotonic() + 60.0
        while not (begun := _running(slurm) & lowered) and time.monotonic() < until:
            time.sleep(0.2)
        assert begun
        watch.look()
        assert begun <= watch.undo.jobs.keys()
        slurm.tell("scontrol", "requeue", str(min(begun)))
        watch.look()
        watch.close()
        assert set(slurm.ask("squeue", "-h", "-o", "%y").split()) == {"0"}


def test_what_only_a_real_slurm_prints_is_read_and_changed(short_path: Path) -> None:
    """A Nice below 0, a long list of tasks, and a requeued job that has no start and leaves its nodes."""
    settings = f"{SETTINGS}{WEIGHED}KillWait=300\nMaxArraySize=10000"
    with SlurmCluster(short_path / "slurm", nodes=4, settings=settings, factor=FACTOR) as slurm:
        usual = ("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--time=60")
        stubborn = slurm.tell(*usual, "--requeue", "--nodes=4", "--wrap=trap '' TERM; while :; do sleep 1; done")
        runner = Beside(slurm)
        until = time.monotonic() + 60.0
        while not read_queue(runner).job(stubborn).holds_nodes and time.monotonic() < until:
            time.sleep(0.2)
        squares = ",".join(str(k * k) for k in range(1, 61))
        array = slurm.tell(*usual, "--nodes=4", f"--array={squares}", "--wrap=sleep 20000")
        first = slurm.tell(*usual, "--nodes=4", "--wrap=sleep 20000")
        slurm.tell("scontrol", "update", f"JobId={first}", "Nice=-100")
        slurm.tell("scontrol", "requeue", stubborn)
        while "StartTime=Unknown" not in slurm.ask("scontrol", "show", "job", stubborn) and time.monotonic() < until:
            time.sleep(0.2)
        queue = read_queue(runner)
        assert "COMPLETING" in queue.job(stubborn).states
        assert queue.job(stubborn).hosts == ("n1",)  # where its script runs
        assert queue.unread == {}
        assert queue.job(first).nice == -100
        several = next(job for job in queue.jobs if job.number == int(array))
        assert (several.tasks, several.target) == (60, f"{array}_[{squares}]")
        hand = JobChanger(runner, Undo.open(short_path / "undo.json", "referee"))
        assert hand.run(several, give_nice(several.target, 7))
        assert read_queue(runner).job(several.target).nice == 7
        with pytest.raises(RefusedError, match="Invalid job id"):
            hand.run(several, give_nice(f"{array}_[1,4,...]", 8))
        slurm.tell("scancel", array)
        assert not hand.run(several, give_nice(f"{array}_[1,4,...]", 8))


def _running(slurm: SlurmCluster) -> set[int]:
    return set(map(int, slurm.ask("squeue", "-h", "-t", "R", "-o", "%A").split()))


@pytest.mark.skipif(bool(accounts_missing()), reason="no accounts: apt-get install slurmdbd mariadb-server")
def test_what_an_owner_a_coordinator_and_an_operator_may(short_path: Path) -> None:
    """Owners and coordinators give Nice above 0 to their jobs and begin times, operators to all; others are refused."""
    accounts = [
        "add cluster referee", "add account physics", "add account biology", "add user games account=physics",
        "add user lp account=physics", "add user mail account=biology", "add user man account=biology",
        "modify user man set admin=operator", "add coordinator account=physics names=lp",
    ]  # fmt: skip
    cluster = AccountedCluster(
        short_path / "slurm", accounts=accounts, nodes=8, factor=FACTOR,
        settings=SETTINGS + WEIGHED + "AccountingStorageEnforce=associations",
    )  # fmt: skip
    with cluster as slurm:
        fill(slurm, 8, 1, "--uid=games")
        found = plan(read_queue(Beside(slurm)), AIMS)
        assert found.changes
        for who, may in (("games", True), ("lp", True), ("man", True), ("mail", False)):
            runner = Beside(slurm, who)
            undo = Undo.open(short_path / f"{who}.json", "referee")
            if not may:
                with pytest.raises(SteerError, match="mail may not change"):
                    JobChanger(runner, undo).apply(found)
                with pytest.raises(CommandError, match="Invalid user id"):
                    runner.run(give_nice(found.changes[0].target, 3))
                continue
            JobChanger(runner, undo).apply(found)
            assert nices(slurm) != {"0"}
            JobChanger(runner, undo).restore()
            assert nices(slurm) == {"0"}
            runner.run(begin_at(found.changes[0].target, runner.now() + 60.0))
            if who == "man":
                runner.run(give_nice(found.changes[0].target, -1))
            else:
                with pytest.raises(CommandError, match="denied"):
                    runner.run(give_nice(found.changes[0].target, -1))
