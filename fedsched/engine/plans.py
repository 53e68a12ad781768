"""Functions that make the `Plan` which the event loop follows: from a policy's rules, or from an order and caps."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.arrays.structs import Plan
from fedsched.engine.codes import Dispatch, Placement, QueueKey
from fedsched.engine.compatibility import Use, refuse
from fedsched.engine.orders import queue_order
from fedsched.engine.pack.node_caps import caps_table, checked_caps

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Ints, Problem
    from fedsched.model.jobs.workload import Workload
    from fedsched.model.machine.federation import Federation
    from fedsched.policies import Rules


def plan_in_order(
    order: Ints,
    caps: Ints,
    *,
    dispatch: int = Dispatch.GREEDY,
    placement: int = Placement.FASTEST,
    backfill_order: Ints | None = None,
    cap_row: Ints | None = None,
) -> Plan:
    """Return the plan with this fixed queue order; job j has row j of `caps` unless `cap_row` names another row.

    Jobs are backfilled in queue order unless `backfill_order` is given.
    """
    return Plan(
        order=order,
        order_key=int(QueueKey.FIXED),
        backfill_order=order if backfill_order is None else backfill_order,
        backfill_key=int(QueueKey.FIXED),
        separate_backfill=backfill_order is not None,
        caps=caps,
        cap_row=np.arange(len(caps)) if cap_row is None else cap_row,
        dispatch=int(Dispatch(dispatch)),
        placement=int(Placement(placement)),
    )


def plan_of_rules(
    workload: Workload, federation: Federation, rules: Rules, problem: Problem, *, caps: Ints | None = None
) -> Plan:
    """Return the plan that these rules make for the jobs; the lower one of the rules' caps and of `caps` applies.

    Raise IncompatibleError if the dispatch rule does not support a feature of the jobs or nodes.
    """
    refuse(f"dispatch {rules.dispatch}", Use(workload, federation))
    order, order_key = queue_order(problem, rules.order)
    backfill, backfill_key = order, order_key
    if rules.backfill_order is not None:
        backfill, backfill_key = queue_order(problem, rules.backfill_order)
    separate = backfill_key != order_key or not np.array_equal(backfill, order)
    shape = (problem.submit.size, problem.groups.nodes.size)
    if rules.caps is not None:
        own = checked_caps(rules.caps, *shape)
        caps = own if caps is None else np.minimum(own, checked_caps(caps, *shape))
    table, row_of = caps_table(workload, federation, caps)
    plan = plan_in_order(
        order,
        table,
        dispatch=Dispatch[rules.dispatch.upper()],
        placement=Placement[rules.placement.upper()],
        backfill_order=backfill if separate else None,
        cap_row=row_of,
    )
    return plan._replace(order_key=int(order_key), backfill_key=int(backfill_key), backfill_order=backfill)
