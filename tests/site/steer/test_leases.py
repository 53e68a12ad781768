"""Leases: a begin time of ours is known as ours whatever has failed since, and nobody else's ever is."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.fake_slurm import NOW, Job, is_update
from support.steering import LEASE, crowd, left_alone, watching

from fedsched.site.steer import Undo, read_queue
from fedsched.site.steer.undo import Former

if TYPE_CHECKING:
    from pathlib import Path

    from support.fake_slurm import FakeSlurm

    from fedsched.site.steer.commands import Command


def kept_from_starting(fake: FakeSlurm) -> dict[int, float]:
    """Return the begin times that are still to come."""
    return {number: job.begin for number, job in fake.jobs.items() if job.begin > fake.time}


def test_a_lease_that_could_not_be_renewed_is_still_ours(tmp_path: Path) -> None:
    """The controller goes away as begin times are moved on: what jobs had before that is moved on, and taken back."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json", lease=LEASE)
    watch.look()
    before = kept_from_starting(fake)
    assert before
    fake.time += 0.6 * LEASE
    fake.fails = lambda command: "Unable to contact slurm controller" if is_update(command) else None
    assert watch.look() is None
    fake.fails = lambda _: None
    assert kept_from_starting(fake) == before
    for end in (False, True):
        if end:
            watch.close()
            assert left_alone(fake)
            assert not (tmp_path / "undo.json").exists()
        else:
            watch.look()
            assert kept_from_starting(fake) == dict.fromkeys(before, fake.time + LEASE)


@pytest.mark.parametrize("lost", [1, 2, 5, 1000])
def test_a_controller_that_forgets_what_it_was_told_last(lost: int, tmp_path: Path) -> None:
    """It dies before it has written it, be it leases or their ends: the next watch knows what it finds."""
    fake = crowd(1)
    path = tmp_path / "undo.json"
    was: list[dict[int, Job]] = []
    fake.before = lambda command: was.append(dict(fake.jobs)) if is_update(command) else None
    watch = watching(fake, path, lease=LEASE)
    watch.look()
    given = len(was)
    fake.time += 0.6 * LEASE
    for number in (1, 2):  # all nodes are free: some jobs are due
        for jobs in (*was, fake.jobs):
            jobs.pop(number, None)
    watch.look()
    assert len(was) > given + 2
    fake.jobs = dict(was[max(0, len(was) - lost)])
    last = watching(fake, path, lease=LEASE)
    last.look()
    last.close()
    assert left_alone(fake)
    assert not path.exists()


@pytest.mark.parametrize("apart", [-30.0, -1.0, 1.0, 30.0])
def test_a_begin_time_close_to_ours_is_its_owners(apart: float, tmp_path: Path) -> None:
    """He sets one that is over within a minute of ours, or Slurm does, as it begins a job anew: it stays."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json", lease=LEASE)
    watch.look()
    job, begin = next(iter(kept_from_starting(fake).items()))
    fake.jobs[job] = replace(fake.jobs[job], begin=begin + apart)
    fake.time += 20.0
    watch.look()
    watch.close()
    assert kept_from_starting(fake) == {job: begin + apart}


def test_tasks_that_leave_their_array_take_its_lease_along(tmp_path: Path) -> None:
    """A task that is begun anew has a number of its own, and the begin time that its array had from us."""
    fake = crowd(1, jobs=2)
    array = replace(read_queue(fake).job("10"), number=70, target="70_[0-3]", tasks=4, eligible=NOW + LEASE)
    undo = Undo.open(tmp_path / "undo.json", "fake")
    undo.jobs = {70: Former("70_[0-3]", array.user, array.submit, 0, begins=(NOW, int(NOW + LEASE)))}
    task = replace(array, number=71, target="70_0", tasks=1)
    own = replace(task, number=72, target="70_1", eligible=NOW + 5.0)
    undo.follow([array, task, own])
    assert undo.jobs.keys() == {70, 71}
    assert undo.jobs[71].has_our_begin(task)
    assert Undo.open(tmp_path / "undo.json", "fake").jobs == undo.jobs


def test_begin_times_that_are_over_are_forgotten(tmp_path: Path) -> None:
    """However often a lease is renewed, the undo file does not grow."""
    fake = crowd(1)
    watch = watching(fake, tmp_path / "undo.json", lease=LEASE)
    for _ in range(12):
        watch.look()
        fake.time += 0.6 * LEASE
    assert kept_from_starting(fake)
    assert max(len(one.begins) for one in watch.undo.jobs.values()) <= 3


@pytest.mark.parametrize("ahead", [-3600.0, 120.0, 3600.0])
def test_a_lease_is_undone_by_the_controllers_clock(ahead: float, tmp_path: Path) -> None:
    """However far that is from this machine's: nobody waits when it is right again, or the undo file still has him."""
    fake = crowd(1)
    path = tmp_path / "undo.json"
    watch = watching(fake, path, lease=LEASE)
    watch.look()
    assert kept_from_starting(fake)
    fake.here = fake.time
    fake.time += ahead
    watch.close()
    assert not kept_from_starting(fake)
    assert path.exists() == (ahead > LEASE)  # by its clock the lease is over, by ours it is not
    fake.time, fake.here = fake.time - min(0.0, ahead), None
    if ahead > LEASE:
        fake.time -= ahead
        assert kept_from_starting(fake)
        watching(fake, path, lease=LEASE).close()
    assert max(kept_from_starting(fake).values(), default=0.0) <= NOW + ahead
    assert not path.exists()


def test_commands_of_one_that_was_killed_may_come_late(tmp_path: Path) -> None:
    """Its last command reaches a controller that was away after the next watch has looked: it is known as well."""
    fake = crowd(1)
    path = tmp_path / "undo.json"
    watch = watching(fake, path, lease=LEASE)
    watch.look()
    fake.time += 0.6 * LEASE
    late: list[Command] = []

    def away(command: Command) -> str | None:
        if is_update(command):
            late.append(command)
            return "it has not answered"
        return None

    fake.fails = away
    watch.look()
    fake.fails = lambda _: None
    again = watching(fake, path)
    again.undo.follow(read_queue(fake).jobs)
    for command in late:
        fake.run(command)
    again.close()
    assert left_alone(fake)
