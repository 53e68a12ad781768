"""Logs there and back: any whole-number log, damaged archives, federations, and the oracles' cleaning."""

from __future__ import annotations

import bz2
import csv
import gzip
import lzma
import pickle
from typing import TYPE_CHECKING

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedsched.core.errors import TraceError
from fedsched.io.swf.log import read_swf, write_swf
from fedsched.io.swf.swf_table import FIELDS, header_number, parse_header, read_table
from fedsched.model.jobs.workload import Workload

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PACKERS = pytest.mark.parametrize("pack", [gzip.compress, lzma.compress, bz2.compress], ids=["gzip", "xz", "bzip2"])


def job(number: int, *, submit: int = 0, wait: int = 5, partition: int = -1, memory: int = -1) -> str:
    """Return the line of an ordinary job."""
    return f"{number} {submit} {wait} 100 4 -1 {memory} 4 200 -1 1 7 1 1 1 {partition} -1 -1"


def log(folder: Path, *lines: str) -> Path:
    """Return a file of these lines."""
    path = folder / "log.swf"
    path.write_text("\n".join(lines) + "\n")
    return path


@st.composite
def tables(draw: st.DrawFn) -> np.ndarray:
    """Draw the fields of jobs that need no cleaning, a row a field."""
    jobs = draw(st.integers(1, 12))

    def column(values: st.SearchStrategy[int]) -> list[int]:
        return draw(st.lists(values, min_size=jobs, max_size=jobs))

    table = np.array([column(st.integers(-1, 2**40)) for _ in FIELDS], dtype=np.float64)
    table[0] = np.arange(1, jobs + 1)
    table[1] = np.sort(np.abs(table[1]))
    table[3] = np.abs(table[3]) + 1
    table[4] = column(st.integers(1, 1000))
    table[8] = np.where(table[8] < table[3], -1, table[8])
    table[10] = column(st.sampled_from((0, 1, 5, -1)))
    table[15] = column(st.sampled_from((-1, 1, 2, 9)))
    return table


