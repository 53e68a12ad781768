"""Options from a TOML file: what they reach, what overrules them, and what is refused."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import fedsched as fs
from fedsched.cli.app import arguments_of, build_app
from fedsched.cli.commands import COMMANDS
from fedsched.cli.shared.config import ONLY_NAMED, options_of

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes a file of options into the folder that commands are called in."""
    monkeypatch.chdir(tmp_path)

    def write(text: str, name: str = "fedsched.toml") -> Path:
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return write


def test_a_file_gives_what_the_command_line_leaves_open(write: Callable[..., Path], call: Callable[..., Any]) -> None:
    """Tests that fedsched.toml in the folder is used and announced on stderr, and that the command line overrules."""
    write('[simulate]\nhead = 30\nfederation = "example"\npolicy = "fcfs"\nkill_at_estimate = true\n')
    status, out, err = call("simulate", "sample", "--json")
    jobs, machine = fs.Workload.example().head(30), fs.Federation.example()
    assert status == 0
    assert json.loads(out)["start_hash"] == fs.simulate(jobs, machine, "fcfs", kill_at_estimate=True).start_hash()
    assert err == (
        'fedsched: from fedsched.toml: head = 30, federation = "example", policy = "fcfs", kill-at-estimate = true\n'
    )
    out, err = call("simulate", "sample", "--json", "--policy", "easy", "--no-kill-at-estimate", "--head", 20)[1:]
    assert json.loads(out)["start_hash"] == fs.simulate(jobs.head(20), machine, "easy").start_hash()
    assert err == 'fedsched: from fedsched.toml: federation = "example"\n'


def test_what_excludes_an_option_overrules_it_too(write: Callable[..., Path], call: Callable[..., Any]) -> None:
    """Tests that --nodes puts the file's federation out of force, and --evaluations its seconds."""
    write('[simulate]\nhead = 30\nfederation = "example"\n')
    status, out, _ = call("simulate", "sample", "--nodes", 128, "--json")
    assert status == 0
    assert json.loads(out)["federation"] == "cluster"
    write("[optimize]\nseconds = 0.1\nnodes = 128\nhead = 10\n")
    said = json.loads(call("optimize", "sample", "--evaluations", 70, "--method", "random", "--json")[1])
    assert said["stop_reason"] == "70 evaluations"


def test_a_plan_to_begin_with_takes_the_place_of_packages(write: Callable[..., Path], call: Callable[..., Any]) -> None:
    """Tests that --initial puts the file's package out of force, which it cannot go with."""
    jobs, machine = fs.Workload.example().head(5), fs.Federation.example()
    result = fs.optimize(jobs, machine, objectives="makespan", method="random", evaluations=5, baselines=("fcfs",))
    result.save(write("", "result.json"))
    write('[optimize]\npackage = 3\nhead = 5\nfederation = "example"\nobjective = ["makespan"]\n')
    status, _, err = call("optimize", "sample", "--evaluations", 20, "--initial", "result.json")
    assert status == 0
    assert "package" not in err


@pytest.mark.parametrize(
    ("text", "words", "left"),
    [
        ('[simulate]\npolicy = "rolling"\nevaluations = 50\nwindow = 5\n', ("simulate", "sample", "--policy", "easy"),
         "evaluations = 50, window = 5"),
        ('[simulate]\norder = "saf"\nevaluations = 5\n', ("simulate", "sample", "--policy", "rolling", "--head", 5),
         'order = "saf"'),
        ('[simulate]\nplacement = "single"\n', ("simulate", "sample", "--policy", "mct"), 'placement = "single"'),
        ('[report]\nfederation = "example"\nhead = 3\n', ("report", "result.json", "--out", "r.html"),
         'federation = "example", head = 3'),
        ('[generate]\nnodes = 64\n', ("generate", "planted", "--jobs", 5, "--out", "r.csv"), "nodes = 64"),
        ('[gang]\nscheduler = "AFCFS"\n', ("gang", "sample", "--head", 5), 'scheduler = "AFCFS"'),
        ('[plot]\nchoose = "energy"\n', ("plot", "result.json", "--what", "front", "--out", "f.svg"),
         'choose = "energy"'),
        ('[plot]\nchoose = "flow"\n', ("plot", "result.json", "--out", "f.svg"), 'choose = "flow"'),
        ('[convert]\nunit = "nodes"\non-error = "skip"\n', ("convert", "sample", "s.csv"), 'unit = "nodes"'),
        ('[market]\nfederation = "example"\n', ("market", "--method", "css"), 'federation = "example"'),
    ],
)  # fmt: skip
def test_what_does_not_go_with_the_call_is_left_out(
    text: str, words: tuple[object, ...], left: str, write: Callable[..., Path], call: Callable[..., Any]
) -> None:
    """Tests that no file stands in the way of a call which its author did not think of, and that stderr says so."""
    jobs, machine = fs.Workload.example().head(5), fs.Federation.example()
    aims = ("makespan", "energy")
    result = fs.optimize(jobs, machine, objectives=aims, method="random", evaluations=5, baselines=("fcfs",))
    result.save(write("", "result.json"))
    write(text)
    status, _, err = call(*words)
    assert status == 0
    assert f"fedsched: from fedsched.toml, ignored because it does not fit this call: {left}\n" in err


