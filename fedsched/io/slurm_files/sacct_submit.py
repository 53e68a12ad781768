"""Requests in the command line of a Slurm job (sbatch, srun, salloc) that no field of sacct contains.

Slurm joins the words of the line by blanks and drops their quotes. The end of a text of several words is then unknown,
so that words which only look like an option are kept apart from certain options.
"""

from __future__ import annotations

import re
import shlex
from functools import lru_cache
from typing import TYPE_CHECKING, NamedTuple

from fedsched.io.slurm_files.slurm_options import COUNTED, LETTERS, OPTIONS, RANGE_OF_NODES, WITH_A_WORD, several_names
from fedsched.model.jobs.requests import DEFAULT_NICE, MOST_NICE

if TYPE_CHECKING:
    from collections.abc import Iterator

PROGRAMS = ("sbatch", "srun", "salloc")
# Letters of options that take a value, and of those that take none; all other letters may have one joined to them.
_LETTERS_WITH_A_WORD = frozenset("aABbcCdDeFGiJLmMnNopqrStTwx")
_LETTERS_ALONE = frozenset("hHlOQsuvVXZE")
_WAIT = "W"  # takes a value for srun, none for the others
_DEPENDENCY, _BEGIN, _ARRAY, _NICE, _WRAP = "dependency", "begin", "array", "nice", "wrap"
_NODES, _EXCLUSIVE, _LICENSES, _PARTITION = "nodes", "exclusive", "licenses", "partition"
_ALONE = ("", "exclusive")  # values of --exclusive that mean whole nodes
_RANGE = re.compile(r"(\d+[kKmM]?)(?:-(\d+[kKmM]?)|[-,:].*)")
# How many tasks of an array may run at once: the last number in --array=1-100%5.
_TOGETHER = re.compile(r"[\d,:-]+%(\d{1,9})", re.ASCII)
_WHOLE = re.compile(r"[+-]?\d{1,10}", re.ASCII)
# A time of several words: now + 1 hour, tomorrow 16:00.
_MORE_OF_A_TIME = re.compile(
    r".*\+ \d+[a-z]*|.*\d (?:second|minute|hour|day|week)s?|.*\d [ap]m|now \+\d*[a-z]*|"
    r"(?:to(?:day|morrow)|[\d./-]+) (?:\d\d?:\d\d(?::\d\d)?|midnight|noon|fika|teatime|elevenses)",
    re.IGNORECASE,
)
# Words that look like these options after the options may have ended: a script may have such words of its own.
_LIKE_A_DEPENDENCY = re.compile(
    r"(?:^| )(?:--depend[a-z]*[= ]|-d ?)(?:after[a-z]*:|expand:|singleton\b|[0-9]+(?:_[0-9*]+)?,)", re.IGNORECASE
)
_LIKE_A_BEGIN = re.compile(
    r"(?:^| )(?:--begin[= ]|-b ?)"
    r"(?:now|to(?:day|morrow)|midnight|noon|fika|teatime|elevenses|\d\d?:\d\d|\d{4}-\d\d?-\d)",
    re.IGNORECASE,
)


class Requests(NamedTuple):
    """The requests of a job's command line: texts of options, "" if an option is missing.

    `maybe_dependency` and `maybe_begin` say whether words that may not be options look like these. `beyond` has the
    names of options that are not modelled.
    """

    dependency: str = ""
    begin: str = ""
    together: str = ""  # how many tasks of its array may run at once
    nice: int = 0
    maybe_dependency: bool = False
    maybe_begin: bool = False
    licenses: str = ""
    exclusive: bool = False
    partitions: bool = False  # it names several partitions, any of which will do
    beyond: tuple[str, ...] = ()


NO_REQUESTS = Requests()


def lines_with_requests(lines: list[str], untold: frozenset[str] = frozenset()) -> list[int]:
    """Return the indices of command lines that may have requests, a quick choice before they are parsed.

    `untold` are the options for which the dump has no column.
    """
    may_ask = _may_ask(untold).search
    return [k for k, line in enumerate(lines) if may_ask(line) or "'-" in line or '"-' in line]


@lru_cache
def _may_ask(untold: frozenset[str]) -> re.Pattern[str]:
    """Return a pattern that finds command lines that may have requests; only these are parsed."""
    wanted = {_DEPENDENCY, _BEGIN, _NICE, _EXCLUSIVE, _LICENSES, *COUNTED, *untold}
    names = "|".join(sorted(_shortest(name) for name in wanted))
    letters = "".join(letter for letter, name in LETTERS.items() if name in wanted)
    several_names = "|".join(f"-{letter} ?|--{_shortest(LETTERS[letter])}[a-z]*[= ]" for letter in "pq")
    return re.compile(
        rf" -(?:-(?:{names})|[A-Za-z]{{0,6}}[{letters}])|\d%\d| (?:-N ?|--nodes[= ])\S*[-,:]|"
        rf" (?:{several_names}|--reserv[a-z]*[= ])\S*,"
    )


