"""What may start of each class: rooms by placement, and limits that no job that could start is beyond."""

from __future__ import annotations

import numpy as np
import pytest
from support.grouped import JOBS, busy, scanned
from support.plain import arrived, clusters, jobs, plain

from fedsched.engine.arrays import new_state
from fedsched.engine.codes import Placement

class_limits = plain("fedsched.engine.queue.class_limits")
reservation = plain("fedsched.engine.dispatch.head_reservation")
PAIR = clusters(((6, 1.0),), ((3, 1.0), (3, 0.5)))


@pytest.fixture(autouse=True)
def _short_queues_have_room(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(new_state, "LONG_QUEUE", 1)


@pytest.mark.parametrize(
    ("placement", "room"), [("fastest", 9), ("single", 5), ("big_small", 6), ("best_fit", 9), ("home", 9)]
)
def test_the_room_of_a_set_is_what_its_placement_can_take(placement: str, room: int) -> None:
    """One cluster's nodes where a job stays in one; four thirds of them where one holds three quarters."""
    problem, plan, _ = arrived(jobs([1], [1.0]), PAIR, dispatch="easy")
    plan = plan._replace(placement=int(Placement[placement.upper()]))
    assert class_limits._room(problem, plan, np.array([1, 1, 1]), np.array([4, 2, 3])) == room
    assert class_limits._room(problem, plan, np.array([1, 0, 0]), np.array([4, 2, 3])) == 4


@pytest.mark.parametrize("placement", ["fastest", "single", "best_fit", "powerful", "big_small", "efficient", "home"])
def test_nobody_who_could_start_is_passed_over(placement: str) -> None:
    """Limits are lower bounds: every job that fits beside the reservation is handed out, and not all others are."""
    could = handed_out = 0
    for seed in range(30):
        problem, plan, state, _, window = busy(seed, placement)
        fits = [
            p
            for p, j in enumerate(state.queue.order)
            if reservation.place_beside_reservation(problem, plan, state, j, window) != reservation.REFUSED
        ]
        found = scanned(problem, plan, state, window)
        assert set(fits) <= set(found), (seed, placement)
        could, handed_out = could + len(fits), handed_out + len(found)
    assert 0 < could <= handed_out < 30 * JOBS
