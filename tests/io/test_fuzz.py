"""Damaged files of every kind: whatever is in them, a reader gives what it reads or one of our own errors.

`FEDSCHED_FUZZ=20000 pytest tests/io/test_fuzz.py` tries so many files of each kind.
"""

from __future__ import annotations

import bz2
import csv
import gzip
import io
import json
import lzma
import os
import re
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from fedsched.comparison.files import read_records
from fedsched.comparison.record import RunRecord
from fedsched.core.errors import FedschedError
from fedsched.io import read, read_federation, write, write_federation
from fedsched.io import schedules as schedule_files
from fedsched.io.batsim.workloads import read_batsim, write_batsim
from fedsched.io.checkpoint_file import SealedFile
from fedsched.io.slurm_files.hosts import read_hosts
from fedsched.io.tables.downtimes import read_calendar
from fedsched.io.trees import pack
from fedsched.market.files import read_market
from fedsched.model.jobs.workload import Workload
from fedsched.model.machine.federation import Federation
from fedsched.model.schedule.schedule import Schedule
from fedsched.optimize.result.record import Baseline, Front, PlannedQueue, Result, Settings
from fedsched.search.run.checkpoint import MARK, Checkpoint
from fedsched.search.run.run import Moment
from fedsched.simulate import simulate

if TYPE_CHECKING:
    from collections.abc import Callable

EXAMPLES = int(os.environ.get("FEDSCHED_FUZZ", "100"))
PACKERS = {"gz": gzip.compress, "xz": lzma.compress, "bz2": bz2.compress}

# What programs trip over: numbers beyond every type, words for none, brackets without end, other encodings.
TOKENS = (
    b"\0", b"9" * 400, b"9" * 5000, b"1e999", b"-1e308", b"-1", b"0", b"nan", b"inf", b"NaN", b"Infinity", b"1_0",
    b"0x10", b"2147483648", b"9223372036854775808", b"1e-320", b"true", b"null", b'"', b"'", b"\\", b"|", b",", b";",
    b"#", b"[", b"{", b"}", b"]", b"<", b">", b"&lt;", b"&x;", b"=", b" ", b"\t", b"\n", b"\r", b"\x0b\x1c",
    b"\xc2\x85", b"\xe2\x80\xa8", b"\xff\xfe", b"\xef\xbb\xbf", b"\xe9", b"\xed\xa0\x80", b"[" * 3000,
    b'{"a":' * 3000, b"(" * 500,
    b"<a>" * 200, b"\xd9\xa3", b"\xc2\xb2", b"<!DOCTYPE a [<!ENTITY x 'y'>]>", b"1970-01-01T00:00:00", b"-0.0", b"1e19",
)  # fmt: skip


def edits() -> st.SearchStrategy[list[tuple[str, float, float, Any]]]:
    """Draw a few acts of damage: what, from where to where in the file, and with what."""
    place = st.floats(0, 1, allow_nan=False)
    what = st.sampled_from(("flip", "cut", "drop", "repeat", "insert", "replace", "swap lines", "drop line", "word"))
    return st.lists(st.tuples(what, place, place, st.integers(0, 2**31)), min_size=1, max_size=4)


def damaged(content: bytes, acts: list[tuple[str, float, float, Any]]) -> bytes:
    """Return the content after these acts."""
    for what, one, other, number in acts:
        first, last = sorted((int(one * len(content)), int(other * len(content))))
        token = TOKENS[number % len(TOKENS)]
        lines = content.split(b"\n")
        a, b = int(one * len(lines)) % len(lines), int(other * len(lines)) % len(lines)
        match what:
            case "flip":
                content = content[:first] + bytes([number % 256]) + content[first + 1 :]
            case "cut":
                content = content[:first]
            case "drop":
                content = content[:first] + content[min(last, first + number % 50) :]
            case "repeat":
                content = content[:last] + content[first:last] * (number % 3) + content[last:]
            case "insert":
                content = content[:first] + token + content[first:]
            case "replace":
                content = content[:first] + token + content[first + len(token) :]
            case "swap lines":
                lines[a], lines[b] = lines[b], lines[a]
                content = b"\n".join(lines)
            case "drop line":
                content = b"\n".join(lines[:a] + lines[a + 1 :])
            case "word":  # a value in place of another, where the file's form survives
                words = [k for k, sign in enumerate(content) if chr(sign) in "0123456789"]
                if words:
                    begin = words[number % len(words)]
                    end = begin
                    while end < len(content) and chr(content[end]) in "0123456789.e":
                        end += 1
                    content = content[:begin] + TOKENS[(number >> 8) % len(TOKENS)] + content[end:]
    return content


