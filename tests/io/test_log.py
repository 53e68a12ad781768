"""Logs in the Standard Workload Format: what is met in the wild, cleaning, faults, and the way back."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import time
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.cli import run
from fedsched.core.errors import OutputError, TraceError, UnknownNameError
from fedsched.io.swf.log import read_swf, write_swf
from fedsched.io.swf.swf_table import read_table

if TYPE_CHECKING:
    from pathlib import Path

if TYPE_CHECKING:
    from pathlib import Path


def row(**values: float | str) -> str:
    """Return a job line: field names f1..f18 give what differs from an ordinary job."""
    fields: list[float | str] = [1, 0, 5, 100, 4, -1, -1, 4, 200, -1, 1, 7, 1, 1, 1, 1, -1, -1]
    for name, value in values.items():
        fields[int(name[1:]) - 1] = value
    return " ".join(map(str, fields))


def file_of(folder: Path, *lines: str, name: str = "log.swf", end: str = "\n") -> Path:
    """Return a file of these lines."""
    path = folder / name
    path.write_bytes((end.join(lines) + end).encode())
    return path


# ---- met in the wild ----------------------------------------------------------------------------------------------


def test_text_after_a_number_in_the_header(tmp_path: Path) -> None:
    """MaxProcs reads 338 from "338 (batch partition only)", and the greatest of repeated labels counts."""
    path = file_of(tmp_path, "; MaxProcs: 338 (batch partition only)", ";  MaxProcs: 16 (interactive)", row())
    assert fs.read(path).nodes == 338


@pytest.mark.parametrize(
    ("lines", "unread", "nodes"),
    [
        (("; MaxNodes: many", "; MaxProcs: 8"), 1, 8),
        (("; MaxProcs: 12345678901234567890", "; MaxNodes: 4", "; MaxRecords: one"), 2, 4),
        (("; MaxProcs: -1", "; MaxNodes:", "; MaxJobs: many", "; MaxRecords: 1"), 0, 0),
    ],
)
def test_a_number_of_the_header_that_cannot_be_read_is_counted(
    tmp_path: Path, lines: tuple[str, ...], unread: int, nodes: int
) -> None:
    """Tests that a label of ours without a number is said with what cleaning did; the words for unknown are not."""
    jobs = fs.read(file_of(tmp_path, *lines, row()))
    assert jobs.nodes == nodes
    assert jobs.cleaning is not None
    assert jobs.cleaning.unread_numbers == unread
    assert jobs.cleaning.altered == (unread > 0)
    assert ("lines of the header (MaxProcs, MaxNodes, MaxRecords) without a number" in str(jobs.cleaning)) == (
        unread > 0
    )


def test_indented_and_continued_header_lines(tmp_path: Path) -> None:
    """An indented label is a label, a line without one continues the line before, and a URL is no label."""
    path = file_of(
        tmp_path, ";   Computer: IBM SP2", ";      in the cellar", ";  see http://example.org", ";\tNote: a", row()
    )
    assert fs.read(path).header == (
        ("Computer", "IBM SP2\nin the cellar\nsee http://example.org"), ("Note", "a"),
    )  # fmt: skip


def test_repeated_labels_all_stay(tmp_path: Path) -> None:
    """Two Note lines are two notes."""
    path = file_of(tmp_path, "; Note: a", "; Note: b", row())
    assert fs.read(path).header == (("Note", "a"), ("Note", "b"))


def test_no_header(tmp_path: Path) -> None:
    """A log without a header has a machine of unknown size, which `nodes` can say."""
    path = file_of(tmp_path, row())
    assert fs.read(path).nodes == 0
    assert fs.read(path, nodes=64).nodes == 64


def test_no_header_and_no_size_drops_nothing_as_too_wide(tmp_path: Path) -> None:
    """Only a known machine size makes a job too wide."""
    path = file_of(tmp_path, row(f5=500), row(f1=2))
    assert len(fs.read(path)) == 2
    cut = fs.read(path, nodes=100)
    assert cut.id.tolist() == [2]
    assert cut.cleaning is not None
    assert cut.cleaning.too_wide == 1


def test_out_of_order_rows_are_sorted_by_submit_and_id(tmp_path: Path) -> None:
    """Rows come back in the order of (submit, id), and the report counts the steps back."""
    path = file_of(tmp_path, row(f1=3, f2=50), row(f1=2, f2=10), row(f1=1, f2=10))
    workload = fs.read(path)
    assert workload.id.tolist() == [1, 2, 3]
    assert workload.cleaning is not None
    assert workload.cleaning.out_of_order == 1


@pytest.mark.parametrize(
    ("fields", "count"),
    [
        ({"f2": -1}, "negative_submit"),
        ({"f4": 0}, "no_runtime"),
        ({"f4": -1}, "no_runtime"),
        ({"f5": -1, "f8": -1}, "no_processors"),
        ({"f5": 0, "f8": 0}, "no_processors"),
        ({"f11": 2}, "partial_status"),
        ({"f11": 3}, "partial_status"),
        ({"f11": 4}, "partial_status"),
        ({"f5": 9}, "too_wide"),
    ],
)
def test_rows_that_are_no_job_are_dropped_and_counted(tmp_path: Path, fields: dict[str, float], count: str) -> None:
    """Each fault drops the row and counts once, under its own name."""
    path = file_of(tmp_path, "; MaxProcs: 8", row(), row(f1=2, **fields))
    workload = fs.read(path)
    report = workload.cleaning
    assert report is not None
    assert workload.id.tolist() == [1]
    assert (getattr(report, count), report.dropped, report.records, report.kept) == (1, 1, 2, 1)


@pytest.mark.parametrize("status", [0, 1, 5, -1])
def test_statuses_of_whole_jobs_are_kept(tmp_path: Path, status: int) -> None:
    """Completed, failed, cancelled and unknown jobs all used the machine."""
    assert len(fs.read(file_of(tmp_path, row(f11=status)))) == 1


def test_statuses_may_be_chosen(tmp_path: Path) -> None:
    """None keeps every status, a set keeps its own."""
    path = file_of(tmp_path, row(f11=2), row(f1=2, f11=0), row(f1=3))
    assert len(fs.read(path, statuses=None)) == 3
    assert fs.read(path, statuses={1}).id.tolist() == [3]


def test_processors_are_those_allocated_else_those_requested(tmp_path: Path) -> None:
    """Field 5 counts where it is known, field 8 where it is not."""
    path = file_of(tmp_path, row(f5=3, f8=8), row(f1=2, f5=-1, f8=6))
    assert fs.read(path).tasks.tolist() == [3, 6]


@pytest.mark.parametrize("request_", [2**31, 2**31 - 1])
def test_a_request_of_2_to_the_31_is_no_limit(tmp_path: Path, request_: int) -> None:
    """The largest 32-bit number means "no limit": the run time is taken, and the report says so."""
    workload = fs.read(file_of(tmp_path, row(f9=request_)))
    assert workload.estimate.tolist() == [100]
    assert workload.cleaning is not None
    assert workload.cleaning.unlimited_request == 1


@pytest.mark.parametrize("request_", [-1, 0])
def test_a_missing_request_is_the_run_time(tmp_path: Path, request_: int) -> None:
    """Without a requested time the run time is taken."""
    workload = fs.read(file_of(tmp_path, row(f9=request_)))
    assert workload.estimate.tolist() == [100]
    assert workload.cleaning is not None
    assert workload.cleaning.missing_request == 1


@pytest.mark.parametrize(("choice", "runtime", "estimate"), [("raise", 100, 100), ("cap", 60, 60), ("keep", 100, 60)])
def test_a_run_past_the_request(tmp_path: Path, choice: str, runtime: float, estimate: float) -> None:
    """The request is raised, the run is cut, or both stay; the count says how many."""
    workload = fs.read(file_of(tmp_path, row(f9=60)), over_request=choice)  # type: ignore[arg-type]
    assert (workload.runtime[0], workload.estimate[0]) == (runtime, estimate)
    assert workload.cleaning is not None
    assert workload.cleaning.over_request == 1


def test_a_byte_order_mark_and_crlf_and_trailing_blanks(tmp_path: Path) -> None:
    """None of them alters what is read, not even of the first line."""
    path = file_of(tmp_path, "\ufeff; MaxProcs: 8", row() + "  \t", "", "   ", row(f1=2), end="\r\n")
    workload = fs.read(path)
    assert (workload.nodes, workload.id.tolist()) == (8, [1, 2])
    bare = file_of(tmp_path, "\ufeff" + row(), name="bare.swf")
    assert fs.read(bare).id.tolist() == [1]


def test_decimals_in_whole_fields_are_cut_and_counted(tmp_path: Path) -> None:
    """4.0 is 4 without a word; 4.5 processors are 4, and counted."""
    workload = fs.read(file_of(tmp_path, row(f1="1.0", f5="4.0", f12="7.00"), row(f1=2, f5="4.5")))
    assert workload.tasks.tolist() == [4, 4]
    assert workload.cleaning is not None
    assert workload.cleaning.rounded == 1


def test_dependencies_are_reported(tmp_path: Path) -> None:
    """Field 17 is ignored, and the report and the printed workload say so."""
    workload = fs.read(file_of(tmp_path, row(), row(f1=2, f17=1)))
    assert workload.cleaning is not None
    assert workload.cleaning.dependencies == 1
    assert "not modelled: 1 job after other jobs" in str(workload)


def test_a_last_line_cut_off(tmp_path: Path) -> None:
    """It is an error that says the file is cut off; when asked to skip, the rest is read and the report says so."""
    path = tmp_path / "log.swf"
    path.write_text(row() + "\n" + "2 10 5 100 4", encoding="utf-8")
    with pytest.raises(TraceError, match=r"log\.swf, line 2, field 6 \(average CPU time\): 5 fields.*cut off"):
        fs.read(path)
    workload = fs.read(path, on_error="skip")
    assert workload.cleaning is not None
    assert (len(workload), workload.cleaning.malformed, workload.cleaning.truncated_file) == (1, 1, True)


def test_latin_1_in_the_header(tmp_path: Path) -> None:
    """Old logs hold Latin-1 names."""
    path = tmp_path / "log.swf"
    path.write_bytes(b"; Installation: Ume\xe5\n" + row().encode() + b"\n")
    assert fs.read(path).header == (("Installation", "Umeå"),)


# ---- faults ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("text", ["abc", "nan", "inf", "1_0", "--1"])
def test_a_field_that_is_no_number(tmp_path: Path, text: str) -> None:
    """The error names file, line and field; skipping counts the line."""
    path = file_of(tmp_path, "; Version: 2.2", row(), row(f1=2, f4=text))
    with pytest.raises(TraceError, match=rf"log\.swf, line 3, field 4 \(run time\): '{text}' is not a number"):
        fs.read(path)
    workload = fs.read(path, on_error="skip")
    assert workload.cleaning is not None
    assert (len(workload), workload.cleaning.malformed, workload.cleaning.truncated_file) == (1, 1, False)


def test_the_line_of_a_fault_far_into_a_file(tmp_path: Path) -> None:
    """Line numbers count on from block to block."""
    lines = [row(f1=k) for k in range(1, 30_001)]
    lines[29_000] = "1 2 x"
    with pytest.raises(TraceError, match="line 29001, field 3"):
        fs.read(file_of(tmp_path, *lines))


def test_too_many_fields(tmp_path: Path) -> None:
    """A line with more fields than the first job is malformed, and so is one with fewer, be it more than eighteen."""
    with pytest.raises(TraceError, match=r"line 2: 19 fields where 18 are needed\. "):
        fs.read(file_of(tmp_path, row(), row(f1=2) + " 1"))
    with pytest.raises(TraceError, match=r"line 2: 19 fields where 20 are needed, as many as the first job has; "):
        fs.read(file_of(tmp_path, row() + " 1 2", row(f1=2) + " 1"))


def test_a_truncated_gzip(tmp_path: Path) -> None:
    """It is a TraceError that tells the cure; when asked to skip, the whole lines before the end are read."""
    whole = gzip.compress("\n".join(row(f1=k, f2=k * 17 % 1000) for k in range(1, 5001)).encode())
    path = tmp_path / "log.swf.gz"
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(TraceError, match=r"log\.swf\.gz: the compressed data end in the middle; get the file again"):
        fs.read(path)
    workload = fs.read(path, on_error="skip")
    assert workload.cleaning is not None
    assert workload.cleaning.truncated_file
    assert 0 < len(workload) < 5000
    assert sorted(workload.id.tolist()) == list(range(1, len(workload) + 1))


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (b"\x00\x01\x02binary\xff" * 50, "not a text file"),
        (b"", "it has no job"),
        (b"; Version: 2.2\n", "it has no job"),
        (b"PK\x03\x04zip", "zip archive"),
        (b"\x1f\x8b\x08\x00damaged, and not a little of it", "damaged|end in the middle"),
        (b"<html><body>404</body></html>\n", "line 1, field 1 .job id."),
    ],
)
def test_files_that_are_no_log(tmp_path: Path, content: bytes, said: str) -> None:
    """Every one is a TraceError that names the file."""
    path = tmp_path / "log.swf"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=rf"log\.swf.*({said})"):
        fs.read(path)


def test_paths_that_are_no_file(tmp_path: Path) -> None:
    """A missing file and a folder are TraceErrors."""
    with pytest.raises(TraceError, match="there is no such file"):
        fs.read(tmp_path / "none.swf")
    (tmp_path / "folder.swf").mkdir()
    with pytest.raises(TraceError, match="is a folder"):
        fs.read(tmp_path / "folder.swf")


def test_a_log_without_any_job(tmp_path: Path) -> None:
    """Where cleaning leaves nothing, the error says what was dropped."""
    with pytest.raises(TraceError, match=r"cleaning leaves no job.*1 dropped: submit below 0"):
        fs.read(file_of(tmp_path, row(f2=-5)))


def test_uncleaned_rows_that_are_no_job(tmp_path: Path) -> None:
    """clean="none" keeps the file's order, and fails at a row that the model cannot hold, naming the job."""
    assert fs.read(file_of(tmp_path, row(f1=2, f2=9), row()), clean="none").id.tolist() == [2, 1]
    with pytest.raises(TraceError, match=r'Job 1: submit=-5.* clean="standard" leaves such rows out'):
        fs.read(file_of(tmp_path, row(f2=-5)), clean="none")


