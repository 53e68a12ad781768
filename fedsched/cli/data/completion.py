"""`fedsched completion`: print or install the script that makes a shell complete commands and options."""

from __future__ import annotations

from typing import Literal

from fedsched.cli.shared import options
from fedsched.cli.shared.input_output import print_json, say

FIRST = ("--install", "--json")  # in the short help


def command(shell: Literal["bash", "zsh", "fish"], /, *, install: bool = False, json: options.Json = False) -> int:
    """Print the script that makes a shell complete commands and options, or install it.

    Parameters
    ----------
    shell
        The shell that the script is for: bash, zsh or fish.
    install
        Install it where the shell looks. The shell's startup file then loads it.

    Examples
    --------
    fedsched completion bash
    fedsched completion zsh --install
    """
    from fedsched.cli.app import build_app

    app = build_app().meta
    script = app.generate_completion(shell=shell)
    if shell == "bash":
        # Bash offers file names if the script offers nothing.
        script = script.replace("complete -F", "complete -o default -F")
    path = None
    if install:
        path = app.install_completion(shell=shell)
        path.write_text(script, encoding="utf-8")
    if json:
        print_json({"shell": shell, "script": script, "written": [str(path)] if path else []})
    elif path is not None:
        say(f"written to {path}; a new {shell} completes fedsched.")
    else:
        say(script)
    return 0
