"""The pass over a reservation's queue: what its jobs see of the nodes, and that everybody sees the same after it."""

from __future__ import annotations

import numpy as np
import pytest
from support.plain import plain

import fedsched as fs
from fedsched.engine.numbers import ClosedTime, Counter
from fedsched.simulate import prepare

reserved_pass = plain("fedsched.engine.optional_features.reservation_passes")
KEPT = fs.Downtime("cluster", 10, 30, "0-1", kind="reservation", name="r")


def run_until(time: float, *rows: tuple[int, float, str], dispatch: str = "strict") -> object:
    """Return a run of jobs submitted at 0, by tasks, run time and reservation, on four nodes."""
    tasks, runtime, named = zip(*rows, strict=True)
    log = fs.Workload(
        submit=np.zeros(len(rows)), tasks=tasks, runtime=runtime, labels={"reservation": list(named)}
    )
    whole = fs.Federation(fs.Federation.homogeneous(4).clusters, calendar=[KEPT])
    return prepare(log, whole, fs.Rules(dispatch=dispatch)).advance(until=time)


@pytest.mark.parametrize("dispatch", ["strict", "greedy", "local", "easy", "conservative", "lookahead"])
def test_what_is_free_is_the_same_before_and_after_turning(dispatch: str) -> None:
    """Its jobs see its free nodes alone, up to its end; everybody none of these, and what jobs hold of them as owed."""
    run = run_until(12.0, (1, 15, "r"), (2, 12, "r"), (1, 100, ""), dispatch=dispatch)
    state, closed = run.state, run.state.extras.closed
    assert run.problem.groups.nodes.tolist() == [2, 2]
    assert state.free.tolist() == [0, 1]
    assert closed.owed.tolist() == [1, 0]
    before = (state.free.tolist(), closed.owed.tolist(), int(state.counter[Counter.FREE]))
    reserved_pass._enter_reservation(run.problem.extras, state.extras, run.problem, state, 0)
    assert state.free.tolist() == [1, 0]
    assert state.counter[Counter.FREE] == 1
    assert closed.time[ClosedTime.UNTIL] == 30.0
    assert closed.back[0] == 2
    state.free[0] -= 1  # another one starts
    reserved_pass._leave_reservation(state.extras, run.problem, state, 0)
    assert (state.free.tolist(), closed.owed.tolist(), int(state.counter[Counter.FREE])) == (before[0], [2, 0], 1)
    assert np.isinf(closed.time[ClosedTime.UNTIL])
    assert closed.back.tolist() == [0, 0]


def test_a_reservation_gives_its_nodes_back() -> None:
    """What still runs in it as it ends is owed until then, and everybody has the rest."""
    run = run_until(40.0, (1, 15, "r"), (4, 50, ""), (2, 12, "r"))
    assert run.state.start[0] == 10.0
    assert run.state.start[2] == -1 or np.isnan(run.state.start[2])  # 25 and 12 is beyond 30
    assert run.state.start[1] == 30.0
    assert run.state.extras.closed.owed.tolist() == [0, 0]
