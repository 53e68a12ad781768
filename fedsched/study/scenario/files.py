"""Read and write scenarios as TOML: one table for each part, with the values that differ from the defaults."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any, get_type_hints

from fedsched.core.errors import ConfigError, FedschedError, shortened, unknown_name
from fedsched.core.values import fits, kinds_in_words
from fedsched.io.atomic import atomic_text
from fedsched.io.examples import names_shipped
from fedsched.io.files import STDIN, parse_toml, read_text
from fedsched.io.platforms.toml import federation_of_data, federation_text, quoted
from fedsched.model.machine.federation import Federation
from fedsched.model.reading import Reading
from fedsched.study.scenario.policy_choice import PolicyChoice
from fedsched.study.scenario.scenario import Scenario
from fedsched.study.scenario.scenario_parts import Log, Machine, Made, words_of
from fedsched.study.scenario.signals import cap_files

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

TABLES: dict[str, type] = {
    "log": Log, "generate": Made, "machine": Machine, "policy": PolicyChoice, "reading": Reading,
}  # fmt: skip
FILES = ("partitions", "calendar", "hosts", "conf", "assoc", "clocks")  # keys that name files
# Keys that name files, possibly with a cluster before them: north=prices.csv.
SIGNALS = ("tariff", "carbon", "tariff_forecast", "carbon_forecast")
# Keys of a federation written in [machine] itself, as in a federation's file.
INLINE = ("name", "description", "cluster", "pool", "partition", "downtime", "limit", "signal")


def read_scenario(path: str | PathLike[str]) -> Scenario:
    """Return the scenario in a TOML file; an error names file, table, key and value."""
    if not Path(path).exists():
        raise ConfigError(f"{path}: there is no such file; check the path of the scenario.")
    if Path(path).is_dir():
        raise ConfigError(f"{path}: it is a folder; a scenario is a file in it.")
    try:
        data = parse_toml(read_text(path))
    except FedschedError as error:
        raise ConfigError(str(error)) from error
    except (ValueError, RecursionError) as error:
        raise ConfigError(f"{path}: not valid TOML: {shortened(str(error), 200)}.") from error
    for key, value in data.items():
        if key not in (*TABLES, "seed", "name"):
            raise ConfigError(f"{path}: {unknown_name('table or key', key, (*TABLES, 'seed', 'name'))}")
        if key in TABLES and not isinstance(value, Mapping):
            raise ConfigError(
                f"{path}: {key}={shortened(repr(value))} must be a table: write [{key}] and keys below it."
            )
    given = [name for name in ("log", "generate") if name in data]
    if len(given) != 1:
        what = "both [log] and [generate]" if given else "neither [log] nor [generate]"
        raise ConfigError(f"{path}: it has {what}; give the jobs in exactly one of them.")
    parts = {name: _part(path, name, table) for name, table in data.items() if name in TABLES}
    _check(path, "seed", data.get("seed", 0), int)
    _check(path, "name", data.get("name", ""), str)
    jobs = parts.pop(given[0])
    try:
        scenario = Scenario(jobs=jobs, **parts, seed=data.get("seed", 0), name=data.get("name", ""))
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}: {error}") from None
    try:
        scenario.policy.policy(seed=scenario.seed)
    except (ValueError, TypeError) as error:
        raise ConfigError(f"{path}, [policy]: {error}") from None
    return scenario


def _part(path: str | PathLike[str], name: str, table: Mapping[str, Any]) -> Any:
    """Return the part of a scenario that a table describes, after checking its values."""
    noun, where, inline = TABLES[name], f"{path}, [{name}]", {}
    hints = get_type_hints(noun, localns={"Federation": Federation})
    known = [field.name for field in fields(noun)]
    for key in table:
        if noun is Machine and key in INLINE and not _of_texts(table[key]):
            inline[key] = table[key]
        elif key not in known:
            raise ConfigError(f"{where}: {unknown_name('key', key, [*known, *(INLINE if noun is Machine else ())])}")
        else:
            _check(where, key, table[key], str if key == "federation" else hints[key])
    values = {key: _as_given(table[key]) for key in table if key not in inline}
    for field in fields(noun):
        if field.name in ("file", "model") and field.name not in values:
            raise ConfigError(f"{where}: the key {field.name!r} is missing.")
    for key in {"file", "federation", *FILES} & set(values):
        values[key] = _from_folder(values[key], Path(path).parent, key)
    for key in set(SIGNALS) & set(values):
        parts = [one.rpartition("=") for one in values[key]]
        values[key] = tuple(f"{whose}{sign}{_from_folder(file, Path(path).parent, key)}" for whose, sign, file in parts)
    for file in cap_files(values.get("cap", ())):
        there = _from_folder(file, Path(path).parent, "cap")
        values["cap"] = tuple(one.removesuffix(file) + there if one.endswith(file) else one for one in values["cap"])
    if inline:
        if "federation" in values or "cluster" not in inline:
            raise ConfigError(f"{where}: [[machine.cluster]] and federation both give clusters; leave one out.")
        values["federation"] = federation_of_data(inline, source=where, name=Path(path).stem)
    try:
        return noun(**values)
    except (FedschedError, ValueError, TypeError) as error:
        raise ConfigError(f"{where}: {error}") from None


def _of_texts(value: Any) -> bool:
    # pool = ["matlab=40"] adds to any federation; [[machine.pool]] is part of a federation written in this table.
    return isinstance(value, list) and all(isinstance(one, str) for one in value)


def _from_folder(name: str, folder: Path, key: str) -> str:
    # A path relative to the scenario's folder, unless it names standard input or something shipped with the package.
    path = folder / name
    ships = key in ("file", "federation") and names_shipped(name, folder)
    return name if ships or name == STDIN else os.path.normpath(path)


def _check(where: object, key: str, value: object, hint: Any) -> None:
    if not fits(value, hint):
        raise ConfigError(f"{where}: {key}={shortened(repr(value))} must be {kinds_in_words(hint)}.")


def _as_given(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value


def write_scenario(scenario: Scenario, path: str | PathLike[str]) -> None:
    """Write a scenario to a TOML file; relative paths in it start at the file's folder."""
    with atomic_text(path) as out:
        out.write(scenario_text(scenario, folder=Path(path).parent))


