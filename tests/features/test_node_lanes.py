"""The rectangles of jobs that share nodes: none overlap, each is as high as its share; and nodes that close."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import ScheduleError
from fedsched.market import Environment
from fedsched.model.schedule.closed_spans import closed_spans, numbered
from fedsched.model.schedule.node_lanes import node_lanes, rectangles
from fedsched.model.schedule.node_use import NodeUse

if TYPE_CHECKING:
    from fedsched.engine.sharing.result import SharedSchedule
    from fedsched.model.schedule.closed_spans import Numbered

SEEDS = range(6)
CALENDAR = (
    fs.Downtime("a", 300.0, 900.0, nodes="1,3-4"),
    fs.Downtime("b", 500.0, 800.0, nodes="2 of all", kind="outage", on_running="requeue"),
    fs.Downtime("a", 800.0, 1400.0, nodes="4-5", kind="drain"),
)


class Piece(NamedTuple):
    """A rectangle on one node, with its run of a job, and the job's tasks on the node."""

    run: tuple[str, int]
    node: int
    low: float
    high: float
    start: float
    end: float
    tasks: int


def simulated(seed: int, *, calendar: tuple[fs.Downtime, ...] = CALENDAR) -> SharedSchedule:
    """Return a schedule of random jobs, some of them exclusive, on two clusters of nodes of several sizes."""
    draw = np.random.default_rng(seed)
    groups = fs.NodeGroup(4, resources={"cpu": 8}), fs.NodeGroup(3, resources={"cpu": 12, "gpu": 2}, name="large")
    clusters = fs.Cluster("a", groups), fs.Cluster("b", (fs.NodeGroup(5, resources={"cpu": 5}),))
    jobs = 70
    workload = fs.Workload(
        submit=np.sort(draw.integers(0, 1500, jobs)),
        tasks=draw.choice([1, 1, 2, 5, 9], jobs),
        runtime=draw.integers(1, 400, jobs),
        estimate=400,
        demand={"cpu": draw.choice([1, 2, 3, 5], jobs)},
        layout={"exclusive": (draw.random(jobs) < 0.15).astype(int)},
    )
    choice = draw.choice(["first", "best", "spread", "least_loaded"])
    schedule = fs.simulate(workload, fs.Federation(clusters, name="m", calendar=calendar), "easy", sharing=str(choice))
    schedule.verify()
    return schedule


def pieces_of(schedule: SharedSchedule) -> list[Piece]:
    """Return the rectangles of a schedule's jobs and lost runs, cut at the borders of nodes."""
    found, lost = numbered(schedule), schedule.lost
    columns = (
        ("job", found.jobs, found.job_lanes, schedule.start, schedule.finish),
        ("lost", found.lost, found.lost_lanes, lost.start, lost.end),
    )
    pieces = []
    for name, runs, lanes, start, end in columns:
        if lanes is None:
            continue
        drawn, row = rectangles(schedule.federation, runs, lanes), np.repeat(np.arange(start.size), runs.pieces)
        for k, top, bottom in zip(drawn.run.tolist(), drawn.top.tolist(), drawn.bottom.tolist(), strict=True):
            for node in range(int(top), int(np.ceil(bottom))):
                low, high = max(top - node, 0.0), min(bottom - node, 1.0)
                r = int(row[k])
                pieces.append(Piece((name, r), node, low, high, start[r], end[r], int(lanes.tasks[k])))
    return pieces


@pytest.mark.parametrize("seed", SEEDS)
def test_pieces_on_a_node_never_overlap(seed: int) -> None:
    """Tests that two rectangles on a node that have a time in common have no height in common, and stay on the node."""
    pieces = pieces_of(simulated(seed))
    assert all(0.0 <= one.low < one.high <= 1.0 for one in pieces)
    together = 0
    for node in {one.node for one in pieces}:
        here = [one for one in pieces if one.node == node]
        for i, one in enumerate(here):
            for other in here[:i]:
                if one.start < other.end and other.start < one.end:
                    together += 1
                    assert one.high <= other.low + 1e-12 or other.high <= one.low + 1e-12
    assert together > 50


