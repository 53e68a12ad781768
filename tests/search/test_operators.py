"""The moves and the crossover, with draws that are given: what each does to a plan, and how often it is chosen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.plain import jobs, plain

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

if TYPE_CHECKING:
    from collections.abc import Sequence

operators = plain("fedsched.search.encoding.operators")


class Draws:
    """Draws as they are given, in the order in which they are asked for; more, or fewer, are an error."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *values: float) -> None:
        self.values = list(values)
        monkeypatch.setattr(operators, "uniform", lambda stream: self._next())
        monkeypatch.setattr(operators, "below", lambda stream, bound: self._next(bound))

    def _next(self, bound: int | None = None) -> float:
        value = self.values.pop(0)
        assert (0 <= value < 1) if bound is None else (isinstance(value, int) and 0 <= value < bound), (value, bound)
        return value

    def all_used(self) -> bool:
        """Return whether nothing is left."""
        return not self.values


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch):
    """Return what gives the operators their draws."""
    return lambda *values: Draws(monkeypatch, *values)


def plans(tasks: Sequence[int] = (1, 1, 1, 1), groups: Sequence[int] = (2, 2)) -> SearchProblem:
    """Return a problem of jobs that all wait, on clusters of one group each."""
    return SearchProblem(jobs([*tasks], [1.0] * len(tasks)), fs.Federation.of(*groups), Objectives.of("makespan"))


@pytest.fixture(scope="module")
def four() -> SearchProblem:
    """Return a problem of four narrow jobs."""
    return plans()


@pytest.fixture(scope="module")
def wide() -> SearchProblem:
    """Return a problem of four jobs of which one takes more than a cluster."""
    return plans((1, 3, 2, 1))


NO_ENDS = np.zeros(4)


def given(problem: SearchProblem, caps: Sequence[Sequence[int]] | None = None, order: Sequence[int] = (0, 1, 2, 3)):
    """Return a plan in this order, with these caps."""
    return problem.row([*order], None if caps is None else np.array(caps))


def caps_of(problem: SearchProblem, row: np.ndarray) -> list[list[int]]:
    """Return a plan's caps."""
    return problem.layout.caps(row[None])[0].tolist()


# ---- order ----------------------------------------------------------------------------------------------------------


def test_reversing_a_stretch() -> None:
    """From its begin up to its end, which is not part of it."""
    for begin, end, expected in ((0, 4, [3, 2, 1, 0]), (1, 3, [0, 2, 1, 3]), (1, 4, [0, 3, 2, 1]), (2, 2, [*range(4)])):
        row = np.arange(4)
        operators._reverse(row, begin, end)
        assert row.tolist() == expected


def test_a_place_is_any_or_that_of_one_that_ends_late(draw) -> None:
    """At half of the time any place; else the one among six whose job ends last, of equals the first drawn."""
    row, ends = np.array([2, 0, 1, 3]), np.array([5.0, 9.0, 1.0, 9.0])
    only = draw(2, 0.5)
    assert operators._place_of_one(row, ends, 4, None) == 2
    assert only.all_used()
    late = draw(0, 0.49, 1, 0, 1, 0, 1)
    assert operators._place_of_one(row, ends, 4, None) == 1
    assert late.all_used()
    draw(3, 0.0, 2, 2, 1, 0, 0)
    assert operators._place_of_one(row, ends, 4, None) == 3


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        # length 1, begin, late?, near?, place
        ((0.4, 1, 0.9, 0.5, 3), [0, 2, 3, 1]),
        ((0.4, 3, 0.9, 0.5, 0), [3, 0, 1, 2]),
        ((0.4, 1, 0.9, 0.5, 1), [0, 1, 2, 3]),
        # length 2: the block of places 1 and 2 to the front, to the end
        ((0.39, 0.4, 1, 0.9, 0.5, 0), [1, 2, 0, 3]),
        ((0.39, 0.4, 1, 0.9, 0.5, 2), [0, 3, 1, 2]),
        # length 3 at most, of four jobs; a begin behind the last one possible is that one
        ((0.1, 0.1, 3, 0.9, 0.5, 0), [1, 2, 3, 0]),
        # near: at most one place away (1 + 4//10), from begin − 1
        ((0.4, 2, 0.9, 0.49, 0), [0, 2, 1, 3]),
        ((0.4, 2, 0.9, 0.49, 2), [0, 1, 3, 2]),
        ((0.4, 0, 0.9, 0.49, 0), [0, 1, 2, 3]),
        ((0.4, 3, 0.9, 0.49, 2), [0, 1, 2, 3]),
    ],
)
def test_inserting_a_block(draw, draws: Sequence[float], expected: list[int]) -> None:
    """A block of jobs keeps its order and moves to a place, the rest closes up."""
    given_draws = draw(*draws)
    row = np.arange(4)
    operators._insert(row, NO_ENDS, 4, None)
    assert row.tolist() == expected
    assert given_draws.all_used()


