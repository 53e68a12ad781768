"""What moving in time, in space and in both saves: by hand on two clusters, within the bounds; what is refused."""

from __future__ import annotations

import html
import math
import re
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import TraceError
from fedsched.io.platforms.toml import federation_text
from fedsched.optimize.shifting import Shifts, shifts

HOUR = 3600.0


def problem() -> tuple[fs.Workload, fs.Federation]:
    """Return four jobs of an hour at home on a cluster that is dirty for an hour, and a cleaner one."""
    dirty = fs.Signal((0.0, HOUR), (400.0, 100.0), "g/kWh", cluster="dirty", beyond="last")
    clean = fs.Signal((0.0,), (200.0,), "g/kWh", cluster="clean", beyond="last")
    group = fs.NodeGroup(4, busy_watts=1000.0, idle_watts=0.0)
    machine = fs.Federation((fs.Cluster("dirty", (group,)), fs.Cluster("clean", (group,))), signals=(dirty, clean))
    jobs = fs.Workload(
        submit=np.zeros(4), tasks=np.ones(4, dtype=int), runtime=np.full(4, HOUR), sites=("dirty", "clean"),
        origin=np.zeros(4, dtype=int), slack=2 * HOUR,
    )  # fmt: skip
    return jobs, machine


def found(jobs: fs.Workload, machine: fs.Federation, **asked: object) -> Shifts:
    """Return what a short search finds."""
    return shifts(jobs, machine, method="ga", evaluations=400, seed=1, **asked)  # type: ignore[arg-type]


def test_by_hand() -> None:
    """At home 4 kWh cost 1.6 kg; put off by an hour 0.4, elsewhere 0.8, and both 0.4; the bounds say the same."""
    table = found(*problem())
    values = {row.name: row.value for row in table.rows}
    assert values == pytest.approx({"nothing": 1.6, "time": 0.4, "space": 0.8, "time and space": 0.4})
    assert [row.mean_wait >= HOUR for row in table.rows] == [False, True, False, True]
    assert all(row.bound <= row.value * (1.0 + 1e-9) for row in table.rows[1:])
    assert table.saved(table.rows[1])[0] == pytest.approx(0.75)
    assert "75.0%" in str(table)
    assert math.isnan(table.rows[0].bound)


def test_one_cluster_is_moved_on_in_time_alone() -> None:
    """By hand: the dirty cluster alone has nowhere else to go, so one search is all."""
    jobs, machine = problem()
    dirty = replace(machine, clusters=machine.clusters[:1], signals=machine.signals[:1])
    table = found(replace(jobs, sites=("dirty",)), dirty)
    assert {row.name: row.value for row in table.rows} == pytest.approx({"nothing": 1.6, "time": 0.4})
    assert table.rows[1].bound == pytest.approx(0.4)


@pytest.mark.deep
def test_the_page_says_how_to_repeat_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The Python in it runs and finds the same; of jobs with homes or slack of their own it says that they do."""
    monkeypatch.chdir(tmp_path)
    machine = problem()[1]
    wide = tuple(fs.Cluster(one.name, (replace(one.groups[0], count=128),)) for one in machine.clusters)
    machine = replace(machine, clusters=wide)
    (tmp_path / "federation.toml").write_text(federation_text(machine), encoding="utf-8")
    asked = {"method": "random", "evaluations": 30, "seed": 4, "reading": fs.Reading(knowledge="estimate")}
    table = shifts(fs.Workload.example().head(12), machine, slacks=(HOUR,), **asked)  # type: ignore[arg-type]
    table.report("first.html")
    code = repeat_of(Path("first.html"))
    assert "no Python is given" not in Path("first.html").read_text(encoding="utf-8")
    Path("first.html").rename("kept.html")
    exec(code, names := {})
    assert str(names["found"]) == str(table)
    assert [one.start_hash() for one in names["found"].schedules] == [one.start_hash() for one in table.schedules]
    assert repeat_of(Path("first.html")) == code
    found(*problem()).report("own.html")
    assert "seed=1)  # the jobs with their own homes and slack" in repeat_of(Path("own.html"))
    table.report("told.html", repeat="fedsched shift sample")
    told = Path("told.html").read_text(encoding="utf-8")
    assert "<pre>fedsched shift sample</pre>" in told
    assert "In Python" not in told


def repeat_of(page: Path) -> str:
    """Return the Python that a page gives."""
    [code] = re.findall(r"<h3>In Python</h3><pre>(.*?)</pre>", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    return html.unescape(code)


@pytest.mark.deep
def test_several_slacks_by_hand() -> None:
    """Who may be put off by half an hour only is in the dirty hour for half of it; in space there is one search."""
    jobs, machine = problem()
    table = found(replace(jobs, slack=None), machine, slacks=(HOUR / 2, HOUR))
    assert {row.name: row.value for row in table.rows} == pytest.approx(
        {
            "nothing": 1.6,
            "time, 0.5 h": 1.0,
            "time, 1 h": 0.4,
            "space": 0.8,
            "time and space, 0.5 h": 0.8,
            "time and space, 1 h": 0.4,
        }
    )
    assert table.rows[3] == next(row for row in found(jobs, machine).rows if row.name == "space")
    for row, schedule in zip(table.rows, table.schedules, strict=True):
        assert schedule.metrics().carbon == pytest.approx(row.value)
        schedule.verify(claimed=schedule.metrics())
    assert table.schedules[0].workload is table.schedules[-1].workload
    assert "time and space, 0.5 h" in str(table)


def test_homes_that_nobody_says_are_assumed() -> None:
    """Jobs are at home at the clusters in turn; one too wide for its home may run anywhere, and that is said."""
    jobs, machine = problem()
    table = found(replace(jobs, sites=(), origin=np.full(4, -1)), machine)
    assert "assumed: jobs are at home at dirty, clean in turn, for none says where" in table.remarks
    assert table.rows[0].value == pytest.approx(1.2)
    small = replace(machine, clusters=(fs.Cluster("dirty", (fs.NodeGroup(1, busy_watts=1000.0, idle_watts=0.0),)),
                                       machine.clusters[1]))  # fmt: skip
    wide = replace(jobs, tasks=np.array([1, 1, 1, 2]))
    assert "assumed: 1 job too wide for home may run anywhere in any case" in found(wide, small).remarks


def test_what_it_refuses() -> None:
    """Jobs that nobody may put off, and jobs of which only some have a home."""
    jobs, machine = problem()
    with pytest.raises(TraceError, match="No job may be delayed"):
        shifts(replace(jobs, slack=None), machine)
    for slacks in ((HOUR, 0.0), (math.nan,)):
        with pytest.raises(TraceError, match="No job may be delayed"):
            shifts(jobs, machine, slacks=slacks)
    with pytest.raises(TraceError, match="1 of 4 jobs have no home"):
        shifts(replace(jobs, origin=np.array([0, 0, 1, -1])), machine)
