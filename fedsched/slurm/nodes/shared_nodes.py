"""Shared nodes: a job fits if its tasks fit into the free cores, memory and GPUs of nodes, which it then takes [75].

Every function takes `shared` first. It is None if nodes are allocated whole: compiled code then only uses node sets.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, inlined, part
from fedsched.engine.sharing.arrays import Number
from fedsched.engine.sharing.choosing import choose_blocks
from fedsched.engine.sharing.devices import choose_devices
from fedsched.engine.sharing.stock import copy_stock, fit_on, give_back, room_on, take
from fedsched.slurm.nodes.node_sets import BITS, add, count, drop, next_in, ones
from fedsched.slurm.nodes.node_sizes import choose_at_start, choose_for, enough, is_sized
from fedsched.slurm.passes.gpu_node_order import look_ahead, look_for_now

if TYPE_CHECKING:
    import numpy as np

    from fedsched.engine.sharing.arrays import Ints, Sharing, Stock, Work
    from fedsched.slurm.loop.structs import Problem, State, Words


@by_reference
class Shared(NamedTuple):
    """The nodes, the requests of jobs, the free resources, and how many jobs complete on each node.

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
NEVER = constant(2**62)
CORES = constant(0)  # index of cores among the resources of nodes


@inlined
def blocked_nodes(shared: Shared | None, state: State, k: int) -> np.uint64:
    """Return the nodes of word `k` on which no job can start now; shared nodes only while a job completes there."""
    if shared is None:
        return state.busy[k]
    return state.completing[k]


@inlined
def fits_now(shared: Shared | None, problem: Problem, nodes: Words, job: int) -> bool:
    """Return whether a job fits on these nodes with what is free there now."""
    if shared is None:
        return enough(problem.sizes, problem, nodes, job)
    return _has_room(shared.sharing, shared.work.now, nodes, job)


@inlined
def forget_refused(shared: Shared | None) -> None:
    """Reset what `note_refused` has noted, as a pass begins."""
    if shared is not None:
        shared.refused[:] = NEVER


@inlined
def note_refused(shared: Shared | None, job: int, limit: int) -> None:
    """Note that a job has no room with this time limit: neither has any job of its kind with that or a longer limit.

    During a pass room only shrinks, and a longer job needs it in more records. The clock does not advance after the
    first such test.
    """
    if shared is not None:
        shared.refused[shared.sharing.kinds.of_job[job]] = limit


@inlined
def may_have_room(shared: Shared | None, problem: Problem, state: State, job: int) -> bool:
    """Return False if the pass already knows that a job has no room: during a pass room only shrinks."""
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
    """Return whether a job fits there with what has been released; `many` is the count of free nodes if not shared."""
    if shared is None:
        if is_sized(problem.sizes, job):
            return enough(problem.sizes, problem, nodes, job)
        return many >= problem.jobs.tasks[job]
    look_ahead(shared, nodes, job)
    return _has_room(shared.sharing, shared.work.later, nodes, job)


@inlined
def may_fit(shared: Shared | None, problem: Problem, nodes: Words, job: int) -> bool:
    """Return whether a job might fit there if no other job ran; on shared nodes, whether there is any node."""
    if shared is None:
        return enough(problem.sizes, problem, nodes, job)
    return count(nodes) > 0


@inlined
def place_now(shared: Shared | None, problem: Problem, state: State, job: int) -> None:
    """Choose the nodes of a job that fits on the free ones now."""
    scratch = state.scratch
    if shared is None:
        choose_for(problem.sizes, problem, scratch.free, job, scratch.blocks, scratch.chosen)
        return
    _choose(problem.machine.weight, shared, shared.work.now, job, scratch.free, scratch.chosen)


@inlined
def place_then(shared: Shared | None, problem: Problem, state: State, job: int) -> None:
    """Choose the nodes of a job that fits with what has been released."""
    scratch = state.scratch
    if shared is None:
        choose_for(problem.sizes, problem, scratch.free, job, scratch.blocks, scratch.chosen)
        return
    _choose(shared.weight, shared, shared.work.later, job, scratch.free, scratch.chosen)


@inlined
def place_at_start(shared: Shared | None, problem: Problem, state: State, job: int) -> None:
    """Choose again for a job that starts, among the usable nodes without completing jobs, as Slurm does at a start."""
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
    """Begin with the usable nodes that are free now or have completing jobs; return their number (shared nodes: 0)."""
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
    """Free what a running job holds of the usable nodes, too; return how many nodes that adds (shared nodes: 0)."""
    usable, free, more = state.scratch.usable, state.scratch.free, NOTHING
    if shared is None:
        for k in range(state.span[job, 0], state.span[job, 1]):
            back = state.held[job, k] & usable[k] & ~free[k]
            more += ones(back)
            free[k] |= back
        return more
    give_back(shared.sharing, shared.work, shared.work.later, job)
    return more


@inlined
def allocate(shared: Shared | None, job: int) -> None:
    """Allocate to a starting job what has been chosen for it just before."""
    if shared is None:
        return
    work, kind = shared.work, shared.sharing.kinds.of_job[job]
    held, number = work.held, work.number
    take(shared.sharing, work, work.now, kind, number[Number.PIECES], number[Number.DEVICES])
    held.first[job], held.pieces[job] = number[Number.PIECES], number[Number.FOUND]
    held.first_device[job], held.devices[job] = number[Number.DEVICES], number[Number.FOUND_DEVICES]
    number[Number.PIECES] += number[Number.FOUND]
    number[Number.DEVICES] += number[Number.FOUND_DEVICES]


@inlined
def release_ended(shared: Shared | None, job: int) -> None:
    """Release the resources of an ended job; its nodes are completing from then on."""
    if shared is None:
        return
    work = shared.work
    give_back(shared.sharing, work, work.now, job)
    for i in range(work.held.first[job], work.held.first[job] + work.held.pieces[job]):
        shared.completing[work.held.node[i]] += 1


@inlined
def clear(shared: Shared | None, state: State, job: int) -> None:
    """End the completing of a job on its nodes."""
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
