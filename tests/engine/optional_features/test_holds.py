"""Holds, one call at a time: cases worked out by hand from reading 73."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import begun, plain

import fedsched as fs

holds = plain("fedsched.engine.optional_features.holds")
MACHINE = fs.Federation.homogeneous(4, name="m")
JOBS = fs.Workload(submit=[0.0, 0.0], tasks=4, runtime=10.0, held={1: [(5, 8), (20, 30)], 2: [(6, 7)]})


def test_without_extras_nothing_is_done() -> None:
    """In a plain problem nobody is held."""
    assert holds.reset(None, None) is None
    assert holds.note_joined(None, 1) is None
    assert not holds.is_held(None, 1)
    assert holds.next_hold(None, None, None, 9.0) == 9.0


@pytest.mark.parametrize(
    ("moment", "time", "since"),
    [(0, 0, 0), (5, 5, 8), (7.5, 0, 8), (8, 8, 8), (3, 8, 8), (3, 6, 8), (9, 19, 9), (9, 20, 30), (9, 99, 30)],
)
def test_since_when_a_job_may_start(moment: float, time: float, since: float) -> None:
    """From the end of the last hold that has begun on, unless it was over before it might have started."""
    problem, _, _ = begun(JOBS, MACHINE, dispatch="easy")
    assert holds.eligible_since(problem.extras, 0, float(moment), float(time)) == since


def test_who_is_held_next() -> None:
    """Of those who are in the queue alone."""
    problem, _, state = begun(JOBS, MACHINE, dispatch="easy")
    extras, own = problem.extras, state.extras
    assert holds.next_hold(extras, own, state, 99.0) == 99.0
    holds.note_joined(own, 1)
    assert holds.next_hold(extras, own, state, 99.0) == 6.0
    assert holds.next_held(extras, own, state, 5.5) == -1
    holds.note_joined(own, 0)
    assert holds.next_hold(extras, own, state, 5.9) == 5.9  # the first of job 0 has begun already
    assert holds.next_held(extras, own, state, 6.0) == 1
    holds.note_held(own, 1)
    assert holds.is_held(own, 1)
    assert holds.next_held(extras, own, state, 25.0) == 0
    state.start[1] = np.nan
    holds.note_gone(own, 1)
    assert not holds.is_held(own, 1)
