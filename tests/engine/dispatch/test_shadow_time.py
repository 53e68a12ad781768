"""The reservation of EASY's head where nodes close: cases worked out by hand from reading 39."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from support.plain import arrived, jobs, plain

import fedsched as fs

shadow = plain("fedsched.engine.dispatch.shadow_time")
FOUR = fs.Federation.homogeneous(4)


def downtime(begin: float, end: float, **words: object) -> fs.Downtime:
    """Return a downtime of the one cluster."""
    return fs.Downtime("cluster", begin, end, **words)


def starts(workload: fs.Workload, *downtimes: fs.Downtime, dispatch: str = "easy") -> list[float]:
    """Return when each job starts; the check and the metrics must agree."""
    schedule = fs.simulate(workload, replace(FOUR, calendar=downtimes), fs.Rules(dispatch=dispatch))
    schedule.verify(claimed=schedule.metrics())
    return schedule.start.tolist()


def reservation(workload: fs.Workload, *downtimes: fs.Downtime) -> tuple[float, list[int], list[int], float]:
    """Return shadow time, what is left then, and nodes and planned end of the head, whose job is the last one."""
    problem, plan, state = arrived(workload, replace(FOUR, calendar=downtimes), dispatch="easy")
    dispatch = plain("fedsched.engine.dispatch.greedy")
    for j in range(len(workload) - 1):
        assert dispatch.fits_now(problem, plan, state, j)
        dispatch.start_job(problem, plan, state, j)
    time = shadow.shadow_beside_closures(problem.extras, state.extras, problem, plan, state, len(workload) - 1)
    closed = state.extras.closed
    return time, state.scratch.extra.tolist(), closed.head.tolist(), float(closed.head_until[0])


def test_the_head_is_reserved_where_its_whole_run_finds_room() -> None:
    """Not the first end that leaves it nodes counts, but the first from which no known downtime takes them away."""
    queue = jobs([3, 2], [10.0, 20.0])
    assert reservation(queue, downtime(60.0, 70.0)) == (10.0, [2], [2], 30.0)
    assert reservation(queue, downtime(25.0, 40.0)) == (40.0, [2], [2], 60.0)
    assert reservation(queue, downtime(25.0, 40.0, nodes="2 of all")) == (10.0, [2], [2], 30.0)
    assert reservation(queue, downtime(25.0, 40.0, nodes="3 of all")) == (40.0, [2], [2], 60.0)
    assert reservation(queue, downtime(25.0, 40.0), downtime(45.0, 50.0)) == (50.0, [2], [2], 70.0)


def test_a_head_that_no_time_is_good_for_has_none() -> None:
    """An end that is not known is none for planners, and what never ends is none at all: others pass."""
    queue = jobs([2, 4], [10.0, 5.0])
    assert reservation(queue, downtime(12.0, 20.0, known_from=0.0, nodes="1 of all", end_known=False))[0] == math.inf
    assert reservation(queue, downtime(12.0, math.inf, nodes="1 of all"))[0] == math.inf
    assert reservation(queue, downtime(12.0, 20.0, nodes="1 of all"))[0] == 20.0


def test_easy_leaves_the_head_its_nodes_where_a_downtime_begins() -> None:
    """A candidate that lasts may have what the head leaves at its start, and also where fewer nodes are left later."""
    # 4 nodes: 0 has 3 until 10; the head wants 2 from 10 to 30; two nodes close at 20: the head has the others.
    queue = jobs([3, 2, 1, 1], [10.0, 20.0, 25.0, 20.0])
    gap = downtime(20.0, 40.0, nodes="2 of all")
    assert starts(queue, gap) == [0.0, 10.0, 30.0, 0.0]
    assert starts(queue) == [0.0, 10.0, 0.0, 10.0]


def test_the_head_starts_when_it_was_reserved() -> None:
    """Whatever passes it, with exact estimates the head starts at its first shadow time, or before."""
    rng = np.random.default_rng(7)
    for _ in range(40):
        queue = jobs(rng.integers(1, 5, 12).tolist(), rng.integers(1, 12, 12).astype(float).tolist())
        gaps = [downtime(float(b), float(b + 3), nodes=f"{rng.integers(1, 5)} of all") for b in (4, 11, 19, 30)]
        machine = replace(FOUR, calendar=gaps)
        first = next((j for j in range(12) if fs.simulate(queue.head(j + 1), machine, "fcfs").start[j] > 0.0), None)
        if first is not None:
            alone = fs.simulate(queue.head(first + 1), machine, fs.Rules(dispatch="strict")).start[first]
            assert fs.simulate(queue, machine, fs.Rules(dispatch="easy")).start[first] <= alone


@pytest.mark.parametrize("dispatch", ["easy", "lookahead"])
def test_downtimes_far_from_all_jobs_change_nothing(dispatch: str) -> None:
    """A calendar of which nothing touches the jobs gives the schedule of the machine without one."""
    log = fs.Workload.example().head(300)
    plain_start = fs.simulate(log, fs.Federation.homogeneous(128), fs.Rules(dispatch=dispatch)).start
    last = float(log.submit.max() + log.estimate.sum())
    gaps = (fs.Downtime("cluster", -100.0, -50.0), fs.Downtime("cluster", last, last + 1.0))
    far = replace(fs.Federation.homogeneous(128), calendar=gaps)
    np.testing.assert_array_equal(fs.simulate(log, far, fs.Rules(dispatch=dispatch)).start, plain_start)
