"""The witness itself: worked examples, equations by hand, properties, and schedules that other programs computed."""

from __future__ import annotations

import gzip
import math
from dataclasses import replace
from itertools import pairwise
from typing import TYPE_CHECKING

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from reference import naive
from reference.naive import Group, Job, Machine, Result, Running, metrics, place, simulate
from support.strategies import Scenario, random_scenario, scenarios, to_package
from support.tiers import tries

from fedsched.model.jobs.admission import admitted_groups

if TYPE_CHECKING:
    from pathlib import Path

pytestmark = pytest.mark.slow  # the reference alone: the compiler has no say in it

repeatable = hypothesis_settings(
    max_examples=tries(150, 25), deadline=None, derandomize=True, suppress_health_check=[HealthCheck.too_slow]
)


def cluster(nodes: int, **group: float) -> Machine:
    """Return one cluster of identical nodes."""
    return Machine([Group(0, nodes, **group)], [math.inf])


def clusters(*sizes: int, uplinks: list[float] | None = None) -> Machine:
    """Return clusters of equal speed."""
    return Machine([Group(k, size) for k, size in enumerate(sizes)], uplinks or [math.inf for _ in sizes])


def jobs_of(*rows: tuple[float, ...]) -> list[Job]:
    """Return jobs from rows of (submit, tasks, runtime[, estimate])."""
    return [Job(n, row[0], int(row[1]), row[2], row[-1]) for n, row in enumerate(rows, 1)]


# --------------------------------------------------------------------------------------- worked examples

EXAMPLE_1 = jobs_of((0, 1, 3), (0, 4, 2), (0, 1, 2), (0, 2, 1), (0, 3, 1), (0, 3, 2))
EXAMPLE_2 = jobs_of((0, 3, 5), (0, 2, 5), (0, 2, 5))


@pytest.mark.parametrize(
    ("dispatch", "order", "makespan"), [("strict", "fcfs", 9), ("easy", "fcfs", 7), ("strict", [1, 0, 5, 2, 3, 4], 6)]
)
def test_example_1(dispatch: str, order: naive.Order, makespan: float) -> None:
    """Tests that FIFO needs 9, EASY 7, and a good order 6, which is the area."""
    result = simulate(EXAMPLE_1, cluster(4), dispatch=dispatch, order=order)
    assert metrics(result)["makespan"] == makespan


def test_example_2() -> None:
    """Tests that the third job waits without co-allocation and starts at once with it."""
    machine = clusters(4, 3)
    jobs = [replace(job, caps=caps) for job, caps in zip(EXAMPLE_2, ([4, 0], [0, 3], None), strict=True)]
    assert simulate(jobs, machine, placement="single").start == [0, 0, 5]
    result = simulate(jobs, machine, placement="fastest")
    assert result.start == [0, 0, 0]
    assert result.counts == [[3, 0], [0, 2], [1, 1]]
    assert simulate(EXAMPLE_2, machine).start == [0, 0, 0]


def test_example_3() -> None:
    """Tests that two jobs that share an overloaded uplink are both slowed by the same load over bandwidth."""
    machine = clusters(4, 3, 5, uplinks=[100.0, 4.0, 100.0])
    first, second = jobs_of((0, 5, 6), (0, 7, 6))
    first = replace(first, sigma=0.0, bandwidth=3.0, caps=[4, 3, 0])
    second = replace(second, sigma=0.0, bandwidth=3.0)
    result = simulate([first, second], machine)
    assert result.counts == [[4, 1, 0], [0, 2, 5]]
    load = 1 * 3.0 * 4 / 4 + 2 * 3.0 * 5 / 6  # 3 + 5 = 8 on a link of 4
    assert result.finish == [6 * load / 4.0, 6 * load / 4.0]
    assert result.saturated_seconds == 12.0
    below = simulate([first, second], replace(machine, uplinks=[100.0, 8.0, 100.0]))
    assert below.finish == [6.0, 6.0]
    assert below.saturated_seconds == 0.0


def test_loss_of_capacity_worked_example() -> None:
    """Tests that the published example loses 634/9600 of its 96 processors."""
    rows = [(88, 0, 100), (3, 0, 10), (5, 10, 13), (2, 13, 17), (4, 17, 30), (5, 100, 100)]  # the last one only waits
    result = Result(
        jobs=[Job(n, 0.0 if tasks == 5 and start == 100 else start, tasks, 1.0, 1.0)
              for n, (tasks, start, _) in enumerate(rows)],
        machine=cluster(96),
        t0=0.0,
        start=[start for _, start, _ in rows],
        finish=[finish for *_, finish in rows],
        counts=[[tasks] for tasks, *_ in rows],
        saturated_seconds=0.0,
        eligible=[0.0 if tasks == 5 and start == 100 else start for tasks, start, _ in rows],
    )  # fmt: skip
    assert naive.loss_of_capacity(result) == pytest.approx(634 / 9600, rel=1e-12)


def test_loss_of_capacity_of_a_queue() -> None:
    """Tests that idle nodes count as lost only while a job waits that is no larger than they are."""
    jobs = jobs_of((0, 2, 10), (0, 4, 10), (0, 2, 5))
    assert naive.loss_of_capacity(simulate(jobs, cluster(4))) == 2 * 10 / (4 * 25)
    larger = jobs_of((0, 2, 10), (0, 4, 10), (0, 3, 5))
    assert naive.loss_of_capacity(simulate(larger, cluster(4))) == 0.0


# --------------------------------------------------------------------------------------------- equations


def test_processing_slowdown() -> None:
    """Tests that the slowest group used decides (eq. 1.1), and that an unused one does not."""
    machine = Machine([Group(0, 4, 2.0), Group(0, 4, 0.5), Group(1, 4, 0.25)], [1.0, 1.0])
    assert naive.processing_slowdown([1, 1, 0], machine) == 2.0
    assert naive.processing_slowdown([3, 0, 0], machine) == 0.5


