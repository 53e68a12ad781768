"""What is left while nodes are closed: no schedule uses more, and bounds on sums over starts know of it."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from reference import brute, naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched import bounds
from fedsched.bounds.cost.buckets import Scarce
from fedsched.bounds.cost.prover import Prover
from fedsched.bounds.lower.closed import dual_feasible, threshold_of
from fedsched.bounds.lower.downtime_losses import NO_CLOSURES, sure_closures
from fedsched.engine.pack.problem import pack
from fedsched.generate import lublin
from fedsched.model.reading import CLAIRVOYANT

FOUR = fs.Federation.homogeneous(4)
EIGHT = fs.Workload(submit=[0.0] * 8, tasks=[1] * 8, runtime=[5.0] * 8)
SUMS = ("flow", "mean_wait", "mean_slowdown")


def closing(*downtimes: tuple[float, float, str], machine: fs.Federation = FOUR) -> fs.Federation:
    """Return a machine of one cluster with downtimes: begin, end and nodes."""
    calendar = tuple(fs.Downtime("cluster", begin, end, nodes=nodes) for begin, end, nodes in downtimes)
    return replace(machine, calendar=calendar)


def scarce_of(workload: fs.Workload, federation: fs.Federation) -> Scarce:
    """Return what the bounds see of a problem."""
    prover = bounds.lower_bounds(workload, federation, method="closed")._prover
    return Scarce.of(prover.relaxation, prover.problem.wide)


@pytest.mark.parametrize(
    ("downtimes", "flow", "wait"),
    [
        ((), 60.0, 2.5),
        (((5.0, 10.0, "all"),), 80.0, 5.0),
        (((0.0, 100.0, "2 of all"),), 100.0, 7.5),
        (((0.0, 10.0, "3 of all"), (10.0, 15.0, "all")), 4 * 20.0 + 2 * 25.0 + 5.0 + 10.0, 13.125),
    ],
)
def test_eight_jobs_wait_for_what_is_open(
    downtimes: tuple[tuple[float, float, str], ...], flow: float, wait: float
) -> None:
    """Eight jobs of five seconds on four nodes, by hand: bounds are within a twentieth of the least."""
    found = bounds.lower_bounds(EIGHT, closing(*downtimes))
    made = fs.simulate(EIGHT, closing(*downtimes), "greedy").metrics()
    assert (made.flow, made.mean_wait) == (flow, wait)
    assert 0.95 * flow <= found.flow <= flow
    assert 0.92 * wait <= found.of("mean_wait") <= wait


def test_what_is_left_in_each_stretch() -> None:
    """Of ten nodes six close, two of them longer: by hand, also for jobs of which one excludes another."""
    machine = closing((2.0, 6.0, "4 of all"), (4.0, 8.0, "2 of all"), machine=fs.Federation.homogeneous(10))
    queue = fs.Workload(submit=[0.0] * 3, tasks=[7, 4, 7], runtime=[3.0] * 3)
    scarce = scarce_of(queue, machine)
    nodes, things = scarce.left(np.array([0.0, 2.0, 3.0, 5.0, 9.0]))
    closed = np.array([0.0, 4.0, 4.0 + 6.0, 6.0 + 2.0 * 2])
    assert nodes[:, 0] == pytest.approx(np.array([20.0, 10.0, 20.0, 40.0]) - closed, abs=1e-9)
    assert scarce.needs.tolist() == [[10.0, 4.0, 10.0]]
    assert threshold_of(scarce.needs[0], np.array([7, 4, 7]), 10) == 4
    # Beside four or six closed nodes, which are a job of four or six, no job of seven has room; two do not count.
    assert things[:, 0] == pytest.approx(np.array([20.0, 10.0, 20.0, 40.0]) - [0.0, 4.0, 4.0 + 6.0, 6.0], abs=1e-9)


def test_nothing_is_left_where_all_nodes_are_closed() -> None:
    """Four nodes close from 5 to 10: of twenty node-seconds before them none are left, and none are owed."""
    nodes, _ = scarce_of(EIGHT, closing((5.0, 10.0, "all"))).left(np.array([0.0, 5.0, 9.0, 11.0]))
    assert nodes[:, 0].tolist() == pytest.approx([20.0, 0.0, 4.0], abs=1e-9)
    wide = fs.Workload(submit=[0.0] * 3, tasks=[3, 2, 3], runtime=[3.0] * 3)
    things = scarce_of(wide, closing((5.0, 10.0, "all"))).left(np.array([0.0, 5.0, 9.0]))[1]
    assert things[:, 0].tolist() == pytest.approx([20.0, 0.0], abs=1e-9)


def shut_of(*closures: fs.Downtime, submit: float = 0.0, tick: float = 0.0) -> list[list[float]]:
    """Return begins, ends and nodes of what is surely closed to a job on four nodes."""
    job = fs.Workload(submit=[submit], tasks=[1], runtime=[1.0])
    problem = pack(job, replace(FOUR, calendar=closures), reading=CLAIRVOYANT)
    found = sure_closures(problem, np.zeros(1, dtype=np.int64), tick)
    return [found.begin.tolist(), found.end.tolist(), found.nodes.tolist()]


NOTHING_SHUT: list[list[float]] = [[], [], []]


def test_what_is_surely_closed() -> None:
    """Seconds since t0, a tick less at the end; not what is over, or too short for the clock, or not known at t0."""
    assert shut_of(fs.Downtime("cluster", 150.0, 200.0, nodes="3 of all"), submit=100.0) == [[50.0], [100.0], [3]]
    assert shut_of(fs.Downtime("cluster", 50.0, 200.0), submit=100.0, tick=1.0) == [[0.0], [99.0], [4]]
    assert shut_of(fs.Downtime("cluster", 50.0, 100.0), submit=100.0) == NOTHING_SHUT
    assert shut_of(fs.Downtime("cluster", 150.0, 151.0), submit=100.0, tick=1.0) == NOTHING_SHUT
    assert shut_of(fs.Downtime("cluster", 100.0, 110.0, kind="outage"), submit=100.0) == [[0.0], [10.0], [4]]
    assert shut_of(fs.Downtime("cluster", 101.0, 110.0, kind="outage"), submit=100.0) == NOTHING_SHUT
    assert shut_of(fs.Downtime("cluster", 5.0, 9.0, kind="reservation", name="course", users=("ann",))) == NOTHING_SHUT


def test_what_may_be_in_use_while_it_is_closed_is_left() -> None:
    """Nothing is taken where nobody knows of a downtime or runs outlast their plans; bounds are then those of all."""
    whole = bounds.lower_bounds(EIGHT, FOUR).flow
    late = replace(FOUR, calendar=(fs.Downtime("cluster", 5.0, 10.0, kind="outage"),))
    assert bounds.lower_bounds(EIGHT, late).flow == whole
    outrunning = replace(EIGHT, estimate=[4.0] * 8)
    assert bounds.lower_bounds(outrunning, closing((5.0, 10.0, "all"))).flow == whole
    assert not scarce_of(outrunning, closing((5.0, 10.0, "all"))).taken.anything


def test_no_schedule_uses_more_than_is_left() -> None:
    """Random logs among downtimes: in each stretch jobs use no more of each speed, nor of wide ones, than is left."""
    rng, used = random.Random(1), 0
    for seed in range(tries(12)):
        speeds = [fs.NodeGroup(9, 1.0), fs.NodeGroup(rng.randint(3, 7), rng.choice((1.0, 2.0)))]
        machine = fs.Federation((fs.Cluster("cluster", tuple(speeds)),))
        queue = lublin(30, machine.nodes, load=1.5, seed=seed + 1)
        queue = replace(queue, submit=queue.submit - queue.submit[0])
        span = float(queue.submit[-1])
        whens = [sorted(rng.uniform(0.0, span) for _ in range(2)) for _ in range(4)]
        windows = [(begin, end, f"{rng.randint(1, machine.nodes)} of all") for begin, end in whens]
        machine = closing(*windows, machine=machine)
        schedule = fs.simulate(queue, machine, rng.choice(("greedy", "easy", "conservative")), knowledge="runtime")
        scarce = scarce_of(queue, machine)
        relaxation, t0 = scarce.relaxation, schedule.t0
        edges = np.unique([0.0, *(rng.uniform(0.0, 1.2 * span) for _ in range(9)), *(when[0] for when in windows)])
        nodes, things = scarce.left(edges)
        start, finish = schedule.start[:, None] - t0, schedule.finish[:, None] - t0
        overlap = np.maximum(np.minimum(finish, edges[1:]) - np.maximum(start, edges[:-1]), 0.0)  # job × stretch
        place = np.searchsorted(scarce.slowdown, relaxation.class_slowdown[relaxation.group_class])
        counts = np.stack([schedule.counts[:, place == c].sum(axis=1) for c in range(nodes.shape[1])], axis=1)
        slack = 1e-9 * span * machine.nodes
        assert (overlap.T @ counts <= nodes + slack).all(), seed
        assert (things + slack >= overlap.T @ scarce.needs.T).all(), seed
        used += int((nodes < np.diff(edges)[:, None] * scarce.nodes - slack).sum())
    assert used > 0


def small(seed: int) -> tuple[list[naive.Job], naive.Machine]:
    """Return three or four jobs on two groups that close at times, all of which all know."""
    rng = random.Random(seed)
    groups = [naive.Group(0, rng.randint(1, 3), rng.choice((1.0, 2.0))) for _ in range(2)]
    jobs = []
    for j in range(rng.choice((3, 3, 4))):
        runtime = float(rng.randint(1, 6))
        tasks, submit = rng.randint(1, groups[0].count + groups[1].count), float(rng.choice((0, 0, 1, 4)))
        jobs.append(naive.Job(j, submit, tasks, runtime, runtime, sigma=rng.choice((1.0, 0.5))))
    closures = []
    for _ in range(rng.choice((1, 2, 3))):
        g, begin = rng.randrange(2), float(rng.randint(0, 12))
        closures.append(naive.Closure(g, rng.randint(1, groups[g].count), begin, begin + rng.randint(1, 8)))
    return jobs, naive.Machine(groups, [float("inf")], closures=tuple(closures))


def test_the_best_schedules_of_all_are_no_lower() -> None:
    """Small systems, every order and every choice of nodes: no sum over starts is below its bound, which has risen."""
    rises = 0
    for seed in range(tries(60)):
        jobs, machine = small(seed)
        workload, federation, _ = strategies.to_package(jobs, machine)
        found = bounds.lower_bounds(workload, federation)
        open_to_all = Prover(replace(found._prover.relaxation, shut=NO_CLOSURES), "lp")
        least = dict.fromkeys(SUMS, float("inf"))
        for whole in brute.wholes(jobs, machine):
            waits = [whole.starts[j] - job.submit for j, job in enumerate(jobs)]
            runs = [whole.ends[j] - whole.starts[j] for j in range(len(jobs))]
            responses = [wait + run for wait, run in zip(waits, runs, strict=True)]
            made = {
                "flow": sum(responses),
                "mean_wait": sum(waits) / len(jobs),
                "mean_slowdown": sum(a / b for a, b in zip(responses, runs, strict=True)) / len(jobs),
            }
            least = {name: min(value, made[name]) for name, value in least.items()}
        for name, value in least.items():
            assert found.of(name) <= value * (1 + 1e-9), (seed, name)
            rises += found.of(name) > open_to_all.of_starts(name) * (1 + 1e-3)
    assert rises > tries(60) / 4


def test_closed_nodes_are_a_job_to_the_wide_ones() -> None:
    """Whatever jobs run beside closed nodes, their f_p are together no more than N less that of the closed nodes."""
    rng = random.Random(3)
    for _ in range(2000):
        nodes = rng.randint(2, 20)
        closed, sizes = rng.randint(0, nodes), []
        while (left := nodes - closed - sum(sizes)) > 0 and rng.random() < 0.9:
            sizes.append(rng.randint(1, left))
        p = rng.randint(1, (nodes + 1) // 2)
        widths = dual_feasible(np.array(sizes, dtype=np.int64), p, nodes).sum()
        assert widths <= nodes - dual_feasible(np.array([closed]), p, nodes)[0]