def test_what_the_command_line_gives_is_still_refused(write: Callable[..., Path], call: Callable[..., Any]) -> None:
    """Tests that an option of the call itself that does not go with it is an error, whatever the file says."""
    write("[simulate]\nwindow = 5\nhead = 10\n")
    status, _, err = call("simulate", "sample", "--window", 7)
    assert status == 2
    assert "left out" not in err
    assert "--window 7 goes with --policy rolling; leave it out" in err


def test_a_market_of_the_command_line_takes_the_place_of_the_file_s(
    write: Callable[..., Path], call: Callable[..., Any]
) -> None:
    """Tests that --trace puts the file's market out of force."""
    write('[market]\nfile = "nowhere.toml"\nmethod = "css"\n')
    write("submit,tasks,runtime\n0,2,60\n10,1,50\n", "jobs.csv")
    assert call("market", "--trace", "jobs.csv", "--federation", "example")[0] == 0
    assert call("market")[0] == 2


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ('[simulate]\nsample = "x"\n', "[simulate]: sample='x' must be a whole number"),
        ("[optimize]\nhead = 2.5\n", "[optimize]: head='2.5' must be a whole number"),
        ('[plot]\nwhat = "everything"\n', "all"),
        ("[market]\ntasks = [1, 2, 3]\n", "fedsched.toml, [market]: Incorrect number of arguments"),
    ],
)
def test_kinds_are_checked_wherever_they_stand(
    text: str, said: str, write: Callable[..., Path], call: Callable[..., Any]
) -> None:
    """Tests that a value of the wrong kind is an error in the table of another command, too, and names the file."""
    write(text)
    status, out, err = call("info", "sample")
    assert (status, out) == (2, "")
    assert err.startswith("fedsched: ")
    assert said in err
    assert "fedsched.toml" in err


def test_a_named_file_takes_the_place_of_the_folder_s(write: Callable[..., Path], call: Callable[..., Any]) -> None:
    """Tests that --config, before or behind the command, is read instead of fedsched.toml; an empty one is none."""
    write("[simulate]\nhead = 1\n")
    mine = write('[simulate]\r\nhead = 25\r\nnodes = 128\r\n[optimize]\r\nmethod = "ga"\r\n', "mine.toml")
    for words in (("--config", mine, "simulate", "sample"), ("simulate", "sample", f"--config={mine}")):
        assert json.loads(call(*words, "--json")[1])["jobs"] == 25
    empty = write("", "empty.toml")
    _, out, err = call("simulate", "sample", "--head", 10, "--nodes", 128, "--json", "--config", empty)
    assert json.loads(out)["jobs"] == 10
    assert err == ""


def test_several_values_are_a_list(write: Callable[..., Path], call: Callable[..., Any]) -> None:
    """Tests that an option that may be repeated takes a list, which the command line replaces whole."""
    write('[market]\nmethod = ["css", "bsf"]\njobs = 4\nbudget = [1, 2]\n')
    assert list(json.loads(call("market", "--json")[1])["means"]) == ["css", "bsf"]
    assert list(json.loads(call("market", "--json", "--method", "slicer")[1])["means"]) == ["slicer"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[simulate]\nsead = 3\n", "Unknown key in [simulate] 'sead'. Did you mean 'seed'? Known: "),
        ("[optimise]\nhead = 3\n", "Unknown command 'optimise'. Did you mean 'optimize'? Known: "),
        ("[optimize]\nheads = 3\n", "Unknown key in [optimize] 'heads'. Did you mean 'head'?"),
        ('[simulate]\ntrace = "x.swf"\n', "Unknown key in [simulate] 'trace'"),
        ("head = 3\n", "head = 3 is in no table"),
        ("[simulate\n", "this is no TOML"),
        ("[simulate]\nhead = 2.5\n", "fedsched.toml, [simulate]: head='2.5' must be a whole number."),
        ('[simulate]\nhead = "many"\n', "head='many' must be a whole number"),
        ("[simulate]\nseed = [1, 2]\n", "fedsched.toml, [simulate]: seed="),
        ('[simulate]\nkill_at_estimate = "what"\n', "kill-at-estimate='what' must be true or false"),
        ('[simulate]\nsaturation = "dynamik"\n', "Did you mean"),
        ('[simulate]\npolicy = "eazy"\n', "Did you mean 'easy'"),
    ],
)
def test_wrong_files_are_refused(text: str, said: str, write: Callable[..., Path], call: Callable[..., Any]) -> None:
    """Tests that unknown tables and keys, in any table, wrong values and bad TOML end in one line with the cure."""
    write(text)
    status, out, err = call("simulate", "sample")
    *announced, last = err.splitlines()
    assert (status, out) == (2, "")
    assert said in last
    assert "fedsched.toml" in last or announced
    assert len(announced) <= 1


