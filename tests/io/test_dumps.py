"""Dumps of Slurm's under other names and in other forms: .csv with any separator, and JSON of every layout."""

from __future__ import annotations

import contextlib
import csv
import io
import json
from typing import TYPE_CHECKING, Literal

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import fedsched as fs
from fedsched.core.errors import FedschedError, TraceError
from fedsched.io import read, read_federation
from fedsched.io.slurm_files.sacct_lines import lines_of

if TYPE_CHECKING:
    from pathlib import Path

HEADER = ["JobIDRaw", "Cluster", "Submit", "Start", "End", "ElapsedRaw", "TimelimitRaw", "State", "AllocCPUS"]
ROWS = [
    ["17", "a", "1700000000", "1700000100", "1700000160", "60", "10", "COMPLETED", "32"],
    ["18", "b", "1700000005", "1700000005", "1700000035", "30", "UNLIMITED", "FAILED", "8"],
]


def old(job: int, start: int) -> dict[str, object]:
    """Return a job as Slurm 21.08 prints it: plain numbers, one state, the eligible time as start."""
    return {
        "job_id": job, "cluster": "a", "partition": "p", "user": "u", "account": "x", "allocation_nodes": 1,
        "required": {"CPUs": 8, "memory": 100}, "state": {"current": "COMPLETED", "reason": "None"},
        "time": {"elapsed": 60, "eligible": 1700000000, "end": start + 60, "start": 1700000000,
                 "submission": 1700000000, "suspended": 0, "limit": 10},
        "tres": {"allocated": [{"type": "cpu", "name": None, "id": 1, "count": 32}], "requested": []},
    }  # fmt: skip


def new(job: int, start: int) -> dict[str, object]:
    """Return the same job as Slurm 23.11 and later print it: wrapped numbers, a list of states."""
    return old(job, start) | {
        "state": {"current": ["COMPLETED"], "reason": "None"},
        "time": {
            "elapsed": 60, "eligible": 1700000000, "end": start + 60, "start": start, "submission": 1700000000,
            "limit": {"set": True, "infinite": False, "number": 10}, "suspended": 0,
            "planned": {"set": True, "infinite": False, "number": 100},
        },
    }  # fmt: skip


@pytest.mark.parametrize("mark", ["|", ";", ",", "\t"])
@pytest.mark.parametrize("name", ["a.csv", "a.sacct"])
def test_a_dump_is_known_by_its_columns(mark: str, name: str, tmp_path: Path) -> None:
    """Tests that a dump is read the same whatever parts its fields, also where it is named .csv."""
    (tmp_path / name).write_text("\n".join(mark.join(row) for row in [HEADER, *ROWS]) + "\n")
    jobs = read(tmp_path / name)
    assert jobs.id.tolist() == [17, 18]
    assert jobs.name == "a"
    assert jobs.submit.tolist() == [0, 5]
    assert jobs.runtime.tolist() == [60, 30]
    assert jobs.tasks.tolist() == [32, 8]
    assert jobs.sites == ("a", "b")


def test_columns_of_both_kinds_are_no_guess(tmp_path: Path) -> None:
    """Tests that a table with the columns of fedsched and of sacct is an error that says how to choose."""
    (tmp_path / "a.csv").write_text("submit,tasks,runtime,elapsed,ncpus\n0,1,5,00:00:05,1\n")
    with pytest.raises(ValueError, match=r'--from. "csv" or "sacct"'):
        read(tmp_path / "a.csv")


@pytest.mark.parametrize(
    "text", ["submit;tasks;runtime\n0;1;1,5\n1,25;2;3\n", "submit\ttasks\truntime\n0\t1\t1.5\n1.25\t2\t3\n"]
)
def test_spreadsheets_of_other_countries_are_read(text: str, tmp_path: Path) -> None:
    """Tests that fields may be parted by semicolons, numbers then with a decimal comma, or by tabs."""
    (tmp_path / "a.csv").write_text(text)
    jobs = read(tmp_path / "a.csv")
    assert jobs.submit.tolist() == [0, 1.25]
    assert jobs.runtime.tolist() == [1.5, 3]