@cache
def jobs() -> Workload:
    """Return jobs that use every field."""
    return Workload(
        submit=[0, 1.5, 2, 4], tasks=[1, 2, 2, 1], runtime=[10, 5, 7.25, 3], estimate=[10, 5, 8, 3], user=[1, 2, 1, -1],
        compute_fraction=[1, 0.5, 1, 0.25], task_bandwidth=[0, 5, 0, 7], sites=["C1", "C2"], origin=[0, 1, 0, -1],
        allowed=[[True, False], [True, True], [True, True], [False, True]], name="few", nodes=4,
    )  # fmt: skip


@cache
def machine() -> Federation:
    """Return two clusters for them."""
    return Federation.of(2, 2, uplink=1e6)


EVENTS = b"""{"type": "machine_unavailable", "resources": "0-1 3", "timestamp": 20}
{"type": "machine_available", "resources": "0 1", "timestamp": 250.5}
{"type": "generic", "timestamp": 300, "data": "{\\"type\\": \\"machine_available\\", \\"resources\\": \\"3\\"}"}
"""
SACCT = b"""JobIDRaw|Cluster|Partition|User|Submit|Start|End|ElapsedRaw|TimelimitRaw|State|AllocCPUS|ConsumedEnergyRaw
1|a|p|u|2024-01-01T00:00:00|2024-01-01T00:00:10|2024-01-01T00:01:10|60|10|COMPLETED|32|99
2|b|p|v|2024-01-01T00:00:05|Unknown|Unknown|0|UNLIMITED|PENDING|8|
3|b|q|v|2024-01-01T00:00:07|2024-01-01T00:00:07|2024-01-01T00:10:07|600|Partition_Limit|CANCELLED by 5|8|3
3.batch|b|q|v|2024-01-01T00:00:07|2024-01-01T00:00:07|2024-01-01T00:10:07|600||COMPLETED|8|3
"""
SWF = b"""; Version: 2.2
; MaxProcs: 100
;   a note
; Partition: 1 north
1 0 5 100 4 -1 -1 4 200 -1 1 7 1 1 1 1 -1 -1
2 3 5 100.5 4 -1 -1 4 50 -1 5 7 1 1 1 2 -1 -1
3 3 -1 -1 -1 -1 -1 4 200 -1 0 7 1 1 1 2 1 5
"""
XML = b"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1"><zone id="z" routing="Full">
<cluster id="c" prefix="c" suffix="" radical="0-3,7" speed="1Gf, 2Gf" bw="125MBps" lat="5us" bb_bw="2GBps">
<prop id="watt_per_state" value="95.0:190.738, 93.0:170"/></cluster>
<zone id="y" routing="Full"><host id="h" speed="2.5e9f" pstate="0"/><backbone id="b" bandwidth="10Gbps"/></zone>
<link id="l" bandwidth="1MiBps" latency="1ms"/>
<zoneRoute src="c" dst="y"><link_ctn id="l"/></zoneRoute>
</zone></platform>
"""
MARKET = b"""interval = [0, 100]
reference = 1.0
[[node]]
performance = 2.0
price = 3.5
busy = [[0, 10], [20.5, 30]]
count = 2
[[job]]
name = "a"
nodes = 2
length = 20
budget = 900
"""


@cache
def plan() -> Schedule:
    """Return when and where they run; made by hand, since what compiles is not what is tested here."""
    counts = [[1, 0], [1, 1], [0, 2], [0, 1]]
    start, finish = [0, 10, 20, 30], [10, 20, 27.25, 33]
    return Schedule(workload=jobs(), federation=machine(), start=start, finish=finish, counts=counts, t0=0.0)  # type: ignore[arg-type]


def result_file(folder: Path) -> bytes:
    """Return a saved result with every kind of plan, all of which do the same: what it says must be true."""
    strict = simulate(jobs(), machine(), "fcfs", knowledge="runtime")
    caps = np.minimum(jobs().tasks[:, None], np.where(jobs().allowed, 2, 0))
    plans = (
        PlannedQueue(order=np.arange(4), caps=caps, dispatch="strict"),
        PlannedQueue(policy="fcfs"),
        PlannedQueue(schedule=strict),
    )
    objectives = ("makespan", "energy")
    metrics = strict.metrics(users=False)
    values = (metrics.makespan, metrics.energy)
    result = Result(
        workload=jobs(),
        federation=machine(),
        settings=Settings(submits="keep"),
        method="moga",
        seed=1,
        objectives=objectives,
        weights=(1.0, 1.0),
        front=Front(objectives, np.array([values] * 3), plans),
        baselines=(Baseline("fcfs", values),),
        lower_bounds={"makespan": 4.5, "energy": float("nan")},
        bound_front=np.array([[4.5, 7.0]]),
        energy_penalty=0.1,
        history=(Moment(4, 0.5, (5.0, 7.0), 0.25),),
        evaluations=8,
        seconds=0.5,
        stop_reason="evaluations",
        versions={"fedsched": "1"},
    )
    result.save(folder / "sound.json")
    return (folder / "sound.json").read_bytes()


def batsim_file(folder: Path) -> bytes:
    """Return a Batsim workload with delays and tasks."""
    write_batsim(jobs(), folder / "sound.json", node_speed=1e9)
    return (folder / "sound.json").read_bytes()


def written(folder: Path, name: str, put: Callable[[Path], None]) -> bytes:
    """Return what a function writes."""
    put(folder / name)
    return (folder / name).read_bytes()


def parted(content: bytes, mark: bytes) -> bytes:
    """Return a table whose fields another mark parts; the first line, a comment, stays."""
    first, end, rows = content.partition(b"\n")
    return first + end + rows.replace(b",", mark)


def saved_again(content: bytes) -> bytes:
    """Return a table as a spreadsheet saves it: every line parted at its commas, quoted, and filled up."""
    lines = [line.split(",") for line in content.decode().splitlines()]
    saved = io.StringIO()
    rows = csv.writer(saved, lineterminator="\r\n")
    rows.writerows(line + [""] * (max(map(len, lines)) - len(line)) for line in lines)
    return saved.getvalue().encode()


def read_federation_of_dump(path: Path) -> Federation:
    """Return the clusters of a dump whose name does not tell what it is."""
    return read_federation(path, "sacct")


def runs_file(_: Path) -> bytes:
    """Return two runs of a comparison."""
    run = RunRecord(
        instance="a", fingerprint="f", method="ga", seed=1, evaluations_allowed=5, seconds_allowed=None,
        objectives=("makespan",), baselines=("fcfs",), front=((1.0,), (2.5,)), bounds=(1.0,), versions={"x": "1"},
    )  # fmt: skip
    return b"".join(json.dumps(asdict(run) | {"seed": seed}).encode() + b"\n" for seed in (1, 2))


def read_checkpoint(path: Path) -> object:
    """Return what a search that finds this checkpoint goes on with."""
    saved = Checkpoint.__new__(Checkpoint)
    saved._file, saved._key, saved._most = SealedFile(path, MARK, "a search"), "key", 1 << 20
    saved._releases = []
    return saved._read()


def checkpoint_file(folder: Path) -> bytes:
    """Return a checkpoint."""
    run = {"evaluations": 3, "values": np.arange(50)}
    content = pack({"key": "key", "packages": [], "run": run, "method": None})
    return written(folder, "sound.ckpt", lambda p: SealedFile(p, MARK, "a search").write(content))


def recorded(name: str) -> bytes:
    """Return what a Slurm printed."""
    return (Path(__file__).parent / "slurm" / name).read_bytes()


def read_closed(path: Path) -> object:
    """Return the calendar of one cluster in a file."""
    dated = {"origin": "2026-11-01", "until": "2027-03-01"} if path.name == "a.txt" else {}
    return read_calendar(path, federation=Federation.homogeneous(14), **dated)


# Kind of file: its name, a sound one, and the ways to read it.
KINDS: dict[str, tuple[str, Callable[[Path], bytes], tuple[Callable[[Path], object], ...]]] = {
    "swf": ("a.swf", lambda _: SWF, (read, lambda p: read(p, on_error="skip"), lambda p: read(p, clean="none"))),
    "csv": ("a.csv", lambda f: written(f, "sound.csv", lambda p: write(jobs(), p)), (read,)),
    "csv with semicolons": ("a.csv", lambda f: parted(sound("csv", f), b";"), (read,)),
    "csv with tabs": ("a.csv", lambda f: parted(sound("csv", f), b"\t"), (read,)),
    "csv saved again": ("a.csv", lambda f: saved_again(sound("csv", f)), (read,)),
    "sacct with semicolons": ("a.csv", lambda _: SACCT.replace(b"|", b";"), (read, read_federation_of_dump)),
    "sacct": ("a.sacct", lambda _: SACCT, (read, lambda p: read(p, on_error="skip"), read_federation)),
    "batsim": (
        "a.json",
        batsim_file,
        (lambda p: read_batsim(p, node_speed=1e9), lambda p: read_batsim(p, node_speed=1e9, on_error="skip")),
    ),
    "toml": (
        "a.toml",
        lambda f: written(f, "sound.toml", lambda p: write_federation(machine(), p)),
        (read_federation,),
    ),
    "simgrid": ("a.xml", lambda _: XML, (read_federation,)),
    "calendar": ("a.csv", lambda _: b"cluster,begin,end,nodes,kind\ncluster,5,9.5,1-3,outage\n", (read_closed,)),
    "reservations": ("a.txt", lambda _: recorded("reservations.txt"), (read_closed,)),
    "node events": ("a.txt", lambda _: recorded("events-P.txt"), (read_closed,)),
    "machine events": ("a.json", lambda _: EVENTS, (read_closed,)),
    "hosts": ("a.txt", lambda _: recorded("slurm.conf"), (lambda p: read_hosts(p, Federation.homogeneous(14)),)),
    "market": ("a.toml", lambda _: MARKET, (read_market,)),
    "schedule": (
        "a.csv",
        lambda f: written(f, "sound.csv", plan().to_csv),
        (lambda p: schedule_files.read_csv(p, jobs(), machine()),),
    ),
    "result": ("a.json", result_file, (Result.load,)),
    "runs": ("a.jsonl", runs_file, (read_records,)),
    "checkpoint": ("a.ckpt", checkpoint_file, (read_checkpoint,)),
}  # fmt: skip
PACKED = ("swf", "csv", "sacct", "batsim", "toml", "simgrid", "market")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder for all of them."""
    return tmp_path_factory.mktemp("fuzz")


