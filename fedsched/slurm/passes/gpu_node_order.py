"""The order of nodes in backfill's look ahead: nodes that were last tested for a GPU job come first [75].

Slurm notes in a node's weight how many GPUs the job would get there. It forgets the note only when it looks for nodes
at a submit, or for a start now, of a job that may use that node. For a job that backfill starts, it chooses again by
the weights of the conf.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.nodes.node_sets import BITS

if TYPE_CHECKING:
    from fedsched.engine.sharing.arrays import Stock
    from fedsched.slurm.loop.structs import Problem, Words
    from fedsched.slurm.nodes.shared_nodes import Shared

CORES = constant(0)
ZERO, ONE = np.uint64(0), np.uint64(1)
SPAN = constant(256)  # steps within each weight of the conf: the fewer GPUs, the heavier


@inlined
def look_for(shared: Shared | None, problem: Problem, job: int) -> None:
    """Update the notes when Slurm checks at submit whether a job could run on an empty machine."""
    if shared is not None and shared.for_gpus.size > 0:
        _forget(shared, problem, job)
        _note_all(shared, problem, job)


@inlined
def look_for_now(shared: Shared | None, problem: Problem, job: int, free: Words) -> None:
    """Update the notes when Slurm looks for nodes to start a job now."""
    if shared is not None and shared.for_gpus.size > 0:
        _forget(shared, problem, job)
        _note(shared, shared.work.now, free, job)


@inlined
def found_none(shared: Shared | None, problem: Problem, job: int) -> None:
    """Update the notes when there are too few nodes now, and Slurm checks whether an empty machine has enough."""
    if shared is not None and shared.for_gpus.size > 0:
        _note_all(shared, problem, job)


@inlined
def look_ahead(shared: Shared, nodes: Words, job: int) -> None:
    """Update the notes when backfill tests these nodes for a job at a later time."""
    if shared.for_gpus.size > 0:
        _note(shared, shared.work.later, nodes, job)


@inlined
def is_noted(shared: Shared | None, job: int) -> bool:
    """Return whether a test of a job leaves notes on nodes."""
    return shared is not None and shared.for_gpus.size > 0 and shared.for_gpus[shared.sharing.kinds.of_job[job]] > 0


@part
def _forget(shared: Shared, problem: Problem, job: int) -> None:
    mine, there = problem.machine.sets[problem.jobs.nodes[job]], problem.jobs.partition[job]
    for node in shared.with_gpus:
        if _has(mine, node) and _has(problem.machine.partitions[there], node):
            shared.weight[node] = problem.machine.weight[node] * SPAN + SPAN - 1


@part
def _note(shared: Shared, stock: Stock, nodes: Words, job: int) -> None:
    """Note the GPUs of a job on each of these nodes that has enough free cores and GPUs for one task or one group."""
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
    """Note the GPUs of a job on each of its nodes that has as many cores and GPUs in all, free or not."""
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
