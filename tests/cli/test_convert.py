"""`fedsched convert`: every format into every other, with what was cleaned and what is lost."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedsched import cli
from fedsched.io import read, read_federation, write, write_federation
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Federation

if TYPE_CHECKING:
    from pathlib import Path

DUMP = """JobIDRaw|Cluster|Submit|Start|ElapsedRaw|TimelimitRaw|State|AllocCPUS|NNodes|ConsumedEnergyRaw
1|a|2024-01-01T00:00:00|2024-01-01T00:00:10|60|10|COMPLETED|32|2|99
2|b|2024-01-01T00:00:05|2024-01-01T00:00:10|700|10|TIMEOUT|8|1|5
3|b|2024-01-01T00:00:06|Unknown|0|10|PENDING|8|1|
"""
PLATFORM = '<platform version="4.1"><zone id="z" routing="Full">{}</zone></platform>'


@pytest.fixture
def dump(tmp_path: Path) -> Path:
    """Return a small sacct dump."""
    path = tmp_path / "jobs.sacct"
    path.write_text(DUMP)
    return path


def run(capsys: pytest.CaptureFixture[str], *arguments: object) -> tuple[int, str, str]:
    """Return status, output and errors of a command line."""
    status = cli.run(["convert", *map(str, arguments)])
    said = capsys.readouterr()
    return status, said.out, said.err


def test_a_conversion_says_what_was_cleaned_and_lost(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that a loss needs --lossy, and that the report names counts, sites and what is lost."""
    status, _, error = run(capsys, dump, tmp_path / "jobs.swf")
    assert status == 2
    assert "swf has no place for watts and log.energy; write .csv, which keeps everything, or pass --lossy" in error
    assert not (tmp_path / "jobs.swf").exists()
    status, out, _ = run(capsys, dump, tmp_path / "jobs.swf", "--lossy")
    assert status == 0
    assert "(sacct) -> " in out
    assert "2 of 3 records kept; 1 dropped: not at an end when the log was taken; 1 ran past the request" in out
    assert "sites: a, b" in out
    assert "lost: watts, log.energy" in out
    assert read(tmp_path / "jobs.swf").runtime.tolist() == [60, 700]