def test_repeated_ids(tmp_path: Path) -> None:
    """The first row of an id in the file keeps it, others get numbers above all, counted; dropped ones do not count."""
    path = file_of(tmp_path, row(f2=9), row(f1=7, f2=4), row(f2=4), row(f1="7.5"), row(f1=9, f4=0), row(f1=7, f11=3))
    log = fs.read(path)
    assert (log.id.tolist(), log.submit.tolist()) == ([9, 7, 8, 1], [0, 4, 4, 9])
    assert log.cleaning is not None
    assert log.cleaning.renumbered == 2
    assert "2 without a number of their own: numbered anew" in str(log.cleaning)
    fs.write(log, tmp_path / "again.swf")
    assert fs.read(tmp_path / "again.swf") == log
    assert fs.read(path, renumber=True).id.tolist() == [1, 2, 3, 4]


def test_uncleaned_repeated_ids(tmp_path: Path) -> None:
    """Rows taken as they stand keep their ids: two of one id are an error that names the cure, and the cure works."""
    path = file_of(tmp_path, row(), row(f2=4))
    with pytest.raises(TraceError, match=r"have the same id.*renumber=True"):
        fs.read(path, clean="none")
    assert fs.read(path, clean="none", renumber=True).id.tolist() == [1, 2]


def test_unknown_suffixes_and_formats(tmp_path: Path) -> None:
    """The nearest known one is offered; `format` overrides the suffix."""
    path = file_of(tmp_path, row(), name="log.swff")
    with pytest.raises(UnknownNameError, match=r"suffix '.swff'. Did you mean '.swf'"):
        fs.read(path)
    with pytest.raises(UnknownNameError, match="Did you mean 'swf'"):
        fs.read(path, format="sfw")
    assert len(fs.read(path, format="swf")) == 1
    with pytest.raises(ValueError, match="read_federation"):
        fs.read(file_of(tmp_path, name="f.toml"))


