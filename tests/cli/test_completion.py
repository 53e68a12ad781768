"""Shell completion: bash, asked as a terminal asks it, offers commands, options, values and files."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import TYPE_CHECKING, Any

import pytest

from fedsched.cli.commands import COMMANDS

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

ASK = """
. ./completion.bash
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_fedsched fedsched "${@: -1}" "${@: -2:1}"
printf '%s\\n' "${COMPREPLY[@]}"
"""


@pytest.fixture
def bash(tmp_path: Path, call: Callable[..., Any]) -> Callable[..., list[str]]:
    """Return a function that says what bash offers for the last of some words."""
    program = shutil.which("bash")
    if program is None:
        pytest.skip("there is no bash on this machine")
    status, script, _ = call("completion", "bash")
    assert status == 0
    (tmp_path / "completion.bash").write_text(script, encoding="utf-8")
    (tmp_path / "ask.bash").write_text(ASK, encoding="utf-8")
    (tmp_path / "plan.toml").touch()

    def offered(*words: str) -> list[str]:
        done = subprocess.run([program, "--norc", "ask.bash", "fedsched", *words], capture_output=True, text=True,
                              check=True, cwd=tmp_path)  # fmt: skip
        return done.stdout.split()

    return offered


def test_bash_completes_commands_options_and_values(bash: Callable[..., list[str]]) -> None:
    """Tests names of commands, options of each one and of all, choices of an option, and files."""
    assert set(bash("")) == set(COMMANDS)
    assert bash("opt") == ["optimize"]
    assert bash("optimize", "sample", "--se") == ["--seconds", "--seed"]
    assert {"--config", "--debug", "--policy", "--json"} <= set(bash("simulate", "--"))
    assert bash("optimize", "sample", "--submits", "") == ["now", "keep"]
    assert bash("market", "--method", "sl") == ["slicer"]
    assert bash("completion", "") == ["bash", "zsh", "fish"]
    assert bash("info", "pl") == ["plan.toml"]
    assert bash("simulate", "--federation", "pl") == ["plan.toml"]
    assert bash("--config", "plan.toml", "simulate", "--he") == ["--head", "--help", "--help-all"]


def test_bash_falls_back_to_files(bash: Callable[..., list[str]], tmp_path: Path) -> None:
    """Tests that the script registers itself for the command, with names of files where it knows nothing better."""
    assert bash("gang", "zzz") == []
    registered = subprocess.run(["bash", "--norc", "-c", ". ./completion.bash; complete -p fedsched"], text=True,
                                capture_output=True, check=True, cwd=tmp_path)  # fmt: skip
    assert registered.stdout == "complete -o default -F _fedsched fedsched\n"


@pytest.mark.deep
@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_scripts_are_installed_at_home(
    shell: str, call: Callable[..., Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that --install writes the very script that is printed below the home folder, and a second time too."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("USERPROFILE", str(tmp_path))
    for name in ("ZSH", "ZSH_CUSTOM"):
        monkeypatch.delenv(name, raising=False)
    said = json.loads(call("completion", shell, "--install", "--json")[1])
    (written,) = said["written"]
    assert written.startswith(str(tmp_path))
    with open(written, encoding="utf-8") as file:
        assert file.read() == said["script"]
    assert all(command in said["script"] for command in COMMANDS)
    startup = tmp_path / f".{shell}rc"
    before = startup.read_bytes() if shell != "fish" else b""
    assert "written to" in call("completion", shell, "--install")[1]
    assert (startup.read_bytes() if shell != "fish" else b"") == before


def test_an_unknown_shell_is_refused(call: Callable[..., Any]) -> None:
    """Tests that a shell without a script is refused with those that have one."""
    status, _, err = call("completion", "tcsh")
    assert status == 2
    assert "fish" in err
