"""simulate(): options, policies and bad input."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import UnknownNameError
from fedsched.policies import DISPATCH, ORDERS, POLICIES

JOBS = fs.Workload(submit=[0, 0, 1], tasks=[2, 3, 1], runtime=[5, 4, 3], estimate=[6, 4, 9])


def test_every_policy_of_the_registry_runs() -> None:
    """Each name gives a schedule that passes the independent check."""
    assert len(POLICIES) >= len(ORDERS) * len(DISPATCH)
    for name in POLICIES:
        fs.simulate(JOBS, fs.Federation.of(3, 2), name).verify()


def test_simulate_answers_the_question_of_optimize_in_the_same_words() -> None:
    """With submits="now" and known run times EASY is the EASY beside a plan; each print-out says its question."""
    machine = fs.Federation.of(3, 2)
    result = fs.optimize(JOBS, machine, objectives="makespan", evaluations=20)
    package = fs.simulate(JOBS, machine, "easy", submits="now", knowledge="runtime")
    easy = next(baseline for baseline in result.baselines if baseline.policy == "easy")
    assert package.makespan == easy.values[0]
    for said in (str(package), str(result), str(result.best())):
        assert "all jobs wait from the start; run times are known (clairvoyant)" in said.splitlines()[1]
    cores = fs.Federation((fs.Cluster("c", (fs.NodeGroup(5, resources=(("cpu", 1),)),)),))
    for said in (str(fs.simulate(JOBS, machine)), str(fs.simulate(JOBS, cores, sharing="first"))):
        assert "jobs arrive at their submit times; run times are unknown" in said.splitlines()[1]
    shared = fs.simulate(JOBS, cores, sharing="first", submits="now")
    assert shared.workload.submit.tolist() == [0, 0, 0]
    with pytest.raises(UnknownNameError, match="submits"):
        fs.simulate(JOBS, machine, submits="soon")


def test_a_policy_of_ones_own() -> None:
    """Any object that chooses rules is a policy."""

    class Backwards:
        def rules(self, workload: fs.Workload, federation: fs.Federation) -> fs.Rules:
            return fs.Rules(order=np.arange(len(workload))[::-1], dispatch="greedy", name="backwards")

    schedule = fs.simulate(JOBS, fs.Federation.homogeneous(3), Backwards())
    assert schedule.start[1] == 0
    assert "backwards" in schedule.policy


def test_an_exception_of_progress_ends_the_run_and_an_interrupt_keeps_it() -> None:
    """Tests that a program that embeds simulate can end it, or tell from `until` that it was ended by Ctrl-C."""
    jobs, machine = fs.read("sample"), fs.read_federation("example")

    def with_error(error: BaseException) -> fs.Schedule:
        def progress(done: int, total: int) -> None:
            raise error

        return fs.simulate(jobs, machine, progress=progress)

    with pytest.raises(LookupError, match="enough"):
        with_error(LookupError("enough"))
    part = with_error(KeyboardInterrupt())
    assert part.until < float("inf")
    assert part.notes[0].startswith("interrupted at")
    assert fs.simulate(jobs, machine).until == float("inf")


def test_progress_is_reported() -> None:
    """The callback hears of the last job."""
    heard: list[tuple[int, int]] = []
    fs.simulate(JOBS, fs.Federation.homogeneous(3), progress=lambda done, total: heard.append((done, total)))
    assert heard[-1] == (3, 3)


def test_home_needs_and_keeps_the_origin() -> None:
    """Under `home` a job runs where it was submitted, and one without an origin is an error."""
    jobs = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[5, 5], origin=[1, 1], sites=("C1", "C2"))
    schedule = fs.simulate(jobs, fs.Federation.of(3, 2), placement="home")
    assert schedule.counts.tolist() == [[0, 2], [0, 2]]
    assert schedule.start.tolist() == [0, 5]
    with pytest.raises(fs.errors.InfeasibleError, match="Job 1: tasks=2 has no origin"):
        fs.simulate(JOBS, fs.Federation.of(3, 2), placement="home")


def test_partitions_match_clusters_by_place() -> None:
    """Sites named after a log's partitions 1..K are the clusters in order; other strangers are refused."""
    jobs = fs.Workload(submit=[0], tasks=[1], runtime=[5], origin=[1], sites=("1", "2"))
    assert fs.simulate(jobs, fs.Federation.of(3, 2), placement="home").counts.tolist() == [[0, 1]]
    with pytest.raises(fs.errors.UnknownNameError, match=r"Did you mean 'C[12]'"):
        fs.simulate(jobs.with_sites(["C1", "C22"]), fs.Federation.of(3, 2), placement="home")
    assert fs.simulate(jobs.with_sites(["C1", "C22"]), fs.Federation.of(3, 2)).complete


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"policy": "eazy"}, "Did you mean 'easy'"),
        ({"policy": 7}, "must be a policy's name"),
        ({"placement": "fast"}, "Did you mean 'fastest'"),
        ({"same_time": "both"}, "Unknown same_time"),
        ({"saturation": "none"}, "Unknown saturation"),
        ({"knowledge": "all"}, "Unknown knowledge"),
        ({"caps": np.ones((2, 2))}, r"caps: shape \(2, 2\)"),
        ({"caps": -np.ones((3, 2), dtype=int)}, "at least 0"),
        ({"policy": fs.Rules(order=[0, 0, 1])}, "exactly once"),
    ],
)
def test_bad_options_are_named(options: dict[str, object], message: str) -> None:
    """Each wrong option is an error that says what would be right."""
    with pytest.raises((ValueError, TypeError), match=message):
        fs.simulate(JOBS, fs.Federation.of(3, 2), **options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("tasks", "caps", "placement", "message"),
    [
        (9, None, "fastest", "Job 1: tasks=9 exceeds the federation's 5 nodes"),
        (4, [[1, 2]], "fastest", "Job 1: tasks=4 exceeds the 3 nodes that its caps"),
        (4, None, "single", "Job 1: tasks=4 fits on no node set that placement='single' accepts"),
    ],
)
def test_jobs_that_never_fit_are_refused(
    tasks: int, caps: list[list[int]] | None, placement: str, message: str
) -> None:
    """A job that could not start on the empty federation is an error at once, never a hang."""
    jobs = fs.Workload(submit=[0], tasks=[tasks], runtime=[5])
    limits = None if caps is None else np.array(caps)
    with pytest.raises(fs.errors.InfeasibleError, match=message):
        fs.simulate(jobs, fs.Federation.of(3, 2), placement=placement, caps=limits)