def test_demand() -> None:
    """Tests that demand is t B (tau - t)/(tau - 1) (eq. 1.2), and 0 for one task or one cluster."""
    machine = clusters(4, 4, 4)
    job = Job(1, 0.0, 5, 1.0, 1.0, bandwidth=3.0)
    assert naive.demands(job, [3, 2, 0], machine) == [3 * 3.0 * 2 / 4, 2 * 3.0 * 3 / 4, 0.0]
    assert naive.demands(job, [0, 5, 0], machine) == [0.0, 0.0, 0.0]
    assert naive.demands(replace(job, tasks=1), [1, 0, 0], machine) == [0.0, 0.0, 0.0]


def test_communication_slowdown() -> None:
    """Tests that load is the sum of demands (1.3) and only a link that the job uses slows it (1.4, 1.5)."""
    machine = clusters(4, 4, 4, uplinks=[2.0, 4.0, math.inf])
    job = Job(1, 0.0, 2, 1.0, 1.0, bandwidth=3.0)
    loads = naive.uplink_loads([(job, [1, 1, 0]), (job, [0, 1, 1]), (job, [2, 0, 0])], machine)
    assert loads == [3.0, 6.0, 3.0]
    assert naive.communication_slowdown(job, [1, 1, 0], loads, machine) == 1.5  # max(3/2, 6/4)
    assert naive.communication_slowdown(job, [1, 0, 1], [6.0, 9.0, 9.0], machine) == 3.0
    assert naive.communication_slowdown(job, [2, 0, 0], [6.0, 9.0, 9.0], machine) == 1.0
    assert naive.communication_slowdown(job, [1, 1, 0], [1.0, 1.0, 0.0], machine) == 1.0


def test_time_cost() -> None:
    """Tests that the time cost weighs both slowdowns by the compute fraction (eq. 1.7)."""
    machine = Machine([Group(0, 2, 0.5), Group(1, 2, 2.0)], [1.0, 1.0])
    job = Job(1, 0.0, 2, 10.0, 10.0, sigma=0.75, bandwidth=3.0)
    assert naive.time_cost(job, [1, 1], 3.0, machine) == 0.75 * 2.0 + 0.25 * 3.0
    assert naive.planned_duration(job, [1, 1], machine) == 10.0 * (0.75 * 2.0 + 0.25)
    assert naive.shortest_duration(job, machine) == 10.0 * (0.75 * 0.5 + 0.25)
    assert naive.shortest_duration(replace(job, tasks=3), machine) == 10.0 * (0.75 * 2.0 + 0.25)
    assert naive.shortest_duration(replace(job, allowed={0}), machine) == 10.0 * (0.75 * 2.0 + 0.25)


SHARING = [
    Job(1, 0.0, 2, 10.0, 10.0, sigma=0.5, bandwidth=1.5, caps=[1, 1]),
    Job(2, 4.0, 2, 5.0, 5.0, sigma=0.5, bandwidth=1.5, caps=[1, 1]),
]


def test_contention_for_part_of_a_life() -> None:
    """Tests by hand that two jobs slow each other only while both run.

    Alone the load is 1.5 of 2; together it is 3, so CS = 1.5 and tc = 0.5 + 0.5·1.5 = 1.25 from 4 on. The second
    ends at 4 + 5·1.25 = 10.25; by then the first has 6 − 6.25/1.25 = 1 second of work left.
    """
    result = simulate(SHARING, clusters(2, 2, uplinks=[2.0, math.inf]))
    assert result.finish == [11.25, 10.25]
    assert result.saturated_seconds == 6.25
    assert metrics(result)["coallocated"] == 2
    both = simulate(SHARING, clusters(2, 2, uplinks=[2.0, 2.0]))
    assert both.finish == result.finish
    assert both.saturated_seconds == 12.5


def test_contention_under_the_static_reading() -> None:
    """Tests that a time cost stands as it was at the start."""
    result = simulate(SHARING, clusters(2, 2, uplinks=[2.0, math.inf]), saturation="static")
    assert result.finish == [10.0, 10.25]
    assert result.saturated_seconds == 6.0


def test_contention_changes_what_is_planned() -> None:
    """Tests that the planned end of a running job follows its rate, so that more fits before the shadow time."""
    machine = clusters(2, 2, uplinks=[2.0, math.inf])
    head = Job(3, 5.0, 4, 1.0, 1.0)
    # Planned ends at 5: 10.25 and 11.5; the head needs all nodes, so its shadow time is 11.5.
    fits, too_long = Job(4, 5.0, 1, 6.5, 6.5), Job(4, 5.0, 1, 6.6, 6.6)
    three = clusters(3, 2, uplinks=[2.0, math.inf])
    head_of_five = replace(head, tasks=5)
    assert simulate([*SHARING, head_of_five, fits], three, dispatch="easy").start[3] == 5.0
    assert simulate([*SHARING, head_of_five, too_long], three, dispatch="easy").start[3] > 11.0
    assert simulate([*SHARING, head], machine, dispatch="easy").start[2] == 11.25


def test_energy_with_idle_nodes() -> None:
    """Tests that busy nodes draw busy watts and all others idle watts, from t0 to the last finish (eq. 1.8)."""
    machine = Machine([Group(0, 2, 2.0, 100.0, 40.0), Group(1, 3, 1.0, 80.0, 30.0)], [math.inf, math.inf])
    jobs = [Job(1, 5.0, 2, 8.0, 8.0), Job(2, 5.0, 1, 10.0, 10.0)]  # 4 s on both fast nodes; 10 s on a slow one
    found = metrics(simulate(jobs, machine))
    assert found["makespan"] == 10.0
    assert found["busy_energy"] == 100.0 * (2 * 4) + 80.0 * 10
    assert found["idle_energy"] == 40.0 * (2 * 10 - 2 * 4) + 30.0 * (3 * 10 - 10)
    assert found["energy"] == found["busy_energy"] + found["idle_energy"]
    assert found["utilisation"] == 18 / 50


