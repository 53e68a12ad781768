"""The log and the federation on which environments are tried."""

from __future__ import annotations

import pytest

import fedsched as fs


@pytest.fixture(scope="session")
def sample() -> tuple[fs.Workload, fs.Federation]:
    """Return a piece of the sample log, and the example federation."""
    return fs.Workload.example().head(120), fs.Federation.example()
