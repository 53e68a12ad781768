"""Watching: plans when something has changed, does nothing when nothing has, and leaves nothing behind."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.fake_slurm import NOW, FakeSlurm, Job, is_update
from support.steering import LEASE, KilledError, crowd, left_alone, watching

from fedsched.core.errors import SteerError
from fedsched.site.steer import Undo, Watch, read_queue

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.site.steer.commands import Command

def _few() -> FakeSlurm:
    return crowd(1, jobs=4)


def test_it_plans_when_jobs_change_and_only_then(tmp_path: Path) -> None:
    """The first look changes something; the second nothing; a job that comes brings a plan; so does one that ends."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json")
    assert watch.look() is not None
    many = len(fake.changed)
    assert many > 0
    assert watch.look() is None
    assert len(fake.changed) == many
    fake.jobs[40] = Job(40, minutes=1, base=9_000, submit=NOW)
    assert watch.look() is not None
    assert next(job.number for job in read_queue(fake).waiting) == 40
    del fake.jobs[2]
    assert watch.look() is not None
    assert watch.plans == 3


def test_priorities_that_moved_are_seen(tmp_path: Path) -> None:
    """Where factors have moved priorities past each other, the order is made anew."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json")
    found = watch.look()
    assert found is not None
    last = found.order[-1].number
    fake.jobs[last] = replace(fake.jobs[last], base=fake.jobs[last].base + 5000)
    again = watch.look()
    assert again is not None
    assert [job.number for job in read_queue(fake).waiting] == [job.number for job in again.order]


def test_promises_last(tmp_path: Path) -> None:
    """Who was promised a start keeps it, whoever comes later with less priority."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json")
    first = watch.look()
    assert first is not None
    fake.jobs |= {k: Job(k, minutes=1, base=9_000, submit=NOW) for k in range(40, 44)}
    again = watch.look()
    assert again is not None
    promised = {one.job.number: one.deadline for one in first.starts}
    assert all(one.deadline == promised[one.job.number] for one in again.starts if one.job.number in promised)


def test_it_does_nothing_for_one_job(tmp_path: Path) -> None:
    """No command that changes anything is run where one waits."""
    fake = crowd(1, jobs=1)
    watch = watching(fake, tmp_path / "undo.json")
    watch.run(lambda _: None, looks=3)
    assert fake.changed == []
    assert not (tmp_path / "undo.json").exists()


@pytest.mark.parametrize("lease", [None, LEASE])
def test_an_idle_cluster_is_watched_on(lease: float | None, tmp_path: Path) -> None:
    """A night in which nobody waits and nobody runs is no failure; who comes in the morning is planned."""
    fake = FakeSlurm({})
    told: list[str] = []
    watch = watching(fake, tmp_path / "undo.json", lease=lease, told=told.append)
    for _ in range(6):
        assert watch.look() is None
    assert told == []
    fake.jobs = crowd(1).jobs
    assert watch.look() is not None


def test_looks_that_fail_change_nothing_and_then_end_it(tmp_path: Path) -> None:
    """While slurmctld is away looks pass; where it stays away, that is the error, with its words."""
    fake = crowd(1)
    told: list[str] = []
    watch = watching(fake, tmp_path / "undo.json", told=told.append)
    fake.fails = lambda _: "Unable to contact slurm controller"
    assert watch.look() is None
    assert fake.changed == []
    assert "Unable to contact slurm controller" in told[-1]
    fake.fails = lambda _: None
    assert watch.look() is not None
    fake.fails = lambda _: "Unable to contact slurm controller"
    for _ in range(4):
        watch.look()
    with pytest.raises(SteerError, match="5 looks in a row have failed"):
        watch.look()


