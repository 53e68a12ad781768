"""The event loop: whole seconds of Slurm's clock in which something happens, and the passes that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.jit import constant, kernel, part
from fedsched.slurm.loop.running import NEVER, next_end, start, take_ends_and_losses
from fedsched.slurm.loop.structs import By, Counter, Setting
from fedsched.slurm.nodes.shared_nodes import choose_present
from fedsched.slurm.passes.backfill_pass import backfill_pass
from fedsched.slurm.passes.conditions import (
    CANCELLED,
    doom_job,
    next_moment,
    next_submitted,
    note_submit,
    pop_due,
    pop_submitted,
    released,
    settle,
    wait_until,
)
from fedsched.slurm.passes.gpu_node_order import look_for
from fedsched.slurm.passes.main_pass import main_pass
from fedsched.slurm.passes.queue import join, leave, order
from fedsched.slurm.passes.windows import next_edge, next_hit, take_edges
from fedsched.slurm.priority.sequence_numbers import give_number, give_released_numbers
from fedsched.slurm.priority.ticks import first_priority, next_tick, tick

if TYPE_CHECKING:
    from fedsched.slurm.loop.structs import Problem, State

DONE, PAUSED, STUCK = 0, 1, 2
NOBODY = constant(By.NOBODY)
ALL = constant(2**62)
GONE = constant(2**40)  # open conditions of whoever can never start


@kernel
def begin(problem: Problem, state: State) -> int:
    """Set the clocks to their begin, and start the jobs that run then.

    Passes are due then, a main pass over all jobs an interval later.
    """
    counter, settings = state.counter, problem.settings
    first = settings[Setting.BEGIN]
    counter[Counter.LAST_MAIN] = -settings[Setting.BATCH_SCHED_DELAY]
    counter[Counter.WANTED_MAIN] = NEVER
    given = _given_full(problem, first)
    counter[Counter.NEXT_MAIN] = given if given < NEVER else first + settings[Setting.SCHED_INTERVAL]
    counter[Counter.NEXT_BACKFILL] = first + settings[Setting.PHASE]
    counter[Counter.LAST_BACKFILL] = first - 1
    counter[Counter.CHANGED] = first
    counter[Counter.LAST_FULL] = first - 1
    initial = problem.initial
    for i in range(initial.job.size):
        choose_present(state.shared, initial.job[i])
        start(problem, state, initial.job[i], initial.start[i], initial.nodes[i], NOBODY)
    return 0


@kernel
def run(problem: Problem, state: State, instants: int) -> int:
    """Go on for this many instants, and return whether all jobs have ended."""
    counter, jobs = state.counter, problem.jobs.tasks.size
    for _ in range(instants):
        now = next_instant(problem, state)
        if counter[Counter.FINISHED] + counter[Counter.GONE] == jobs:
            return DONE
        if now >= NEVER:
            return STUCK
        _take(problem, state, now)
    return PAUSED


@part
def next_instant(problem: Problem, state: State) -> int:
    """Return when something happens next."""
    counter = state.counter
    now = _next_event(problem, state)
    if now >= NEVER and _is_settled(problem, state):
        return NEVER
    if next_tick(state.priorities) < now:
        now = int(np.ceil(next_tick(state.priorities)))
    if problem.settings[Setting.MAIN] == 1:
        now = min(now, counter[Counter.WANTED_MAIN])
        if counter[Counter.WAITING] > 0:
            now = min(now, counter[Counter.NEXT_MAIN])
    now = min(now, _backfill_due(problem, state))
    return now if now >= NEVER else max(now, counter[Counter.BLOCKED_UNTIL])


@part
def _next_event(problem: Problem, state: State) -> int:
    """Return when something happens next to jobs or nodes."""
    counter, jobs = state.counter, problem.jobs
    now = min(next_end(state), next_moment(state))
    now = min(now, next_edge(problem, state), next_hit(problem, state))
    job = next_submitted(problem, state)
    if job >= 0:
        now = min(now, state.waiting.submitted[job])
    if counter[Counter.CANCELLED] < jobs.by_cancel.size:
        now = min(now, jobs.cancel[jobs.by_cancel[counter[Counter.CANCELLED]]])
    if counter[Counter.HELD] < problem.holds.by_begin.size:
        now = min(now, problem.holds.begin[problem.holds.by_begin[counter[Counter.HELD]]])
    return now


@part
def _is_settled(problem: Problem, state: State) -> bool:
    """Return whether all passes have been made since something has changed for the last time: whoever waits stays."""
    counter, settings = state.counter, problem.settings
    if counter[Counter.WAITING] == 0:
        return True
    if settings[Setting.MAIN] == 1 and counter[Counter.LAST_FULL] < counter[Counter.CHANGED]:
        return False
    if settings[Setting.BACKFILL] == 0:
        return True
    if settings[Setting.OWN_CLOCK] == 0 and counter[Counter.GIVEN] < problem.passes.second.size:
        return False
    return counter[Counter.LAST_BACKFILL] >= counter[Counter.CHANGED] or settings[Setting.OWN_CLOCK] == 0


@part
def _backfill_due(problem: Problem, state: State) -> int:
    # At the interval's end; had nothing changed by then, in the second of the next change.
    counter, settings = state.counter, problem.settings
    if settings[Setting.BACKFILL] == 0:
        return NEVER
    if settings[Setting.OWN_CLOCK] == 0:
        given = counter[Counter.GIVEN]
        return problem.passes.second[given] if given < problem.passes.second.size else NEVER
    if counter[Counter.WAITING] == 0 and counter[Counter.CHANGED] < counter[Counter.LAST_BACKFILL]:
        return NEVER
    return max(counter[Counter.NEXT_BACKFILL], counter[Counter.CHANGED])


@part
def _take(problem: Problem, state: State, now: int) -> None:
    counter, settings = state.counter, problem.settings
    counter[Counter.NOW] = now
    freed = _take_cancellations(problem, state, now)
    _take_holds(problem, state, now)
    freed = take_ends_and_losses(problem, state, now) or freed
    edges = next_edge(problem, state) <= now
    freed = take_edges(problem, state, now) or freed
    if edges:
        _drop_who_missed(problem, state, now)
    _take_ticks(problem, state, now)
    came = _take_arrivals(problem, state, now)
    joined = _take_due(problem, state, now)
    if came:
        counter[Counter.WANTED_MAIN] = min(
            counter[Counter.WANTED_MAIN], max(now, counter[Counter.LAST_MAIN] + settings[Setting.BATCH_SCHED_DELAY])
        )
    if freed or came or joined or edges:
        counter[Counter.CHANGED] = now
    if settings[Setting.MAIN] == 1:
        _main_if_due(problem, state, now, freed)
    if settings[Setting.BACKFILL] == 1 and now >= _backfill_due(problem, state):
        _backfill(problem, state, now)


@part
def _take_ticks(problem: Problem, state: State, now: int) -> None:
    ticked = False
    while next_tick(state.priorities) <= now:
        moment = next_tick(state.priorities)
        tick(state.priorities, moment, state.running.job, state.counter[Counter.RUNNING], state.start)
        ticked = True
    if ticked:
        order(problem, state)


@part
def _take_cancellations(problem: Problem, state: State, now: int) -> bool:
    counter, jobs, waiting, freed = state.counter, problem.jobs, state.waiting, False
    while counter[Counter.CANCELLED] < jobs.by_cancel.size:
        job = jobs.by_cancel[counter[Counter.CANCELLED]]
        if jobs.cancel[job] > now:
            break
        counter[Counter.CANCELLED] += 1
        if problem.windows.taking.size > 0:  # whether it runs is known once all before has happened
            freed = take_ends_and_losses(problem, state, jobs.cancel[job] - 1) or freed
        if not np.isnan(state.start[job]):
            continue
        waiting.gone[job], waiting.open[job] = 1, GONE
        counter[Counter.GONE] += 1
        leave(problem, state, job)
        settle(problem, state, job, jobs.cancel[job], CANCELLED)
    return freed


@part
def _take_holds(problem: Problem, state: State, now: int) -> None:
    """Let those leave the queue until they are released whose holds have begun [73]: their age begins anew then."""
    counter, holds, waiting = state.counter, problem.holds, state.waiting
    while counter[Counter.HELD] < holds.by_begin.size:
        hold = holds.by_begin[counter[Counter.HELD]]
        if holds.begin[hold] > now:
            break
        counter[Counter.HELD] += 1
        job = holds.job[hold]
        if waiting.inside[job] == 0 or not np.isnan(state.start[job]) or waiting.gone[job] == 1:
            continue
        waiting.inside[job], waiting.away[job] = 0, 1
        leave(problem, state, job)
        wait_until(problem, state, job, holds.begin[hold])


@part
def _drop_who_missed(problem: Problem, state: State, now: int) -> None:
    """Let those go whose reservation is over."""
    jobs, ends, waiting = problem.jobs, problem.windows.ends, state.waiting
    for job in range(jobs.tasks.size):
        reservation = jobs.reservation[job]
        if reservation < 0 or ends[reservation] > now or waiting.gone[job] == 1 or not np.isnan(state.start[job]):
            continue
        leave(problem, state, job)
        doom_job(problem, state, job)


@part
def _take_arrivals(problem: Problem, state: State, now: int) -> bool:
    jobs, submitted, came = problem.jobs, state.waiting.submitted, False
    while True:
        job = next_submitted(problem, state)
        if job < 0 or submitted[job] > now:
            break
        pop_submitted(problem, state, job)
        if jobs.submit[job] == NEVER and jobs.cancel[job] <= submitted[job]:
            continue  # it left before its user would have submitted it
        give_number(problem, state, job)
        if not np.isnan(state.start[job]):
            continue  # it runs from the begin on
        look_for(state.shared, problem, job)
        if state.waiting.open[job] < GONE // 2:  # what else it waited for may have come since it was lost
            note_submit(problem, state, job)
            came = True
    give_released_numbers(problem, state, now)
    return came


@part
def _take_due(problem: Problem, state: State, now: int) -> bool:
    """Put into the queue who may start from now on; return whether there is anybody."""
    joined, waiting = False, state.waiting
    while next_moment(state) <= now:
        job = pop_due(state)
        if waiting.open[job] != 0:
            continue  # who left meanwhile
        if problem.holds.first.size > 0:
            if released(problem, job, now) > now:  # held since, while a pass took its time
                wait_until(problem, state, job, now)
                continue
            waiting.inside[job], waiting.away[job] = 1, 0
        if waiting.shown[waiting.record[job]] < 0:
            # A pass that took its time may have kept it waiting.
            state.priorities.accrue[job] = waiting.moment[job] - state.priorities.aged[job]
            state.priorities.aged[job] = 0.0
            first_priority(state.priorities, job, np.float64(now))
        if state.counter[Counter.WAITING] == 0:
            _skip_idle_intervals(problem, state, now)
        join(problem, state, job)
        joined = True
    return joined


@part
def _skip_idle_intervals(problem: Problem, state: State, now: int) -> None:
    """Let the main passes of all be forgotten that came while nobody waited: they keep their own time."""
    counter, interval = state.counter, max(1, problem.settings[Setting.SCHED_INTERVAL])
    given = _given_full(problem, now)
    if given < NEVER:
        counter[Counter.NEXT_MAIN] = given
    if counter[Counter.NEXT_MAIN] < now:
        late = now - counter[Counter.NEXT_MAIN]
        counter[Counter.NEXT_MAIN] += (late + interval - 1) // interval * interval


@part
def _main_if_due(problem: Problem, state: State, now: int, freed: bool) -> None:
    counter, settings = state.counter, problem.settings
    if counter[Counter.WAITING] == 0:  # nodes may be freed for nobody
        _skip_idle_intervals(problem, state, now)
    of_interval = now >= counter[Counter.NEXT_MAIN]
    wanted = now >= counter[Counter.WANTED_MAIN]
    if not (freed or wanted or (of_interval and counter[Counter.WAITING] > 0)):
        return
    main_pass(problem, state, now, ALL if of_interval else settings[Setting.DEFAULT_QUEUE_DEPTH])
    counter[Counter.LAST_MAIN] = now
    if wanted:
        counter[Counter.WANTED_MAIN] = NEVER
    if of_interval:
        given = _given_full(problem, now + 1)
        counter[Counter.NEXT_MAIN] = given if given < NEVER else now + max(1, settings[Setting.SCHED_INTERVAL])
        counter[Counter.LAST_FULL] = now


@part
def _given_full(problem: Problem, moment: int) -> int:
    """Return when the first main pass over all jobs is from a moment on, where that is given."""
    full = problem.passes.full
    place = np.searchsorted(full, moment)
    return full[place] if place < full.size else NEVER


@part
def _backfill(problem: Problem, state: State, now: int) -> None:
    counter, settings = state.counter, problem.settings
    before = counter[Counter.TESTS]
    if counter[Counter.WAITING] > 0:
        backfill_pass(problem, state, now)
    counter[Counter.LAST_BACKFILL] = now
    if settings[Setting.OWN_CLOCK] == 0:
        given, first = counter[Counter.GIVEN], problem.passes.first
        if first.size > 0:  # nothing else is done meanwhile
            counter[Counter.BLOCKED_UNTIL] = now + first[given + 1] - first[given]
        while given < problem.passes.second.size and problem.passes.second[given] <= now:
            given += 1
        counter[Counter.GIVEN] = given
        return
    seconds = 0
    if settings[Setting.TIMED] == 1:
        seconds = (counter[Counter.TESTS] - before) // settings[Setting.RATE]
        counter[Counter.BLOCKED_UNTIL] = now + seconds
    counter[Counter.NEXT_BACKFILL] = now + seconds + settings[Setting.BF_INTERVAL]
