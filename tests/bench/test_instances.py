"""The field's instances: the same text and hash everywhere, and problems that say what their names promise."""

from __future__ import annotations

import hashlib
import json
import shutil
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched import bench
from fedsched.bench import sharing
from fedsched.bench.catalogue import PLANTED, SLICES, planted_pieces
from fedsched.bench.documents import Document, canonical
from fedsched.bench.exact_numbers import Draws, decimal
from fedsched.bench.gangs import GangDocument
from fedsched.bench.markets import MarketDocument
from fedsched.core.errors import FedschedError, UnknownNameError
from fedsched.core.random import begin_stream, uniform

if TYPE_CHECKING:
    from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
TRACES = ROOT.parent / "shared" / "traces"
# What the instances are made of, without a package around it: it must need nothing but Python.
ALONE = """
import sys
class Nothing:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("numpy", "numba", "scipy"):
            raise ImportError(name)
sys.meta_path.insert(0, Nothing())
from fedsched import bench
for name in bench.names():
    print(bench.load(name).sha256, name)
"""


@pytest.mark.compiled
@pytest.mark.parametrize("of", [(0, 0, 0), (1, 2, 3), (2**62, 5, 2**40)])
def test_the_draws_are_the_librarys(of: tuple[int, int, int]) -> None:
    """Tests that whole-number streams are those of the kernels, bit for bit."""
    import numba

    @numba.njit
    def many(stream: NDArray[np.uint64], out: NDArray[np.float64]) -> None:
        for k in range(out.size):
            out[k] = uniform(stream)

    stream, found = np.zeros(1, dtype=np.uint64), np.empty(100)
    begin_stream(stream, *of)
    many(stream, found)
    draws = Draws(*of)
    assert found.tolist() == [draws.bits() * 2.0**-53 for _ in range(100)]


def test_there_are_some_fifty_of_every_kind() -> None:
    """Tests that the list holds what it promises: sizes, machines, communication, one to three objectives."""
    found = [bench.load(name) for name in bench.names()]
    assert len(found) >= 50
    assert {one.family for one in found} == {
        "planted",
        "package",
        "month",
        "windows",
        "partitions",
        "dependencies",
        "power",
        "carbon",
        "shared",
        "market",
        "gang",
    }
    sizes = {one.size for one in found}
    assert (min(sizes), max(sizes)) == (20, 2000)
    assert {one.data["machine"] for one in found} >= {
        path.stem for path in (ROOT / "traces/federations").glob("*.toml")
    }
    assert {ask.count("+") for one in found for ask in one.asks} == {0, 1, 2}
    assert {bool(one.workload.task_bandwidth.any()) for one in found if one.family == "package"} == {True, False}


def test_hashes_are_those_of_the_canonical_text() -> None:
    """Tests that what is hashed is the text that is written, and that it holds no binary fraction."""

    def numbers(value: object) -> list[object]:
        if isinstance(value, dict):
            return [inner for one in value.values() for inner in numbers(one)]
        return [inner for one in value for inner in numbers(one)] if isinstance(value, list) else [value]

    for name in bench.names():
        one = bench.load(name)
        assert hashlib.sha256(one.text.encode()).hexdigest() == one.sha256 == bench.known_hashes()[name]
        data = json.loads(one.text)
        assert Document(data).sha256 == one.sha256
        assert not [value for value in numbers(data) if isinstance(value, float)]


def test_hashes_need_no_numpy() -> None:
    """Tests that every hash comes out without numpy and numba: no version of them can change it."""
    done = subprocess.run([sys.executable, "-c", ALONE], capture_output=True, text=True, check=True, cwd=ROOT)
    assert dict(line.split()[::-1] for line in done.stdout.splitlines()) == {
        name: bench.known_hashes()[name] for name in bench.names()
    }


@pytest.mark.parametrize("python", ["python3.12", "python3.13", "python3.14"])
def test_hashes_are_the_same_on_another_python(python: str) -> None:
    """Tests that other versions of Python give the same hashes, where this machine has them."""
    path = shutil.which(python) or ""
    if not path or subprocess.run([path, "-c", ""], capture_output=True, check=False).returncode:
        pytest.skip(f"there is no {python} here that runs")
    done = subprocess.run([path, "-c", ALONE], capture_output=True, text=True, check=True, cwd=ROOT)
    assert [line.split()[0] for line in done.stdout.splitlines()] == [
        bench.known_hashes()[name] for name in bench.names()
    ]


@pytest.mark.parametrize(("name", "jobs", "seed", "apart"), PLANTED)
def test_a_planted_schedule_fills_the_machine(name: str, jobs: int, seed: int, apart: bool) -> None:
    """Tests that the pieces neither overlap nor leave anything idle, and that their work is the makespan's."""
    pieces, rooms, makespan = planted_pieces(name, jobs, seed, apart=apart)
    assert len(pieces) == jobs
    for k, room in enumerate(rooms):
        inside = [piece for piece in pieces if piece.room == k]
        assert sum(piece.width * piece.seconds for piece in inside) == room.nodes * makespan
        for piece in inside:
            assert piece.width > 0
            assert piece.seconds > 0
            assert piece.node + piece.width <= room.nodes
            assert piece.begin + piece.seconds <= makespan
            assert sum(room.counts(piece.node, piece.width).values()) == piece.width
        for piece in inside:
            for other in inside:
                apart_in_time = other.begin >= piece.begin + piece.seconds or piece.begin >= other.begin + other.seconds
                apart_in_room = other.node >= piece.node + piece.width or piece.node >= other.node + other.width
                assert piece is other or apart_in_time or apart_in_room


