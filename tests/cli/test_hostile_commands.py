"""Hostile names through every reader and command: nothing of them acts on a terminal, in a page or in a picture."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import pytest
from support import hostile

import fedsched as fs
from fedsched.cli.shared.options import FORMAT_NAMES
from fedsched.io import FORMATS
from fedsched.model.machine.federation import Cluster, Federation, NodeGroup

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

# Names of sites and clusters; what ends a line or parts fields stays out of one-line names, as readers have it.
NAMES = [name for key, name in hostile.NAMES.items() if key not in ("zero", "long", "cell")]
NAMES = [re.sub(r"[|\x85\u2028\u2029\x1c-\x1e]", "", name) for name in NAMES] + ["long" * 40]
ALL = "".join(NAMES)
SUBMITTED = "2024-03-01T10:00:00"


def workload() -> fs.Workload:
    """Return a job of every site, in a workload named by all of them."""
    jobs = len(NAMES)
    return fs.Workload(
        submit=[0] * jobs, tasks=[1] * jobs, runtime=[10] * jobs, sites=NAMES, origin=range(jobs), name=ALL, nodes=4,
        history=[ALL],
    )  # fmt: skip


def swf(path: Path) -> None:
    """Write a log whose computer, partitions and notes are named so."""
    head = [f"; Computer: {ALL}", "; MaxProcs: 4", f"; Note: {ALL}", f"; {ALL}: {ALL}"]
    head += [f"; Partition: {k} {name}" for k, name in enumerate(NAMES, 1)]
    rows = [f"{k} 0 1 10 1 -1 -1 1 20 -1 1 1 1 1 1 {k} -1 -1" for k in range(1, len(NAMES) + 1)]
    path.write_text("\n".join(head + rows) + "\n", encoding="utf-8")


def sacct(path: Path) -> None:
    """Write a dump whose clusters, partitions and users are named so."""
    rows = ["JobIDRaw|Cluster|Partition|User|Submit|Start|ElapsedRaw|State|AllocCPUS|QOS"]
    rows += [
        f"{k}|{name}|{name}|{name}|{SUBMITTED}|{SUBMITTED}|60|COMPLETED|1|{name}" for k, name in enumerate(NAMES, 1)
    ]
    path.write_text("\n".join(rows) + "\n", encoding="utf-8")


def sacct_json(path: Path) -> None:
    """Write the same as `sacct --json` prints it."""
    jobs = [
        {
            "job_id": k, "cluster": name, "partition": name, "user": name, "account": name, "allocation_nodes": 1,
            "required": {"CPUs": 1}, "state": {"current": "COMPLETED"},
            "time": {"elapsed": 60, "eligible": 0, "end": 1700000060, "start": 1700000000, "submission": 1700000000},
            "tres": {"allocated": [{"type": "cpu", "name": None, "id": 1, "count": 1}], "requested": []},
        }
        for k, name in enumerate(NAMES, 1)
    ]  # fmt: skip
    path.write_text(json.dumps({"jobs": jobs}))


def csv(path: Path) -> None:
    """Write fedsched's own table of them."""
    fs.write(workload(), path)


# Every reader of jobs: the file's name, itself hostile, and what writes it.
LOGS: dict[str, tuple[str, Callable[[Path], None]]] = {
    "swf": ("a\x1b[31m\u202eb.swf", swf),
    "csv": ("a\x9b2J.csv", csv),
    "batsim": ("a\u2066[red].json", lambda path: fs.write(workload(), path)),
    "sacct": ("a\x1b]0;t\x07.sacct", sacct),
    "sacct_json": ("a\x07b.json", sacct_json),
}


def test_every_format_is_tried() -> None:
    """Tests that a hostile file is made of each format, except of those read as others are."""
    tried = set(LOGS) - {"sacct_json"} | {"openb", "events"}
    assert tried == set(FORMATS.values()) == {*re.findall(r"(?!or )\b\w+", FORMAT_NAMES)}


def harmless(*texts: str) -> None:
    """Assert that nothing in these acts."""
    for text in texts:
        assert hostile.acting(text, lines="\n") == []


