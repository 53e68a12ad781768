"""Rows of numbers as plans: their repair, and the weights of keys."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import clusters, jobs, plain

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

genome = plain("fedsched.search.encoding.genome")
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
