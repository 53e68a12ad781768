"""Slurm's sacct dumps: columns in any order, its words for nothing, its steps, its clusters; and how damage is told."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

from fedsched.core.errors import FederationError, TraceError
from fedsched.io import read, read_federation, write
from fedsched.io.slurm_files.sacct import read_sacct
from fedsched.io.slurm_files.sacct_values import STATES, duration_of, state_of

if TYPE_CHECKING:
    from pathlib import Path

COLUMNS = (
    *("JobIDRaw", "Cluster", "Partition", "User", "Submit", "Eligible", "Start", "End", "ElapsedRaw"),
    *("TimelimitRaw", "State", "NNodes", "AllocCPUS", "ReqCPUS", "ConsumedEnergyRaw"),
)
DAY = "2024-03-01T"
ROWS = (
    f"11|east|batch|ada|{DAY}10:00:00|{DAY}10:00:00|{DAY}10:05:00|{DAY}11:05:00|3600|120|COMPLETED|2|32|32|7200",
    f"12|west|long|bob|{DAY}10:01:00|{DAY}12:00:00|{DAY}12:00:00|{DAY}12:10:00|600|UNLIMITED|FAILED|1|16|16|0",
    f"13|east|batch|ada|{DAY}10:02:00|{DAY}10:02:00|{DAY}10:02:00|{DAY}10:03:00|60|Partition_Limit"
    "|CANCELLED by 1000|1|4|8|",
    f"14|east|batch|cyd|{DAY}10:03:00|{DAY}10:03:00|Unknown|Unknown|0|60|PENDING|1|0|8|",
    f"15|east|batch|cyd|{DAY}10:04:00|{DAY}10:04:00|None|{DAY}10:09:00|0|60|CANCELLED by 7|1|0|8|",
    f"16|west|long|bob|{DAY}10:05:00|{DAY}10:05:00|{DAY}10:06:00|{DAY}10:16:30|630|10|TIMEOUT|1|8|8|99",
)


def dump(path: Path, rows: tuple[str, ...] = ROWS, columns: tuple[str, ...] = COLUMNS, end: str = "\n") -> Path:
    """Write a dump with these rows, whose fields stand in the order of COLUMNS, in another order of columns."""
    places = [COLUMNS.index(name) for name in columns]
    lines = ["|".join(columns)] + ["|".join(row.split("|")[k] for k in places) for row in rows]
    path.write_bytes((end.join(lines) + end).encode())
    return path


def test_what_each_column_becomes(tmp_path: Path) -> None:
    """Tests that ids, submits, sizes, run times, limits in minutes, states, users and energy are read as meant."""
    jobs = read(dump(tmp_path / "a.sacct"))
    assert jobs.id.tolist() == [11, 12, 13, 16]
    assert jobs.submit.tolist() == [0, 60, 120, 300]
    assert jobs.tasks.tolist() == [32, 16, 4, 8]
    assert jobs.runtime.tolist() == [3600, 600, 60, 630]
    assert jobs.estimate.tolist() == [7200, 600, 60, 630]
    assert jobs.user.tolist() == [1, 2, 1, 2]
    assert jobs.sites == ("east", "west")
    assert jobs.origin.tolist() == [0, 1, 0, 1]
    assert jobs.log is not None
    assert jobs.log.wait.tolist() == [300, 7140, 0, 60]
    assert jobs.log.status.tolist() == [1, 0, 5, 0]
    assert jobs.log.energy.tolist() == [7200, 0, -1, 99]
    assert jobs.watts.values.tolist() == [7200 / (3600 * 32), -1, -1, 99 / (630 * 8)]
    assert jobs.log.queue.tolist() == [1, 2, 1, 2]
    assert ("Queue", "2 long") in jobs.header
    assert ("StartTime", "2024-03-01 10:00:00 (as the dump says it)") in jobs.header


def test_everything_left_out_or_altered_is_counted(tmp_path: Path) -> None:
    """Tests that the report counts pending jobs, jobs that never ran, limits that are none, overruns and held jobs."""
    rows = (*ROWS, *(f"11.{step}|" + ROWS[0].partition("|")[2] for step in ("batch", "extern", "0")))
    report = read(dump(tmp_path / "a.sacct", rows)).cleaning
    assert report is not None
    assert (report.records, report.kept, report.steps, report.unfinished, report.no_runtime) == (9, 4, 3, 1, 1)
    assert (report.unlimited_request, report.over_request, report.held) == (2, 1, 1)
    assert report.dropped == report.records - report.kept
    assert "3 dropped: steps of jobs" in str(report)


@pytest.mark.parametrize("seed", range(6))
def test_any_order_of_columns_says_the_same(tmp_path: Path, seed: int) -> None:
    """Tests that shuffled columns, CRLF and bars at the ends of lines change nothing."""
    columns = list(COLUMNS)
    random.Random(seed).shuffle(columns)
    plain = read(dump(tmp_path / "a.sacct"))
    other = dump(tmp_path / "b.sacct", columns=tuple(columns), end="|\r\n" if seed % 2 else "\n")
    shuffled = read(other)
    assert (shuffled.submit == plain.submit).all()
    assert (shuffled.runtime == plain.runtime).all()
    assert shuffled == plain


def test_the_readable_columns_stand_in_for_the_raw_ones(tmp_path: Path) -> None:
    """Tests that JobID, Elapsed and Timelimit are read where the raw columns are not there."""
    path = tmp_path / "a.sacct"
    path.write_text(
        "JobID|Submit|Elapsed|Timelimit|NCPUS\n"
        "7_1|2024-01-01T00:00:00|1-02:03:04|2-00:00:00|4\n"
        "7_2|2024-01-01T00:00:10|00:10:00|UNLIMITED|4\n"
        "9+1|2024-01-01T00:00:20|10:30|30:00|2\n"
        "12.batch|2024-01-01T00:00:30|00:10:00||2\n"
    )
    jobs = read(path)
    assert jobs.runtime.tolist() == [93784, 600, 630]
    assert jobs.estimate.tolist() == [172800, 600, 1800]
    assert jobs.id.tolist() == [1, 2, 3]
    assert jobs.cleaning is not None
    assert (jobs.cleaning.renumbered, jobs.cleaning.steps) == (3, 1)


@pytest.mark.parametrize("others", ["7200", ""])
def test_slurms_numbers_for_no_value_are_none(tmp_path: Path, others: str) -> None:
    """Tests that NO_VAL and NO_VAL64 are unknown joules, requests and ids, beside numbers and beside empty fields."""
    path = tmp_path / "a.sacct"
    lines = [
        f"7|2024-01-01T00:00:00|60|4294967294|4|{others}",
        "4294967294|2024-01-01T00:00:10|60|10|4|4294967294",
        "9|2024-01-01T00:00:20|60|10|4|18446744073709551614",
    ]
    path.write_text("\n".join(["JobIDRaw|Submit|ElapsedRaw|TimelimitRaw|NCPUS|ConsumedEnergyRaw", *lines]))
    jobs = read(path)
    assert jobs.log is not None
    assert jobs.log.energy.tolist() == [float(others or -1), -1, -1]
    assert jobs.estimate.tolist() == [60, 600, 600]
    assert jobs.id.tolist() == [7, 10, 9]
    assert jobs.cleaning is not None
    assert (jobs.cleaning.missing_request, jobs.cleaning.renumbered) == (1, 1)


@pytest.mark.parametrize("state", [state for state in STATES if len(state) > 10])
def test_states_cut_to_ten_letters(state: str) -> None:
    """Tests that a state is known by its first nine letters and the plus that sacct writes for the others."""
    assert state_of(f"{state[:9]}+") == state_of(state[:10]) == state_of(state) == STATES[state]


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("10:00", 600), ("10:00.500", 600), ("1:10:00.500", 4200), ("1-02:10:00", 94200), ("1-02:10", 94200)],
)
def test_a_fraction_moves_no_place(text: str, seconds: float) -> None:
    """Tests that minutes stay minutes where a fraction follows the seconds."""
    assert duration_of(text) == seconds


def test_start_and_end_stand_in_for_the_elapsed_time(tmp_path: Path) -> None:
    """Tests that run times come from Start and End where nothing else tells them."""
    columns = tuple(name for name in COLUMNS if name not in ("ElapsedRaw", "State"))
    jobs = read(dump(tmp_path / "a.sacct", columns=columns))
    assert jobs.runtime.tolist() == [3600, 600, 60, 630]
    assert jobs.cleaning is not None
    assert (jobs.cleaning.unfinished, jobs.cleaning.no_runtime) == (1, 1)


def test_seconds_since_1970_are_times_too(tmp_path: Path) -> None:
    """Tests that a dump made with SLURM_TIME_FORMAT=%s is read."""
    path = tmp_path / "a.sacct"
    path.write_text(
        "JobIDRaw|Submit|Start|ElapsedRaw|AllocCPUS\n1|1700000000|1700000060|5|1\n2|1700000030|Unknown|5|1\n"
    )
    jobs = read(path)
    assert jobs.submit.tolist() == [0, 30]
    assert jobs.log is not None
    assert jobs.log.wait.tolist() == [60, -1]


def test_a_number_used_twice_is_given_once(tmp_path: Path) -> None:
    """Tests that requeued jobs and jobs of other clusters with the same number get numbers above all others."""
    again = "11|west|" + ROWS[0].split("|", 2)[2]
    jobs = read(dump(tmp_path / "a.sacct", (*ROWS, again)))
    assert sorted(jobs.id.tolist()) == [11, 12, 13, 16, 17]
    assert jobs.cleaning is not None
    assert jobs.cleaning.renumbered == 1


def test_nodes_may_be_the_tasks(tmp_path: Path) -> None:
    """Tests that unit="nodes" counts nodes, and says so where no column does."""
    path = dump(tmp_path / "a.sacct")
    assert read_sacct(path, unit="nodes").tasks.tolist() == [2, 1, 1, 1]
    with pytest.raises(TraceError, match=r'how many nodes a job had; unit="cpus" .*--unit cpus. needs none'):
        read_sacct(dump(tmp_path / "b.sacct", columns=tuple(c for c in COLUMNS if c != "NNodes")), unit="nodes")
    with pytest.raises(ValueError, match=r'unit=.cores. must be "cpus" or "nodes"'):
        read_sacct(path, unit="cores")  # type: ignore[arg-type]


def test_one_cluster_is_no_federation(tmp_path: Path) -> None:
    """Tests that a single cluster gives no sites, and several do unless they are refused."""
    one = dump(tmp_path / "a.sacct", tuple(row for row in ROWS if "|east|" in row))
    assert read(one).sites == ()
    assert read(dump(tmp_path / "b.sacct"), sites=None).sites == ()


def test_partitions_are_slurms_partitions(tmp_path: Path) -> None:
    """Tests that sites="partition" makes Slurm's partitions the sites, those of several clusters apart."""
    one = dump(tmp_path / "a.sacct", (*(row for row in ROWS if "|east|" in row), ROWS[1].replace("west", "east")))
    jobs = read(one, sites="partition")
    assert jobs.sites == ("batch", "long")
    assert [jobs[i].origin for i in range(len(jobs))] == ["batch", "long", "batch"]
    both = read(dump(tmp_path / "b.sacct", (*ROWS, ROWS[0].replace("11|east", "17|west"))), sites="partition")
    assert both.sites == ("east/batch", "west/batch", "west/long")
    assert {job.id: job.origin for job in both} == {
        11: "east/batch", 12: "west/long", 13: "east/batch", 16: "west/long", 17: "west/batch",
    }  # fmt: skip
    write(replace(jobs, log=None, watts=None), tmp_path / "c.swf")
    assert read(tmp_path / "c.swf", sites="partition").sites == ("batch", "long")
    with pytest.raises(TraceError, match=r"no job has a partition \(column Partition\)"):
        read(dump(tmp_path / "d.sacct", columns=tuple(n for n in COLUMNS if n != "Partition")), sites="partition")


