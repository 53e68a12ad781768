"""Exact answers against the best of all schedules, which brute force has found."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from fedsched.bounds import ExactAnswer


def check_against_best(answer: ExactAnswer, fewest: int, least: float) -> None:
    """Fail unless an answer agrees with the fewest jobs that must be left out, and the least value with so few."""
    assert answer.fewest <= fewest <= answer.left_out
    if answer.left_out == fewest:
        assert answer.bound <= least * (1 + 1e-9)
        assert answer.value >= least * (1 - 1e-9)
    if answer.status == "optimal":
        assert answer.left_out == fewest
        assert answer.value == pytest.approx(least, rel=1.1e-5)
