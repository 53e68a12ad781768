"""What plan, apply and watch say: why nothing was done, what gaps are for, and what an interrupt leaves."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from support.fake_slurm import FakeSlurm, is_update
from support.steering import crowd, hand_of, planned

from fedsched.cli import run
from fedsched.cli.shared.input_output import INTERRUPTED
from fedsched.site.steer import SetByHandError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

    from fedsched.site.steer.commands import Command

    Call = Callable[..., tuple[int, str, str]]

FEW = ("--evaluations", "20")


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> Call:
    """Return what runs a command line beside a fake Slurm: its status, what it printed, and on stderr."""

    def called(fake: FakeSlurm, *words: str) -> tuple[int, str, str]:
        monkeypatch.setattr("fedsched.cli.slurm.steering.runner_of", lambda *_, **__: fake)
        file = () if words[0] == "plan" else ("--undo-file", str(tmp_path / "undo.json"))
        status = run([*words, *FEW, *file])
        said = capsys.readouterr()
        return status, " ".join(said.out.split()), " ".join(said.err.split())

    return called


def test_priorities_that_tick_in_between_are_not_set_by_hand(tmp_path: Path) -> None:
    """A job is steered as usual if Slurm raises its priority after the queue is read and before its Nice is changed."""
    fake = crowd(1)
    found = planned(fake)

    def tick(command: Command) -> None:
        if is_update(command):
            fake.jobs = {number: replace(job, base=job.base + 20_000) for number, job in fake.jobs.items()}

    fake.before = tick
    assert hand_of(fake, tmp_path / "undo.json").apply(found) == len(found.changes)


def test_a_nice_that_somebody_changes_is_said_to_be_that(tmp_path: Path) -> None:
    """If the Nice is another than was given, the message is about the Nice, not about a priority that was set."""
    fake = crowd(1)
    found = planned(fake)
    first = found.changes[0].number

    def other(command: Command) -> None:
        if command[0] == "squeue" and "-j" in command:
            fake.jobs[first] = replace(fake.jobs[first], nice=77_777)

    fake.before = other
    with pytest.raises(SetByHandError, match=rf"Job {first}: its Nice is 77777 after Nice=\d+, so it was changed"):
        hand_of(fake, tmp_path / "undo.json").apply(found)


def test_apply_says_why_no_job_was_changed(call: Call) -> None:
    """The last line of an apply that changes nothing has the reason, and names no undo file."""
    fake = crowd(1)
    fake.jobs = {n: replace(job, base=job.base % 100 + 2) for n, job in fake.jobs.items()}
    status, out, _ = call(fake, "apply")
    assert status == 0
    assert fake.changed == []
    reason = "no order was found that saves a second of mean wait; "
    assert f"nothing to do: {reason}" in out
    assert f"applied: no job was changed: {reason}" in out
    assert "--undo" not in out
    assert out.endswith(
        "where all are equal, with priorities 25 apart, since they may drift by 24 meanwhile "
        "(PriorityWeightAge 24); --drift N counts on N instead"
    )


def test_plan_says_what_gaps_are_for(call: Call) -> None:
    """Where fair shares may move priorities, the plan says which weight asks for the gap, and what makes it smaller."""
    out = call(crowd(1, settings={"PriorityWeightFairShare": "500"}), "plan")[1]
    assert (
        "priorities 525 apart, since they may drift by 524 meanwhile "
        "(PriorityWeightAge 24, PriorityWeightFairShare 500); --drift N counts on N instead" in out
    )
    out = call(crowd(1, settings={"PriorityWeightFairShare": "5000"}), "plan")[1]
    assert "nothing to do: no order was found" in out
    assert "PriorityWeightFairShare 5,000); --drift N counts on N instead" in out
    fewer = call(crowd(1), "plan", "--drift", "3")[1]
    assert "priorities 4 apart, since they may drift by 3 meanwhile (--drift 3)" in fewer
    assert "priorities 1 apart" in call(crowd(1), "plan", "--drift", "0")[1]


def test_an_interrupted_watch_says_that_all_is_undone(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """After SIGTERM jobs have what they had before, and that is said, not that nothing was written."""

    def interrupt(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("time.sleep", interrupt)
    fake = crowd(1)
    before = dict(fake.jobs)
    status, out, err = call(fake, "watch")
    assert status == INTERRUPTED
    assert len(fake.changed) > 4
    assert fake.jobs == before
    assert "undone: " in out
    assert err == "fedsched: interrupted; all jobs have their former values."


def test_an_interrupted_apply_says_what_stays(call: Call, monkeypatch: pytest.MonkeyPatch) -> None:
    """What was changed until the interrupt is in the undo file, and the message says how it is given back."""
    fake = crowd(1)

    def interrupt(command: Command) -> None:
        if len(fake.changed) == 2 and is_update(command):
            raise KeyboardInterrupt

    def planning(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    fake.before = interrupt
    status, _, err = call(fake, "apply")
    assert status == INTERRUPTED
    assert len(fake.changed) == 2
    assert "fedsched apply --undo restores the values of the jobs that were changed" in err
    fake.before = lambda _: None
    call(fake, "apply", "--undo")
    monkeypatch.setattr("fedsched.site.steer.plan", planning)
    status, _, err = call(fake, "apply")
    assert (status, err) == (INTERRUPTED, "fedsched: interrupted; no job was changed.")
