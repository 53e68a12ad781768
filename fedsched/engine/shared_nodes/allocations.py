"""Allocations on shared nodes: those of jobs that run at t0, their release, and a record of those of lost runs."""

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
    """Release what a job holds on shared nodes; do nothing if jobs do not share nodes."""
    if sharing is None or work is None:
        return
    _give_back(sharing, work, j)


@part
def _give_back(sharing: Sharing, work: Work, j: int) -> None:
    stock.give_back(sharing, work.held, work.now, j)
    counted.give_back(sharing, work, j)
    stock.note_freed(work, j)


@inlined
def hold_again(sharing: Sharing, work: Work, j: int) -> None:
    """Take what a job holds, as `work.held` says, from what is free."""
    held, number = work.held, work.number
    number[Number.FOUND], number[Number.FOUND_DEVICES] = held.pieces[j], held.devices[j]
    stock.take(sharing, work, work.now, sharing.kinds.of_job[j], held.first[j], held.first_device[j])
    counted.take(sharing, work, j)


@inlined
def hold_from_begin(sharing: Sharing | None, work: Work | None, j: int) -> None:
    """Allocate to a job that runs at t0 what `work.present` says; do nothing if jobs do not share nodes."""
    if sharing is None or work is None:
        return
    number = work.number
    copy_present(work, j)
    hold_again(sharing, work, j)
    number[Number.PIECES] += work.held.pieces[j]
    number[Number.DEVICES] += work.held.devices[j]


@inlined
def copy_present(work: Work, j: int) -> None:
    """Write what `work.present` says of a job that runs at t0 behind the entries of `work.held` that are in use."""
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


@inlined
def keep_lost(extra_state: ExtraState, work: Work | None, j: int) -> None:
    """Record in the next row of `work.gone` what a job holds, because its run is lost now.

    The entries of `work.held` stay where they are. Do nothing if jobs do not share nodes.
    """
    if work is None:
        return
    keep_run(work, extra_state.lost.number[LostNumber.RUNS], j)


@inlined
def keep_run(work: Work, run: int, j: int) -> None:
    """Record what a job holds as what this lost run held."""
    gone, held = work.gone, work.held
    gone.first[run], gone.pieces[run] = held.first[j], held.pieces[j]
    gone.first_device[run], gone.devices[run] = held.first_device[j], held.devices[j]