@pytest.mark.parametrize("seed", SEEDS)
def test_heights_are_the_shares_of_cores(seed: int) -> None:
    """Tests that a job is as high on a node as its share of the cores, in all its parts, and fills it if exclusive."""
    schedule = simulated(seed)
    cores = [8] * 4 + [12] * 3 + [5] * 5
    heights: dict[tuple[tuple[str, int], int], float] = {}
    tasks: dict[tuple[tuple[str, int], int], set[int]] = {}
    for one in pieces_of(schedule):
        heights[one.run, one.node] = heights.get((one.run, one.node), 0.0) + one.high - one.low
        tasks.setdefault((one.run, one.node), set()).add(one.tasks)
    expected = 0
    for name, use in (("job", schedule.use), ("lost", schedule.lost_use)):
        if use is None:
            continue
        each = use.workload.demand.columns()["cpu"]
        for job, node, count in zip(use.job.tolist(), use.node.tolist(), use.tasks.tolist(), strict=True):
            share = 1.0 if use.alone[job] else count * each[job] / cores[node]
            assert heights[(name, job), node] == pytest.approx(share, abs=1e-12)
            assert tasks[(name, job), node] == {count}
            expected += 1
    assert len(heights) == expected


@pytest.mark.parametrize("seed", SEEDS)
def test_areas_are_the_jobs_share_seconds(seed: int) -> None:
    """Tests that each job's area is its share of nodes times its run, and that all areas are the busy node-seconds."""
    schedule = simulated(seed)
    areas = {name: np.zeros(size) for name, size in (("job", len(schedule)), ("lost", schedule.lost.runs))}
    for one in pieces_of(schedule):
        areas[one.run[0]][one.run[1]] += (one.high - one.low) * (one.end - one.start)
    np.testing.assert_allclose(areas["job"], schedule.use.shares.sum(axis=1) * (schedule.finish - schedule.start))
    row = schedule.metrics()
    assert areas["lost"].sum() == pytest.approx(row.wasted_node_seconds)
    busy = row.utilisation * row.makespan * schedule.federation.nodes
    assert areas["job"].sum() + areas["lost"].sum() == pytest.approx(busy)


def test_some_runs_are_lost_and_some_jobs_are_in_parts() -> None:
    """Tests that what the properties are about occurs: lost runs, split jobs, and runs of several nodes."""
    schedules = [simulated(seed) for seed in SEEDS]
    found = [numbered(schedule) for schedule in schedules]
    assert sum(schedule.lost.runs for schedule in schedules) > 10
    assert any((one.jobs.last > one.jobs.first).any() for one in found)
    assert any(is_in_parts(one) for one in found)


def is_in_parts(found: Numbered) -> bool:
    """Return whether a job has two ranges of cores on a node."""
    job = np.repeat(np.arange(found.jobs.pieces.size), found.jobs.pieces).tolist()
    nodes = [
        (row, node)
        for row, first, last in zip(job, found.jobs.first.tolist(), found.jobs.last.tolist(), strict=True)
        for node in range(first, last + 1)
    ]
    return len(nodes) > len(set(nodes))


def use_of(*rows: tuple[float, float, int, int], nodes: int = 1, cores: int = 4, alone: bool = False) -> NodeUse:
    """Return the use of nodes by jobs: each has a start, an end, and this many cores of each of its first nodes."""
    jobs = len(rows)
    workload = fs.Workload(
        submit=np.zeros(jobs),
        tasks=[many for *_, many in rows],
        runtime=[max(end - start, 1.0) if end == end else 1.0 for start, end, _, _ in rows],
        demand={"cpu": [each for _, _, each, _ in rows]},
    )
    pairs = [(job, node) for job, (*_, many) in enumerate(rows) for node in range(many)]
    job, node = zip(*pairs, strict=True)
    return NodeUse(
        workload=workload,
        federation=fs.Federation((fs.Cluster("m", (fs.NodeGroup(nodes, resources={"cpu": cores}),)),)),
        start=np.array([start for start, *_ in rows]),
        finish=np.array([end for _, end, *_ in rows]),
        alone=np.full(jobs, alone),
        job=job,
        node=node,
        tasks=np.ones(len(pairs)),
    )


