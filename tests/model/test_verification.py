"""`verify()` accepts right schedules and names what is wrong with damaged ones."""

from __future__ import annotations

import itertools
import tracemalloc
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.model.power.switching import Timeout
from fedsched.model.schedule.integrals import NOT_KNOWN
from fedsched.model.schedule.metrics import NAMES
from fedsched.model.verify.verification import violations


def good() -> fs.Schedule:
    """Return a right schedule of four jobs on two clusters, one of them co-allocated over a slow link."""
    clusters = (fs.Cluster("A", (fs.NodeGroup(2, speed=2.0),), 1.0), fs.Cluster("B", (fs.NodeGroup(3),), 1.0))
    workload = fs.Workload(
        submit=[0, 0, 1, 2],
        tasks=[4, 1, 2, 5],
        runtime=[10, 20, 5, 5],
        compute_fraction=[0.5, 1, 1, 0.5],
        task_bandwidth=[1, 0, 0, 1],
        sites=("A", "B"),
    )
    return fs.simulate(workload, fs.Federation(clusters), "easy")


def damaged(**changes: Any) -> fs.Schedule:
    """Return the right schedule with fields changed: arrays by {row: value}."""
    schedule = good()
    fields: dict[str, Any] = {}
    for name, change in changes.items():
        if isinstance(change, dict):
            array = np.array(getattr(schedule, name))
            for row, value in change.items():
                array[row] = value
            fields[name] = array
        else:
            fields[name] = change
    return replace(schedule, **fields)


def test_a_right_schedule_passes() -> None:
    """The undamaged schedule has a co-allocated job that its link slows, and no violation."""
    schedule = good()
    assert schedule.coallocated.any()
    assert schedule.saturated_seconds > 0
    schedule.verify(claimed=schedule.metrics())
    assert violations(schedule, tolerance=1e-9, caps=None, claimed=None, nodes=schedule.node_numbers()) == []


