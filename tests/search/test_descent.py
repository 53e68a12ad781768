"""A descent, trial by trial: the values that it goes by, whom it accepts, and what it brings home."""

from __future__ import annotations

import math
from types import SimpleNamespace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.plain import plain

from fedsched.engine.codes import Status

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

descent = plain("fedsched.search.walks.descent")
Accept = descent.Accept


def goal(accept: int = Accept.LATE, *, weights: Sequence[float] = (1.0,), greatest: float = 0.0, **changes: object):
    """Return what minimises the first columns of a metric row, on a scale of 1 from 0."""
    count = len(weights)
    usual = {
        "columns": np.arange(count),
        "signs": np.ones(count),
        "ideal": np.zeros(count),
        "scale": np.ones(count),
    }
    return descent.Goal(
        **{**usual, **changes},
        weights=np.array(weights),
        greatest_share=greatest,
        sum_share=1.0 - greatest,
        accept=int(accept),
    )


def walker(
    value: float = 10.0, *, objectives: int = 1, late: int = 3, heat: Sequence[float] = (0.0, 1.0), pocket: int = 4
):
    """Return a walker on a plan of this value; a plan is one number."""
    return descent.Walker(
        current=np.zeros(1, dtype=np.int64),
        trial=np.zeros(1, dtype=np.int64),
        best=np.zeros(1, dtype=np.int64),
        value=np.full(2, value),
        objectives=np.full((2, objectives), value),
        late=np.full(late, value),
        steps=np.zeros(2, dtype=np.int64),
        heat=np.array(heat),
        ends=np.zeros(1),
        stream=np.zeros(1, dtype=np.uint64),
        pocket_values=np.zeros((pocket, objectives)),
        pocket_rows=np.zeros((pocket, 1), dtype=np.int64),
        pocket_size=np.zeros(1, dtype=np.int64),
    )


class Trials:
    """Moves and evaluations as a script has them: plan k has the k-th value."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, values: Sequence[float], draws: Sequence[float] = ()) -> None:
        self.values, self.done, self.seen = values, 0, list[int]()
        self.state = SimpleNamespace(finish=np.zeros(1))
        self._draws: Iterator[float] = iter(draws)
        monkeypatch.setattr(descent, "move", self._move)
        monkeypatch.setattr(descent, "evaluate_row", self._evaluate)
        monkeypatch.setattr(descent, "uniform", lambda _: next(self._draws))

    def _move(self, problem, space, row, ends, stream, state) -> None:
        self.seen.append(int(row[0]))  # the plan that the trial begins from
        self.done += 1
        row[0] = self.done

    def _evaluate(self, problem, space, row, state, user_sums, metrics) -> int:
        value = self.values[int(row[0]) - 1]
        if value is None:
            return Status.STUCK
        metrics[0] = value
        state.finish[0] = 100 * row[0]
        return Status.DONE

    def go(self, aim, who, trials: int | None = None) -> int:
        """Walk on by so many trials, by default by all that are left."""
        count = len(self.values) - self.done if trials is None else trials
        return descent.descend(None, SimpleNamespace(common=None), aim, who, self.state, None, np.zeros(3), count)


# ---- the one value --------------------------------------------------------------------------------------------------


def test_the_value_is_shares_of_the_greatest_distance_and_of_the_sum() -> None:
    """Distances (6−2)/2·3 = 6 and (10−4)/3·1 = 2: 0.9 of the greatest and 0.1 of the sum are 5.4 + 0.8."""
    aim = goal(weights=(3.0, 1.0), greatest=0.9, ideal=np.array([2.0, 4.0]), scale=np.array([2.0, 3.0]))
    assert descent.scalar(aim, np.array([6.0, 10.0])) == pytest.approx(0.9 * 6 + 0.1 * 8)


def test_what_is_maximised_counts_the_other_way() -> None:
    """A column of sign −1 is better the greater it is; only the columns that are asked for count."""
    aim = goal(signs=np.array([-1.0]), columns=np.array([2]))
    assert descent.scalar(aim, np.array([77.0, 88.0, 5.0])) == -5.0
    assert descent.scalar(aim, np.array([77.0, 88.0, 6.0])) < -5.0


# ---- late acceptance ------------------------------------------------------------------------------------------------


def test_late_acceptance_by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """Accepted is who is not worse than the plan at hand, or than the value that stands at this trial's place.

    Each place keeps the least value at hand that passed it. Places 0 1 2 hold 10 10 10 at first.
    """
    script = Trials(monkeypatch, [8.0, 10.0, 10.5, 9.0, 10.0, 10.0, 8.0])
    who = walker()
    expected = [
        # value at hand, best, places
        (8.0, 8.0, [8.0, 10.0, 10.0]),  # better
        (10.0, 8.0, [8.0, 10.0, 10.0]),  # worse, but as good as the value three trials ago
        (10.0, 8.0, [8.0, 10.0, 10.0]),  # worse than both
        (9.0, 8.0, [8.0, 10.0, 10.0]),  # better than at hand; the place keeps its 8
        (10.0, 8.0, [8.0, 10.0, 10.0]),  # as good as the place's 10
        (10.0, 8.0, [8.0, 10.0, 10.0]),
        (8.0, 8.0, [8.0, 10.0, 10.0]),
    ]
    for value, best, late in expected:
        assert script.go(goal(), who, 1) == Status.DONE
        assert (who.value.tolist(), who.late.tolist()) == ([value, best], late)
    assert script.seen == [0, 1, 2, 2, 4, 5, 6]
    assert who.steps.tolist() == [7, 0]


def test_the_places_come_down_with_the_walk(monkeypatch: pytest.MonkeyPatch) -> None:
    """As the plan at hand gets better every place follows when it is its turn, whether the trial was taken or not."""
    script = Trials(monkeypatch, [7.0, 20.0, 20.0, 7.5])
    who = walker()
    script.go(goal(), who, 3)
    assert who.late.tolist() == [7.0, 7.0, 7.0]
    assert (who.value[0], who.current[0]) == (7.0, 1)
    script.go(goal(), who)
    assert who.value[0] == 7.0


def test_the_place_is_that_of_the_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """Trial 4 of a walker with places 5, 3 and 9 looks at the second: 3.5 is refused, and at the third 3.5 is taken."""
    script = Trials(monkeypatch, [3.5, 3.5])
    who = walker(2.0)
    who.late[:] = [5.0, 3.0, 9.0]
    who.steps[0] = 4
    script.go(goal(), who, 1)
    assert (who.value[0], who.late.tolist()) == (2.0, [5.0, 2.0, 9.0])
    script.go(goal(), who)
    assert (who.value[0], who.late.tolist()) == (3.5, [5.0, 2.0, 3.5])


# ---- hill climbing and annealing ------------------------------------------------------------------------------------


def test_hill_climbing_takes_nothing_worse(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is as good replaces the plan at hand, what is worse does not; the places of late acceptance stay."""
    script = Trials(monkeypatch, [10.0, 10.1, 9.0, 9.5])
    who = walker()
    who.late[:] = 50.0
    script.go(goal(Accept.BETTER), who)
    assert script.seen == [0, 1, 1, 3]
    assert (who.value.tolist(), who.late.tolist()) == ([9.0, 9.0], [50.0] * 3)


