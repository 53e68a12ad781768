"""Functions that write numbers as text for a report's readers; the page's script writes them in the same way."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from fedsched.model.schedule.metrics import SHARES, scale_of, with_unit

if TYPE_CHECKING:
    from collections.abc import Sequence

GAP = "\u00a0"  # between a number and its unit, where no line may break


def measure(name: str, value: float) -> str:
    """Return a metric's value as text with a fitting unit; for another objective's name, the bare number."""
    return with_unit(name, value, gap=GAP)


def column(name: str, values: Sequence[float]) -> tuple[str, list[str]]:
    """Return a table column's title, with its unit, and its texts, all with the same digits after the point.

    The unit suits the median of the values. NaN is written "–".
    """
    known = [abs(value) for value in values if value == value]
    most = max(known, default=0.0)
    unit, size = scale_of(name, sorted(known)[len(known) // 2] if known else 0.0)
    digits = max(0, 3 - math.floor(math.log10(most / size))) if most > 0 else 0
    texts = ["–" if value != value else f"{value / size:,.{min(digits, 6)}f}" for value in values]
    return (f"{title(name)}, {unit}" if unit else title(name)), texts


def number(value: float) -> str:
    """Return a number as text with up to four significant digits, or rounded to an integer from 1000 on; NaN is "–"."""
    if value != value:
        return "–"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def share(value: float) -> str:
    """Return a share, a number from 0 to 1, as text in percent."""
    return with_unit(SHARES[0], value, gap=GAP)


def duration(seconds: float) -> str:
    """Return a duration in seconds as text with a fitting unit."""
    return measure("makespan", seconds)


def title(name: str) -> str:
    """Return a metric's name as words, with blanks in place of underscores."""
    return name.replace("_", " ")


def listed(words: Sequence[str]) -> str:
    """Return words as a list in a sentence: a, b and c."""
    return words[0] if len(words) == 1 else f"{', '.join(words[:-1])} and {words[-1]}"
