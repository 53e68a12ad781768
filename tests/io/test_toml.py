"""Federations as TOML files: the exact way there and back, and what is refused."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import fedsched as fs
from fedsched.core.errors import FederationError, OutputError, UnknownNameError
from fedsched.io import read_federation, write_federation
from fedsched.io.platforms.toml import federation_of_data, federation_text, read_example_federation

if TYPE_CHECKING:
    from pathlib import Path

GOOD = """
[[cluster]]
name = "north"
uplink = 1.25e8
[[cluster.group]]
count = 4
speed = 2
"""
TEXTS = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
POSITIVE = st.floats(min_value=1e-6, max_value=1e9)
WATTS = st.tuples(st.floats(0, 500), st.floats(0, 500)).map(lambda pair: (max(pair), min(pair)))


@st.composite
def groups(draw: st.DrawFn) -> fs.NodeGroup:
    busy, idle = draw(WATTS)
    return fs.NodeGroup(draw(st.integers(1, 10**6)), draw(POSITIVE), busy, idle, draw(TEXTS))


@st.composite
def federations(draw: st.DrawFn) -> fs.Federation:
    names = draw(st.lists(TEXTS, min_size=1, max_size=3, unique=True))
    clusters = [
        fs.Cluster(name, tuple(draw(st.lists(groups(), min_size=1, max_size=3))), draw(POSITIVE | st.just(math.inf)))
        for name in names
    ]
    return fs.Federation(tuple(clusters), name=draw(TEXTS), description=draw(TEXTS))


def file_of(folder: Path, text: str) -> Path:
    path = folder / "home.toml"
    path.write_text(text, encoding="utf-8")
    return path


@settings(derandomize=True, deadline=None, max_examples=150)
@given(federations())
def test_any_federation_comes_back_unchanged(federation: fs.Federation) -> None:
    """Every text and every number, infinite uplinks included, survives to the last bit."""
    import tomllib

    data = tomllib.loads(federation_text(federation))
    assert federation_of_data(data, source="f", name="f") == federation


def test_a_file_goes_there_and_back(tmp_path: Path) -> None:
    """Descriptions of several lines, quotes and backslashes and carriage returns stay, plain and compressed."""
    cluster = fs.Cluster('a "b" \\ c', (fs.NodeGroup(3, 0.1 + 0.2, name="å"),))
    federation = fs.Federation((cluster,), name="n", description='two\nlines "quoted" \\n\r\nSource: """x"""\n')
    for name in ("f.toml", "f.toml.gz"):
        write_federation(federation, tmp_path / name)
        assert read_federation(tmp_path / name) == federation


def test_what_a_file_may_leave_out(tmp_path: Path) -> None:
    """Without a name the file's name is taken; an uplink that is not given has no limit; watts have defaults."""
    federation = read_federation(file_of(tmp_path, GOOD))
    assert federation == fs.Federation((fs.Cluster("north", (fs.NodeGroup(4, 2.0),), 1.25e8),), name="home")
    free = read_federation(file_of(tmp_path, GOOD.replace("uplink = 1.25e8", "")))
    assert free.clusters[0].uplink == math.inf


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("speed", "sped", r"cluster 1, group 1: unknown key 'sped'\. Did you mean 'speed'"),
        ("uplink", "nodes = 4\nuplink", r"cluster 1: unknown key 'nodes'\. A cluster's number of nodes is the 'count'"),
        ("uplink", "count = 4\nuplink", r"cluster 1: unknown key 'count'\. A cluster's number of nodes is the 'count'"),
        ("uplink", "speed = 2\nuplink", r"cluster 1: unknown key 'speed'\. It belongs to a \[\[cluster\.group\]\]"),
        ("uplink", "up_link", r"cluster 1: unknown key 'up_link'\. Did you mean 'uplink'"),
        ("\n[[cluster]]", "nam = 'x'\n[[cluster]]", r"unknown key 'nam'\. Did you mean 'name'"),
        ("speed = 2", "speed = 0", r"cluster 1, group 1: NodeGroup: speed=0\.0 must be finite and above 0"),
        ("speed = 2", "speed = -1", r"speed=-1\.0 must be finite and above 0"),
        ("speed = 2", "speed = nan", "speed=nan must be finite"),
        ("speed = 2", "speed = '2'", "cluster 1, group 1: speed='2' must be a number"),
        ("speed = 2", f"speed = 1{'0' * 400}", "speed=10+….* must be a number"),
        ("speed = 2", "speed = true", "speed=True must be a number"),
        ("speed = 2", "idle_watts = 200", r"idle_watts=200\.0 must lie between 0 and busy_watts=135\.0"),
        ("count = 4", "count = 4.0", r"count=4\.0 must be a whole number"),
        ("count = 4", "count = 0", "count=0 must be a whole number of at least 1"),
        ("count = 4", "", "'count' is missing"),
        ("uplink = 1.25e8", "uplink = 0", r"uplink=0\.0 must be above 0"),
        ("uplink = 1.25e8", "uplink = nan", "uplink=nan must be above 0"),
        ('name = "north"', "name = 7", "cluster 1: name=7 must be a text"),
        ('name = "north"', "", "'name' is missing"),
        ("[[cluster.group]]", "[cluster.group]", "'group' must be a list of tables"),
        ("[[cluster]]", "[[cluster", "not valid TOML.*line"),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, old: str, new: str, said: str) -> None:
    """Every error names the file, the place, the value and the rule or the nearest key."""
    assert old in GOOD
    path = file_of(tmp_path, GOOD.replace(old, new, 1))
    with pytest.raises(FederationError, match=rf"home\.toml.*{said}"):
        read_federation(path)


