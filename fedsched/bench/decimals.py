"""Numbers of instances: whole numbers, or decimals as text, never binary fractions."""

from __future__ import annotations

from fractions import Fraction

Number = int | str


def decimal(value: float | str | Fraction) -> Number:
    """Return the exact decimal of a fraction or a text; of a float, the shortest decimal that is read as it."""
    if not isinstance(value, Fraction):
        if str(value) == "inf":
            return "inf"
        value = Fraction(repr(value) if isinstance(value, float) else value)
    whole, rest = divmod(value, 1)
    if not rest:
        return int(whole)
    if value < 0:
        raise ValueError(f"{value}: no number of an instance is below 0.")
    digits, places = rest.numerator, 0
    power = 1
    while power % rest.denominator:
        places += 1
        power *= 10
        if places > 30:
            raise ValueError(f"{value} is no finite decimal.")
    return f"{int(whole)}.{digits * (power // rest.denominator):0{places}d}"
