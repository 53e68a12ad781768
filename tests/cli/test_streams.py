"""Where the output goes: full disks, closed pipes, narrow and colourless terminals, poor encodings."""

from __future__ import annotations

import errno
import json
import os
import re
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from fedsched import cli

if TYPE_CHECKING:
    from collections.abc import Callable

ROOT = Path(__file__).resolve().parents[2]


def fedsched(*words: str, stdout: Any = subprocess.PIPE, **environment: str) -> subprocess.CompletedProcess[bytes]:
    """Return what a process of its own did with a command line."""
    return subprocess.run([sys.executable, "-m", "fedsched.cli", *words], stdout=stdout, stderr=subprocess.PIPE,
                          check=False, cwd=ROOT, env={**os.environ, **environment})  # fmt: skip


@pytest.mark.deep
@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": ""},
    ],
)
def test_poor_encodings_get_words(environment: dict[str, str]) -> None:
    """Tests that tables, JSON and errors come out where the encoding has no × or τ, with words in their place."""
    done = fedsched("simulate", "sample", "--head", "10", "--nodes", "128", **environment)
    said = done.stdout.decode("latin-1")
    assert (done.returncode, re.sub(COMPILING, "", done.stderr.decode("latin-1"))) == (0, "")
    assert "sum(finish - submit)" in said
    assert "?" not in said
    done = fedsched("simulate", "sämple×τ", **environment)
    assert done.returncode == 2
    assert b"Traceback" not in done.stderr


COMPILING = r"fedsched: compil(ing, once for this version \.\.\.|ed .*)\n"


def test_signs_without_a_word_are_a_question_mark() -> None:
    """Tests the words that stand for signs, and that an error in reading is not hidden."""
    text = "5×τ ≤ ∞: 漢"
    found = cli.spelled_out(UnicodeEncodeError("ascii", text, 1, 3, "no"))
    assert found == ("xtau", 3)
    assert cli.spelled_out(UnicodeEncodeError("ascii", text, 9, 10, "no"))[0] == "?"
    with pytest.raises(UnicodeDecodeError):
        cli.spelled_out(UnicodeDecodeError("utf-8", b"\xff", 0, 1, "no"))


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no device that is always full")
@pytest.mark.parametrize("words", [("info", "sample"), ("verify", "--json")])
def test_a_full_disk_is_one_line(words: tuple[str, ...]) -> None:
    """Tests that output that cannot be written ends with status 2 and one line, however little it is."""
    with open("/dev/full", "wb") as full:
        done = fedsched(*words, stdout=full)
    assert done.returncode == 2
    assert done.stderr.decode() == "fedsched: The output: No space left on device; make room, or write elsewhere.\n"


