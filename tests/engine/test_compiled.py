"""Compiled code: no more signatures than there may be, and no stale cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import signatures

import fedsched
from fedsched.engine.batch import Evaluator
from fedsched.engine.codes import Dispatch
from fedsched.engine.pack import pack
from fedsched.model.reading import Reading

pytestmark = pytest.mark.compiled


def test_kernels_have_no_more_signatures_than_they_may() -> None:
    """Whatever the workload, federation, rules and entry, nothing is compiled more often than it may."""
    federation = fedsched.Federation.of(3, 2)
    workload = fedsched.Workload(submit=[0, 0, 5], tasks=[2, 4, 1], runtime=[5, 3, 2])
    for dispatch in ("strict", "greedy", "easy", "conservative"):
        schedule = fedsched.simulate(workload, federation, fedsched.Rules(dispatch=dispatch))
        schedule.metrics()
    fedsched.simulate(workload, fedsched.Federation.homogeneous(4), "xfactor-easy", caps=np.full((3, 1), 4))
    problem = pack(
        workload,
        federation,
        reading=Reading(saturation="static", knowledge="runtime", kill_at_estimate=True),
    )
    Evaluator(problem, users=True)([[2, 1, 0]], dispatch=Dispatch.EASY)
    signatures.check("fedsched.engine", "fedsched.model.metrics", least=50)


KERNEL = """
from {name}.compiled import kernel
from {name}.helper import step

@kernel
def answer(x):
    return step(x) + 1
"""
HELPER = """
from {name}.compiled import part

@part
def step(x):
    return x * {factor}
"""


def test_a_change_in_a_helper_is_seen(tmp_path: Path) -> None:
    """A kernel whose helper in another file has changed gives the new answer, not the cached one."""
    package = tmp_path / "copied"
    package.mkdir()
    (package / "__init__.py").write_text("")
    source = Path(fedsched.__file__).parent / "compiled.py"
    shutil.copy(source, package / "compiled.py")
    (package / "entry.py").write_text(KERNEL.format(name="copied").replace("copied.compiled", "copied.compiled"))
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def answer(factor: int) -> int:
        (package / "helper.py").write_text(HELPER.format(name="copied", factor=factor))
        command = "from copied.entry import answer; print(answer(10))"
        done = subprocess.run(
            [sys.executable, "-c", command], cwd=tmp_path, env=environment, capture_output=True, text=True, check=True
        )
        return int(done.stdout)

    assert [answer(2), answer(2), answer(3)] == [21, 21, 31]


def test_no_writable_cache_is_no_error(tmp_path: Path) -> None:
    """Where no folder can be written, kernels compile without a cache."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(blocked), "XDG_CACHE_HOME": str(blocked)}
    command = "from fedsched.compiled import _FOLDER, kernel; print(_FOLDER, kernel(lambda x: x + 1)(1))"
    done = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "2"]
