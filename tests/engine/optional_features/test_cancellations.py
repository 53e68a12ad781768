"""Jobs that leave the queue at a time of their own, under each dispatch rule: cases by hand from reading 44."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from support.cancellation_cases import jobs, run
from support.plain import plain

import fedsched as fs

cancellations = plain("fedsched.engine.optional_features.cancellations")
DISPATCH = ("strict", "greedy", "local", "easy", "conservative", "lookahead")


def test_without_extras_nothing_is_done() -> None:
    """A plain problem has nobody to cancel."""
    assert cancellations.reset(None, None, 0.0) is None
    assert cancellations.next_cancellation(None, None, None) == np.inf
    assert cancellations.note_joined(None, 1) is None
    assert not cancellations.is_gone(None, 1)
    assert cancellations.note_busy(None, 1, 5.0, 2.0) is None
    assert cancellations.busy_until(None, 5.0) == 5.0
    assert cancellations.lost_until_then(None, 2.0) == 2.0


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
@pytest.mark.parametrize("dispatch", DISPATCH)
def test_who_has_not_started_leaves(dispatch: str, same_time: str) -> None:
    """The head leaves the queue at its time, and whoever waited behind it for its sake starts then or sooner."""
    log = jobs([0.0, 1.0, 2.0, 3.0], [1, 2, 1, 2], [-1, 50.0, -1, -1])
    schedule = run(log, dispatch=dispatch, same_time=same_time)
    assert np.isnan(schedule.start[1])
    assert schedule.cancelled.tolist() == [False, True, False, False]
    behind = {"greedy": 2.0}.get(dispatch, 50.0)  # the others keep the head's place until it goes
    assert schedule.start[[0, 2]].tolist() == [0.0, behind]
    assert schedule.complete
    assert "cancelled before they started: 1 job (2)" in str(schedule)
    assert schedule.to_json()["cancelled"] == [2]
    assert schedule.metrics().mean_wait == np.mean(schedule.wait[[0, 2, 3]])


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
def test_the_cancellation_comes_first_at_its_instant(same_time: str) -> None:
    """Nodes that come free at a job's own time do not save it; a job that starts before it stays."""
    schedule = run(jobs([0.0, 0.0, 5.0], [2, 2, 2], [-1, 100.0, 201.0]), same_time=same_time)
    np.testing.assert_array_equal(schedule.start, [0.0, np.nan, 100.0])
    stays = run(jobs([0.0, 0.0, 5.0], [2, 2, 2], [50.0, 100.5, 150.0]), same_time=same_time)
    np.testing.assert_array_equal(stays.start, [0.0, 100.0, np.nan])


def test_a_job_cancelled_as_it_is_submitted_never_comes() -> None:
    """It waits for nobody, and nobody for it."""
    np.testing.assert_array_equal(run(jobs([0.0, 1.0], [1, 1], [-1, 1.0])).start, [0.0, np.nan])


@pytest.mark.parametrize("same_time", ["batch", "sequential"])
@pytest.mark.parametrize(
    ("condition", "start"),
    [("afterany:2", 30.0), ("afterany:2+5s", 35.0), ("afterok:2", np.nan), ("afternotok:2", np.nan),
     ("after:2", np.nan), ("singleton", 30.0)],
)  # fmt: skip
def test_a_cancelled_job_has_ended_as_cancelled(condition: str, start: float, same_time: str) -> None:
    """Whoever waits for its end alone may start; what else is asked of it cannot hold any more."""
    names = {"name": ["x", "a", "a"]}
    log = jobs([0.0, 1.0, 2.0], [1, 2, 1], [-1, 30.0, -1], after={3: condition}, labels=names)
    schedule = run(log, same_time=same_time)
    assert schedule.start[2] == pytest.approx(start, nan_ok=True)
    assert schedule.hopeless[2] == np.isnan(start)
    assert schedule.complete


def test_who_waits_for_what_cannot_happen_is_cancelled_too() -> None:
    """Such a job ends at its time, and lets its own followers go on; a chain of them is told of at once."""
    after = {2: "afternotok:1", 3: "afterany:2", 4: "afterok:2", 5: "afterany:4"}
    schedule = run(jobs([0.0] * 5, [1] * 5, [-1, 150.0, -1, -1, -1], after=after))
    np.testing.assert_array_equal(schedule.start, [0.0, np.nan, 150.0, np.nan, np.nan])
    assert schedule.cancelled.tolist() == [False, True, False, False, False]
    assert schedule.hopeless.tolist() == [False, False, False, True, True]


def test_a_singleton_that_is_cancelled_frees_nobody_from_those_before_it() -> None:
    """The third of a name waits for the first, though the second has left."""
    log = jobs([0.0, 1.0, 2.0], [1, 1, 1], [-1, 10.0, -1], after={2: "singleton", 3: "singleton"})
    np.testing.assert_array_equal(run(log, nodes=3).start, [0.0, np.nan, 100.0])


def test_a_job_that_lost_its_run_may_be_cancelled_then() -> None:
    """It waits again and leaves; what it lost stays lost. One that runs at its time is spared for good."""
    outage = fs.Downtime("cluster", 40.0, 300.0, kind="outage", on_running="requeue")
    machine = replace(fs.Federation.homogeneous(2), calendar=(outage,))
    name = machine.clusters[0].name
    machine = replace(machine, calendar=(replace(outage, cluster=name),))
    gone = run(jobs([0.0, 1.0], [1, 1], [60.0, -1]), machine=machine)
    np.testing.assert_array_equal(gone.start, [np.nan, 300.0])
    assert gone.cancelled[0]
    assert gone.metrics().wasted_node_seconds == 40.0 + 39.0
    spared = run(jobs([0.0, 1.0], [1, 1], [40.0, -1]), machine=machine)
    np.testing.assert_array_equal(spared.start, [300.0, 300.0])


def test_waits_in_vain_cost_capacity_until_the_last_run_ends() -> None:
    """A node that idles beside a job that waits is lost, also if that job never starts."""
    schedule = run(jobs([0.0, 0.0, 0.0], [1, 2, 1], [-1, -1, 60.0]), dispatch="strict")
    np.testing.assert_array_equal(schedule.start, [0.0, 100.0, np.nan])
    assert schedule.loss_of_capacity == pytest.approx(60.0 / 400.0)
    waits = jobs([0.0, 0.0], [1, 1], [-1, 500.0], begin=[0.0, 600.0])  # its begin does not come before its time
    assert run(waits).loss_of_capacity == 0.0
    after_all = jobs([0.0, 0.0, 0.0], [1, 2, 1], [-1, -1, 900.0], after={3: "afternotok:1"})
    assert run(after_all).metrics().makespan == 200.0


def test_a_run_that_is_cut_short_says_nothing_of_those_who_wait() -> None:
    """Before its time nobody is cancelled yet."""
    from fedsched.simulate import prepare

    begun = prepare(jobs([0.0, 1.0], [2, 2], [-1, 50.0]), fs.Federation.homogeneous(2)).advance(until=20.0)
    schedule = begun.schedule()
    assert not schedule.cancelled.any()
    assert not schedule.complete
    assert begun.advance(until=60.0).schedule().cancelled.tolist() == [False, True]
