"""The free resources of shared nodes: how many tasks of a kind fit, and how allocations change what is free.

A Stock has what is free on every node, now or at a later time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.shared_nodes.arrays import WHOLE, Number

if TYPE_CHECKING:
    from fedsched.engine.shared_nodes.arrays import Held, Ints, Sharing, Stock, Work

ALL = constant(2**62)


@inlined
def room_on(sharing: Sharing, stock: Stock, kind: int, node: int) -> int:
    """Return how many tasks of a job of this kind a node can take; its group is not checked.

    If tasks run in chunks, it is one chunk or 0.
    """
    chunk, fit = sharing.kinds.chunk[kind], fit_on(sharing, stock, kind, node)
    if chunk > 0:
        return chunk if fit >= chunk else 0
    return fit


@inlined
def fit_on(sharing: Sharing, stock: Stock, kind: int, node: int) -> int:
    """Return how many tasks of a kind fit on a node; chunks are ignored.

    It is 0 for exclusive jobs if another job is on the node.
    """
    kinds, free = sharing.kinds, stock.free
    if kinds.alone[kind] == 1 and stock.jobs[node] > 0:
        return 0
    fit = ALL
    for r in range(free.shape[0]):
        need = kinds.need[kind, r]
        if need > 0:
            there = free[r, node]
            if there < need:
                return 0
            fit = min(fit, there // need)
    if kinds.share[kind] > 0:
        fit = min(fit, _shares_on(stock.left, kinds.share[kind], node))
    return fit


@inlined
def _shares_on(left: Ints, share: int, node: int) -> int:
    fit = 0
    for device in range(left.shape[1]):
        fit += left[node, device] // share
    return fit


@inlined
def measure_room(sharing: Sharing, stock: Stock, kind: int, room: Ints) -> int:
    """Fill `room` with how many tasks of a kind fit on each group; return their sum.

    If there is one group, counting stops as soon as all tasks of a job fit.
    """
    nodes, tasks, total = sharing.nodes, sharing.kinds.tasks[kind], 0
    for g in range(room.size):
        room[g] = 0
        if sharing.kinds.opened[kind, g] == 0:
            continue
        here = 0
        for node in range(nodes.first[g], nodes.first[g + 1]):
            here += room_on(sharing, stock, kind, node)
            if room.size == 1 and here >= tasks:
                break
        room[g] = here
        total += here
    return total


@part
def open_all(sharing: Sharing, stock: Stock) -> None:
    """Set all nodes to free, with all of their resources and no job."""
    stock.jobs[:] = 0
    for node in range(stock.jobs.size):
        _open(sharing, stock, node)


@inlined
def _open(sharing: Sharing, stock: Stock, node: int) -> None:
    g = sharing.nodes.group[node]
    for r in range(stock.free.shape[0]):
        stock.free[r, node] = sharing.nodes.has[r, g]
    for device in range(stock.left.shape[1]):
        stock.left[node, device] = WHOLE if device < sharing.nodes.gpus[g] else 0


@inlined
def _close(stock: Stock, node: int) -> None:
    for r in range(stock.free.shape[0]):
        stock.free[r, node] = 0
    for device in range(stock.left.shape[1]):
        stock.left[node, device] = 0


@inlined
def _count_gpus(sharing: Sharing, stock: Stock, node: int) -> None:
    if sharing.gpu >= 0:
        whole = 0
        for device in range(stock.left.shape[1]):
            if stock.left[node, device] == WHOLE:
                whole += 1
        stock.free[sharing.gpu, node] = whole


@inlined
def _move(sharing: Sharing, stock: Stock, kind: int, node: int, tasks: int) -> None:
    # Subtracts what `tasks` tasks take from a node, or adds it if negative. GPUs are changed device by device.
    for r in range(stock.free.shape[0]):
        if r != sharing.gpu:
            stock.free[r, node] -= tasks * sharing.kinds.need[kind, r]


@part
def take(sharing: Sharing, work: Work, stock: Stock, kind: int, pieces: int, devices: int) -> None:
    """Subtract the nodes and devices that were chosen last from a stock.

    They are in `work.held`, from index `pieces` on and from index `devices` on. An exclusive job takes whole nodes.
    """
    number = work.number
    _take(sharing, work.held, stock, kind, pieces, number[Number.FOUND], devices, number[Number.FOUND_DEVICES])


@part
def take_job(sharing: Sharing, held: Held, stock: Stock, j: int) -> None:
    """Subtract what a job holds, by `held`, from a stock."""
    kind, pieces, devices = sharing.kinds.of_job[j], held.pieces[j], held.devices[j]
    _take(sharing, held, stock, kind, held.first[j], pieces, held.first_device[j], devices)


@inlined
def _take(
    sharing: Sharing, held: Held, stock: Stock, kind: int, first: int, pieces: int, first_device: int, devices: int
) -> None:
    alone = sharing.kinds.alone[kind] == 1
    for i in range(first, first + pieces):
        node = held.node[i]
        stock.jobs[node] += 1
        if alone:
            _close(stock, node)
        else:
            _move(sharing, stock, kind, node, held.tasks[i])
    for i in range(first_device, first_device + devices):
        node = held.device_node[i]
        stock.left[node, held.device[i]] -= held.amount[i]
        _count_gpus(sharing, stock, node)


@part
def give_back(sharing: Sharing, held: Held, stock: Stock, j: int) -> None:
    """Add what a job holds, by `held`, to what is free in a stock."""
    kind = sharing.kinds.of_job[j]
    for i in range(held.first[j], held.first[j] + held.pieces[j]):
        node = held.node[i]
        stock.jobs[node] -= 1
        if sharing.kinds.alone[kind] == 1:
            _open(sharing, stock, node)
        else:
            _move(sharing, stock, kind, node, -held.tasks[i])
    for i in range(held.first_device[j], held.first_device[j] + held.devices[j]):
        node = held.device_node[i]
        stock.left[node, held.device[i]] += held.amount[i]
        _count_gpus(sharing, stock, node)


@inlined
def note_freed(work: Work, j: int) -> None:
    """Add a job's nodes to the list of nodes freed since the last pass, as far as it has room."""
    held, number = work.held, work.number
    for i in range(held.first[j], held.first[j] + held.pieces[j]):
        if number[Number.FREED] < work.freed.size:
            work.freed[number[Number.FREED]] = held.node[i]
            number[Number.FREED] += 1


