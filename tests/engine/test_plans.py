"""From rules, or an order and caps, to the Plan of the event loop: what stands in it, on cases worked by hand."""

from __future__ import annotations

import numpy as np

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement, QueueKey
from fedsched.engine.pack.problem import pack
from fedsched.engine.plans import plan_in_order, plan_of_rules
from fedsched.model.reading import Reading

MACHINE = fs.Federation.of(4, 2)
JOBS = fs.Workload(submit=[0.0, 0.0, 5.0], tasks=[2, 4, 1], runtime=[9.0, 3.0, 2.0])
PROBLEM = pack(JOBS, MACHINE, reading=Reading())


def test_an_order_alone_is_a_greedy_plan_on_the_fastest_nodes() -> None:
    """Tests that each job has its own row of caps, and that both orders are one where no other is given."""
    caps = np.array([[4, 2], [4, 0], [0, 2]])
    plan = plan_in_order(np.array([2, 0, 1]), caps)
    assert plan.order is plan.backfill_order
    assert (plan.order_key, plan.backfill_key, plan.separate_backfill) == (QueueKey.FIXED, QueueKey.FIXED, False)
    assert (plan.dispatch, plan.placement) == (Dispatch.GREEDY, Placement.FASTEST)
    assert plan.cap_row.tolist() == [0, 1, 2]
    assert plan.caps is caps


def test_a_second_order_is_for_backfilling() -> None:
    """Tests that rules and a backfill order of one's own are kept apart from the queue's."""
    plan = plan_in_order(
        np.array([0, 1, 2]), np.full((1, 2), 9), cap_row=np.zeros(3, dtype=np.int64), dispatch=Dispatch.EASY,
        placement=Placement.SINGLE, backfill_order=np.array([2, 1, 0]),
    )  # fmt: skip
    assert plan.separate_backfill
    assert plan.backfill_order.tolist() == [2, 1, 0]
    assert plan.cap_row.tolist() == [0, 0, 0]
    assert (plan.dispatch, plan.placement) == (Dispatch.EASY, Placement.SINGLE)
    assert all(type(number) is int for number in (plan.order_key, plan.backfill_key, plan.dispatch, plan.placement))


def test_rules_become_orders_and_numbers() -> None:
    """Tests that EASY-SJBF queues by arrival and backfills by length, jobs without caps sharing one row of them."""
    plan = plan_of_rules(JOBS, MACHINE, fs.Rules(dispatch="easy", backfill_order="sjf"), PROBLEM)
    assert plan.order.tolist() == [0, 1, 2]
    assert plan.backfill_order.tolist() == [2, 1, 0]
    assert plan.separate_backfill
    assert plan.caps.tolist() == [[4, 2]]
    assert plan.cap_row.tolist() == [0, 0, 0]


def test_an_order_that_changes_with_time_is_its_key() -> None:
    """Tests that ageing orders are kept by key, and that naming one twice is one queue, not two."""
    plan = plan_of_rules(JOBS, MACHINE, fs.Rules(order="wfp3", dispatch="easy", backfill_order="wfp3"), PROBLEM)
    assert (plan.order_key, plan.backfill_key) == (QueueKey.WFP3, QueueKey.WFP3)
    assert not plan.separate_backfill
    mixed = plan_of_rules(JOBS, MACHINE, fs.Rules(dispatch="easy", backfill_order="xfactor"), PROBLEM)
    assert (mixed.order_key, mixed.backfill_key) == (QueueKey.FIXED, QueueKey.XFACTOR)
    assert mixed.separate_backfill


def test_the_least_of_all_caps_binds() -> None:
    """Tests that a rule's caps and the caller's bind together, and like rows are stored once."""
    rules = fs.Rules(caps=np.array([[4, 1], [4, 2], [4, 1]]))
    plan = plan_of_rules(JOBS, MACHINE, rules, PROBLEM, caps=np.array([[3, 2], [9, 9], [3, 2]]))
    assert plan.caps[plan.cap_row].tolist() == [[3, 1], [4, 2], [3, 1]]
    assert len(plan.caps) == 2