def test_a_full_disk_leaves_no_part_of_a_file(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a plan that does not fit is named with the cure, and that nothing of it stays."""

    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("fedsched.model.schedule.schedule.Schedule.to_json", full)
    status, _, err = call("simulate", "sample", "--head", 10, "--nodes", 128, "--out", tmp_path / "plan.json")
    assert status == 2
    assert "plan.json: No space left on device" in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("words", [("verify", "--json"), ("info", "example"), ("--help",)])
def test_a_reader_who_goes_away_is_no_error(words: tuple[str, ...]) -> None:
    """Tests that a pipe closed before anything is written ends quietly with status 0: JSON, tables and help."""
    reader, writer = os.pipe()
    os.close(reader)
    with os.fdopen(writer, "wb") as closed:
        done = fedsched(*words, stdout=closed)
    assert (done.returncode, done.stderr) == (0, b"")


@pytest.mark.skipif(sys.platform == "win32", reason="no pseudo-terminals")
@pytest.mark.parametrize("columns", [30, 100])
def test_a_terminal_gets_what_fits_and_the_colours_it_wants(columns: int) -> None:
    """Tests that no line of help or table is wider than the terminal, and that NO_COLOR means no colour."""
    import fcntl
    import pty
    import struct
    import termios

    for words in (("info", "--help-all"), ("info", "example")):
        master, slave = pty.openpty()
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 40, columns, 0, 0))
        environment = {"NO_COLOR": "1", "TERM": "xterm-256color", "COLUMNS": str(columns)}
        done = fedsched(*words, stdout=slave, **environment)
        os.close(slave)
        said = b""
        while True:
            try:
                more = os.read(master, 65536)
            except OSError:
                break
            if not more:
                break
            said += more
        os.close(master)
        assert done.returncode == 0
        assert not re.search(rb"\x1b\[[0-9;]*3[0-7]m", said)
        table = re.sub(r"\x1b\[[0-9;]*m", "", said.decode()).splitlines()
        drawn = [line for line in table if re.search("[│─╭]", line)]
        assert drawn
        assert max(len(line) for line in drawn) <= columns


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("info", "."), ".: it is a folder; give a file in it."),
        (("simulate", ".", "--nodes", "4"), ".: it is a folder; give a file in it."),
        (("info", "logs.swf"), "logs.swf: it is a folder; give a file in it."),
        (("info", "logs.swf/x.swf"), "no such file"),
        (("verify", "logs.swf"), "logs.swf: it is a folder"),
        (("simulate", "sample", "--federation", "logs.swf"), "logs.swf: it is a folder"),
        (("plot", "logs.swf", "--out", "x.png"), "logs.swf: it is a folder"),
        (("plot", "nix.json", "--out", "x.png"), "nix.json: there is no such file; check the path."),
        (("plot", "text.json", "--out", "x.png"), "save it again"),
        (("optimize", "sample", "--initial", "nix.json"), "nix.json: there is no such file"),
        (("optimize", "sample", "--checkpoint", "logs.swf"), "logs.swf: it is a folder"),
        (("market", "--file", "logs.swf"), "logs.swf: it is a folder"),
        (("gang", "logs.swf"), "logs.swf: it is a folder"),
        (("gang", "pinto-2019-s3"), "Did you mean"),
        (("demo", "--out", "text.json/report"), "choose another folder"),
        (("generate", "lublin", "--out", "text.json/x.swf"), "a part of the path is a file"),
        (("compare", "sample", "--evaluations", "1", "--out", "runs.csv"), "a list of runs must be .jsonl."),
    ],
)
def test_files_that_are_none(
    words: tuple[str, ...], said: str, call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that folders, missing files and files of something else end in one line with the cure, before any work."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "logs.swf").mkdir()
    (tmp_path / "text.json").write_text("text")
    status, out, err = call(*words)
    assert (status, out) == (2, "")
    assert said in err
    assert err.count("\n") == 1
    assert sorted(path.name for path in tmp_path.iterdir()) == ["logs.swf", "text.json"]


@pytest.mark.parametrize(
    ("number", "cure"),
    [(errno.EACCES, "; ask its owner, or give another path."), (errno.EISDIR, "; give the name of a file in it.")],
)
def test_what_the_system_refuses_has_a_cure(number: int, cure: str) -> None:
    """Tests that an unreadable file is named, with what to do."""
    error = OSError(number, os.strerror(number), "log.swf")
    assert cli.describe(error) == f"log.swf: {os.strerror(number)}{cure}"


def test_names_with_brackets_are_shown_as_they_are(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that a file named like markup is no markup to the tables."""
    path = tmp_path / "[bold]jobs[red].csv"
    path.write_text("submit,tasks,runtime\r\n0,1,5\r\n1,2,7\r\n", encoding="utf-8", newline="")
    status, out, _ = call("compare", path, "--nodes", 4, "--evaluations", 1, "--method", "fcfs", "--seeds", 1)
    assert status == 0
    assert "[bold]jobs[red] 2" in out
    status, out, _ = call("gang", path, "--processors", "4")
    assert status == 0
    assert "[bold]jobs[red]" in out


def test_windows_line_ends_change_nothing(call: Callable[..., Any], tmp_path: Path) -> None:
    """Tests that logs and federations with carriage returns give the same schedule as those without."""
    federation = (ROOT / "fedsched/data/federations/example.toml").read_text(encoding="utf-8")
    assert call("generate", "lublin", "--jobs", 30, "--nodes", 128, "--out", tmp_path / "unix.swf")[0] == 0
    log = (tmp_path / "unix.swf").read_text(encoding="utf-8")
    hashes = set()
    for name, end in (("unix", "\n"), ("windows", "\r\n")):
        for suffix, text in (("swf", log), ("toml", federation)):
            (tmp_path / f"{name}.{suffix}").write_bytes(text.replace("\n", end).encode())
        words = ("simulate", tmp_path / f"{name}.swf", "--federation", tmp_path / f"{name}.toml", "--json")
        hashes.add(json.loads(call(*words)[1])["start_hash"])
    assert len(hashes) == 1


def test_without_a_place_for_compiled_code(tmp_path: Path) -> None:
    """Tests that a machine where no cache can be written still simulates."""
    (tmp_path / "file").touch()
    nowhere = {name: str(tmp_path / "file" / "cache") for name in ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "HOME")}
    words = ("simulate", "sample", "--head", "10", "--nodes", "128", "--json")
    done = fedsched(*words, NUMBA_DISABLE_JIT="1", **nowhere)
    assert done.returncode == 0
    assert json.loads(done.stdout)["complete"] is True
