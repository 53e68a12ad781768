"""The usual policies' plans at an instant: starting points of each search, and what it must beat."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.engine.codes import Dispatch
from fedsched.engine.loop.event_loop import begin, run
from fedsched.engine.orders import order_at_begin
from fedsched.engine.plans import plan_in_order
from fedsched.engine.run.simulation import set_running

if TYPE_CHECKING:
    from collections.abc import Iterator

    from fedsched.engine.arrays.structs import Ints, State
    from fedsched.optimize.rolling.instant import Instant, Workspaces

ORDERS = ("fcfs", "sjf", "saf", "wfp3", "xfactor", "unicef", "smallest", "largest")
FOREVER = int(np.iinfo(np.int64).max)


def incumbents(instant: Instant, spaces: Workspaces, *, by_starts: Dispatch = Dispatch.STRICT) -> Ints:
    """Return the plans of the usual policies, without duplicates.

    EASY-SJBF has two orders, which a plan cannot have. It is represented by the order of its starts: with strict
    dispatch, such a plan on equal nodes is never worse than the schedule itself.
    """
    seen: dict[bytes, Ints] = {}
    for row in _candidates(instant, spaces, by_starts):
        seen.setdefault(row.tobytes(), row)
    rows = np.array(list(seen.values()), dtype=np.int64)
    return instant.repaired(rows)


def _candidates(instant: Instant, spaces: Workspaces, by_starts: Dispatch) -> Iterator[Ints]:
    limits = instant.space.limits
    _, usual = instant.default_rules()
    held = {name: order_at_begin(instant.problem, name) for name in ORDERS}
    orders = {name: order[order < instant.layout.jobs] for name, order in held.items()}  # waiting jobs come first

    def plan(order: Ints, dispatch: Dispatch, placement: int = usual, caps: Ints = limits) -> Ints:
        return instant.layout.pack(order[None], caps[None], np.array([[dispatch, placement]]))[0]

    one_group = limits.shape[1] == 1
    for backfill in ("sjf", "saf") if instant.whole_nodes else ():
        state = _easy(instant, spaces, orders["fcfs"], orders[backfill], usual)
        start = state.start[: len(limits)]
        starts = np.argsort(start, kind="stable")
        caps = limits if one_group else np.where(np.isnan(start)[:, None], limits, state.counts[: len(limits)])
        yield plan(starts, by_starts, caps=caps)
    for order in orders.values():
        yield plan(order, Dispatch.EASY)
        yield plan(order, Dispatch.GREEDY)
    for placement in instant.space.placements.tolist():
        for name in ("fcfs", "sjf", "saf", "wfp3"):
            yield plan(orders[name], Dispatch.EASY, placement)


def _easy(instant: Instant, spaces: Workspaces, order: Ints, backfill: Ints, placement: int) -> State:
    # The simulator's EASY: the head by one order, backfilling by another.
    problem, running = instant.problem, instant.space.common.running
    state = spaces.of(problem, separate_backfill=True)
    set_running(state, problem.running, running)
    plan = plan_in_order(
        order, instant.space.limits, dispatch=Dispatch.EASY, placement=placement, backfill_order=backfill
    )
    begin(problem, plan, state)
    run(problem, plan, state, FOREVER, np.inf)
    return state
