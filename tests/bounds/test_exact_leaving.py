"""The exact model with jobs that leave unless they start in time, and with jobs that follow others."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace

import numpy as np
import pytest
from reference import brute, naive
from support import strategies

import fedsched as fs
from fedsched.bounds import exact, exact_front, lower_bounds

pytestmark = [pytest.mark.needs("ortools"), pytest.mark.slow]  # the solver's time, whatever is compiled

PATIENCE = 600.0  # seconds that no case here needs, on however busy a machine
OBJECTIVES = {"makespan": (1.0, 0.0), "energy": (0.0, 1.0), "weighted": (3.0, 0.01)}
PARTS, EACH = 8, 25  # random cases
SPREADS = 2000  # orders × ways to spread all jobs: more take too long to try


def cases(part: int) -> list[tuple[list[naive.Job], naive.Machine]]:
    """Return tiny problems whose jobs leave or follow others, with all else that the exact model takes."""
    found = []
    for seed in itertools.count(part * 10_000):
        scenario = strategies.random_scenario(seed, max_jobs=4, restless=True).with_breaks()
        machine = scenario.machine
        jobs = [replace(job, bandwidth=0.0, estimate=job.runtime) for job in scenario.jobs]
        caps = [naive.effective_caps(job, machine) for job in jobs]
        ways = (len(brute.spreads(job, own)) for job, own in zip(jobs, caps, strict=True))
        restless = any(job.cancel_at < math.inf or job.follows for job in jobs)
        if restless and len(jobs) > 1 and math.factorial(len(jobs)) * math.prod(ways) <= SPREADS:
            found.append((jobs, machine))
        if len(found) == EACH:
            return found
    raise AssertionError


def on_one_machine(workload: fs.Workload, nodes: int = 1, **options: object) -> fs.bounds.ExactAnswer:
    """Return the proven answer on a few equal nodes, checked."""
    answer = exact(workload, fs.Federation.homogeneous(nodes), seconds=PATIENCE, workers=1, **options)
    answer.schedule.verify()
    return answer


@pytest.mark.parametrize("part", range(PARTS))
def test_no_schedule_is_better(part: int) -> None:
    """Fewest jobs left out, and then the least value, of all schedules; no order on any groups beats it."""
    proven = behind_plans = left_out = 0
    for jobs, machine in cases(part):
        workload, federation, caps = strategies.to_package(jobs, machine)
        plans = [
            (brute.without_a_start(result), naive.metrics(result) if result.ran else None)
            for result in itertools.islice(brute.schedules(jobs, machine), 200)
        ]
        fewest, points = brute.best_of_all(jobs, machine)
        assert fewest <= min(out for out, _ in plans)
        for objective, weights in OBJECTIVES.items():
            own = weights if objective == "weighted" else None
            answer = exact(
                workload, federation, objective=objective, weights=own, caps=caps, seconds=PATIENCE, workers=1
            )
            answer.schedule.verify(caps=caps)
            assert answer.fewest <= fewest <= answer.left_out
            assert answer.bound <= answer.value
            best = min(weights[0] * makespan + weights[1] * energy for makespan, energy in points)
            if answer.status == "optimal":
                assert answer.left_out == fewest
                assert answer.value == pytest.approx(best, rel=1.1e-5)
            if answer.left_out == fewest:
                assert answer.bound <= best * (1 + 1e-9)
            planned = min(
                weights[0] * row["makespan"] + weights[1] * row["energy"] if row else 0.0
                for out, row in plans
                if out <= answer.left_out
            ) if any(out <= answer.left_out for out, _ in plans) else math.inf  # fmt: skip
            assert answer.bound <= planned * (1 + 1e-9)
            proven += answer.status == "optimal"
            behind_plans += answer.value < planned * (1 - 1e-9)
            left_out += answer.left_out > 0
    assert proven >= 0.85 * 3 * EACH  # where a clock rounds times that meet, nothing is proven
    assert behind_plans > 3
    assert left_out > 10


def test_the_front_is_of_those_who_leave_out_fewest() -> None:
    """Each point leaves out as few jobs as any schedule, and none of these schedules is better in both."""
    for jobs, machine in cases(PARTS)[:10]:
        workload, federation, caps = strategies.to_package(jobs, machine)
        front = exact_front(workload, federation, caps=caps, seconds=PATIENCE, workers=1)
        fewest, points = brute.best_of_all(jobs, machine)
        for schedule in front.schedules:
            schedule.verify(caps=caps)
            assert np.isnan(schedule.start).sum() == fewest
        if front.complete:
            times, energies = front.points.T
            for makespan, energy in points:
                assert ((times <= makespan * (1 + 1e-5)) & (energies <= energy * (1 + 1e-5))).any()
            assert times[0] == pytest.approx(min(makespan for makespan, _ in points), rel=1.1e-5)
            assert energies[-1] == pytest.approx(min(energy for _, energy in points), rel=1.1e-5)


def test_some_order_of_a_package_on_one_group_is_the_optimum() -> None:
    """Where all wait from the start for nobody, on equal nodes, a plan leaves out as few and is as short."""
    for seed in range(40):
        scenario = strategies.random_scenario(seed, max_jobs=4, restless=True, one_group=True)
        drawn = replace(scenario, jobs=[replace(job, follows=None, begin=0.0) for job in scenario.jobs]).with_breaks()
        jobs = [
            replace(job, submit=0.0, after=(), bandwidth=0.0, estimate=job.runtime, allowed=None, caps=None,
                    cancel_at=2.0 * job.runtime if seed % 3 else job.cancel_at)
            for job in drawn.jobs
        ]  # fmt: skip
        machine = replace(drawn.machine, closures=())
        workload, federation, _ = strategies.to_package(jobs, machine)
        answer = exact(workload, federation, seconds=PATIENCE, workers=1)
        plans = [
            (brute.without_a_start(result), naive.metrics(result)["makespan"] if result.ran else 0.0)
            for result in brute.schedules(jobs, machine, caps=False)
        ]
        assert answer.fewest <= min(plans)[0]
        if answer.status == "optimal":
            assert (answer.left_out, pytest.approx(answer.value, rel=1.1e-5)) == min(plans)


def test_nothing_is_below_the_bound_under_contention() -> None:
    """With saturated uplinks, too, no rule leaves out fewer than is proven, nor is shorter if it leaves out no more."""
    crowded = compared = 0
    for seed in range(60):
        drawn = strategies.random_scenario(
            seed, max_jobs=6, restless=True, saturation="dynamic", placement="powerful"
        ).with_breaks()
        jobs = [replace(job, estimate=job.runtime) for job in drawn.jobs]
        workload, federation, caps = strategies.to_package(jobs, drawn.machine)
        answer = exact(workload, federation, caps=caps, seconds=20, workers=1)
        answer.schedule.verify(caps=caps)
        assert answer.bound <= answer.value
        made = replace(drawn, jobs=jobs).simulate(kill_at_estimate=False)
        assert answer.fewest <= brute.without_a_start(made)
        if made.ran and brute.without_a_start(made) <= answer.left_out:
            assert answer.bound <= naive.metrics(made)["makespan"]
            compared += 1
        crowded += made.saturated_seconds > 0
    assert crowded > 3
    assert compared > 20


def test_a_longer_schedule_that_leaves_out_nobody_comes_first() -> None:
    """Job 3 must begin by 5: first it, then the others, though without it all would be over sooner."""
    package = fs.Workload(submit=[0.0] * 3, tasks=[1] * 3, runtime=[10.0, 5.0, 7.0], cancel_at=[-1, 8.0, 5.0])
    answer = on_one_machine(package)
    assert (answer.status, answer.value, answer.left_out, answer.fewest) == ("optimal", 22.0, 0, 0)
    assert answer.schedule.start.tolist() == [12.0, 7.0, 0.0]


def test_nobody_starts_at_the_time_at_which_it_leaves() -> None:
    """Two jobs of 5 s on one node, each of which leaves after 5 s: one of them is left out, and the answer says so."""
    package = fs.Workload(submit=[0.0] * 2, tasks=[1] * 2, runtime=[5.0, 5.0], cancel_at=[5.0, 5.0])
    answer = on_one_machine(package)
    assert (answer.status, answer.value, answer.left_out, answer.fewest) == ("optimal", 5.0, 1, 1)
    assert "1 job left out (proven: at least 1)" in str(answer)
    later = replace(package, submit=[1.7e9] * 2, cancel_at=[1.7e9 + 5.0] * 2)  # on a clock that rounds none of these
    assert (on_one_machine(later).status, on_one_machine(later).left_out) == ("optimal", 1)
    patient = on_one_machine(replace(package, cancel_at=[5.5, 5.5]))
    assert (patient.status, patient.value, patient.left_out) == ("optimal", 10.0, 0)


def test_what_the_clock_hides_is_not_claimed() -> None:
    """0.1 + 0.2 is after 0.3 on a clock of doubles: that the third job could not start then is seen, not proven."""
    package = fs.Workload(
        submit=[0.0] * 3, tasks=[1] * 3, runtime=[0.1, 0.2, 1.0], cancel_at=[-1, -1, 0.3],
        after=["", "", "afterany:1:2"],
    )  # fmt: skip
    answer = on_one_machine(package)
    assert (answer.status, answer.left_out, answer.fewest) == ("feasible", 1, 0)


def test_the_ends_of_those_who_left() -> None:
    """`afterany` holds from when a job left, `afterok` never; a user thinks from then on."""
    package = fs.Workload(
        submit=[0.0] * 5,
        tasks=[1] * 5,
        runtime=[100.0, 5.0, 3.0, 2.0, 1.0],
        begin=[0.0, 50.0, 0.0, 0.0, 0.0],
        cancel_at=[-1, 20.0, -1, -1, -1],
        after=["", "", "afterany:2", "afterok:2", ""],
        feedback={"preceding": [-1, -1, -1, -1, 2], "think_time": [-1, -1, -1, -1, 12.0]},
    )
    answer = on_one_machine(package, nodes=2)
    assert (answer.status, answer.value, answer.left_out, answer.fewest) == ("optimal", 100.0, 2, 2)
    np.testing.assert_equal(answer.schedule.start[1:4], [math.nan, 20.0, math.nan])
    assert answer.schedule.start[4] == answer.schedule.workload.submit[4] == 32.0
    assert answer.schedule.cancelled.tolist() == [False, True, False, False, False]
    assert answer.schedule.hopeless.tolist() == [False, False, False, True, False]


def test_whom_a_log_knows_to_fail() -> None:
    """Under kills at the request `afterok` and `afternotok` are of what comes of it; who waits in vain leaves."""
    package = fs.Workload(
        submit=[0.0] * 3, tasks=[1] * 3, runtime=[9.0, 2.0, 2.0], estimate=[4.0, 2.0, 2.0],
        cancel_at=[-1, 30.0, 30.0], after=["", "afterok:1", "afternotok:1"],
    )  # fmt: skip
    answer = on_one_machine(package, kill_at_estimate=True)
    assert (answer.status, answer.value, answer.left_out, answer.fewest) == ("optimal", 6.0, 1, 1)
    np.testing.assert_equal(answer.schedule.start, [0.0, math.nan, 4.0])


def test_followers_alone() -> None:
    """Jobs that follow others wait for ends and thoughts; of the two chains the longer one begins at once."""
    log = fs.Workload(
        submit=[0.0, 1.0, 2.0, 3.0], tasks=[1] * 4, runtime=[4.0, 9.0, 3.0, 1.0],
        feedback={"preceding": [-1, -1, 2, 1], "think_time": [-1, -1, 5.0, 0.5]},
    )  # fmt: skip
    answer = on_one_machine(log)
    assert (answer.status, answer.value) == ("optimal", 18.5)
    assert answer.schedule.start.tolist() == [10.0, 1.0, 15.5, 14.5]
    assert answer.schedule.workload.submit.tolist() == [0.0, 1.0, 15.0, 14.5]


def test_a_clock_that_begins_after_some_have_left() -> None:
    """Who leaves before t0 is left out, and whoever waits for its end does so from its own time on."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0], tasks=[1] * 3, runtime=[5.0, 5.0, 5.0], cancel_at=[10.0, -1, -1],
        after=["", "afterany:1+8s", ""],
    )  # fmt: skip
    answer = on_one_machine(log, t0=12.0)
    assert (answer.status, answer.value, answer.left_out, answer.fewest) == ("optimal", 11.0, 1, 1)
    assert answer.schedule.start[1] == 18.0


