"""What is counted is in the plural where it is several, and only there."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest

from fedsched.cli.shared.input_output import print_table
from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ONE = "submit,tasks,runtime\n0,1,10\n"
SMALL = ("--nodes", 1)
CALLS: dict[str, tuple[object, ...]] = {
    "info": ("info", "x.csv"),
    "estimates": ("info", "e.csv"),
    "simulate": ("simulate", "x.csv", *SMALL),
    "rolling": ("simulate", "x.csv", *SMALL, "--policy", "rolling"),
    "head": ("simulate", "x.csv", "--head", 1, *SMALL),
    "optimize": ("optimize", "x.csv", *SMALL, "--evaluations", 1, "--method", "random"),
    "packages": ("optimize", "x.csv", *SMALL, "--evaluations", 5, "--package", 1, "--objective", "makespan"),
    "compare": ("compare", "x.csv", *SMALL, "--evaluations", 1, "--method", "easy", "--method", "hc", "--seeds", 1),
    "bounds": ("bounds", "x.csv", *SMALL, "--method", "closed"),
    "convert": ("convert", "x.csv", "y.swf"),
    "gang": ("gang", "x.csv", "--processors", 1),
    "replications": ("gang", "--completions", 1, "--replications", 2),
    "market": ("market", "--nodes", 1, "--jobs", 1, "--tasks", 1, 1, "--method", "backfilling"),
    "flow": ("market", "--nodes", 1, "--jobs", 1, "--tasks", 1, 1, "--method", "backfilling", "--flow"),
    "report": ("report", "x.csv", *SMALL, "--out", "x.html"),
    "generate": ("generate", "lublin", "--jobs", 1, "--nodes", 2, "--out", "y.csv"),
    "verify": ("verify", "x.csv", *SMALL),
}


@pytest.mark.parametrize("name", CALLS)
def test_one_is_no_plural(name: str, call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no command speaks of 1 jobs, 1 nodes or 1 clusters, on its output or in its page."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "x.csv").write_text(ONE)
    (tmp_path / "e.csv").write_text("submit,tasks,runtime,estimate\n0,1,10,20\n")
    status, out, err = call(*CALLS[name])
    assert status == 0, err
    text = out + err
    for page in tmp_path.glob("*.html"):
        text += re.sub(r"<(script|style).*?</\1>", "", page.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert re.findall(r"(?<![\d.,\-#])1 (?:[a-z]+ )?[a-z]*[^\W\ds]s\b(?<! is)(?<! was)", text) == []


def test_counted() -> None:
    """Tests that thousands are parted, and that a plural may end otherwise."""
    assert [counted(n, "job") for n in (0, 1, 2, 1234)] == ["0 jobs", "1 job", "2 jobs", "1,234 jobs"]
    assert [counted(n, "process", "es") for n in (1, 2)] == ["1 process", "2 processes"]


def test_a_title_is_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that the title of a narrow table stands on one line, whatever it quotes."""
    title = "No schedule is below [red]this\x1b of a table " + "far narrower than its title " * 8
    print_table(title, ("a",), [("1",)])
    assert capsys.readouterr().out.splitlines()[0].rstrip() == title.replace("\x1b", r"\x1b").rstrip()