@pytest.mark.parametrize("make", [old, new])
@pytest.mark.parametrize("name", ["a.json", "a.sacct"])
def test_json_of_every_layout_is_one_log(make: object, name: str, tmp_path: Path) -> None:
    """Tests that both layouts of sacct --json give the jobs that the bars give, waits included."""
    jobs = [make(17, 1700000100), make(18, 1700000000)]  # type: ignore[operator]
    (tmp_path / name).write_text(json.dumps({"meta": {"Slurm": {"release": "1"}}, "errors": [], "jobs": jobs}))
    log = read(tmp_path / name)
    assert log.id.tolist() == [17, 18]
    assert log.tasks.tolist() == [32, 32]
    assert log.runtime.tolist() == [60, 60]
    assert log.estimate.tolist() == [600, 600]
    assert log.log is not None
    assert log.log.wait.tolist() == [100, 0]
    assert read_federation(tmp_path / name, "sacct").nodes == 32


def test_json_of_jobs_without_an_end(tmp_path: Path) -> None:
    """Tests that running jobs are counted out, no limit is no limit, and what is unset is not known."""
    running = new(19, 1700000000) | {"state": {"current": ["RUNNING"]}}
    endless = new(20, 1700000000)
    endless["time"] = endless["time"] | {"limit": {"set": False, "infinite": True, "number": 0}}  # type: ignore[operator]
    (tmp_path / "a.json").write_text(json.dumps({"jobs": [running, endless], "meta": {}}))
    log = read(tmp_path / "a.json")
    assert log.id.tolist() == [20]
    assert log.cleaning is not None
    assert (log.cleaning.unfinished, log.cleaning.unlimited_request) == (1, 1)


def test_what_json_demands_is_said(tmp_path: Path) -> None:
    """Tests that GPUs, arrays and the like of a JSON dump are said, as those of the bars are."""
    job = new(21, 1700000000) | {"qos": "high", "array": {"job_id": 21, "task_id": {"set": True, "number": 3}}}
    job["tres"] = {"allocated": [{"type": "cpu", "count": 8}, {"type": "gres", "name": "gpu", "count": 2}]}
    (tmp_path / "a.json").write_text(json.dumps({"jobs": [job], "meta": {}}))
    said = " ".join(read(tmp_path / "a.json").unmodelled)
    assert all(word in said for word in ("GPU", "array", "quality of service"))


def test_json_of_squeue_is_told(tmp_path: Path) -> None:
    """Tests that squeue's JSON, whose jobs have no 'time', is an error that names the command to use."""
    (tmp_path / "a.sacct").write_text(json.dumps({"jobs": [{"job_id": 1, "submit_time": {"number": 5}}]}))
    with pytest.raises(TraceError, match="dump with sacct --json"):
        read(tmp_path / "a.sacct")