@part
def leave_nodes(sharing: Sharing, held: Held, stock: Stock, j: int) -> None:
    """Remove a job from its nodes in a stock; a node becomes free, as a whole, when its last job is removed."""
    for i in range(held.first[j], held.first[j] + held.pieces[j]):
        node = held.node[i]
        stock.jobs[node] -= 1
        if stock.jobs[node] == 0:
            _open(sharing, stock, node)


@part
def copy_stock(stock: Stock, onto: Stock) -> None:
    """Copy a stock onto another one."""
    for node in range(stock.jobs.size):
        onto.jobs[node] = stock.jobs[node]
    for r in range(stock.free.shape[0]):
        for node in range(stock.jobs.size):
            onto.free[r, node] = stock.free[r, node]
    for node in range(stock.left.shape[0]):
        for device in range(stock.left.shape[1]):
            onto.left[node, device] = stock.left[node, device]


@inlined
def set_least(sharing: Sharing, one: Stock, other: Stock, onto: Stock, node: int) -> None:
    """Set a stock on a node to the least of what two stocks have there; it may be one of them."""
    for r in range(onto.free.shape[0]):
        onto.free[r, node] = min(one.free[r, node], other.free[r, node])
    onto.jobs[node] = max(one.jobs[node], other.jobs[node])
    for device in range(onto.left.shape[1]):
        onto.left[node, device] = min(one.left[node, device], other.left[node, device])
    _count_gpus(sharing, onto, node)


@part
def least_of_all(sharing: Sharing, work: Work) -> None:
    """Set `work.both` on all nodes to the least of what is free now and of what is free beside the head."""
    for node in range(work.now.jobs.size):
        set_least(sharing, work.now, work.later, work.both, node)
