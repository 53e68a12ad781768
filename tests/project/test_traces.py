"""What ships in traces/ and in the package is what its scripts write, and what its README says."""

from __future__ import annotations

import gzip
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import outside

import fedsched as fs
from fedsched.io.examples import example_names

if TYPE_CHECKING:
    from pathlib import Path
    from types import ModuleType


def script(root: Path, name: str) -> ModuleType:
    """Return a script of traces/ as a module."""
    path = root / "traces" / f"{name}.py"
    if not path.is_file():
        pytest.skip("traces/ is not beside these tests")
    return outside.program(f"traces/{name}.py")


def content(path: Path) -> bytes:
    return gzip.decompress(path.read_bytes()) if path.suffix == ".gz" else path.read_bytes()


def same_files(made: Path, kept: Path, patterns: tuple[str, ...]) -> int:
    """Check that every made file is kept with the same content, and no other is; return how many there are."""
    names = {path.name for path in made.iterdir()}
    assert names == {path.name for pattern in patterns for path in kept.glob(pattern)}
    for name in names:
        assert content(made / name) == content(kept / name), name
    return len(names)


def test_federations_are_what_their_script_writes(root: Path, tmp_path: Path) -> None:
    """The committed files, in both places, are the script's output."""
    script(root, "make_federations").write_all(tmp_path / "all", tmp_path / "small")
    assert same_files(tmp_path / "all", root / "traces" / "federations", ("*.toml",)) == 8
    assert same_files(tmp_path / "small", root / "fedsched" / "data" / "federations", ("*.toml",)) == 8


def test_traces_are_what_their_script_writes(root: Path, tmp_path: Path) -> None:
    """The committed logs hold what the generators give, and two runs give the same bytes."""
    module = script(root, "make_traces")
    module.write_all(tmp_path / "all", tmp_path / "small")
    assert same_files(tmp_path / "all", root / "traces", ("*.swf.gz",)) == 2
    assert same_files(tmp_path / "small", root / "fedsched" / "data" / "workloads", ("*.swf.gz", "*.csv")) == 5
    module.write_all(tmp_path / "all again", tmp_path / "small again")
    for path in (tmp_path / "all").iterdir():
        assert path.read_bytes() == (tmp_path / "all again" / path.name).read_bytes()


@pytest.mark.parametrize(
    ("name", "clusters", "nodes"),
    [
        ("metacentrum-2009", 14, 806), ("grid5000-2011", 9, 601), ("das-2", 5, 200), ("grid5000-2026", 10, 460),
        ("figure-1-5", 1, 4), ("figure-1-6", 2, 7), ("figure-1-7", 3, 12), ("example", 4, 160),
    ],
)  # fmt: skip
def test_federations_have_their_sizes_and_sources(root: Path, name: str, clusters: int, nodes: int) -> None:
    """Clusters and nodes are those that the README names, and the description says what is assumed or invented."""
    federation = fs.read_federation(root / "traces" / "federations" / f"{name}.toml")
    assert (federation.name, len(federation.clusters), federation.nodes) == (name, clusters, nodes)
    assert "ssumed" in federation.description or "invented" in federation.description


def test_the_samples_are_as_described(root: Path) -> None:
    """5,000 jobs for 128 nodes, and four sites that are the example's clusters, at load 0.8, without communication."""
    sample = fs.read(root / "traces" / "lublin-128.swf.gz")
    federated = fs.read(root / "traces" / "federated.swf.gz")
    shipped = fs.Workload.example()
    assert (len(sample), sample.nodes, len(shipped)) == (5000, 128, 1000)
    assert federated.sites == tuple(cluster.name for cluster in fs.Federation.example().clusters)
    assert set(federated.origin.tolist()) == {0, 1, 2, 3}
    for workload in (sample, federated, shipped):
        assert workload.load() == pytest.approx(0.8, abs=0.01)
        assert (workload.estimate >= workload.runtime).all()
        assert not workload.task_bandwidth.any()
        assert workload.history
    for site, cluster in enumerate(fs.Federation.example().clusters):
        assert federated.tasks[federated.origin == site].max() <= cluster.nodes


def test_no_two_logs_share_a_name(root: Path) -> None:
    """A log of traces/ that is called as a shipped one is the same log, byte for byte."""
    logs = {fs.read(path).name: path for path in (root / "traces").glob("*.swf.gz")}
    assert sorted(logs) == ["federated", "lublin-128"]
    both = logs.keys() & example_names("workload").keys()
    assert both == {"lublin-128"}
    for name in both:
        assert logs[name].read_bytes() == example_names("workload")[name].read_bytes()


def test_every_example_workload_fits_its_federation() -> None:
    """Each figure has jobs and a federation of the same name, and the jobs fit it; logs fit the example."""
    for name in example_names("workload"):
        workload = fs.Workload.example(name)
        federation = fs.Federation.example(name if name.startswith("figure") else "example")
        assert workload.tasks.max() <= federation.nodes
        assert np.isfinite(workload.area)


def test_the_readme_names_every_file(root: Path) -> None:
    """traces/README.md has a word for each file that lies there."""
    folder = root / "traces"
    text = (folder / "README.md").read_text(encoding="utf-8")
    for path in [*folder.glob("*.swf.gz"), *folder.glob("*.py"), *(folder / "federations").glob("*.toml")]:
        assert path.name in text, path.name