def test_batsim_stays_batsim(tmp_path: Path) -> None:
    """Tests that a Batsim workload is still told from a dump by what is in it."""
    fs.write(fs.Workload(submit=[0], tasks=[1], runtime=[5]), tmp_path / "a.json")
    assert np.array_equal(read(tmp_path / "a.json").runtime, [5])


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.floats() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.data())
def test_damaged_json_is_our_own_error(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    """Tests that any value in any place of a job gives jobs or an error of ours, on one line."""
    job = data.draw(st.sampled_from([old, new]))(17, 1700000100)
    key = data.draw(st.sampled_from(sorted(job)))
    table = job[key]
    if isinstance(table, dict) and data.draw(st.booleans()):
        job[key] = table | {data.draw(st.sampled_from(sorted(table))): data.draw(VALUES)}
    else:
        job[key] = data.draw(VALUES)
    path = tmp_path_factory.getbasetemp() / "fuzz.sacct"
    path.write_text(json.dumps({"jobs": [job, new(18, 1700000000)]}))
    with contextlib.suppress(FedschedError):
        read(path)
    head, line = lines_of({"jobs": [new(1, 1700000000)]}, "a")
    assert line.count("|") == head.count("|")


def test_no_name_is_a_formula_and_every_name_comes_back(tmp_path: Path) -> None:
    """Tests that a spreadsheet finds no formula in a name's cell, and that reading gives every name unchanged."""
    names = ["=cmd", "+1", "-rf", "@a", "'=cmd", "''@b", "'plain'", "plain"]
    jobs = fs.Workload(submit=range(8), tasks=[1] * 8, runtime=[5] * 8, sites=names, origin=range(8))
    fs.write(jobs, tmp_path / "a.csv")
    assert read(tmp_path / "a.csv") == jobs
    cells = (tmp_path / "a.csv").read_text().splitlines()[2:]
    assert not any(cell[:1] in "=+@-" for line in cells for cell in line.split(",")[5:6])


MONTHS = "\n".join("|".join(row) for row in (HEADER, *ROWS)) + "\n"
NEXT = ["19", "a", "1700000900", "1700000900", "1700000960", "60", "10", "COMPLETED", "4"]


@pytest.mark.parametrize("mark", ["|", ";"])
def test_dumps_of_two_months_are_one_log(mark: str, tmp_path: Path) -> None:
    """Tests that of dumps one after the other the names stand once, and a job that is in both is read once."""
    text = "\n".join(mark.join(row) for row in (HEADER, *ROWS, HEADER, ROWS[1], NEXT)) + "\n"
    (tmp_path / "both.sacct").write_text(text)
    (tmp_path / "whole.sacct").write_text("\n".join(mark.join(row) for row in (HEADER, *ROWS, NEXT)) + "\n")
    jobs = read(tmp_path / "both.sacct")
    assert jobs.cleaning is not None
    assert (jobs.cleaning.headers, jobs.cleaning.repeated, jobs.cleaning.renumbered) == (1, 1, 0)
    assert (jobs.cleaning.records, jobs.cleaning.kept, jobs.cleaning.dropped) == (4, 3, 1)
    assert "1 repeated lines of column names skipped; 1 dropped: rows that repeat another, sign by sign" in str(jobs)
    assert jobs.to_frame().equals(read(tmp_path / "whole.sacct").to_frame())
    assert jobs.cleaning.altered


def test_a_job_that_ran_again_is_no_repetition(tmp_path: Path) -> None:
    """Tests that rows of one number that differ, and rows without a number that do not, all stay."""
    again = [*ROWS[0][:3], "1700000200", "1700000260", *ROWS[0][5:]]
    (tmp_path / "a.sacct").write_text("\n".join("|".join(row) for row in (HEADER, ROWS[0], again)) + "\n")
    assert len(read(tmp_path / "a.sacct")) == 2
    bare = ["|".join(row[1:]) for row in (HEADER, ROWS[0], ROWS[0])]
    (tmp_path / "b.sacct").write_text("\n".join(bare) + "\n")
    assert len(read(tmp_path / "b.sacct")) == 2


@pytest.mark.parametrize("on_error", ["raise", "skip"])
def test_dumps_of_other_columns_are_not_joined(on_error: Literal["raise", "skip"], tmp_path: Path) -> None:
    """Tests that a second line of other column names is an error that names it: its rows would be misread."""
    swapped = [*HEADER[:-2], HEADER[-1], HEADER[-2]]
    (tmp_path / "a.sacct").write_text(MONTHS + "|".join(swapped) + "\n")
    with pytest.raises(TraceError, match=r"a\.sacct, line 4: its columns differ .* the same --format"):
        read(tmp_path / "a.sacct", on_error=on_error)


def test_months_come_through_a_pipe(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `cat jan.sacct feb.sacct | fedsched … -` reads both as one log."""
    both = MONTHS + MONTHS
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(both.encode())))
    jobs = read("-", "sacct")
    assert jobs.id.tolist() == [17, 18]


@pytest.mark.parametrize("mark", [",", ";", "\t"])
@pytest.mark.parametrize("quoted", [True, False])
def test_a_table_that_a_spreadsheet_saved_again(mark: str, quoted: bool, tmp_path: Path) -> None:
    """Tests that the first line's name, nodes and sites survive where its commas parted cells, quoted and filled up."""
    jobs = fs.Workload(
        submit=[0, 5], tasks=[1, 2], runtime=[5, 6], sites=["a, b", 'c "d"'], origin=[0, 1], name="two, jobs", nodes=9
    )
    fs.write(jobs, tmp_path / "a.csv")
    rows = [line.split(",") for line in (tmp_path / "a.csv").read_text().splitlines()[:1]]
    rows += list(csv.reader((tmp_path / "a.csv").read_text().splitlines()[1:]))
    rows.append([""] * len(rows[1]))
    with (tmp_path / "b.csv").open("w", newline="") as out:
        if quoted:
            csv.writer(out, delimiter=mark).writerows(row + [""] * (14 - len(row)) for row in rows[:1])
        else:
            out.write(f"{','.join(rows[0])}{4 * mark}\r\n")
        csv.writer(out, delimiter=mark).writerows(rows[1:])
    again = read(tmp_path / "b.csv")
    assert again == jobs
    assert (again.name, again.nodes, again.sites) == ("two, jobs", 9, ("a, b", 'c "d"'))


def test_a_first_line_beyond_reading_is_named(tmp_path: Path) -> None:
    """Tests that a first line that lost its form is an error that says what to do."""
    (tmp_path / "a.csv").write_text('"# fedsched {""name"": ""x",,\nsubmit,tasks,runtime\n0,1,5\n')
    with pytest.raises(TraceError, match=r"a\.csv, line 1: .* delete that line"):
        read(tmp_path / "a.csv")
