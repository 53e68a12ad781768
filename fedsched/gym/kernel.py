"""The compiled loop of environments: apply each run's answer, advance to its next decision, fill the observation."""

from __future__ import annotations

from enum import IntEnum
from typing import TYPE_CHECKING

from fedsched.core.jit import inlined, kernel, row
from fedsched.engine.codes import Status
from fedsched.engine.loop.event_loop import begin
from fedsched.engine.numbers import Counter
from fedsched.engine.queue.queue_tree import FIRST
from fedsched.engine.run.decisions import NO_JOB, decide, decide_in_reservation, end_pass, leave_places, look
from fedsched.gym.features import see_running, see_waiting, see_whole
from fedsched.gym.runs import plan_of, problem_of
from fedsched.gym.tally import next_pass_counted, value_of

if TYPE_CHECKING:
    from fedsched.engine.arrays.structs import Plan, Problem, State
    from fedsched.gym.runs import Runs


class Answer(IntEnum):
    """The special answers of a run; any other answer is a place in its queue."""

    BEGIN = -2  # begin at t0, with the stretch of the log and the queue order set for the run
    REST = -3  # leave the run as it is


@inlined
def _to_decision(runs: Runs, problem: Problem, plan: Plan, state: State, b: int) -> int:
    # Advance to the next decision, or to the end; returns a Status.
    counter = state.counter
    while True:
        if counter[Counter.PASS_DUE] == 1:
            if look(problem, plan, state, runs.waiting[b], runs.seen.action_mask[b]):
                return Status.ASKED
            end_pass(problem, state)
        status = next_pass_counted(problem, plan, state, runs.room, runs.ended[b])
        if status != Status.ASKED:
            return status


@inlined
def _see(runs: Runs, problem: Problem, state: State, b: int) -> None:
    seen, none = runs.seen, runs.waiting.shape[1]
    if runs.told.over[b] == 1:  # no queue to look at
        leave_places(runs.waiting[b], seen.action_mask[b], FIRST)
    seen.action_mask[b, none] = 1
    of_job = runs.of_job[runs.first[b] : runs.first[b] + problem.submit.size]
    see_waiting(problem, state, of_job, runs.waiting[b], seen.action_mask[b], seen.waiting[b])
    see_running(problem, state, of_job, seen.running[b])
    see_whole(problem, state, seen.free[b], seen.progress[b])


@kernel
def advance_runs(runs: Runs) -> int:
    """Apply every run's answer, advance it to its next decision or its end, and fill reward and observation.

    A run is over when all jobs have finished or nothing more can happen. Return a run in which some jobs could not
    start at all; −1 if there is none.
    """
    told, stuck = runs.told, NO_JOB
    for b in range(runs.answer.size):
        answer = runs.answer[b]
        if answer == Answer.REST:
            continue
        problem = problem_of(runs, b)
        plan = plan_of(runs.plan, runs.order[b], runs.first[b])
        state = row(runs.states, b)
        if answer == Answer.BEGIN:
            decide_in_reservation(problem, plan, state, NO_JOB)  # an episode that was left in the midst of a pass
            begin(problem, plan, state)
            for c in range(runs.ended.shape[1]):
                runs.ended[b, c] = 0.0
            told.cost[b] = 0.0  # costs before the first answer count towards its reward
        else:
            decide(problem, plan, state, runs.waiting[b], runs.seen.action_mask[b], answer)
        status = _to_decision(runs, problem, plan, state, b)
        over = status != Status.ASKED
        if status == Status.STUCK:
            stuck = b
        told.reward[b] = 0.0
        if answer != Answer.BEGIN:
            cost = 0.0
            for c in range(runs.columns.size):
                cost += runs.weights[c] * value_of(problem, state, runs.columns[c], runs.ended[b], over)
            told.reward[b] = told.cost[b] - cost
            told.cost[b] = cost
        told.over[b] = 1 if over else 0
        _see(runs, problem, state, b)
    return stuck