DAMAGES = {
    "a job is missing": ({"start": {2: np.nan}, "finish": {2: np.nan}}, "Job 3: it was never started"),
    "a finish is missing": ({"finish": {2: np.nan}}, "Job 3: .* has no finish"),
    "an infinite finish": ({"finish": {2: np.inf}}, "Job 3: .*not finite"),
    "a negative count": ({"counts": {1: [2, -1]}}, "Job 2: -1 nodes of group 1"),
    "too few nodes": ({"counts": {0: [2, 1]}}, "Job 1: it has 3 nodes for 4 tasks"),
    "more nodes than the group has": ({"counts": {3: [0, 5]}}, "Job 4: 5 nodes of group 1, which has 3"),
    "a start before the submit": ({"start": {2: 0.5}}, "Job 3: it starts at 0.5, before its submit at 1"),
    "a finish before the start": ({"finish": {0: -1.0}}, "Job 1: it finishes at -1, before its start"),
    "a finish too early": ({"finish": {3: 40.0}}, "Job 4: it finishes at 40; its rates make it"),
    "wrong seconds of saturation": ({"saturated_seconds": 3.0}, "saturated_seconds is given as 3"),
    "wrong loss of capacity": ({"loss_of_capacity": 0.5}, "loss_of_capacity is given as 0.5"),
    "the other reading of saturation": ({"finish": {0: 10.0}}, "Job 1: it finishes at 10; its rates make it"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_damage_is_named(name: str) -> None:
    """Each kind of damage is found, and the message names the job and the rule."""
    changes, message = DAMAGES[name]
    with pytest.raises(fs.errors.ScheduleError, match=message):
        damaged(**changes).verify()


def test_nodes_used_twice_are_found() -> None:
    """More nodes in use than there are is found at the moment it happens."""
    schedule = good()
    start, finish = np.array(schedule.start), np.array(schedule.finish)
    moved = int(np.argmax(start))
    finish[moved] -= start[moved] - schedule.workload.submit[moved]
    start[moved] = schedule.workload.submit[moved]
    with pytest.raises(fs.errors.ScheduleError, match="nodes in use, but only"):
        replace(schedule, start=start, finish=finish).verify()


def test_one_node_too_many_is_found() -> None:
    """Two jobs of two nodes side by side on three nodes: the least excess there is."""
    workload = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[10, 10])
    schedule = fs.simulate(workload, fs.Federation.homogeneous(3), "fcfs")
    schedule.verify()
    with pytest.raises(fs.errors.ScheduleError, match="has 4 nodes in use, but only 3"):
        replace(schedule, start=np.zeros(2), finish=np.full(2, 10.0)).verify()


@pytest.mark.parametrize("saturation", ["dynamic", "static"])
@pytest.mark.parametrize("row", range(4))
def test_a_finish_a_millionth_off_is_found(row: int, saturation: str) -> None:
    """Finishes are what the rates make them, for co-allocated jobs and others, to far more digits than matter."""
    schedule = fs.simulate(good().workload, good().federation, "easy", saturation=saturation)
    schedule.verify()
    finish = np.array(schedule.finish)
    finish[row] *= 1 - 1e-6
    with pytest.raises(fs.errors.ScheduleError, match=f"Job {row + 1}: it finishes at .*; its rates make it"):
        replace(schedule, finish=finish).verify()


def test_a_node_number_used_twice_is_found() -> None:
    """Two jobs on one node at once are named, with the node."""
    schedule = good()
    nodes = [((0, 3),), ((0, 0),), ((1, 2),), ((0, 4),)]
    found = violations(schedule, tolerance=1e-9, caps=None, claimed=None, nodes=nodes)
    assert any("node 0 is still used by job" in line for line in found)


def clashes(schedule: fs.Schedule, nodes: list[tuple[tuple[int, int], ...]]) -> bool:
    """Return whether two jobs, or runs of one, have a node at the same time, looked at node by node."""
    held = [
        (node, schedule.start[row], schedule.finish[row])
        for row, runs in enumerate(nodes)
        for first, last in runs
        for node in range(first, last + 1)
    ]
    return any(
        one[0] == two[0] and max(one[1], two[1]) < min(one[2], two[2]) for one, two in itertools.combinations(held, 2)
    )


@pytest.mark.parametrize("seed", range(40))
def test_every_clash_of_node_numbers_is_found_and_no_other(seed: int) -> None:
    """Runs of nodes that jobs hold, drawn at random, clash where a node is held twice at a time."""
    rng = np.random.default_rng(seed)
    jobs = 6
    begins = np.sort(rng.integers(0, 12, (jobs, 2, 2)), axis=2)
    nodes = [tuple((int(a), int(b)) for a, b in runs[: rng.integers(1, 3)]) for runs in begins]
    held = [sum(last - first + 1 for first, last in runs) for runs in nodes]
    start = rng.integers(0, 9, jobs).astype(float)
    schedule = fs.Schedule(
        workload=fs.Workload(submit=[0] * jobs, tasks=held, runtime=[3] * jobs),
        federation=fs.Federation.homogeneous(200),
        start=start,
        finish=start + 3.0,
        counts=np.array(held)[:, None],
        t0=0.0,
    )
    found = violations(schedule, tolerance=1e-9, caps=None, claimed=None, nodes=nodes)
    assert bool(found) == clashes(schedule, nodes), found


def test_millions_of_nodes_are_looked_at_as_runs() -> None:
    """The check of node numbers takes memory by runs, not by nodes."""
    nodes = 10_000_000
    schedule = fs.Schedule(
        workload=fs.Workload(submit=[0, 0, 0], tasks=[nodes // 2, nodes // 2, nodes], runtime=[3, 4, 5]),
        federation=fs.Federation.homogeneous(nodes),
        start=[0.0, 0.0, 4.0],
        finish=[3.0, 4.0, 9.0],
        counts=[[nodes // 2], [nodes // 2], [nodes]],
        t0=0.0,
    )
    tracemalloc.start()
    assert violations(schedule, tolerance=1e-9, caps=None, claimed=None, nodes=schedule.node_numbers()) == []
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < nodes


def test_a_duplicated_id_is_found() -> None:
    """A workload can no longer be made with one id twice, so the check is handed one behind its back."""
    schedule = good()
    ids = np.array([1, 2, 2, 4])
    object.__setattr__(schedule.workload, "id", ids)
    with pytest.raises(fs.errors.ScheduleError, match="Job 2: its id occurs in more than one row"):
        schedule.verify()


def test_caps_and_allowed_clusters_are_checked() -> None:
    """A job on nodes that its caps or its allowed clusters exclude is named."""
    schedule = good()
    with pytest.raises(fs.errors.ScheduleError, match="exceed its cap"):
        schedule.verify(caps=np.zeros((4, 2), dtype=int))
    workload = schedule.workload
    only_b = fs.Workload(
        submit=workload.submit,
        tasks=workload.tasks,
        runtime=workload.runtime,
        allowed=np.tile([False, True], (4, 1)),
        sites=("A", "B"),
    )
    with pytest.raises(fs.errors.ScheduleError, match="runs on cluster 'A', which it may not use"):
        replace(schedule, workload=only_b).verify()


@pytest.mark.parametrize("field", NAMES)
def test_wrong_claims_are_found(field: str) -> None:
    """A wrong value of any column of the metric row is named with both values; so is NaN where something is known."""
    schedule = good()
    claimed = schedule.metrics()
    with pytest.raises(fs.errors.ScheduleError, match=f"{field} is given as 0.125, but .* make it"):
        schedule.verify(claimed=replace(claimed, **{field: 0.125}))
    close = np.nan_to_num(getattr(claimed, field)) * 1.0001 + 1e-4
    with pytest.raises(fs.errors.ScheduleError, match=f"{field} is given as"):
        schedule.verify(claimed=replace(claimed, **{field: close}))
    unknown = replace(claimed, **{field: np.nan})
    if np.isnan(getattr(claimed, field)):
        schedule.verify(claimed=unknown)
    else:
        with pytest.raises(fs.errors.ScheduleError, match=f"{field} is given as nan"):
            schedule.verify(claimed=unknown)


@pytest.mark.parametrize("row", range(4))
def test_a_finish_is_checked_as_closely_at_epoch_times(row: int) -> None:
    """What counts is how long a job runs, not how late on the clock: a millisecond off is found in 2023, too."""
    workload = good().workload
    late = replace(workload, submit=workload.submit + 1.7e9)
    schedule = fs.simulate(late, good().federation, "easy")
    schedule.verify(claimed=schedule.metrics())
    finish = np.array(schedule.finish)
    finish[row] -= 1e-3
    with pytest.raises(fs.errors.ScheduleError, match=f"Job {row + 1}: it finishes at .*; its rates make it"):
        replace(schedule, finish=finish).verify()


SENDING = fs.Federation(
    (fs.Cluster("a", (fs.NodeGroup(2),), uplink=1.0), fs.Cluster("b", (fs.NodeGroup(2),), uplink=1.0))
)
SENDERS = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[100, 100], compute_fraction=[0, 0], task_bandwidth=[1, 1])


def sent(finish: list[float], **options: Any) -> fs.Schedule:
    """Return two jobs of 100 s that start at 0, each with a task in both clusters: together they send twice a link."""
    counts = [[1, 1], [1, 1]]
    return fs.Schedule(workload=SENDERS, federation=SENDING, start=[0, 0], finish=finish, counts=counts, **options)


@pytest.mark.parametrize(
    ("same_time", "finish", "right"),
    [
        ("batch", [200, 200], True),
        ("batch", [100, 200], False),
        ("batch", [100, 100], False),
        ("batch", [150, 130], False),
        ("sequential", [200, 200], True),
        ("sequential", [100, 200], True),  # the second was started later, though at the same time
        ("sequential", [200, 100], True),
        ("sequential", [100, 100], False),
        ("sequential", [150, 200], False),
        (None, [200, 200], True),
        (None, [100, 100], False),
    ],
)
def test_static_rates_are_those_of_all_who_run_after_the_pass(
    same_time: str | None, finish: list[float], right: bool
) -> None:
    """Two senders that start together both take 200 s; one after the other at one instant, the last one does."""
    found = sent(finish, t0=0.0, saturation="static", same_time=same_time).violations()
    assert (found == []) == right, found


@pytest.mark.parametrize("saturation", ["dynamic", "fair"])
def test_a_job_that_ran_before_t0_ends_between_its_fastest_and_its_slowest(saturation: str) -> None:
    """Two jobs of 100 s that ran for a second when t0 was end at 100 s or later, and have 200 s from t0 on at most."""
    for finish, right in (([100, 201], True), ([99, 150], False), ([150, 202], False), ([7, 3e9], False)):
        found = [line for line in sent(finish, t0=1.0, saturation=saturation).violations() if "its rates" in line]
        assert (found == []) == right, found


def test_a_silent_job_that_ran_before_t0_ends_in_its_time() -> None:
    """A job of 100 s that started two seconds before t0 ends at 100 s or later, and 100 s after t0 at the latest."""
    workload = fs.Workload(submit=[0], tasks=[1], runtime=[100])
    for finish, right in ((100.0, True), (102.0, True), (99.9, False), (102.1, False)):
        schedule = fs.Schedule(
            workload=workload, federation=fs.Federation.homogeneous(1), start=[0], finish=[finish], counts=[[1]], t0=2.0
        )
        assert (schedule.violations() == []) == right, finish


def test_a_finish_is_checked_as_closely_a_year_after_t0() -> None:
    """A job of ten seconds that ends ten milliseconds late is found, were it a year after the first one."""
    workload = fs.Workload(submit=[0.0, 3.2e7], tasks=[1, 1], runtime=[10, 10])
    schedule = fs.simulate(workload, fs.Federation.homogeneous(1), "fcfs")
    schedule.verify()
    for wrong in (-0.01, 0.01):
        with pytest.raises(fs.errors.ScheduleError, match=r"Job 2: it finishes at .*; its rates make it"):
            replace(schedule, finish=schedule.finish + np.array([0.0, wrong])).verify()


def test_a_claim_of_nothing_is_found_where_something_is_known() -> None:
    """NaN is no claim of a workflow's stretch, of a drain's loss, of requeues, of what they wasted or of a spread."""
    queue = fs.Workload(submit=[0, 0], tasks=[2, 2], runtime=[10, 10], after=["", "after:1"], user=[1, 2])
    shut = fs.Federation(
        (fs.Cluster("a", (fs.NodeGroup(2),)),), calendar=(fs.Downtime("a", 15.0, 20.0, on_running="requeue"),)
    )
    schedule = fs.simulate(queue, shut, "easy", knowledge="estimate")
    row = schedule.metrics()
    schedule.verify(claimed=row)
    known = [name for name, value in row.as_dict().items() if value == value]
    assert {"drain_loss", "mean_stretch", "max_stretch", "requeues", "wasted_node_seconds"} <= set(known)
    for name in known:
        with pytest.raises(fs.errors.ScheduleError, match=f"{name} is given as nan"):
            schedule.verify(claimed=replace(row, **{name: np.nan}))


def test_a_row_leaves_out_only_what_its_schedule_does_not_know() -> None:
    """A schedule from elsewhere has no loss of capacity unless it is given."""
    schedule = good()
    elsewhere = replace(schedule, integrals=NOT_KNOWN)
    row = elsewhere.metrics()
    assert np.isnan([row.loss_of_capacity, row.saturated_seconds]).all()
    elsewhere.verify(claimed=row)
    with pytest.raises(fs.errors.ScheduleError, match="saturated_seconds is given as nan"):
        schedule.verify(claimed=row)
    with pytest.raises(fs.errors.ScheduleError, match="requeues is given as nan"):
        elsewhere.verify(claimed=replace(row, requeues=np.nan))


def test_turns_count_the_promises() -> None:
    """Of three jobs that are promised nodes one after the other the turns are 0, 1 and 2, and nothing else."""
    group = fs.NodeGroup(1, off_watts=1.0, boot_watts=1.0, shutdown_watts=1.0)
    machine = fs.Federation((fs.Cluster("a", (group,)),), power=Timeout(60.0))
    schedule = fs.simulate(fs.Workload(submit=[0, 0, 1], tasks=[1, 1, 1], runtime=[5, 5, 5]), machine, "fcfs")
    assert schedule.promises is not None
    assert schedule.promises.turn.tolist() == [0, 1, 2]
    schedule.verify()
    for turn in ([1, 2, 3], [0, 2, 1], [0, 1, 1], [0, 1, 3]):
        wrong = schedule.promises._replace(turn=np.array(turn))
        with pytest.raises(fs.errors.ScheduleError, match=r"it is promised nodes at .* in turn"):
            replace(schedule, promises=wrong).verify()


def test_a_schedule_of_no_length_is_checked() -> None:
    """A schedule from elsewhere whose one job ends as it starts has a makespan of 0, which no check divides by."""
    workload = fs.Workload(submit=[1.7e9], tasks=[1], runtime=[1e-8])
    schedule = fs.simulate(workload, fs.Federation.homogeneous(1), "fcfs")
    empty = replace(schedule, finish=schedule.start)
    assert empty.makespan == 0.0
    empty.verify(claimed=replace(empty.metrics(), loss_of_capacity=0.0))
    late = replace(empty, loss_of_capacity=0.25)
    with pytest.raises(fs.errors.ScheduleError, match=r"loss_of_capacity is given as 0\.25"):
        late.verify()


@pytest.mark.parametrize("part", range(4))
def test_the_engine_passes(part: int) -> None:
    """Hundreds of random schedules of the engine, over all settings, have no violation."""
    for seed in range(20_000 + part, 20_000 + tries(400), 4):
        scenario = strategies.random_scenario(seed)
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        chosen = scenario.settings
        schedule = fs.simulate(
            workload,
            federation,
            fs.Rules(chosen.order, chosen.dispatch, chosen.placement, chosen.backfill_order),
            caps=caps,
            same_time=chosen.same_time,
            saturation=chosen.saturation,
            kill_at_estimate=chosen.kill_at_estimate,
            alternatives=chosen.alternatives,
        )
        schedule.verify(caps=caps, claimed=schedule.metrics())
