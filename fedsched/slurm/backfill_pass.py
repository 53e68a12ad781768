"""The backfill pass: by priority, each waiting job starts where that delays nobody before it, or has nodes reserved."""

from __future__ import annotations

from typing import TYPE_CHECKING

from fedsched.compiled import constant, part
from fedsched.slurm.arrays import By, Counter, Setting
from fedsched.slurm.limits import is_full, left_of_array
from fedsched.slurm.node_sets import count, meet
from fedsched.slurm.queue import drop_started, give_place
from fedsched.slurm.records import NONE_LATER, begin_table, is_reserved, limit_to_records, reserve, rounded
from fedsched.slurm.running import start
from fedsched.slurm.will_run import UNKNOWN, will_run
from fedsched.slurm.windows import NEVER, close, ends_in_time, next_end_of_reservations

if TYPE_CHECKING:
    from fedsched.slurm.arrays import Problem, State

BACKFILL = int(By.BACKFILL)
STARTED, RESERVED, NOTHING = (constant(k) for k in range(3))


@part
def backfill_pass(problem: Problem, state: State, now: int) -> None:
    """Make one pass over the queue, and note how many tests that took."""
    settings, counter, scratch = problem.settings, state.counter, state.scratch
    before, tested, started = counter[Counter.TESTS], 0, 0
    scratch.of_user[:] = 0
    scratch.of_partition[:] = 0
    begin_table(problem, state, now)
    counter[Counter.PASSES] += 1
    _note_smallest(problem, state)
    for place in range(counter[Counter.WAITING]):
        if settings[Setting.TIMED] == 0 and scratch.smallest[place] > problem.machine.weight.size - count(state.busy):
            break  # none of the others can start now, and reservations end with the pass
        if tested >= settings[Setting.BF_MAX_JOB_TEST] or _is_out_of_time(problem, counter[Counter.TESTS] - before):
            break
        job = state.queue[place]
        if is_full(problem, state, job) or not ends_in_time(problem, job, now):
            continue
        if not _is_within_limits(problem, state, job):
            continue
        tested += 1
        started = _test_tasks(problem, state, place, now, started)
        if started > 0 and started == settings[Setting.BF_MAX_JOB_START]:  # 0: as many as can
            break
    if started > 0:
        drop_started(state)


@part
def _test_tasks(problem: Problem, state: State, place: int, now: int, started: int) -> int:
    """Test a job, of an array task after task; return how many have started in the pass by then."""
    settings, job, reserved = problem.settings, state.queue[place], 0
    while job >= 0 and not is_full(problem, state, job):
        outcome = _test(problem, state, job, now)
        if outcome == STARTED:
            started += 1
            job = give_place(problem, state, place, now)
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
    """Return how many tasks of an array wait from this one on, of so many at the most."""
    found = 0
    while job >= 0 and found < most:
        found += state.waiting.open[job] == 0 and state.waiting.gone[job] == 0
        job = problem.jobs.successor[job]
    return found


@part
def _note_smallest(problem: Problem, state: State) -> None:
    """Note for each place of the queue how few nodes somebody from there on wants."""
    least = problem.machine.weight.size + 1
    for place in range(state.counter[Counter.WAITING] - 1, -1, -1):
        least = min(least, problem.jobs.tasks[state.queue[place]])
        state.scratch.smallest[place] = least


@part
def _is_out_of_time(problem: Problem, tests: int) -> bool:
    settings = problem.settings
    return settings[Setting.TIMED] == 1 and tests >= settings[Setting.BF_MAX_TIME] * settings[Setting.RATE]


@part
def _is_within_limits(problem: Problem, state: State, job: int) -> bool:
    """Count the job among its user's and its partition's, and return whether the pass looks at so many of them."""
    user, partition = problem.jobs.user[job], problem.jobs.partition[job]
    scratch, settings = state.scratch, problem.settings
    most_of_user, most_of_part = settings[Setting.BF_MAX_JOB_USER], settings[Setting.BF_MAX_JOB_PART]
    if most_of_part > 0:
        if scratch.of_partition[partition] >= most_of_part:
            return False
        scratch.of_partition[partition] += 1
    if most_of_user > 0:
        if scratch.of_user[user] >= most_of_user:
            return False
        scratch.of_user[user] += 1
    return True


@part
def _test(problem: Problem, state: State, job: int, now: int) -> int:
    """Start the job now, or reserve nodes for it, or neither."""
    jobs, settings, scratch = problem.jobs, problem.settings, state.scratch
    tasks, limit, chosen = jobs.tasks[job], jobs.limit[job], scratch.chosen
    reserves = now - state.waiting.moment[job] >= settings[Setting.BF_MIN_AGE_RESERVE]
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
        later = limit_to_records(state, since, max(since, now) + limit)
        if over < now + settings[Setting.BF_WINDOW] and (later == NONE_LATER or over < later):
            later = over
        moment = will_run(problem, state, now, tasks) if count(scratch.usable) >= tasks else UNKNOWN
        if moment == UNKNOWN:
            if later == NONE_LATER or not reserves:
                return NOTHING
            continue
        moment = max(moment, since)
        if moment <= now and meet(chosen, state.completing):
            moment, later = now + 1, NONE_LATER  # it waits for those nodes
        if moment <= now:
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
            return RESERVED
        later = moment
