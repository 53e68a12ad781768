"""The names of shipped workloads and federations stand for their files wherever a file is read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

import fedsched as fs
from fedsched import cli
from fedsched.core.errors import FederationError, TraceError, UnknownNameError
from fedsched.io.examples import example_names
from fedsched.io.platforms.toml import read_federation
from fedsched.io.swf.log import read_swf
from fedsched.io.swf.swf_table import read_table
from fedsched.io.tables.csv import read_csv
from fedsched.study.scenario import Log, Machine

if TYPE_CHECKING:
    from collections.abc import Callable

WORKLOADS = ("figure-1-5", "figure-1-6", "figure-1-7", "lublin-128", "sample")
FEDERATIONS = (
    *("das-2", "example", "figure-1-5", "figure-1-6", "figure-1-7"),
    *("grid5000-2011", "grid5000-2026", "metacentrum-2009"),
)


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in an empty folder, as after installing the wheel."""
    monkeypatch.chdir(tmp_path)


def test_the_names_are_all_that_ship() -> None:
    """Tests that the names tried below are those of the files that the package carries."""
    assert tuple(example_names("workload")) == WORKLOADS
    assert tuple(example_names("federation")) == FEDERATIONS


@pytest.mark.parametrize("name", WORKLOADS)
def test_a_workloads_name_is_read_as_the_command_line_reads_it(name: str) -> None:
    """Tests that `read` takes each shipped name, as text and as path, and gives what the command line simulates."""
    workload = fs.read(name)
    assert workload == fs.read(Path(name)) == fs.Workload.read(name) == fs.Workload.example(name)
    assert workload == Log(file=name).workload()
    assert workload.name == name
    assert workload.history == fs.Workload.example(name).history


@pytest.mark.parametrize("name", FEDERATIONS)
def test_a_federations_name_is_read_as_the_command_line_reads_it(name: str) -> None:
    """Tests that `read_federation` takes each shipped name, and gives what the command line simulates on."""
    federation = fs.read_federation(name)
    assert federation == fs.read_federation(Path(name)) == fs.Federation.read(name) == fs.Federation.example(name)
    assert federation == read_federation(name) == Machine(federation=name).cluster()


def test_the_readers_of_one_format_take_the_names_of_such_files() -> None:
    """Tests that readers of logs and of tables take shipped ones by name, and that options act on them as on files."""
    assert read_swf("sample") == fs.Workload.example()
    assert read_table("sample").rows == len(fs.Workload.example())
    assert read_csv("figure-1-6") == fs.Workload.example("figure-1-6")
    assert fs.read("sample", nodes=64, name="narrow").nodes == 64
    assert fs.read("sample", nodes=64).tasks.max() <= 64
    assert fs.read("figure-1-6", nodes=9).nodes == 9


def test_a_file_of_that_name_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that a file called as a shipped one is what is read, in a program and on the command line alike."""
    mine, ours = fs.Workload.example().head(3), fs.Federation.homogeneous(7)
    fs.write(mine, "sample", "swf")
    ours.write("example")
    assert len(fs.read("sample", "swf")) == len(read_swf("sample")) == 3
    assert fs.read_federation("example") == read_federation("example") == ours
    assert Machine(federation="example").cluster() == ours
    assert cli.run(["info", "sample", "--from", "swf", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["jobs"] == 3
    with pytest.raises(UnknownNameError, match=r"sample: Unknown workload suffix ''.*or give format="):
        fs.read("sample")
    assert cli.run(["info", "sample"]) == 2
    assert "Name the file so" in capsys.readouterr().err
    assert len(fs.Workload.example("sample")) == 1000


def test_a_folder_of_that_name_is_said(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that a folder called as what ships is not passed over without a word."""
    Path("sample").mkdir()
    Path("example").mkdir()
    with pytest.raises(TraceError, match=r"^sample: it is a folder; give a file in it"):
        fs.read("sample")
    with pytest.raises(FederationError, match=r"^example: it is a folder; give a file in it"):
        fs.read_federation("example")
    assert cli.run(["info", "sample"]) == 2
    assert "sample: it is a folder" in capsys.readouterr().err


@pytest.mark.parametrize("name", ["sampel", "nowhere.swf", "no/such/folder/x.swf", "traces/lublin-128.swf.gz", "a\0b"])
@pytest.mark.parametrize("read", [fs.read, fs.Workload.read, read_swf, read_table, read_csv])
def test_what_ships_is_named_where_there_is_no_such_workload(read: Callable[[str], object], name: str) -> None:
    """Tests that the error for a workload that is not there lists the shipped ones, and offers the nearest name."""
    with pytest.raises(TraceError, match="there is no such file; check the path, or name a shipped workload") as raised:
        read(name)
    assert f"{', '.join(WORKLOADS)}." in str(raised.value)
    assert str(raised.value).endswith(" Did you mean 'sample'?") == (name == "sampel")


@pytest.mark.parametrize("name", ["exampel", "nowhere.toml", "nowhere.xml", "traces/federations/das-2.toml"])
@pytest.mark.parametrize("read", [fs.read_federation, fs.Federation.read, read_federation])
def test_what_ships_is_named_where_there_is_no_such_federation(read: Callable[[str], object], name: str) -> None:
    """Tests that the error for a federation that is not there lists the shipped ones, and offers the nearest name."""
    with pytest.raises(FederationError, match=r"there is no such file; .* or name a shipped federation") as raised:
        read(name)
    assert f"{', '.join(FEDERATIONS)}." in str(raised.value)
    assert str(raised.value).endswith(" Did you mean 'example'?") == (name == "exampel")


def test_convert_takes_the_names_of_both(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that a shipped federation is what jobs are for, or is written itself, by its name."""
    assert cli.run(["convert", "sample", "narrow.csv", "--federation", "figure-1-6"]) == 0
    assert fs.read("narrow.csv").tasks.max() <= fs.Federation.example("figure-1-6").nodes
    assert cli.run(["convert", "das-2", "mine.toml"]) == 0
    assert fs.read_federation("mine.toml") == fs.Federation.example("das-2")
    capsys.readouterr()
    assert cli.run(["convert", "das2", "mine.toml"]) == 2
    assert "Did you mean 'das-2'" in capsys.readouterr().err
