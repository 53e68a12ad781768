"""The rules' numbers: what users name, what kernels branch on, and what the reference knows are the same rules."""

from __future__ import annotations

import naive
import pytest

import fedsched as fs
from fedsched.engine.codes import LOOKAHEAD, Dispatch, Placement, QueueKey
from fedsched.engine.orders import CHANGING


def test_names_and_numbers_agree() -> None:
    """Every rule that the reference simulates has a number, and no number is without a rule."""
    assert {rule.name.lower() for rule in Dispatch} == set(naive.DISPATCH)
    assert {rule.name.lower() for rule in Placement} == set(naive.PLACEMENT)
    assert {key for key in QueueKey if key} == set(CHANGING.values())
    assert LOOKAHEAD == naive.LOOKAHEAD


@pytest.mark.parametrize("rule", list(Dispatch))
def test_rules_that_plan_come_last(rule: Dispatch) -> None:
    """Kernels ask by order who keeps planned ends, and workspaces who keeps a profile."""
    assert (rule >= Dispatch.EASY) == (rule.name in ("EASY", "CONSERVATIVE", "LOOKAHEAD"))
    assert (rule >= Dispatch.CONSERVATIVE) == (rule.name in ("CONSERVATIVE", "LOOKAHEAD"))
    assert fs.Rules(dispatch=rule.name.lower()).dispatch == rule.name.lower()
