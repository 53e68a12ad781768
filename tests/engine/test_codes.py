"""The numbers of rules: users, kernels and the reference mean the same rules by them, and each says what it needs."""

from __future__ import annotations

import pytest
from reference import naive
from support.plain import plain

from fedsched.engine.codes import LOOKAHEAD, NEEDS, Dispatch, Needs, Placement, QueueKey, needs_of
from fedsched.engine.orders import BY_SUBMIT, CHANGING
from fedsched.policies.named import DISPATCH, ORDERS, PLACEMENTS

rules = plain("fedsched.engine.codes")


def test_names_and_numbers_agree() -> None:
    """Every order and rule that users can name is one that the reference simulates, and every number is one of them."""
    assert {rule.name.lower() for rule in Dispatch} == set(naive.DISPATCH) == set(DISPATCH)
    assert {rule.name.lower() for rule in Placement} == set(naive.PLACEMENT) == set(PLACEMENTS)
    assert set(naive.ORDERS) == set(ORDERS)
    keys = {*CHANGING.values(), *BY_SUBMIT.values()}
    assert {key for key in QueueKey if key} == keys, "codes.QueueKey, orders.CHANGING, orders.BY_SUBMIT"
    assert all(key < QueueKey.SUBMITTED for key in CHANGING.values()), "queue_tree.sort asks by the number"
    assert all(key >= QueueKey.SUBMITTED for key in BY_SUBMIT.values())
    assert LOOKAHEAD == naive.LOOKAHEAD


def test_every_rule_says_what_it_needs() -> None:
    """A rule that users can name has a number and its needs, and no number is without a name."""
    assert {rule.name.lower() for rule in NEEDS} == {rule.name.lower() for rule in Dispatch} == set(DISPATCH)


@pytest.mark.parametrize("rule", Dispatch)
def test_kernels_know_who_looks_at_planned_ends(rule: Dispatch) -> None:
    """What a kernel is told of a rule's needs is what the table says."""
    assert rules.needs_ends(rule) == (Needs.ENDS in NEEDS[rule])


def test_several_rules_need_all_that_each_needs() -> None:
    """Room for several rules serves each of them; for none, nothing is needed."""
    assert needs_of() == Needs.NOTHING
    assert needs_of(Dispatch.GREEDY, Dispatch.EASY) == Needs.ENDS | Needs.CLASSES
    assert needs_of(Dispatch.STRICT, Dispatch.CONSERVATIVE) == Needs.ENDS | Needs.PROFILE
