"""The pass of Slurm's main scheduler: a job starts if it fits on idle nodes, or else blocks its partition.

Later jobs of a blocked partition do not start in that pass.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, part
from fedsched.slurm.loop.running import start
from fedsched.slurm.loop.structs import By, Counter, Setting
from fedsched.slurm.nodes.node_sets import meet, ones
from fedsched.slurm.nodes.node_sizes import keep_first_lines
from fedsched.slurm.nodes.shared_nodes import blocked_nodes, fits_now, limits_allow, place_now
from fedsched.slurm.passes.gpu_node_order import found_none, look_for_now
from fedsched.slurm.passes.limit_checks import OTHERS, is_found_over, is_over, is_still_over
from fedsched.slurm.passes.queue import drop_started, may_block, order, replace_by_next_task
from fedsched.slurm.passes.windows import close, ends_in_time

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State

MAIN = constant(By.MAIN)
STARTED, FAILED, PASSED = (constant(k) for k in range(3))


@part
def main_pass(problem: Problem, state: State, now: int, depth: int) -> None:
    """Do a main pass: test the first `depth` + 1 jobs of the queue that are not skipped, and start those that fit.

    Nodes with completing jobs are not idle here.
    """
    machine, scratch = problem.machine, state.scratch
    scratch.withdrawn[:] = 0
    scratch.failed[:] = 0
    scratch.failed_in[:] = 0
    scratch.of_partition[:] = 0
    settings = problem.settings
    most, of_part = settings[Setting.SCHED_MAX_JOB_START], settings[Setting.PARTITION_JOB_DEPTH]
    tested, failed, started, later = 0, 0, 0, False
    for place in range(state.counter[Counter.WAITING]):
        if tested > depth or (failed == machine.tier.size and scratch.failed_in.size == 0):
            break
        job = state.queue[place]
        if _is_skipped(problem, state, job, now):
            continue
        partition = problem.jobs.partition[job]
        if of_part > 0 and scratch.of_partition[partition] >= of_part:
            continue
        scratch.of_partition[partition] += 1
        tested += 1
        while job >= 0 and not is_over(problem, state, job, OTHERS):  # the tasks of an array one by one
            outcome = _test(problem, state, job, now)
            if outcome != STARTED:
                failed += outcome == FAILED
                break
            started += 1
            job = replace_by_next_task(problem, state, place, now)
            later = later or job >= 0
            if started == most:
                break
        if started > 0 and started == most:  # 0: no maximum
            break
    if started > 0:
        drop_started(state)
    if later and problem.settings[Setting.FIFO] == 1:
        order(problem, state)


@part
def _is_skipped(problem: Problem, state: State, job: int, now: int) -> bool:
    """Return whether the pass skips a job: its partition or reservation is blocked, or it is over a limit.

    It also does if the job would not end within its reservation.
    """
    reservation = problem.jobs.reservation[job]
    if reservation < 0:
        failed = state.scratch.failed[problem.jobs.partition[job]] == 1
    else:
        failed = state.scratch.failed_in[reservation] == 1 or not ends_in_time(problem, job, now)
    return failed or is_still_over(problem, state, job)


@part
def _test(problem: Problem, state: State, job: int, now: int) -> int:
    """Test a job: start it if it fits on idle nodes; return STARTED, FAILED (its partition is blocked) or PASSED.

    PASSED is a job that neither starts nor blocks. A job over a limit of accounts blocks its partition only if
    `assoc_limit_stop` is set. A job without enough nodes blocks its partition unless its usable nodes are too few in
    all and none of them is busy.
    """
    jobs, machine, scratch = problem.jobs, problem.machine, state.scratch
    reservation, mine = jobs.reservation[job], machine.sets[jobs.nodes[job]]
    if reservation < 0 and _is_withdrawn(problem, state, job):
        _withdraw(problem, state, job)
        return FAILED
    for k in range(mine.size):
        scratch.usable[k] = mine[k]
    close(problem, state, job, now, scratch.usable)
    for k in range(mine.size):
        scratch.free[k] = scratch.usable[k] & ~blocked_nodes(state.shared, state, k) & ~scratch.withdrawn[k]
    look_for_now(state.shared, problem, job, scratch.free)
    if is_found_over(problem, state, job):
        stops = problem.settings[Setting.ASSOC_LIMIT_STOP] == 1
        return _fail(problem, state, job, now) if stops else PASSED
    if fits_now(state.shared, problem, scratch.free, job):
        keep_first_lines(problem, state, job)
        place_now(state.shared, problem, state, job)
        if not limits_allow(state.shared, job):
            return PASSED
        start(problem, state, job, now, scratch.chosen, MAIN)
        return STARTED
    found_none(state.shared, problem, job)
    if not fits_now(state.shared, problem, scratch.usable, job) and not meet(scratch.usable, state.busy):
        return PASSED
    return _fail(problem, state, job, now)


@part
def _is_withdrawn(problem: Problem, state: State, job: int) -> bool:
    """Return whether earlier jobs of the pass leave too few unblocked nodes in a job's partition."""
    if state.shared is not None or problem.sizes is not None:
        return False
    left, partition = 0, problem.machine.partitions[problem.jobs.partition[job]]
    for k in range(partition.size):
        left += ones(partition[k] & ~state.scratch.withdrawn[k])
    return left < problem.jobs.tasks[job]


@part
def _fail(problem: Problem, state: State, job: int, now: int) -> int:
    """Block a job's partition, or its reservation, for later jobs of the pass.

    Return FAILED if a partition is blocked, else PASSED: for a reservation, or if the job may not block others.
    """
    reservation = problem.jobs.reservation[job]
    if reservation >= 0:
        state.scratch.failed_in[reservation] = 1
        return PASSED
    if not may_block(problem, state, job, now):
        return PASSED
    _withdraw(problem, state, job)
    return FAILED


@part
def _withdraw(problem: Problem, state: State, job: int) -> None:
    """Mark a job's partition as blocked, and block the nodes of it for all later jobs of the pass."""
    scratch, partition = state.scratch, problem.jobs.partition[job]
    scratch.failed[partition] = 1
    for k in range(scratch.withdrawn.size):
        scratch.withdrawn[k] |= problem.machine.partitions[partition, k]
