"""`fedsched shift`: a table of what moving jobs saves, for one slack or several, and a page of their schedules."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

import pytest
from support.report_cases import data_of

import fedsched as fs

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

HOUR = 3600


@pytest.fixture
def words(tmp_path: Path) -> list[object]:
    """Return the words that ask about two jobs of a dirty hour, at home beside a cleaner cluster."""
    log, machine = tmp_path / "jobs.csv", tmp_path / "machine.toml"
    log.write_text(f"submit,tasks,runtime,origin\n0,1,{HOUR},dirty\n0,1,{HOUR},dirty\n", encoding="utf-8")
    group = fs.NodeGroup(2, busy_watts=1000.0, idle_watts=0.0)
    dirty = fs.Signal((0.0, HOUR), (400.0, 100.0), "g/kWh", cluster="dirty", beyond="last")
    clean = fs.Signal((0.0,), (200.0,), "g/kWh", cluster="clean", beyond="last")
    clusters = tuple(fs.Cluster(one.cluster, (group,)) for one in (dirty, clean))
    fs.Federation(clusters, signals=(dirty, clean)).write(machine)
    return ["shift", log, "--federation", machine, "--evaluations", 200, "--seed", 1]


@pytest.mark.deep
def test_several_slacks_are_one_table(call: Callable[..., Any], words: list[object]) -> None:
    """Each slack has a row in time and one in both, what moves in space alone has one, and JSON says the same."""
    status, out, err = call(*words, "--put-off", "30m", "--put-off", "1h", "--json")
    assert status == 0, err
    told = json.loads(out)
    assert {row["name"]: row["value"] for row in told["rows"]} == pytest.approx(
        {
            "nothing": 0.8,
            "time, 0.5 h": 0.5,
            "time, 1 h": 0.2,
            "space": 0.4,
            "time and space, 0.5 h": 0.4,
            "time and space, 1 h": 0.2,
        }
    )
    assert told["rows"][0]["bound"] is None
    assert told["written"] == []
    table = call(*words, "--put-off", "1h")[1]
    assert table.startswith("Moving jobs (time, 1 h) saves 75.0% of carbon: ")
    assert [line.split()[0] for line in table.splitlines()[-5:]] == ["what", "nothing", "time,", "space", "time"]
    assert "75.0%" in table


@pytest.mark.deep
def test_a_page_shows_the_schedules(call: Callable[..., Any], words: list[object], tmp_path: Path) -> None:
    """The page has the schedule of each row with its carbon, the signals beneath, and the command."""
    page = tmp_path / "shift.html"
    told = json.loads(call(*words, "--put-off", "1h", "--out", page, "--json")[1])
    assert told["written"] == [str(page)]
    text = page.read_text(encoding="utf-8")
    data = data_of(text)
    assert [entry["label"] for entry in data["entries"]] == [
        "at home", "in time, 1 h", "in space", "in time and space, 1 h",
    ]  # fmt: skip
    assert [entry["metrics"]["carbon"] for entry in data["entries"]] == pytest.approx([0.8, 0.2, 0.4, 0.2])
    assert data["objectives"] == ["mean_wait", "carbon"]
    assert "fedsched shift" in text
    assert "--put-off 1h" in text
    assert f"Report: {page}" in call(*words, "--put-off", "1h", "--out", page)[1]


def test_what_it_refuses(call: Callable[..., Any], words: list[object], tmp_path: Path) -> None:
    """Jobs that nobody may put off, times that are none, and pages that are no page."""
    for more, message in (
        ([], "No job may be delayed"),
        (["--put-off", "0"], "No job may be delayed"),
        (["--put-off", "1h", "--put-off", "soon"], "put_off='soon' must be a time"),
        (["--put-off", "1h", "--out", tmp_path / "page.pdf"], "a report must be .html or .htm"),
    ):
        status, _, err = call(*words, *more)
        assert status == 2
        assert message in err
