"""No command writes over a file that it reads."""

from __future__ import annotations

import typing
from pathlib import Path
from typing import Any

import pytest

from fedsched.cli.app import arguments_of, build_app
from fedsched.cli.commands import COMMANDS

if typing.TYPE_CHECKING:
    from collections.abc import Callable

# Of each command, the parameters that name files: those that it reads, and those that it writes with the suffix.
READ = {"scenario", "trace", "traces", "more", "source", "result", "initial", "federation", "partitions", "calendar"}
READ |= {"file", "arrivals", "what", "hosts", "queue", "conf", "assoc", "shares", "clocks"}
WRITTEN = {"out", "gantt", "save", "checkpoint", "report", "target"}
# How a command is called with a file to read and one to write; what else it then needs.
CALLS = {
    "simulate": [
        "simulate F --from swf --nodes 8 --out F",
        "simulate sample --federation F --out F",
        "simulate --scenario F --out F",
        "simulate sample --nodes 8 --partitions F --out F",
        "simulate sample --nodes 8 --calendar F --out F",
        "simulate sample --nodes 8 --calendar works.txt --hosts F --out F",
        "simulate F --from swf --gantt F",
        "simulate F --from swf --policy rolling --checkpoint F",
        "simulate sample --policy slurm --conf F --out F",
        "simulate sample --policy slurm --conf slurm.conf --assoc F --out F",
        "simulate sample --policy slurm --conf slurm.conf --clocks F --out F",
    ],
    "optimize": [
        "optimize F --from swf --nodes 8 --out F",
        "optimize sample --federation F --gantt F",
        "optimize sample --initial F --save F",
        "optimize --scenario F --out F",
        "optimize sample --nodes 8 --partitions F --out F",
        "optimize sample --nodes 8 --calendar F --out F",
        "optimize sample --nodes 8 --calendar works.txt --hosts F --out F",
        "optimize F --from swf --checkpoint F",
    ],
    "compare": [
        "compare F --from swf --method easy --out F",
        "compare sample F --from swf --method easy --report F",
        "compare --scenario F --method easy --report F",
        "compare sample --nodes 8 --partitions F --method easy --out F",
        "compare sample --nodes 8 --calendar F --method easy --out F",
        "compare sample --nodes 8 --calendar works.txt --hosts F --method easy --out F",
        "compare sample --federation example --federation F --method easy --out F",
    ],
    "plot": ["plot F --out F"],
    "report": [
        "report F --from swf --out F",
        "report --scenario F --out F",
        "report sample --federation F --out F",
        "report sample --nodes 8 --partitions F --out F",
        "report sample --nodes 8 --calendar F --out F",
        "report sample --nodes 8 --calendar works.txt --hosts F --out F",
    ],
    "shift": [
        "shift F --from swf --out F",
        "shift --scenario F --out F",
        "shift sample --federation F --out F",
        "shift sample --nodes 8 --partitions F --out F",
        "shift sample --nodes 8 --calendar F --out F",
        "shift sample --nodes 8 --calendar works.txt --hosts F --out F",
        "shift sample --nodes 8 --carbon F --out F",
    ],
    "market": ["market --file F --gantt F", "market --trace F --out F", "market --trace sample --federation F --out F"],
    "gang": ["gang F --from swf --gantt F", "gang --arrivals F --replications 2 --gantt F"],
    "generate": ["generate planted --federation F --out F"],
    "study": ["study F --scenario nodes=+20% --out F", "study sample F --scenario nodes=+20% --out F"],
    "convert": ["convert F F", "convert F F --from swf --to csv", "convert sample F --federation F"],
}
SUFFIXES = {
    ("simulate", "--gantt"): ".svg", ("optimize", "--gantt"): ".svg", ("market", "--gantt"): ".svg",
    ("gang", "--gantt"): ".svg", ("plot", "--out"): ".png", ("report", "--out"): ".html",
    ("compare", "--report"): ".html", ("study", "--out"): ".html", ("shift", "--out"): ".html",
    ("compare", "--out"): ".jsonl", ("optimize", "--save"): ".json",
}  # fmt: skip
# Those choose the names of what they write, in a folder that is given; or read none but their own.
IN_A_FOLDER = {"fetch", "demo", "tune", "twin", "plan", "apply", "watch", "place", "bench"}


def files_of(command: str) -> set[str]:
    """Return the parameters of a command that name files."""
    arguments = arguments_of(build_app(), command)
    files = (argument.name for argument in arguments if "Path" in str(argument.hint))
    return {name.removeprefix("--").replace("-", "_").lower() for name in files}


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_every_file_is_known_to_be_read_or_written(command: str) -> None:
    """Tests that a command with a new file to read or to write has to be entered here, with a call for each writing."""
    files = files_of(command) | ({"what"} if command == "gang" else set())
    if command in IN_A_FOLDER:
        return
    assert files <= READ | WRITTEN
    words = {word for line in CALLS.get(command, ()) for word in line.split()}
    assert not files & READ or all(f"--{name}" in words or name == "target" for name in files & WRITTEN)


@pytest.mark.parametrize("line", [line for lines in CALLS.values() for line in lines])
def test_what_is_read_is_not_written_over(
    line: str, call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that one file as source and target is refused, by whatever name, before any byte is read or written."""
    monkeypatch.chdir(tmp_path)
    words = line.split()
    last = next(word for word in reversed(words) if word.startswith("--") or word == "F")
    option = words[len(words) - 2] if words[-1] == "F" else last
    suffix = SUFFIXES.get((words[0], option), ".csv")
    target = tmp_path / f"f{suffix}"
    target.write_text("precious\n")
    link = tmp_path / f"link{suffix}"
    link.symlink_to(target)
    for name in (target.name, f"./{target.name}", str(target), link.name):
        places = iter([target.name, name])
        given = [next(places) if word == "F" else word for word in words]
        status, out, err = call(*given)
        assert (status, out, err.count("\n")) == (2, "", 1), err
        assert "the file that is read are the same file; name another" in err
        assert target.read_text() == "precious\n"
        assert link.is_symlink()
    assert sorted(path.name for path in tmp_path.iterdir()) == sorted([target.name, link.name])


def test_pipes_are_no_files(call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that `convert x.csv -` writes what it reads on the standard output."""
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("id,submit,tasks,runtime\n1,0,2,10\n")
    status, _, err = call("convert", "x.csv", "/dev/null", "--to", "csv")
    assert status == 0, err
