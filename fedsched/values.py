"""Checks of single values: the error says whose field it is, the value as it was given, and the rule."""

from __future__ import annotations

import math
import operator
from typing import Any

LARGEST_SEED = 2**63 - 1  # kernels count in 64 bits with a sign


def whole(noun: str, name: str, value: Any, *, least: int | None = None, most: int | None = None) -> int:
    """Return the value as a whole number within its limits, or raise; the noun may be empty."""
    who = f"{noun}: " if noun else ""
    if isinstance(value, bool):
        raise TypeError(f"{who}{name}={value!r} must be a whole number.")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{who}{name}={value!r} must be a whole number.") from None
    if least is not None and number < least:
        raise ValueError(f"{who}{name}={value!r} must be at least {least}.")
    if most is not None and number > most:
        raise ValueError(f"{who}{name}={value!r} must be at most {most}.")
    return number


def seed_of(noun: str, seed: Any) -> int:
    """Return a seed that generators and kernels can count from, or raise."""
    return whole(noun, "seed", seed, least=0, most=LARGEST_SEED)


def origin(noun: str, t0: Any) -> float | None:
    """Return the time's origin as it was given, None for the earliest submit, or raise."""
    if t0 is None:
        return None
    if not is_number(t0):
        raise ValueError(f"{noun}: t0={t0!r} must be finite; leave it out for the earliest submit.")
    return float(t0)


def is_number(value: Any) -> bool:
    """Return whether the value is a finite number."""
    if isinstance(value, bool | str):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError, OverflowError):
        return False
