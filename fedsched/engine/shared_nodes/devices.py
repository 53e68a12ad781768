"""The choice of GPUs on the chosen nodes: a share of the fullest device with enough left, or whole devices [55]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.engine.shared_nodes.arrays import WHOLE, Number

if TYPE_CHECKING:
    from fedsched.engine.shared_nodes.arrays import Ints, Sharing, Stock, Work

NONE = constant(-1)


@inlined
def _fullest(left: Ints, node: int, share: int) -> int:
    best = NONE
    for device in range(left.shape[1]):
        if left[node, device] >= share and (best < 0 or left[node, device] < left[node, best]):
            best = device
    return best


@inlined
def _find_device(work: Work, stock: Stock, node: int, device: int, amount: int) -> None:
    # Subtracts the amount from the stock, so that the choice for the next task sees it.
    place = work.number[Number.DEVICES] + work.number[Number.FOUND_DEVICES]
    work.held.device_node[place] = node
    work.held.device[place] = device
    work.held.amount[place] = amount
    work.number[Number.FOUND_DEVICES] += 1
    stock.left[node, device] -= amount


@part
def choose_devices(sharing: Sharing, work: Work, stock: Stock, kind: int) -> None:
    """Choose GPU devices for tasks of this kind on the nodes that were chosen last; the stock does not change."""
    held, share, begin = work.held, sharing.kinds.share[kind], work.number[Number.PIECES]
    for i in range(begin, begin + work.number[Number.FOUND]):
        node = held.node[i]
        if share > 0:
            for _ in range(held.tasks[i]):
                _find_device(work, stock, node, _fullest(stock.left, node, share), share)
        elif sharing.gpu >= 0:
            whole = held.tasks[i] * sharing.kinds.need[kind, sharing.gpu]
            for device in range(stock.left.shape[1]):
                if whole > 0 and stock.left[node, device] == WHOLE:
                    _find_device(work, stock, node, device, WHOLE)
                    whole -= 1
    first = work.number[Number.DEVICES]
    for i in range(first, first + work.number[Number.FOUND_DEVICES]):  # undo the subtraction: `take` does it
        stock.left[held.device_node[i], held.device[i]] += held.amount[i]