def test_the_report_as_json(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that --json gives the same report, and that CSV keeps everything."""
    status, out, _ = run(capsys, dump, tmp_path / "jobs.csv.gz", "--json", "--over-request", "keep")
    said = json.loads(out)
    assert status == 0
    assert (said["from"], said["to"], said["jobs"], said["lost"]) == ("sacct", "csv", 2, [])
    assert said["cleaning"]["unfinished"] == 1
    assert read(tmp_path / "jobs.csv.gz") == read(dump, over_request="keep")


def test_nodes_as_tasks(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that --unit nodes makes nodes the tasks."""
    assert run(capsys, dump, tmp_path / "jobs.json", "--unit", "nodes")[0] == 0
    assert read(tmp_path / "jobs.json").tasks.tolist() == [2, 1]


def test_a_platform_and_a_dump_become_federations(
    dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that .xml and .sacct are written as .toml, with what was taken for what."""
    platform = tmp_path / "p.xml"
    platform.write_text(PLATFORM.format('<host id="h" speed="3Gf"/>'))
    status, out, _ = run(capsys, platform, tmp_path / "p.toml")
    assert status == 0
    assert "speed 1 is 3e+09 flop/s" in out
    assert read_federation(tmp_path / "p.toml") == read_federation(platform)
    status, out, _ = run(capsys, dump, tmp_path / "d.toml", "--json")
    assert json.loads(out)["clusters"] == {"a": 32, "b": 8}
    status, out, _ = run(capsys, dump, tmp_path / "d.toml", "--unit", "nodes", "--json")
    assert json.loads(out)["clusters"] == {"a": 2, "b": 1}
    status, _, error = run(capsys, "sample", tmp_path / "s.toml")
    assert status == 2
    assert "sample (swf) says nothing of clusters" in error


def test_a_platform_tells_what_flops_take(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that --federation gives Batsim's flops their seconds, drops wider jobs, and writes flops again."""
    platform = tmp_path / "p.xml"
    platform.write_text(PLATFORM.format('<cluster id="c" prefix="c" radical="0-3" speed="2Gf"/>'))
    jobs = [{"id": k, "subtime": 0, "res": k, "profile": "p"} for k in (4, 5)]
    profiles = {"p": {"type": "parallel_homogeneous", "cpu": 2e10, "com": 1e6}}
    (tmp_path / "b.json").write_text(json.dumps({"nb_res": 9, "jobs": jobs, "profiles": profiles}))
    assert "it counts flops" in run(capsys, tmp_path / "b.json", tmp_path / "b.csv")[2]
    status, out, _ = run(capsys, tmp_path / "b.json", tmp_path / "b.csv", "--federation", platform)
    assert status == 0
    assert "1 dropped: wider than the machine" in out
    made = read(tmp_path / "b.csv")
    assert (made.runtime.tolist(), made.task_bandwidth.tolist(), made.nodes) == ([10], [3e5], 4)
    assert run(capsys, tmp_path / "b.csv", tmp_path / "c.json", "--federation", platform)[0] == 0
    assert json.loads((tmp_path / "c.json").read_text())["profiles"]["task4"] == profiles["p"]


@pytest.mark.parametrize("source", ["w.csv", "w.swf", "w.json", "sample"])
def test_jobs_wider_than_the_federation_are_dropped(
    source: str, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that --federation means the same for every source: wider jobs are left out, counted, and the nodes its."""
    monkeypatch.chdir(tmp_path)
    jobs = Workload.example()
    if source != "sample":
        write(jobs, source)
    write_federation(Federation.of(20, 10), "small.toml")
    status, out, _ = run(capsys, source, "out.swf", "--federation", "small.toml", "--json")
    assert status == 0
    wide = int((jobs.tasks > 30).sum())
    assert wide > 0
    said = json.loads(out)["cleaning"]
    assert (said["too_wide"], said["kept"], said["records"]) == (wide, len(jobs) - wide, len(jobs))
    made = read("out.swf")
    assert made.id.tolist() == jobs.id[jobs.tasks <= 30].tolist()
    assert made.nodes == 30


def test_a_federation_too_small_for_all_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that a CSV file of which no job fits is an error that says so, and nothing is written."""
    write(Workload(submit=[0], tasks=[9], runtime=[5]), tmp_path / "a.csv")
    write_federation(Federation.of(4), tmp_path / "small.toml")
    status, _, error = run(capsys, tmp_path / "a.csv", tmp_path / "b.csv", "--federation", tmp_path / "small.toml")
    assert status == 2
    assert "every job is wider than the federation's 4 nodes" in error
    assert not (tmp_path / "b.csv").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (
            ("a.csv", "b.csv", "--over-request", "cap"),
            "a.csv (csv) to csv takes no --over-request; it takes --federation",
        ),
        (("a.csv", "b.csv", "--on-error", "skip"), "takes no --on-error"),
        (("sample", "b.csv", "--unit", "nodes"), "sample (swf) to csv takes no --unit"),
        (("jobs.sacct", "b.toml", "--on-error", "skip"), "jobs.sacct (sacct) to toml takes no --on-error"),
        (("p.xml", "b.toml", "--unit", "nodes"), "p.xml (simgrid) to toml takes no --unit; leave it out"),
        (("jobs.sacct", "b.toml", "--federation", "c.toml"), "takes no --federation; it takes --unit."),
    ],
)
def test_options_that_do_nothing_are_refused(
    words: tuple[str, ...],
    said: str,
    dump: Path,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tests that what has no meaning for a source or a target is an error, and not left out without a word."""
    monkeypatch.chdir(tmp_path)
    write(Workload(submit=[0], tasks=[9], runtime=[5]), "a.csv")
    status, _, error = run(capsys, *words)
    assert status == 2
    assert said in error
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "jobs.sacct"]


def test_a_shipped_log_is_read_like_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that --over-request reaches the shipped log, too."""
    status, _, _ = run(capsys, "sample", tmp_path / "s.csv", "--over-request", "cap")
    assert status == 0
    assert read(tmp_path / "s.csv").history[0] == "read sample.swf.gz (over_request='cap')"


def test_what_swf_has_no_place_for(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that communication and allowed sites are named as lost, and left out with --lossy."""
    made = Workload(
        submit=[0, 1], tasks=[1, 2], runtime=[5, 6], compute_fraction=[0.5, 1], task_bandwidth=[3, 0],
        sites=["a", "b"], origin=[0, 1], allowed=np.array([[True, False], [True, True]]),
    )  # fmt: skip
    write(made, tmp_path / "a.csv")
    status, out, _ = run(capsys, tmp_path / "a.csv", tmp_path / "a.swf", "--lossy", "--json")
    assert status == 0
    assert json.loads(out)["lost"] == ["compute_fraction", "task_bandwidth", "allowed"]
    assert read(tmp_path / "a.swf").tasks.tolist() == [1, 2]


def test_formats_can_be_named(dump: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests --from and --to for files whose names do not tell, and that wrong ones offer the known ones."""
    plain = dump.rename(tmp_path / "dump.txt")
    assert run(capsys, plain, tmp_path / "out.txt", "--from", "sacct", "--to", "csv")[0] == 0
    assert len(read(tmp_path / "out.txt", "csv")) == 2
    for arguments, message in (
        ((plain, tmp_path / "o.csv"), "its name does not tell its format; give --from one of"),
        ((plain, tmp_path / "o.txt", "--from", "sacct"), ".txt is no format to write; it is .swf, .csv, .json, .toml"),
        ((plain, tmp_path / "o.csv", "--from", "sge"), "Unknown format 'sge'"),
        ((plain, tmp_path / "o.csv", "--from", "sacct", "--to", "sacct"), "Unknown format to write 'sacct'"),
        ((plain, tmp_path / "o.csv", "--from", "toml"), "toml holds a federation, not jobs"),
        ((tmp_path / "no.swf", tmp_path / "o.csv"), "there is no such file"),
    ):
        status, _, error = run(capsys, *arguments)
        assert status == 2
        assert message in error
        assert error.count("\n") == 1


def test_the_shipped_sample_becomes_a_batsim_workload(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that a shipped log can be named, and that what a Batsim workload does not hold is said."""
    status, out, _ = run(capsys, "sample", tmp_path / "s.json")
    assert status == 0
    assert "lost: the log's other columns, the header" in out
    assert read(tmp_path / "s.json").runtime.tolist() == Workload.example().runtime.tolist()


def test_simulate_writes_jobs_csv(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that --out NAME.evalys.csv is Batsim's jobs.csv, and any other .csv fedsched's own."""
    for name, column in (("a.evalys.csv", "job_id"), ("a.csv", "id")):
        assert cli.run(["simulate", "sample", "--head", "20", "--out", str(tmp_path / name)]) == 0
        assert (tmp_path / name).read_text().split(",")[0] == column
    capsys.readouterr()
