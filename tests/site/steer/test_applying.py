"""Applying and undoing: whatever fails, and whenever it is killed, nothing is left that harms."""

from __future__ import annotations

import contextlib
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.fake_slurm import FakeSlurm, Job, is_update
from support.steering import FEW, KilledError, crowd, hand_of, planned

from fedsched.core.errors import SteerError
from fedsched.site.steer import Aims, JobChanger, SetByHandError, Undo, Watch, plan, read_queue
from fedsched.site.steer.commands import commands_of

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.site.steer.commands import Command


def is_as_before(fake: FakeSlurm, before: dict[int, Job]) -> bool:
    """Return whether every job is as it was."""
    return fake.jobs == before


def test_a_plan_is_carried_out_and_undone(tmp_path: Path) -> None:
    """Priorities have the plan's order after it, no command but Nice was given, and undoing leaves no trace."""
    fake = crowd(1)
    before = dict(fake.jobs)
    found = planned(fake)
    told: list[str] = []
    hand = JobChanger(fake, Undo.open(tmp_path / "undo.json", "fake"), told.append)
    assert hand.apply(found) == len(found.changes)
    assert [job.number for job in read_queue(fake).waiting] == [job.number for job in found.order]
    assert fake.changed == commands_of(found)
    assert told == [" ".join(command) for command in commands_of(found)]
    assert all(word.startswith("Nice=") for command in fake.changed for word in command[3:])
    assert (tmp_path / "undo.json").exists()
    undone, others = hand.restore()
    assert (undone, others) == (len(found.changes), [])
    assert is_as_before(fake, before)
    assert not (tmp_path / "undo.json").exists()


def test_killed_between_any_two_commands(tmp_path: Path) -> None:
    """After each prefix of the commands no job is held or ties at 1, and the undo file gives back what all had."""
    whole = crowd(1)
    found = planned(whole)
    already = len(whole.asked)
    hand_of(whole, tmp_path / "whole.json").apply(found)
    for most in range(len(whole.asked) - already):
        fake = crowd(1)
        before = dict(fake.jobs)
        path = tmp_path / f"{most}.json"

        def strike(_: Command, fake: FakeSlurm = fake, most: int = most) -> None:
            if len(fake.asked) >= most:
                raise KilledError

        fake.before = strike
        hand = hand_of(fake, path)
        with contextlib.suppress(KilledError):
            hand.apply(found)
        fake.before = lambda _: None
        assert all(job.priority > 1 and not job.begin and not job.held for job in fake.jobs.values())
        hand_of(fake, path).restore()
        assert is_as_before(fake, before)
        assert not path.exists()


def test_killed_while_it_undoes(tmp_path: Path) -> None:
    """Undoing that is killed can be done again, until all is undone."""
    fake = crowd(1)
    before = dict(fake.jobs)
    path = tmp_path / "undo.json"
    hand_of(fake, path).apply(planned(fake))
    updates = 0

    def strike(command: Command) -> None:
        nonlocal updates
        updates += is_update(command)
        if updates % 2 == 0 and is_update(command):
            raise KilledError

    fake.before = strike
    for _ in range(20):
        try:
            hand_of(fake, path).restore()
            break
        except KilledError:
            assert path.exists()
    assert is_as_before(fake, before)


@pytest.mark.parametrize("which", [0, 1, 3])
def test_an_update_that_fails_takes_back_the_others(which: int, tmp_path: Path) -> None:
    """Where Slurm refuses a command, or a read-back fails, all jobs have what they had, and the error says so."""
    found = planned(crowd(1))
    for verb in ("scontrol", "squeue"):
        fake = crowd(1)
        before = dict(fake.jobs)
        job = found.changes[which]
        fake.fails = lambda command, number=job.number, verb=verb: (  # type: ignore[misc]
            "Access/permission denied"
            if command[0] == verb and {f"JobId={number}", str(number)} & set(command) and "Nice=0" not in command
            else None
        )
        with pytest.raises(SteerError, match=r"Access/permission denied.*this plan are undone"):
            hand_of(fake, tmp_path / f"{verb}.json").apply(found)
        assert is_as_before(fake, before)