@cache
def sound(kind: str, folder: Path) -> bytes:
    """Return a sound file of that kind."""
    return KINDS[kind][1](folder)


def check(kind: str, path: Path, content: bytes) -> None:
    """Read the content in every way; raise for any error that is not ours, or that does not say of which file."""
    path.write_bytes(content)
    for way in KINDS[kind][2]:
        try:
            way(path)
        except FedschedError as error:
            text = str(error)
            assert str(path) in text, text
            assert len(text) < 3000
            assert "\n" not in text


@pytest.mark.parametrize("kind", KINDS)
def test_the_sound_file_is_read(kind: str, folder: Path) -> None:
    """Tests that every way of reading takes the file that is then damaged: or the damage would not matter."""
    path = folder / KINDS[kind][0]
    path.write_bytes(sound(kind, folder))
    for way in KINDS[kind][2]:
        if kind == "swf" and way is KINDS["swf"][2][2]:
            continue  # its last row is no job, which clean="none" does not take
        way(path)


@pytest.mark.parametrize("kind", KINDS)
def test_damaged_files(kind: str, folder: Path) -> None:
    """Tests that nothing but our own errors comes out of a damaged file, each naming it."""
    content, path = sound(kind, folder), folder / KINDS[kind][0]

    @settings(
        derandomize=True, deadline=None, max_examples=EXAMPLES, database=None, suppress_health_check=list(HealthCheck)
    )
    @given(acts=edits())
    def fuzz(acts: list[tuple[str, float, float, Any]]) -> None:
        check(kind, path, damaged(content, acts))

    fuzz()


