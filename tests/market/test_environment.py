"""Environments: checked nouns, and the idle time of a simulated cluster."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest

import fedsched as fs
from fedsched import market
from fedsched.market import Environment, Slots


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"performance": [1.0, 0.0]}, r"node 1: performance=0\.0 must be finite and above 0"),
        ({"performance": [-2.0, 1.0]}, r"node 0: performance=-2\.0 must be finite and above 0"),
        ({"price": [1.0, -1.0]}, r"node 1: price=-1\.0 must be finite and at least 0"),
        ({"watts": float("nan")}, "node 0: watts=nan must be finite"),
        ({"price": [1.0]}, r"price has shape \(1,\), but performance gives 2 nodes"),
        ({"performance": []}, "give one number for each node"),
        ({"performance": [1.0], "price": 1.0}, "a slot is on node 1, but performance is given for 1 nodes"),
        ({"interval": (0.0, 5.0)}, r"slots lie in 0\.\.9, outside interval"),
        ({"interval": (1e17, 1e17 + 600.0)}, "must be nearer to 0, or longer: so far off the clock does not tell"),
        ({"interval": (5.0, 5.0)}, "must be two finite times, the first before the second"),
        ({"slots": Slots([], [], [])}, r"interval=\(0\.0, 0\.0\) must be two finite times"),
        ({"reference": 0.0}, r"reference=0\.0 must be finite and above 0"),
    ],
)
def test_wrong_nodes_are_refused(options: dict[str, object], message: str) -> None:
    """The error names node, value and rule."""
    right = {"slots": Slots([0, 1], [0.0, 1.0], [9.0, 9.0]), "performance": [1.0, 2.0], "price": [1.0, 1.0]}
    with pytest.raises(ValueError, match=message):
        Environment(**{**right, **options})


def test_busy_is_what_is_not_free() -> None:
    """The local tasks' timetable and the load follow from slots and interval."""
    environment = Environment(
        slots=Slots([0, 1], [0.0, 2.0], [6.0, 8.0]), performance=[1.0, 2.0], price=3.0, interval=(0.0, 10.0)
    )
    busy = environment.busy
    assert list(zip(busy.node, busy.start, busy.end, strict=True)) == [(0, 6, 10), (1, 0, 2), (1, 8, 10)]
    assert environment.load == pytest.approx(0.4)
    assert environment.price.tolist() == [3.0, 3.0]
    assert str(environment).startswith("2 nodes over 0..10, 40% taken by local tasks")


def test_a_schedule_s_idle_time_becomes_slots() -> None:
    """On every node, the time in which no job of the schedule runs is free, and only that."""
    workload = fs.Workload(submit=[0, 0, 2, 30], tasks=[2, 1, 3, 1], runtime=[5, 9, 4, 10])
    cluster = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2, 1.0), fs.NodeGroup(2, 2.0, 200.0))),))
    plan = fs.simulate(workload, cluster, "easy")
    environment = Environment.of_schedule(plan, begin=1.0, end=20.0, price=[1.0, 5.0])
    assert environment.performance.tolist() == [1.0, 1.0, 2.0, 2.0]
    assert environment.price.tolist() == [1.0, 1.0, 5.0, 5.0]
    assert environment.watts.tolist() == [135.0, 135.0, 200.0, 200.0]
    assert environment.interval == (1.0, 20.0)
    nodes = plan.node_numbers()
    for node in range(4):
        for instant in np.arange(1.25, 20.0, 0.5):
            taken = any(
                plan.start[j] <= instant < plan.finish[j] and any(a <= node <= b for a, b in nodes[j]) for j in range(4)
            )
            assert taken != any(a <= instant < b for a, b in environment.slots.on_node(node))


def test_a_schedule_that_is_cut_off_keeps_its_nodes() -> None:
    """A job without a finish holds its nodes to the interval's end; one that never started holds none."""
    workload = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[5, 5])
    plan = fs.Schedule(
        workload=workload,
        federation=fs.Federation.homogeneous(2),
        start=[2.0, np.nan],
        finish=[np.nan, np.nan],
        counts=[[1], [0]],
        t0=0.0,
    )
    environment = Environment.of_schedule(plan, begin=0.0, end=10.0)
    assert environment.slots == Slots([0, 1], [0.0, 0.0], [2.0, 10.0])


@pytest.mark.compiled
def test_a_batch_runs_on_what_a_cluster_leaves_idle() -> None:
    """Jobs scheduled onto the idle time of a simulated log overlap none of its jobs."""
    workload = fs.Workload.example().head(60)
    plan = fs.simulate(workload, fs.Federation.example(), "easy")
    end = plan.t0 + 0.5 * plan.makespan
    environment = Environment.of_schedule(plan, begin=plan.t0, end=end)
    extra = market.requests_of(fs.Workload(submit=[0, 0, 0], tasks=[4, 8, 2], runtime=[600, 900, 300]), budget=9.0)
    result = market.schedule(extra, environment, method="css")
    assert not result.failed
    nodes = plan.node_numbers()
    for window in result.windows:
        assert window is not None
        for node, start, finish in window.slots:
            for j in range(len(plan)):
                if any(a <= node <= b for a, b in nodes[j]):
                    assert finish <= plan.start[j] + 1e-9 or start >= plan.finish[j] - 1e-9


def test_nodes_that_are_taken_together_cost_no_memory() -> None:
    """What wide jobs take of a million nodes is not written down node by node; what they leave free is."""
    nodes, jobs = 1_000_000, 40
    workload = fs.Workload(submit=range(jobs), tasks=[nodes] * jobs, runtime=[1.0] * jobs)
    plan = fs.Schedule(
        workload=workload,
        federation=fs.Federation.homogeneous(nodes),
        start=2.0 * np.arange(jobs),
        finish=2.0 * np.arange(jobs) + 1.0,
        counts=np.full((jobs, 1), nodes),
        t0=0.0,
    )
    tracemalloc.start()
    environment = Environment.of_schedule(plan, begin=0.5, end=2.0)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert len(environment.slots) == nodes
    assert peak < 300 * nodes  # bytes; a node's every job would be 40 more of 24
