"""What everybody has used: `sshare -a -l -P`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedsched.errors import TraceError, shortened
from fedsched.io.files import read_text

if TYPE_CHECKING:
    from os import PathLike

COMMAND = "sshare -a -l -P"
NEEDED = ("Account", "User", "RawUsage")


def read_usage(path: str | PathLike[str]) -> dict[tuple[str, str], float]:
    """Return what accounts, and users in accounts, have used, in seconds times billing; by account and user."""
    lines = [(k, line) for k, line in enumerate(read_text(path).splitlines(), 1) if line.strip()]
    names = lines[0][1].split("|") if lines else []
    if missing := [name for name in NEEDED if name not in names]:
        raise TraceError(f"{path}: it has no column {missing[0]}; give what `{COMMAND}` prints.")
    account, user, used = (names.index(name) for name in NEEDED)
    found: dict[tuple[str, str], float] = {}
    for k, line in lines[1:]:
        cells = [cell.strip() for cell in line.split("|")]
        if len(cells) < len(names):
            raise TraceError(f"{path}, line {k}: it has {len(cells)} fields, and the first line {len(names)}.")
        try:
            amount = float(cells[used] or "0")
        except ValueError:
            amount = math.nan
        if not 0.0 <= amount < math.inf:
            raise TraceError(f"{path}, line {k}: RawUsage={shortened(repr(cells[used]))} is no number from 0 on.")
        key = (cells[account], cells[user])
        found[key] = found.get(key, 0.0) + amount
    return found
