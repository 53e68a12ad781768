"""Slurm's choice of nodes: the smallest contiguous block of free nodes that is large enough for a job.

If there is none, the largest blocks are taken.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, part
from fedsched.slurm.loop.structs import Setting
from fedsched.slurm.nodes.node_sets import add, drop, next_in, next_out

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Ints, Problem, Words

FIRST, NONE, EMPTY = constant(0), constant(-1), constant(0)  # the first node, no block, and length 0


@part
def choose(problem: Problem, free: Words, tasks: int, blocks: Words, chosen: Words) -> None:
    """Set `chosen` to as many of the free nodes as a job has tasks; there are enough. `blocks` is a scratch array.

    The smallest block that is large enough is chosen, else the largest and so on. Under select/cons_tres the nodes of a
    block have one weight, and blocks of the least weight come first.
    """
    weighed = problem.settings[Setting.CONS_TRES] == 1
    weight = problem.machine.weight
    for k in range(free.size):
        blocks[k] = free[k]
        chosen[k] = 0
    left = tasks
    while left > 0:
        best, best_length = NONE, EMPTY
        first = next_in(blocks, FIRST)
        while first < weight.size:
            after = end_of_block(blocks, weight, weighed, first)
            length = after - first
            if best < 0 or is_better(weight, weighed, left, first, length, best, best_length):
                best, best_length = first, length
            first = next_in(blocks, after)
        add(chosen, best, best + min(left, best_length))
        drop(blocks, best, best + best_length)
        left -= best_length


@part
def end_of_block(blocks: Words, weight: Ints, weighed: bool, first: int) -> int:
    """Return the number after the last node of the block that begins at `first`.

    A block is a run of members of `blocks`, with equal weights if `weighed`.
    """
    after = next_out(blocks, first)
    if not weighed:
        return after
    node = first + 1
    while node < after and weight[node] == weight[first]:
        node += 1
    return node


@part
def is_better(weight: Ints, weighed: bool, left: int, first: int, length: int, best: int, best_length: int) -> bool:
    """Return whether a block of `length` nodes from `first` on is a better choice than the best one so far.

    `left` nodes are still to be chosen.
    """
    if weighed and weight[first] != weight[best]:
        return weight[first] < weight[best]
    if length >= left:
        return best_length < left or length < best_length
    return best_length < left and length > best_length
