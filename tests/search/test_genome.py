"""Rows of numbers as plans: their parts, their repair, the weights of keys, and their evaluation."""

from __future__ import annotations

import numpy as np
import pytest
from plain import clusters, jobs, plain

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.metrics import Column
from fedsched.search.objectives import Objectives
from fedsched.search.problem import SearchProblem

genome = plain("fedsched.search.genome")
TENS = fs.Federation.of(10, 10, 10)


def problem_of(tasks: list[int], federation: fs.Federation = TENS, **options: object) -> SearchProblem:
    """Return a problem of jobs of 1, 2, 3 … s."""
    runtime = [float(k + 1) for k in range(len(tasks))]
    return SearchProblem(jobs(tasks, runtime), federation, Objectives.of("makespan"), **options)


def mended(problem: SearchProblem, caps: list[int], placement: Placement = Placement.FASTEST) -> list[int]:
    """Return what repair makes of the caps of the only job, by both of its ways."""
    row = problem.layout.pack(np.array([[0]]), np.array([[caps]]), np.array([[Dispatch.GREEDY, placement]]))[0]
    other = row.copy()
    genome.make_placeable(problem.problem, problem.space, row, 0, problem.states[0])
    if all(0 <= cap <= limit for cap, limit in zip(caps, problem.space.limits[0].tolist(), strict=True)):
        genome.keep_placeable(problem.problem, problem.space, other, 0, problem.states[0])
        assert np.array_equal(row, other)
    return problem.layout.caps(row[None])[0, 0].tolist()


def test_the_parts_of_a_row() -> None:
    """Order, caps and rules lie one behind the other; a kernel's plan is made of views of them."""
    layout = genome.Layout(jobs=2, groups=3)
    assert (layout.length, layout.keys_length) == (2 + 6 + 2, 8)
    row = layout.pack(np.array([[1, 0]]), np.arange(6).reshape(1, 2, 3), np.array([[4, 5]]))[0]
    assert row.tolist() == [1, 0, 0, 1, 2, 3, 4, 5, 4, 5]
    assert layout.orders(row[None]).tolist() == [[1, 0]]
    assert layout.caps(row[None]).tolist() == [[[0, 1, 2], [3, 4, 5]]]
    assert layout.rules(row[None]).tolist() == [[4, 5]]
    plan = genome.plan_of(problem_of([1, 1]).space.shared, 2, 3, row)
    assert (plan.order.tolist(), plan.caps.tolist()) == ([1, 0], [[0, 1, 2], [3, 4, 5]])
    assert (plan.dispatch, plan.placement) == (4, 5)
    assert plan.backfill_order is plan.order
    order, caps, dispatch, placement = genome.unpacked(layout, row)
    row[:] = 0
    assert (order.tolist(), caps.tolist(), dispatch, placement) == ([1, 0], [[0, 1, 2], [3, 4, 5]], 4, 5)


@pytest.mark.parametrize(
    ("caps", "expected"),
    [
        ([10, 4, 0], [10, 4, 0]),  # 14 are enough
        ([9, 4, 0], [10, 4, 0]),  # 13 are not: the first group is the least forbidden one
        ([4, 9, 0], [4, 10, 0]),
        ([1, 5, 0], [10, 10, 0]),  # 5 of 10, then 9 of 10
        ([0, 0, 0], [10, 10, 0]),  # equals: the lower index
        ([-3, 20, 2], [0, 10, 10]),  # first within limits, and then mended
    ],
)
def test_whole_groups_are_restored_the_least_forbidden_first(caps: list[int], expected: list[int]) -> None:
    """A job of 14 tasks on groups of ten gets back one group after the other until it fits."""
    assert mended(problem_of([14]), caps) == expected


def test_what_fits_depends_on_the_placement() -> None:
    """Four tasks that may use two nodes of either cluster: enough for who spreads; `single` gets one of them whole."""
    problem = problem_of([4], fs.Federation.of(5, 6))
    spread = [Placement.FASTEST, Placement.BEST_FIT, Placement.EFFICIENT, Placement.POWERFUL]
    assert [mended(problem, [2, 2], rule) for rule in spread] == [[2, 2]] * 4
    assert mended(problem, [2, 2], Placement.SINGLE) == [4, 2]
    assert mended(problem, [2, 3], Placement.SINGLE) == [2, 4]
    assert mended(problem, [2, 2], Placement.BIG_SMALL) == [4, 2]  # a half is not three quarters
    assert mended(problem, [3, 1], Placement.BIG_SMALL) == [3, 1]
    assert mended(problem, [0, 4], Placement.SINGLE) == [0, 4]


def test_home_needs_its_own_cluster() -> None:
    """Under `home` the other cluster's nodes are of no use, however many the job may take of them."""
    workload = jobs([3], [1.0], origin=[0], sites=("c0",))
    problem = SearchProblem(workload, clusters(((4, 1.0),), ((9, 1.0),)), Objectives.of("makespan"))
    assert mended(problem, [0, 3], Placement.HOME) == [3, 3]
    assert mended(problem, [0, 3], Placement.SINGLE) == [0, 3]


def test_keys_forbid_by_weight() -> None:
    """A weight w forbids ⌊w·count + 1e-9⌋ nodes; caps go no further than tasks; weights come back as what they did."""
    problem = problem_of([4], fs.Federation.of(10, 8))
    weights = np.array([[0.8, 0.3], [0.3, 1.0], [0.79, 0.7], [1.0, 1.0]])
    rows = np.zeros((4, problem.layout.length), dtype=np.int64)
    genome.decode_weights(problem.problem, problem.space, weights, rows, problem.states[0])
    # 8 of 10 and 2 of 8 forbidden; 3 and 8; 7 and 5; all, and then the first restored
    assert problem.layout.caps(rows)[:, 0].tolist() == [[2, 4], [4, 0], [3, 3], [4, 0]]
    assert weights.tolist() == [[0.8, 0.5], [0.6, 1.0], [0.7, 0.625], [0.6, 1.0]]


def test_the_least_rounding_is_forgiven() -> None:
    """3/10 of ten nodes are three, though the product comes out below."""
    problem = problem_of([10], fs.Federation.of(10, 10))
    weights = np.array([[0.1 * 3 - 1e-11, 0.7]])
    rows = np.zeros((1, problem.layout.length), dtype=np.int64)
    genome.decode_weights(problem.problem, problem.space, weights, rows, problem.states[0])
    assert problem.layout.caps(rows)[0, 0].tolist() == [7, 3]


def test_every_job_of_every_row_is_repaired() -> None:
    """`repair` leaves no job behind."""
    problem = problem_of([14, 3, 25])
    rows = np.zeros((2, problem.layout.length), dtype=np.int64)
    rows[:, :3] = [0, 1, 2]
    genome.repair(problem.problem, problem.space, rows, problem.states[0])
    assert problem.layout.caps(rows).tolist() == [[[10, 10, 0], [3, 0, 0], [10, 10, 10]]] * 2


def evaluated(problem: SearchProblem, rows: np.ndarray, first: int, last: int) -> tuple[int, np.ndarray]:
    """Return what the batch entry says, and the makespans."""
    metrics = np.full((len(rows), len(Column)), np.nan)
    failed = genome.evaluate_rows(
        problem.problem, problem.space, rows, problem.states[0], problem.no_users, metrics, first, last
    )
    return failed, metrics[:, Column.MAKESPAN]


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
