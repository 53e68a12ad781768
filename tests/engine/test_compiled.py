"""Compiled code: no more signatures than there may be, and no stale cache."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numba
import numpy as np
import pytest
from support import signatures

import fedsched
from fedsched.engine.codes import Dispatch
from fedsched.engine.pack.problem import pack
from fedsched.engine.run.batch import Evaluator
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
    signatures.check("fedsched.engine", "fedsched.model.schedule.metrics", least=50)


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