def test_a_clock_that_jumps_stops_it_from_planning(tmp_path: Path) -> None:
    """The controller's clock is set an hour ahead: nothing is changed until the clocks agree again."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json")
    watch.look()
    many = len(fake.changed)
    fake.here = fake.time
    fake.time += 3600
    fake.jobs[41] = Job(41)
    assert watch.look() is None
    assert len(fake.changed) == many
    fake.here = None
    fake.jobs[41] = Job(41, submit=fake.time)
    assert watch.look() is not None


@pytest.mark.parametrize("lease", [None, LEASE])
def test_it_undoes_all_when_it_ends(lease: float | None, tmp_path: Path) -> None:
    """By itself, or by Ctrl-C in the middle of its sleep."""
    for end in (None, KeyboardInterrupt):
        fake = _few()
        before = {number: job.base for number, job in fake.jobs.items()}
        path = tmp_path / "undo.json"
        watch = watching(fake, path, lease=lease)
        sleeps = 0

        def sleep(seconds: float, fake: FakeSlurm = fake, end: type[BaseException] | None = end) -> None:
            nonlocal sleeps
            sleeps += 1
            fake.time += seconds
            assert not left_alone(fake)
            if end is not None:
                raise end

        if end is None:
            watch.run(sleep, looks=2)
            assert sleeps == 1
        else:
            with pytest.raises(end):
                watch.run(sleep)
        assert left_alone(fake)
        assert not path.exists()
        assert {number: job.base for number, job in fake.jobs.items()} == before


def _two_looks(watch: Watch, fake: FakeSlurm) -> None:
    watch.look()
    fake.jobs[40] = Job(40, minutes=1, base=9_000, submit=NOW)
    watch.look()


@pytest.mark.parametrize("lease", [None, LEASE])
def test_killed_anywhere_it_leaves_nothing_that_harms(lease: float | None, tmp_path: Path) -> None:
    """After each command of two looks begin times run out, no job is held or ties at 1; another watch undoes them."""
    whole = _few()
    _two_looks(watching(whole, tmp_path / "whole.json", lease=lease), whole)
    many = len(whole.changed)
    assert many > 3
    for most in range(many):
        fake = _few()
        path = tmp_path / f"{most}.json"
        watch = watching(fake, path, lease=lease)

        def strike(command: Command, fake: FakeSlurm = fake, most: int = most) -> None:
            if is_update(command) and len(fake.changed) >= most:
                raise KilledError

        fake.before = strike
        with pytest.raises(KilledError):
            _two_looks(watch, fake)
        fake.before = lambda _: None
        for job in fake.jobs.values():
            assert job.priority > 1
            assert not job.held
            assert job.begin <= fake.time + (lease or 0.0)
        watching(fake, path, lease=lease).close()
        assert left_alone(fake)
        assert not path.exists()


def test_a_lease_keeps_who_is_not_due_and_is_renewed(tmp_path: Path) -> None:
    """Jobs that do not start now begin a lease later; it is moved on before it runs out; who is due is let go."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json", lease=LEASE)
    found = watch.look()
    assert found is not None
    kept = {one.job.number for one in found.starts if one.after > NOW + 1} - {found.next_due}
    assert {job.id for job in fake.jobs.values() if job.begin > NOW} == kept
    assert all(job.begin == NOW + LEASE for job in fake.jobs.values() if job.id in kept)
    many = len(fake.changed)
    fake.time += 50
    watch.look()
    assert len(fake.changed) == many  # there is time
    fake.time += 60
    watch.look()
    assert all(fake.jobs[number].begin == fake.time + LEASE for number in kept)
    assert all(job.nice == 0 for job in fake.jobs.values())
    del fake.jobs[1], fake.jobs[2]  # all nodes are free
    again = watch.look()
    assert again is not None
    due = {one.job.number for one in again.starts if one.after <= fake.time + 1}
    assert due
    assert all(fake.jobs[number].begin <= fake.time for number in due)


@pytest.mark.parametrize(
    ("settings", "refused"),
    [
        ({"AccountingStorageEnforce": "associations,limits,qos"}, True),
        ({"AccountingStorageEnforce": "associations,limits", "PriorityFlags": "ACCRUE_ALWAYS"}, False),
        ({"AccountingStorageEnforce": "associations,limits", "PriorityWeightAge": "0"}, False),
        ({"AccountingStorageEnforce": "associations"}, False),
    ],
)
def test_a_lease_under_enforced_limits_costs_age_and_is_refused(
    settings: dict[str, str], refused: bool, tmp_path: Path
) -> None:
    """A begin time sets the age to nothing there, unless it accrues always or weighs nothing."""
    fake = crowd(1, settings=settings)
    told: list[str] = []
    watching(fake, tmp_path / "undo.json", lease=LEASE, told=told.append).look()
    assert bool(fake.changed) != refused
    assert any("leave --strict out" in line for line in told) == refused


def test_a_lease_must_outlive_looks(tmp_path: Path) -> None:
    """One that would run out before it is renewed is refused, and an interval of nothing."""
    with pytest.raises(SteerError, match="lease=100 must be at least four times the interval"):
        watching(crowd(1), tmp_path / "undo.json", lease=100.0)
    with pytest.raises(SteerError, match="interval"):
        watching(crowd(1), tmp_path / "undo.json", interval=0.0)


