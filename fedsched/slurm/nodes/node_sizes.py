"""Nodes of several sizes, given whole to jobs that ask for no number of nodes: as many as their CPUs need [76].

Every function takes the sizes first. Where no job is so they are compiled to what numbers of nodes say.
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

    from fedsched.slurm.loop.structs import Problem, Words

    Ints = NDArray[np.int64]

FIRST, NONE, NOTHING = constant(0), constant(-1), constant(0)


@by_reference
class Sizes(NamedTuple):
    """How many CPUs jobs need, and nodes count."""

    wanted: Ints  # by each job; 0: its tasks are its nodes
    cpus: Ints  # of each node


@inlined
def is_sized(sizes: Sizes | None, job: int) -> bool:
    """Return whether a job is given as many nodes as its CPUs need."""
    if sizes is None:
        return False
    return sizes.wanted[job] > 0


@inlined
def enough(sizes: Sizes | None, problem: Problem, nodes: Words, job: int) -> bool:
    """Return whether these nodes are enough for a job."""
    if sizes is None or not is_sized(sizes, job):
        return count(nodes) >= problem.jobs.tasks[job]
    return _cpus_of(sizes, nodes, sizes.wanted[job]) >= sizes.wanted[job]


@part
def _cpus_of(sizes: Sizes, nodes: Words, most: int) -> int:
    # The CPUs of these nodes, as soon as there are so many.
    total = NOTHING
    node = next_in(nodes, FIRST)
    while node < sizes.cpus.size and total < most:
        total += sizes.cpus[node]
        node = next_in(nodes, node + 1)
    return total


@inlined
def keep_no_spare(sizes: Sizes | None, nodes: Words, job: int) -> None:
    """Keep of the nodes of such a job those without which they would not be enough, dropping the smallest first.

    So does select/linear where they are not all of one size.
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
    """Set the nodes that a job is given of the free ones, which are enough; `blocks` is a scratch."""
    if sizes is None or not is_sized(sizes, job):
        choose(problem, free, problem.jobs.tasks[job], blocks, chosen)
    else:
        _choose_by_cpus(sizes, problem, free, sizes.wanted[job], blocks, chosen)


@part
def _choose_by_cpus(sizes: Sizes, problem: Problem, free: Words, left: int, blocks: Words, chosen: Words) -> None:
    # As `choose`, blocks as long as they have CPUs; of select/cons_tres the smallest node takes alone what it can.
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