def test_every_metric_by_hand() -> None:
    """Tests each metric on two jobs that run one after the other, and a wait before the first submission."""
    jobs = [replace(job, user=user) for job, user in zip(jobs_of((2, 3, 20), (4, 2, 5)), (7, 8), strict=True)]
    found = metrics(simulate(jobs, cluster(4), t0=0.0))
    # The first runs over [2, 22), the second over [22, 27).
    assert found == pytest.approx(
        {
            "makespan": 27.0,
            "flow": 20.0 + 23.0,
            "mean_wait": 9.0,
            "mean_wait_eligible": 9.0,
            "max_wait": 18.0,
            "p95_wait": 0.95 * 18.0,
            "mean_response": 21.5,
            "mean_slowdown": (1.0 + 23.0 / 5.0) / 2,
            "bounded_slowdown": (1.0 + 2.3) / 2,
            "weighted_response": (3 * 20.0 + 2 * 23.0) / 5,
            "weighted_slowdown": (3 * 1.0 + 2 * 4.6) / 5,
            "utilisation": 70.0 / (4 * 27.0),
            "energy": 0.0,
            "busy_energy": 0.0,
            "idle_energy": 0.0,
            "loss_of_capacity": 0.0,
            "coallocated": 0.0,
            "saturated_seconds": 0.0,
            "wasted_node_seconds": 0.0,
            "requeues": 0.0,
            "user_spread": (2.3 - 1.0) / 2,
        }
    )


# ---------------------------------------------------------------------------------------- dispatch rules


def test_greedy_starts_all_that_fits() -> None:
    """Tests that a blocked head blocks nobody under greedy, and everybody under strict."""
    jobs = jobs_of((0, 3, 10), (1, 4, 5), (2, 1, 20))
    assert simulate(jobs, cluster(4), dispatch="greedy").start == [0, 22, 2]
    assert simulate(jobs, cluster(4), dispatch="strict").start == [0, 10, 15]


def test_easy_lets_pass_what_ends_by_the_shadow_time() -> None:
    """Tests that a job ending at the shadow time passes the head, and that one ending later does not."""
    jobs = jobs_of((0, 3, 10), (1, 4, 5), (2, 1, 20), (2, 1, 8))
    assert simulate(jobs, cluster(4), dispatch="easy").start == [0, 10, 15, 2]


def test_easy_lets_pass_what_the_head_leaves_over() -> None:
    """Tests that long jobs pass the head on nodes that it will not need, until those are used up."""
    jobs = jobs_of((0, 3, 10), (1, 4, 5), (2, 1, 20), (2, 1, 20))
    assert simulate(jobs, cluster(5), dispatch="easy").start == [0, 10, 2, 15]


def test_easy_does_not_charge_what_ends_by_the_shadow_time() -> None:
    """Tests that a job ending by the shadow time leaves the head's surplus to a longer one."""
    jobs = jobs_of((0, 3, 10), (1, 4, 5), (2, 1, 8), (2, 1, 20))
    assert simulate(jobs, cluster(5), dispatch="easy").start == [0, 10, 2, 2]


def test_easy_sjbf_tries_the_shortest_first() -> None:
    """Tests that of two jobs that could pass, queue order takes the first and SJBF the shorter."""
    jobs = jobs_of((0, 3, 10), (1, 4, 5), (2, 1, 8), (2, 1, 3))
    assert simulate(jobs, cluster(4), dispatch="easy", same_time="batch").start == [0, 10, 2, 15]
    assert simulate(jobs, cluster(4), dispatch="easy", backfill_order="sjf").start == [0, 10, 15, 2]


def test_easy_places_once_more_beside_the_reservation() -> None:
    """Tests that a long job that would take the head's fast node goes to a slow one that the head leaves over."""
    machine = Machine([Group(0, 2, 2.0), Group(1, 2, 1.0)], [math.inf, math.inf])
    first, head, long = jobs_of((0, 1, 20), (1, 2, 10), (2, 1, 40))
    result = simulate([first, replace(head, allowed={0}), long], machine, dispatch="easy")
    assert result.start == [0, 10, 2]
    assert result.counts == [[1, 0], [2, 0], [0, 1]]


def test_conservative_protects_every_waiting_job() -> None:
    """Tests that a job that EASY lets pass, to the cost of the second in the queue, waits under conservative."""
    jobs = jobs_of((0, 2, 10), (1, 3, 5), (2, 4, 5), (3, 1, 30))
    assert simulate(jobs, cluster(4), dispatch="easy").start == [0, 10, 33, 3]
    assert simulate(jobs, cluster(4), dispatch="conservative").start == [0, 10, 15, 20]


def test_conservative_fills_a_hole_exactly() -> None:
    """Tests that a job whose window ends where a reservation begins fits, and a longer one does not."""
    jobs = jobs_of((0, 3, 10), (1, 4, 5), (2, 1, 8))
    assert simulate(jobs, cluster(4), dispatch="conservative").start == [0, 10, 2]
    jobs[2] = replace(jobs[2], runtime=8.5, estimate=8.5)
    assert simulate(jobs, cluster(4), dispatch="conservative").start == [0, 10, 15]


def test_conservative_widens_the_window_for_slow_nodes() -> None:
    """Tests that a job that only fits on slow nodes is planned with the time that it takes there."""
    machine = Machine([Group(0, 1, 2.0), Group(0, 1, 1.0)], [math.inf])
    running, waiting = jobs_of((0, 1, 40), (1, 2, 10))  # 20 s on the fast node; then 10 s on both: [20, 30)
    short, long = Job(3, 2.0, 1, 18.0, 18.0), Job(3, 2.0, 1, 19.0, 19.0)  # 18 fits on the slow node until 20
    assert simulate([running, waiting, short], machine, dispatch="conservative").start == [0, 20, 2]
    assert simulate([running, waiting, long], machine, dispatch="conservative").start == [0, 20, 30]