def test_a_controller_that_has_gone_is_said_with_the_undo_file(tmp_path: Path) -> None:
    """Where nothing can be taken back, the error names the file that can."""
    fake = crowd(1)
    before = dict(fake.jobs)
    found = planned(fake)
    fake.fails = lambda _: "Unable to contact slurm controller" if len(fake.changed) >= 2 else None
    with pytest.raises(SteerError, match=r"this plan are undone, but not of .*undo\.json.*fedsched apply --undo"):
        hand_of(fake, tmp_path / "undo.json").apply(found)
    fake.fails = lambda _: None
    hand_of(fake, tmp_path / "undo.json").restore()
    assert is_as_before(fake, before)


def test_a_controller_that_has_gone_is_asked_no_more(tmp_path: Path) -> None:
    """Each command looks for it for ten seconds: after the first to find nobody no other update is tried."""
    fake = crowd(1)
    before = dict(fake.jobs)
    found = planned(fake)
    missed: list[Command] = []

    def nobody_there(command: Command) -> str | None:
        if not is_update(command) or len(fake.changed) < 2:
            return None
        missed.append(command)
        return "Unexpected message received for job 7"  # what `scontrol update` of a real Slurm says then

    fake.fails = nobody_there
    with pytest.raises(SteerError, match="this plan are undone, but not of"):
        hand_of(fake, tmp_path / "undo.json").apply(found)
    assert len(missed) == 2  # a change, and the first to be taken back
    with pytest.raises(SteerError, match="still to be undone"):
        hand_of(fake, tmp_path / "undo.json").restore()
    assert len(missed) == 3
    fake.fails = lambda _: None
    hand_of(fake, tmp_path / "undo.json").restore()
    assert is_as_before(fake, before)


@pytest.mark.parametrize("lease", [None, 200.0])
def test_what_was_given_is_taken_back_whatever_clocks_show(lease: float | None, tmp_path: Path) -> None:
    """Nobody plans by clocks that differ, or were set back; to undo needs none of them."""
    for ahead, began in ((3600.0, 0.0), (0.0, 3600.0)):
        fake = crowd(1)
        path = tmp_path / f"{ahead:.0f}.json"
        undo = Undo.open(path, "fake")
        watch = Watch(fake, undo, Aims(evaluations=FEW, seconds=1e9), lease=lease)
        watch.look()
        assert any(job.nice or job.begin > fake.time for job in fake.jobs.values())
        fake.here = fake.time
        fake.time += ahead
        fake.jobs[1] = replace(fake.jobs[1], start=fake.jobs[1].start + began)
        with pytest.raises(SteerError, match="clock"):
            read_queue(fake)
        watch.close()
        assert all(not job.nice and job.begin <= fake.time for job in fake.jobs.values())
        assert bool(undo.jobs) == path.exists() == (lease is not None and ahead > lease)


def test_a_job_that_is_gone_is_passed_over(tmp_path: Path) -> None:
    """A job that started or ended since the plan was made is nobody's business any more."""
    fake = crowd(1)
    found = planned(fake)
    first, second, *_ = found.changes
    fake.jobs[first.number] = replace(fake.jobs[first.number], state="COMPLETED")
    del fake.jobs[second.number]
    hand_of(fake, tmp_path / "undo.json").apply(found)
    assert fake.jobs[found.changes[2].number].nice == found.niceties[found.changes[2].number]


def test_a_priority_set_by_hand_is_found(tmp_path: Path) -> None:
    """Slurm takes the Nice of such a job and does nothing: that is seen, all is taken back, and the job left alone."""
    fake = crowd(1)
    stubborn = planned(fake).changes[2].number
    fake.jobs[stubborn] = replace(fake.jobs[stubborn], by_hand=True)
    before = dict(fake.jobs)
    with pytest.raises(SetByHandError, match=f"--leave {stubborn}") as caught:
        hand_of(fake, tmp_path / "undo.json").apply(planned(fake))
    assert caught.value.number == stubborn
    assert is_as_before(fake, before)
    again = planned(fake, leave=frozenset({stubborn}))
    hand_of(fake, tmp_path / "undo.json").apply(again)
    assert [job.number for job in read_queue(fake).waiting] == [job.number for job in again.order]


def test_what_others_have_changed_stays(tmp_path: Path) -> None:
    """A Nice that neither was there before nor is ours is somebody else's, and is told of."""
    fake = crowd(1)
    hand = hand_of(fake, tmp_path / "undo.json")
    found = planned(fake)
    hand.apply(found)
    job = found.changes[0].number
    fake.jobs[job] = replace(fake.jobs[job], nice=12_345 - 9000)
    _, others = hand.restore()
    assert [one.number for one in others] == [job]
    assert fake.jobs[job].nice == 3345
    assert all(one.nice == 0 for one in fake.jobs.values() if one.id != job)


