"""`fedsched bench`: the field's instances on the command line."""

from __future__ import annotations

import hashlib
import json
from typing import TYPE_CHECKING, Any

import pytest

from fedsched import bench

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path


def test_the_command_lists_and_shows(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that `bench list` and `bench show` tell hashes, and that the file that is written has the hash."""
    status, out, _ = call("bench", "list", "--json")
    assert status == 0
    assert {one["name"]: one["sha256"] for one in json.loads(out)} == {
        name: bench.known_hashes()[name] for name in bench.names()
    }
    status, out, _ = call("bench", "list", "--family", "windows")
    assert status == 0
    assert "windows-200" in out
    assert "planted" not in out
    status, out, _ = call("bench", "show", "example-50", "--out", tmp_path / "one.json")
    assert status == 0
    assert hashlib.sha256((tmp_path / "one.json").read_bytes()).hexdigest() in out
    status, out, _ = call("bench", "show", "example-50", "--json")
    assert json.loads(out)["jobs"] == 50


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("show",), "name one instance"),
        (("show", "example-50", "example-20"), "name one instance"),
        (("list", "--family", "cats"), "Unknown family 'cats'"),
        (("list", "--out", "x.json"), "show"),
        (("check",), "name files"),
        (("show", "example-50", "--out", "x.csv"), ".csv is no format"),
    ],
)
def test_the_command_says_what_is_wrong(call: Callable[..., Any], words: tuple[str, ...], said: str) -> None:
    """Tests that a wrong call is an error in one line."""
    status, _, err = call("bench", *words)
    assert status == 2
    assert said in err


def test_the_command_checks_files(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that `bench check` accepts best known plans and certificates, refuses others, and exits so."""
    plan = bench.DATA / "plans" / "example-20.makespan.json"
    proof = bench.DATA / "certificates" / "example-20.makespan.json"
    status, out, _ = call("bench", "check", plan, proof)
    assert status == 0
    assert "no new best" in out
    assert "PROVEN" in out
    data = json.loads(plan.read_text())
    data["plans"][0]["values"] = [1.0]
    (tmp_path / "mine.json").write_text(json.dumps(data))
    status, out, _ = call("bench", "check", plan, tmp_path / "mine.json")
    assert status == 1
    assert "REFUSED" in out
    assert "but its replay gives" in out
    status, out, _ = call("bench", "check", tmp_path / "mine.json", "--json")
    assert (status, [one["accepted"] for one in json.loads(out)]) == (1, [False])