# ------------------------------------------------------------------------------------------ same instants


def test_simultaneous_submissions() -> None:
    """Tests that in the batch reading jobs of one instant compete, and that one by one the first one starts."""
    jobs = jobs_of((0, 2, 5), (0, 2, 1))
    assert simulate(jobs, cluster(2), order="sjf", same_time="batch").start == [1, 0]
    assert simulate(jobs, cluster(2), order="sjf", same_time="sequential").start == [0, 5]


def test_submission_at_a_planned_end() -> None:
    """Tests that one by one a submission sees as free only the nodes whose *planned* end has come."""
    jobs = jobs_of((0, 1, 5, 10), (0, 1, 5), (1, 2, 1), (5, 1, 1))
    assert simulate(jobs, cluster(2), dispatch="easy", same_time="batch").start == [0, 0, 5, 6]
    assert simulate(jobs, cluster(2), dispatch="easy", same_time="sequential").start == [0, 0, 6, 5]


def test_an_end_at_now_is_not_moved_by_later_starts() -> None:
    """Tests that a job that ends just as another takes its nodes and loads its link ends exactly then.

    The job that comes sees the nodes as free before the end's event is due; recomputing the old job's end from its
    rounded rest of work would let both hold the nodes for a hair.
    """
    third = 1 / 3
    machine = clusters(3, 2, 2, uplinks=[0.3, 0.3, 1.0])
    first = Job(1, 2 * third, 6, 2 * third, 2 * third, sigma=0.6, bandwidth=1.0)
    end = simulate([first], machine).finish[0]
    second = Job(2, end, 6, 5 * third, 5 * third, sigma=0.6, bandwidth=3.3)
    result = simulate([first, second], machine, same_time="sequential")
    assert result.finish[0] == end
    assert result.start[1] == end


def test_a_pending_end_loads_its_links_now_and_not_later() -> None:
    """Tests that a link-aware plan of a later time is free of the load of a job whose finish is pending.

    At 5 the wide first job is pending and the small one starts in its place. The large one, that spans clusters, is
    planned for 6, when the small one ends and nothing loads the links; so the long one may not pass it.
    """
    machine = clusters(5, 6, 6, uplinks=[10.0, 10.0, 10.0])
    wide = Job(2, 0.0, 9, 5.0, 5.0, bandwidth=3.3, caps=[0, 6, 6])
    small, large, long = Job(1, 5.0, 4, 1.0, 1.0), Job(10, 0.0, 16, 3.0, 3.0, bandwidth=1.0), Job(12, 1.0, 6, 6.0, 6.0)
    jobs = [wide, replace(small, caps=[5, 0, 0]), large, replace(long, caps=[0, 0, 6])]
    result = simulate(
        jobs, machine, order="sjf", dispatch="conservative", placement="link_aware", same_time="sequential"
    )
    assert result.counts[0] == [0, 6, 3]
    assert result.start == [0.0, 5.0, 6.0, 9.0]


# --------------------------------------------------------------------------------------------- estimates


def test_overrun_frees_its_nodes_strictly_after_now() -> None:
    """Tests that a job past its estimate keeps its nodes, and lets nobody pass who would need time."""
    jobs = jobs_of((0, 2, 10, 4), (1, 3, 1), (3, 1, 2), (5, 1, 1))
    assert simulate(jobs, cluster(3), dispatch="easy").start == [0, 10, 11, 11]
    assert simulate(jobs, cluster(3), dispatch="conservative").start == [0, 10, 11, 11]


def test_kill_at_estimate() -> None:
    """Tests that a job past its estimate is ended there when asked."""
    jobs = jobs_of((0, 2, 10, 4), (1, 3, 1), (3, 1, 2), (5, 1, 1))
    result = simulate(jobs, cluster(3), dispatch="easy", kill_at_estimate=True)
    assert result.start == [0, 4, 5, 5]
    assert result.finish == [4, 5, 7, 6]


# ---------------------------------------------------------------------------------------------- placement

PLACES = Machine(
    [
        Group(0, 4, 1.0, 200.0, 100.0),
        Group(1, 2, 2.0, 300.0, 50.0),
        Group(1, 3, 1.0, 150.0, 100.0),
        Group(2, 3, 1.0, 120.0, 100.0),
    ],
    [1.0, math.inf, math.inf],
)
NO_LOAD = [0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    ("rule", "tasks", "free", "expected"),
    [
        ("fastest", 2, [4, 2, 3, 3], [0, 2, 0, 0]),  # the fastest slowest node
        ("fastest", 3, [4, 2, 3, 3], [0, 0, 0, 3]),  # all as slow: the fewest left over (0 of cluster 2)
        ("fastest", 3, [3, 2, 3, 3], [3, 0, 0, 0]),  # a tie: the lower cluster
        ("fastest", 5, [4, 2, 3, 3], [0, 2, 3, 0]),
        ("fastest", 7, [4, 1, 3, 3], [4, 1, 2, 0]),  # fast group, then free nodes per cluster: 4, 4, 3
        ("fastest", 7, [3, 2, 2, 3], [3, 2, 2, 0]),  # 3, 4, 3: cluster 1 first, whose fast group is full
        ("single", 6, [4, 2, 3, 3], None),
        ("best_fit", 2, [4, 2, 3, 3], [0, 0, 0, 2]),
        ("best_fit", 4, [4, 2, 3, 3], [4, 0, 0, 0]),
        ("best_fit", 6, [4, 2, 3, 3], [1, 2, 3, 0]),  # the largest chunk is cluster 1
        ("efficient", 6, [4, 2, 3, 3], [0, 0, 3, 3]),  # 20, 50, 100 and 125 extra watts per unit of speed
        ("efficient", 8, [4, 2, 3, 3], [2, 0, 3, 3]),
        ("powerful", 4, [4, 2, 3, 3], [2, 2, 0, 0]),
        ("powerful", 9, [4, 2, 3, 3], [4, 2, 3, 0]),
        ("big_small", 5, [4, 2, 3, 3], [0, 2, 3, 0]),
        ("big_small", 6, [4, 2, 3, 3], [1, 2, 3, 0]),  # 5 of 6 in the largest
        ("big_small", 7, [4, 2, 3, 3], None),  # 5 of 7 are fewer than 6
        ("link_aware", 2, [1, 0, 0, 1], [1, 0, 0, 1]),
        ("home", 3, [3, 2, 3, 3], [3, 0, 0, 0]),
        ("home", 4, [3, 2, 3, 3], None),
    ],
)
def test_placement(rule: str, tasks: int, free: list[int], expected: list[int] | None) -> None:
    """Tests each placement rule on free nodes that tell it from the others."""
    job = Job(1, 0.0, tasks, 10.0, 10.0, bandwidth=1.0, origin=0)
    assert place(job, free, NO_LOAD, PLACES, rule) == expected


