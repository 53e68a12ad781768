"""A self-test of the lean way to compile: a small kernel with all building blocks, compared with numba's own `njit`."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from fedsched.core.jit import lean
from fedsched.core.jit.structs import by_reference


@by_reference
class Inner(NamedTuple):
    """An array within a tuple."""

    numbers: Any


@by_reference
class Outer(NamedTuple):
    """A tuple within a tuple, an array, a number, and a field that may be absent."""

    inner: Inner
    sums: Any
    factor: float
    absent: None


@lean.inlined
def _step(outer: Outer, k: int) -> float:
    number: float = outer.inner.numbers[k]
    return number * outer.factor


@lean.part
def _part(outer: Outer, k: int) -> float:
    outer.sums[0] += 1
    return _step(outer, k) + _step(outer, -1)


@lean.kernel
def _kernel(outer: Outer) -> float:
    total = 0.0
    for k in range(outer.inner.numbers.size):
        total += _part(outer, k)
    return total


def difference() -> str:
    """Run the kernel as the lean way and as numba compiles it; return how the results differ, "" if they agree."""
    inner = Inner(np.array([1.5, 2.5, -3.0]))
    outer = Outer(inner, np.zeros(1, dtype=np.int64), 2.0, None)
    found = _kernel(outer)

    @numba.njit  # type: ignore[untyped-decorator]
    def plain(numbers: Any, factor: float) -> float:
        total = 0.0
        for k in range(numbers.size):
            total += numbers[k] * factor + numbers[-1] * factor
        return total

    expected = plain(inner.numbers, 2.0)
    if found == expected and outer.sums[0] == 3:
        return ""
    return f"a first kernel returned {found}, {outer.sums[0]}, not {expected}, 3"
