"""Slurm's scheduler compiled: whatever a site has, each of its functions is compiled once."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from support import signatures
from support.slurm_cases import case

import fedsched as fs

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.compiled


def test_each_function_is_compiled_once(tmp_path: Path) -> None:
    """Both schedulers, all kinds of nodes and jobs, limits, sizes: no kernel has more than one signature."""
    for seed in range(16):
        one = case(seed, tmp_path, sized=seed > 11)
        fs.simulate(one.workload, one.machine, one.policy)  # type: ignore[arg-type]
    signatures.check("fedsched.slurm", least=70)