@given(table=tables())
@settings(derandomize=True, deadline=None, max_examples=50, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whole_numbers_come_back_exactly(table: np.ndarray, tmp_path: Path) -> None:
    """Tests that all eighteen fields of every job survive, and the workload read again is equal."""
    workload = read_swf(log(tmp_path, *(" ".join(str(int(value)) for value in row) for row in table.T)))
    write_swf(workload, tmp_path / "again.swf.gz")
    assert np.array_equal(read_table(tmp_path / "again.swf.gz").table, table)
    assert read_swf(tmp_path / "again.swf.gz") == workload


@PACKERS
def test_a_cut_download(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Tests that compressed data that end early are an error with a cure, and "skip" keeps the whole lines there."""
    memory = np.random.default_rng(1).integers(0, 10**8, 60_000).tolist()
    lines = [job(k, submit=k, memory=value) for k, value in enumerate(memory, 1)]
    content = pack(("\n".join(lines) + "\n").encode())
    path = tmp_path / "log.swf.gz"
    path.write_bytes(content[: len(content) * 8 // 10])
    with pytest.raises(TraceError, match="end in the middle"):
        read_swf(path)
    workload = read_swf(path, on_error="skip")
    assert 1_000 < len(workload) < 60_000
    assert workload.id.tolist() == list(range(1, len(workload) + 1))
    assert workload.log is not None
    assert workload.log.used_memory.tolist() == memory[: len(workload)]
    assert workload.cleaning is not None
    assert workload.cleaning.truncated_file


@PACKERS
def test_damaged_data(tmp_path: Path, pack: Callable[[bytes], bytes]) -> None:
    """Tests that compressed data with changed bytes are an error of ours."""
    content = bytearray(pack("\n".join(job(k, wait=k * k) for k in range(1, 3000)).encode()))
    middle = len(content) // 2
    content[middle : middle + 8] = bytes(255 - byte for byte in content[middle : middle + 8])
    path = tmp_path / "log.swf"
    path.write_bytes(content)
    with pytest.raises(TraceError, match=r"log\.swf"):
        read_swf(path)


def test_decimals_are_written_where_needed_only(tmp_path: Path) -> None:
    """Tests that a third of a second survives, and that whole numbers have no point."""
    workload = Workload(submit=[0.0, 1 / 3], tasks=[1, 2], runtime=[1e-3, 5.0], estimate=[2.0, 1e9])
    write_swf(workload, tmp_path / "a.swf")
    again = read_swf(tmp_path / "a.swf")
    assert np.array_equal(again.submit, workload.submit)
    assert np.array_equal(again.runtime, workload.runtime)
    lines = (tmp_path / "a.swf").read_text().splitlines()
    assert lines[-1].startswith("2 0.3333333333333333 -1 5 2 ")


def test_sites_come_back_by_name(tmp_path: Path) -> None:
    """Tests that a federation's sites survive: without a job, with a blank in the name, or named like a number."""
    workload = Workload(
        submit=[0, 1, 2], tasks=[1, 1, 1], runtime=[5, 5, 5], sites=("north", "deep south", "1"), origin=[1, 1, -1]
    )
    write_swf(workload, tmp_path / "a.swf")
    again = read_swf(tmp_path / "a.swf")
    assert again.sites == workload.sites
    assert np.array_equal(again.origin, workload.origin)


def test_partitions_keep_their_numbers_without_jobs(tmp_path: Path) -> None:
    """Tests that a part of a log comes back equal though a named partition between others has no job left."""
    header = ("; MaxProcs: 8", "; Partition: 1 a", "; Partition: 2 b", "; Partition: 9 c")
    jobs = (job(number, submit=number, partition=part) for number, part in enumerate((9, 1, 2), 1))
    part = read_swf(log(tmp_path, *header, *jobs)).head(2)
    write_swf(part, tmp_path / "part.swf")
    again = read_swf(tmp_path / "part.swf")
    assert again.log is not None
    assert again.log.partition.tolist() == [9, 1]
    assert again == part


def test_a_stray_entry_makes_no_federation(tmp_path: Path) -> None:
    """Tests that a second partition with one job in thousands makes no sites unless they are asked for."""
    path = log(tmp_path, *(job(k, partition=1) for k in range(1, 2001)), job(9999, partition=2))
    assert read_swf(path).sites == ()
    assert read_swf(path, sites="partition").sites == ("1", "2")


def test_a_changed_workload_writes_what_it_says_now(tmp_path: Path) -> None:
    """Tests that the archive's columns do not speak over jobs that were altered after reading."""
    workload = read_swf(log(tmp_path, job(1))).with_estimates("factor", factor=1.5)
    write_swf(workload, tmp_path / "b.swf")
    assert read_swf(tmp_path / "b.swf").estimate.tolist() == [150.0]


def test_the_header_comes_back(tmp_path: Path) -> None:
    """Tests that labels and continued texts survive, and that counts are those of the jobs written."""
    header = ("; Computer: X", "; Note: a", ";     b", "; MaxJobs: 99", "; MaxProcs: 32 (all)", "; TimeZone: 3600")
    workload = read_swf(log(tmp_path, *header, job(1), job(2)))
    write_swf(workload.head(1), tmp_path / "b.swf")
    again = read_swf(tmp_path / "b.swf")
    labels = dict(again.header)
    assert ("Note", "a\nb") in again.header
    assert (again.nodes, labels["MaxJobs"], labels["TimeZone"]) == (32, "1", "3600")


def test_header_lines_by_themselves() -> None:
    """Tests that an unknown label counts at the line's start only, and that text before any label is kept."""
    assert parse_header([" free text", " Copyright: mine", "     Warning: indented"]) == (
        ("", "free text"),
        ("Copyright", "mine\nWarning: indented"),
    )
    assert header_number((("MaxProcs", "none"),), "MaxProcs") == 0
    assert header_number((("MaxProcs", "1,024 in all"),), "MaxProcs") == 1024


def test_archive_columns_follow_their_jobs(tmp_path: Path) -> None:
    """Tests that archive columns survive slices and pickling, and take no memory where they are all alike."""
    workload = read_swf(log(tmp_path, *(job(k, submit=k, wait=10 * k) for k in range(1, 6))))
    part = pickle.loads(pickle.dumps(workload.take([3, 1])))
    assert part.log.wait.tolist() == [40.0, 20.0]
    assert part == workload.take([3, 1])
    assert workload.log is not None
    assert workload.log.think_time.strides == (0,)


@pytest.mark.parametrize(
    ("name", "oracle", "nodes"), [("lublin_256", "lublin256", 256), ("NASA-iPSC-1993-3.1-cln", "nasa", 128)]
)
def test_the_oracles_cleaning_is_expressible(
    traces_dir: Path, oracles_dir: Path, name: str, oracle: str, nodes: int
) -> None:
    """Tests that statuses=None, rebase and renumber give the very jobs of the schedules that others computed."""
    workload = read_swf(traces_dir / f"{name}.swf.gz", nodes=nodes, statuses=None, rebase=True, renumber=True)
    with gzip.open(oracles_dir / f"{oracle}.batch-fcfs.csv.gz", "rt") as stream:
        rows = [list(map(float, row)) for row in csv.reader(stream) if row[0][0].isdigit()]
    theirs = np.array(sorted(rows))
    assert np.array_equal(theirs[:, 0], workload.id)
    assert np.array_equal(theirs[:, 1], workload.submit)
    assert np.array_equal(theirs[:, 3], workload.runtime)
    assert np.array_equal(theirs[:, 4], workload.tasks)
