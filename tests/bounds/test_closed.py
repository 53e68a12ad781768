"""Closed forms: the single machine that is never faster."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.bounds.lower import closed

if TYPE_CHECKING:
    from fedsched.bounds.lower.relaxation import Relaxation


@pytest.mark.parametrize("remaining", [True, False])
def test_what_is_released_at_once_goes_in_order_of_priority(remaining: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that jobs released together are worked off as by the rule for jobs released whenever, ties by position."""
    rng = np.random.default_rng(1)
    for jobs in (1, 2, 30):
        work = rng.integers(0, 6, jobs).astype(float)
        release = np.full(jobs, 3.0)
        priority = work if remaining else work / rng.integers(1, 4, jobs)
        expected = closed._preempted(release, work, priority, remaining=remaining)
        with monkeypatch.context() as patch:
            patch.delattr(closed, "_preempted")  # no heap where nothing can be preempted
            found = closed.squashed(release, work, priority, remaining=remaining)
        np.testing.assert_allclose(found.completion, expected.completion, rtol=1e-14)
        np.testing.assert_allclose(found.mean_busy, expected.mean_busy, rtol=1e-14)
    late = closed.squashed(np.array([0.0, 1.0]), np.array([5.0, 1.0]), np.array([5.0, 1.0]), remaining=True)
    assert late.completion.tolist() == [6.0, 2.0]


def relaxed(workload: fs.Workload, nodes: int) -> Relaxation:
    """Return what bounds see of jobs on equal nodes."""
    return lower_bounds(workload, fs.Federation.homogeneous(nodes), method="closed")._prover.relaxation


def test_how_wide_a_family_takes_jobs_to_be() -> None:
    """Of ten nodes and p = 4 jobs of three tasks count nothing, of four and six themselves, of seven and more ten."""
    assert closed.dual_feasible(np.array([3, 4, 6, 7, 10]), 4, 10).tolist() == [0, 4, 6, 10, 10]
    assert closed.threshold_of(np.array([0.0, 4, 6, 10]), np.array([3, 4, 6, 7]), 10) == 4
    assert closed.threshold_of(np.array([0.0, 4, 6]), np.array([3, 4, 6]), 10) == 4


def test_of_two_jobs_in_turn_one_waits_as_long_as_the_other_runs() -> None:
    """Two jobs of ten seconds on one node: one waits ten; if one runs already there is nothing to wait for."""
    relaxation = relaxed(fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[10, 10]), 1)
    works = [relaxation.tasks * relaxation.shortest]
    assert closed.longest_wait(relaxation, works) == pytest.approx(10.0, rel=1e-9)
    runs = replace(relaxation, begun=np.array([0.0, 5.0]))
    assert closed.longest_wait(runs, works) == 0.0


def test_a_job_that_runs_waited_until_it_began() -> None:
    """A job that was there ten seconds before t0, and runs for four of them, waited six."""
    relaxation = relaxed(fs.Workload(submit=[0], tasks=[1], runtime=[5]), 1)
    runs = replace(relaxation, late=np.array([10.0]), begun=np.array([4.0]))
    assert closed.longest_wait(runs, []) == 6.0


def test_at_the_last_start_no_more_runs_than_fits() -> None:
    """Three jobs of six seconds and two tasks on three nodes: of their twelve seconds of all nodes six may be to come.

    Two of three nodes are a job, the third is half a one: four seconds and two.
    """
    relaxation = relaxed(fs.Workload(submit=[0] * 3, tasks=[2] * 3, runtime=[6] * 3), 3)
    works = [relaxation.tasks * relaxation.shortest / 3]
    assert closed.longest_wait(relaxation, works) == pytest.approx(6.0, rel=1e-9)