def test_planted_cores_are_all_in_use() -> None:
    """Tests that the pieces of each node neither overlap nor leave a core idle, and that memory has room for them."""
    [(name, row)] = sharing.PLANTED.items()
    pieces, makespan = sharing.planted_pieces(*row)
    [(_, nodes, _, _, _, has)] = sharing.MACHINES[row[0]]
    demand = bench.load(name).data["jobs"]["demand"]
    assert demand["cpu"] == [piece.width for piece in pieces]
    for room in range(nodes):
        inside = [(piece, memory) for piece, memory in zip(pieces, demand["memory"], strict=True) if piece.room == room]
        for at in sorted({piece.begin for piece, _ in inside}):
            running = [(p, memory) for p, memory in inside if p.begin <= at < p.begin + p.seconds]
            cores = [core for p, _ in running for core in range(p.node, p.node + p.width)]
            assert sorted(cores) == list(range(has["cpu"]))
            assert sum(memory for _, memory in running) <= has["memory"]
        assert max(piece.begin + piece.seconds for piece, _ in inside) == makespan


@pytest.mark.parametrize("name", bench.names())
def test_every_instance_is_a_problem_that_can_be_solved(name: str) -> None:
    """Tests that jobs fit their machine, and that each ask is an instance that `compare` takes."""
    one = bench.load(name)
    if isinstance(one, MarketDocument):
        assert max(request.nodes for request in one.batch) <= len(one.environment)
    elif isinstance(one, GangDocument):
        assert one.workload.tasks.max() <= max(one.data["gang"]["processors"])
    else:
        widest = max(cluster.nodes for cluster in one.federation.clusters)
        assert one.workload.tasks.max() <= (one.federation.nodes if one.family == "planted" else widest)
        assert (one.workload.estimate >= one.workload.runtime).all()
        assert one.size == len(one.workload)
    for ask in one.asks:
        assert one.instance(ask).objectives == tuple(ask.split("+"))
    with pytest.raises(UnknownNameError, match="objective of"):
        one.instance("beauty")


def test_features_come_through() -> None:
    """Tests that windows, partitions, conditions and estimates of a document are those of its nouns."""
    assert len(bench.load("windows-50").federation.calendar) == 4
    parts = bench.load("partitions-50")
    assert [one.name for one in parts.federation.partitions] == ["short", "long", "fast"]
    assert set(parts.workload.label("partition").tolist()) == {"short", "long", "fast"}
    flows = bench.load("workflows-das-2-100").workload
    assert flows.after is not None
    [grid] = bench.load("carbon-das-2-50").federation.signals
    assert (grid.kind, len(set(grid.values)), grid.beyond) == ("carbon", 7, "repeat")
    shared = bench.load("shared-gpus-100")
    assert shared.sharing is not None
    assert shared.workload.demand is not None
    assert set(shared.workload.demand.columns()) == {"cpu", "memory", "gpu"}
    assert [dict(group.resources)["gpu"] for group in shared.federation.groups] == [0, 4]
    assert shared.instance("makespan").sharing == shared.sharing
    month = bench.load("month-example")
    assert (month.reading.knowledge, month.instance("mean_wait").submits) == ("estimate", "keep")
    assert (np.diff(month.workload.submit) >= 0).all()


@pytest.mark.parametrize(
    ("value", "text"),
    [(3.0, 3), (0.1, "0.1"), ("1250000000.0", 1250000000), (Fraction(7, 8), "0.875"), ("inf", "inf"), (1e-3, "0.001")],
)
def test_numbers_are_exact_decimals(value: Any, text: object) -> None:
    """Tests that decimals are written as they are, and that what is none is refused."""
    assert decimal(value) == text
    with pytest.raises(ValueError, match="must be a finite decimal"):
        decimal(Fraction(1, 3))


def test_text_is_canonical() -> None:
    """Tests that equal content is equal text, in whatever order it was put together."""
    assert canonical({"b": [1, "0.5"], "a": {}}) == canonical({"a": {}, "b": [1, "0.5"]}) == '{"a":{},"b":[1,"0.5"]}\n'


def test_what_is_not_the_instance_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a document with another hash than the known one is no instance, and that names are offered."""
    monkeypatch.setattr(bench, "known_hashes", lambda: dict.fromkeys(bench.names(), "0" * 64))
    with pytest.raises(FedschedError, match="another problem"):
        bench.load("example-50")
    with pytest.raises(UnknownNameError, match="Did you mean 'example-50'"):
        bench.load("example-5O")


def test_logs_instances_need_the_log(tmp_path: Path) -> None:
    """Tests that the second list says which log it wants, and where it was looked for."""
    with pytest.raises(FedschedError, match="KTH-SP2; give the folder"):
        bench.load("log-kth-50")
    with pytest.raises(FedschedError, match="fedsched fetch KTH-SP2"):
        bench.load("log-kth-50", logs=tmp_path)


@pytest.mark.needs_traces
@pytest.mark.parametrize("name", SLICES)
def test_logs_instances_have_their_hashes(name: str) -> None:
    """Tests that a log of the archive gives the instance that everybody else gets."""
    from fedsched.io.fetch import LOGS

    if not (TRACES / LOGS[SLICES[name].log].file).is_file():
        pytest.skip(f"the log {SLICES[name].log} is not at hand")
    one = bench.load(name, logs=TRACES)
    assert len(one.workload) == SLICES[name].jobs


def test_every_federation_that_ships_is_the_traces() -> None:
    """Tests that the instances' machines are the federations of the traces."""
    for path in (ROOT / "traces/federations").glob("*.toml"):
        assert fs.Federation.example(path.stem) == fs.read_federation(path)
