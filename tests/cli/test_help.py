"""Help: quick, the same words for the same ideas, and examples that run."""

from __future__ import annotations

import json
import re
import shlex
import subprocess
import sys
from collections import defaultdict
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from support.tiers import DEEP

from fedsched.cli.app import arguments_of, build_app, examples_of, group_of, typed
from fedsched.cli.commands import COMMANDS, module_of
from fedsched.cli.help import LINES, WIDTH, clause, short_help
from fedsched.policies.named import DISPATCH, ORDERS, PLACEMENTS

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from cyclopts.argument import Argument

ROOT = Path(__file__).resolve().parents[2]
# What costs time or money in an example, and what it costs here.
SMALL = {"--seconds": "0.3", "--cycles": "2", "--jobs": "40", "--evaluations": "60", "--head": "20", "--seeds": "2",
         "--package": "10", "--replications": "2",
         "--simulations": "40"}  # fmt: skip
# Written first, since others read it.
FIRST = ("optimize", "generate")
NEED_A_NETWORK = {"fedsched fetch KTH-SP2 --out logs"}
# Options that mean something of their own there; everywhere else the name has one meaning.
OWN_MEANING = {
    (command, option)
    for option, commands in {
        "--federation": "compare generate convert",
        "--nodes": "market generate verify twin",
        "--policy": "report study twin",
        "--order": "gang",
        "--dispatch": "gang",
        "--method": "simulate compare bounds market shift",
        "--looks": "place",
        "--put-off": "shift",
        "--evaluations": "simulate",
        "--objective": "simulate shift",
        "--checkpoint": "simulate",
        "--out": "bench compare plot report market generate demo fetch study twin shift",
        "--gantt": "market",
        "--package": "compare",
        "--jobs": "market twin",
        "--load": "gang",
        "--scenario": "study",
        "--from": "info convert",
    }.items()
    for command in commands.split()
}


def options_by_name() -> dict[str, dict[str, Argument]]:
    """Return every option, by name and command."""
    app = build_app()
    found: dict[str, dict[str, Argument]] = defaultdict(dict)
    for command in COMMANDS:
        for argument in arguments_of(app, command):
            if (command, argument.name) not in OWN_MEANING:
                found[argument.name][command] = argument
    return found


