"""Changes some parameters of a slurm.conf; gives the result as a configuration, as text, and as a diff."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace
from typing import TYPE_CHECKING

from fedsched.io.slurm_files.slurm_conf import texts_of_conf
from fedsched.io.slurm_files.slurm_values import seconds_of
from fedsched.site.tuning.genes import GENES, TIMES, is_limit, limit_in

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.io.slurm_files.slurm_conf import SlurmConf
    from fedsched.slurm.priority.associations import Associations

WORDS = "SchedulerParameters"
_VALUE = r"(\"[^\"\n]*\"|(?:\\[ \t]*\n|[^\s#])*)"  # a value in a conf's text, continuation lines included


def value_in(conf: SlurmConf, name: str, accounts: Associations | None = None) -> str:
    """Return as text the value of a gene (a parameter that may be changed) in a conf; Slurm's default if it is not set.

    With accounts, a gene that is a limit of a QOS is looked up in these. Times are in minutes.
    """
    if accounts is not None and is_limit(name):
        return limit_in(accounts, name)
    gene = GENES[name]
    if gene.word:
        return _words(conf).get(name, gene.usual)
    said = conf.parameters.get(name.lower())
    if said is None or name not in TIMES:
        return gene.usual if said is None else said
    minutes = seconds_of(said, f"{conf.path}: {name}") / 60.0
    return f"{min(minutes, gene.most):.0f}"


def changed(conf: SlurmConf, values: Mapping[str, str]) -> SlurmConf:
    """Return the conf with these values of genes; values of limits are ignored, since they are in the accounts."""
    return replace(conf, parameters={**conf.parameters, **_parameters(conf, values)})


def changed_texts(conf: SlurmConf, values: Mapping[str, str]) -> dict[str, tuple[str, str]]:
    """Return, by path, the text before and after of each file of a conf that these values change.

    The last occurrence of a parameter is changed, also in an included file. A parameter that the conf lacks is added at
    the end of the main file.
    """
    before = texts_of_conf(conf.path)
    after = dict(before)
    spelled = {name.lower(): name for name in (*GENES, WORDS)}
    for small, value in _parameters(conf, values).items():
        pattern = re.compile(rf"(?im)^([^#\n]*?\b)({small})(\s*=\s*){_VALUE}")
        for path in reversed(after):
            found = list(pattern.finditer(after[path]))
            if found:
                last = found[-1]
                text = after[path]
                after[path] = f"{text[: last.start(4)]}{value}{text[last.end(4) :]}"
                break
        else:
            text = after[conf.path]
            end = "" if not text or text.endswith("\n") else "\n"
            after[conf.path] = f"{text}{end}{spelled[small]}={value}\n"
    return {path: (before[path], text) for path, text in after.items() if text != before[path]}


def diff_of(conf: SlurmConf, values: Mapping[str, str]) -> str:
    """Return the changes of these values to the conf's files in the format of `diff -u`, for `patch`."""
    lines: list[str] = []
    for path, (before, after) in changed_texts(conf, values).items():
        lines += difflib.unified_diff(
            before.splitlines(keepends=True), after.splitlines(keepends=True), f"{path}", f"{path} (tuned)", n=1
        )
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _parameters(conf: SlurmConf, values: Mapping[str, str]) -> dict[str, str]:
    here = {name: value for name, value in values.items() if not is_limit(name)}
    found = {name.lower(): value for name, value in here.items() if not GENES[name].word}
    words = {name: value for name, value in here.items() if GENES[name].word}
    if words:
        told = {**_words(conf), **words}
        found[WORDS.lower()] = ",".join(name if value == "" else f"{name}={value}" for name, value in told.items())
    return found


def _words(conf: SlurmConf) -> dict[str, str]:
    found = {}
    for one in filter(None, conf.parameters.get(WORDS.lower(), "").split(",")):
        name, _, value = one.strip().partition("=")
        found[name.lower() if name.lower() in GENES else name] = value.strip()
    return found