@pytest.mark.parametrize(("draw", "taken"), [(0.36, True), (0.37, False)])
def test_annealing_takes_worse_plans_by_chance(monkeypatch: pytest.MonkeyPatch, draw: float, taken: bool) -> None:
    """At temperature 2 a plan that is worse by 2 is taken with probability exp(−1) = 0.3679."""
    script = Trials(monkeypatch, [12.0], [draw])
    who = walker(heat=(2.0, 0.5))
    script.go(goal(Accept.ANNEALED), who)
    assert (who.current[0] == 1) == taken
    assert (who.value[0], who.value[1]) == (12.0 if taken else 10.0, 10.0)


def test_annealing_cools_at_every_trial(monkeypatch: pytest.MonkeyPatch) -> None:
    """The temperature falls by its factor at each trial; the draw that was enough at 2 is not at 1, nor at 0.5."""
    draw = math.exp(-1.0) - 1e-9
    script = Trials(monkeypatch, [9.0, 10.0, 10.0, 9.25], [draw] * 3)
    who = walker(heat=(2.0, 0.5))
    script.go(goal(Accept.ANNEALED), who, 1)
    assert who.heat.tolist() == [1.0, 0.5]
    script.go(goal(Accept.ANNEALED), who, 1)  # 1 worse at temperature 1
    assert (who.value[0], who.heat[0]) == (10.0, 0.5)
    who.value[0] = 9.0
    script.go(goal(Accept.ANNEALED), who, 1)  # 1 worse at 0.5
    assert (who.value[0], who.heat[0]) == (9.0, 0.25)
    script.go(goal(Accept.ANNEALED), who, 1)  # a quarter worse at a quarter
    assert (who.value[0], who.heat[0]) == (9.25, 0.125)


def test_annealing_without_heat_is_hill_climbing(monkeypatch: pytest.MonkeyPatch) -> None:
    """At temperature 0 nothing worse is taken, and nothing is divided by nothing."""
    script = Trials(monkeypatch, [10.0001, 10.0], [0.0001])
    who = walker()
    script.go(goal(Accept.ANNEALED), who)
    assert who.current[0] == 2