def lanes_of(use: NodeUse) -> list[tuple[int, int, int, int, int]]:
    """Return each range of cores: the job, its first and last node, its first core and the core after the last."""
    ((runs, lanes),) = node_lanes(use.federation, [use])
    job = np.repeat(np.arange(runs.pieces.size), runs.pieces)
    columns = (job, runs.first, runs.last, lanes.low, lanes.high)
    return [*zip(*(column.tolist() for column in columns), strict=True)]


def test_a_job_takes_the_first_gap_that_is_wide_enough() -> None:
    """Tests that a job takes neighbouring cores above free ones that are too few, and keeps them until its end."""
    use = use_of((0, 10, 1, 1), (0, 30, 1, 1), (10, 20, 2, 1), (20, 30, 1, 1))
    assert lanes_of(use) == [(0, 0, 0, 0, 1), (1, 0, 0, 1, 2), (2, 0, 0, 2, 4), (3, 0, 0, 0, 1)]


def test_a_job_without_a_wide_gap_is_in_parts() -> None:
    """Tests that a job takes free cores that are no neighbours if there are no others."""
    use = use_of((0, 10, 1, 1), (0, 20, 1, 1), (0, 10, 1, 1), (0, 20, 1, 1), (10, 20, 2, 1))
    assert lanes_of(use)[4:] == [(4, 0, 0, 0, 1), (4, 0, 0, 2, 3)]


def test_neighbouring_nodes_alike_are_one_run() -> None:
    """Tests that whole nodes are one rectangle, and equal parts of nodes one run with a rectangle for each node."""
    whole, part = use_of((0, 10, 4, 3), nodes=3), use_of((0, 10, 1, 3), nodes=3)
    assert lanes_of(whole) == [(0, 0, 2, 0, 4)]
    assert lanes_of(part) == [(0, 0, 2, 0, 1)]
    for use, tops, bottoms in ((whole, [0.0], [3.0]), (part, [0.0, 1.0, 2.0], [0.25, 1.25, 2.25])):
        drawn = rectangles(use.federation, *node_lanes(use.federation, [use])[0])
        assert (drawn.top.tolist(), drawn.bottom.tolist()) == (tops, bottoms)
    assert lanes_of(use_of((0, 10, 1, 3), nodes=3, alone=True)) == [(0, 0, 2, 0, 4)]


def test_equal_cores_of_unequal_nodes_are_not_one_run() -> None:
    """Tests that four cores are half of a node of eight and all of a node of four, which are neighbours."""
    groups = (fs.NodeGroup(1, resources={"cpu": 8}), fs.NodeGroup(1, resources={"cpu": 4}))
    machine = fs.Federation((fs.Cluster("m", groups),))
    use = replace(use_of((0, 10, 4, 2), nodes=2), federation=machine)
    assert lanes_of(use) == [(0, 0, 0, 0, 4), (0, 1, 1, 0, 4)]
    drawn = rectangles(machine, *node_lanes(machine, [use])[0])
    assert (drawn.top.tolist(), drawn.bottom.tolist()) == ([0.0, 1.0], [0.5, 2.0])


def test_jobs_without_an_end_keep_their_cores() -> None:
    """Tests that a job that runs on is not drawn over, and that one without a start takes nothing."""
    use = use_of((0, np.nan, 2, 1), (0, 10, 2, 1), (np.nan, np.nan, 2, 1), (50, 60, 2, 1))
    assert lanes_of(use) == [(0, 0, 0, 0, 2), (1, 0, 0, 2, 4), (3, 0, 0, 2, 4)]