def test_the_cures_of_errors_work_on_the_command_line(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A malformed line, and a name that tells no format, are errors that name the options which then help."""
    path, target = file_of(tmp_path, row(), "nonsense", name="log.txt"), tmp_path / "log.csv"
    with pytest.raises(UnknownNameError, match=r"give format= .fedsched: --from. one of"):
        fs.read(path)
    with pytest.raises(TraceError, match=r"fedsched: --on-error skip. counts such lines"):
        fs.read(path, "swf")
    assert run(["convert", str(path), str(target), "--from", "swf", "--on-error", "skip"]) == 0, capsys.readouterr().err
    assert run(["info", str(path), "--from", "swf", "--on-error", "skip"]) == 0, capsys.readouterr().err
    assert len(fs.read(target)) == 1


@pytest.mark.parametrize("options", [{"clean": "x"}, {"over_request": "x"}, {"sites": "x"}, {"on_error": "x"}])
def test_unknown_options(tmp_path: Path, options: dict[str, str]) -> None:
    """An option's value that means nothing is an error that names the option."""
    with pytest.raises(ValueError, match=f"{next(iter(options))}='x' must be"):
        fs.read(file_of(tmp_path, row()), **options)  # type: ignore[arg-type]


# ---- sites ----------------------------------------------------------------------------------------------------------


def test_partitions_become_sites(tmp_path: Path) -> None:
    """Two busy partitions are two sites, named by the header; one alone is none unless asked for."""
    two = file_of(tmp_path, "; Partition: 1 north", "; Partition: 2 south", row(), row(f1=2, f16=2))
    workload = fs.read(two)
    assert (workload.sites, workload.origin.tolist()) == (("north", "south"), [0, 1])
    assert fs.read(two, sites=None).sites == ()
    one = file_of(tmp_path, row(), name="one.swf")
    assert fs.read(one).sites == ()
    assert fs.read(one, sites="partition").sites == ("1",)
    with pytest.raises(TraceError, match="no job has a partition"):
        fs.read(file_of(tmp_path, row(f16=-1), name="none.swf"), sites="partition")


# ---- compression and the way back -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("suffix", "pack"), [("", bytes), (".gz", gzip.compress), (".xz", lzma.compress), (".bz2", bz2.compress)]
)
def test_compressed_files(tmp_path: Path, suffix: str, pack: object) -> None:
    """Plain, gzip, xz and bzip2 files hold the same log, read and written."""
    path = tmp_path / f"log.swf{suffix}"
    path.write_bytes(pack((row() + "\n").encode()))  # type: ignore[operator]
    workload = fs.read(path)
    again = tmp_path / f"again.swf{suffix}"
    fs.write(workload, again)
    assert fs.read(again) == workload