def _shortest(name: str) -> str:
    """Return the shortest prefix of an option's name that no other option has; the whole name if there is none."""
    ends = (k for k in range(1, len(name)) if sum(one.startswith(name[:k]) for one in OPTIONS) == 1)
    return name[: next(ends, len(name))]


def requests_in(line: str, untold: frozenset[str] = frozenset()) -> Requests:
    """Return the requests in the command line of a job (sbatch, srun or salloc).

    For another program only `maybe_dependency` and `maybe_begin` are set. `untold` are the options for which the dump
    has no column: they are in `beyond`, as not modelled.
    """
    words = _words(line)
    program = words[0].rpartition("/")[2] if words else ""
    if program not in PROGRAMS:
        return _uncertain_requests(words)
    found: dict[str, str] = {}
    rest: list[str] = []
    for option, value, left in options_of(words[1:], alone=program != "srun"):
        found[option] = value  # the last one of several holds
        rest = left
        if option == _WRAP and left and " " not in value:
            break  # where the words of the command end is not known
    unsure = _uncertain_requests(rest)
    limit = _TOGETHER.fullmatch(found.get(_ARRAY, "").strip())
    return unsure._replace(
        dependency=found.get(_DEPENDENCY, ""),
        begin=found.get(_BEGIN, ""),
        together=limit[1] if limit else "",
        nice=_nice(found[_NICE]) if _NICE in found else 0,
        licenses=found.get(_LICENSES, ""),
        exclusive=found.get(_EXCLUSIVE, "none") in _ALONE,
        partitions="," in found.get(_PARTITION, ""),
        beyond=tuple(sorted(filter(None, (_unmodelled_option(name, value, untold) for name, value in found.items())))),
    )


def _unmodelled_option(name: str, value: str, untold: frozenset[str]) -> str:
    """Return the name under which an option that is not modelled is counted; "" for an option that is modelled."""
    if name in COUNTED or name in untold:
        return f"--{name}"
    if name == _EXCLUSIVE and value not in _ALONE:
        return f"--{name}={value}"
    if name == _NODES and (match := _RANGE.fullmatch(value)) is not None and match[1] != match[2]:
        return RANGE_OF_NODES
    return several_names(name, value) if name in ("qos", "reservation") else ""


def _nice(text: str) -> int:
    """Return the number that the value of --nice means: 100 for an empty text, 0 for a value that Slurm refuses."""
    if not text:
        return DEFAULT_NICE
    return int(text) if _WHOLE.fullmatch(text) and abs(int(text)) <= MOST_NICE else 0


def _words(line: str) -> list[str]:
    if "'" in line or '"' in line or "\\" in line:
        try:
            return shlex.split(line)
        except ValueError:
            pass  # an apostrophe, not a quote
    return line.split()


def _uncertain_requests(words: list[str]) -> Requests:
    text = " ".join(words)
    if " -" not in text and not text.startswith("-"):
        return NO_REQUESTS
    dependency, begin = _LIKE_A_DEPENDENCY.search(text), _LIKE_A_BEGIN.search(text)
    return Requests(maybe_dependency=dependency is not None, maybe_begin=begin is not None)


def options_of(words: list[str], *, alone: bool) -> Iterator[tuple[str, str, list[str]]]:
    """Give each option of a command line: its full name, its value ("" if none) and the words after it.

    The last item has the name "" and the words after all options, which are the script and its arguments. `alone` says
    whether -W and --wait take no value, as for all programs but srun.
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
            takes = name in WITH_A_WORD or (name == "wait" and not alone)
        else:
            *others, (name, value, joined, takes) = _of_letters(word[1:], alone=alone)
            yield from ((one, "", words[k:]) for one, *_ in others)
        if takes and not joined:
            value = words[k] if k < len(words) else ""
            k += 1
        while name == _BEGIN and k < len(words) and _MORE_OF_A_TIME.fullmatch(f"{value} {words[k]}"):
            value = f"{value} {words[k]}"
            k += 1
        yield name, value, words[k:]
    yield "", "", []


def _whole(name: str) -> str:
    """Return the full name of the option of which `name` is a unique prefix; any other name unchanged."""
    if name in OPTIONS:
        return name
    begun = [one for one in OPTIONS if one.startswith(name)] if name else []
    return begun[0] if len(begun) == 1 else name


def _of_letters(letters: str, *, alone: bool) -> Iterator[tuple[str, str, str, bool]]:
    """Give the options in a bundle of letters like -Hd: name, value, the text joined to it, whether it takes a value.

    An option that takes a value ends the bundle; the rest of the letters is its value.
    """
    for k, letter in enumerate(letters):
        rest, name = letters[k + 1 :], LETTERS.get(letter, letter)
        if letter in _LETTERS_WITH_A_WORD or (letter == _WAIT and not alone):
            yield name, rest, rest, True
            return
        if letter not in _LETTERS_ALONE and letter != _WAIT:  # its word is joined to it, or it is not known
            yield name, rest, rest, False
            return
        yield name, "", "", False
