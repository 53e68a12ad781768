"""Functions that read values of Slurm's JSON, of any version.

Up to 22.05 a number is bare and unsigned, of 32 or 64 bits: 2**32 is added to a negative one, and "infinite" and
"none" are the two largest numbers, or null. From 23.02 on it may be `{"set": true, "infinite": false, "number": 60}`.
A list of texts is one text with commas, or a list. A value of another type counts as missing.
"""

from __future__ import annotations

import math
import re
from typing import Any

from fedsched.core.values import is_number

WRAP = 1 << 32
INFINITE = (WRAP - 1, (1 << 64) - 1)
NONE = (WRAP - 2, (1 << 64) - 2)
MOST = 1 << 64  # all numbers of Slurm are below this
NOTHING = ("", "n/a", "(null)", "none", "unknown")


def number(value: Any) -> float | None:
    """Return the number in a value of JSON, an int or a float; infinity for "infinite", None if there is none."""
    if isinstance(value, dict):
        if value.get("infinite") is True:
            return math.inf
        inner = value.get("number")
        return None if value.get("set", True) is not True or isinstance(inner, dict) else number(inner)
    if isinstance(value, float) and value == math.inf:
        return math.inf
    if not is_number(value) or abs(value) >= MOST or value in NONE:
        return None
    return math.inf if value in INFINITE else value


def signed(value: Any) -> int | None:
    """Return the whole number in a value of JSON; it may be below 0. Return None if there is none.

    Slurm's bare numbers for "infinite" and "none" are read as -1 and -2.
    """
    if isinstance(value, dict):
        value = value.get("number") if value.get("set", True) is True else None
    if not is_number(value) or abs(value) >= WRAP:
        return None
    return int(value) - WRAP if value >= WRAP // 2 else int(value)


def count(value: Any, usual: int = 0) -> int:
    """Return the number in a value of JSON, rounded down; `usual` if it is missing, infinite, or 0."""
    found = number(value)
    return usual if found is None or not math.isfinite(found) else int(found) or usual


def text(value: Any) -> str:
    """Return the text in a value of JSON, a list of texts joined by commas; "" if there is none or it means none."""
    if isinstance(value, list):
        value = ",".join(one for one in value if isinstance(one, str))
    return "" if not isinstance(value, str) or value.lower() in NOTHING else value


def texts(value: Any) -> tuple[str, ...]:
    """Return the texts in a value of JSON, which is a list of texts or one text with commas; () if there is none."""
    return tuple(filter(None, text(value).split(",")))


def words(value: Any) -> frozenset[str]:
    """Return the words of a state in upper case, from a list of words or one text with + or commas between them."""
    given = value if isinstance(value, list) else re.split(r"[+,]", value) if isinstance(value, str) else []
    return frozenset(one.strip().upper() for one in given if isinstance(one, str) and one.strip())


def table(value: Any) -> dict[str, Any]:
    """Return the value if it is a table, else {}."""
    return value if isinstance(value, dict) else {}