def test_help_shows_examples_and_loads_nothing_heavy() -> None:
    """Tests that each command's help ends in its examples, and is there without what the command computes with."""
    code = (
        "from fedsched.cli import run; from fedsched.cli.commands import COMMANDS; import sys\n"
        "for name in COMMANDS: assert run([name, '--help-all']) == 0; assert run([name, '-h']) == 0; print('|')\n"
        "print(*sorted({name.partition('.')[0] for name in sys.modules}))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    *pages, loaded = done.stdout.split("|\n")
    heavy = {"numpy", "numba", "scipy", "matplotlib", "pandas", "pymoo", "deap", "moocore", "markdown_it", "pygments"}
    assert not set(loaded.split()) & heavy
    for command, page in zip(COMMANDS, pages, strict=True):
        long, _, short = page.partition(f"Usage: fedsched {command} ")[2].partition(f"Usage: fedsched {command} ")
        assert all(f"  fedsched {command}" in one.partition("For example:")[2] for one in (long, short))
        assert "--config" in page
        assert "[default: None]" not in page


@pytest.mark.parametrize("command", sorted(COMMANDS))
def test_the_short_help_is_short(command: str) -> None:
    """Tests that it has at most 40 lines of 80 columns, one for each option of its list, and all of the examples."""
    module = import_module(module_of(command))
    text = short_help(command)
    lines = text.splitlines()
    assert len(lines) <= LINES == 40
    assert max(map(len, lines)) <= WIDTH == 80
    every = {argument.name: argument for argument in arguments_of(build_app(command), command)}
    assert {*module.FIRST} <= {*every}
    for name in module.FIRST:
        (line,) = (line for line in lines[: lines.index("For example:")] if line.split()[:1] == [name])
        assert re.search(rf" {re.escape(clause(every[name]))}( \[.*\])?$", line)
        assert len(clause(every[name])) > 3
    options = sum(name.startswith("-") for name in every)
    assert f"  {options - len(module.FIRST) + 2} more options: fedsched {command} --help-all" in lines
    assert all(typed(example).replace("\n", "\n  ") in text for example in examples_of(module.command))


def test_the_long_help_is_in_groups(call: Callable[..., Any]) -> None:
    """Tests that --help-all shows each option, below the name of its group, in the groups' order."""
    _, out, _ = call("simulate", "--help-all")
    titles = re.findall(r"^╭─ (.*?) ─", out, flags=re.MULTILINE)
    assert titles == [
        "Arguments", "Log", "Machine", "Calendar of downtimes", "Signals, power and delays", "Policy",
        "Slurm's scheduler", "What plans know, and how the machine behaves", "Search", "Output", "Everywhere",
    ]  # fmt: skip
    assert out.index("Calendar of") < out.index("--calendar-until") < out.index("Signals,")
    for argument in arguments_of(build_app("simulate"), "simulate"):
        assert argument.name in out
    assert not [name for command in COMMANDS for name in group_names(command) if name == "Parameters"]


def group_names(command: str) -> set[str]:
    """Return the titles of the groups of a command's options."""
    return {group_of(argument)[1] for argument in arguments_of(build_app(command), command)}


@pytest.mark.parametrize(
    ("option", "names"), [("--order", ORDERS), ("--dispatch", DISPATCH), ("--placement", PLACEMENTS)]
)
def test_help_names_every_order_and_rule(option: str, names: Mapping[str, str]) -> None:
    """Tests that the help of an option that takes a rule says all that it takes, and nothing else."""
    told = options_by_name()[option]["simulate"].parameter.help or ""
    listed = told.rpartition(":")[2].strip(" .").replace(" or ", ", ")
    assert listed.split(", ") == list(names), "fedsched/cli/shared/groups.py says these by hand: help loads no policies"


def test_examples_are_read_from_docstrings() -> None:
    """Tests that a line begins an example, deeper lines continue it, and another section ends it."""

    def command() -> None:
        """Do it.

        Examples
        --------
        fedsched one
            --two 3
        fedsched four

        Notes
        -----
        Nothing of fedsched.
        """

    assert examples_of(command) == ["fedsched one --two 3", "fedsched four"]


@pytest.mark.compiled
@pytest.mark.slow
def test_every_example_runs(call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what the help shows works, in order and at small budgets, and --json gives one JSON document."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HOME", str(tmp_path))
    (tmp_path / "slurm.conf").write_text("NodeName=n[1-128]\nPartitionName=p Nodes=ALL Default=YES\n", encoding="utf-8")
    (tmp_path / "carbon.csv").write_text("second,g/kWh\n0,400\n3600,90\n7200,250\n9000000,250\n", encoding="utf-8")
    for name in sorted(COMMANDS, key=lambda name: name not in FIRST):
        examples = examples_of(import_module(module_of(name)).command)
        examples = [example for example in examples if example not in NEED_A_NETWORK]
        for example in examples if DEEP or name in FIRST else examples[-1:]:
            _, *words = shlex.split(example)
            for at, word in enumerate(words[:-1]):
                words[at + 1] = SMALL.get(word, words[at + 1])
            if example is examples[-1]:
                words += [] if "--json" in words else ["--json"]
            status, out, err = call(*words)
            assert status == 0, (words, err)
            if "--json" in words:
                json.loads(out, parse_constant=pytest.fail)


def test_one_name_has_one_meaning() -> None:
    """Tests that an option of several commands has the same help text and the same type in each."""
    differing = {
        name: sorted(by_command)
        for name, by_command in options_by_name().items()
        if name.startswith("--")
        and len({(argument.parameter.help, str(argument.hint)) for argument in by_command.values()}) > 1
    }
    assert not differing


def test_every_command_has_json() -> None:
    """Tests that --json is an option of every command, documented as one JSON document."""
    assert set(options_by_name()["--json"]) == set(COMMANDS)


def test_every_option_is_explained_in_one_paragraph() -> None:
    """Tests that no option is without help, and none has a line break that the help page would repeat."""
    for name, by_command in options_by_name().items():
        for command, argument in by_command.items():
            text = argument.parameter.help
            assert text, (command, name)
            assert "\n" not in text, (command, name)


def test_a_mistake_points_to_the_command_s_own_help(call: Callable[..., Any]) -> None:
    """Tests that a wrong option of a command names that command's help, and a wrong command the first page."""
    assert call("simulate", "sample", "--plicy", "easy")[2].endswith("See: fedsched simulate --help.\n")
    assert call("simulat")[2].endswith("See: fedsched --help.\n")


@pytest.mark.parametrize("word", ["2.5", "1e2", "many", "nan"])
def test_a_whole_number_is_a_whole_number(word: str, call: Callable[..., Any]) -> None:
    """Tests that what is no whole number is refused where one is asked for, not cut."""
    status, out, err = call("simulate", "sample", "--head", word)
    assert (status, out) == (2, "")
    assert f"--head={word!r} must be a whole number." in err


def test_help_answers_in_any_position(
    call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that help and version are given even where the folder's fedsched.toml is broken."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "fedsched.toml").write_text("[")
    for words in (("--help",), ("simulate", "--help"), ("--version",)):
        assert call(*words)[0] == 0
