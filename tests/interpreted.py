"""Whether kernels run uncompiled, and how much is asked of them then.

Uncompiled they are a hundred times slower, under coverage two hundred times. That pass shows that every branch is
taken, and that plain numpy, which warns of what a compiler passes over, has nothing to say: a few random cases do.
"""

from __future__ import annotations

import os

INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
SHARE = 4


def tries(number: int) -> int:
    """Return how many of so many random cases to try: all of them, or a quarter where kernels run uncompiled."""
    return -(-number // SHARE) if INTERPRETED else number
