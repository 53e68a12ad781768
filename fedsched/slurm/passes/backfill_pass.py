"""Slurm's backfill pass, in queue order: a job starts now if it delays no reservation so far, or gets a reservation."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.core.jit import constant, inlined, part
from fedsched.slurm.loop.running import start
from fedsched.slurm.loop.structs import By, Counter, Setting
from fedsched.slurm.nodes.node_sets import meet
from fedsched.slurm.nodes.shared_nodes import limits_allow, may_fit, place_at_start
from fedsched.slurm.passes.gpu_node_order import is_noted
from fedsched.slurm.passes.limit_checks import (
    OF_AMOUNTS,
    OTHERS,
    has_too_many_jobs,
    is_found_over,
    is_over,
    left_of_array,
)
from fedsched.slurm.passes.node_space import (
    NONE_LATER,
    begin_table,
    has_room,
    is_reserved,
    limit_to_records,
    reserve,
    rounded,
)
from fedsched.slurm.passes.queue import drop_started, may_block, replace_by_next_task
from fedsched.slurm.passes.will_run import UNKNOWN, will_run
from fedsched.slurm.passes.windows import NEVER, close, ends_in_time, next_end_of_reservations, open_nodes

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Ints, Problem, State

BACKFILL = constant(By.BACKFILL)
STARTED, RESERVED, NOTHING = (constant(k) for k in range(3))
NO_JOBS = constant(0)


@part
def backfill_pass(problem: Problem, state: State, now: int) -> None:
    """Do one backfill pass over the queue: start jobs, reserve nodes for others, and count the tests.

    Its clock may advance by seconds during the pass, if the times of tests were recorded.
    """
    settings, counter, scratch, turns = problem.settings, state.counter, state.scratch, problem.passes
    before, tested, started = counter[Counter.TESTS], NO_JOBS, NO_JOBS
    turn, last_turn, most = NO_JOBS, NO_JOBS, settings[Setting.BF_MAX_JOB_TEST]
    if turns.first.size > 0:
        given = counter[Counter.GIVEN]
        turn, last_turn, most = turns.first[given], turns.first[given + 1], min(most, turns.most[given])
    _forget(scratch.of_user, settings[Setting.BF_MAX_JOB_USER])
    _forget(scratch.of_partition, settings[Setting.BF_MAX_JOB_PART])
    _forget(scratch.of_association, settings[Setting.BF_MAX_JOB_ASSOC])
    _forget(scratch.of_user_there, settings[Setting.BF_MAX_JOB_USER_PART])
    scratch.reserved_in[:] = 0
    begin_table(problem, state, now)
    counter[Counter.PASSES] += 1
    # The last place with a job that might start or leave a note; it only falls: free nodes only become fewer in a pass.
    last = counter[Counter.WAITING] - 1
    for place in range(counter[Counter.WAITING]):
        while turn < last_turn and turns.tested[turn] <= tested:
            now, turn, last = now + 1, turn + 1, counter[Counter.WAITING] - 1
        if settings[Setting.TIMED] == 0 and turn == last_turn:
            while last >= place and not _matters(problem, state, state.queue[last], now):
                last -= 1
            if last < place:
                _note_limits(problem, state, place, now, tested, most)
                break  # no other job can start, and reservations end with the pass
        if tested >= most or _is_out_of_time(problem, counter[Counter.TESTS] - before):
            break
        job = state.queue[place]
        if has_too_many_jobs(problem, state, job) or not ends_in_time(problem, job, now):
            continue
        if not _is_within_limits(problem, state, job):
            continue
        tested += 1
        started = _test_tasks(problem, state, place, now, started)
        if started > 0 and started == settings[Setting.BF_MAX_JOB_START]:  # 0: no maximum
            break
    if started > 0:
        drop_started(state)


@inlined
def _matters(problem: Problem, state: State, job: int, now: int) -> bool:
    return is_noted(state.shared, job) or has_room(problem, state, job, now)


@part
def _note_limits(problem: Problem, state: State, place: int, now: int, tested: int, most: int) -> None:
    """Store for the jobs that the pass would still test, from `place` on, whether each is over a limit of accounts."""
    if problem.limits.kind.size == 0:
        return
    for behind in range(place, state.counter[Counter.WAITING]):
        if tested >= most:
            break
        job = state.queue[behind]
        if has_too_many_jobs(problem, state, job) or not ends_in_time(problem, job, now):
            continue
        if _is_within_limits(problem, state, job):
            tested += 1
            _has_too_much(problem, state, job)


@part
def _has_too_much(problem: Problem, state: State, job: int) -> bool:
    """Return whether a job is over a limit on the resources of an account, and store that in `waiting.limited`."""
    over = is_over(problem, state, job, OF_AMOUNTS)
    state.waiting.limited[job] = over
    return over


@part
def _test_tasks(problem: Problem, state: State, place: int, now: int, started: int) -> int:
    """Test a job, or the tasks of its array one by one, as long as each starts or more may get reservations.

    Return how many jobs the pass has started so far.
    """
    settings, job, reserved = problem.settings, state.queue[place], 0
    while job >= 0 and not is_over(problem, state, job, OTHERS):
        outcome = _test(problem, state, job, now)
        if outcome == STARTED:
            started += 1
            job = replace_by_next_task(problem, state, place, now)
            if started == settings[Setting.BF_MAX_JOB_START]:
                break
            continue
        reserved += 1
        if outcome == NOTHING or reserved >= min(
            _waiting_tasks(problem, state, job, settings[Setting.BF_MAX_JOB_ARRAY_RESV]),
            left_of_array(problem, state, job),
        ):
            break
    return started


@part
def _waiting_tasks(problem: Problem, state: State, job: int, most: int) -> int:
    """Return how many tasks of an array could wait in the queue, from this one on, counted up to `most`."""
    found = 0
    while job >= 0 and found < most:
        found += state.waiting.open[job] == 0 and state.waiting.gone[job] == 0
        job = state.waiting.successor[job]
    return found


@part
def _is_out_of_time(problem: Problem, tests: int) -> bool:
    settings = problem.settings
    return settings[Setting.TIMED] == 1 and tests >= settings[Setting.BF_MAX_TIME] * settings[Setting.RATE]


@part
def _is_within_limits(problem: Problem, state: State, job: int) -> bool:
    """Count a job for its user, partition and association, for each maximum bf_max_job_* that is set.

    Return whether all were below; counting ends at the first that was reached.
    """
    jobs, scratch, settings = problem.jobs, state.scratch, problem.settings
    user, partition, association = jobs.user[job], jobs.partition[job], jobs.association[job]
    there = user * problem.machine.tier.size + partition
    if not _counts(scratch.of_partition, partition, settings[Setting.BF_MAX_JOB_PART]):
        return False
    if not _counts(scratch.of_user_there, there, settings[Setting.BF_MAX_JOB_USER_PART]):
        return False
    if not _counts(scratch.of_association, association, settings[Setting.BF_MAX_JOB_ASSOC]):
        return False
    return _counts(scratch.of_user, user, settings[Setting.BF_MAX_JOB_USER])


@inlined
def _forget(counts: Ints, most: int) -> None:
    """Set all counts to 0 if they have a maximum (`most` above 0)."""
    if most > 0:
        counts[:] = 0


@inlined
def _counts(counts: Ints, index: int, most: int) -> bool:
    """Add one to a count unless it has reached `most` (0: no maximum); return whether it was below."""
    if most == 0:
        return True
    if counts[index] >= most:
        return False
    counts[index] += 1
    return True


@part
def _may_reserve(problem: Problem, state: State, job: int, now: int) -> bool:
    """Return whether a job may get a reservation.

    Its age and priority must reach the minima, and its partition have fewer than bf_job_part_count_reserve.
    """
    if problem.jobs.reserves[job] == 0 or not may_block(problem, state, job, now):
        return False
    most = problem.settings[Setting.BF_JOB_PART_COUNT_RESERVE]
    return most == 0 or state.scratch.reserved_in[problem.jobs.partition[job]] < most


@part
def _test(problem: Problem, state: State, job: int, now: int) -> int:
    """Start a job now, or reserve nodes for it at its earliest start, or do neither.

    Return STARTED, RESERVED or NOTHING.
    """
    jobs, settings, scratch = problem.jobs, problem.settings, state.scratch
    limit, chosen = jobs.limit[job], scratch.chosen
    if _has_too_much(problem, state, job):
        state.counter[Counter.TESTS] += 1
        return NOTHING
    reserves = _may_reserve(problem, state, job, now)
    later = now
    while True:
        state.counter[Counter.TESTS] += 1
        since = later
        mine = problem.machine.sets[jobs.nodes[job]]
        for k in range(mine.size):
            scratch.usable[k] = mine[k]
        over = NEVER
        if close(problem, state, job, since, scratch.usable):
            over = next_end_of_reservations(problem, state, since)
        open_nodes(problem, state, job, since, scratch.within)
        later = limit_to_records(state, since, max(since, now) + limit)
        if over < now + settings[Setting.BF_WINDOW] and (later == NONE_LATER or over < later):
            later = over
        possible = may_fit(state.shared, problem, scratch.usable, job)
        moment = will_run(problem, state, now, job) if possible else UNKNOWN
        if moment == UNKNOWN:
            if later == NONE_LATER or not reserves:
                return NOTHING
            continue
        moment = max(moment, since)
        if moment <= now and meet(chosen, state.completing):
            moment, later = now + 1, NONE_LATER  # it waits until those nodes are clear
        if moment <= now:
            if is_found_over(problem, state, job):
                return NOTHING
            place_at_start(state.shared, problem, state, job)
            if not limits_allow(state.shared, job):
                return NOTHING
            start(problem, state, job, now, chosen, BACKFILL)
            return STARTED
        if not reserves:
            return NOTHING
        if later != NONE_LATER and moment > later:
            continue
        if moment > now + settings[Setting.BF_WINDOW]:
            return NOTHING
        begin, end = rounded(problem, moment), rounded(problem, moment + limit)
        if not is_reserved(state, chosen, begin, end):
            reserve(problem, state, chosen, begin, end)
            scratch.reserved_in[jobs.partition[job]] += 1
            return RESERVED
        later = moment
