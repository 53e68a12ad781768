"""Our recorded days by Slurm's own scheduler: start for start."""

from __future__ import annotations

import math

import pytest
from slurm.compared import COURSE, NAMES, RECORDED
from slurm.on_named_nodes import numbered
from slurm.own_days import on_slurm, own_starts
from slurm.recording import Recording
from slurm.test_corners import DIFFER

CORNERS = "corners-backfill"
SOME_ELSEWHERE = ("array-builtin", "array_again-backfill", "maintenance-builtin")  # seconds decide who was there first
NEAR = 11.0  # seconds: the days' main passes come every ten, and where their clock began is not recorded


@pytest.mark.parametrize("name", NAMES)
def test_a_day_goes_as_recorded(name: str) -> None:
    """Conditions, earliest starts, maintenance, arrays: each job starts within seconds of when Slurm started it."""
    found = own_starts(Recording.read(RECORDED / name))
    assert {one.key: one.apart for one in found if abs(one.apart) > NEAR} == {}


def test_a_reservation_goes_as_recorded() -> None:
    """Its jobs wait for whom they waited; but one that cannot end within it is not started, as Slurm does."""
    recording = Recording.read(RECORDED / COURSE)
    found = {one.key: one for one in own_starts(recording)}
    assert math.isnan(found.pop("endless").ours)
    assert max(abs(one.apart) for one in found.values()) <= NEAR


def test_conditions_hold_when_slurm_s_do() -> None:
    """In every corner but for those in which the readings differ from it."""
    found = own_starts(Recording.read(RECORDED / CORNERS))
    assert {one.key for one in found if abs(one.apart) > NEAR} == set(DIFFER)


@pytest.mark.parametrize("name", [*NAMES, COURSE, CORNERS])
def test_days_verify(name: str) -> None:
    """The check that shares nothing with the scheduler finds nothing."""
    schedule = on_slurm(Recording.read(RECORDED / name))
    schedule.verify()


@pytest.mark.parametrize("name", [name for name in NAMES if name not in SOME_ELSEWHERE])
def test_nodes_are_slurm_s(name: str) -> None:
    """Each job has the very nodes of the recording."""
    recording = Recording.read(RECORDED / name)
    schedule = on_slurm(recording)
    ours = [{node + 1 for node in schedule.nodes_of(row)} for row in range(len(recording.jobs))]
    assert ours == [numbered(job.on) for job in recording.jobs]
