"""What the command line of a job of Slurm's asks for: --dependency, --begin and --nice, among the options of sbatch.

Slurm joins the words of the line by blanks and drops their quotes, so that the end of a text of several words is not
known: what then looks like one of these options is told apart from what surely is one.
"""

from __future__ import annotations

import re
import shlex
from typing import TYPE_CHECKING, NamedTuple

from fedsched.model.nice import BY_ITSELF, MOST

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ("sbatch", "srun", "salloc")
# Options of any of the three that take a word, by their letters and names; all others take none, or one that is joined
# to them by =.
_LETTERS_WITH_A_WORD = frozenset("aABbcCdDeFGiJLmMnNopqrStTwx")
_LETTERS_ALONE = frozenset("hHlOQsuvVXZE")
_WAIT = "W"  # of srun with a word, of the others without
_WITH_A_WORD = frozenset((
    "accel-bind", "account", "acctg-freq", "array", "batch", "bb", "bbf", "bcast-exclude", "begin", "bell-after",
    "burst-buffer", "chdir", "cluster-constraint", "clusters", "comment", "constraint", "container", "container-id",
    "core-spec", "cores-per-socket", "cpu-bind", "cpu-freq", "cpu_bind", "cpus-per-gpu", "cpus-per-task", "deadline",
    "delay-boot", "dependency", "distribution", "environment", "epilog", "error", "exclude", "export", "export-file",
    "extra", "extra-node-info", "gid", "gpu-bind", "gpu-freq", "gpus", "gpus-per-node", "gpus-per-socket",
    "gpus-per-task", "gres", "gres-flags", "hint", "input", "job-name", "jobid", "kill-on-invalid-dep", "label-file",
    "licenses", "mail-type", "mail-user", "mcs-label", "mem", "mem-bind", "mem-per-cpu", "mem-per-gpu", "mem_bind",
    "mincpus", "mpi", "msg-timeout", "network", "nodefile", "nodelist", "nodes", "ntasks", "ntasks-per-core",
    "ntasks-per-gpu", "ntasks-per-node", "ntasks-per-socket", "ntasks-per-tres", "oom-kill-step", "open-mode",
    "output", "partition", "power", "prefer", "priority", "profile", "prolog", "qos", "relative", "reservation",
    "resv", "resv-ports-count", "segment", "send-libs-to", "signal", "slurmd-debug", "sockets-per-node", "switches",
    "task-epilog", "task-prolog", "thread-spec", "threads", "threads-per-core", "time", "time-min", "tmp",
    "tree-width", "tres-bind", "tres-per-job", "tres-per-node", "tres-per-socket", "tres-per-task", "uid",
    "wait-all-nodes", "wckey", "workdir", "wrap",
))  # fmt: skip
_WITHOUT = frozenset((
    "bcast", "bell", "contiguous", "debugger-test", "disable-status", "exact", "exclusive", "external",
    "get-user-env", "help", "hold", "ignore-pbs", "immediate", "interactive", "join", "kill-command",
    "kill-on-bad-exit", "label", "multi-prog", "network-wait", "nice", "no-allocate", "no-bell", "no-kill",
    "no-requeue", "no-shell", "overcommit", "overlap", "oversubscribe", "parsable", "preserve-env", "propagate",
    "pty", "quiet", "quit-on-interrupt", "reboot", "requeue", "resv-ports", "send-libs", "share", "spread-job",
    "stepmgr", "test-only", "unbuffered", "usage", "use-min-nodes", "verbose", "version", "wait", "whole", "x11",
))  # fmt: skip
_NAMES = _WITH_A_WORD | _WITHOUT
_DEPENDENCY, _BEGIN, _ARRAY, _NICE, _WRAP = "dependency", "begin", "array", "nice", "wrap"
_OF_LETTER = {"d": _DEPENDENCY, "b": _BEGIN, "a": _ARRAY}
# How many tasks of an array may run together: the last number of --array=1-100%5.
_TOGETHER = re.compile(r"[\d,:-]+%(\d{1,9})", re.ASCII)
# How a time of several words goes on: now + 1 hour, tomorrow 16:00.
_WHOLE = re.compile(r"[+-]?\d{1,10}", re.ASCII)
_MORE_OF_A_TIME = re.compile(
    r".*\+ \d+[a-z]*|.*\d (?:second|minute|hour|day|week)s?|.*\d [ap]m|now \+\d*[a-z]*|"
    r"(?:to(?:day|morrow)|[\d./-]+) (?:\d\d?:\d\d(?::\d\d)?|midnight|noon|fika|teatime|elevenses)",
    re.IGNORECASE,
)
# What may hold one of these options at all: nearly no line does, and lines are many.
_MAY_ASK = re.compile(r" -(?:[db]|-de|-be|-ni|[A-Za-z]{1,6}[db])|\d%\d")
# What looks like one of them where the options may be over: a script has words of its own.
_LIKE_A_DEPENDENCY = re.compile(
    r"(?:^| )(?:--depend[a-z]*[= ]|-d ?)(?:after[a-z]*:|expand:|singleton\b|[0-9]+(?:_[0-9*]+)?,)", re.IGNORECASE
)
_LIKE_A_BEGIN = re.compile(
    r"(?:^| )(?:--begin[= ]|-b ?)"
    r"(?:now|to(?:day|morrow)|midnight|noon|fika|teatime|elevenses|\d\d?:\d\d|\d{4}-\d\d?-\d)",
    re.IGNORECASE,
)


