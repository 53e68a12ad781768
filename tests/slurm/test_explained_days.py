"""Days that a real Slurm played, as dumps with their accounts: they are explained, have pages and are looked ahead."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
from slurm.as_dump import names, recorded
from slurm.logs import LOGS
from slurm.played_logs import PERIOD

from fedsched.cli import run
from fedsched.site.twin import explain, read_site
from fedsched.site.twin.causes import EQUAL, STATE
from fedsched.site.twin.commands import CONFIG
from fedsched.site.twin.replay_problem import replay_problem_of
from fedsched.slurm import Slurm

if TYPE_CHECKING:
    from pathlib import Path

    Captured = pytest.CaptureFixture[str]


OTHERS = [name for name in names() if not name.startswith("log ")]


@pytest.mark.compiled
@pytest.mark.parametrize("name", OTHERS)
def test_starts_of_recorded_days_are_explained(name: str, tmp_path: Path) -> None:
    """At least 95 % are equal or have a cause, and a third are equal.

    On KTH's days others' starts are given just before most often: one node that is free a second sooner displaces many.
    """
    found = explain(read_site(recorded(name).write(tmp_path / "dump")))
    counts = found.counts()
    assert found.share >= 0.95, counts
    assert counts[EQUAL][0] >= len(found.cause) / 3
    assert counts.get(STATE, (0, 0))[0] < 0.5 * len(found.cause)


def test_a_day_of_an_archives_log_has_accounts_and_all_that_a_dump_has(tmp_path: Path, capsys: Captured) -> None:
    """KTH's users under fair shares: their accounts are read, and `replay`, `report` and `now` run on the folder."""
    folder = recorded("kth-multifactor").write(tmp_path / "kth")
    site = read_site(folder)
    assert site.accounts is not None
    users = set(site.records.labels["user"].tolist())
    assert len(users) == 20
    assert users == {one.user for one in site.accounts.members if one.user} - {"root"}
    assert run(["twin", "replay", str(folder), "--out", str(tmp_path / "replayed.csv")]) == 0
    assert len((tmp_path / "replayed.csv").read_text("utf-8").splitlines()) > len(site.records)
    assert run(["twin", "report", str(folder), "--out", str(tmp_path / "page.html")]) == 0
    page = (tmp_path / "page.html").read_text("utf-8")
    assert f"{len(site.records):,}" in page
    capsys.readouterr()
    assert run(["twin", "now", str(folder), "--score", "4", "--draws", "4", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["forecasts"] > 20
    assert told["by_limits"]["error"] > told["error"]


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
    policy = replay_problem_of(site, given=("clocks",)).policy
    assert isinstance(policy, Slurm)
    assert policy.clocks is not None
    assert policy.clocks.ticks is not None
    assert day.booted is not None
    assert -PERIOD <= policy.clocks.ticks < 0.0
    assert (policy.clocks.ticks - (day.epoch + day.booted - site.zero)) % PERIOD == 0.0
    config = tmp_path / "dump" / CONFIG
    lines = config.read_text(encoding="utf-8").splitlines()
    config.write_text("\n".join(line for line in lines if "BOOT_TIME" not in line), encoding="utf-8")
    policy = replay_problem_of(read_site(tmp_path / "dump"), given=("clocks",)).policy
    assert isinstance(policy, Slurm)
    assert policy.clocks is not None
    assert policy.clocks.ticks is None