@pytest.mark.parametrize(("name", "said"), [("no.toml", "there is no such file"), (".", "a folder")])
def test_a_file_that_is_not_there_is_named(
    name: str, said: str, write: Callable[..., Path], call: Callable[..., Any]
) -> None:
    """Tests that --config with a missing file or a folder is an error, unlike a missing fedsched.toml."""
    write("", "other.toml")
    status, _, err = call("simulate", "sample", "--config", name)
    assert status == 2
    assert err.startswith(f"fedsched: {name}: ")
    assert said in err


@pytest.mark.skipif(not Path("/dev/zero").exists(), reason="no device without end")
def test_a_file_of_options_without_end_is_refused(
    write: Callable[..., Path], call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a device, and a pipe that nobody writes into, are errors as --config, as they are as logs."""
    pipe = write("", "other.toml").with_name("pipe")
    os.mkfifo(pipe)
    monkeypatch.setattr("fedsched.io.files.PATIENCE", 0.0)
    for name, said in (("/dev/zero", "it is a device without an end"), (str(pipe), "nothing was written into it")):
        status, _, err = call("simulate", "sample", "--config", name)
        assert status == 2
        assert err.startswith(f"fedsched: {name}: ")
        assert said in err
    assert call("simulate", "sample", "--head", "5", "--config", "/dev/null")[0] == 0


@pytest.mark.parametrize("option", ONLY_NAMED)
def test_a_file_that_nobody_named_says_not_where_to_write(
    option: str, write: Callable[..., Path], call: Callable[..., Any]
) -> None:
    """Tests that a downloaded folder's fedsched.toml cannot write files or reach a machine; a named file may."""
    app = build_app()
    command = next(one for one in COMMANDS if option in options_of(app, one, Path()))
    write(f'[{command}]\n{option} = "../theirs"\n')
    status, out, err = call("info", "sample")
    assert (status, out) == (2, "")
    assert f"fedsched.toml, [{command}]: {option} writes files or reaches another machine" in err
    assert "--config fedsched.toml" in err
    assert call("info", "sample", "--config", "fedsched.toml")[0] == 0


def test_every_option_that_takes_a_path_is_one_of_input_or_refused() -> None:
    """Tests that a new option for a file is either read, or listed among those that a found file may not give."""
    app = build_app()
    paths = {
        one.name.removeprefix("--")
        for command in COMMANDS
        for one in arguments_of(app, command)
        if one.name.startswith("--") and "Path" in str(one.hint)
    }
    read = {"scenario", "federation", "partitions", "calendar", "hosts", "conf", "assoc", "clocks", "initial", "logs",
            "recorded", "shares", "arrivals", "file", "trace"}  # fmt: skip
    assert paths - read == {*ONLY_NAMED} - {"executor", "url"}


def test_debug_lets_the_error_through(write: Callable[..., Path], call: Callable[..., Any]) -> None:
    """Tests that --debug shows where a wrong file was refused."""
    write("[simulate]\nsead = 3\n")
    with pytest.raises(fs.errors.UnknownNameError):
        call("simulate", "sample", "--debug")


def test_root_takes_no_options_out_of_a_file_that_others_can_write(
    write: Callable[..., Path], call: Callable[..., Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a fedsched.toml in a user's folder does not tell root's commands what to do, unless root names it."""
    path = write('[fetch]\nsha256 = "0"\n')
    path.chmod(0o644)
    monkeypatch.setattr("fedsched.core.ownership.user", lambda: 0)
    for owner, mode, taken in ((0, 0o644, True), (0, 0o664, False), (4711, 0o644, False)):
        monkeypatch.setattr("fedsched.core.ownership.owner_of", lambda _, owner=owner: owner)
        path.chmod(mode)
        status, _, err = call("fetch", "--json")
        assert (status == 0) == taken
        assert ("users other than root can write it" in err) == (not taken)
        assert call("fetch", "--json", "--config", "fedsched.toml")[0] == 0
    monkeypatch.setattr("fedsched.core.ownership.user", lambda: 4711)
    assert call("fetch", "--json")[0] == 0
