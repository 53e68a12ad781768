"""What replays do not have: jobs that wait for it have no forecast, and are told for what they wait."""

from __future__ import annotations

import json
import shutil
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pytest
from support.fake_slurm import NOW, Job, running
from support.slurm_history import seen

from fedsched.cli import run
from fedsched.site.outlook import Outlook, Present, forecast, present, score, why
from fedsched.site.steer.jobs_read import extra_resources_of
from fedsched.site.twin import made_dump

if TYPE_CHECKING:
    from pathlib import Path

STALE = "ReqNodeNotAvail, UnavailableNodes:n[3-4]"
RESERVED = "ReservationName=works StartTime=2000-01-01T00:00:00 EndTime=2100-01-01T00:00:00 Nodes=n[2-4] Users=root"


def with_nine(here: Present, **others: Any) -> Present:
    """Return the same with something else said of job 9."""
    jobs = tuple(replace(one, **others) if one.number == 9 else one for one in here.queue.jobs)
    return replace(here, queue=replace(here.queue, jobs=jobs))


def numbers(found: Outlook) -> list[int]:
    """Return which jobs have a forecast."""
    return [one.job.number for one in found.forecasts]


@pytest.mark.parametrize(
    ("record", "asked"),
    [
        ({"tres_per_node": "gres:gpu:a100:2", "licenses": "matlab:1,ansys@server"},
         ("gres/gpu", "licence ansys", "licence matlab")),
        ({"tres_req_str": "cpu=4,mem=8G,node=1,billing=4,gres/gpu=2,license/idl=1"}, ("gres/gpu", "licence idl")),
        ({"tres": "cpu=4,mem=8G,node=1,bb/datawarp=1", "licenses": "(null)"}, ("gres/bb",)),
        ({"gres": "gpu:2", "licenses": "a|b"}, ("gres/gpu", "licence a", "licence b")),
        ({"tres_per_node": "N/A", "licenses": "", "gres": None, "reqtres": "cpu=1,mem=0"}, ()),
    ],
)  # fmt: skip
def test_what_a_job_asks_for_beside_nodes_is_read(record: dict[str, Any], asked: tuple[str, ...]) -> None:
    """GPUs, other devices and licences are found in all columns of squeue and scontrol, CPUs and memory are not."""
    assert extra_resources_of(record) == asked


@pytest.mark.parametrize(
    ("others", "told"),
    [
        ({"other_resources": ("gres/gpu", "licence matlab")}, "gres/gpu and licence matlab"),
        ({"features": "[rack1*2&rack2]"}, r"features [rack1*2&rack2]"),
        ({"named_nodes": True}, "nodes by name"),
    ],
)
def test_what_is_not_modelled_has_no_forecast(others: dict[str, Any], told: str) -> None:
    """A job on free nodes that asks for what is not modelled is not said to start now, and others have their ranges."""
    here = with_nine(seen(Job(8, nodes=1), Job(9, nodes=1)), **others)
    found = forecast(here, draws=2)
    assert numbers(found) == [8]
    assert f"no forecast: 1 job asks for what is not modelled ({told})" in found.notes
    asked = why(here, 9, draws=2)
    assert asked.causes[0].kind == "not modelled"
    assert asked.causes[0].what == f"it asks for {told}: which jobs have these, and until when, is not modelled"
    assert asked.forecast is None
    assert asked.causes[0].without is not None
    assert asked.causes[0].without.latest == NOW


def test_what_else_keeps_such_a_job_is_told_too() -> None:
    """Behind what is not modelled stands who has the nodes, and when it would start by these alone."""
    here = with_nine(seen(running(1, "1-4", minutes=15), Job(9, nodes=2)), other_resources=("gres/gpu",))
    asked = why(here, 9, draws=2)
    assert [one.kind for one in asked.causes] == ["not modelled", "resources"]
    assert asked.causes[0].without is not None
    assert asked.causes[0].without.by_limits == NOW + 600.0


def test_who_waits_for_resources_beside_free_nodes_has_no_forecast() -> None:
    """If Slurm looked and found too little, and nodes are free, then something that is not modelled is short."""
    here = seen(Job(9, nodes=2, reason="Resources"))
    assert numbers(forecast(here, draws=2)) == []
    asked = why(here, 9, draws=2)
    assert asked.forecast is None
    assert asked.causes[0].what == (
        "it needs 2 nodes, and 4 are free, yet Slurm says that it waits for resources: it waits for something that is "
        "not modelled, such as memory"
    )
    short = seen(running(1, "1-3"), Job(9, nodes=2, reason="Resources"))
    assert numbers(forecast(short, draws=2)) == [9]


def test_who_was_passed_over_on_shared_nodes_has_no_forecast() -> None:
    """A job that fits beside others by its CPUs, and has not started for minutes, is not said to start now."""
    here = seen(Job(8, nodes=1, submit=NOW - 60), Job(9, nodes=1, submit=NOW - 600))
    settings = {**here.queue.settings, "selecttype": "select/cons_tres"}
    nodes = tuple(replace(node, cpus=8) for node in here.queue.nodes)
    shared = replace(here, queue=replace(here.queue, settings=settings, nodes=nodes))
    assert sorted(numbers(forecast(here, draws=2))) == [8, 9]
    assert numbers(forecast(shared, draws=2)) == [8]
    assert why(shared, 9, draws=2).causes[0].what == (
        "it needs 1 CPU, and 32 are free, yet many passes have left it: it waits for something that is not modelled, "
        "such as memory, or CPUs on one node"
    )


