"""Which of the free nodes a job is given: the smallest block of neighbours that is enough, else the largest ones."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, part
from fedsched.slurm.loop.structs import Setting
from fedsched.slurm.nodes.node_sets import add, drop, next_in, next_out

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Ints, Problem, Words

FIRST, NONE, EMPTY = constant(0), constant(-1), constant(0)  # of nodes, of blocks, and of lengths


@part
def choose(problem: Problem, free: Words, tasks: int, blocks: Words, chosen: Words) -> None:
    """Set the nodes that a job of so many tasks is given of the free ones, which are enough; `blocks` is a scratch.

    Of select/cons_tres blocks of the least weight come first, and a block has one weight.
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
    """Return the node behind the last one of a block."""
    after = next_out(blocks, first)
    if not weighed:
        return after
    node = first + 1
    while node < after and weight[node] == weight[first]:
        node += 1
    return node


@part
def is_better(weight: Ints, weighed: bool, left: int, first: int, length: int, best: int, best_length: int) -> bool:
    """Return whether a block is taken rather than another one, where so much is left to take."""
    if weighed and weight[first] != weight[best]:
        return weight[first] < weight[best]
    if length >= left:
        return best_length < left or length < best_length
    return best_length < left and length > best_length