def test_nobody_at_all() -> None:
    """Where nobody can start, the schedule is empty, and that is proven."""
    answer = on_one_machine(fs.Workload(submit=[3.0], tasks=[1], runtime=[2.0], cancel_at=[3.0]), objective="energy")
    assert (answer.status, answer.value, answer.bound, answer.left_out, answer.fewest) == ("optimal", 0.0, 0.0, 1, 1)


def test_without_time_it_returns_what_it_has() -> None:
    """With hardly any time there is a schedule, and what is said of it is true."""
    rng = np.random.default_rng(1)
    package = fs.Workload(
        submit=np.zeros(25), tasks=rng.integers(1, 5, 25), runtime=rng.integers(1, 9, 25) * 60.0,
        cancel_at=rng.integers(2, 20, 25) * 60.0,
    )  # fmt: skip
    machine = fs.Federation.homogeneous(4)
    answer = exact(package, machine, seconds=1e-3, workers=1)
    answer.schedule.verify()
    assert answer.bound <= answer.value
    assert answer.fewest <= answer.left_out
    patient = exact(replace(package, cancel_at=None), machine, seconds=1e-3, workers=1)
    assert patient.left_out == patient.fewest == 0


def test_bounds_of_those_who_start_in_any_case() -> None:
    """What is known of the jobs that start in every schedule is no more than what is proven of all."""
    log = fs.Workload(submit=[0.0] * 2, tasks=[1, 1], runtime=[20.0, 5.0], cancel_at=[-1, 10.0])
    assert lower_bounds(log, fs.Federation.homogeneous(1)).makespan == pytest.approx(20.0)
    assert on_one_machine(log).value == 25.0
