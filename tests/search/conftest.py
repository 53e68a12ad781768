"""What the tests of the searches share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture(autouse=True, scope="session")
def wrapping_counters() -> Iterator[None]:
    """Let 64-bit counters wrap without a word: compiled code does, and numpy warns where nothing is compiled."""
    with np.errstate(over="ignore"):
        yield
