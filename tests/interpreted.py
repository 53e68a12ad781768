"""Whether kernels run uncompiled, and how many random cases are tried.

`make test` tries a few of them, `make test-deep` all. A few do for the pass without the compiler too, where kernels are
a hundred times slower, under coverage two hundred times: it shows that every branch is taken, and that plain numpy,
which warns of what a compiler passes over, has nothing to say.
"""

from __future__ import annotations

import os

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
DEEP = os.environ.get("FEDSCHED_DEEP", "") == "1" and not INTERPRETED
SHARE = 4


def tries(number: int, few: int | None = None) -> int:
    """Return how many of so many random cases to try: all in `make test-deep`, else a few, a quarter unless said."""
    return number if DEEP else few or -(-number // SHARE)
