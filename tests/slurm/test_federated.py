"""Jobs of a real federation that leave their cluster to us: placed, left alone, broken off in the midst, undone."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import pytest
from slurm.accounted import missing as accounts_missing
from slurm.federated import federated
from slurm.test_steering import FACTOR, SETTINGS, kill_controller
from support.beside_slurm import Beside

from fedsched.core.errors import SteerError
from fedsched.site.steer import Aims
from fedsched.site.steer.placement_changes import PlacementChanger, PlacementUndo
from fedsched.site.steer.placing import place
from fedsched.site.steer.reading import read_siblings

if TYPE_CHECKING:
    from pathlib import Path

    from slurm.cluster import SlurmCluster

    from fedsched.site.steer import SlurmJob
    from fedsched.site.steer.commands import Command

AIMS = Aims(slack=600.0, seconds=20.0)
LATER = "--begin=now+7days"
OURS = "--comment=please fedsched"
DAY = 86_400.0
pytestmark = [
    pytest.mark.usefixtures("slurm_is_here"),
    pytest.mark.slow,
    pytest.mark.skipif(bool(accounts_missing()), reason="no accounts: apt-get install slurmdbd mariadb-server"),
]


def submit(slurm: SlurmCluster, nodes: int, minutes: int, *words: str) -> int:
    """Submit a job that lasts, and return its number."""
    usual = ("sbatch", "--parsable", "--output=/dev/null", "--chdir=/", "--wrap=sleep 20000")
    said = slurm.tell(*usual, f"--nodes={nodes}", f"--time={minutes}", *words)
    return int(said.partition(";")[0])


def seen(slurm: SlurmCluster, number: int) -> dict[str, SlurmJob]:
    """Return a job as each cluster that it waits or runs on tells of it."""
    queues = read_siblings(Beside(slurm))
    return {
        name: job for name, queue in queues.items() for job in queue.jobs
        if job.number == number and (job.waits or job.holds_nodes)
    }  # fmt: skip


def until_it_runs(slurm: SlurmCluster, number: int) -> str:
    """Return the cluster on which a job runs, once it does."""
    until = time.monotonic() + 60.0
    while time.monotonic() < until:
        for name, job in seen(slurm, number).items():
            if job.holds_nodes:
                return name
        time.sleep(0.2)
    raise AssertionError(f"job {number} does not start: {seen(slurm, number)}")


class Killed(Beside):
    """A runner that dies behind a command."""

    def run(self, command: Command) -> str:
        """Run a command, and die if it chose a cluster."""
        said = super().run(command)
        if command[-1].startswith("Clusters="):
            raise KeyboardInterrupt
        return said


def test_jobs_are_placed_and_taken_back(short_path: Path) -> None:
    """Each starts where there is room, alone there; who did not ask is left; what still waits is given back."""
    with federated(short_path / "fed", nodes=(4, 2), settings=SETTINGS, factor=FACTOR) as (north, south):
        full = submit(north, 4, 60, "--clusters=north")
        assert until_it_runs(north, full) == "north"
        wide = submit(north, 4, 30, LATER, OURS)
        small = submit(south, 2, 40, LATER, OURS)
        after = submit(north, 2, 20, LATER, OURS)
        silent = submit(north, 1, 10, LATER)
        runner = Beside(north)
        placing = place(read_siblings(runner), AIMS)
        chosen = {one.job.number: one.cluster for one in placing.placements}
        assert chosen.keys() == {wide, small, after}
        assert chosen[wide] == "north"
        kept = short_path / "placed.json"
        placer = PlacementChanger(runner, PlacementUndo.open(kept))
        assert placer.carry_out(placing, placing.placements) == 3
        for number, name in chosen.items():
            assert seen(north, number).keys() == {name}, number
        assert seen(north, silent).keys() == {"north", "south"}
        running = min(placing.placements, key=lambda one: one.start)
        assert until_it_runs(north, running.job.number) == running.cluster
        waiting = [number for number in chosen if all(job.waits for job in seen(north, number).values())]
        assert wide in waiting
        begin = {job.number: job.eligible for queue in placing.queues.values() for job in queue.jobs}
        PlacementChanger(runner, PlacementUndo.open(kept)).undo()
        assert not kept.exists()
        for number in waiting:
            found = seen(north, number)
            assert found["north"].siblings == ("north", "south")
            assert found["north"].eligible == pytest.approx(begin[number], abs=120.0)
        assert seen(north, running.job.number)[running.cluster].holds_nodes


def test_who_is_killed_between_two_commands_leaves_a_job_that_starts(short_path: Path) -> None:
    """It has a cluster, and waits for its time; the next call lets it begin there. Owners may; others are refused."""
    with federated(short_path / "fed", nodes=(2, 2), settings=SETTINGS, factor=FACTOR) as (north, _):
        number = submit(north, 1, 30, LATER, OURS, "--uid=games")
        kept = short_path / "placed.json"
        placing = place(read_siblings(Beside(north)), AIMS)
        with pytest.raises(SteerError, match="lp may not change"):
            PlacementChanger(Beside(north, "lp"), PlacementUndo(None)).carry_out(placing, placing.placements)
        assert seen(north, number).keys() == {"north", "south"}
        with pytest.raises(KeyboardInterrupt):
            PlacementChanger(Killed(north, "games"), PlacementUndo.open(kept)).carry_out(placing, placing.placements)
        (name, job), = seen(north, number).items()
        assert job.waits
        assert job.eligible > read_siblings(Beside(north))[name].now + 6 * DAY
        assert job.siblings == (name,)
        again = place(read_siblings(Beside(north)), AIMS)
        assert [(one.job.number, one.cluster) for one in again.placements] == [(number, name)]
        PlacementChanger(Beside(north, "games"), PlacementUndo.open(kept)).carry_out(again, again.placements)
        assert until_it_runs(north, number) == name


def test_an_array_begins_where_it_was_submitted(short_path: Path) -> None:
    """Slurm has it on that cluster alone: so it gets its start, and tasks that still wait then get their time back."""
    with federated(short_path / "fed", nodes=(2, 2), settings=SETTINGS, factor=FACTOR) as (north, _):
        number = submit(north, 1, 30, LATER, OURS, "--array=0-3")
        (name, job), = seen(north, number).items()
        assert (name, job.siblings, job.tasks) == ("north", ("north",), 4)
        placing = place(read_siblings(Beside(north)), AIMS)
        assert [(one.job.number, one.cluster) for one in placing.placements] == [(number, "north")]
        assert placing.placements[0].start <= placing.now + 1.0
        kept = short_path / "placed.json"
        assert PlacementChanger(Beside(north), PlacementUndo.open(kept)).carry_out(placing, placing.placements) == 1
        until = time.monotonic() + 60.0
        while len(north.ask("squeue", "-h", "-t", "R", "-o", "%A").split()) < 2 and time.monotonic() < until:
            time.sleep(0.2)
        PlacementChanger(Beside(north), PlacementUndo.open(kept)).undo()
        assert not kept.exists()
        left = seen(north, number)["north"]
        assert (left.tasks, left.waits) == (2, True)
        assert left.eligible == pytest.approx(job.eligible, abs=120.0)


def test_a_sibling_that_is_gone_stops_it(short_path: Path) -> None:
    """Nothing is changed in a federation that is not whole; the error says which cluster, and by what to look."""
    with federated(short_path / "fed", nodes=(1, 1), settings=SETTINGS, factor=FACTOR) as (north, south):
        number = submit(north, 1, 30, LATER, OURS)
        kill_controller(south)
        until = time.monotonic() + 60.0
        while "Synced:Yes" in north.ask("scontrol", "show", "federation") and time.monotonic() < until:
            time.sleep(0.2)
        with pytest.raises(SteerError, match="south, which is not Synced:Yes"):
            read_siblings(Beside(north))
        assert north.ask("squeue", "-h", "-j", str(number), "-o", "%T") == "PENDING"
