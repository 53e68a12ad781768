"""Read options from a settings file with a table for each command: `[optimize] seconds = 10`; the command line wins."""

from __future__ import annotations

import os
import re
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from fedsched.cli.shared.input_output import say
from fedsched.core import ownership
from fedsched.core.errors import ConfigError, TraceError, UnknownNameError, shortened, unknown_name
from fedsched.io.files import open_bytes, parse_toml

if TYPE_CHECKING:
    from collections.abc import Mapping

    from cyclopts import App
    from cyclopts.argument import ArgumentCollection

DEFAULT = Path("fedsched.toml")
# Options that exclude each other: one on the command line disables the others in the file. A search that is repeated
# with --evaluations must not get a limit in seconds from the file.
INSTEAD = {
    "federation": {"nodes"},
    "nodes": {"federation"},
    "seconds": {"evaluations"},
    "evaluations": {"seconds"},
    "file": {"trace", "cycles"},
    "trace": {"file"},
    "cycles": {"file"},
    "initial": {"package"},
    "package": {"initial"},
}
# A scenario on the command line is not altered by the file's options, which are for calls without a scenario.
OF_SCENARIOS = (
    "from", "sites", "unit", "over-request", "on-error", "head", "sample", "communication", "federation", "nodes",
    "uplink", "pool", "policy", "order", "dispatch", "backfill-order", "placement", "knowledge", "saturation",
    "kill-at-estimate", "alternatives", "same-time", "seed",
)  # fmt: skip
# Options that write files or reach other machines. A fedsched.toml that came with a folder must not choose these.
ONLY_NAMED = (
    "out", "save", "report", "table", "gantt", "into", "keep", "checkpoint", "undo-file", "state", "executor", "url",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Settings:
    """A settings file's options, by command; the parser calls this object to fill in what the command line leaves open.

    `left_out` names options that do not fit the call, and are not filled in.
    """

    path: Path
    tables: Mapping[str, Mapping[str, Any]]
    left_out: frozenset[str] = frozenset()

    def without(self, options: frozenset[str]) -> Settings:
        """Return a copy of the settings without these options; names that the file does not have are ignored."""
        named = options & {key for table in self.tables.values() for key in table}
        return replace(self, left_out=self.left_out | named)

    def __call__(self, app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
        """Set the command's arguments to the file's values, and report them on stderr.

        An option's value is not used if the command line gives that option, or one that excludes it.
        """
        from cyclopts.config import Dict

        given = {name.removeprefix("--") for argument in arguments if argument.tokens for name in argument.names}
        table = self.tables.get(commands[0], {}) if commands else {}
        wanted = {key: value for key, value in table.items() if not {key, *_instead_of(key)} & given}
        used = {key: value for key, value in wanted.items() if key not in self.left_out}
        if not self.left_out:
            self._say("", used)
        else:
            self._say(", ignored because it does not fit this call", {k: wanted[k] for k in wanted if k not in used})
        if used:
            Dict({commands[0]: used}, source=str(self.path))(app, commands, arguments)

    def _say(self, what: str, options: Mapping[str, Any]) -> None:
        if options:
            words = ", ".join(f"{key} = {_toml(value)}" for key, value in options.items())
            say(f"fedsched: from {self.path}{what}: {words}", err=True)


def found_here() -> Path | None:
    """Return the path of the current folder's fedsched.toml; None if there is none.

    Raise ConfigError if the user is root and other users can write the file.
    """
    if not DEFAULT.exists():
        return None
    if os.name == "posix" and ownership.user() == 0 and not ownership.only_ours(DEFAULT):
        raise ConfigError(
            f"{DEFAULT}: users other than root can write it, so root does not read it by itself; give --config "
            f"{DEFAULT} to use it, or --config /dev/null for none."
        )
    return DEFAULT


def read(path: Path, app: App, *, named: bool = True) -> Settings:
    """Return the settings in a TOML file; raise if a table is no command or a key is no option of that command.

    Unless the user `named` the file, raise too if it has an option that writes files or reaches other machines.
    """
    try:
        with open_bytes(path) as stream:
            content = parse_toml(stream.read().decode("utf-8"))
    except TraceError as error:
        raise ConfigError(str(error)) from None
    except UnicodeDecodeError:
        raise ConfigError(f"{path}: this is no TOML: it is not UTF-8 text.") from None
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: this is no TOML: {shortened(str(error), 200)}.") from None
    tables: dict[str, dict[str, Any]] = {}
    for name, table in content.items():
        if not isinstance(table, dict):
            raise ConfigError(f"{path}: {name} = {_toml(table)} is in no table; put it below one, like [optimize].")
        known = options_of(app, name, path)
        tables[name] = {}
        for key, value in table.items():
            option = key.replace("_", "-")
            if option not in known:
                raise _unknown(path, f"key in [{name}]", key, known)
            if ".py:" in _toml(value):  # settings of strangers must not run programs
                raise ConfigError(f"{path}: {key} = {_toml(value)} names a program; give it on the command line.")
            if not named and option in ONLY_NAMED:
                raise ConfigError(
                    f"{path}, [{name}]: {key} writes files or reaches another machine, so it is not taken from a file "
                    f"that nobody named; give --{option}, or --config {path} to use the file."
                )
            tables[name][option] = value
        _check_kinds(app, name, tables[name], path)
    return Settings(path, tables)


def _check_kinds(app: App, command: str, table: Mapping[str, Any], path: Path) -> None:
    """Raise ConfigError if a value in a command's table of the file does not have its option's type."""
    from cyclopts import CycloptsError
    from cyclopts.config import Dict

    from fedsched.cli.shared.parse_errors import describe_parse_error

    arguments = app[command].assemble_argument_collection()
    try:
        Dict({command: dict(table)}, source=str(path))(app[command], (command,), arguments)
        check_whole_numbers(app, (command,), arguments)
        for argument in arguments:
            if argument.tokens:
                argument.convert_and_validate()
    except CycloptsError as error:
        text = describe_parse_error(error, table=command)
        raise ConfigError(text if str(path) in text else f"{path}, [{command}]: {text}") from None


def check_whole_numbers(app: App, commands: tuple[str, ...], arguments: ArgumentCollection) -> None:
    """Raise CoercionError if an option for a whole number has a value such as 2.5, which the parser would truncate."""
    from cyclopts import CoercionError

    for argument in arguments:
        if argument.hint not in (int, int | None):
            continue
        for token in argument.tokens:
            if not re.fullmatch(r"[+-]?[\d_]+", token.value.strip()):
                raise CoercionError(argument=argument, token=token, target_type=int)


def options_of(app: App, command: str, path: Path) -> list[str]:
    """Return the names of a command's options without dashes in front; raise if there is no such command."""
    commands = [name for name in app if not name.startswith("-")]
    if command not in commands:
        raise _unknown(path, "command", command, commands)
    arguments = app[command].assemble_argument_collection()
    names = [argument.name for argument in arguments if argument.name.startswith("--")]
    return [name.removeprefix("--") for name in names]


def _unknown(path: Path, kind: str, name: str, known: list[str]) -> UnknownNameError:
    return UnknownNameError(f"{path}: {unknown_name(kind, name, known)}")


def _instead_of(option: str) -> set[str]:
    """Return the options that, on the command line, disable this option of the file."""
    return INSTEAD.get(option, set()) | ({"scenario"} if option in OF_SCENARIOS else set())


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return f'"{value}"'
        case list():
            return f"[{', '.join(_toml(item) for item in value)}]"
        case _:
            return str(value)
