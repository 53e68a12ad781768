"""Compiled code: no more signatures than there may be, and no stale cache."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numba
import numpy as np
import pytest
import signatures

import fedsched
from fedsched.compiled import kernel, part
from fedsched.engine.batch import Evaluator
from fedsched.engine.codes import Dispatch
from fedsched.engine.pack import pack
from fedsched.model.reading import Reading

if TYPE_CHECKING:
    from collections.abc import Callable

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


SHARED = """
from copied.compiled import kernel, part

@part
def step(x):
    return 2 * x

@kernel
def first(x):
    return step(x) + 1

@kernel
def second(x):
    return step(x) + 2
"""


@pytest.fixture
def printed(tmp_path: Path) -> Callable[[str], str]:
    """Return a function that says what a command prints beside a package `copied` that has our decorators."""
    (tmp_path / "copied").mkdir()
    (tmp_path / "copied" / "__init__.py").write_text("")
    shutil.copy(Path(fedsched.__file__).parent / "compiled.py", tmp_path / "copied")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "cache"), "PYTHONDONTWRITEBYTECODE": "1"}

    def run(command: str) -> str:
        line = [sys.executable, "-W", "error", "-c", command]
        done = subprocess.run(line, cwd=tmp_path, env=environment, capture_output=True, text=True, check=True)
        return done.stdout.strip()

    return run


def test_a_change_in_a_helper_is_seen(tmp_path: Path, printed: Callable[[str], str]) -> None:
    """A kernel whose helper in another file has changed gives the new answer, not the cached one."""
    (tmp_path / "copied" / "entry.py").write_text(KERNEL.format(name="copied"))

    def answer(factor: int) -> int:
        (tmp_path / "copied" / "helper.py").write_text(HELPER.format(name="copied", factor=factor))
        return int(printed("from copied.entry import answer; print(answer(10))"))

    assert [answer(2), answer(2), answer(3)] == [21, 21, 31]


def test_a_part_has_no_machine_code_of_its_own() -> None:
    """A part is optimised and translated within its kernels only: alone it costs compile time, and nobody calls it."""

    @part
    def step(x: int) -> int:
        return 2 * x

    @kernel
    def answer(x: int) -> int:
        return step(x) + 1

    def pointer(function: Callable[[int], int]) -> int:
        (compiled,) = function.overloads.values()  # type: ignore[attr-defined]
        return compiled.library.get_pointer_to_function(compiled.fndesc.mangled_name)

    step.compile("int64(int64)")  # type: ignore[attr-defined]
    alone = pointer(step)
    assert answer(20) == 41
    assert alone == 0 != pointer(answer)


def test_a_part_is_kept_for_the_kernels_of_other_processes(tmp_path: Path, printed: Callable[[str], str]) -> None:
    """A process that compiles a kernel takes the part that another process has compiled from the cache."""
    (tmp_path / "copied" / "entry.py").write_text(SHARED)
    assert printed("from copied.entry import first; print(first(10))") == "21"
    kept = "print(second(10), *step.stats.cache_hits.values(), *step.stats.cache_misses.values())"
    assert printed(f"from copied.entry import second, step; {kept}") == "22 1"


def test_no_writable_cache_is_no_error(tmp_path: Path) -> None:
    """Where no folder can be written, kernels compile without a cache."""
    blocked = tmp_path / "file"
    blocked.write_text("")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(blocked), "XDG_CACHE_HOME": str(blocked)}
    command = "from fedsched.compiled import _FOLDER, kernel; print(_FOLDER, kernel(lambda x: x + 1)(1))"
    done = subprocess.run([sys.executable, "-c", command], env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["None", "2"]


def read(array: np.ndarray, i: int, j: int) -> int:
    return array[i, j]


def read_row(array: np.ndarray, i: int, j: int) -> int:
    return array[i][j]


def write(array: np.ndarray, i: int, j: int) -> None:
    array[i, j] = 7


def cut(array: np.ndarray, i: int, j: int) -> int:
    return array[i:j].size


def refuses(function: Callable[..., object], *given: object) -> bool:
    """Return whether a function refuses an index."""
    try:
        function(*given)
    except IndexError:
        return True
    return False


@pytest.mark.parametrize("kind", [np.int64, np.uint64, np.int32])
@pytest.mark.parametrize("function", [read, read_row, write, cut])
def test_bounds_checks_and_numpy_refuse_the_same_indexes(function: Callable[..., object], kind: type) -> None:
    """What `make boundscheck` finds in a test `make nojit` finds in the same test: both refuse these, and no others."""
    checked = numba.njit(boundscheck=True)(function)
    array = np.arange(12).reshape(3, 4)
    for i in range(0 if kind is np.uint64 else -5, 6):
        for j in range(0 if kind is np.uint64 else -6, 7):
            given = array, kind(i), kind(j)
            assert refuses(checked, *given) == refuses(function, *given), given[1:]