@pytest.fixture
def machine(tmp_path: Path) -> Path:
    """Return a file of a federation whose every text is hostile."""
    clusters = tuple(Cluster(name, (NodeGroup(2, name=name),)) for name in NAMES)
    fs.io.write_federation(Federation(clusters, name=ALL, description=ALL), tmp_path / "m\x1b[2J.toml")
    return tmp_path / "m\x1b[2J.toml"


@pytest.mark.parametrize("reader", LOGS)
def test_every_reader_and_command(reader: str, call: Callable[..., Any], tmp_path: Path, machine: Path) -> None:
    """Tests of each reader that what commands print of its names, as text and as JSON, acts on no terminal."""
    name, put = LOGS[reader]
    log = tmp_path / name
    put(log)
    calls: list[tuple[Any, ...]] = [
        ("info", log),
        ("info", log, "--json"),
        ("simulate", log, "--federation", machine),
        ("simulate", log, "--nodes", 4, "--json"),
        ("convert", log, tmp_path / "out\x1b[5m.csv"),
        ("convert", log, tmp_path / "out.swf", "--json", "--lossy"),
        ("compare", log, "--nodes", 4, "--method", "fcfs", "--method", "easy", "--seeds", 1),
        ("bounds", log, "--federation", machine, "--method", "closed"),
    ]
    for words in calls:
        status, out, err = call(*words)
        assert status == 0, (words, err)
        assert out
        harmless(out, err)


@pytest.mark.deep
@pytest.mark.parametrize("reader", ["swf", "sacct"])
def test_searches_and_what_they_save(reader: str, call: Callable[..., Any], tmp_path: Path, machine: Path) -> None:
    """Tests that a search's output, plan, picture and page, its result read again, and `verify` act on nothing."""
    name, put = LOGS[reader]
    log = tmp_path / name
    put(log)
    saved, plan, chart = tmp_path / "r\x1b[1m.json", tmp_path / "p\x9b.csv", tmp_path / "g\u202e.svg"
    search = ("optimize", log, "--federation", machine, "--method", "random", "--evaluations", 20)
    for words in (
        (*search, "--save", saved, "--out", plan, "--gantt", chart),
        (*search, "--objective", "makespan", "--package", 9),
        (*search, "--json", "--checkpoint", tmp_path / "c\x07"),
        (*search, "--initial", saved),
        ("report", saved, "--out", tmp_path / "r.html", "--title", ALL),
        ("plot", saved, "--out", tmp_path / "r.svg"),
        ("verify", log, "--nodes", 4, *(("--from", "swf") if reader == "swf" else ())),
        ("verify", log, "--nodes", 4, "--json"),
    ):
        status, out, err = call(*words)
        assert status == 0 or words[0] == "verify", (words, err)
        assert out or (words[0] == "verify" and reader != "swf")
        harmless(out, err)
    for written in (chart, tmp_path / "r.svg"):
        ElementTree.fromstring(written.read_text(encoding="utf-8"))
        harmless(written.read_text(encoding="utf-8"))
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    harmless(page)
    tags = hostile.Tags(page)
    assert not tags.handlers
    assert "img" not in tags.tags


def test_several_logs_and_what_they_write(call: Callable[..., Any], tmp_path: Path, machine: Path) -> None:
    """Tests that logs side by side, plans, pictures and pages of hostile names act on nothing that opens them."""
    log, other = tmp_path / LOGS["swf"][0], tmp_path / LOGS["sacct"][0]
    swf(log)
    sacct(other)
    on = ("--federation", machine)
    for words in (
        ("simulate", log, other, *on),
        ("simulate", log, *on, "--gantt", tmp_path / "g.svg", "--out", tmp_path / "p.csv"),
        ("report", log, *on, "--out", tmp_path / "r.html", "--title", ALL),
    ):
        status, out, err = call(*words)
        assert status == 0, err
        harmless(out, err)
    picture = (tmp_path / "g.svg").read_text(encoding="utf-8")
    ElementTree.fromstring(picture)
    page = (tmp_path / "r.html").read_text(encoding="utf-8")
    harmless(picture, page)
    tags = hostile.Tags(page)
    assert not tags.handlers
    assert "img" not in tags.tags