def test_link_aware_refuses_what_no_link_bears() -> None:
    """A job whose own demand is above the bandwidth can never be co-allocated."""
    jobs = fs.Workload(submit=[0], tasks=[4], runtime=[5], task_bandwidth=[10.0], compute_fraction=[0.5])
    with pytest.raises(fs.errors.InfeasibleError, match="link_aware"):
        fs.simulate(jobs, fs.Federation.of(3, 2, uplink=1.0), placement="link_aware")


def test_an_empty_workload_is_refused() -> None:
    """Nothing to simulate is said, not simulated."""
    with pytest.raises(fs.errors.TraceError, match="empty"):
        fs.simulate(JOBS.head(0), fs.Federation.homogeneous(2))


def test_a_backfilled_job_may_end_as_the_reservation_begins() -> None:
    """EASY: a job that ends at the head's shadow time to the instant starts now; one that ends later waits."""
    workload = fs.Workload(submit=[0, 0, 0], tasks=[2, 4, 2], runtime=[10, 5, 10])
    cluster = fs.Federation.homogeneous(4)
    assert fs.simulate(workload, cluster, "easy").start.tolist() == [0.0, 10.0, 0.0]
    longer = replace(workload, runtime=np.array([10, 5, 11]), estimate=np.array([10, 5, 11]))
    assert fs.simulate(longer, cluster, "easy").start.tolist() == [0.0, 10.0, 15.0]