def test_a_block_has_a_longest_length(draw) -> None:
    """However often the coin falls so, no more than eight jobs move together."""
    script = draw(*[0.1] * 7, 0, 0.9, 0.5, 12)
    row = np.arange(20)
    operators._insert(row, np.zeros(20), 20, None)
    assert row.tolist() == [*range(8, 20), *range(8)]
    assert script.all_used()


def test_swapping(draw) -> None:
    """Two places exchange their jobs."""
    draw(3, 0.9, 1)
    row = np.array([4, 5, 6, 7])
    operators._swap(row, NO_ENDS, 4, None)
    assert row.tolist() == [4, 7, 6, 5]


# ---- crossover ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("begin", "length", "expected"),
    [(1, 1, [3, 1, 2, 0]), (0, 0, [0, 3, 2, 1]), (3, 0, [2, 1, 0, 3]), (0, 3, [0, 1, 2, 3]), (2, 1, [1, 0, 2, 3])],
)
def test_order_crossover_by_hand(draw, begin: int, length: int, expected: list[int], four: SearchProblem) -> None:
    """A stretch of 0 1 2 3 stays in its places, the others follow in the order of 3 2 1 0 around it."""
    first, second = given(four), given(four, order=(3, 2, 1, 0))
    child = np.full(four.layout.length, -7)
    script = draw(begin, length, *[0.6] * 5)
    operators._cross(four.space, first, second, child, np.zeros(4, dtype=np.int64), None)
    assert child[:4].tolist() == expected
    assert script.all_used()


def test_caps_and_rules_come_from_either_parent(draw, four: SearchProblem) -> None:
    """Each job's caps from one of both by a draw of its own, dispatch and placement together by another."""
    first, second = given(four), given(four)
    first[4:-2], second[4:-2] = np.arange(10, 18), np.arange(20, 28)
    first[-2:], second[-2:] = [1, 2], [3, 4]
    for last, rules in ((0.49, [1, 2]), (0.5, [3, 4])):
        child = np.full(four.layout.length, -7)
        draw(0, 3, 0.0, 0.5, 0.49, 0.99, last)
        operators._cross(four.space, first, second, child, np.zeros(4, dtype=np.int64), None)
        assert caps_of(four, child) == [[10, 11], [22, 23], [14, 15], [26, 27]]
        assert child[-2:].tolist() == rules


# ---- caps -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        # cluster, open?, kind, …
        # a stretch of the queue: 1 + below(1 + 4//8) jobs, from a place
        ((0, 0.5, 0.2, 0, 2), [[1, 1], [2, 2], [0, 2], [1, 1]]),
        ((1, 0.5, 0.2, 0, 0), [[1, 0], [2, 2], [2, 2], [1, 1]]),
        # one job, at a place that is drawn
        ((1, 0.5, 0.3, 3, 0.9), [[1, 1], [2, 2], [2, 2], [1, 0]]),
        # one job bound to the cluster, whatever `open` says
        ((1, 0.5, 0.5, 0, 0.9), [[0, 1], [2, 2], [2, 2], [1, 1]]),
        ((0, 0.0, 0.64, 2, 0.9), [[1, 1], [2, 2], [2, 0], [1, 1]]),
        # bound to a cluster that is too small for it: opened again, least forbidden first
        ((0, 0.5, 0.5, 1, 0.9), [[1, 1], [2, 2], [2, 2], [1, 1]]),
        # all jobs up to a size, or from it on
        ((0, 0.5, 0.87, 0, 0.4), [[0, 1], [2, 2], [2, 2], [0, 1]]),
        ((0, 0.5, 0.87, 2, 0.5), [[1, 1], [2, 2], [0, 2], [1, 1]]),
        # some nodes of one group
        ((0, 0.9, 0.97, 2, 1, 1), [[1, 1], [2, 2], [2, 1], [1, 1]]),
    ],
)
def test_moves_of_caps(draw, draws: Sequence[float], expected: list[list[int]], wide: SearchProblem) -> None:
    """From a plan that forbids nothing; a job of three tasks needs both clusters and gets them back."""
    script = draw(*draws)
    row = given(wide)
    operators._move_caps(wide.problem, wide.space, row, NO_ENDS, None, wide.states[0])
    assert caps_of(wide, row) == expected
    assert row[:4].tolist() == [0, 1, 2, 3]
    assert script.all_used()


