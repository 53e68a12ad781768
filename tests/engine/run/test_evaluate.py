"""Plans as rows of numbers: their parts, and their evaluation one after the other."""

from __future__ import annotations

import numpy as np
from support.plain import jobs, plain

import fedsched as fs
from fedsched.model.schedule.metrics import Column
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

evaluate = plain("fedsched.engine.run.evaluate")
TENS = fs.Federation.of(10, 10, 10)


def problem_of(tasks: list[int], federation: fs.Federation = TENS, **options: object) -> SearchProblem:
    """Return a problem of jobs of 1, 2, 3 … s."""
    runtime = [float(k + 1) for k in range(len(tasks))]
    return SearchProblem(jobs(tasks, runtime), federation, Objectives.of("makespan"), **options)


def evaluated(problem: SearchProblem, rows: np.ndarray, first: int, last: int) -> tuple[int, np.ndarray]:
    """Return what the batch entry says, and the makespans."""
    metrics = np.full((len(rows), len(Column)), np.nan)
    failed = evaluate.evaluate_rows(
        problem.problem, problem.space.common, rows, problem.states[0], problem.no_users, metrics, first, last
    )
    return failed, metrics[:, Column.MAKESPAN]


def test_the_parts_of_a_row() -> None:
    """Order, caps and rules lie one behind the other; a kernel's plan is made of views of them."""
    layout = evaluate.Layout(jobs=2, groups=3)
    assert (layout.length, layout.keys_length) == (2 + 6 + 2, 8)
    row = layout.pack(np.array([[1, 0]]), np.arange(6).reshape(1, 2, 3), np.array([[4, 5]]))[0]
    assert row.tolist() == [1, 0, 0, 1, 2, 3, 4, 5, 4, 5]
    assert layout.orders(row[None]).tolist() == [[1, 0]]
    assert layout.caps(row[None]).tolist() == [[[0, 1, 2], [3, 4, 5]]]
    assert layout.rules(row[None]).tolist() == [[4, 5]]
    plan = evaluate.plan_of(problem_of([1, 1]).space.common.shared, 2, 3, row)
    assert (plan.order.tolist(), plan.caps.tolist()) == ([1, 0], [[0, 1, 2], [3, 4, 5]])
    assert (plan.dispatch, plan.placement) == (4, 5)
    assert plan.backfill_order is plan.order
    order, caps, dispatch, placement = evaluate.unpack_row(layout, row)
    row[:] = 0
    assert (order.tolist(), caps.tolist(), dispatch, placement) == ([1, 0], [[0, 1, 2], [3, 4, 5]], 4, 5)


def test_the_batch_fills_the_rows_that_it_is_given() -> None:
    """Jobs of 1 and 2 s that exclude each other, or that run side by side; rows outside of first..last stay empty."""
    problem = problem_of([6, 6])
    beside, apart = problem.row([0, 1]), problem.row([0, 1], np.array([[6, 0, 0], [6, 0, 0]]))
    rows = np.stack([beside, apart, beside, beside])
    failed, makespan = evaluated(problem, rows, 1, 3)
    assert failed == -1
    assert makespan[1:3].tolist() == [3.0, 2.0]
    assert np.isnan(makespan[[0, 3]]).all()


def test_the_batch_names_the_first_plan_that_cannot_run() -> None:
    """The first row whose caps never let a job start is named."""
    problem = problem_of([6, 6])
    rows = np.stack([problem.row([0, 1])] * 3)
    problem.layout.caps(rows)[1:, 1] = 1
    assert evaluated(problem, rows, 0, 3)[0] == 1
    assert evaluated(problem, rows, 2, 3)[0] == 2


def test_running_jobs_are_restored_before_each_plan() -> None:
    """Two evaluations beside a running job give the same: what the first has changed of it is set back."""
    from fedsched.simulate import prepare

    workload = jobs([6, 6], [9.0, 2.0], submit=[0.0, 5.0])
    running = prepare(workload, fs.Federation.homogeneous(10), "fcfs").advance(until=5.0).running()
    problem = SearchProblem(
        workload, fs.Federation.homogeneous(10), Objectives.of("makespan"), submits="keep", running=running
    )
    rows = np.stack([problem.row([0, 1])] * 2)
    for name in ("start", "finish", "planned_end", "counts"):
        getattr(problem.states[0], name)[:] = 99
    failed, makespan = evaluated(problem, rows, 0, 2)
    assert (failed, makespan.tolist()) == (-1, [6.0, 6.0])
    state = problem.states[0]
    assert (state.start.tolist(), state.finish.tolist()) == ([0.0, 9.0], [9.0, 11.0])