def full_log(folder: Path) -> Path:
    return file_of(
        folder,
        "; Computer: Test",
        ";   with a second line",
        "; MaxProcs: 64",
        "; Partition: 1 north",
        "; Partition: 2 south",
        row(f2=0.25, f4="100.125", f7=1234, f10=99),
        row(f1=5, f2=7, f5=-1, f8=12, f9=-1, f16=2),
        row(f1=6, f2=8, f9=2**31, f17=1, f18=60),
        row(f1=7, f2=9, f9=30, f6="3.5", f12=-1, f11=5),
    )


@pytest.mark.parametrize("over_request", ["cap", "keep"])
def test_a_written_log_is_read_back_unchanged(tmp_path: Path, over_request: str) -> None:
    """All jobs, all archive columns and the header's continued lines come back."""
    workload = fs.read(full_log(tmp_path), over_request=over_request)  # type: ignore[arg-type]
    fs.write(workload, tmp_path / "again.swf")
    again = fs.read(tmp_path / "again.swf", over_request="keep")
    assert again == workload
    assert ("Computer", "Test\nwith a second line") in again.header


def check_raised_trip(workload: fs.Workload, path: Path) -> None:
    """Check that only the archive's requested time differs, and only where it was raised."""
    fs.write(workload, path)
    again = fs.read(path)
    for field in ("submit", "tasks", "runtime", "estimate", "id", "user", "origin"):
        np.testing.assert_array_equal(getattr(again, field), getattr(workload, field), err_msg=field)
    assert workload.log is not None
    assert again.log is not None
    for name, values in workload.log.items():
        differs = getattr(again.log, name) != values
        raised = (workload.runtime > values) & (values > 0) if name == "requested_time" else np.False_
        np.testing.assert_array_equal(differs, np.broadcast_to(raised, differs.shape), err_msg=name)
    fs.write(again, path)
    assert fs.read(path) == again


