"""Options of several names: with commas, one after the other, or each with its option, they mean the same."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from fedsched import cli
from fedsched.cli.app import LISTED, one_by_one

if TYPE_CHECKING:
    from pathlib import Path

REPEATED = ("compare", "sample", "--method", "easy", "--method", "fcfs")
WAYS = [
    ("compare", "sample", "--method", "easy,fcfs"), ("compare", "sample", "--method", "easy", "fcfs"),
    ("compare", "sample", "--method=easy,fcfs"), ("compare", "sample", "--method", "easy,", "fcfs"),
    ("compare", "sample", "--method=easy", "fcfs"), REPEATED,
]  # fmt: skip


@pytest.mark.parametrize("way", WAYS)
def test_names_may_be_written_in_any_of_these_ways(way: tuple[str, ...]) -> None:
    """Names with commas or blanks between them are one option each."""
    assert one_by_one(way) == REPEATED


@pytest.mark.parametrize(
    ("tokens", "expected"),
    [
        (("compare", "--method", "easy", "sample", "fcfs"), ("compare", "--method", "easy", "sample", "fcfs")),
        (("compare", "--method", "easy", "--seeds", "2"), ("compare", "--method", "easy", "--seeds", "2")),
        (("compare", "--method", "--seeds", "2"), ("compare", "--method", "--seeds", "2")),
        (("compare", "x.swf", "--method"), ("compare", "x.swf", "--method")),
        (("compare", "--method", "no,such"), ("compare", "--method", "no", "--method", "such")),
        (("compare", "--method", "ga", "--", "easy"), ("compare", "--method", "ga", "--", "easy")),
        (("simulate", "a.swf", "--policy", "easy,fcfs"), ("simulate", "a.swf", "--policy", "easy,fcfs")),
        ((), ()),
    ],
)
def test_what_is_no_name_of_the_option_stays_where_it_is(tokens: tuple[str, ...], expected: tuple[str, ...]) -> None:
    """Files, other options, and the options of one name are left as they stand."""
    assert one_by_one(tokens) == expected


def test_each_listed_option_is_one_of_its_command() -> None:
    """What is said to take several names is an option of the command, and some names of it are known."""
    from fedsched.cli.app import arguments_of, build_app

    for command, listed in LISTED.items():
        names = {name for one in arguments_of(build_app(command), command) for name in one.names}
        assert set(listed) <= names
        assert all(known() for known in listed.values())


def test_a_comparison_runs_with_commas(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """The command with commas prints what the one with repeated options prints."""
    log = tmp_path / "log.csv"
    log.write_text("id,submit,tasks,runtime\n1,0,1,10\n2,0,2,20\n")
    said = []
    for methods in (("--method", "easy,fcfs"), ("--method", "easy", "fcfs"), ("--method", "easy", "--method", "fcfs")):
        assert cli.run(["compare", str(log), "--nodes", "2", *methods, "--seeds", "1"]) == 0
        said.append(capsys.readouterr().out)
    assert "easy" in said[0]
    assert "fcfs" in said[0]
    assert said[0] == said[1] == said[2]
