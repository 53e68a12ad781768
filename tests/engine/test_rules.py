"""What each dispatch rule needs, as the faces and as the kernels read it."""

from __future__ import annotations

import pytest
from support.plain import plain

from fedsched.engine.codes import Dispatch
from fedsched.engine.rules import NEEDS, Needs, needs_of
from fedsched.policies import DISPATCH

rules = plain("fedsched.engine.rules")


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
