"""Checks of single values: the error says whose field it is, the value, and the rule."""

from __future__ import annotations

import math
import operator
from typing import Any


def whole(noun: str, name: str, value: Any, *, least: int | None = None) -> int:
    """Return the value as a whole number, at least so large, or raise."""
    if isinstance(value, bool):
        raise TypeError(f"{noun}: {name}={value!r} must be a whole number.")
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{noun}: {name}={value!r} must be a whole number.") from None
    if least is not None and number < least:
        raise ValueError(f"{noun}: {name}={value!r} must be at least {least}.")
    return number


def is_number(value: Any) -> bool:
    """Return whether the value is a finite number."""
    if isinstance(value, bool | str):
        return False
    try:
        return math.isfinite(float(value))
    except (TypeError, ValueError):
        return False
