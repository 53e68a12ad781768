"""Shared nodes: a job fits if its tasks fit into the free cores, memory and GPUs of nodes [75].

Every function takes `shared` first. It is None if nodes are allocated whole: then functions use node sets only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, inlined, kernel, part
from fedsched.engine.shared_nodes import counted
from fedsched.engine.shared_nodes.allocations import copy_present, keep_run
from fedsched.engine.shared_nodes.arrays import Number
from fedsched.engine.shared_nodes.choosing import choose_blocks
from fedsched.engine.shared_nodes.devices import choose_devices
from fedsched.engine.shared_nodes.stock import copy_stock, fit_on, give_back, room_on, take
from fedsched.slurm.nodes.node_sets import BITS, add, count, drop, next_in, ones
from fedsched.slurm.nodes.node_sizes import choose_at_start, choose_for, enough, is_sized
from fedsched.slurm.passes.gpu_node_order import look_ahead, look_for_now

if TYPE_CHECKING:
    import numpy as np

    from fedsched.engine.shared_nodes.arrays import Ints, Sharing, Stock, Work
    from fedsched.slurm.loop.structs import Problem, State, Words


@by_reference
class Shared(NamedTuple):
    """The arrays for shared nodes: nodes, requests, free resources, and how many jobs complete on each node.

    `by_node` is 1 for jobs that request memory per node: all free cores of a node then count in the choice of nodes.
    `for_gpus` has for each kind of jobs the GPUs that its tasks on one node request, and `with_gpus` the nodes that
    have GPUs; both are empty if GPUs do not affect the order of nodes. `weight` is each node's weight in backfill's
    look ahead. `refused` has for each kind of jobs the shortest time limit that found no room in this backfill pass.
    """

    sharing: Sharing
    work: Work
    completing: Ints
    by_node: Ints
    refused: Ints
    for_gpus: Ints
    with_gpus: Ints
    weight: Ints


FIRST, NOTHING, NO_WEIGHT = constant(0), constant(0), constant(-1)
NEVER, NO_JOB = constant(2**62), constant(-1)
CORES = constant(0)  # index of cores among the resources of nodes


@inlined
def blocked_nodes(shared: Shared | None, state: State, k: int) -> np.uint64:
    """Return word `k` of the set of nodes on which no job can start now.

    If nodes are shared these are nodes with a job that completes (its nodes are being cleared), else all busy nodes.
    """
    if shared is None:
        return state.busy[k]
    return state.completing[k]


@inlined
def fits_now(shared: Shared | None, problem: Problem, nodes: Words, job: int) -> bool:
    """Return whether a job fits on these nodes now.

    On shared nodes, their free resources have to be enough; else the nodes are free, and their number or CPUs count.
    """
    if shared is None:
        return enough(problem.sizes, problem, nodes, job)
    return _has_room(shared.sharing, shared.work.now, nodes, job)


@inlined
def forget_refused(shared: Shared | None) -> None:
    """Reset the time limits that `note_refused` has stored, as a backfill pass begins."""
    if shared is not None:
        shared.refused[:] = NEVER


@inlined
def note_refused(shared: Shared | None, job: int, limit: int) -> None:
    """Store that a job has no room with this time limit; then no job of its kind has with that or a longer limit.

    During a pass room only shrinks, and a longer job needs it for longer. The clock does not advance after the first
    such test. Nothing is stored if nodes are not shared.
    """
    if shared is not None:
        shared.refused[shared.sharing.kinds.of_job[job]] = limit


@inlined
def may_have_room(shared: Shared | None, problem: Problem, state: State, job: int) -> bool:
    """Return False if it is known already that a job has no room in this pass; True does not mean that it has.

    On shared nodes, that is known from `note_refused`; else if fewer of its nodes are idle than it needs.
    """
    if shared is not None:
        return problem.jobs.limit[job] < shared.refused[shared.sharing.kinds.of_job[job]]
    if is_sized(problem.sizes, job):
        return True
    idle, which = state.scratch.idle, problem.jobs.nodes[job]
    if idle[which] < 0:
        mine, idle[which] = problem.machine.sets[which], 0
        for k in range(mine.size):
            idle[which] += ones(mine[k] & ~state.busy[k])
    return idle[which] >= problem.jobs.tasks[job]


@inlined
def fits_then(shared: Shared | None, problem: Problem, nodes: Words, many: int, job: int) -> bool:
    """Return whether a job fits on these nodes with the resources that have been released for a later time.

    If nodes are not shared, `many` is the number of free nodes.
    """
    if shared is None:
        if is_sized(problem.sizes, job):
            return enough(problem.sizes, problem, nodes, job)
        return many >= problem.jobs.tasks[job]
    look_ahead(shared, nodes, job)
    return _has_room(shared.sharing, shared.work.later, nodes, job)


@inlined
def may_fit(shared: Shared | None, problem: Problem, nodes: Words, job: int) -> bool:
    """Return whether a job might fit on these nodes if no other job ran.

    On shared nodes it is only checked that there is a node.
    """
    if shared is None:
        return enough(problem.sizes, problem, nodes, job)
    return count(nodes) > 0


@inlined
def place_now(shared: Shared | None, problem: Problem, state: State, job: int) -> None:
    """Choose the nodes of a job that fits now, among `state.scratch.free`; write them into `state.scratch.chosen`."""
    scratch = state.scratch
    if shared is None:
        choose_for(problem.sizes, problem, scratch.free, job, scratch.blocks, scratch.chosen)
        return
    _choose(problem.machine.weight, shared, shared.work.now, job, scratch.free, scratch.chosen)


@inlined
def place_then(shared: Shared | None, problem: Problem, state: State, job: int) -> None:
    """Choose the nodes of a job that fits at a later time, with what has been released until then.

    They are written into `state.scratch.chosen`.
    """
    scratch = state.scratch
    if shared is None:
        choose_for(problem.sizes, problem, scratch.free, job, scratch.blocks, scratch.chosen)
        return
    _choose(shared.weight, shared, shared.work.later, job, scratch.free, scratch.chosen)


@inlined
def place_at_start(shared: Shared | None, problem: Problem, state: State, job: int) -> None:
    """Choose anew the nodes of a job that backfill is starting, as Slurm does at a start.

    They are written into `state.scratch.chosen`. On shared nodes they are usable nodes without completing jobs.
    """
    if shared is None:
        choose_at_start(problem, state, job)
        return
    scratch = state.scratch
    for k in range(scratch.usable.size):
        scratch.free[k] = scratch.usable[k] & ~state.completing[k]
    look_for_now(shared, problem, job, scratch.free)
    _choose(problem.machine.weight, shared, shared.work.now, job, scratch.free, scratch.chosen)


@inlined
def begin_release(shared: Shared | None, state: State) -> int:
    """Begin a look ahead: free nodes are the usable ones that are idle, or have completing jobs only.

    Return their number. On shared nodes free resources are those free now, and 0 is returned.
    """
    usable, free = state.scratch.usable, state.scratch.free
    if shared is None:
        for k in range(usable.size):
            free[k] = usable[k] & ~(state.busy[k] & ~state.completing[k])
        return count(free)
    for k in range(usable.size):
        free[k] = usable[k]
    copy_stock(shared.work.now, shared.work.later)
    return NOTHING


@inlined
def release(shared: Shared | None, state: State, job: int) -> int:
    """Add what a running job holds to what is free in the look ahead; only usable nodes count.

    Return how many nodes that adds, 0 on shared nodes.
    """
    usable, free, more = state.scratch.usable, state.scratch.free, NOTHING
    if shared is None:
        for k in range(state.span[job, 0], state.span[job, 1]):
            back = state.held[job, k] & usable[k] & ~free[k]
            more += ones(back)
            free[k] |= back
        return more
    give_back(shared.sharing, shared.work.held, shared.work.later, job)
    return more


@inlined
def allocate(shared: Shared | None, job: int) -> None:
    """Give a starting job the resources that were chosen for it just before; do nothing if nodes are not shared."""
    if shared is None:
        return
    work, kind = shared.work, shared.sharing.kinds.of_job[job]
    held, number = work.held, work.number
    take(shared.sharing, work, work.now, kind, number[Number.PIECES], number[Number.DEVICES])
    held.first[job], held.pieces[job] = number[Number.PIECES], number[Number.FOUND]
    held.first_device[job], held.devices[job] = number[Number.DEVICES], number[Number.FOUND_DEVICES]
    number[Number.PIECES] += number[Number.FOUND]
    number[Number.DEVICES] += number[Number.FOUND_DEVICES]
    counted.take(shared.sharing, work, job)


@inlined
def limits_allow(shared: Shared | None, job: int) -> bool:
    """Return whether limits on numbers of nodes allow a job the nodes that were chosen last; True without sharing."""
    if shared is None:
        return True
    return counted.suffice(shared.sharing, shared.work, job)


@kernel
def first_over(problem: Problem, state: State) -> int:
    """Return the first job that a limit allows too few nodes even if no other job runs; -1 if there is none.

    The run must not have begun.
    """
    return _first_over(state.shared, problem, state)


@inlined
def _first_over(shared: Shared | None, problem: Problem, state: State) -> int:
    if shared is None:
        return NO_JOB
    limits = shared.sharing.counted
    for job in range(problem.jobs.tasks.size):
        if limits.first.size > 0 and limits.first[job] < limits.first[job + 1]:
            mine = problem.machine.sets[problem.jobs.nodes[job]]
            _choose(problem.machine.weight, shared, shared.work.now, job, mine, state.scratch.chosen)
            if not counted.suffice(shared.sharing, shared.work, job):
                return job
    return NO_JOB


@inlined
def choose_present(shared: Shared | None, job: int) -> None:
    """Choose for a job that runs at the begin what it holds then; do nothing if nodes are not shared."""
    if shared is None:
        return
    work = shared.work
    copy_present(work, job)
    work.number[Number.FOUND], work.number[Number.FOUND_DEVICES] = work.present.pieces[job], work.present.devices[job]


@inlined
def keep_lost(shared: Shared | None, job: int, run: int) -> None:
    """Record what a job holds as what this lost run held; do nothing if nodes are not shared."""
    if shared is None:
        return
    keep_run(shared.work, run, job)


@inlined
def release_ended(shared: Shared | None, job: int) -> None:
    """Make the resources of an ended job free; its nodes count as completing from then on.

    Do nothing if nodes are not shared.
    """
    if shared is None:
        return
    work = shared.work
    give_back(shared.sharing, work.held, work.now, job)
    counted.give_back(shared.sharing, work, job)
    for i in range(work.held.first[job], work.held.first[job] + work.held.pieces[job]):
        shared.completing[work.held.node[i]] += 1


@inlined
def clear(shared: Shared | None, state: State, job: int) -> None:
    """End the time after a job's end in which its nodes are cleared (completing).

    Nodes on which no other job runs or completes are idle from then on.
    """
    if shared is None:
        for k in range(state.span[job, 0], state.span[job, 1]):
            state.completing[k] &= ~state.held[job, k]
            state.busy[k] &= ~state.held[job, k]
        return
    _clear_shared(shared, state, job)


@part
def _clear_shared(shared: Shared, state: State, job: int) -> None:
    held = shared.work.held
    for i in range(held.first[job], held.first[job] + held.pieces[job]):
        node = held.node[i]
        shared.completing[node] -= 1
        if shared.completing[node] == 0:
            drop(state.completing, node, node + 1)
            if shared.work.now.jobs[node] == 0:
                drop(state.busy, node, node + 1)


@part
def _has_room(sharing: Sharing, stock: Stock, nodes: Words, job: int) -> bool:
    kind, room = sharing.kinds.of_job[job], NOTHING
    node = next_in(nodes, FIRST)
    while node < nodes.size * BITS:
        room += room_on(sharing, stock, kind, node)
        if room >= sharing.kinds.tasks[kind]:
            return True
        node = next_in(nodes, node + 1)
    return False


@part
def _choose(weight: Ints, shared: Shared, stock: Stock, job: int, nodes: Words, chosen: Words) -> None:
    # Nodes of the least weight first. The nodes of a block have one weight; its size is their cores for the job.
    sharing, work = shared.sharing, shared.work
    kind = sharing.kinds.of_job[job]
    chunk, left, last = sharing.kinds.chunk[kind], sharing.kinds.tasks[kind], NO_WEIGHT
    cores = sharing.kinds.need[kind, CORES]
    work.number[Number.FOUND] = 0
    work.number[Number.FOUND_DEVICES] = 0
    while left > 0:
        heavy = _next_weight(weight, nodes, last)
        work.fit[:] = 0
        room = NOTHING
        node = next_in(nodes, FIRST)
        while node < weight.size:
            if weight[node] == heavy:
                here = fit_on(sharing, stock, kind, node)
                if here >= max(chunk, 1):
                    work.fit[node] = stock.free[CORES, node] if shared.by_node[job] == 1 else here * cores
                    room += chunk if chunk > 0 else here
            node = next_in(nodes, node + 1)
        if room > 0:
            wanted = min(left, room) * cores
            choose_blocks(work, sharing.nodes.number, FIRST, weight.size, chunk * cores, wanted)
            left -= min(left, room)
        last = heavy
    for k in range(chosen.size):
        chosen[k] = 0
    for i in range(work.number[Number.PIECES], work.number[Number.PIECES] + work.number[Number.FOUND]):
        work.held.tasks[i] //= cores
        add(chosen, work.held.node[i], work.held.node[i] + 1)
    if stock.left.shape[1] > 0 and sharing.kinds.alone[kind] == 0:
        choose_devices(sharing, work, stock, kind)


@inlined
def _next_weight(weight: Ints, nodes: Words, last: int) -> int:
    found = NO_WEIGHT
    node = next_in(nodes, FIRST)
    while node < weight.size:
        if weight[node] > last and (found == NO_WEIGHT or weight[node] < found):
            found = weight[node]
        node = next_in(nodes, node + 1)
    return found