class Asked(NamedTuple):
    """What a command line asks for, '' where it does not; and whether words that are not sure look like it."""

    dependency: str = ""
    begin: str = ""
    together: str = ""  # tasks of its array
    nice: int = 0
    maybe_dependency: bool = False
    maybe_begin: bool = False


NOTHING = Asked()


def worth_reading(lines: list[str]) -> list[int]:
    """Return which of many command lines may ask for anything."""
    may_ask = _MAY_ASK.search
    return [k for k, line in enumerate(lines) if may_ask(line) or "'-" in line or '"-' in line]


def asked_in(line: str) -> Asked:
    """Return what a command line asks for."""
    words = _words(line)
    program = words[0].rpartition("/")[2] if words else ""
    if program not in PROGRAMS:
        return _maybe(words)
    found: dict[str, str] = {}
    rest: list[str] = []
    for option, value, left in options_of(words[1:], alone=program != "srun"):
        if option in (_DEPENDENCY, _BEGIN, _ARRAY, _NICE):
            found[option] = value  # the last of several holds
        rest = left
        if option == _WRAP and left and " " not in value:
            break  # the command's words may go on: where they end is not known
    unsure = _maybe(rest)
    limit = _TOGETHER.fullmatch(found.get(_ARRAY, "").strip())
    return unsure._replace(
        dependency=found.get(_DEPENDENCY, ""),
        begin=found.get(_BEGIN, ""),
        together=limit[1] if limit else "",
        nice=_nice(found[_NICE]) if _NICE in found else 0,
    )


def _nice(text: str) -> int:
    """Return what --nice takes off a priority; of itself it is 100, and one that Slurm refuses takes nothing."""
    if not text:
        return BY_ITSELF
    return int(text) if _WHOLE.fullmatch(text) and abs(int(text)) <= MOST else 0


def _words(line: str) -> list[str]:
    if "'" in line or '"' in line or "\\" in line:
        try:
            return shlex.split(line)
        except ValueError:
            pass  # an apostrophe whose like was no quote
    return line.split()


def _maybe(words: list[str]) -> Asked:
    text = " ".join(words)
    if " -" not in text and not text.startswith("-"):
        return NOTHING
    return Asked("", "", "", 0, bool(_LIKE_A_DEPENDENCY.search(text)), bool(_LIKE_A_BEGIN.search(text)))


def options_of(words: list[str], *, alone: bool) -> Iterator[tuple[str, str, list[str]]]:
    """Return the options by name, each with its word and the words behind it; at last '' with those that are left.

    `alone`: whether --wait has no word.
    """
    k = 0
    while k < len(words):
        word = words[k]
        k += 1
        if word == ":":  # the next component of a heterogeneous job
            continue
        if word == "--" or len(word) < 2 or not word.startswith("-"):
            yield "", "", words[k - (word != "--") :]
            return
        if word.startswith("--"):
            name, joined, value = word[2:].partition("=")
            name = _whole(name)
            takes = name in _WITH_A_WORD or (name == "wait" and not alone)
        else:
            name, value, joined, takes = _of_letters(word[1:], alone=alone)
        if takes and not joined:
            value = words[k] if k < len(words) else ""
            k += 1
        while name == _BEGIN and k < len(words) and _MORE_OF_A_TIME.fullmatch(f"{value} {words[k]}"):
            value = f"{value} {words[k]}"
            k += 1
        yield name, value, words[k:]
    yield "", "", []


def _whole(name: str) -> str:
    """Return the option that a name, or the begin of only one, is."""
    if name in _NAMES:
        return name
    begun = [one for one in _NAMES if one.startswith(name)] if name else []
    return begun[0] if len(begun) == 1 else name


def _of_letters(letters: str, *, alone: bool) -> tuple[str, str, str, bool]:
    """Return the last option of a bundle as -Hd is: its name, its word, what is joined to it, whether it has a word."""
    for k, letter in enumerate(letters):
        rest = letters[k + 1 :]
        if letter in _LETTERS_WITH_A_WORD or (letter == _WAIT and not alone):
            return _OF_LETTER.get(letter, letter), rest, rest, True
        if letter not in _LETTERS_ALONE and letter != _WAIT:  # its word is joined to it, or it is not known
            return letter, rest, rest, False
    return letters, "", "", False