@pytest.mark.parametrize(
    ("draws", "expected"),
    [
        ((0, 0.4, 0.2, 0, 3), [[1, 1], [1, 0], [2, 2], [1, 0]]),  # opened to the last of the queue, to whom it was shut
        ((1, 0.4, 0.3, 1, 0.9), [[0, 1], [1, 0], [2, 2], [1, 1]]),  # and to the second
        ((0, 0.4, 0.3, 1, 0.9), [[0, 1], [1, 0], [2, 2], [1, 0]]),  # nothing to open
        ((0, 0.9, 0.7, 3, 0.9, 3), [[1, 0], [1, 0], [2, 2], [0, 1]]),  # the last of the queue and job 3 exchange
        ((0, 0.9, 0.92, 3), [[0, 1], [1, 0], [2, 2], [1, 1]]),  # nothing forbidden to one job any more
        ((1, 0.4, 0.87, 1, 0.4), [[0, 1], [1, 1], [2, 2], [1, 1]]),  # a cluster opened to all up to a size
    ],
)
def test_moves_of_caps_that_open(draw, draws: Sequence[float], expected: list[list[int]]) -> None:
    """From a plan in which jobs are bound: places are those of the queue 1 3 2 0, rows those of the jobs."""
    problem = plans((1, 1, 2, 1))
    script = draw(*draws)
    row = given(problem, [[0, 1], [1, 0], [2, 2], [1, 0]], order=(1, 3, 2, 0))
    operators._move_caps(problem.problem, problem.space, row, NO_ENDS, None, problem.states[0])
    assert caps_of(problem, row) == expected
    assert script.all_used()


# ---- jobs and rules -------------------------------------------------------------------------------------------------


def test_two_jobs_exchange_places_and_caps(draw, four: SearchProblem) -> None:
    """Each comes where the other was, with the caps that the other had."""
    row = given(four, [[1, 0], [0, 1], [1, 1], [1, 1]], order=(3, 0, 2, 1))
    script = draw(1, 0.9, 3, 0.49)
    operators._move_jobs(four.problem, four.space, row, NO_ENDS, None, four.states[0])
    assert row[:4].tolist() == [3, 1, 2, 0]
    assert caps_of(four, row) == [[0, 1], [1, 0], [1, 1], [1, 1]]
    assert script.all_used()


@pytest.mark.parametrize(("a", "b"), [(0, 1), (1, 0)])
def test_caps_that_are_exchanged_are_mended_for_both(draw, a: int, b: int, wide: SearchProblem) -> None:
    """A job of three tasks that gets the caps of one of one task is given back what it needs, whichever came first."""
    row = given(wide)
    draw(a, 0.9, b, 0.0)
    operators._move_jobs(wide.problem, wide.space, row, NO_ENDS, None, wide.states[0])
    assert caps_of(wide, row) == [[1, 1], [2, 1], [2, 2], [1, 1]]
    row = given(wide)
    draw(0, 0.9, 0.7, a, 0.9, b)
    operators._move_caps(wide.problem, wide.space, row, NO_ENDS, None, wide.states[0])
    assert caps_of(wide, row) == [[1, 1], [2, 1], [2, 2], [1, 1]]


@pytest.mark.parametrize(("a", "b", "order"), [(0, 2, [1, 2, 0, 3]), (3, 1, [0, 3, 1, 2]), (2, 2, [0, 1, 2, 3])])
def test_a_job_is_bound_elsewhere(draw, a: int, b: int, order: list[int], four: SearchProblem) -> None:
    """It moves to another place, those between close up, and it may use one cluster only."""
    row = given(four)
    script = draw(a, 0.9, b, 0.5, 1)
    operators._move_jobs(four.problem, four.space, row, NO_ENDS, None, four.states[0])
    assert row[:4].tolist() == order
    assert caps_of(four, row) == [[0, 1] if j == a else [1, 1] for j in range(4)]
    assert script.all_used()


def test_moves_of_rules(draw, wide: SearchProblem) -> None:
    """Four times in five another placement, else another dispatch; caps are mended for the new placement."""
    row = given(wide, [[1, 0], [2, 2], [1, 1], [1, 1]])
    rules = wide.space.placements.tolist()
    assert Placement.SINGLE not in rules  # a job of three tasks fits on no cluster
    script = draw(0.79, rules.index(Placement.POWERFUL))
    operators._move_rules(wide.problem, wide.space, row, None, wide.states[0])
    assert row[-2:].tolist() == [Dispatch.GREEDY, Placement.POWERFUL]
    assert script.all_used()
    script = draw(0.8, 2)
    operators._move_rules(wide.problem, wide.space, row, None, wide.states[0])
    assert row[-2:].tolist() == [wide.space.dispatches[2], Placement.POWERFUL]
    assert caps_of(wide, row) == [[1, 0], [2, 2], [1, 1], [1, 1]]
    assert script.all_used()


