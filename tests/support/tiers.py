"""How many of many cases a test tries: a few in `make test` and `make nojit`, all in `make test-deep`.

Without the compiler kernels are a hundred times slower, under coverage two hundred times. That pass shows that every
branch is taken, and that plain numpy, which warns of what a compiler passes over, has nothing to say.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from collections.abc import Sequence

T = TypeVar("T")
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
DEEP = os.environ.get("FEDSCHED_DEEP", "") == "1" and not INTERPRETED
SHARE = 4


def tries(number: int, few: int | None = None) -> int:
    """Return how many random cases to try: all in `make test-deep`, else `few`, by default a quarter."""
    return number if DEEP else -(-number // SHARE) if few is None else few


def some(cases: Sequence[T], every: int = 10) -> Sequence[T]:
    """Return which of many cases of one kind to try: all in `make test-deep`, else every tenth unless said."""
    return cases if DEEP else cases[::every]
