"""The rules' numbers: what users name, what kernels branch on, and what the reference knows are the same rules."""

from __future__ import annotations

from reference import naive

from fedsched.engine.codes import LOOKAHEAD, Dispatch, Placement, QueueKey
from fedsched.engine.orders import BY_SUBMIT, CHANGING
from fedsched.policies.named import DISPATCH, ORDERS, PLACEMENTS


def test_names_and_numbers_agree() -> None:
    """Every order and rule that users can name is one that the reference simulates, and every number is one of them."""
    assert {rule.name.lower() for rule in Dispatch} == set(naive.DISPATCH) == set(DISPATCH)
    assert {rule.name.lower() for rule in Placement} == set(naive.PLACEMENT) == set(PLACEMENTS)
    assert set(naive.ORDERS) == set(ORDERS)
    keys = {*CHANGING.values(), *BY_SUBMIT.values()}
    assert {key for key in QueueKey if key} == keys, "codes.QueueKey, orders.CHANGING, orders.BY_SUBMIT"
    assert LOOKAHEAD == naive.LOOKAHEAD
