"""Who waits in the queue of a reservation: one call at a time."""

from __future__ import annotations

import inspect

import numpy as np
import pytest
from support.plain import plain

import fedsched as fs
from fedsched.model.reading import Reading

reserved = plain("fedsched.engine.optional_features.reservation_queues")
KEPT = fs.Downtime("cluster", 10, 20, "1 of all", kind="reservation", name="r")


def prepared() -> fs.engine.simulation.Simulation:  # type: ignore[name-defined]
    """Return a run of three jobs, of which two are in a reservation."""
    from fedsched.simulate import prepare

    log = fs.Workload(
        submit=[0, 0, 0], tasks=[1, 1, 1], runtime=[5, 5, 5], labels={"reservation": ["r", "", "r"]}
    )
    whole = fs.Federation.homogeneous(2)
    return prepare(log, fs.Federation(whole.clusters, calendar=[KEPT]), "fcfs", reading=Reading())


@pytest.mark.parametrize("name", ["reset", "note_joined", "is_in_other_queue"])
def test_without_extras_nothing_is_done(name: str) -> None:
    """Where a problem has no extras nobody waits apart."""
    hook = getattr(reserved, name)
    rest = [None if parameter in ("extras", "state") else 0 for parameter in inspect.signature(hook).parameters]
    assert hook(*rest) in (None, False)


def test_jobs_join_the_queue_of_their_reservation() -> None:
    """In its room, and the others none; they wait for its turn."""
    run = prepared()
    extras, state = run.problem.extras, run.state.extras
    assert extras is not None
    assert state is not None
    for j in (2, 1, 0):
        reserved.note_joined(extras, state, j)
    assert state.apart.waits[: state.apart.number[0]].tolist() == [2, 0]
    assert [reserved.is_in_other_queue(state, j) for j in range(3)] == [True, False, True]
    state.apart.turn[reserved.CURRENT] = 0
    assert [reserved.is_in_other_queue(state, j) for j in range(3)] == [False, True, False]
    reserved.reset(extras, state)
    assert state.apart.number.tolist() == [0]
    reserved.begin_turns(state)
    assert state.apart.turn.tolist() == [reserved.GENERAL_QUEUE, 0]
    assert np.array_equal(state.apart.of_job, [0, -1, 0])
