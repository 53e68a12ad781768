"""Days on a real Slurm that switches idle nodes off, beside our `Timeout`: starts, and when nodes go off and boot."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from slurm.recording import Recording
from slurm.sleeping import Switch, named
from slurm.sleeping_days import (
    BOOT,
    DAYS,
    LOOK,
    RECORDED,
    SUSPEND_TIME,
    SUSPEND_TIMEOUT,
    apart,
    played,
    played_day,
    read_switches,
    table,
)  # fmt: skip

if TYPE_CHECKING:
    from pathlib import Path

TOLD = 5.0  # seconds that a boot's end takes longer here than it was asked to: a daemon begins, and tells of itself
FIRST_SOONER = 13.0  # seconds by which Slurm lets the first node after those that went at once go sooner than we do
ALIKE = [name for name in DAYS if name != "by_name"]


@pytest.mark.parametrize("name", DAYS)
def test_recorded_days_are_whole(name: str) -> None:
    """Each is the script's, under its settings, and each job runs to its own end."""
    recording = Recording.read(RECORDED / name)
    assert recording.version.startswith("slurm-wlm ")
    assert recording.command == f"PYTHONPATH=tests python -m slurm.record_sleeping {name} --factor {recording.factor:g}"
    assert recording.settings == DAYS[name].settings
    assert [(job.key, job.nodes) for job in recording.jobs] == [(one.key, one.nodes) for one in DAYS[name].day.events]
    assert {job.state for job in recording.jobs} == {"COMPLETED"}


@pytest.mark.parametrize("name", DAYS)
def test_jobs_have_their_nodes_when_ours_do(name: str) -> None:
    """Each start, and where nodes had to boot the time at which the last was on, lies within Slurm's clocks of ours."""
    found = played_day(name)
    sooner = FIRST_SOONER if DAYS[name].resume_rate else 0.0
    clocks = found.starts.clocks + TOLD + sooner
    assert replace(found.starts, clocks=clocks).unexplained() == {}
    assert found.starts.swapped() == []


@pytest.mark.parametrize("name", ALIKE)
@pytest.mark.parametrize("what", ["off", "boot"])
def test_nodes_go_off_and_boot_when_ours_do(name: str, what: str) -> None:
    """As many nodes do so, the first when ours does within Slurm's clocks, and so on to the last."""
    found = played_day(name)
    rate = DAYS[name].suspend_rate if what == "off" else DAYS[name].resume_rate
    clocks = found.starts.clocks + TOLD
    assert len(found.ours[what]) > 20
    assert max(apart(found, what)) <= clocks
    assert min(apart(found, what)) >= -clocks - (FIRST_SOONER if rate else 0.0)


def test_slurm_takes_the_first_idle_node_by_name() -> None:
    """Of two idle nodes it takes the one freed first, if that has the lower name: so the other goes off, and later.

    We take the last freed, and the other one goes off a minute sooner.
    """
    found = played_day("by_name")
    times = {job.key: job for job in Recording.read(RECORDED / "by_name").jobs}
    assert (times["first"].on, times["second"].on, times["third"].on) == ("n1", "n2", "n1")
    idle = {"n1": times["first"].end, "n2": times["second"].end}
    *same, late, _ = apart(found, "off")
    assert max(map(abs, same)) <= TOLD
    assert late == pytest.approx((idle["n2"] or 0.0) - (idle["n1"] or 0.0), abs=TOLD)
    assert "n2" in {one.node for one in read_switches("by_name") if one.what == "off" and one.time > SUSPEND_TIME + 60}
    assert max(map(abs, apart(found, "boot"))) <= TOLD


@pytest.mark.parametrize("name", DAYS)
def test_a_node_goes_off_after_suspend_time_and_boots_after_suspend_timeout(name: str) -> None:
    """Of Slurm alone: no node sooner, without a rate a few seconds later, and none boots while it still goes off."""
    recording, switches = Recording.read(RECORDED / name), read_switches(name)
    for node in named(f"n[1-{recording.nodes}]"):
        its = [one for one in switches if one.node == node]
        for k, one in enumerate(its):
            if one.what == "off":
                ends = [job.end or 0.0 for job in recording.jobs if node in named(job.on)]
                idle = one.time - max((end for end in ends if end < one.time), default=0.0)
                assert idle >= SUSPEND_TIME - TOLD
                assert idle <= SUSPEND_TIME + 2 * TOLD or DAYS[name].suspend_rate
            elif one.what == "boot":
                assert its[k - 1].what == "off"
                assert one.time - its[k - 1].time > SUSPEND_TIMEOUT
            else:
                assert its[k - 1].what == "boot"
                assert 0.0 <= one.time - its[k - 1].time - BOOT <= TOLD


@pytest.mark.parametrize("name", DAYS)
def test_slurm_looks_each_half_minute_whether_nodes_are_on(name: str) -> None:
    """A job whose nodes are on begins no later than at the next look, and some do wait for that."""
    looks = played_day(name).looks
    assert min(looks) >= 0.0
    assert 10.0 < max(looks) <= LOOK + 2.0


def test_slurm_paces_as_we_do_after_the_first() -> None:
    """With two a minute two begin at once, the next 18 s later, each further one half a minute after the one before.

    We let the third go after half a minute: what Slurm counts of a switch fades away over a minute, and is rounded.
    """
    for what in ("off", "boot"):
        times = [one.time for one in read_switches("bursts_paced") if one.what == what]
        third = [later - before for before, later in zip(times, times[2:], strict=False)]
        assert 16.0 <= min(third) <= 20.0
        fifth = [later - before for before, later in zip(times, times[4:], strict=False)]
        assert min(fifth) >= 75.0  # 18 + 31 + 31 a second or two less: its times are whole seconds
        assert min(fifth) <= 82.0 or what == "off"
        free = [one.time for one in read_switches("bursts") if one.what == what]
        assert min(later - before for before, later in zip(free, free[2:], strict=False)) <= 1.0


def test_a_switch_that_nothing_explains_is_found() -> None:
    """Had a node of Slurm's gone off a minute later, or one more booted, the comparison would be apart."""
    recording, switches = Recording.read(RECORDED / "bursts"), read_switches("bursts")
    row = next(k for k, one in enumerate(switches) if one.what == "off")
    late = [*switches[:row], *switches[row + 1 :], switches[row]._replace(time=switches[row].time + 60.0)]
    found = played(recording, sorted(late), DAYS["bursts"])
    assert max(apart(found, "off")) > found.starts.clocks + TOLD
    more = played(recording, sorted([*switches, Switch(700.0, "boot", "n1")]), DAYS["bursts"])
    with pytest.raises(ValueError, match="shorter"):
        apart(more, "boot")


def test_the_page_has_the_table(root: Path) -> None:
    """The page on fidelity shows what the comparison prints."""
    page = (root / "docs/evidence/fidelity.md").read_text(encoding="utf-8")
    assert "\n".join(table()) in page
