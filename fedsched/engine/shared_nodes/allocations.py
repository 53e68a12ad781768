"""What jobs hold on shared nodes: taken at t0, given back as they end, and kept of runs that are lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, part
from fedsched.engine.numbers import LostNumber
from fedsched.engine.shared_nodes import counted, stock
from fedsched.engine.shared_nodes.arrays import Number

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import ExtraState
    from fedsched.engine.shared_nodes.arrays import Sharing, Work


@inlined
def give_back(sharing: Sharing | None, work: Work | None, j: int) -> None:
    """Free what a job holds on shared nodes; do nothing where nodes are counted."""
    if sharing is None or work is None:
        return
    _give_back(sharing, work, j)


@part
def _give_back(sharing: Sharing, work: Work, j: int) -> None:
    stock.give_back(sharing, work, work.now, j)
    counted.give_back(sharing, work, j)
    stock.note_freed(work, j)


@inlined
def hold_again(sharing: Sharing, work: Work, j: int) -> None:
    """Take what a job holds, by `work.held`, from the free nodes."""
    held, number = work.held, work.number
    number[Number.FOUND], number[Number.FOUND_DEVICES] = held.pieces[j], held.devices[j]
    stock.take(sharing, work, work.now, sharing.kinds.of_job[j], held.first[j], held.first_device[j])
    counted.take(sharing, work, j)


@inlined
def hold_from_begin(sharing: Sharing | None, work: Work | None, j: int) -> None:
    """Take the nodes that a job has at t0, by `work.present`; do nothing where nodes are counted."""
    if sharing is None or work is None:
        return
    held, present, number = work.held, work.present, work.number
    held.first[j], held.pieces[j] = number[Number.PIECES], present.pieces[j]
    held.first_device[j], held.devices[j] = number[Number.DEVICES], present.devices[j]
    for i in range(present.pieces[j]):
        held.node[held.first[j] + i] = present.node[present.first[j] + i]
        held.tasks[held.first[j] + i] = present.tasks[present.first[j] + i]
    for i in range(present.devices[j]):
        held.device_node[held.first_device[j] + i] = present.device_node[present.first_device[j] + i]
        held.device[held.first_device[j] + i] = present.device[present.first_device[j] + i]
        held.amount[held.first_device[j] + i] = present.amount[present.first_device[j] + i]
    hold_again(sharing, work, j)
    number[Number.PIECES] += present.pieces[j]
    number[Number.DEVICES] += present.devices[j]


@inlined
def keep_lost(extra_state: ExtraState, work: Work | None, j: int) -> None:
    """Note what a job held whose run is lost now, in the next row of lost runs; the pieces stay where they are."""
    if work is None:
        return
    run, gone, held = extra_state.lost.number[LostNumber.RUNS], work.gone, work.held
    gone.first[run], gone.pieces[run] = held.first[j], held.pieces[j]
    gone.first_device[run], gone.devices[run] = held.first_device[j], held.devices[j]
