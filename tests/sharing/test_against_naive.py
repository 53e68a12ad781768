"""Shared nodes against the naive reference: every start, every task on its node, every device."""

from __future__ import annotations

import pytest
from interpreted import tries
from sharing_cases import case, same_as_naive


@pytest.mark.parametrize("seed", range(tries(100)))
def test_small_mixtures_are_as_the_reference_has_them(seed: int) -> None:
    """Tests that runs of all rules, choices, demands and layouts have each job where the reference has it."""
    same_as_naive(case(seed))
