"""The parameters of Slurm's two schedulers in a slurm.conf: set or by default, modelled or not.

Some defaults differ by Slurm's version.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError, shortened
from fedsched.io.slurm_files.slurm_keys import GLOBAL, KEYS, not_modelled_of, word_in_note, words_of
from fedsched.io.slurm_files.slurm_values import NOTHING, seconds_of, whole_of

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from fedsched.io.slurm_files.slurm_conf import Line, SlurmConf

VERSION_KEY = "slurm_version"  # as `scontrol show config` names it
# Defaults of parameters that affect starts, each with the version since which it holds, the newest last.
DEFAULTS: Mapping[str, tuple[tuple[tuple[int, int], str], ...]] = {
    "SelectType": (((0, 0), "select/linear"), ((23, 11), "select/cons_tres")),
    "PriorityType": (((0, 0), "priority/basic"), ((23, 11), "priority/multifactor")),
}
_VERSION = re.compile(r"(\d{1,2})\.(\d{1,2})(?:[.-].*)?", re.ASCII)


def with_version(conf: SlurmConf, version: str | None) -> SlurmConf:
    """Return the conf with Slurm's version set to `version`; return the conf itself if that is None."""
    return conf if version is None else replace(conf, parameters={**conf.parameters, VERSION_KEY: version})


def version_of(conf: SlurmConf) -> tuple[int, int] | None:
    """Return Slurm's version of a conf as two numbers, such as (22, 5); None if it is unknown."""
    said = conf.parameters.get(VERSION_KEY)
    if said is None:
        return None
    match = _VERSION.fullmatch(said)
    if match is None:
        raise FederationError(f"{conf.path}: Slurm's version {shortened(repr(said))} is none like 22.05 or 23.11.")
    return int(match[1]), int(match[2])


def value_or_default(conf: SlurmConf, name: str) -> str:
    """Return a parameter's value in lower case.

    If the conf does not set it, this is the default of the conf's Slurm version, or of the newest if that is unknown.
    """
    version = version_of(conf)
    usual = [value for since, value in DEFAULTS[name] if version is None or version >= since][-1]
    return conf.parameters.get(name.lower(), usual).lower()


def assumption_note(conf: SlurmConf) -> str:
    """Return a note on the defaults that are used and why; "" if the conf sets all that differ by version."""
    taken = [f"{name}={value_or_default(conf, name)}" for name in DEFAULTS if name.lower() not in conf.parameters]
    if not taken:
        return ""
    if version_of(conf) is not None:
        why = f"the defaults of Slurm {conf.parameters[VERSION_KEY]}"
    else:
        why = "the newest defaults; slurm_version= (fedsched: --slurm-version) tells of a Slurm before 23.11"
    return f"assumed of {conf.path}: {', '.join(taken)} ({why})"


BUILTIN, BACKFILL = "sched/builtin", "sched/backfill"
LINEAR, CONS_TRES = "select/linear", "select/cons_tres"
BASIC, MULTIFACTOR = "priority/basic", "priority/multifactor"
OFF = -1  # as an interval: that scheduler makes no passes

# The numbers among SchedulerParameters: name, Slurm's default, least value, and the unit in seconds.
NUMBERS: Mapping[str, tuple[int, int, int]] = {
    "sched_interval": (60, OFF, 1),
    "batch_sched_delay": (3, 0, 1),
    "default_queue_depth": (100, 0, 1),
    "bf_interval": (30, OFF, 1),
    "bf_resolution": (60, 1, 1),
    "bf_window": (1440, 1, 60),
    "bf_window_linear": (0, 0, 1),
    "bf_max_job_test": (500, 1, 1),
    "bf_max_job_user": (0, 0, 1),
    "bf_max_job_part": (0, 0, 1),
    "bf_max_job_start": (0, 0, 1),
    "bf_max_job_array_resv": (20, 0, 1),
    "bf_min_age_reserve": (0, 0, 1),
    "bf_min_prio_reserve": (0, 0, 1),
    "bf_job_part_count_reserve": (0, 0, 1),
    "bf_max_job_assoc": (0, 0, 1),
    "bf_max_job_user_part": (0, 0, 1),
    "partition_job_depth": (0, 0, 1),
    "sched_max_job_start": (0, 0, 1),
    "bf_max_time": (0, 0, 1),
}
OF_SCHEDULING = ("scheduler", "select", "preempt")  # prefixes of keys that later versions may add
SELECTION, OF_MEMORY = "SelectTypeParameters", ("CR_CORE_MEMORY", "CR_CPU_MEMORY")
STOPS = "assoc_limit_stop"
SWITCHES = (STOPS, "bf_continue")  # bf_continue changes nothing here: a pass never yields, so no change can end it