# ---- what a walker remembers ----------------------------------------------------------------------------------------


def test_the_best_plan_is_kept_when_the_walk_goes_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Value, row, objectives and trial of the best stay those of the best; one that is only as good is no better."""
    script = Trials(monkeypatch, [10.0, 9.0, 10.0, 9.0])
    who = walker()
    script.go(goal(), who)
    assert (who.best[0], who.value[1], who.objectives[1, 0], who.steps.tolist()) == (2, 9.0, 9.0, [4, 1])
    assert (who.current[0], who.objectives[0, 0], who.ends[0]) == (4, 9.0, 400.0)


def test_a_refused_trial_leaves_no_trace(monkeypatch: pytest.MonkeyPatch) -> None:
    """Plan, objectives and ends at hand stay those of the plan at hand."""
    script = Trials(monkeypatch, [9.0, 11.0])
    who = walker(late=1)
    script.go(goal(Accept.BETTER), who)
    assert (who.current[0], who.objectives[0, 0], who.ends[0]) == (1, 9.0, 100.0)


def test_a_plan_that_cannot_run_stops_the_descent(monkeypatch: pytest.MonkeyPatch) -> None:
    """STUCK, and the trial neither counts nor is kept."""
    script = Trials(monkeypatch, [9.0, None, 8.0])
    who = walker()
    assert script.go(goal(), who) == Status.STUCK
    assert (who.current[0], who.steps[0], who.pocket_size[0]) == (1, 1, 1)


# ---- the pocket -----------------------------------------------------------------------------------------------------


def kept(
    points: Sequence[tuple[float, float]], room: int = 4, signs: Sequence[float] = (1.0, 1.0)
) -> list[list[float]]:
    """Return what a pocket keeps of plans met in this order, each with its number as its row."""
    who = walker(objectives=2, pocket=room)
    aim = goal(weights=(1.0, 1.0), signs=np.array(signs))
    for number, point in enumerate(points):
        descent.pocket(aim, who, np.array(point), np.array([number]))
    size = int(who.pocket_size[0])
    return [[*who.pocket_values[i].tolist(), int(who.pocket_rows[i, 0])] for i in range(size)]


def test_the_pocket_keeps_what_nothing_dominates() -> None:
    """Whoever is no better anywhere, or is equal, is not kept; whoever a new plan dominates goes."""
    assert kept([(3, 3), (4, 4), (3, 4), (3, 3)]) == [[3, 3, 0]]
    assert kept([(3, 3), (2, 4), (4, 2)]) == [[3, 3, 0], [2, 4, 1], [4, 2, 2]]
    assert kept([(3, 3), (3, 2)]) == [[3, 2, 1]]
    assert kept([(3, 3), (2, 3)]) == [[2, 3, 1]]


def test_the_pocket_drops_the_dominated_wherever_they_are() -> None:
    """The last one takes the place of one that goes, and is looked at there too."""
    assert kept([(1, 9), (5, 5), (9, 1), (4, 4)]) == [[1, 9, 0], [9, 1, 2], [4, 4, 3]]
    assert kept([(5, 6), (1, 9), (6, 5), (4, 4)]) == [[1, 9, 1], [4, 4, 3]]
    assert kept([(5, 6), (6, 5), (7, 4), (1, 1)]) == [[1, 1, 3]]


def test_a_full_pocket_takes_only_whom_somebody_makes_room_for() -> None:
    """Where there is no room a new plan is let go; one that dominates takes the place of the dominated."""
    assert kept([(1, 9), (9, 1), (5, 5)], room=2) == [[1, 9, 0], [9, 1, 1]]
    assert kept([(1, 9), (9, 1), (1, 8)], room=2) == [[9, 1, 1], [1, 8, 2]]


def test_the_pocket_goes_by_what_is_minimised() -> None:
    """A column of sign −1 is kept by its negative, and more of it is better."""
    assert kept([(3, 3), (3, 4)], signs=(1.0, -1.0)) == [[3, -4, 1]]


@pytest.mark.parametrize("seed", range(20))
def test_the_pocket_is_the_front(seed: int) -> None:
    """Of random plans it keeps the non-dominated ones, each once, with their own rows."""
    points = [tuple(p) for p in np.random.default_rng(seed).integers(0, 8, (25, 2)).tolist()]
    found = kept(points, room=30)
    front = {p for p in points if not any(q != p and q[0] <= p[0] and q[1] <= p[1] for q in points)}
    assert {(x, y) for x, y, _ in found} == front
    assert len(found) == len(front)
    assert all(points[number] == (x, y) for x, y, number in found)
