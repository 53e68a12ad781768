"""Reads the usage of accounts and users from the output of `sshare -a -l -P`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.errors import TraceError, shortened
from fedsched.io.files import read_text

if TYPE_CHECKING:
    from os import PathLike

COMMAND = "sshare -a -l -P"
NEEDED = ("Account", "User", "RawUsage", "EffectvUsage")


class Used(NamedTuple):
    """The usage of an account or user: in seconds times billing, and as the fraction that classic fair share counts."""

    raw: float
    effective: float


def read_usage(path: str | PathLike[str]) -> dict[tuple[str, str], Used]:
    """Return the usage of accounts, and of users in accounts, by account and user."""
    lines = [(k, line) for k, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
    names = lines[0][1].split("|") if lines else []
    if missing := [name for name in NEEDED if name not in names]:
        raise TraceError(f"{path}: it has no column {missing[0]}; give what `{COMMAND}` prints.")
    account, user, *used = (names.index(name) for name in NEEDED)
    found: dict[tuple[str, str], Used] = {}
    for k, line in lines[1:]:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < len(names):
            raise TraceError(f"{path}, line {k}: it has {len(cells)} fields, and the first line {len(names)}.")
        amounts = (_amount(cells[at], f"{path}, line {k}: {names[at]}") for at in used)
        found[cells[account], cells[user]] = Used(*amounts)
    return found


def _amount(text: str, where: str) -> float:
    try:
        amount = float(text or "0")
    except ValueError:
        amount = math.nan
    if not 0.0 <= amount < math.inf:
        raise TraceError(f"{where}={shortened(text)} is no number from 0 on.")
    return amount