@dataclass(frozen=True, slots=True)
class Parameters:
    """The parameters of Slurm's main and backfill schedulers; all times are in seconds."""

    backfill: bool
    cons_tres: bool
    multifactor: bool
    numbers: Mapping[str, int]  # by the words of SchedulerParameters
    kill_wait: int
    over_time_limit: int
    limits_stop: bool  # a job over a limit of accounts blocks its partition (assoc_limit_stop)
    selection: tuple[str, ...]  # the words of SelectTypeParameters
    not_modelled: tuple[str, ...]
    threads: int = 1  # threads per core, the largest of all nodes

    @property
    def shares_memory(self) -> bool:
        """Return whether jobs share nodes, with cores and memory of their own: cons_tres with CR_*_Memory."""
        return self.cons_tres and any(word.upper() in OF_MEMORY for word in self.selection)

    def not_modelled_on(self, *, shared: bool) -> tuple[str, ...]:
        """Return the settings that are not modelled: on shared nodes, or else on nodes that are allocated whole."""
        if not shared:
            return self.not_modelled
        others = [word for word in self.selection if word.upper() not in OF_MEMORY]
        kept = (one for one in self.not_modelled if not one.startswith(f"{SELECTION}="))
        found = [*kept, *([f"{SELECTION}={','.join(others)}"] if others else [])]
        if self.threads > 1 and not any(word.upper().startswith("CR_CPU") for word in self.selection):
            found.append(f"ThreadsPerCore={self.threads} (jobs are given CPUs, and not whole cores)")
        return tuple(found)


def parameters_of(conf: SlurmConf) -> Parameters:
    """Return the scheduler parameters of a slurm.conf; raise FederationError if a value is invalid or not modelled."""
    words = dict(_scheduler_words(conf))
    numbers = {name: _number(conf, words, name) for name in NUMBERS}
    numbers["bf_max_time"] = numbers["bf_max_time"] or max(numbers["bf_interval"], 1)
    scheduler = _one_of(conf, "SchedulerType", (BACKFILL, BUILTIN), conf.parameters.get("schedulertype", BACKFILL))
    select = _one_of(conf, "SelectType", (LINEAR, CONS_TRES), value_or_default(conf, "SelectType"))
    priority = _one_of(conf, "PriorityType", (BASIC, MULTIFACTOR), value_or_default(conf, "PriorityType"))
    over = conf.parameters.get("overtimelimit", "0")
    return Parameters(
        backfill=scheduler == BACKFILL and numbers["bf_interval"] != OFF,
        cons_tres=select == CONS_TRES,
        multifactor=priority == MULTIFACTOR,
        numbers=numbers,
        kill_wait=_whole(conf, "KillWait", conf.parameters.get("killwait", "30"), 0),
        # Slurm itself takes UNLIMITED to be 65533 minutes.
        over_time_limit=65_533 * 60 if over.upper() == "UNLIMITED" else int(seconds_of(over, _where(conf))),
        limits_stop=STOPS in words,
        selection=tuple(_selection(conf)),
        not_modelled=tuple(_not_modelled(conf)),
        threads=max((_threads(line) for line in conf.nodes.values()), default=1),
    )


def tiers_of(conf: SlurmConf) -> dict[str, int]:
    """Return the priority tier of each partition by name, 1 by default; raise FederationError if one is invalid."""
    found = {}
    for name, line in conf.partitions.items():
        text = line.words.get("prioritytier") or line.words.get("priority") or "1"
        if not re.fullmatch(r"\d{1,5}", text, re.ASCII) or int(text) > 65_533:
            raise FederationError(f"{line.where}: PriorityTier={shortened(text)} is no whole number up to 65533.")
        found[name] = int(text)
    return found


def _threads(line: Line) -> int:
    return whole_of(line.words.get("threadspercore", "1"), line.where, "ThreadsPerCore")


def _where(conf: SlurmConf) -> str:
    return conf.path


def _scheduler_words(conf: SlurmConf) -> Iterator[tuple[str, str]]:
    for one in filter(None, conf.parameters.get("schedulerparameters", "").split(",")):
        name, _, value = one.strip().partition("=")
        yield name.lower(), value.strip()


def _one_of(conf: SlurmConf, name: str, known: tuple[str, ...], said: str) -> str:
    text = said.lower()
    if text not in known:
        raise FederationError(f"{_where(conf)}: {name}={shortened(text)} is not modelled; give {' or '.join(known)}.")
    return text


def _number(conf: SlurmConf, words: Mapping[str, str], name: str) -> int:
    usual, least, unit = NUMBERS[name]
    value = usual if name not in words else _whole(conf, name, words[name], least)
    return value * unit


def _whole(conf: SlurmConf, name: str, text: str, least: int) -> int:
    if not re.fullmatch(r"-?\d{1,10}", text, re.ASCII) or int(text) < least:
        raise FederationError(f"{_where(conf)}: {name}={shortened(text)} is no whole number from {least} on.")
    return int(text)


def _not_modelled(conf: SlurmConf) -> Iterator[str]:
    for key, value in not_modelled_of(GLOBAL, conf.parameters):
        if key.name == "SchedulerParameters":
            yield from value.split(",")
        elif key.name != SELECTION and not key.name.startswith("Priority"):  # PriorityParameters.left_out has these
            yield f"{key.name}={value}"
    if selection := ",".join(_selection(conf)):
        yield f"{SELECTION}={selection}"
    for name, value in conf.parameters.items():  # only of scontrol's output: a file's unread keys are in `strange`
        if name.startswith(OF_SCHEDULING) and name not in KEYS[GLOBAL] and not conf.strange:
            yield f"{name}={value}"


def _selection(conf: SlurmConf) -> Iterator[str]:
    for word, name in words_of(SELECTION, conf.parameters.get(SELECTION.lower(), "")):
        if name not in NOTHING:
            yield word_in_note(SELECTION, word)
