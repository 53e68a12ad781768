"""`fedsched warmup` compiles what calls need, and what is said of how many functions there will be."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any, get_args

import pytest

from fedsched.cli.data import warmup_calls
from fedsched.cli.data.warmup import Kind
from fedsched.cli.shared import compile_progress
from fedsched.core.errors import UnknownNameError
from fedsched.core.jit import cache, decorators
from fedsched.core.jit.backend import Choice

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

TABLE = {
    "simulate": {"alone": 200, "after": 0},
    "simulate calendar": {"alone": 260, "after": 220},
    "market": {"alone": 20, "after": 20},
    "warmup easy": {"alone": 250, "after": 50},
    "warmup market": {"alone": 30, "after": 30},
}


@pytest.fixture
def noted(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let nothing be noted, and the table be a known one."""
    monkeypatch.setattr(cache, "FOLDER", tmp_path)
    monkeypatch.setattr(cache, "READ_ONLY", [])
    monkeypatch.setattr(cache, "SHIPPED", tmp_path / "none")
    monkeypatch.setattr(compile_progress, "_table", lambda: TABLE)
    monkeypatch.setattr(decorators, "CHOICE", Choice("lean"))


def test_the_command_takes_the_kinds_that_there_are() -> None:
    """Tests that the command, the library and the table know the same kinds of calls."""
    assert get_args(Kind) == tuple(warmup_calls.KINDS)
    table = compile_progress._table()
    assert [name for name in table if name.startswith("warmup ")] == [f"warmup {kind}" for kind in warmup_calls.KINDS]
    assert all(0 <= counts["after"] <= counts["alone"] > 0 for counts in table.values())


@pytest.mark.deep
@pytest.mark.compiled
@pytest.mark.parametrize("kind", warmup_calls.KINDS)
def test_each_kind_compiles_once(kind: str, call: Callable[..., Any]) -> None:
    """Tests that each kind's calls run, and that nothing is left for a second time."""
    assert call("warmup", kind)[0] == 0
    status, out, _ = call("warmup", kind, "--json")
    said = json.loads(out)
    assert (status, [(one["kind"], one["functions"]) for one in said["kinds"]]) == (0, [(kind, 0)])
    assert said["folder"] == str(cache.FOLDER)
    assert said["bytes"] > 0


def test_what_cannot_be_kept_is_not_compiled(call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that without a folder the command says what to set, and that an unknown kind is an error with the known."""
    monkeypatch.setattr(cache, "FOLDER", None)
    status, _, err = call("warmup", "easy")
    assert status == 2
    assert "FEDSCHED_CACHE" in err
    with pytest.raises(UnknownNameError, match="easy"):
        next(warmup_calls.warm_up("esay"))


@pytest.mark.parametrize(
    ("line", "calls"),
    [
        ("simulate sample", ("simulate",)),
        ("simulate sample --calendar=closed.csv", ("simulate calendar",)),
        ("optimize sample", ()),  # the table does not know it
        ("warmup", ("warmup easy", "warmup market")),
        ("warmup market --json", ("warmup market",)),
        ("--help", ()),
    ],
)
@pytest.mark.usefixtures("noted")
def test_what_the_table_calls_a_line(line: str, calls: tuple[str, ...]) -> None:
    """Tests that a line is looked up by its command and by what makes it compile other functions."""
    assert compile_progress.calls_of(line.split()) == calls


@pytest.mark.usefixtures("noted")
def test_how_many_functions_there_will_be() -> None:
    """Tests that what was compiled before is taken off, and that nothing is expected of what came to its end."""
    simulate, closing = ["simulate", "sample"], ["simulate", "sample", "--calendar", "x"]
    assert compile_progress.expected_functions(simulate) == 200
    compile_progress.record_compiled(simulate, 30, done=False)
    assert compile_progress.expected_functions(simulate) == 170
    compile_progress.record_compiled(simulate, 165, done=True)
    assert compile_progress.expected_functions(simulate) == 0
    assert compile_progress.expected_functions(closing) == 220
    assert compile_progress.expected_functions(["warmup"]) == 50 + 30
    assert compile_progress.expected_functions(["info"]) == 0
