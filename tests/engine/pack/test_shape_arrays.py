"""Columns of a problem that plans write: the shapes that they choose."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import jobs, plain

import fedsched as fs
from fedsched.engine.pack.problem import pack
from fedsched.engine.pack.shape_arrays import Shapes, with_writable_shapes, write_shapes
from fedsched.engine.run.evaluate import Layout
from fedsched.model.reading import Reading

THREE = jobs([4, 2, 1], [10.0, 6.0, 3.0])


def some_shapes() -> Shapes:
    """Return three shapes of the first job and two of the last; the caller's columns are still to come."""
    nothing, never = np.zeros(0, dtype=np.int64), np.zeros(0)
    return Shapes(
        first=np.array([0, 3, 4, 6]),
        tasks=np.array([4, 2, 1, 2, 1, 3]),
        runtime=np.array([10.0, 18.0, 30.0, 6.0, 3.0, 1.5]),
        estimate=np.array([12.0, 20.0, 40.0, 6.0, 3.0, 2.0]),
        on_nodes=nothing,
        sigma=never,
        watts=np.zeros((0, 0)),
        choosers=np.array([0, 2]),
        own_tasks=nothing,
        own_runtime=never,
        own_estimate=never,
        own_on_nodes=nothing,
        own_sigma=never,
        own_watts=np.zeros((0, 0)),
        need=np.zeros((0, 0), dtype=np.int64),
        own_need=np.zeros((0, 0), dtype=np.int64),
        kind=nothing,
        own_kind=nothing,
    )


def test_an_opened_problem_sees_what_is_written() -> None:
    """Its columns are views that nobody may write, of arrays that plans write; the problem that was given stays."""
    problem = pack(THREE, fs.Federation.homogeneous(4), reading=Reading())
    seen, shapes = with_writable_shapes(problem, some_shapes())
    write_shapes(shapes, np.array([2, 0, 1]))
    assert seen.tasks.tolist() == [1, 2, 3]
    assert seen.runtime.tolist() == [30.0, 6.0, 1.5]
    assert seen.estimate.tolist() == [40.0, 6.0, 2.0]
    assert problem.tasks.tolist() == [4, 2, 1]
    with pytest.raises(ValueError, match="read-only"):
        seen.tasks[0] = 9
    other, _ = with_writable_shapes(problem, some_shapes())
    assert other.tasks.tolist() == [4, 2, 1]


def test_a_row_chooses_behind_its_rules() -> None:
    """Kernels find choices where the layout puts them, and write what `write_shapes` does."""
    kernels = plain("fedsched.engine.pack.shape_arrays")
    problem = pack(THREE, fs.Federation.homogeneous(4), reading=Reading())
    seen, shapes = with_writable_shapes(problem, some_shapes())
    layout = Layout(jobs=3, groups=1, shaped=True)
    row = layout.pack(
        np.array([[2, 0, 1]]), np.array([[[4], [4], [4]]]), np.array([[0, 0]]), np.array([[1, 0, 1]])
    )[0]
    assert kernels.jobs_of(shapes, row.size, 1) == 3
    assert row[kernels.choices_begin(3, 1) :].tolist() == [1, 0, 1]
    assert [kernels.tasks_in(shapes, problem, 1, row, j) for j in range(3)] == [2, 2, 3]
    kernels.shape_all(shapes, 1, row)
    assert seen.tasks.tolist() == [2, 2, 3]
    child = row.copy()
    layout.choices(child[None])[:] = 0
    kernels.inherit_shape(shapes, 1, row, child, 2)
    assert layout.choices(child[None]).tolist() == [[0, 0, 1]]


def test_without_shapes_rows_are_as_they_were() -> None:
    """The length of a row tells its jobs, the problem's columns their tasks, and nothing is written."""
    kernels = plain("fedsched.engine.pack.shape_arrays")
    problem = pack(THREE, fs.Federation.homogeneous(4), reading=Reading())
    layout = Layout(jobs=3, groups=1)
    row = layout.pack(np.array([[2, 0, 1]]), np.array([[[4], [4], [4]]]), np.array([[0, 0]]))[0]
    assert (layout.length, row.size) == (8, 8)
    assert kernels.jobs_of(None, row.size, 1) == 3
    assert kernels.tasks_in(None, problem, 1, row, 0) == 4
    before = row.copy()
    kernels.shape_all(None, 1, row)
    kernels.shape_job(None, 1, row, 0)
    kernels.inherit_shape(None, 1, row, row, 0)
    assert row.tolist() == before.tolist()
