"""Logs that a real Slurm played, as dumps with their accounts: their starts are explained."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from slurm.as_dump import recorded
from slurm.logs import LOGS
from slurm.played_logs import PERIOD

from fedsched.slurm import Slurm
from fedsched.twin import explain, read_site
from fedsched.twin.causes import EQUAL, STATE
from fedsched.twin.commands import CONFIG
from fedsched.twin.problem import problem_of

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.compiled
@pytest.mark.parametrize("name", [*LOGS])
def test_starts_of_recorded_logs_are_explained(name: str, tmp_path: Path) -> None:
    """At least 95 % are equal or have a cause, few of them that others' starts are given just before.

    Of the log whose turns are by fair shares alone nine in ten: nodes clear a second or two after a job's end, which no
    dump tells, and moves usage enough to change turns.
    """
    found = explain(read_site(recorded(f"log {name}").write(tmp_path / "dump")))
    counts = found.counts()
    assert found.share >= (0.9 if name == "multifactor" else 0.95), counts
    assert counts[EQUAL][0] > 0
    assert counts.get(STATE, (0, 0))[0] < 0.1 * len(found.cause)


def test_usage_is_aged_in_step_with_the_controller(tmp_path: Path) -> None:
    """When it came up stands in its configuration; the last time before second 0 is in step with that."""
    day = recorded("log limits")
    site = read_site(day.write(tmp_path / "dump"))
    policy = problem_of(site, given=("clocks",)).policy
    assert isinstance(policy, Slurm)
    assert policy.clocks is not None
    assert policy.clocks.ticks is not None
    assert day.booted is not None
    assert -PERIOD <= policy.clocks.ticks < 0.0
    assert (policy.clocks.ticks - (day.epoch + day.booted - site.zero)) % PERIOD == 0.0
    config = tmp_path / "dump" / CONFIG
    lines = config.read_text(encoding="utf-8").splitlines()
    config.write_text("\n".join(line for line in lines if "BOOT_TIME" not in line), encoding="utf-8")
    policy = problem_of(read_site(tmp_path / "dump"), given=("clocks",)).policy
    assert isinstance(policy, Slurm)
    assert policy.clocks is not None
    assert policy.clocks.ticks is None
