"""Scans of the queue: who sleeps is woken where a scan comes upon who stands for it."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from support.plain import arrived, begun, jobs, plain

import fedsched as fs

scan = plain("fedsched.engine.queue.scan")
loop = plain("fedsched.engine.loop.event_loop")
limits = plain("fedsched.engine.optional_features.limits")
FOUR = fs.Federation.homogeneous(4)


def test_who_fits_is_found_among_those_that_sleep() -> None:
    """A scan passes over the wide one that stands for all, and finds the first that fits, behind others' jobs."""
    work = jobs([1, 4, 2, 1, 3], [9.0, 9.0, 9.0, 9.0, 9.0], user=[1, 1, 2, 1, 1])
    problem, _, state = asleep(work)
    assert scan.next_small(problem, state, state.queue, 0, 2) == 3  # user 2's runs
    assert scan.next_small(problem, state, state.queue, 4, 3) == 4
    assert scan.next_small(problem, state, state.queue, 0, 0) == -1
    problem, _, state = asleep(work)
    assert scan.next_candidate(problem, state, state.queue, 0, 2, 9.0, 0) == 3
    assert scan.next_candidate(problem, state, state.queue, 4, 4, 9.0, 0) == 4
    assert scan.next_candidate(problem, state, state.queue, 0, 4, 1.0, 0) == -1


def asleep(work: fs.Workload):
    """Return a run of which user 1's jobs slept until now: its first one has ended, and the pass is still to come."""
    problem, plan, state = begun(work, replace(FOUR, limits=(fs.Limit("user", jobs=1),)), dispatch="easy")
    loop.run(problem, plan, state, 1, np.inf)
    limits.give_back(problem.extras, state.extras, state, 0)
    return problem, plan, state


def test_plain_queues_are_scanned_as_they_are() -> None:
    """Without extras the first that fits is found, and the first candidate."""
    problem, _, state = arrived(jobs([3, 2, 1], [9.0, 9.0, 5.0]), FOUR, dispatch="easy")
    assert scan.next_small(problem, state, state.queue, 0, 2) == 1
    assert scan.next_candidate(problem, state, state.queue, 0, 2, 5.0, 0) == 2