def scenario_text(scenario: Scenario, *, folder: Path | None = None) -> str:
    """Return a scenario as TOML; relative paths start at `folder` if that is given."""

    def located(name: str, ships: Callable[[str], bool]) -> str:
        moved = folder is not None and name != STDIN and not Path(name).is_absolute() and not ships(name)
        return os.path.relpath(name, folder) if moved else name

    head = [f"name = {quoted(scenario.name)}"] if scenario.name else []
    head += [f"seed = {scenario.seed}"] if scenario.seed else []
    tables, inline = [], ""
    for name, part in (
        ("log" if isinstance(scenario.jobs, Log) else "generate", scenario.jobs),
        ("machine", scenario.machine),
        ("policy", scenario.policy),
        ("reading", scenario.reading),
    ):
        words = words_of(part)
        if isinstance(words.get("federation"), Federation):
            inline = federation_text(words.pop("federation"), table="machine")
        elif "federation" in words:
            words["federation"] = located(words["federation"], names_shipped)
        for key in set(FILES) & set(words):
            words[key] = located(words[key], lambda _: False)
        if "file" in words:
            words["file"] = located(words["file"], names_shipped)
        lines = [f"{key} = {_toml(value)}" for key, value in words.items()]
        if name == "machine" and inline:
            lines.append(inline.rstrip("\n"))
        if lines:
            tables.append("\n".join([f"[{name}]", *lines]))
    return "\n\n".join(["\n".join(head)] * bool(head) + tables) + "\n"


def _toml(value: object) -> str:
    match value:
        case bool():
            return str(value).lower()
        case str():
            return quoted(value)
        case tuple():
            return f"[{', '.join(_toml(item) for item in value)}]"
        case _:
            return repr(value)
