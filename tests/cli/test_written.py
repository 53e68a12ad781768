"""--json lists every file that a command has written."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

SEARCH = ("optimize", "sample", "--head", 10, "--nodes", 128, "--method", "random", "--evaluations", 20)


@pytest.mark.parametrize(
    ("words", "files"),
    [
        (("gang", "sample", "--head", 20, "--gantt", "g.svg"), ["g.svg"]),
        (("gang", "--replications", 2, "--completions", 200, "--gantt", "g.svg"), ["g.svg"]),
        (("gang", "sample", "--head", 20), []),
        (
            ("simulate", "sample", "--head", 10, "--policy", "rolling", "--evaluations", 5, "--checkpoint", "run"),
            ["run"],
        ),
        (("simulate", "sample", "--head", 10, "--out", "p.csv", "--gantt", "g.svg"), ["p.csv", "g.svg"]),
        ((*SEARCH, "--out", "p.csv", "--save", "r.json"), ["p.csv", "r.json"]),
        (("market", "--out", "w.csv", "--gantt", "g.svg"), ["w.csv", "g.svg"]),
    ],
)
def test_every_file_is_listed(
    words: tuple[object, ...],
    files: list[str],
    call: Callable[..., Any],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Tests that what lies in the folder afterwards is what --json says was written."""
    monkeypatch.chdir(tmp_path)
    status, out, _ = call(*words, "--json")
    assert status == 0
    assert json.loads(out)["written"] == files
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted(files)


def test_a_checksum_is_a_file_too(call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `fetch` lists the checksum that it records at the first download, and nothing at the second call."""
    from fedsched.io.fetch import Fetched

    def fetch(name: str, *, folder: Path, **_: object) -> Fetched:
        path = folder / name
        new = not path.exists()
        path.write_text("log")
        sidecar = Path(f"{path}.sha256")
        sidecar.write_text("0")
        return Fetched(path, "address", "0", 3, 3 if new else 0, "recorded", sidecar if new else None)

    monkeypatch.setattr("fedsched.io.fetch.fetch", fetch)
    (tmp_path / "other.swf.sha256").write_text("1")
    words = ("fetch", "log.swf", "--url", "http://localhost", "--out", tmp_path, "--json")
    assert json.loads(call(*words)[1])["written"] == [str(tmp_path / "log.swf"), str(tmp_path / "log.swf.sha256")]
    assert json.loads(call(*words)[1])["written"] == []


@pytest.mark.parametrize("words", [("twin", "report", "dump"), ("demo",)])
def test_a_name_that_nobody_gave_is_no_link(
    words: tuple[str, ...], call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a link that somebody has put where a page goes by default is not written through."""
    monkeypatch.chdir(tmp_path)
    made = {"twin": Path("dump", "twin.html"), "demo": Path("demo-report", "report.html")}[words[0]]
    made.parent.mkdir()
    Path("victim").write_text("precious", encoding="utf-8")
    made.symlink_to(tmp_path / "victim")
    status, _, err = call(*words)
    assert status != 0
    assert f"Cannot write {made}: it is a link" in err
    assert Path("victim").read_text(encoding="utf-8") == "precious"
