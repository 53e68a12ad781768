"""Lookahead backfilling: what is packed, worked by hand and against every subset."""

from __future__ import annotations

import random

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.plain import plain
from support.tiers import tries

import fedsched as fs
from fedsched.engine.arrays.new_state import new_state
from fedsched.engine.codes import LOOKAHEAD, CandidateRow, needs_of
from fedsched.simulate import prepare

lookahead = plain("fedsched.engine.dispatch.lookahead")


def waiting(tasks: list[int], seconds: list[float]) -> fs.Workload:
    """Return jobs that all wait at 0."""
    return fs.Workload(submit=np.zeros(len(tasks)), tasks=np.array(tasks), runtime=np.array(seconds))


def test_two_small_jobs_use_more_than_the_first_that_fits() -> None:
    """10 nodes, 6 taken till 10, head wants 8: EASY fills 3 of the 4 free nodes, lookahead all 4."""
    jobs = waiting([6, 8, 3, 2, 2], [10.0, 5.0, 5.0, 5.0, 5.0])
    machine = fs.Federation.homogeneous(10)
    assert fs.simulate(jobs, machine, "easy").start.tolist() == [0.0, 10.0, 0.0, 5.0, 5.0]
    assert fs.simulate(jobs, machine, "lookahead").start.tolist() == [0.0, 10.0, 5.0, 0.0, 0.0]


def test_what_outlasts_the_shadow_time_shares_the_extra_nodes() -> None:
    """At the shadow time 2 nodes are left over: jobs of 20 s share them, those done by 10 s take the other 2."""
    jobs = waiting([6, 8, 2, 1, 1, 2, 2], [10.0, 5.0, 5.0, 20.0, 20.0, 20.0, 20.0])
    schedule = fs.simulate(jobs, fs.Federation.homogeneous(10), "lookahead")
    assert schedule.start[:5].tolist() == [0.0, 10.0, 0.0, 0.0, 0.0]
    assert (schedule.start[5:] >= 5.0).all()


def test_of_equal_packings_the_earlier_jobs_start() -> None:
    """Of the pairs that fill 4 nodes, the one whose last job is first in the queue."""
    jobs = waiting([6, 8, 1, 3, 2, 2, 1], [10.0, 5.0, 5.0, 5.0, 5.0, 5.0, 5.0])
    schedule = fs.simulate(jobs, fs.Federation.homogeneous(10), "lookahead")
    assert schedule.start[:4].tolist() == [0.0, 10.0, 0.0, 0.0]
    assert (schedule.start[4:] > 0.0).all()


@pytest.mark.parametrize("seed", range(6))
def test_the_packing_is_the_best_of_all_subsets(seed: int) -> None:
    """Among the subsets that fit, the one chosen uses the most nodes and is the reference's."""
    rng = random.Random(seed)
    run = prepare(waiting([1], [1.0]), fs.Federation.homogeneous(40), "lookahead")
    packing = new_state(run.problem, needs=needs_of(run.plan.dispatch), separate_backfill=False).packing
    for _ in range(tries(60)):
        sizes = [(rng.randint(1, rng.choice((4, 15))), rng.random() < 0.5) for _ in range(rng.randint(0, 11))]
        free = rng.randint(1, 40)
        extra = rng.randint(0, free)
        for i, (tasks, lasts) in enumerate(sizes):
            packing.candidate[:, i] = i, tasks, int(lasts), 0
        nodes = lookahead.choose(packing, len(sizes), free, extra)
        expected = naive.best_packing(sizes, free, extra)
        assert np.flatnonzero(packing.candidate[CandidateRow.CHOSEN, : len(sizes)]).tolist() == expected
        assert nodes == sum(sizes[i][0] for i in expected)


def test_which_sums_the_first_candidates_reach() -> None:
    """Of jobs of 3, 2 and 4 nodes of one kind, each sum up to the room is first reached with so many of them."""
    tasks, lasts, reached = np.array([3, 7, 2, 4]), np.array([0, 1, 0, 0]), np.full(12, 77)
    assert lookahead._reach(tasks, lasts, 4, lookahead.BRIEFLY, 8, reached) == 8
    never = lookahead.NEVER
    assert reached[:9].tolist() == [0, never, 3, 1, 4, 3, 4, 4, never]
    assert lookahead._reach(tasks, lasts, 4, lookahead.BRIEFLY, 11, reached) == 9  # all of them are 9
    assert lookahead._reach(tasks, lasts, 4, lookahead.LASTINGLY, 6, reached) == 6
    assert reached[:7].tolist() == [0, *[never] * 6]


def test_more_candidates_than_are_packed_together() -> None:
    """Of 60 that could start only the first 50 are packed; the rest are backfilled in order, as by the reference."""
    assert naive.LOOKAHEAD == LOOKAHEAD
    machine = naive.Machine([naive.Group(0, 8)], [float("inf")])
    sizes = [5, 7, *[2] * LOOKAHEAD, 3, 1, 1, 3, 1]
    seconds = [100.0, 5.0, *[1.0] * LOOKAHEAD, 1.0, 1.0, 1.0, 1.0, 1.0]
    jobs = [naive.Job(j + 1, 0.0, tasks, s, s) for j, (tasks, s) in enumerate(zip(sizes, seconds, strict=True))]
    workload, federation, _ = strategies.to_package(jobs, machine)
    expected = naive.simulate(jobs, machine, dispatch="lookahead")
    schedule = fs.simulate(workload, federation, "lookahead")
    np.testing.assert_array_equal(schedule.start, expected.start)
    # One of 2 by the packing and one of 1 behind the 50; once fewer than 50 are left, the first of 3 is in sight.
    assert np.flatnonzero(schedule.start == 0.0).tolist() == [0, 2, LOOKAHEAD + 3]


@pytest.mark.parametrize("seed", range(tries(20)))
def test_a_pass_uses_no_fewer_nodes_than_easy(seed: int) -> None:
    """On one group, from the same queue and running jobs, at least as many nodes are busy after the first pass."""
    rng = np.random.default_rng(1000 + seed)
    tasks = [9, 14, *rng.integers(1, 8, 18).tolist()]
    seconds = [10.0, 5.0, *rng.integers(1, 25, 18).astype(float).tolist()]
    jobs, machine = waiting(tasks, seconds), fs.Federation.homogeneous(16)
    busy = {
        policy: sum(t for t, start in zip(tasks, fs.simulate(jobs, machine, policy).start, strict=True) if start == 0.0)
        for policy in ("easy", "lookahead")
    }
    assert busy["lookahead"] >= busy["easy"]
