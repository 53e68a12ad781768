"""Genomes of keys: how a particle flies, and what a child of two has, with draws that are given."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import plain

keys = plain("fedsched.search.encoding.keys")


@pytest.fixture
def draw(monkeypatch: pytest.MonkeyPatch):
    """Return what gives the kernels their draws."""

    def give(*values: float) -> list[float]:
        left = list(values)
        monkeypatch.setattr(keys, "begin_stream", lambda *_: None)
        monkeypatch.setattr(keys, "uniform", lambda stream: left.pop(0))
        monkeypatch.setattr(keys, "below", lambda stream, bound: left.pop(0))
        return left

    return give


def flown(here: float, speed: float, own: float, leader: float) -> tuple[float, float]:
    """Return position and speed of one particle after one flight."""
    positions, velocities = np.array([[here]]), np.array([[speed]])
    keys.fly_keys(positions, velocities, np.array([[own]]), np.array([[0.123], [leader]]), np.array([1]), None, 0, 0)
    return float(positions[0, 0]), float(velocities[0, 0])


def test_a_flight_by_hand(draw) -> None:
    """Inertia, a pull to one's own best by the first draw, and one to the leader by the second."""
    left = draw(0.5, 0.25)
    place, speed = flown(0.5, 0.1, 0.4, 0.6)
    assert speed == pytest.approx(0.729 * 0.1 + 1.494 * 0.5 * (0.4 - 0.5) + 1.494 * 0.25 * (0.6 - 0.5), abs=1e-15)
    assert place == pytest.approx(0.5 + speed, abs=1e-15)
    assert left == []


def test_speeds_and_positions_are_clipped(draw) -> None:
    """No faster than a fifth of the range either way, and never out of it."""
    draw(0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0)
    assert flown(0.5, 1.0, 0.5, 0.5) == (0.7, 0.2)
    assert flown(0.5, -1.0, 0.5, 0.5) == (0.3, -0.2)
    assert flown(0.9, 1.0, 0.5, 0.5) == (1.0, 0.2)
    assert flown(0.1, -1.0, 0.5, 0.5) == (0.0, -0.2)


@pytest.mark.parametrize(
    ("begin", "length", "expected"),
    [(1, 1, [3, 1, 2, 0]), (0, 0, [0, 3, 2, 1]), (3, 0, [2, 1, 0, 3]), (0, 3, [0, 1, 2, 3])],
)
def test_a_child_ranks_its_jobs_by_order_crossover(draw, begin: int, length: int, expected: list[int]) -> None:
    """A stretch of the first ranking stays, the rest follows the mate's; keys are evenly spaced in that ranking."""
    left = draw(begin, length, 0.25, 0, 3, 0.0)
    parents = np.array([[0.0] * 4 + [0.8], [0.0] * 4 + [0.4]])
    orders, both = np.array([[0, 1, 2, 3], [3, 2, 1, 0]]), np.full((2, 5), np.nan)
    keys.cross_keys(parents, orders, np.array([1, 1]), both, np.zeros(4, dtype=np.int64), None, 0, 0)
    assert np.argsort(both[0, :4]).tolist() == expected
    assert sorted(both[0, :4].tolist()) == [0.125, 0.375, 0.625, 0.875]
    assert both[0, 4] == pytest.approx(0.25 * 0.8 + 0.75 * 0.4, abs=1e-15)
    assert (np.argsort(both[1, :4]).tolist(), both[1, 4]) == ([3, 2, 1, 0], 0.4)
    assert left == []
