"""The choice of nodes within a group for a job's tasks: first, best, least loaded, pack, spread or block [55].

The nodes chosen are stored in `work.held`, behind the pieces that jobs hold.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.shared_nodes.arrays import Choice, Number
from fedsched.engine.shared_nodes.devices import choose_devices
from fedsched.engine.shared_nodes.stock import fit_on, room_on

if TYPE_CHECKING:
    from fedsched.engine.shared_nodes.arrays import Ints, Sharing, Stock, Work

NONE = constant(-1)
TOP, NOTHING = constant(0), constant(0)
LEAST_LOADED, GAINED = constant(Choice.LEAST_LOADED), constant(Choice.GAINED)


@inlined
def _find(work: Work, node: int, tasks: int) -> None:
    # Adds a piece to those that are chosen, behind the pieces that jobs hold.
    place = work.number[Number.PIECES] + work.number[Number.FOUND]
    work.held.node[place] = node
    work.held.tasks[place] = tasks
    work.number[Number.FOUND] += 1


@inlined
def _amount(sharing: Sharing, stock: Stock, r: int, node: int) -> int:
    if r != sharing.gpu:
        return stock.free[r, node]
    total = 0
    for device in range(stock.left.shape[1]):
        total += stock.left[node, device]
    return total


@inlined
def _comes_before(sharing: Sharing, stock: Stock, fit: Ints, choice: int, a: int, b: int) -> bool:
    if choice == Choice.PACK:
        return fit[a] > fit[b] or (fit[a] == fit[b] and a < b)
    if choice == Choice.GAINED:
        return fit[a] < fit[b] or (fit[a] == fit[b] and a < b)
    if choice == Choice.BEST:
        for r in range(stock.free.shape[0]):
            here, there = _amount(sharing, stock, r, a), _amount(sharing, stock, r, b)
            if here != there:
                return here < there
        return a < b
    here, there = stock.free[0, a], stock.free[0, b]
    return here > there or (here == there and a < b)


@inlined
def _sink(
    sharing: Sharing, stock: Stock, fit: Ints, choice: int, order: Ints, place: int, size: int
) -> None:
    while True:
        child = 2 * place + 1
        if child >= size:
            return
        if child + 1 < size and _comes_before(sharing, stock, fit, choice, order[child + 1], order[child]):
            child += 1
        if not _comes_before(sharing, stock, fit, choice, order[child], order[place]):
            return
        order[place], order[child] = order[child], order[place]
        place = child


@inlined
def _heap_up(sharing: Sharing, stock: Stock, fit: Ints, choice: int, order: Ints, size: int) -> None:
    for place in range(size // 2 - 1, -1, -1):
        _sink(sharing, stock, fit, choice, order, place, size)


@inlined
def _pop(sharing: Sharing, stock: Stock, fit: Ints, choice: int, order: Ints, size: int) -> int:
    node = order[0]
    order[0] = order[size - 1]
    _sink(sharing, stock, fit, choice, order, TOP, size - 1)
    return node


@inlined
def _level(fit: Ints, order: Ints, size: int, tasks: int) -> int:
    # Returns how many full rounds `tasks` suffice for; in a round, each node with room takes one task.
    low, high = 0, tasks
    while low < high:
        middle = (low + high + 1) >> 1
        total = 0
        for i in range(size):
            total += min(fit[order[i]], middle)
        if total <= tasks:
            low = middle
        else:
            high = middle - 1
    return low


@part
def _spread(sharing: Sharing, work: Work, stock: Stock, size: int, tasks: int) -> None:
    # First the full rounds; then the least loaded nodes with room take one more task each.
    fit, order = work.fit, work.order
    rounds, left, more = _level(fit, order, size, tasks), tasks, NOTHING
    for i in range(size):
        node = order[i]
        left -= min(fit[node], rounds)
        if fit[node] > rounds:
            order[more], order[i] = node, order[more]
            more += 1
        elif rounds > 0:
            _find(work, node, fit[node])
    _heap_up(sharing, stock, fit, LEAST_LOADED, order, more)
    while more > 0 and rounds + left > 0:
        node = _pop(sharing, stock, fit, LEAST_LOADED, order, more)
        more -= 1
        one = min(left, 1)
        _find(work, node, rounds + one)
        left -= one


@inlined
def _lowest_that_holds(fit: Ints, first: int, last: int, tasks: int) -> int:
    for node in range(first, last):
        if fit[node] >= tasks:
            return node
    return NONE


@part
def _in_order(sharing: Sharing, work: Work, stock: Stock, choice: int, g: int, size: int, tasks: int) -> None:
    fit, order, nodes = work.fit, work.order, sharing.nodes
    _heap_up(sharing, stock, fit, choice, order, size)
    while tasks > 0:
        node = _pop(sharing, stock, fit, choice, order, size)
        size -= 1
        if choice == Choice.PACK and fit[node] >= tasks:
            node = _lowest_that_holds(fit, nodes.first[g], nodes.first[g + 1], tasks)
        here = min(fit[node], tasks)
        _find(work, node, here)
        fit[node] = 0
        tasks -= here


@inlined
def _goes_on(fit: Ints, number: Ints, node: int, last: int) -> bool:
    # Returns whether the block of the node before goes on: this node has room, and the next number.
    return node < last and fit[node] > 0 and number[node] == number[node - 1] + 1


@inlined
def _best_block(fit: Ints, number: Ints, first: int, last: int, tasks: int, nodes: int) -> int:
    # Returns the first node of the smallest block that holds all tasks on at least `nodes` nodes; if there is none, of
    # the largest block. A later and larger block with too few nodes replaces one that holds all tasks, as in Slurm.
    best, most, holds = NONE, NOTHING, False
    node = first
    while node < last:
        begin, total = node, fit[node]
        node += 1
        if total == 0:
            continue
        while _goes_on(fit, number, node, last):
            total += fit[node]
            node += 1
        enough = total >= tasks and node - begin >= nodes
        if best == NONE or (enough and not holds) or (total < most if enough else total > most):
            best, most, holds = begin, total, enough
    return best


@inlined
def _tightest_that_holds(fit: Ints, number: Ints, first: int, last: int, tasks: int) -> int:
    tightest, node = NONE, first
    while True:
        if fit[node] >= tasks and (tightest == NONE or fit[node] < fit[tightest]):
            tightest = node
        node += 1
        if not _goes_on(fit, number, node, last):
            return tightest


@part
def _in_blocks(sharing: Sharing, work: Work, stock: Stock, kind: int, g: int, tasks: int) -> None:
    fit, first, last = work.fit, sharing.nodes.first[g], sharing.nodes.first[g + 1]
    chunk = sharing.kinds.chunk[kind]
    for node in range(first, last):
        here = fit_on(sharing, stock, kind, node)
        fit[node] = here if here >= chunk else 0
    choose_blocks(work, sharing.nodes.number, first, last, chunk, tasks)


@part
def choose_blocks(work: Work, number: Ints, first: int, last: int, chunk: int, tasks: int) -> None:
    """Choose nodes for tasks, block by block, among the nodes `first` to `last` − 1; all tasks must fit.

    `work.fit` has how many tasks fit on each of the nodes; it is set to 0 on nodes that are used. A node takes at most
    `chunk` tasks, 0: any number.
    """
    fit = work.fit
    most = chunk if chunk > 0 else tasks
    while tasks > 0:
        node = _best_block(fit, number, first, last, tasks, (tasks + most - 1) // most)
        if tasks <= most:
            tightest = _tightest_that_holds(fit, number, node, last, tasks)
            if tightest != NONE:
                _find(work, tightest, tasks)
                return
        while True:
            here = min(fit[node], most, tasks)
            _find(work, node, here)
            fit[node] = 0
            tasks -= here
            node += 1
            if tasks == 0 or not _goes_on(fit, number, node, last):
                break


@inlined
def _first(sharing: Sharing, work: Work, stock: Stock, kind: int, g: int, tasks: int) -> None:
    for node in range(sharing.nodes.first[g], sharing.nodes.first[g + 1]):
        here = min(room_on(sharing, stock, kind, node), tasks)
        if here > 0:
            _find(work, node, here)
            tasks -= here
            if tasks == 0:
                return


@part
def _by_choice(sharing: Sharing, work: Work, stock: Stock, kind: int, g: int, tasks: int) -> None:
    if sharing.choice == Choice.BLOCK:
        _in_blocks(sharing, work, stock, kind, g, tasks)
        return
    size = NOTHING
    for node in range(sharing.nodes.first[g], sharing.nodes.first[g + 1]):
        fit = room_on(sharing, stock, kind, node)
        work.fit[node] = fit
        if fit > 0:
            work.order[size] = node
            size += 1
    if sharing.choice != Choice.SPREAD:
        _in_order(sharing, work, stock, sharing.choice, g, size, tasks)
    elif sharing.kinds.chunk[kind] > 0:  # each node takes all its tasks at once, so there are no rounds
        _in_order(sharing, work, stock, LEAST_LOADED, g, size, tasks)
    else:
        _spread(sharing, work, stock, size, tasks)


@part
def _gained_in(sharing: Sharing, work: Work, kind: int, g: int, tasks: int) -> None:
    size = NOTHING
    for node in range(sharing.nodes.first[g], sharing.nodes.first[g + 1]):
        if room_on(sharing, work.later, kind, node) > 0:
            work.fit[node] = room_on(sharing, work.now, kind, node)
            work.order[size] = node
            size += 1
    _heap_up(sharing, work.later, work.fit, GAINED, work.order, size)
    while tasks > 0:
        node = _pop(sharing, work.later, work.fit, GAINED, work.order, size)
        size -= 1
        here = min(room_on(sharing, work.later, kind, node), tasks)
        _find(work, node, here)
        tasks -= here


@part
def choose_gained(sharing: Sharing, work: Work, kind: int, chosen: Ints) -> None:
    """Choose nodes of `work.later`, and devices, for the tasks of the head on each group (`chosen`).

    Nodes on which the fewest of these tasks fit now come first.
    """
    work.number[Number.FOUND] = 0
    work.number[Number.FOUND_DEVICES] = 0
    for g in range(chosen.size):
        if chosen[g] > 0:
            _gained_in(sharing, work, kind, g, chosen[g])
    if work.later.left.shape[1] > 0 and sharing.kinds.alone[kind] == 0:
        choose_devices(sharing, work, work.later, kind)


@part
def choose(sharing: Sharing, work: Work, stock: Stock, kind: int, chosen: Ints) -> None:
    """Choose nodes of `stock`, and devices on them, for the tasks of a job of this kind on each group (`chosen`)."""
    work.number[Number.FOUND] = 0
    work.number[Number.FOUND_DEVICES] = 0
    for g in range(chosen.size):
        if chosen[g] == 0:
            continue
        if sharing.choice == Choice.FIRST:
            _first(sharing, work, stock, kind, g, chosen[g])
        else:
            _by_choice(sharing, work, stock, kind, g, chosen[g])
    if stock.left.shape[1] > 0 and sharing.kinds.alone[kind] == 0:
        choose_devices(sharing, work, stock, kind)
