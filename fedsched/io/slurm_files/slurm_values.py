"""Functions that convert the texts of a slurm.conf: times, whole numbers, switches, CPUs and GPUs of a node."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from fedsched.core.errors import FederationError, shortened
from fedsched.core.values import digits_of

if TYPE_CHECKING:
    from collections.abc import Mapping

_TIME = re.compile(r"(?:(\d{1,6})-)?(\d{1,9})(?::(\d{1,2}))?(?::(\d{1,2}))?", re.ASCII)
_GPU = re.compile(r"gpu(?::([^:()]+))?(?::(\d{1,6}))?(?:\([^)]*\))?", re.ASCII | re.IGNORECASE)
ENDLESS = ("infinite", "unlimited", "-1")
NOTHING = ("", "none", "(null)", "n/a")
YES, NO = ("yes", "true", "1"), ("no", "false", "0")


def seconds_of(text: str, where: str) -> float:
    """Return the seconds in a time of Slurm: minutes, m:s, h:m:s, d-h, d-h:m or d-h:m:s; infinity for "unlimited".

    Raise a FederationError, which begins with `where`, for any other text.
    """
    if text.lower() in ENDLESS:
        return math.inf
    match = _TIME.fullmatch(text)
    if match is None:
        raise FederationError(f"{where}: {shortened(repr(text))} is not a time like 60, 24:00:00 or 3-00:00:00.")
    days, first, second, third = (int(part) if part else 0 for part in match.groups())
    if match[1] is not None:
        return float(86400 * days + 3600 * first + 60 * second + third)
    if match[4] is not None:
        return float(3600 * first + 60 * second + third)
    return float(60 * first + second)


def whole_of(text: str, where: str, name: str) -> int:
    """Return the whole number in a text of digits; raise a FederationError for any other text."""
    if not re.fullmatch(r"\d{1,18}", text, re.ASCII):
        raise FederationError(f"{where}: {name}={shortened(text)} is not a whole number.")
    return int(text)


def is_on(text: str, where: str, name: str) -> bool:
    """Return whether a switch's text says yes (yes, true, 1) or no; raise a FederationError for any other text."""
    if text.lower() not in YES + NO:
        raise FederationError(f"{where}: {name}={shortened(text)} must be YES or NO.")
    return text.lower() in YES


def cpus_of(words: Mapping[str, str], where: str) -> int:
    """Return a node's number of CPUs: the one that its line gives, else boards × sockets × cores × threads.

    `words` are the line's values by name in lower case; a number that is missing counts as 1.
    """
    for name in ("cputot", "cpus", "procs"):
        if name in words:
            return whole_of(words[name], where, name)
    shape = ("boards", "sockets", "corespersocket", "threadspercore")
    boards, sockets, cores, threads = (whole_of(words.get(name, "1"), where, name) for name in shape)
    if "socketsperboard" in words:
        sockets = boards * whole_of(words["socketsperboard"], where, "socketsperboard")
    return sockets * cores * threads


def gpus_of(text: str) -> dict[str, int]:
    """Return the numbers of GPUs in a node's Gres, such as gpu:a100:2,gpu:v100:2(S:0-1).

    "gpu" has the total, and "gpu:a100" those of one model; {} if there is none.
    """
    found: dict[str, int] = {}
    for one in re.split(r",(?![^(]*\))", text):
        if device := _GPU.fullmatch(one.strip()):
            kind, number = device[1], device[2]
            count = digits_of(number or kind or "1")
            if count is None:
                count = 1  # gpu:KIND without a number
            elif number is None:
                kind = None
            found["gpu"] = found.get("gpu", 0) + count
            if kind:
                named = f"gpu:{kind.lower()}"
                found[named] = found.get(named, 0) + count
    return found


def other_devices(text: str) -> list[str]:
    """Return the names of the devices other than GPUs in a node's Gres, each once."""
    named = [one.strip().partition(":")[0] for one in re.split(r",(?![^(]*\))", text)]
    return [name for name in dict.fromkeys(named) if name.lower() not in (*NOTHING, "gpu")]