def test_fastest_prefers_the_freer_cluster_among_equal_speeds() -> None:
    """Tests that co-allocation takes equal speeds from the cluster with more free nodes."""
    machine = clusters(2, 4, 3)
    job = Job(1, 0.0, 5, 1.0, 1.0)
    assert place(job, [2, 4, 3], NO_LOAD, machine, "fastest") == [0, 4, 1]
    assert place(replace(job, caps=[2, 1, 3]), [2, 4, 3], NO_LOAD, machine, "fastest") == [1, 1, 3]


def test_efficient_counts_the_idle_share() -> None:
    """Tests that a slow cluster with cheap nodes loses when the whole machine idles longer for it."""
    machine = Machine([Group(0, 1, 1.0, 10.0, 0.0), Group(1, 1, 4.0, 80.0, 0.0)], [math.inf, math.inf])
    idling = Machine([*machine.groups, Group(2, 8, 1.0, 100.0, 100.0)], [math.inf] * 3)
    job = Job(1, 0.0, 1, 100.0, 100.0)
    assert place(job, [1, 1], [0.0, 0.0], machine, "efficient") == [1, 0]  # 1000 J against 2000 J
    # 1000 + 800/10·100 = 9000 J against 2000 + 800/10·25 = 4000 J
    assert place(replace(job, caps=[1, 1, 0]), [1, 1, 8], NO_LOAD, idling, "efficient") == [0, 1, 0]


def test_link_aware_refuses_an_overload() -> None:
    """Tests that a co-allocation is refused from the load at which the link would be over its bandwidth."""
    job = Job(1, 0.0, 2, 10.0, 10.0, bandwidth=1.0)
    assert place(job, [1, 0, 0, 1], [0.0, 9.0, 9.0], PLACES, "link_aware") == [1, 0, 0, 1]
    assert place(job, [1, 0, 0, 1], [0.1, 0.0, 0.0], PLACES, "link_aware") is None
    assert place(job, [2, 0, 0, 1], [0.1, 0.0, 0.0], PLACES, "link_aware") == [2, 0, 0, 0]


@pytest.mark.parametrize("dispatch", naive.DISPATCH)
def test_link_aware_waits_for_the_link(dispatch: str) -> None:
    """Tests that two jobs that would overload a link run one after the other under every dispatch rule."""
    machine = clusters(2, 2, uplinks=[2.0, math.inf])
    result = simulate(SHARING, machine, dispatch=dispatch, placement="link_aware")
    assert result.start == [0.0, 10.0]
    assert result.saturated_seconds == 0.0


def test_caps_allowed_and_feasibility() -> None:
    """Tests that caps and allowed clusters bound a placement, and that what can never fit is an error."""
    job = Job(1, 0.0, 3, 1.0, 1.0, caps=[9, 1, 0, 9], allowed={0, 1})
    assert naive.effective_caps(job, PLACES) == [4, 1, 0, 0]
    assert place(job, [2, 2, 3, 3], NO_LOAD, PLACES, "fastest") == [2, 1, 0, 0]
    assert not naive.feasible(replace(job, tasks=6), PLACES, "fastest")
    with pytest.raises(ValueError, match="Job 1: tasks=6"):
        simulate([replace(job, tasks=6)], PLACES)
    with pytest.raises(ValueError, match="needs an origin"):
        simulate([job], PLACES, placement="home")


# ------------------------------------------------------------------------------------------- queue orders


@pytest.mark.parametrize(
    ("order", "expected"),
    [
        ("fcfs", [2, 0, 1, 3]),
        ("sjf", [2, 0, 3, 1]),
        ("ljf", [1, 3, 0, 2]),
        ("smallest", [3, 0, 1, 2]),
        ("largest", [2, 1, 0, 3]),
        ("saf", [3, 0, 2, 1]),  # 30, 480, 256, 12
        ("laf", [1, 2, 0, 3]),
        ("xfactor", [2, 0, 1, 3]),  # 16/10, 20/15, 13/4, 12/12
        ("wfp3", [2, 1, 0, 3]),  # .216·3, .037·32, 11.4·64, 0
        ("unicef", [0, 2, 1, 3]),  # .6/1.585, .333/5, 2.25/6, 0
        ("f1", [2, 0, 1, 3]),  # 3 + 870 log 3, 38 + 870 log 4, 39 + 0, 1 + 870 log 9
    ],
)
def test_queue_orders(order: str, expected: list[int]) -> None:
    """Tests the key of each queue order at time 12 on four waiting jobs, t0 = 3."""
    jobs = jobs_of((6, 3, 10), (7, 32, 15), (3, 64, 4), (12, 1, 12))
    keys = [(naive.queue_key(job, order, 12.0 - job.submit, 3.0), job.submit) for job in jobs]
    assert sorted(range(4), key=keys.__getitem__) == expected