def test_who_waits_behind_a_reservation_has_no_forecast() -> None:
    """Nodes that are free and reserved for others are not taken for free ones."""
    for reason in ("Priority", "Resources"):
        here = seen(Job(8, nodes=1), Job(9, nodes=2, reason=reason), reserved=RESERVED)
        found = forecast(here, draws=2)
        assert numbers(found) == [8]
        assert any(note.startswith("no forecast: 1 job is kept by what the replays do not have (9)")
                   for note in found.notes)  # fmt: skip
        assert [one.kind for one in why(here, 9, draws=2).causes] == ["reservation"]
    here = seen(running(1, "1"), Job(9, nodes=1), reserved=RESERVED)
    assert numbers(forecast(here, draws=2)) == []
    causes = why(here, 9, draws=2).causes
    assert causes[0].what == "it needs 1 node, and reservations, which are not in the replays, leave 0 free"


def test_an_old_reason_keeps_no_job_out_of_its_turn() -> None:
    """A job with the reason ReqNodeNotAvail is forecast if enough nodes are up, and only then."""
    here = seen(running(1, "1-4", minutes=15), Job(9, nodes=2, reason=STALE))
    found = forecast(here, draws=2)
    assert [one.by_limits for one in found.forecasts] == [NOW + 600.0]
    assert any(note.startswith("1 job with the reason ReqNodeNotAvail waits in turn") for note in found.notes)
    asked = why(here, 9, draws=2)
    assert (asked.reason, [one.kind for one in asked.causes]) == (STALE.upper(), ["resources"])
    assert "its reason ReqNodeNotAvail is old: enough nodes for it are up, so it waits in turn" in asked.notes
    down = seen(Job(9, nodes=2, reason=STALE), down=frozenset({"n2", "n3", "n4"}))
    assert numbers(forecast(down, draws=2)) == []
    assert why(down, 9, draws=2).causes[0].kind == "nodes down"
    named = with_nine(here, named_nodes=True)
    assert numbers(forecast(named, draws=2)) == []


def test_a_dump_tells_who_asks_for_gpus(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Squeue's column tells of GPUs, and sacct's of what older dumps have no column for."""
    made = made_dump(tmp_path / "made", jobs=20, nodes=4, policy="easy", troubles=False)
    with (made / "queue.txt").open("a", encoding="utf-8") as out:
        cells = "7 main u0 PENDING Priority 1 2026-01-05T09:00:00 N/A N/A 10 1 a0 normal (null) (null) (null)  0 8"
        out.write("\t".join([*cells.split(" "), "n3", "", "gres/gpu:2", "matlab:1"]) + "\n")
    job = next(one for one in present(made).queue.jobs if one.number == 7)
    assert (job.other_resources, job.named_nodes) == (("gres/gpu", "licence matlab"), True)
    assert run(["twin", "now", str(made), "--draws", "2", "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert "7" not in [one["job"] for one in document["jobs"]]
    assert [one["job"] for one in document["without_forecast"]] == ["7"]


def test_no_score_counts_who_asks_for_gpus(tmp_path: Path) -> None:
    """Forecasts made at moments of a dump leave out jobs that its records say asked for GPUs."""
    made = made_dump(tmp_path / "made", jobs=40, nodes=4, policy="easy", load=1.5, troubles=False)
    known = score(made, moments=4, draws=2)
    shutil.copytree(made, tmp_path / "gpus")
    head, *lines = (made / "jobs.sacct").read_text("utf-8").splitlines()
    column = head.split("|").index("JobIDRaw")
    chosen = str(int(known.job[0]))
    rows = [f"gres/gpu=1|{line}" if line.split("|")[column] == chosen else f"|{line}" for line in lines]
    (tmp_path / "gpus" / "jobs.sacct").write_text("\n".join([f"ReqTRES|{head}", *rows]) + "\n", encoding="utf-8")
    fewer = score(tmp_path / "gpus", moments=4, draws=2)
    assert int(chosen) in known.job.tolist()
    assert int(chosen) not in fewer.job.tolist()
    assert "no forecast: 1 job asks for what is not modelled (gres/gpu)" in fewer.notes


def test_an_exclusive_job_waits_for_empty_nodes() -> None:
    """Tests that a job that shares its nodes with none needs nodes to itself, and starts once enough are empty."""
    runs = running(1, "1", minutes=15), running(2, "1-3", minutes=10)
    here = seen(*runs, Job(9, nodes=2, reason="Resources"), Job(10, nodes=1, submit=NOW - 60))
    settings = {**here.queue.settings, "selecttype": "select/cons_tres"}
    nodes = tuple(replace(node, cpus=8) for node in here.queue.nodes)
    there = replace(here, queue=replace(here.queue, settings=settings, nodes=nodes))
    assert numbers(forecast(there, draws=2)) == [10]
    alone = with_nine(there, exclusive=True)
    found = forecast(alone, draws=2)
    assert sorted(numbers(found)) == [9, 10]
    assert {one.job.number: one.by_limits for one in found.forecasts} == {9: NOW + 300.0, 10: NOW}
    assert "1 exclusive job planned on the smallest nodes that may run it" in " ".join(found.notes)
    [cause] = why(alone, 9, draws=2).causes
    assert cause.what == "it needs 2 nodes to itself, and 1 of 4 that it may have are free"
    assert (cause.jobs, cause.over) == (("2",), NOW + 300.0)
    [cause, *_] = why(with_nine(alone, nodes=4), 9, draws=2).causes
    assert (cause.jobs, cause.over) == (("2", "1"), NOW + 600.0)
