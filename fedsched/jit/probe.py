"""A small kernel with all that kernels are made of, compiled both ways."""

from __future__ import annotations

from typing import Any, NamedTuple

import numba
import numpy as np

from fedsched.jit import lean
from fedsched.jit.structs import by_reference


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


def difference() -> str:
    """Return how the lean way differs from numba's own; nothing if it does not."""

    def step(outer: Outer, k: int) -> float:
        number: float = outer.inner.numbers[k]
        return number * outer.factor

    step_ = lean.inlined(step)

    def part(outer: Outer, k: int) -> float:
        outer.sums[0] += 1
        return step_(outer, k) + step_(outer, -1)

    part_ = lean.part(part)

    def kernel(outer: Outer) -> float:
        total = 0.0
        for k in range(outer.inner.numbers.size):
            total += part_(outer, k)
        return total

    kernel_ = lean.kernel(kernel)
    inner = Inner(np.array([1.5, 2.5, -3.0]))
    outer = Outer(inner, np.zeros(1, dtype=np.int64), 2.0, None)
    found = kernel_(outer)

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
