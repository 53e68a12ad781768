"""What tests on a real Slurm need: its programs, and leave to run them."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from slurm.cluster import missing

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def short_path() -> Iterator[Path]:
    """Give a folder of a short name, in which sockets may be, and that other users may enter."""
    with tempfile.TemporaryDirectory(prefix="slurm-") as name:
        Path(name).chmod(0o755)
        yield Path(name)


@pytest.fixture(scope="session")
def slurm_is_here() -> None:
    """Let the test run where Slurm can be run; elsewhere it is skipped with the cure, and in CI it fails."""
    unwanted = os.environ.get("FEDSCHED_SLURM", "") == "none"
    absent = missing()
    if not absent and not unwanted:
        return
    cure = "install it (as root, on Debian and Ubuntu: apt-get install slurm-wlm munge faketime)"
    reason = f"no Slurm here ({', '.join(absent) or 'FEDSCHED_SLURM=none'}): {cure}"
    if os.environ.get("CI", "").lower() in ("1", "true") and not unwanted:
        pytest.fail(f"{reason}. In CI this is an error; FEDSCHED_SLURM=none goes without.")
    pytest.skip(reason)
