"""The event loop: whole seconds of Slurm's clock in which something happens, and the passes that follow from it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from fedsched.compiled import constant, kernel, part
from fedsched.slurm.arrays import Counter, Setting
from fedsched.slurm.backfill_pass import backfill_pass
from fedsched.slurm.main_pass import main_pass
from fedsched.slurm.queue import join, order
from fedsched.slurm.running import NEVER, next_end, take_ends
from fedsched.slurm.ticks import first_priority, next_tick, tick

if TYPE_CHECKING:
    from fedsched.slurm.arrays import Problem, State

DONE, PAUSED, STUCK = 0, 1, 2
ALL = constant(2**62)


@kernel
def begin(problem: Problem, state: State) -> int:
    """Set the clocks to the first submission: passes are due then, a main pass of all an interval later."""
    first = problem.jobs.eligible[problem.jobs.by_eligible[0]]
    counter, settings = state.counter, problem.settings
    counter[Counter.LAST_MAIN] = -settings[Setting.BATCH_SCHED_DELAY]
    counter[Counter.WANTED_MAIN] = NEVER
    counter[Counter.NEXT_MAIN] = first + settings[Setting.SCHED_INTERVAL]
    counter[Counter.NEXT_BACKFILL] = first + settings[Setting.PHASE]
    counter[Counter.LAST_BACKFILL] = first - 1
    counter[Counter.CHANGED] = first
    return 0


@kernel
def run(problem: Problem, state: State, instants: int) -> int:
    """Go on for so many instants, and return whether all jobs have ended."""
    counter, jobs = state.counter, problem.jobs.tasks.size
    for _ in range(instants):
        now = next_instant(problem, state)
        if counter[Counter.FINISHED] == jobs:
            return DONE
        if now >= NEVER:
            return STUCK
        _take(problem, state, now)
    return PAUSED


@part
def next_instant(problem: Problem, state: State) -> int:
    """Return when something happens next."""
    counter, jobs = state.counter, problem.jobs
    now = next_end(state)
    if next_tick(state.priorities) < now:
        now = int(np.ceil(next_tick(state.priorities)))
    if counter[Counter.ARRIVED] < jobs.tasks.size:
        now = min(now, jobs.eligible[jobs.by_eligible[counter[Counter.ARRIVED]]])
    if problem.settings[Setting.MAIN] == 1:
        now = min(now, counter[Counter.WANTED_MAIN])
        if counter[Counter.WAITING] > 0:
            now = min(now, counter[Counter.NEXT_MAIN])
    now = min(now, _backfill_due(problem, state))
    return now if now >= NEVER else max(now, counter[Counter.BLOCKED_UNTIL])


@part
def _backfill_due(problem: Problem, state: State) -> int:
    # At the interval's end; had nothing changed by then, in the second of the next change.
    counter, settings = state.counter, problem.settings
    if settings[Setting.BACKFILL] == 0:
        return NEVER
    if settings[Setting.OWN_CLOCK] == 0:
        given = counter[Counter.GIVEN]
        return problem.passes[given] if given < problem.passes.size else NEVER
    if counter[Counter.WAITING] == 0 and counter[Counter.CHANGED] < counter[Counter.LAST_BACKFILL]:
        return NEVER
    return max(counter[Counter.NEXT_BACKFILL], counter[Counter.CHANGED])


@part
def _take(problem: Problem, state: State, now: int) -> None:
    counter, settings = state.counter, problem.settings
    counter[Counter.NOW] = now
    freed = take_ends(problem, state, now)
    _take_ticks(problem, state, now)
    came = _take_arrivals(problem, state, now)
    if came:
        counter[Counter.WANTED_MAIN] = min(
            counter[Counter.WANTED_MAIN], max(now, counter[Counter.LAST_MAIN] + settings[Setting.BATCH_SCHED_DELAY])
        )
    if freed or came:
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
def _take_arrivals(problem: Problem, state: State, now: int) -> bool:
    counter, jobs = state.counter, problem.jobs
    came = False
    while counter[Counter.ARRIVED] < jobs.tasks.size:
        job = jobs.by_eligible[counter[Counter.ARRIVED]]
        if jobs.eligible[job] > now:
            break
        counter[Counter.ARRIVED] += 1
        state.priorities.accrue[job] = jobs.eligible[job]  # a pass that took its time may have kept it waiting
        first_priority(state.priorities, job, np.float64(now))
        join(problem, state, job)
        came = True
    return came


@part
def _main_if_due(problem: Problem, state: State, now: int, freed: bool) -> None:
    counter, settings = state.counter, problem.settings
    of_interval = now >= counter[Counter.NEXT_MAIN]
    wanted = now >= counter[Counter.WANTED_MAIN]
    if not (freed or wanted or (of_interval and counter[Counter.WAITING] > 0)):
        return
    main_pass(problem, state, now, ALL if of_interval else settings[Setting.DEFAULT_QUEUE_DEPTH])
    counter[Counter.LAST_MAIN] = now
    if wanted:
        counter[Counter.WANTED_MAIN] = NEVER
    if of_interval:
        counter[Counter.NEXT_MAIN] = now + settings[Setting.SCHED_INTERVAL]


@part
def _backfill(problem: Problem, state: State, now: int) -> None:
    counter, settings = state.counter, problem.settings
    before = counter[Counter.TESTS]
    if counter[Counter.WAITING] > 0:
        backfill_pass(problem, state, now)
    counter[Counter.LAST_BACKFILL] = now
    if settings[Setting.OWN_CLOCK] == 0:
        given = counter[Counter.GIVEN]
        while given < problem.passes.size and problem.passes[given] <= now:
            given += 1
        counter[Counter.GIVEN] = given
        return
    seconds = 0
    if settings[Setting.TIMED] == 1:
        seconds = (counter[Counter.TESTS] - before) // settings[Setting.RATE]
        counter[Counter.BLOCKED_UNTIL] = now + seconds
    counter[Counter.NEXT_BACKFILL] = now + seconds + settings[Setting.BF_INTERVAL]
