"""The main scheduler's pass: whoever fits on idle nodes starts, and whoever does not keeps others off its partition."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import part
from fedsched.slurm.arrays import By, Counter
from fedsched.slurm.choice import choose
from fedsched.slurm.node_sets import count
from fedsched.slurm.queue import drop_started
from fedsched.slurm.running import start

if TYPE_CHECKING:
    from fedsched.slurm.arrays import Problem, State

MAIN = int(By.MAIN)


@part
def main_pass(problem: Problem, state: State, now: int, depth: int) -> None:
    """Look at so many waiting jobs. Nodes of jobs that complete are not idle here."""
    jobs, machine, scratch = problem.jobs, problem.machine, state.scratch
    scratch.withdrawn[:] = 0
    scratch.failed[:] = 0
    tested, failed, started = 0, 0, False
    for place in range(state.counter[Counter.WAITING]):
        if tested >= depth or failed == machine.tier.size:
            break
        job = state.queue[place]
        partition = jobs.partition[job]
        if scratch.failed[partition] == 1:
            continue
        tested += 1
        mine = machine.sets[jobs.nodes[job]]
        for k in range(mine.size):
            scratch.free[k] = mine[k] & ~state.busy[k] & ~scratch.withdrawn[k]
        if count(scratch.free) >= jobs.tasks[job]:
            choose(problem, scratch.free, jobs.tasks[job], scratch.blocks, scratch.chosen)
            start(problem, state, job, now, scratch.chosen, MAIN)
            started = True
        else:
            scratch.failed[partition] = 1
            failed += 1
            for k in range(mine.size):
                scratch.withdrawn[k] |= machine.partitions[partition, k]
    if started:
        drop_started(state)
