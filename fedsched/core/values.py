"""Checks of single values; the error names the object and field, the value as given, and the rule."""

from __future__ import annotations

import math
import operator
import re
import sys
import types
from typing import Any, Literal, Union, get_args, get_origin

KINDS = {int: "a whole number", float: "a number", bool: "true or false", str: "a text in quotes"}
SEVERAL = {int: "whole numbers", float: "numbers", bool: "true or false", str: "texts in quotes"}
MOST_DIGITS = 18  # so that 64 bits hold it
LARGEST_SEED = 2**63 - 1  # kernels count in 64 bits with a sign
# Values beyond these are mistakes, and their sums and products could overflow; those of values within never do.
MOST_SECONDS = 1e15  # of any time: 32 million years
LEAST_SECONDS = 1e-18  # of a run
MOST_WATTS = 1e12  # of a node
MOST_BYTES = 1e18  # a second
LEAST_BYTES = 1e-9  # a second, of an uplink
LEAST_SPEED, MOST_SPEED = 1e-9, 1e9  # of a node; the reference node has 1


def whole(noun: str, name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """Return the value as an int from `least` to `most`, both included.

    Raise a TypeError if it is no whole number or a bool, and a ValueError if it is out of range. `noun` begins the
    error's message and may be empty; `name` is the field.
    """
    prefix = f"{noun}: " if noun else ""
    given = " ".join(repr(value).split())[:80]  # a table's text has several lines
    if isinstance(value, bool):
        raise TypeError(f"{prefix}{name}={given} must be a whole number.")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{prefix}{name}={given} must be a whole number.") from None
    if least is not None and number < least:
        raise ValueError(f"{prefix}{name}={given} must be at least {least}.")
    if most is not None and number > most:
        raise ValueError(f"{prefix}{name}={given} must be at most {most}.")
    return number


def digits_of(text: str) -> int | None:
    """Return the whole number that a text of digits is; None for any other text, and for over 18 digits.

    All readers of files use it: Python's `int` refuses very long numbers with an error that names no file.
    """
    return int(text) if text.isdecimal() and len(text) <= MOST_DIGITS else None


def seed_of(noun: str, seed: Any) -> int:
    """Return a seed as an int; raise if it is None, no whole number, below 0 or above 2**63 − 1."""
    if seed is None:
        raise TypeError(f"{noun}: seed=None must be a whole number, as seed=0: the same seed, the same result.")
    return whole(noun, "seed", seed, least=0, most=LARGEST_SEED)


def seed_or_fresh(noun: str, seed: Any) -> int:
    """Return a seed checked by `seed_of`; for None return a fresh random one, which the caller must record."""
    if seed is not None:
        return seed_of(noun, seed)
    from secrets import randbelow

    return randbelow(2**31)


def origin(noun: str, t0: Any) -> float | None:
    """Return the origin of time `t0` in seconds as a float; None, which means the earliest submit, stays None.

    Raise a ValueError if it is not finite or farther than 1e15 s from 0.
    """
    if t0 is None:
        return None
    if not is_number(t0):
        raise ValueError(f"{noun}: t0={t0!r} must be finite; leave it out for the earliest submit.")
    if abs(t0) > MOST_SECONDS:
        raise ValueError(f"{noun}: t0={t0!r} must be at most {MOST_SECONDS:g} s from 0.")
    return float(t0)


def bytes_a_second(text: str) -> float | None:
    """Return the bytes a second that a text such as 1.25G means (k, M, G, T: powers of 1000); None if it is no rate.

    Files, the command line and Python all use it to read rates.
    """
    found = re.fullmatch(r"(\d+\.?\d*(?:e[+-]?\d+)?|inf)([kMGT]?)", text.strip(), re.ASCII)
    return None if found is None else float(found[1]) * 1000.0 ** ("", "k", "M", "G", "T").index(found[2])


def is_time(value: Any) -> bool:
    """Return whether the value is a finite number of seconds, at most 1e15 from 0."""
    return is_number(value) and abs(value) <= MOST_SECONDS


def is_number(value: Any) -> bool:
    """Return whether the value is a finite number; a bool and a text are none."""
    if isinstance(value, bool | str):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False


def members(hint: Any) -> tuple[Any, ...]:
    """Return the types that a type hint allows, without None."""
    union = get_origin(hint) in (Union, types.UnionType)
    return tuple(one for one in (get_args(hint) if union else (hint,)) if one is not type(None))


def kinds_in_words(hint: Any) -> str:
    """Return in words what values a type hint allows, for errors: "a whole number or true or false"."""
    said = []
    for kind in members(hint):
        inner = get_args(kind)
        if get_origin(kind) is Literal:
            said.append(f"one of {', '.join(map(repr, inner))}")
        elif get_origin(kind) is tuple:
            many = "a list of" if inner[-1] is ... else f"{len(inner)}"
            said.append(f"{many} {SEVERAL[inner[0]]}")
        else:
            said.append(KINDS.get(kind, kind.__name__))
    return " or ".join(said)


def fits(value: object, hint: Any) -> bool:
    """Return whether a type hint allows a value read from TOML: a list counts as a tuple, a whole number as a float."""
    return any(_is(value, one) for one in members(hint))


def _is(value: object, kind: Any) -> bool:
    match get_origin(kind), get_args(kind):
        case origin, known if origin is Literal:
            return value in known
        case origin, inner if origin is tuple:
            if not isinstance(value, list):
                return False
            kinds = [inner[0]] * len(value) if inner[-1] is ... else inner
            return len(value) == len(kinds) and all(map(_is, value, kinds))
    if kind is float:  # a whole number counts as one as far as floats reach
        whole_one = isinstance(value, int) and not isinstance(value, bool) and abs(value) <= sys.float_info.max
        return isinstance(value, float) or whole_one
    return isinstance(value, kind) and (kind is bool or not isinstance(value, bool))