def test_federations(call: Callable[..., Any], tmp_path: Path, machine: Path) -> None:
    """Tests that what is printed of platforms in TOML, in XML and of dumps acts on no terminal."""
    platform, dump = tmp_path / "p\x9b.xml", tmp_path / "d.sacct"
    sacct(dump)
    known = [name for name in NAMES if not re.search(r"[\x00-\x08\x0b-\x1f\ufffe\uffff]", name)]
    hosts = "".join(
        f'<host id="{re.sub("[&<>]", lambda m: f"&#{ord(m[0])};", name).replace(chr(34), "&quot;")}" speed="1Gf"/>'
        for name in known
    )
    platform.write_text(f'<platform version="4.1"><zone id="z" routing="Full">{hosts}</zone></platform>', "utf-8")
    for source in (machine, platform):
        for words in (("info", source), ("info", source, "--json"), ("convert", source, tmp_path / "c.toml")):
            status, out, err = call(*words)
            assert status == 0, err
            harmless(out, err)
    status, out, err = call("convert", dump, tmp_path / "d.toml")
    assert status == 0, err
    harmless(out, err)


def test_markets_and_gangs(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that names of a market's jobs, and of a log that gangs are run on, act on nothing; nor in a table."""
    names = [*NAMES, "=cmd|' /C calc'!A0"]
    jobs = "".join(f"[[job]]\nname = {json.dumps(name, ensure_ascii=False)}\nnodes = 1\nlength = 5\n" for name in names)
    jobs = jobs.replace("\x7f", "\\u007f")
    market = tmp_path / "m.toml"
    nodes = f"[[node]]\nperformance = 1.0\nprice = 1.0\ncount = {len(names) - 1}\n"
    market.write_text(f"interval = [0, 6]\n{nodes}{jobs}", encoding="utf-8")
    log = tmp_path / LOGS["swf"][0]
    swf(log)
    sites = ",".join("1" for _ in NAMES)
    for words in (
        ("market", "--file", market, "--show", "--method", "backfilling", "--out", tmp_path / "w.csv"),
        ("market", "--file", market, "--method", "backfilling", "--json"),
        ("market", "--file", market, "--method", "backfilling", "--gantt", tmp_path / "w.svg"),
        ("gang", log, "--processors", sites, "--gantt", tmp_path / "g.svg"),
        ("gang", log, "--processors", sites, "--json"),
    ):
        status, out, err = call(*words)
        assert status == 0, err
        harmless(out, err)
    for picture in ("w.svg", "g.svg"):
        harmless((tmp_path / picture).read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", [hostile.NAMES[key] for key in ("colour", "c1", "bidi", "separators", "markup")])
def test_errors_quote_without_obeying(name: str, call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that an error is one line that acts on nothing, whatever file, field, name or option it quotes."""
    bad = tmp_path / "bad.swf"
    bad.write_text(f"1 0 {name.replace(' ', '')} 10 1 -1 -1 1 20 -1 1 1 1 1 1 1 -1 -1\n", encoding="utf-8")
    dump = tmp_path / "bad.sacct"
    sacct(dump)
    dump.write_text(dump.read_text(encoding="utf-8").replace("COMPLETED", name.replace("|", "")), encoding="utf-8")
    for words in (
        ("info", bad),
        ("info", dump),
        ("info", tmp_path / f"{name.replace('/', '')}.swf"),
        ("simulate", "sample", "--policy", name),
        ("simulate", "sample", "--federation", name),
        ("simulate", "sample", f"--{name}"),
        (name,),
        ("info", bad, "--from", name),
        ("compare", "sample", "--method", name, "--head", 4, "--nodes", 4),
    ):
        status, out, err = call(*words)
        assert status == 2, words
        assert out == ""
        assert err.count("\n") == 1
        harmless(err)