@pytest.mark.slow
@pytest.mark.parametrize("packer", PACKERS)
@pytest.mark.parametrize("kind", PACKED)
def test_damaged_packed_files(kind: str, packer: str, folder: Path) -> None:
    """Tests the same of packed files that are damaged, cut or glued together."""
    content, path = PACKERS[packer](sound(kind, folder) * 3), folder / f"{KINDS[kind][0]}.{packer}"

    @settings(derandomize=True, deadline=None, max_examples=EXAMPLES // 4, database=None,
              suppress_health_check=list(HealthCheck))  # fmt: skip
    @given(acts=edits())
    def fuzz(acts: list[tuple[str, float, float, Any]]) -> None:
        check(kind, path, damaged(content, acts))

    fuzz()


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-32", "utf-7", "latin-1", "utf-8-sig", "cp037"])
@pytest.mark.parametrize("kind", KINDS)
def test_other_encodings(kind: str, encoding: str, folder: Path) -> None:
    """Tests files in other encodings: those of old machines too."""
    if kind == "checkpoint":
        pytest.skip("it is no text")
    text = sound(kind, folder).decode() + ("é" if encoding == "latin-1" else "")
    check(kind, folder / KINDS[kind][0], text.encode(encoding))


@pytest.mark.parametrize(
    "content", [b"", b"\0" * 100, b"\n" * 1000, bytes(range(256)) * 4, b"[" * 100_000, b'{"":' * 50_000]
)
@pytest.mark.parametrize("kind", KINDS)
def test_what_is_nothing_of_the_kind(kind: str, content: bytes, folder: Path) -> None:
    """Tests empty, binary and endlessly nested files."""
    check(kind, folder / KINDS[kind][0], content)


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("swf", b"MaxProcs: 100", b"MaxProcs: " + b"9" * 400),
        ("swf", b"MaxProcs: 100", b"MaxProcs: " + b"9" * 5000),
        ("swf", SWF, b"\x1c\n\x85\n"),
        ("swf", SWF, b"; a\n" + b"; and on\n" * 200_000),
        ("csv", b"# fedsched {", b"# fedsched " + b"[" * 3000),
        ("csv", b"# fedsched {", b"# fedsched \r{{"),
        ("csv", b"submit", b"9" * 5000),
        ("batsim", b'"delay3.0"', b'"' + b"9" * 5000 + b'"'),
        ("toml", b"count = 2", b"count = " + b"9" * 5000),
        ("toml", b"count = 2", b"count = " + b"[" * 3000),
        ("market", b"count = 2", b"count = 9223372036854775807"),
        ("market", b"price = 3.5", b"price = " + b"9" * 400),
        ("market", b"[0, 10]", b"[0, " + b"9" * 400 + b"]"),
        ("schedule", b"id,", b"id\xe9\xff,"),
        ("schedule", b"id,", b'"' + b"x" * 200_000 + b'",id,'),
        ("schedule", b"id,", b'"nodes:a\nb",id,'),
        ("result", b'"front"', b'"' + b"9" * 5000 + b'"'),
        ("runs", b'"front": [[1.0], [2.5]]', b'"front": [[1.0, 2.0], ["a"]]'),
        ("runs", b'"seed": 1', b'"seed": ["a"]'),
        ("checkpoint", MARK, MARK + MARK),
    ],
)
def test_what_damage_has_found(kind: str, old: bytes, new: bytes, folder: Path) -> None:
    """Tests the damage by which readers hung, ran out of memory, or raised errors that were not theirs."""
    content = sound(kind, folder)
    assert old in content
    check(kind, folder / KINDS[kind][0], content.replace(old, new, 1))


@pytest.mark.parametrize("kind", KINDS)
def test_no_file_and_a_folder(kind: str, tmp_path: Path) -> None:
    """Tests that a missing file and a folder are our own error or the system's, both with their name."""
    for path in (tmp_path / "none.swf", tmp_path):
        for way in KINDS[kind][2]:
            if kind in ("runs", "checkpoint") and path != tmp_path:
                assert not way(path)  # a comparison or a search that begins
                continue
            with pytest.raises((FedschedError, OSError), match=re.escape(str(path))):
                way(path)