def test_raised_requests_are_written_as_raised(tmp_path: Path) -> None:
    """The file says what was scheduled: the raised request; all else comes back, and a second trip alters nothing."""
    workload = fs.read(full_log(tmp_path))
    assert workload.estimate[-1] == 100
    check_raised_trip(workload, tmp_path / "again.swf")


def test_made_workloads_are_read_back_unchanged(tmp_path: Path) -> None:
    """Arrays without a log come back but for the columns that the format adds."""
    made = fs.Workload(
        submit=[0, 0.1, 1 / 3], tasks=[1, 2, 3], runtime=[1e-3, 2, 7.5], estimate=[1, 2.5, 9], id=[4, 9, 2],
        user=[1, -1, 3], origin=[0, 1, -1], sites=["a b", "2"], nodes=4,
    )  # fmt: skip
    made.write(tmp_path / "made.swf")
    again = fs.read(tmp_path / "made.swf")
    assert again.sites == made.sites
    for field in ("submit", "tasks", "runtime", "estimate", "id", "user", "origin"):
        np.testing.assert_array_equal(getattr(again, field), getattr(made, field), err_msg=field)


def test_what_the_format_cannot_hold_is_refused(tmp_path: Path) -> None:
    """Communication would be lost: an error that offers CSV, nothing written, unless told that it may be lost."""
    workload = fs.Workload(submit=[0], tasks=[2], runtime=[5], task_bandwidth=[1e6])
    path = tmp_path / "w.swf"
    with pytest.raises(OutputError, match=r"no place for task_bandwidth; write a \.csv"):
        workload.write(path)
    assert not path.exists()
    write_swf(workload, path, lossy=True)
    assert read_swf(path).task_bandwidth.tolist() == [0]