def test_caps_are_mended_for_a_rule_that_asks_for_more(draw) -> None:
    """Two tasks that may use a node of either cluster are enough for `fastest`, not for `single`."""
    problem = plans((2, 1, 1, 1))
    row = given(problem, [[1, 1], [1, 1], [1, 1], [1, 1]])
    assert caps_of(problem, row)[0] == [1, 1]
    draw(0.0, problem.space.placements.tolist().index(Placement.SINGLE))
    operators._move_rules(problem.problem, problem.space, row, None, problem.states[0])
    assert caps_of(problem, row)[0] == [2, 1]


AS_THEY_ARE = SimpleNamespace(shapes=None)  # what plans have in common where they choose no shapes


@pytest.mark.parametrize(
    ("kind", "more", "groups", "expected"),
    [
        (0.029, (), 2, "_move_rules"),
        (0.03, (), 2, "_move_caps"),
        (0.229, (), 2, "_move_caps"),
        (0.231, (), 2, "_move_jobs"),
        (0.529, (), 2, "_move_jobs"),
        (0.531, (0.24,), 2, "_swap"),
        (0.531, (0.25,), 2, "_insert"),
        (0.1, (0.24,), 1, "_swap"),
        (0.4, (0.25,), 1, "_insert"),
        (0.029, (), 1, "_move_rules"),
    ],
)
def test_which_move(draw, monkeypatch: pytest.MonkeyPatch, kind: float, more, groups: int, expected: str) -> None:
    """By shares: 3 % rules, 20 % caps, 30 % jobs, the rest order, of which a quarter swaps; one group has no caps."""
    called = list[str]()
    for name in ("_move_rules", "_move_caps", "_move_jobs", "_swap", "_insert"):
        monkeypatch.setattr(operators, name, lambda *_, name=name: called.append(name))
    script = draw(kind, *more)
    space = SimpleNamespace(limits=np.zeros((4, groups), dtype=np.int64), common=AS_THEY_ARE)
    operators.move(None, space, np.zeros(4), NO_ENDS, None, None)
    assert called == [expected]
    assert script.all_used()


def test_one_job_has_no_order(draw, monkeypatch: pytest.MonkeyPatch) -> None:
    """The plans of one job differ in caps and rules only."""
    called = list[str]()
    monkeypatch.setattr(operators, "_move_caps", lambda *_: called.append("caps"))
    draw(0.99)
    operators.move(None, SimpleNamespace(limits=np.zeros((1, 1)), common=AS_THEY_ARE), np.zeros(4), NO_ENDS, None, None)
    assert called == ["caps"]


def test_each_row_draws_from_a_stream_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    """Rows get as many moves as they are to have, each row from the stream of seed, generation and its number."""
    begun, moved = list[tuple[int, ...]](), list[int]()
    monkeypatch.setattr(operators, "begin_stream", lambda stream, *key: begun.append(key))
    monkeypatch.setattr(operators, "move", lambda problem, space, row, *_: moved.append(int(row[0])))
    rows = np.array([[5], [6], [7]])
    operators.mutate_rows(None, None, rows, np.array([2, 0, 1]), NO_ENDS, None, 9, 4, None)
    assert begun == [(9, 4, 0), (9, 4, 1), (9, 4, 2)]
    assert moved == [5, 5, 7]


def test_children_of_one_placement_need_no_repair(monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where the parents' placements differ may a child's caps not do under the rule that it got."""
    repaired = list[int]()
    monkeypatch.setattr(operators, "_repair_for_rule", lambda problem, space, row, state: repaired.append(int(row[0])))
    monkeypatch.setattr(operators, "begin_stream", lambda *_: None)
    monkeypatch.setattr(operators, "_cross", lambda space, first, second, child, *_: child.__setitem__(0, first[0]))
    parents = np.array([[1, 0], [2, 0], [3, 5]])
    children = np.zeros((3, 2), dtype=np.int64)
    space = SimpleNamespace(limits=np.zeros((0, 1)))
    operators.cross_rows(None, space, parents, np.array([[0, 1], [1, 2], [2, 2]]), children, None, None, 0, 0, None)
    assert children[:, 0].tolist() == [1, 2, 3]
    assert repaired == [2]
