"""Playing on a real Slurm whose clock runs faster: once more where the machine was too busy for that."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from slurm.cluster import InvalidRun, SlurmError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path
    from typing import TypeVar

    T = TypeVar("T")

FAILURES = (InvalidRun, SlurmError)


def played(
    play: Callable[[Path], T], folder: Path, factor: float, again: tuple[type[Exception], ...] = FAILURES
) -> T:
    """Return what is played in a folder, after a failure in another one; skip the test where that says nothing."""
    try:
        return play(folder / "first")
    except again:
        pass
    try:
        return play(folder / "second")
    except InvalidRun as error:
        pytest.skip(f"the machine is too busy for a clock that runs {factor:g} times as fast: {error}")
