"""Single parameters: days on which one decides, as a real Slurm played them with it and without it, beside ours."""

from __future__ import annotations

import itertools
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from slurm.admission_days import OF_ADMISSION
from slurm.own_days import own_starts
from slurm.parameter_days import RECORDED
from slurm.record import TRIED
from slurm.recording import Recording
from slurm.replay import clocks_of, number

from fedsched.core.errors import InfeasibleError

if TYPE_CHECKING:
    from collections.abc import Iterable

AT_ONCE = 6.0  # seconds: what one pass starts, or two that follow submissions one after the other
TESTS_A_SECOND = 100  # of a clock that runs 300 times as fast
INTERVALS = ("batch_sched_delay", "bf_interval")  # decide when passes are, and nothing tells where their clock began
LENGTHS = ("reached", "bf_max_time")  # a pass has to take its time
PHASES = ("steps",)  # where the main scheduler's interval begins decides who starts with whom
DECIDE = [name for name, one in TRIED.items() if one.plain and name not in (*INTERVALS, *LENGTHS)]


def turns_of(starts: dict[str, float]) -> list[set[str]]:
    """Return who started with whom, in turn."""
    found: list[set[str]] = []
    before = -AT_ONCE
    for key, start in sorted(starts.items(), key=lambda one: one[1]):
        if start - before >= AT_ONCE:
            found.append(set())
        found[-1].add(key)
        before = start
    return found


def begun(recording: Recording) -> Recording:
    """Return the day without whom Slurm never started."""
    return replace(recording, jobs=tuple(job for job in recording.jobs if job.start is not None))


def of_slurm(recording: Recording) -> list[set[str]]:
    """Return who started with whom on Slurm."""
    return turns_of({job.called: job.start for job in recording.jobs if job.start is not None})


def of_ours(recording: Recording, *, own_clocks: bool = False) -> list[set[str]]:
    """Return who started with whom here, by the settings of the recording."""
    return turns_of({one.key: one.ours for one in own_starts(recording, own_clocks=own_clocks)})


@pytest.mark.parametrize("name", [name for name in TRIED if name not in (*INTERVALS, *LENGTHS, *PHASES)])
def test_a_day_goes_as_recorded(name: str) -> None:
    """The same jobs start together, in the same order, and no farther from when Slurm started them than its clocks."""
    recording = begun(Recording.read(RECORDED / name))
    assert {field: getattr(recording, field) for field in TRIED[name].said} == TRIED[name].said
    assert of_ours(recording) == of_slurm(recording)
    assert max(abs(one.apart) for one in own_starts(recording)) <= clocks_of(recording)


@pytest.mark.parametrize("name", [name for name, one in OF_ADMISSION.items() if one.plain])
def test_whom_a_partition_does_not_take_is_refused(name: str) -> None:
    """Slurm never starts one whom it started without the word; here he is refused by name."""
    recording = Recording.read(RECORDED / name)
    [other] = [job for job in recording.jobs if job.start is None]
    assert other.state == "PENDING"
    assert any(other.key in those for those in of_slurm(Recording.read(RECORDED / TRIED[name].plain)))
    with pytest.raises(InfeasibleError, match=f"Job {number(other)}: .*partition 'p'"):
        own_starts(recording)


@pytest.mark.parametrize("name", DECIDE)
def test_one_parameter_decides(name: str) -> None:
    """Slurm itself goes another way without it; and so do we, on the very jobs of the recording."""
    recording, plain = Recording.read(RECORDED / name), Recording.read(RECORDED / TRIED[name].plain)
    assert of_slurm(plain) != of_slurm(recording)
    assert of_ours(replace(recording, **TRIED[TRIED[name].plain].said), own_clocks=True) != of_slurm(recording)  # type: ignore[arg-type]


@pytest.mark.parametrize("name", INTERVALS)
def test_passes_keep_their_interval(name: str) -> None:
    """What passes start is that far apart, on Slurm as here; with a shorter interval some of it is nearer."""
    with_it, plain, wanted = TRIED[name], TRIED[name].plain, TRIED[name].words[name]
    recording = Recording.read(RECORDED / name)
    assert recording.settings == with_it.settings
    assert nearest(recording) >= wanted
    assert nearest(Recording.read(RECORDED / plain)) < wanted
    found = own_starts(recording, own_clocks=True)
    assert nearest_of(one.ours for one in found) >= wanted
    assert max(abs(one.apart) for one in found) <= wanted + 2.0 * recording.slowest_command
    without = own_starts(replace(recording, settings=TRIED[plain].settings), own_clocks=True)
    assert nearest_of(one.ours for one in without) < wanted


@pytest.mark.parametrize("name", LENGTHS)
def test_a_pass_that_takes_too_long_breaks_off(name: str) -> None:
    """Who stands behind an array starts beside the job before it, or when all its tasks are over; so here, in time."""
    recording = Recording.read(RECORDED / name)
    found = own_starts(recording, own_clocks=True, rate=TESTS_A_SECOND)
    assert turns_of({one.key: one.ours for one in found}) == of_slurm(recording)
    [brief] = [one for one in found if one.key == "brief"]
    assert (brief.slurm > 3000.0) == ("bf_max_time" in recording.settings) == (brief.ours > 3000.0)
    at_once = turns_of({one.key: one.ours for one in own_starts(recording, own_clocks=True)})
    assert (at_once == of_slurm(recording)) == (name == "reached")


def test_whoever_waits_for_a_limit_holds_up_nobody() -> None:
    """Even with assoc_limit_stop others go around him, if he was over it when the pass before looked at him."""
    with_it, without = Recording.read(RECORDED / "held_before"), Recording.read(RECORDED / "held")
    assert "assoc_limit_stop" in with_it.settings
    assert of_slurm(with_it) == of_slurm(without) == [{"runs"}, {"other"}, {"over"}]


def test_classic_shares_are_a_tick_late() -> None:
    """Of accounts they know what was used by the tick before: on the same day the moment of the ticks decides."""
    sooner, later = Recording.read(RECORDED / "ticks_sooner"), Recording.read(RECORDED / "NO_FAIR_TREE")
    assert sooner.settings == later.settings
    assert of_slurm(sooner) == of_slurm(Recording.read(RECORDED / "trees")) != of_slurm(later)
    assert sooner.tick is not None
    assert of_ours(replace(sooner, tick=sooner.tick + 25), own_clocks=True) == of_slurm(later)


def nearest(recording: Recording) -> float:
    """Return how near to each other the starts of two passes are on Slurm."""
    return nearest_of(job.start for job in recording.jobs if job.start is not None)


def nearest_of(starts: Iterable[float]) -> float:
    """Return how near to each other two starts are that are not of one pass."""
    times = sorted(starts)
    return min(b - a for a, b in itertools.pairwise(times) if b - a > 1.0)