def test_gzip_files_are_the_same_bytes_every_day(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Neither the time nor the file's name is in the file."""
    workload = fs.Workload(submit=[0], tasks=[2], runtime=[5])
    workload.write(tmp_path / "a.swf.gz")
    monkeypatch.setattr(time, "time", lambda: 2e9)
    workload.write(tmp_path / "b.swf.gz")
    assert (tmp_path / "a.swf.gz").read_bytes() == (tmp_path / "b.swf.gz").read_bytes()


def test_paths_that_cannot_be_written(tmp_path: Path) -> None:
    """Each is an OutputError with a cure, and what was there stays."""
    workload = fs.Workload(submit=[0], tasks=[2], runtime=[5])
    with pytest.raises(OutputError, match="does not exist; make it first"):
        workload.write(tmp_path / "none" / "w.swf")
    (tmp_path / "folder.swf").mkdir()
    with pytest.raises(OutputError, match="it is a folder"):
        workload.write(tmp_path / "folder.swf")
    (tmp_path / "file").write_text("x", encoding="utf-8")
    with pytest.raises(OutputError, match=r"Cannot write .*w\.swf"):
        workload.write(tmp_path / "file" / "w.swf")
    assert sorted(os.listdir(tmp_path)) == ["file", "folder.swf"]


def test_an_error_while_writing_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The old content stays and no temporary file is left."""
    path = tmp_path / "w.swf"
    path.write_text("old", encoding="utf-8")

    def full(*_: object) -> list[str]:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("fedsched.io.swf.log.number_texts", full)
    with pytest.raises(OutputError, match="No space left on device"):
        fs.Workload(submit=[0], tasks=[2], runtime=[5]).write(path)
    assert path.read_text(encoding="utf-8") == "old"
    assert os.listdir(tmp_path) == ["w.swf"]


# ---- the archive's logs ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "records", "kept", "nodes"),
    [
        ("KTH-SP2-1996-2.1-cln", 27_992, 27_992, 100),
        ("HPC2N-2002-2.2-cln", 202_871, 202_871, 240),
        ("METACENTRUM-2009-2", 103_656, 99_944, 0),
        ("SDSC-SP2-1998-first4961", 4_961, 4_606, 128),
        ("NASA-iPSC-1993-3.1-cln", 18_239, 18_066, 128),
        ("ALCF-Theta-2022", 23_911, 23_911, 4360),
        ("lublin_256", 10_000, 10_000, 256),
    ],
)
def test_archive_logs(traces_dir: Path, name: str, records: int, kept: int, nodes: int) -> None:
    """Every log has the jobs that its page counts, and its cleaning report adds up."""
    path = traces_dir / f"{name}.swf.gz"
    if not path.is_file():
        pytest.skip(f"{name} is not there")
    workload = fs.read(path)
    report = workload.cleaning
    assert report is not None
    assert (report.records, report.kept, workload.nodes) == (records, kept, nodes)
    assert report.records == report.kept + report.dropped
    assert len(workload) == kept
    assert read_table(path).rows == records


def test_metacentrum_is_a_federation(traces_dir: Path) -> None:
    """Its partitions 1..14 are the sites, and no job has a requested time."""
    path = traces_dir / "METACENTRUM-2009-2.swf.gz"
    if not path.is_file():
        pytest.skip("METACENTRUM-2009-2 is not there")
    workload = fs.read(path)
    assert workload.sites == tuple(str(k) for k in range(1, 15))
    assert workload.cleaning is not None
    assert workload.cleaning.missing_request == len(workload)


def test_an_archive_log_goes_there_and_back(traces_dir: Path, tmp_path: Path) -> None:
    """A raw log of the archive, with all that is odd in it, is read back."""
    path = traces_dir / "SDSC-SP2-1998-first4961.swf.gz"
    if not path.is_file():
        pytest.skip("SDSC-SP2-1998 is not there")
    check_raised_trip(fs.read(path), tmp_path / "again.swf.gz")


@pytest.mark.parametrize("content", ["1 0 5 10\n", "id,submit,tasks\n1,0,5\n", "; a comment\n\n1 2 3\n4 5 6\n"])
def test_a_file_that_never_had_the_fields_is_not_cut_off(tmp_path: Path, content: str) -> None:
    """Tests that only a file with a whole job line before its short last one is said to be cut off."""
    path = tmp_path / "a.swf"
    path.write_text(content)
    with pytest.raises(TraceError) as caught:
        read_table(path)
    assert "cut off" not in str(caught.value)
    path.write_text("1 0 5 100 4 -1 -1 4 200 -1 1 7 1 1 1 1 -1 -1\n2 0 5 1")
    with pytest.raises(TraceError, match="cut off"):
        read_table(path)