def test_f1_weighs_size_against_age() -> None:
    """Tests that under f1 a small later job goes before a large earlier one."""
    large, small = Job(1, 1.0, 100, 1000.0, 1000.0), Job(2, 2.0, 1, 10.0, 10.0)
    assert naive.queue_key(large, "f1", 5.0, 0.0) == pytest.approx(300.0)
    assert naive.queue_key(small, "f1", 5.0, 0.0) == pytest.approx(1.0 + 870.0 * math.log10(2.0))


def test_a_queue_order_decides_who_starts() -> None:
    """Tests that a simulation serves the queue by the order given, explicit ones included."""
    jobs = jobs_of((0, 1, 10), (1, 1, 3), (2, 1, 1), (3, 1, 2))
    assert simulate(jobs, cluster(1), order="sjf").start == [0, 13, 10, 11]
    assert simulate(jobs, cluster(1), order="ljf").start == [0, 10, 15, 13]
    assert simulate(jobs, cluster(1), order=(3, 1, 0, 2)).start == [0, 12, 15, 10]


def test_ties_go_by_submission_then_identity() -> None:
    """Tests that equal keys are served by submit, then id, whatever the rows."""
    jobs = [Job(7, 1.0, 1, 5.0, 5.0), Job(3, 1.0, 1, 5.0, 5.0), Job(9, 0.0, 1, 5.0, 5.0), Job(8, 0.0, 1, 9.0, 9.0)]
    assert simulate(jobs, cluster(1), order="sjf").start == [10, 5, 0, 15]


# --------------------------------------------------------------------------------------------- properties


def check_schedule(scenario: Scenario, result: Result) -> None:
    """Check a schedule against the model from its starts, finishes and counts alone."""
    machine = scenario.machine
    killed = {one.job: one.end for one in result.lost if not one.requeued}
    ended = [replace(job, ends="badly") if j in killed else job for j, job in enumerate(result.jobs)]
    unstarted = {j for j, start in enumerate(result.start) if math.isnan(start)}
    missed = {j for j in unstarted if result.jobs[j].reservation is not None}  # their reservation (reading 46)
    never = naive.never_start(ended, scenario.settings.kill_at_estimate, missed=missed) - killed.keys()
    assert never | missed | killed.keys() == unstarted
    runs = naive.runs_of(result)
    begun = {j: min(run.start for run in runs if run.job == j) for j in {run.job for run in runs}}
    over = killed | {j: finish for j, finish in enumerate(result.finish) if not math.isnan(finish)}
    for j in begun:
        for kind, on, lag in naive.conditions(result.jobs, j):
            assert begun[j] >= (begun if kind == "after" else over)[on] + lag
    if not runs:
        return
    records = [(result.jobs[run.job], run.start, run.end, run.counts) for run in runs]
    for job, start, finish, counts in records:
        assert max(job.submit, job.begin) <= start < finish
        assert sum(counts) == job.tasks
        assert all(0 <= x <= cap for x, cap in zip(counts, naive.effective_caps(job, machine), strict=True))
        used = sum(t > 0 for t in naive.tasks_per_cluster(counts, machine))
        assert used == 1 or scenario.settings.placement not in ("single", "home")
    times = sorted({time for _, start, finish, _ in records for time in (start, finish)})
    done = [0.0 for _ in records]
    saturated = 0.0
    for begin, end in pairwise(times):
        on = [n for n, (_, start, finish, _) in enumerate(records) if start <= begin < finish]
        for g, group in enumerate(machine.groups):
            assert sum(records[n][3][g] for n in on) <= group.count
        holders = [(records[n][0], records[n][3]) for n in on]
        loads = naive.uplink_loads(holders, machine)
        saturated += sum(load > bandwidth for load, bandwidth in zip(loads, machine.uplinks, strict=True)) * (
            end - begin
        )
        slowdowns = naive.slowdowns(holders, machine, scenario.settings.saturation == "fair")
        for n, (job, counts), slowdown in zip(on, holders, slowdowns, strict=True):
            done[n] += (end - begin) / naive.time_cost(job, counts, slowdown, machine)
    assert result.saturated_seconds == pytest.approx(saturated, rel=1e-6, abs=1e-6)
    if scenario.settings.saturation != "static":
        kill = scenario.settings.kill_at_estimate
        work = [min(job.runtime, job.estimate) if kill else job.runtime for job, *_ in records]
        whole = len(records) - len(result.lost)
        # A run is its work, to within some steps of the clock; at time costs below 1 each step does more work.
        slack = 4 * max(1.0, *(group.speed for group in machine.groups)) * math.ulp(times[-1])
        assert done[:whole] == pytest.approx(work[:whole], rel=1e-6, abs=slack)
        assert all(part <= of * (1 + 1e-6) + slack for part, of in zip(done[whole:], work[whole:], strict=True))


@given(scenarios())
@repeatable
def test_every_schedule_keeps_the_model(scenario: Scenario) -> None:
    """Tests that capacity, submissions, caps and rates hold at every moment of any schedule."""
    check_schedule(scenario, scenario.simulate())


@pytest.mark.parametrize("seed", range(120))
def test_every_crowded_schedule_keeps_the_model(seed: int) -> None:
    """Tests the same on evenly drawn, more crowded scenarios."""
    scenario = random_scenario(seed)
    check_schedule(scenario, scenario.simulate())


@given(scenarios(without_contention=True))
@repeatable
def test_static_equals_dynamic_without_contention(scenario: Scenario) -> None:
    """Tests that both readings of saturation agree exactly when no link is loaded."""
    static, dynamic = (scenario.simulate(saturation=one).of_the_started() for one in ("static", "dynamic"))
    assert (static.start, static.finish, static.counts) == (dynamic.start, dynamic.finish, dynamic.counts)