def test_what_does_not_fit_gets_what_is_left() -> None:
    """Tests that of an infeasible use the last job gets the cores that there are, or none."""
    use = use_of((0, 10, 3, 1), (0, 10, 3, 1), (5, 10, 1, 1))
    assert lanes_of(use) == [(0, 0, 0, 0, 3), (1, 0, 0, 3, 4)]


@pytest.mark.parametrize("seed", SEEDS)
def test_nodes_close_as_soon_as_their_jobs_end(seed: int) -> None:
    """Tests at many times that a node is drawn as closed if a downtime closes it and no earlier job is on it."""
    schedule = simulated(seed)
    federation, found = schedule.federation, numbered(schedule)
    clusters = {cluster.name: first for cluster, first in zip(federation.clusters, (0, 7), strict=True)}
    runs = [
        (int(node), float(use.start[job]), float(use.finish[job]))
        for use in (schedule.use, schedule.lost_use)
        if use is not None
        for job, node in zip(use.job.tolist(), use.node.tolist(), strict=True)
    ]
    spans = [
        (first, last, start, finish)
        for first, last, start, finish in zip(
            found.closed.first.tolist(), found.closed.last.tolist(),
            np.repeat(found.spans.start, found.closed.pieces).tolist(),
            np.repeat(found.spans.finish, found.closed.pieces).tolist(), strict=True,
        )
    ]  # fmt: skip
    closed = 0
    for time in np.arange(250.5, 1450.0, 25.0).tolist():
        for node in range(federation.nodes):
            there = [one for one in federation.calendar if covers(one, node - clusters[one.cluster])]
            shut = any(
                one.begin <= time < one.end
                and not any(on == node and start < one.begin and end > time for on, start, end in runs)
                for one in there
            )
            drawn = sum(first <= node <= last and start <= time < finish for first, last, start, finish in spans)
            assert drawn == int(shut)
            closed += drawn
            assert not shut or not any(on == node and start <= time < end for on, start, end in runs)
    assert closed > 50
    seconds = found.spans.finish - found.spans.start
    assert closed_spans(schedule).counts.sum(axis=1) @ seconds == pytest.approx(
        sum((last - first + 1) * (finish - start) for first, last, start, finish in spans)
    )


def covers(downtime: fs.Downtime, node: int) -> bool:
    """Return whether a downtime closes the node of this number within its cluster."""
    parts = [part.split("-") for part in str(downtime.nodes).split(",")]
    return any(int(part[0]) <= node <= int(part[-1]) for part in parts)


def test_the_share_of_closed_time_is_said() -> None:
    """Tests the words on downtimes: one of two nodes is closed from the end of its job at 20 until 30, of 40 s."""
    group = fs.NodeGroup(2, resources={"cpu": 4})
    machine = fs.Federation((fs.Cluster("m", (group,)),), calendar=(fs.Downtime("m", 10.0, 30.0, nodes="0"),))
    jobs = fs.Workload(submit=[0, 0], tasks=[1, 4], runtime=[20, 40], estimate=[5, 40])
    schedule = fs.simulate(jobs, machine, "fcfs", sharing="first", kill_at_estimate=False)
    assert [schedule.nodes_of(row) for row in range(2)] == [(0,), (1,)]
    assert "closed by 1 downtime: 12.50% of the nodes' time until the last job ends" in schedule.remarks


def test_node_numbers_are_the_nodes_that_jobs_have() -> None:
    """Tests that node numbers are those of the simulation, also if a downtime divides the nodes of a cluster."""
    schedule = simulated(1)
    for row, runs in enumerate(schedule.node_numbers()):
        nodes = [node for first, last in runs for node in range(first, last + 1)]
        assert tuple(nodes) == schedule.nodes_of(row)
        assert all(last + 1 < first for (_, last), (first, _) in pairwise(runs))


def test_a_market_sells_no_parts_of_nodes() -> None:
    """Tests that shared nodes have no idle time as a market means it, and that the error says why."""
    with pytest.raises(ScheduleError, match="a market sells whole nodes"):
        Environment.of_schedule(simulated(0), begin=0.0, end=100.0)
