"""Nodes with different numbers of CPUs, allocated whole to jobs that request CPUs and no number of nodes [76].

Every function takes `sizes` first. It is None if there are no such jobs: compiled code then only counts nodes.
select/linear takes NodeName lines in turn until their nodes are enough for a job [75].
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.jit import by_reference, constant, inlined, part
from fedsched.slurm.loop.structs import Setting
from fedsched.slurm.nodes.node_sets import add, count, drop, next_in
from fedsched.slurm.passes.node_choice import choose, end_of_block, is_better

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

    from fedsched.slurm.loop.structs import Problem, State, Words

    Ints = NDArray[np.int64]

FIRST, NONE, NOTHING = constant(0), constant(-1), constant(0)


@by_reference
class Sizes(NamedTuple):
    """The CPUs that each job requests, and the CPUs of each node."""

    wanted: Ints  # of each job; 0: it is given one node per task
    cpus: Ints  # of each node


@inlined
def is_sized(sizes: Sizes | None, job: int) -> bool:
    """Return whether a job gets as many nodes as its CPUs need, not one node per task."""
    if sizes is None:
        return False
    return sizes.wanted[job] > 0


@inlined
def enough(sizes: Sizes | None, problem: Problem, nodes: Words, job: int) -> bool:
    """Return whether these nodes are enough for a job: by their CPUs if these decide, else by their number."""
    if sizes is None or not is_sized(sizes, job):
        return count(nodes) >= problem.jobs.tasks[job]
    return _cpus_of(sizes, nodes, sizes.wanted[job]) >= sizes.wanted[job]


@part
def _cpus_of(sizes: Sizes, nodes: Words, most: int) -> int:
    # Sums the CPUs of these nodes, and stops at `most`.
    total = NOTHING
    node = next_in(nodes, FIRST)
    while node < sizes.cpus.size and total < most:
        total += sizes.cpus[node]
        node = next_in(nodes, node + 1)
    return total


@inlined
def keep_no_spare(sizes: Sizes | None, nodes: Words, job: int) -> None:
    """Remove nodes that a job does not need for its CPUs from `nodes`, the smallest first, as select/linear does.

    Nothing is removed if all the nodes have the same size, or the job gets one node per task.
    """
    if sizes is not None and is_sized(sizes, job):
        _drop_the_smallest(sizes, nodes, sizes.wanted[job])


@part
def _drop_the_smallest(sizes: Sizes, nodes: Words, wanted: int) -> None:
    node = next_in(nodes, FIRST)
    spare, size, alike = -wanted, sizes.cpus[node], True
    while node < sizes.cpus.size:
        spare += sizes.cpus[node]
        alike = alike and sizes.cpus[node] == size
        node = next_in(nodes, node + 1)
    while not alike:
        smallest = NONE
        node = next_in(nodes, FIRST)
        while node < sizes.cpus.size:
            if smallest == NONE or sizes.cpus[node] < sizes.cpus[smallest]:
                smallest = node
            node = next_in(nodes, node + 1)
        if smallest == NONE or sizes.cpus[smallest] > spare:
            return
        spare -= sizes.cpus[smallest]
        drop(nodes, smallest, smallest + 1)


@inlined
def choose_for(
    sizes: Sizes | None, problem: Problem, free: Words, job: int, blocks: Words, chosen: Words
) -> None:
    """Set `chosen` to a job's nodes among the free ones, which are enough; `blocks` is a scratch array.

    The job gets one node per task (see `choose`), or as many nodes as its CPUs need.
    """
    if sizes is None or not is_sized(sizes, job):
        choose(problem, free, problem.jobs.tasks[job], blocks, chosen)
    else:
        _choose_by_cpus(sizes, problem, free, sizes.wanted[job], blocks, chosen)


@part
def _choose_by_cpus(sizes: Sizes, problem: Problem, free: Words, left: int, blocks: Words, chosen: Words) -> None:
    # As `choose`, but a block's length is its CPUs. Under select/cons_tres, if one node of the best block has enough
    # CPUs for the rest, the smallest such node is taken alone.
    weighed = problem.settings[Setting.CONS_TRES] == 1
    weight = problem.machine.weight
    for k in range(free.size):
        blocks[k] = free[k]
        chosen[k] = 0
    while left > 0:
        best, best_after, best_size = NONE, NONE, NOTHING
        first = next_in(blocks, FIRST)
        while first < weight.size:
            after = end_of_block(blocks, weight, weighed, first)
            size = NOTHING
            for node in range(first, after):
                size += sizes.cpus[node]
            if best < 0 or is_better(weight, weighed, left, first, size, best, best_size):
                best, best_after, best_size = first, after, size
            first = next_in(blocks, after)
        alone = NONE
        if weighed:
            for node in range(best, best_after):
                if sizes.cpus[node] >= left and (alone == NONE or sizes.cpus[node] < sizes.cpus[alone]):
                    alone = node
        if alone != NONE:
            add(chosen, alone, alone + 1)
            return
        for node in range(best, best_after):
            if left > 0:
                add(chosen, node, node + 1)
                left -= sizes.cpus[node]
        drop(blocks, best, best_after)


@part
def keep_first_lines(problem: Problem, state: State, job: int) -> None:
    """Keep in `state.scratch.free` only the nodes of the first NodeName lines that together are enough for a job.

    Of these drop what the job's CPUs do not need. Do nothing under select/cons_tres.
    """
    if problem.settings[Setting.CONS_TRES] == 1:
        return
    free, line = state.scratch.free, state.scratch.line
    if problem.machine.lines.shape[0] > 1:
        line[:] = 0
        for k in range(problem.machine.lines.shape[0]):
            for w in range(free.size):
                line[w] |= free[w] & problem.machine.lines[k, w]
            if enough(problem.sizes, problem, line, job):
                break
        for w in range(free.size):
            free[w] = line[w]
    keep_no_spare(problem.sizes, free, job)


@part
def choose_at_start(problem: Problem, state: State, job: int) -> None:
    """Choose anew, among the usable idle nodes, the nodes of a job that backfill is starting, as select/linear does.

    They are written into `state.scratch.chosen`. Do nothing under select/cons_tres, or if there is one NodeName line
    and the job gets one node per task.
    """
    scratch, settings = state.scratch, problem.settings
    several = problem.machine.lines.shape[0] > 1 or is_sized(problem.sizes, job)
    if settings[Setting.CONS_TRES] == 1 or not several:
        return
    for k in range(scratch.usable.size):
        scratch.free[k] = scratch.usable[k] & ~state.busy[k]
    keep_first_lines(problem, state, job)
    choose_for(problem.sizes, problem, scratch.free, job, scratch.blocks, scratch.chosen)
