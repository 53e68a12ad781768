"""How select/linear narrows the free nodes: it takes NodeName lines in turn until they are enough for a job [75]."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import part
from fedsched.slurm.loop.structs import Setting
from fedsched.slurm.nodes.node_sizes import choose_for, enough, is_sized, keep_no_spare

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State


@part
def keep_first_lines(problem: Problem, state: State, job: int) -> None:
    """Keep only the free nodes of the first NodeName lines that together are enough for a job."""
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
def choose_again(problem: Problem, state: State, job: int) -> None:
    """Choose again among the usable idle nodes for a job that backfill starts, as select/linear does at a start."""
    scratch, settings = state.scratch, problem.settings
    several = problem.machine.lines.shape[0] > 1 or is_sized(problem.sizes, job)
    if settings[Setting.CONS_TRES] == 1 or not several:
        return
    for k in range(scratch.usable.size):
        scratch.free[k] = scratch.usable[k] & ~state.busy[k]
    keep_first_lines(problem, state, job)
    choose_for(problem.sizes, problem, scratch.free, job, scratch.blocks, scratch.chosen)
