"""The order of nodes in backfill's look ahead: nodes that were last tested for a GPU job come first [75].

In a node's weight, Slurm notes how many GPUs the job would get there; nodes are chosen by weight. It drops the note
only when it looks for nodes for a job that may use that node, at a submit or for a start now. For a job that backfill
starts, it chooses again by the weights of the conf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.nodes.node_sets import BITS

if TYPE_CHECKING:
    from fedsched.engine.shared_nodes.arrays import Stock
    from fedsched.slurm.loop.structs import Problem, Words
    from fedsched.slurm.nodes.shared_nodes import Shared

CORES = constant(0)
ZERO, ONE = np.uint64(0), np.uint64(1)
SPAN = constant(256)  # steps within each weight of the conf: the fewer GPUs, the heavier


@inlined
def look_for(shared: Shared | None, problem: Problem, job: int) -> None:
    """Update the notes on nodes as Slurm does at a submit: it tests whether the job could run on an empty machine.

    The old notes on the job's nodes are dropped.
    """
    if shared is not None and shared.for_gpus.size > 0:
        _forget(shared, problem, job)
        _note_all(shared, problem, job)


@inlined
def look_for_now(shared: Shared | None, problem: Problem, job: int, free: Words) -> None:
    """Update the notes on nodes as Slurm does when it looks for nodes to start a job now.

    The old notes on the job's nodes are dropped; new ones are for the free nodes with room.
    """
    if shared is not None and shared.for_gpus.size > 0:
        _forget(shared, problem, job)
        _note(shared, shared.work.now, free, job)


@inlined
def found_none(shared: Shared | None, problem: Problem, job: int) -> None:
    """Update the notes on nodes as Slurm does when a job finds too few nodes now.

    Slurm then tests whether the job could run on an empty machine.
    """
    if shared is not None and shared.for_gpus.size > 0:
        _note_all(shared, problem, job)


@inlined
def look_ahead(shared: Shared, nodes: Words, job: int) -> None:
    """Update the notes on nodes as Slurm does when backfill tests these nodes for a job at a later time."""
    if shared.for_gpus.size > 0:
        _note(shared, shared.work.later, nodes, job)


@inlined
def is_noted(shared: Shared | None, job: int) -> bool:
    """Return whether a test of a job leaves notes on nodes.

    It does if the job requests GPUs, and GPUs affect the order of nodes.
    """
    return shared is not None and shared.for_gpus.size > 0 and shared.for_gpus[shared.sharing.kinds.of_job[job]] > 0


@part
def _forget(shared: Shared, problem: Problem, job: int) -> None:
    mine, there = problem.machine.sets[problem.jobs.nodes[job]], problem.jobs.partition[job]
    for node in shared.with_gpus:
        if _has(mine, node) and _has(problem.machine.partitions[there], node):
            shared.weight[node] = problem.machine.weight[node] * SPAN + SPAN - 1


@part
def _note(shared: Shared, stock: Stock, nodes: Words, job: int) -> None:
    """Note a job's GPUs in the weight of each of these nodes that has room now.

    Its free cores and GPUs have to be enough for one task, or for the job's tasks per node.
    """
    kinds, gpu = shared.sharing.kinds, shared.sharing.gpu
    kind = kinds.of_job[job]
    asked = shared.for_gpus[kind]
    if asked == 0:
        return
    cores = kinds.need[kind, CORES] * max(kinds.chunk[kind], 1)
    for node in shared.with_gpus:
        alone = kinds.alone[kind] == 0 or stock.jobs[node] == 0
        if alone and _has(nodes, node) and stock.free[CORES, node] >= cores and stock.free[gpu, node] >= asked:
            _note_on(shared, node, asked)


@part
def _note_all(shared: Shared, problem: Problem, job: int) -> None:
    """Note a job's GPUs in the weight of each node that it may use and that would have room if it were empty."""
    kinds, nodes, gpu = shared.sharing.kinds, shared.sharing.nodes, shared.sharing.gpu
    kind = kinds.of_job[job]
    asked = shared.for_gpus[kind]
    if asked == 0:
        return
    mine, there = problem.machine.sets[problem.jobs.nodes[job]], problem.jobs.partition[job]
    cores = kinds.need[kind, CORES] * max(kinds.chunk[kind], 1)
    for node in shared.with_gpus:
        has = nodes.has[:, nodes.group[node]]
        would_do = has[CORES] >= cores and has[gpu] >= asked
        if would_do and _has(mine, node) and _has(problem.machine.partitions[there], node):
            _note_on(shared, node, asked)


@inlined
def _note_on(shared: Shared, node: int, asked: int) -> None:
    shared.weight[node] -= shared.weight[node] % SPAN
    shared.weight[node] += SPAN - 1 - min(asked, SPAN - 1)


@inlined
def _has(nodes: Words, node: int) -> bool:
    return (nodes[node // BITS] >> np.uint64(node % BITS)) & ONE != ZERO