def test_a_dump_makes_a_federation(tmp_path: Path) -> None:
    """Tests that each cluster is as large as its jobs ever were at once, a job's end before another's start."""
    federation = read_federation(dump(tmp_path / "a.sacct"))
    assert [(cluster.name, cluster.nodes) for cluster in federation.clusters] == [("east", 32), ("west", 16)]
    columns = tuple(name for name in COLUMNS if name != "Start")
    with pytest.raises(FederationError, match="it has no column Start, so start times are unknown"):
        read_federation(dump(tmp_path / "b.sacct", columns=columns))


def test_an_swf_copy_keeps_the_jobs(tmp_path: Path) -> None:
    """Tests that a dump written as SWF comes back with the same jobs and sites, and that lost joules are not silent."""
    columns = tuple(name for name in COLUMNS if name != "ConsumedEnergyRaw")
    jobs = read(dump(tmp_path / "a.sacct", columns=columns), over_request="keep")
    write(jobs, tmp_path / "a.swf")
    assert read(tmp_path / "a.swf", over_request="keep") == jobs
    with pytest.raises(Exception, match=r"no place for watts and log\.energy"):
        write(read(dump(tmp_path / "a.sacct")), tmp_path / "b.swf")


@pytest.mark.parametrize(
    ("place", "text", "message"),
    [
        ("Submit", "yesterday", "field submit: 'yesterday' is no time"),
        ("Submit", "2024-02-30T00:00:00", "field submit: '2024-02-30T00:00:00' is no time"),
        ("Submit", "2024-02-03T25:00:00", "field submit: '2024-02-03T25:00:00' is no time"),
        ("Start", "2024-02-03T20:61:00", "field start: '2024-02-03T20:61:00' is no time"),
        ("ElapsedRaw", "12x", "field elapsedraw: '12x' is no number"),
        ("AllocCPUS", "1.5K", "field alloccpus: '1.5K' is no number; dump with --noconvert"),
        ("State", "COMPLETE", "field state: 'COMPLETE' is no state of Slurm; Unknown state 'COMPLETE'. Did you mean"),
        ("User", "a|b", "16 fields, but 15 columns"),
    ],
)
def test_a_damaged_line_is_named(tmp_path: Path, place: str, text: str, message: str) -> None:
    """Tests that the error names file, line and field, and that on_error="skip" counts the line and goes on."""
    fields = ROWS[1].split("|")
    fields[COLUMNS.index(place)] = text
    path = tmp_path / "a.sacct"
    path.write_text("\n".join(["|".join(COLUMNS), ROWS[0], "|".join(fields), *ROWS[2:]]) + "\n")
    with pytest.raises(TraceError) as caught:
        read(path)
    assert str(caught.value).startswith(f"{path}, line 3")
    assert message in str(caught.value)
    skipped = read(path, on_error="skip")
    assert skipped.cleaning is not None
    assert (skipped.cleaning.malformed, len(skipped)) == (1, 3)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it is empty"),
        ("12|ada|100\n", "no column submit; the first line must name the columns, as from: sacct -a"),
        ("Submit|End|AllocCPUS\n", "End alone gives no run time"),
        ("Submit|ElapsedRaw\n", "no column alloccpus or ncpus"),
        ("Submit|Submit|ElapsedRaw|NCPUS\n", "column submit occurs twice; leave one"),
        ("Submit|ElapsedRaw|NCPUS\n", "it has no finished job"),
    ],
)
def test_what_is_no_dump_is_said(tmp_path: Path, text: str, message: str) -> None:
    """Tests that a file without what is needed is an error that says what is missing."""
    path = tmp_path / "a.sacct"
    path.write_text(text)
    with pytest.raises(TraceError, match=message):
        read(path)


