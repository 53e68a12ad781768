"""What runs tell of run times: those that are over, and those that go on."""

from __future__ import annotations

import numpy as np
import pytest

from fedsched.site.outlook import Habits
from fedsched.site.outlook.habits import Runs


def told(runs: list[tuple[float, bool]]) -> list[float]:
    """Return the parts that runs of limit 100 tell of."""
    run, over = zip(*runs, strict=True)
    ran = Runs(np.array(["ann"] * len(runs), dtype=object), np.full(len(runs), 100.0), np.array(run), np.array(over))
    return Habits.of(ran).of_all.tolist()


@pytest.mark.parametrize(
    ("runs", "parts"),
    [([(60.0, True), (10.0, True)], [0.1, 0.6]),
     ([(10.0, True), (50.0, False), (60.0, True)], [0.1, 0.6, 0.6]),  # of two who came to 0.5, the one that ended: 0.6
     ([(10.0, True), (20.0, True), (50.0, False)], [0.1, 0.2, 1.0]),  # beyond all that ended: the limit
     ([(10.0, True), (100.0, False)], [0.1, 1.0]),  # who is at his limit is over
     ([(10.0, True), (5.0, False)], [0.1, 0.1])],
)  # fmt: skip
def test_who_still_runs_has_used_no_less(runs: list[tuple[float, bool]], parts: list[float]) -> None:
    """Runs that go on make longer ones likelier, and take none away."""
    assert told(runs) == pytest.approx(parts)


def test_runs_looked_at_too_early_are_drawn_from_what_they_will_be() -> None:
    """The mean of what is drawn is that of all runs, although half of them go on, mostly the long ones."""
    rng = np.random.default_rng(1)
    run, seen = rng.uniform(1.0, 100.0, 400), rng.uniform(1.0, 100.0, 400)
    over = run <= seen
    guess = np.mean(told(list(zip(np.minimum(run, seen).tolist(), over.tolist(), strict=True))))
    assert abs(guess - 0.505) < 0.05
    assert np.mean(run[over]) / 100.0 < 0.4


def test_who_only_runs_tells_nothing() -> None:
    """Where nobody has ended, nothing is known."""
    ran = Runs(np.array(["ann"], dtype=object), np.array([100.0]), np.array([5.0]), np.array([False]))
    assert Habits.of(ran).known == 0
