"""Which plan of a front is taken: the knee, by weights, by limits."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import UnknownNameError
from fedsched.optimize.result.choosing import chosen_index, limit_of
from fedsched.optimize.result.record import Baseline, Front, PlannedQueue

if TYPE_CHECKING:
    from collections.abc import Mapping

    from numpy.typing import NDArray

# makespan (less), utilisation (more): the middle plan is the knee, the ends are the best by one each.
VALUES = np.array([[10.0, 0.5], [12.0, 0.9], [30.0, 1.0]])


def result(values: np.ndarray = VALUES, objectives: tuple[str, ...] = ("makespan", "utilisation")) -> Any:
    """Return what of a result is looked at: a front and two baselines."""
    front = Front(objectives, values, tuple(PlannedQueue(policy=f"p{k}") for k in range(len(values))))
    baselines = (Baseline("easy", (20.0, 0.6)), Baseline("easy-saf", (16.0, 0.4)))
    value = lambda name: float(values[front.best_index(name), objectives.index(name)])  # noqa: E731
    return SimpleNamespace(front=front, baselines=baselines, objectives=objectives, value=value)


@pytest.mark.parametrize(
    ("by", "weights", "within", "chosen"),
    [
        (None, None, None, 1),
        ("knee", None, None, 1),
        ("makespan", None, None, 0),
        ("utilisation", None, None, 2),
        (None, {"makespan": 1.0}, None, 0),
        (None, {"utilisation": 3}, None, 2),
        (None, {"makespan": 1, "utilisation": 1}, None, 1),
        (None, {"makespan": 100, "utilisation": 1}, None, 0),
        ("utilisation", None, {"makespan": 20.0}, 1),
        ("utilisation", None, {"makespan": "easy"}, 1),
        ("utilisation", None, {"makespan": "easy+50%"}, 2),
        ("utilisation", None, {"makespan": "easy-45.5%"}, 0),
        ("makespan", None, {"utilisation": 0.6}, 1),  # of what is maximised at least so much
        ("makespan", None, {"utilisation": "easy+60%"}, 2),
        ("utilisation", None, {"makespan": "easy-saf"}, 1),
        ("knee", None, {"utilisation": 0.95}, 2),
    ],
)
def test_the_plan_that_is_asked_for(
    by: str | None, weights: Mapping[str, float] | None, within: Mapping[str, float | str] | None, chosen: int
) -> None:
    """Tests each way to choose on a front of three plans, of which more is better by one objective."""
    assert chosen_index(result(), by, weights, within) == chosen


@pytest.mark.parametrize(
    ("choice", "words"),
    [
        ({"within": {"makespan": 9.0}}, "no plan of the front keeps makespan to 9; the best has 10"),
        ({"within": {"makespan": 11.0, "utilisation": 0.9}}, "no plan of the front keeps to all of"),
        ({"within": {"makespan": float("nan")}}, "must be finite, or a baseline's"),
        ({"weights": {"makespan": -1}}, r"weights\['makespan'\]=-1 must be finite and at least 0"),
        ({"weights": {"makespan": 0}}, "one of them must be above 0"),
        ({"weights": {"makespan": 1}, "by": "knee"}, "give only one"),
    ],
)
def test_choices_that_nothing_meets_are_named(choice: dict[str, Any], words: str) -> None:
    """Tests that a limit that no plan keeps says what the best has, and weights that mean nothing are refused."""
    with pytest.raises(ValueError, match=words):
        chosen_index(result(), choice.get("by"), choice.get("weights"), choice.get("within"))


@pytest.mark.parametrize(
    ("choice", "near"),
    [
        ({"by": "makespam"}, "makespan"),
        ({"weights": {"makespam": 1}}, "makespan"),
        ({"within": {"makespam": 1}}, "makespan"),
        ({"within": {"makespan": "eazy+5%"}}, "easy"),
        ({"within": {"makespan": "+5%"}}, "easy"),
    ],
)
def test_names_that_are_not_there_are_told(choice: dict[str, Any], near: str) -> None:
    """Tests that an objective or a baseline that the result does not have is named, the known ones beside it."""
    with pytest.raises(UnknownNameError, match=near):
        chosen_index(result(), choice.get("by"), choice.get("weights"), choice.get("within"))


def test_a_limit_beside_a_baseline() -> None:
    """Tests that a limit in per cent is of the baseline's value of that objective."""
    assert limit_of(result(), "makespan", "easy+5%") == pytest.approx(21.0)
    assert limit_of(result(), "utilisation", "easy-saf") == 0.4
    assert limit_of(result(), "makespan", 7) == 7.0


def test_a_search_gives_a_schedule_to_choose() -> None:
    """Tests that the chosen plan of a real front keeps to its limit, and is the best that does."""
    workload, federation = fs.Workload.example().head(12), fs.Federation.example()
    found = fs.optimize(workload, federation, objectives=("makespan", "energy"), evaluations=200, seed=3)
    makespan = sorted(found.front.values[:, 0])[len(found.front) // 2]
    chosen = found.choose("energy", within={"makespan": makespan})
    kept = found.front.values[found.front.values[:, 0] <= makespan, 1]
    assert chosen.metrics().energy == pytest.approx(kept.min(), rel=1e-9)
    assert found.choose().start_hash() == found.knee().start_hash()


def bill(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return an objective of a user's own."""
    return metrics["energy"] / 3.6e6 + metrics["mean_wait"] / 100.0


def test_fronts_of_a_users_function_are_chosen_from_alike() -> None:
    """Tests that the knee, weights and limits beside baselines take a function's values as they take a metric's."""
    workload, federation = fs.Workload.example().head(12), fs.Federation.example()
    found = fs.optimize(workload, federation, objectives=("makespan", bill), evaluations=300, seed=3)
    assert len(found.front) > 1
    values = found.front.values
    for choice, column in (({"by": "bill"}, 1), ({"weights": {"bill": 1.0}}, 1), ({"by": "makespan"}, 0)):
        metrics = found.choose(**choice).metrics()
        chosen = (metrics.makespan, metrics.energy / 3.6e6 + metrics.mean_wait / 100.0)
        assert chosen == pytest.approx(values[values[:, column].argmin()], rel=1e-12)
    (easy,) = (baseline.values[1] for baseline in found.baselines if baseline.policy == "easy")
    limited = found.choose("makespan", within={"bill": "easy+5%"}).metrics()
    kept = values[values[:, 1] <= 1.05 * easy]
    assert limited.makespan == pytest.approx(kept[:, 0].min(), rel=1e-12)
    assert found.choose("knee").start_hash() == found.knee().start_hash()