def test_many_rows_in_chunks(tmp_path: Path) -> None:
    """Tests that a dump longer than a chunk keeps every row and one numbering of names, and names the right line."""
    path = tmp_path / "a.sacct"
    lines = [f"{k}|u{k % 3}|2024-01-01T00:00:{k % 60:02}|{k + 1}|{k % 7 + 1}" for k in range(45_000)]
    path.write_text("\n".join(["JobIDRaw|User|Submit|ElapsedRaw|NCPUS", *lines]))
    jobs = read(path)
    by_id = np.argsort(jobs.id)
    assert jobs.runtime[by_id].tolist() == list(range(1, 45_001))
    assert jobs.user[by_id][:6].tolist() == [1, 2, 3, 1, 2, 3]
    path.write_text("\n".join(["JobIDRaw|User|Submit|ElapsedRaw|NCPUS", *lines[:30_000], "1|2|3", *lines[30_000:]]))
    with pytest.raises(TraceError, match=r"line 30002: 3 fields"):
        read(path)


def test_an_only_cluster_keeps_its_name(tmp_path: Path) -> None:
    """Tests that the federation of a dump of one cluster calls it as the column does, and as the file without one."""
    rows = tuple(row for row in ROWS if "|east|" in row)
    (cluster,) = read_federation(dump(tmp_path / "jan.sacct", rows)).clusters
    assert cluster.name == "east"
    columns = tuple(name for name in COLUMNS if name != "Cluster")
    (cluster,) = read_federation(dump(tmp_path / "feb.sacct", rows, columns)).clusters
    assert cluster.name == "feb"