@pytest.mark.parametrize("text", ["", "name = 'x'", "cluster = 3", "cluster = [3]", GOOD + GOOD])
def test_files_without_clusters_or_with_twins(tmp_path: Path, text: str) -> None:
    """Each is a FederationError that names the file."""
    with pytest.raises(FederationError, match=r"home\.toml"):
        read_federation(file_of(tmp_path, text))


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    """A missing file is a FederationError, a missing folder an OutputError; nothing is left behind."""
    with pytest.raises(FederationError, match="no such file"):
        read_federation(tmp_path / "none.toml")
    (tmp_path / "b.toml").write_bytes(b"\x00\x01")
    with pytest.raises(FederationError, match="not a text file"):
        read_federation(tmp_path / "b.toml")
    with pytest.raises(OutputError, match="does not exist"):
        write_federation(fs.Federation.of(1), tmp_path / "none" / "f.toml")
    assert [path.name for path in tmp_path.iterdir()] == ["b.toml"]


@pytest.mark.parametrize(
    ("name", "sizes"), [("figure-1-5", [4]), ("figure-1-6", [4, 3]), ("figure-1-7", [4, 3, 5]), ("example", None)]
)
def test_examples_ship_with_the_package(name: str, sizes: list[int] | None) -> None:
    """The teaching federations have the thesis's sizes; `example` is heterogeneous and its uplinks are finite."""
    federation = read_example_federation(name)
    assert federation.name == name
    assert federation.description
    if sizes is not None:
        assert [cluster.nodes for cluster in federation.clusters] == sizes
    else:
        assert 3 <= len(federation.clusters) <= 4
        assert 128 <= federation.nodes <= 200
        assert len({group.speed for group in federation.groups}) > 2
        assert len({group.busy_watts for group in federation.groups}) > 2
        assert all(math.isfinite(cluster.uplink) for cluster in federation.clusters)


def test_an_unknown_example_offers_the_nearest() -> None:
    """A mistyped name is answered with the name that was meant."""
    with pytest.raises(UnknownNameError, match="Did you mean 'figure-1-5'"):
        fs.Federation.example("figure-15")