def test_priorities_set_by_hand_are_left_alone_from_then_on(tmp_path: Path) -> None:
    """Found once, such a job is not tried again, and the others are steered around it."""
    fake = crowd(1)
    first = watching(crowd(1), tmp_path / "other.json").look()
    assert first is not None
    stubborn = first.changes[0].number
    fake.jobs[stubborn] = replace(fake.jobs[stubborn], by_hand=True)
    told: list[str] = []
    watch = watching(fake, tmp_path / "undo.json", told=told.append)
    found = watch.look()
    assert found is not None
    assert any(f"Job {stubborn}: its priority does not follow" in line for line in told)
    assert stubborn not in found.steered
    assert [job.number for job in read_queue(fake).waiting] == [job.number for job in found.order]


def refusing(fake: FakeSlurm, number: int, said: str) -> None:
    """Have the fake refuse to change one job, whatever is asked for."""
    fake.fails = lambda command: said if is_update(command) and f"JobId={number}" in command[2].split("_") else None


@pytest.mark.parametrize(("said", "lease"), [("Invalid job id specified", None), ("Access/permission denied", LEASE)])
def test_a_job_that_cannot_be_changed_does_not_end_the_watch(said: str, lease: float | None, tmp_path: Path) -> None:
    """Slurm refuses one job: it is left alone, which is said once, and the others are steered, look after look."""
    fake = _few()
    told: list[str] = []
    watch = watching(fake, tmp_path / "undo.json", lease=lease, told=told.append)
    first = watching(_few(), tmp_path / "other.json", lease=lease).look()
    assert first is not None
    late = (one.job.number for one in first.starts if one.after > first.soon and one.job.number != first.next_due)
    number = first.changes[-1].number if lease is None else next(late)
    refusing(fake, number, said)
    found = watch.look()
    assert found is not None
    assert number not in found.steered
    assert {command[2] for command in fake.changed} - {f"JobId={number}"}
    fake.jobs[40] = Job(40, minutes=1, base=9_000, submit=NOW)
    assert watch.look() is not None
    assert sum(f"Job {number} is left alone from now on (--leave {number})" in line for line in told) == 1
    assert not any("this look changes nothing" in line for line in told)
    watch.close()
    assert left_alone(fake) or lease is not None


def test_nobody_is_left_alone_where_no_controller_answers_after_a_refusal(tmp_path: Path) -> None:
    """A refusal is the job's only if Slurm answers on; else the look fails, and the job is steered again later."""
    fake = _few()
    watch = watching(fake, tmp_path / "undo.json")
    first = watching(_few(), tmp_path / "other.json").look()
    assert first is not None
    number = first.changes[-1].number
    gone = False

    def fails(command: Command) -> str | None:
        nonlocal gone
        gone |= is_update(command) and f"JobId={number}" in command
        return "Socket timed out on send/recv operation" if gone else None

    fake.fails = fails
    assert watch.look() is None
    fake.fails = lambda _: None
    again = watch.look()
    assert again is not None
    assert number in again.steered


def test_an_array_whose_tasks_change_meanwhile_is_planned_anew(tmp_path: Path) -> None:
    """Slurm knows no tasks by the old name, but the array is there: the look goes on with those that wait now."""
    fake = _few()
    fake.jobs[50] = Job(50, tasks="0-3", minutes=60, nodes=2, base=11_000)
    told: list[str] = []

    def fails(command: Command) -> str | None:
        if not is_update(command) or command[2] != "JobId=50_[0-3]":
            return None
        fake.jobs[50] = replace(fake.jobs[50], tasks="1-3")
        return "Invalid job id specified for job 50_[0-3]"

    fake.fails = fails
    watch = watching(fake, tmp_path / "undo.json", told=told.append)
    found = watch.look()
    assert found is not None
    assert fake.jobs[50].nice
    assert 50 in found.steered
    assert not any("left alone" in line for line in told)


def test_a_job_that_cannot_be_read_is_left_out_and_gets_back_what_it_had_later(tmp_path: Path) -> None:
    """It is said once; its entry stays in the undo file while it is there, and is carried out once it can be read."""
    fake = _few()
    told: list[str] = []
    path = tmp_path / "undo.json"
    watch = watching(fake, path, told=told.append)
    found = watch.look()
    assert found is not None
    number = found.changes[-1].number
    whole = fake.jobs[number]
    fake.jobs[number] = replace(whole, tasks="x")
    fake.jobs[40] = Job(40, minutes=1, base=9_000, submit=NOW)
    for _ in range(2):
        watch.look()
    assert sum(f"job {number}: it cannot be read, so it is left out: squeue --json, job" in line for line in told) == 1
    watch.close()
    assert [one.nice for one in fake.jobs.values() if one.nice] == [whole.nice]
    assert list(Undo.open(path, "fake").jobs) == [number]
    assert f"job {number}: it cannot be read, so the undo file keeps what it had" in told
    fake.jobs[number] = whole
    watching(fake, path).close()
    assert left_alone(fake)
    assert not path.exists()
