"""From nouns to the arrays of shared nodes: kinds of jobs, nodes, and the room that a run works in."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.orders import queue_order
from fedsched.engine.pack import pack as pack_engine
from fedsched.engine.plans import plan_in_order
from fedsched.engine.rules import Needs
from fedsched.engine.states import new_state
from fedsched.model.federation import MOST_NODES
from fedsched.model.shares import GPU
from fedsched.sharing.arrays import Choice, Held, Kinds, Line, Nodes, Number, Reservation, Sharing, Stock, Work
from fedsched.sharing.asked import asked_of, refuse_what_is_not_here

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.engine.arrays import Ints, Plan, Problem, State
    from fedsched.model.federation import Federation
    from fedsched.model.reading import Reading
    from fedsched.model.workload import Workload
    from fedsched.policies import Rules
    from fedsched.sharing.asked import Asked
    from fedsched.sharing.noun import NodeSharing

ROOM = 2**40  # tasks: more than fit anywhere


class Packed(NamedTuple):
    """A problem of the engine, a plan and a state for it, and what is shared."""

    problem: Problem
    plan: Plan
    state: State
    sharing: Sharing
    work: Work
    asked: Asked


def pack(
    workload: Workload, federation: Federation, rules: Rules, sharing: NodeSharing, reading: Reading, t0: float | None
) -> Packed:
    """Return these jobs on these nodes as arrays."""
    refuse_what_is_not_here(workload, federation, rules, reading)
    asked = asked_of(workload, federation)
    problem = pack_engine(workload, federation, reading=reading, t0=t0)
    plan = _plan(problem, rules)
    state = new_state(
        problem,
        needs=Needs.ENDS if plan.dispatch == Dispatch.EASY else Needs.NOTHING,
        separate_backfill=plan.separate_backfill,
    )
    slowdown = np.where(asked.opened > 0, problem.groups.slowdown, np.inf).min(axis=1)
    fastest = np.where(np.isfinite(slowdown), slowdown, 1.0)
    state.shortest[:] = problem.estimate * (problem.sigma * fastest + (1.0 - problem.sigma))
    kinds = _kinds(workload, asked, problem.origin if plan.placement == Placement.HOME else None)
    packed = _sharing(federation, asked, kinds, sharing, plan)
    return Packed(problem, plan, state, packed, _work(packed, workload, asked), asked)


def _plan(problem: Problem, rules: Rules) -> Plan:
    order, order_key = queue_order(problem, rules.order)
    backfill, backfill_key = order, order_key
    if rules.backfill_order is not None and rules.dispatch == "easy":
        backfill, backfill_key = queue_order(problem, rules.backfill_order)
    separate = backfill_key != order_key or not np.array_equal(backfill, order)
    plan = plan_in_order(
        order,
        np.full((1, problem.groups.nodes.size), MOST_NODES),
        dispatch=Dispatch[rules.dispatch.upper()],
        placement=Placement[rules.placement.upper()],
        backfill_order=backfill if separate else None,
        cap_row=np.zeros(problem.submit.size, dtype=np.int64),
    )
    return plan._replace(order_key=int(order_key), backfill_key=int(backfill_key), backfill_order=backfill)


def _kinds(workload: Workload, asked: Asked, origin: Ints | None) -> Kinds:
    columns = [workload.tasks, *asked.need.T, asked.share, asked.chunk, asked.alone, *asked.opened.T]
    columns += [] if origin is None else [origin]
    of_job = np.zeros(len(workload), dtype=np.int64)
    for column in columns:
        if (column != column[0]).any():
            values, place = np.unique(column, return_inverse=True)
            of_job = np.unique(of_job * values.size + place.reshape(-1), return_inverse=True)[1].reshape(-1)
    first = np.unique(of_job, return_index=True)[1]
    return Kinds(
        of_job=_frozen(of_job),
        tasks=_frozen(workload.tasks[first]),
        need=_frozen(asked.need[first]),
        share=_frozen(asked.share[first]),
        chunk=_frozen(asked.chunk[first]),
        alone=_frozen(asked.alone[first]),
        opened=_frozen(asked.opened[first]),
    )


def _sharing(federation: Federation, asked: Asked, kinds: Kinds, sharing: NodeSharing, plan: Plan) -> Sharing:
    groups = federation.groups
    counts = np.array([group.count for group in groups])
    numbers = federation.node_order
    has = np.array([[dict(group.resources).get(name, 0) for group in groups] for name in asked.names])
    gpu = asked.names.index(GPU) if GPU in asked.names else -1
    position = np.empty(kinds.of_job.size, dtype=np.int64)
    position[plan.backfill_order] = np.arange(position.size)
    by_kind = np.lexsort((position, kinds.of_job))
    leaf = np.empty_like(position)
    leaf[by_kind] = np.arange(leaf.size)
    return Sharing(
        nodes=Nodes(
            first=_frozen([0, *np.cumsum(counts)]),
            group=_frozen(np.repeat(np.arange(counts.size), counts)),
            number=_frozen(np.arange(counts.sum()) if numbers is None else numbers),
            has=_frozen(has),
            gpus=_frozen(has[gpu] if gpu >= 0 else np.zeros(counts.size)),
        ),
        kinds=kinds,
        gpu=gpu,
        choice=int(Choice[sharing.choice.upper()]),
        reservation=int(Reservation[sharing.reservation.upper()]),
        leaf=_frozen(leaf),
        begin=_frozen(np.searchsorted(kinds.of_job[by_kind], np.arange(kinds.tasks.size + 1))),
    )


def _work(sharing: Sharing, workload: Workload, asked: Asked) -> Work:
    jobs, nodes, kinds = len(workload), sharing.nodes.group.size, sharing.kinds.tasks.size
    groups, devices = sharing.nodes.gpus.size, int(sharing.nodes.gpus.max(initial=0))
    pieces = int(np.minimum(workload.tasks, nodes).sum()) + nodes  # behind all that jobs hold, what a head would
    each = asked.need[:, sharing.gpu] if sharing.gpu >= 0 else np.zeros(jobs, dtype=np.int64)
    taken = np.minimum(workload.tasks * (each + (asked.share > 0)), np.where(asked.share > 0, ROOM, nodes * devices))
    gpus = int(taken.sum() + taken.max(initial=0))
    leaves = 1 << max(jobs - 1, 0).bit_length()
    return Work(
        number=_ints(len(Number)),
        now=_stock(sharing, devices),
        later=_stock(sharing, devices),
        both=_stock(sharing, devices),
        held=Held(
            first=_ints(jobs),
            pieces=_ints(jobs),
            node=np.empty(pieces, dtype=np.int64),  # pages that are never reached cost no memory
            tasks=np.empty(pieces, dtype=np.int64),
            first_device=_ints(jobs),
            devices=_ints(jobs),
            device_node=np.empty(gpus, dtype=np.int64),
            device=np.empty(gpus, dtype=np.int64),
            amount=np.empty(gpus, dtype=np.int64),
        ),
        line=Line(
            shortest=np.full(2 * leaves, np.inf),
            job=_ints(jobs),
            place=_ints(jobs),
            waiting=_ints(kinds),
            kinds=_ints(kinds),
            at=_ints(kinds),
            next=_ints(kinds),
            heap=_ints(kinds),
            beside=_ints(kinds),
        ),
        bound=_ints(kinds),
        freed=_ints(nodes),
        room=_ints(groups),
        fit=_ints(nodes),
        order=_ints(nodes),
    )


def _stock(sharing: Sharing, devices: int) -> Stock:
    resources, nodes = sharing.nodes.has.shape[0], sharing.nodes.group.size
    return Stock(
        free=np.zeros((resources, nodes), dtype=np.int64),
        jobs=_ints(nodes),
        left=np.zeros((nodes, devices), dtype=np.int64),
    )


def _ints(size: int) -> Ints:
    return np.zeros(size, dtype=np.int64)


def _frozen(values: Any) -> NDArray[np.int64]:
    array = np.array(values, dtype=np.int64, order="C")
    array.setflags(write=False)
    return array