def test_a_second_plan_keeps_what_was_first(tmp_path: Path) -> None:
    """Applied again after things changed, the undo file still has what jobs had at the beginning."""
    fake = crowd(1)
    fake.jobs[11] = replace(fake.jobs[11], nice=4)
    before = dict(fake.jobs)
    path = tmp_path / "undo.json"
    hand_of(fake, path).apply(planned(fake))
    kept = Undo.open(path, "fake")
    aims = Aims(evaluations=FEW, seconds=1e9, slack=60.0)
    again = plan(read_queue(fake), aims, former=kept.former, promises=kept.promises())
    hand_of(fake, path).apply(again)
    assert all(one.deadline == kept.deadlines[one.job.number] for one in again.starts)
    hand_of(fake, path).restore()
    assert is_as_before(fake, before)


def test_the_same_plan_again_changes_nothing(tmp_path: Path) -> None:
    """Planned anew by what jobs had before, the order is the same, and nothing is left to do."""
    fake = crowd(1)
    hand = hand_of(fake, tmp_path / "undo.json")
    hand.apply(planned(fake))
    again = plan(read_queue(fake), Aims(evaluations=FEW, seconds=1e9), former=hand.undo.former)
    assert again.changes == ()


@pytest.mark.parametrize(
    ("me", "others", "may"),
    [
        ("root", {}, True),
        ("slurm", {}, True),
        ("eve", {}, False),
        ("eve", {"admins": {"eve": "Operator"}}, True),
        ("eve", {"coordinators": {"eve": "chemistry,physics"}}, True),
        ("eve", {"coordinators": {"eve": "chemistry"}}, False),
        ("ann", {}, False),  # some jobs are bob's
    ],
)
def test_who_may_not_is_refused_before_anything_is_done(
    me: str, others: dict[str, object], may: bool, tmp_path: Path
) -> None:
    """Owners, coordinators and operators may; others read whose jobs they chose, and how to choose."""
    fake = crowd(1, me=me, **others)
    before = dict(fake.jobs)
    hand = hand_of(fake, tmp_path / "undo.json")
    if may:
        hand.apply(planned(fake))
        return
    with pytest.raises(SteerError, match=rf"{me} may not change \d+ jobs? of others .*--account"):
        hand.apply(planned(fake))
    assert is_as_before(fake, before)
    assert fake.changed == []


def test_accounts_that_cannot_be_asked_are_told_to_who_may_not(tmp_path: Path) -> None:
    """A coordinator is nobody where the accounting does not answer: its words stand in the refusal, once."""
    fake = crowd(1, me="eve", coordinators={"eve": "chemistry,physics"}, keeps_accounts=False)
    told = r"as an operator\. The accounts' coordinators are unknown: sacctmgr .*storage plugin\.$"
    with pytest.raises(SteerError, match=told):
        hand_of(fake, tmp_path / "undo.json").apply(planned(fake))
    assert fake.changed == []


def test_a_federation_that_is_not_synced_is_refused(tmp_path: Path) -> None:
    """Jobs were lost in one: nothing is done until it is whole."""
    fake = crowd(1, siblings={"other": "No", "third": "Yes"})
    found = planned(fake)
    with pytest.raises(SteerError, match="federation with other, which is not Synced:Yes"):
        hand_of(fake, tmp_path / "undo.json").apply(found)
    assert fake.changed == []
    fake.siblings["other"] = "Yes"
    hand_of(fake, tmp_path / "undo.json").apply(planned(fake))


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("", "not an undo file"),
        ("[]", "not an undo file"),
        ('{"kind": "fedsched undo 2", "cluster": "fake"}', "not an undo file"),
        ('{"kind": "fedsched undo 9", "cluster": "fake", "jobs": {}}', "undo it with the version"),
        (
            '{"kind": "fedsched undo 2", "cluster": "other", "jobs": {}, "deadlines": {}, "promised": {}}',
            "of the cluster 'other'",
        ),
    ],
)
def test_wrong_undo_files_are_refused(text: str, complaint: str, tmp_path: Path) -> None:
    """A file that is damaged, of another version or of another cluster."""
    path = tmp_path / "undo.json"
    path.touch(0o600)
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SteerError, match=complaint):
        Undo.open(path, "fake")
