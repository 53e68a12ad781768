"""Shared nodes compiled: many more random mixtures, each function compiled once, and runs that are stopped."""

from __future__ import annotations

import pytest
from support import signatures
from support.sharing_cases import BOUND, case, same_as_naive
from support.tiers import tries

EVERYTHING = (*BOUND, "held", "tiers", "reserved", "downtimes", "counted", "taking")

pytestmark = pytest.mark.compiled


def test_many_mixtures_are_as_the_reference_has_them() -> None:
    """Tests what `test_against_naive` does on more and larger cases."""
    for seed in range(1000, 1000 + tries(200, 12)):
        same_as_naive(case(seed, jobs=24, most_nodes=5))
        same_as_naive(case(5000 + seed, jobs=20, most_nodes=5, bound=BOUND))
        same_as_naive(case(6000 + seed, jobs=20, most_nodes=5, bound=EVERYTHING))


def test_each_function_is_compiled_once() -> None:
    """Tests that whatever is shared, nothing has more than one signature."""
    for seed in range(6):
        case(seed).simulate()
        case(seed, bound=EVERYTHING).simulate()
    signatures.check("fedsched.engine.shared_nodes", least=20)
