"""Slurm's lists of hosts: `cn[001-064,070],gpu[1-4]`, `r[1-2]n[01-16]`."""

from __future__ import annotations

import re
from itertools import product

from fedsched.core.errors import FederationError, shortened

MOST_HOSTS = 1_000_000  # in one list: a mistyped range must not fill the memory
_PART = re.compile(r"[^\s,\[\]]+(?:\[[0-9,\-]+\][^\s,\[\]]*)*|\[[0-9,\-]+\][^\s,\[\]]*", re.ASCII)
_RANGE = re.compile(r"(\d{1,9})(?:-(\d{1,9}))?", re.ASCII)


def hosts_of(text: str, where: str) -> list[str]:
    """Return the names in a list of hosts, in its order and without repetitions."""
    found: dict[str, None] = {}
    at = 0
    while at < len(text):
        match = _PART.match(text, at)
        if match is None or (match.end() < len(text) and text[match.end()] != ","):
            raise _no_list(text, where)
        found.update(dict.fromkeys(_expanded(match[0], where)))
        if len(found) > MOST_HOSTS:
            raise FederationError(f"{where}: {shortened(repr(text))} are more than {MOST_HOSTS:,} hosts.")
        at = match.end() + 1
        if at == len(text):  # it ends with a comma
            raise _no_list(text, where)
    return list(found)


def _expanded(part: str, where: str) -> list[str]:
    pieces = [_members(piece, where) if k % 2 else [piece] for k, piece in enumerate(re.split(r"\[|\]", part))]
    count = 1
    for piece in pieces:
        count *= len(piece)
    if count > MOST_HOSTS:
        raise FederationError(f"{where}: {shortened(repr(part))} are more than {MOST_HOSTS:,} hosts.")
    return ["".join(combined) for combined in product(*pieces)]


def _members(ranges: str, where: str) -> list[str]:
    # The numbers in a pair of brackets; 001-064 keeps its zeros.
    numbers: list[str] = []
    for one in ranges.split(","):
        match = _RANGE.fullmatch(one)
        first, last = (int(match[1]), int(match[2] or match[1])) if match else (1, 0)
        if match is None or last < first:
            raise _no_list(f"[{ranges}]", where)
        if last - first >= MOST_HOSTS:
            raise FederationError(f"{where}: [{shortened(ranges)}] are more than {MOST_HOSTS:,} hosts.")
        width = len(match[1])
        numbers += [f"{number:0{width}d}" for number in range(first, last + 1)]
    return numbers


def _no_list(text: str, where: str) -> FederationError:
    return FederationError(f"{where}: {shortened(repr(text))} is no list of hosts like cn[001-064,070],gpu[1-4].")