@given(scenarios())
@repeatable
def test_doubled_speeds_halve_a_pure_compute_schedule(scenario: Scenario) -> None:
    """Tests that with every submission at 0 and no communication twice the speed takes half the time."""
    scenario = scenario.without_conditions().without_closures()  # lags and windows do not shrink with the speed
    static_orders = [name for name in naive.ORDERS if name not in ("xfactor", "wfp3", "unicef")]
    order = scenario.settings.order if scenario.settings.order in static_orders else "fcfs"
    jobs = [replace(job, submit=0.0, sigma=1.0) for job in scenario.jobs]
    machine = scenario.machine
    fast = replace(machine, groups=[replace(group, speed=2 * group.speed) for group in machine.groups])
    slow_result = replace(scenario, jobs=jobs).simulate(order=order, backfill_order=None)
    fast_result = replace(scenario, jobs=jobs, machine=fast).simulate(order=order, backfill_order=None)
    assert [2 * time for time in fast_result.start] == slow_result.start
    assert [2 * time for time in fast_result.finish] == slow_result.finish


@given(scenarios(dispatch="strict", order="fcfs"))
@repeatable
def test_strict_starts_in_queue_order(scenario: Scenario) -> None:
    """Tests that nobody starts before an earlier job under FIFO, where no limit passes that one over."""
    result = scenario.without_conditions().without_limits().without_reservations().simulate()
    line = sorted(range(len(result.jobs)), key=lambda j: (result.jobs[j].submit, result.jobs[j].id))
    first = {one.job: one.start for one in reversed(result.lost)}  # of jobs that an outage threw back
    starts = [first.get(j, result.start[j]) for j in line]
    assert starts == sorted(starts)


@given(scenarios(dispatch="strict", order="fcfs", same_time="batch"), st.integers(0, 30))
@repeatable
def test_resuming_from_running_jobs_changes_nothing(scenario: Scenario, instant: int) -> None:
    """Tests that a simulation started from the jobs that run at some instant ends as if it had not stopped."""
    scenario = scenario.as_chosen().without_conditions()  # on jobs that ended before
    if scenario.settings.placement == "link_aware":
        scenario = replace(scenario, settings=replace(scenario.settings, placement="fastest"))
    states: list[tuple[float, list[Running], set[int]]] = []

    def watch(simulation: naive.Simulation) -> None:
        running = [replace(record) for record in simulation.running]
        over = {record.job for record in simulation.done} | {one.job for one in simulation.lost if not one.requeued}
        states.append((simulation.now, running, over))

    whole = scenario.simulate(watch=watch)
    now, running, done = states[min(instant, len(states) - 1)]
    left = [j for j in range(len(whole.jobs)) if j not in done]
    if not left:
        return
    limits = tuple(
        replace(limit, parts={left.index(j): part for j, part in limit.parts.items() if j in left})
        for limit in scenario.machine.limits
    )
    resumed = simulate(
        [whole.jobs[j] for j in left],
        replace(scenario.machine, limits=limits),
        placement=scenario.settings.placement,
        saturation=scenario.settings.saturation,
        kill_at_estimate=scenario.settings.kill_at_estimate,
        alternatives=scenario.settings.alternatives,
        t0=now,
        running=[replace(record, job=left.index(record.job)) for record in running],
    )
    assert resumed.start == [whole.start[j] for j in left]
    assert resumed.finish == [whole.finish[j] for j in left]


def test_energy_of_a_resumed_schedule_begins_at_t0() -> None:
    """Tests that what running jobs drew before t0 is not counted."""
    machine = cluster(2, busy=100.0, idle=10.0)
    record = Running(0, -5.0, [1], 1.0, 15.0, 15.0, -5.0, 10.0, 10.0)
    found = metrics(simulate([Job(1, -5.0, 1, 15.0, 15.0)], machine, t0=0.0, running=[record]))
    assert found["busy_energy"] == 1000.0
    assert found["idle_energy"] == 100.0
    assert found["utilisation"] == 0.5


@pytest.mark.deep
def test_the_drawn_scenarios_are_worth_drawing() -> None:
    """Tests that among the crowded scenarios waits, contention, co-allocation and equal instants are common."""
    waits = saturated = coallocated = readings = saturations = 0
    for seed in range(300):
        scenario = random_scenario(seed)
        result = scenario.simulate()
        if not result.ran:
            continue
        found = metrics(result)
        waits += found["max_wait"] > 0
        saturated += found["saturated_seconds"] > 0
        coallocated += found["coallocated"] > 0
        other = "sequential" if scenario.settings.same_time == "batch" else "batch"
        readings += scenario.simulate(same_time=other).start != result.start
        other = "static" if scenario.settings.saturation == "dynamic" else "dynamic"
        saturations += scenario.simulate(saturation=other).finish != result.finish
    assert waits > 100
    assert saturated > 30
    assert coallocated > 60
    assert readings > 25
    assert saturations > 15


@pytest.mark.parametrize("seed", range(20))
def test_package_nouns_say_the_same(seed: int) -> None:
    """Tests that the package's workload and federation carry every number of the naive ones."""
    scenario = random_scenario(seed)
    workload, federation, caps = to_package(scenario.jobs, scenario.machine)
    assert [(g.count, g.speed, g.busy_watts, g.idle_watts) for g in federation.groups] == [
        (g.count, g.speed, g.busy, g.idle) for g in scenario.machine.groups
    ]
    assert list(federation.group_cluster) == [group.cluster for group in scenario.machine.groups]
    assert [c.uplink for c in federation.clusters] == scenario.machine.uplinks
    opened = admitted_groups(workload, federation)
    for j, job in enumerate(scenario.jobs):
        numbers = (workload.id[j], workload.submit[j], workload.tasks[j], workload.runtime[j], workload.estimate[j])
        assert numbers == (job.id, job.submit, job.tasks, job.runtime, job.estimate)
        more = (workload.compute_fraction[j], workload.task_bandwidth[j], workload.origin[j], workload.user[j])
        assert more == (job.sigma, job.bandwidth, job.origin, job.user)
        allowed = set(range(len(federation.clusters))) if job.allowed is None else job.allowed
        open_to = [
            min(cap, group.count) if group.cluster in allowed and may else 0
            for cap, group, may in zip(caps[j], scenario.machine.groups, opened[j], strict=True)
        ]
        assert open_to == naive.effective_caps(job, scenario.machine)
        if workload.allowed is not None:
            assert {k for k in range(len(federation.clusters)) if workload.allowed[j, k]} == allowed


