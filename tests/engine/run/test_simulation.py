"""A run that is looked at: who waits, who runs, and what it refuses to begin with."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.plain import jobs

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.engine.arrays.structs import RunningJobs
from fedsched.engine.run.simulation import Simulation, start_of
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from fedsched.core.names import Knowledge

FOUR = fs.Federation.homogeneous(4)


def at(time: float, *tasks: int) -> fs.engine.simulation.Simulation:
    """Return a greedy run of jobs of 10 s, submitted at 0, 1, 2 … s, advanced to a time."""
    workload = jobs([*tasks], [10.0] * len(tasks), submit=np.arange(len(tasks)))
    return prepare(workload, FOUR, fs.Rules(dispatch="greedy")).advance(until=time)


def test_who_waits_and_who_runs() -> None:
    """Waiting jobs come in the order of their arrival, running ones in the order of their start."""
    run = at(3.0, 3, 4, 1, 2)
    assert run.queued().tolist() == [1, 3]
    running = run.running()
    assert (running.rows.tolist(), running.start.tolist(), running.time) == ([0, 2], [0.0, 2.0], 3.0)
    assert running.counts.tolist() == [[3], [1]]
    assert (run.finished, run.done, run.time) == (0, False, 3.0)
    run.advance()
    assert (run.finished, run.done, run.queued().tolist()) == (4, True, [])


def test_waiting_jobs_are_seen_again_and_again() -> None:
    """Looking at the queue changes nothing, and what has started in between is gone."""
    run = at(1.0, 3, 4, 1, 2)
    assert run.queued().tolist() == run.queued().tolist() == [1]
    assert run.advance(until=3.0).queued().tolist() == [1, 3]
    assert run.advance(until=10.0).queued().tolist() == [1]  # at 10 s two of the three free nodes go to job 3
    assert run.advance(until=20.0).queued().tolist() == []


def test_running_jobs_are_renumbered_as_rows_of_a_part() -> None:
    """Rows become places within the part that was taken."""
    running = at(3.0, 3, 4, 1, 2).running().renumbered(np.array([2, 3, 0]))
    assert running.rows.tolist() == [2, 0]


def test_where_time_begins() -> None:
    """The origin given, else the earliest submit; where jobs run, their own time and no other."""
    none, of_whom = np.zeros(0), (jobs([1], [1.0]), FOUR)
    rows, counts = np.zeros(0, dtype=np.int64), np.zeros((0, len(FOUR.groups)), dtype=np.int64)
    running = RunningJobs(7.0, rows, none, none, none, none, none, none, none, counts)
    assert [start_of("x", t0, None, *of_whom) for t0 in (None, 3.0)] == [None, 3.0]
    assert [start_of("x", t0, running, *of_whom) for t0 in (None, 7.0)] == [7.0, 7.0]
    for other in (6.0, 8.0):
        with pytest.raises(ValueError, match=rf"t0={other} is not the running jobs' time, 7.0"):
            start_of("x", other, running, *of_whom)


@pytest.mark.parametrize(
    ("tasks", "rules", "said"),
    [
        (5, {}, "exceeds the federation's 4 nodes"),
        (2, {"placement": "home"}, "no origin"),
        (3, {"caps": np.array([[2]])}, "exceeds the 2 nodes that its caps"),
    ],
)
def test_what_can_never_start_is_refused(tasks: int, rules: dict[str, object], said: str) -> None:
    """A job that fits on no nodes even of the empty machine is named, with the reason."""
    with pytest.raises(InfeasibleError, match=said):
        prepare(jobs([tasks], [1.0]), FOUR, fs.Rules(**rules))


@pytest.mark.parametrize(
    ("rows", "told"),
    [([1, 1], "row 1 is there twice"), ([1, 0], "row 0 is not in the queue now"), ([[1]], "must be a list of rows"),
     ([1.0], "must be a list of rows")],
)  # fmt: skip
def test_an_order_of_other_jobs_is_refused(rows: list[int], told: str) -> None:
    """Tests that an order with a running, unknown or repeated row is an error, and that a list is an order."""
    run = at(3.0, 3, 4, 1, 2)
    with pytest.raises((TypeError, ValueError), match=told):
        run.line_up(rows)
    run.line_up([3, 1])
    assert run.in_queue_order(run.queued()).tolist() == [3, 1]


@pytest.mark.parametrize("knowledge", ["runtime", "estimate"])
def test_a_planner_knows_what_the_rules_know(knowledge: Knowledge) -> None:
    """Tests that the jobs of the run have the estimates that `rules` gets: run times only if these are known."""
    seen: list[list[float]] = []

    class Looks:
        def rules(self, workload: fs.Workload, federation: fs.Federation) -> fs.Rules:
            seen.append(workload.estimate.tolist())
            return fs.Rules(dispatch="easy")

        def planner(self, run: Simulation) -> Looks:
            run.consult(self, jobs=0)
            return self

        def replan(self, run: Simulation) -> None:
            seen.append(run.workload.estimate.tolist())

    log = fs.Workload(submit=[0, 0], tasks=[4, 4], runtime=[10, 20], estimate=[30, 40])
    fs.simulate(log, FOUR, Looks(), knowledge=knowledge).verify()
    assert {*map(tuple, seen)} == {(10.0, 20.0) if knowledge == "runtime" else (30.0, 40.0)}
    assert len(seen) > 1
