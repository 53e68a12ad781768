"""The properties of the model's last section, under exactly the conditions stated there."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support import strategies
from support.tiers import tries

import fedsched as fs

QUICK = settings(derandomize=True, deadline=None, max_examples=tries(40))
STATIC_ORDERS = ("fcfs", "sjf", "ljf", "smallest", "largest", "saf", "laf")


def run(scenario: strategies.Scenario, **changes: object) -> fs.Schedule:
    """Return the schedule of a scenario under named rules."""
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    chosen = scenario.settings
    rules = fs.Rules(chosen.order, chosen.dispatch, chosen.placement, chosen.backfill_order)
    return fs.simulate(
        changes.pop("workload", workload),
        changes.pop("federation", federation),
        rules,
        caps=changes.pop("caps", caps),
        same_time=chosen.same_time,
        saturation=chosen.saturation,
        kill_at_estimate=chosen.kill_at_estimate,
        alternatives=chosen.alternatives,
        **changes,
    )


@given(scenario=strategies.scenarios(order="fcfs", backfill_order=None), seed=st.integers(0, 2**16))
@QUICK
def test_shuffling_the_rows_changes_nothing(scenario: strategies.Scenario, seed: int) -> None:
    """The rows' order says nothing: ids and submits do."""
    workload, _, caps = strategies.to_package(scenario.jobs, scenario.machine)
    rows = np.random.default_rng(seed).permutation(len(workload))
    plain, shuffled = run(scenario), run(scenario, workload=workload.take(rows), caps=caps[rows])
    np.testing.assert_array_equal(plain.start[rows], shuffled.start)
    np.testing.assert_array_equal(plain.counts[rows], shuffled.counts)


@given(scenario=strategies.scenarios(without_contention=True, same_time="batch", kill_at_estimate=False))
@QUICK
def test_doubling_all_speeds_halves_a_package(scenario: strategies.Scenario) -> None:
    """All submits 0, σ = 1, static order: twice the speed is half the time, on the same nodes."""
    scenario = scenario.as_chosen().without_conditions().without_limits().without_partitions()
    scenario = scenario.without_closures()
    workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
    order = scenario.settings.order if scenario.settings.order in STATIC_ORDERS else "fcfs"
    scenario = strategies.Scenario(
        scenario.machine,
        scenario.jobs,
        strategies.replace(scenario.settings, order=order, backfill_order=None),
    )
    columns = {
        "submit": np.zeros(len(workload)),
        "tasks": workload.tasks,
        "runtime": workload.runtime,
        "estimate": workload.runtime,
        "id": workload.id,
        "origin": workload.origin,
        "allowed": workload.allowed,
        "sites": workload.sites,
    }
    package = fs.Workload(**columns)
    fast = fs.Federation(
        tuple(
            fs.Cluster(
                cluster.name,
                tuple(fs.NodeGroup(g.count, 2 * g.speed, g.busy_watts, g.idle_watts) for g in cluster.groups),
                cluster.uplink,
            )
            for cluster in federation.clusters
        )
    )
    slow, quick = (run(scenario, workload=package, federation=machine) for machine in (federation, fast))
    np.testing.assert_array_equal(slow.start, 2 * quick.start)
    np.testing.assert_array_equal(slow.counts, quick.counts)


@given(scenario=strategies.scenarios())
@QUICK
def test_every_schedule_passes_the_independent_check(scenario: strategies.Scenario) -> None:
    """`verify()` recomputes everything from starts and counts and finds nothing wrong."""
    _, _, caps = strategies.to_package(scenario.jobs, scenario.machine)
    schedule = run(scenario)
    schedule.verify(caps=caps, claimed=schedule.metrics())


@pytest.mark.parametrize("seed", range(tries(40)))
def test_conservative_delays_no_reservation(seed: int) -> None:
    """Exact estimates, FCFS, no contention: no job starts later than when it was first promised.

    The promise is its start in the conservative schedule of the jobs submitted no later than itself.
    """
    scenario = strategies.random_scenario(
        seed, dispatch="conservative", order="fcfs", backfill_order=None, same_time="batch", placement="fastest"
    )
    workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
    order = np.lexsort((workload.id, workload.submit))
    jobs = fs.Workload(submit=workload.submit[order], tasks=workload.tasks[order], runtime=workload.runtime[order])
    single = fs.Federation.homogeneous(federation.nodes)
    whole = fs.simulate(jobs, single, "conservative")
    for n in range(1, len(jobs) + 1):
        promised = fs.simulate(jobs.head(n), single, "conservative").start[n - 1]
        assert whole.start[n - 1] <= promised


@pytest.mark.parametrize("policy", ["easy", "lookahead"])
@pytest.mark.parametrize("seed", range(tries(40)))
def test_backfilling_does_not_delay_the_head(seed: int, policy: str) -> None:
    """No job outruns its estimate, no contention: the head starts no later than its first shadow time."""
    rng = np.random.default_rng(seed)
    jobs = 25
    runtime = rng.integers(1, 30, jobs).astype(float)
    workload = fs.Workload(
        submit=np.sort(rng.integers(0, 60, jobs)).astype(float),
        tasks=rng.integers(1, 8, jobs),
        runtime=runtime,
        estimate=runtime * rng.integers(1, 4, jobs),
    )
    machine = fs.Federation.homogeneous(8)
    schedule = fs.simulate(workload, machine, policy)
    delayed = 0
    for j in range(jobs):
        earlier = schedule.start[:j].max(initial=0.0)
        head_since = max(workload.submit[j], earlier)
        if schedule.start[j] <= head_since:
            continue
        running = [i for i in range(jobs) if schedule.start[i] <= head_since < schedule.finish[i] and i != j]
        ends = sorted((schedule.start[i] + workload.estimate[i], workload.tasks[i]) for i in running)
        free = machine.nodes - sum(tasks for _, tasks in ends)
        shadow = head_since
        for end, tasks in ends:
            if free >= workload.tasks[j]:
                break
            free += tasks
            shadow = end
        assert schedule.start[j] <= shadow
        delayed += 1
    assert delayed > 0