# ------------------------------------------------------------------- schedules that other programs computed
#
# No decision looks ahead: until job N + 1 is submitted, a schedule of the first N jobs is the schedule of all.
# So of a prefix those jobs are compared that start, in either schedule, before the next job's submission.


def disagreements(result: Result, expected: list[float], next_submit: float) -> list[tuple[int, float, float]]:
    """Return (id, our start, their start) where a start before the next submission differs."""
    rows = zip(result.jobs, result.start, expected, strict=True)
    return [(job.id, ours, theirs) for job, ours, theirs in rows if ours != theirs and min(ours, theirs) < next_submit]


@pytest.mark.parametrize(
    ("name", "clairvoyant", "backfill_order"),
    [("easy", False, None), ("easy-clairvoyant", True, None), ("easy-sjbf-clairvoyant", True, "sjf")],
)
def test_sequential_reading_against_pyss(
    oracles_dir: Path, name: str, clairvoyant: bool, backfill_order: str | None
) -> None:
    """Tests that each wait that pyss computed comes out exactly in the sequential reading."""
    size = 1500
    path = oracles_dir / f"KTH-SP2.pyss-{name}.swf.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    rows = [[int(float(field)) for field in line.split()] for line in lines if line and not line.startswith(";")]
    rows.sort(key=lambda row: (row[1], row[0]))
    jobs = [
        Job(row[0], float(row[1]), row[7], float(row[3]), float(row[3] if clairvoyant else row[8]))
        for row in rows[:size]
    ]
    expected = [float(row[1] + row[2]) for row in rows[:size]]
    result = simulate(jobs, cluster(100), dispatch="easy", backfill_order=backfill_order, same_time="sequential")
    assert sum(start < rows[size][1] for start in expected) > 0.9 * size
    assert sum(start > job.submit for start, job in zip(expected, jobs, strict=True)) > 400
    assert disagreements(result, expected, rows[size][1]) == []


def cleaned(path: Path, processors: int) -> list[Job]:
    """Return the jobs of a log as the batch oracles saw them."""
    kept = []
    for line in gzip.decompress(path.read_bytes()).decode().splitlines():
        if not line.strip() or line.lstrip().startswith(";"):
            continue
        fields = [float(field) for field in line.split()]
        tasks = int(fields[4] if fields[4] > 0 else fields[7])
        if fields[3] > 0 and 0 < tasks <= processors:
            kept.append((fields[1], fields[0], tasks, fields[3], max(fields[8], fields[3])))
    kept.sort()
    return [
        Job(n, submit - kept[0][0], tasks, run, estimate) for n, (submit, _, tasks, run, estimate) in enumerate(kept, 1)
    ]


def batch_oracle(path: Path) -> list[float]:
    """Return the starts of a batch oracle, by id."""
    lines = gzip.decompress(path.read_bytes()).decode().split()
    return [float(line.split(",")[2]) for line in lines]


LOGS = {"kth": ("kth-clean-28481", 100), "nasa": ("NASA-iPSC-1993-3.1-cln", 128), "lublin256": ("lublin_256", 256)}


@pytest.mark.parametrize(
    ("log", "rule", "size"),
    [
        ("kth", "fcfs", 1500),
        ("kth", "easy", 1500),
        ("kth", "cons", 600),
        ("nasa", "fcfs", 1500),
        ("nasa", "easy", 1500),
        ("nasa", "cons", 1500),
        ("lublin256", "fcfs", 400),
        ("lublin256", "easy", 400),
        ("lublin256", "cons", 180),
    ],
)
def test_batch_reading_against_other_programs(
    oracles_dir: Path, traces_dir: Path, log: str, rule: str, size: int
) -> None:
    """Tests that each start that other programs computed comes out exactly in the batch reading."""
    name, processors = LOGS[log]
    jobs = cleaned(traces_dir / f"{name}.swf.gz", processors)
    expected = batch_oracle(oracles_dir / f"{log}.batch-{rule}.csv.gz")
    assert len(jobs) == len(expected)
    dispatch = {"fcfs": "strict", "easy": "easy", "cons": "conservative"}[rule]
    result = simulate(jobs[:size], cluster(processors), dispatch=dispatch)
    assert sum(start < jobs[size].submit for start in expected[:size]) > 0.7 * size
    assert disagreements(result, expected[:size], jobs[size].submit) == []


@pytest.mark.parametrize(("rule", "dispatch"), [("easy", "easy"), ("cons", "conservative")])
def test_resuming_in_the_middle_of_a_log(oracles_dir: Path, traces_dir: Path, rule: str, dispatch: str) -> None:
    """Tests that started from the jobs that run in the midst of an oracle, the simulation goes on as the oracle."""
    jobs = cleaned(traces_dir / "kth-clean-28481.swf.gz", 100)
    expected = batch_oracle(oracles_dir / f"kth.batch-{rule}.csv.gz")
    first, last = 9000, 9200
    # Half a second after a submission, so that nothing else happens at t0.
    t0 = jobs[first].submit + 0.5
    known = [j for j in range(last) if expected[j] + jobs[j].runtime > t0]
    running = []
    for n, j in enumerate(known):
        if expected[j] < t0:
            job, start = jobs[j], expected[j]
            finish, planned = start + job.runtime, start + job.estimate
            running.append(Running(n, start, [job.tasks], 1.0, job.runtime, job.estimate, start, finish, planned))
    running.sort(key=lambda record: record.start)
    result = simulate([jobs[j] for j in known], cluster(100), dispatch=dispatch, t0=t0, running=running)
    assert len(running) > 5
    assert sum(jobs[j].submit < t0 < expected[j] for j in known) > 5
    assert disagreements(result, [expected[j] for j in known], jobs[last].submit) == []
