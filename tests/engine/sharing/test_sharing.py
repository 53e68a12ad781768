"""Jobs that share nodes: cases by hand, what is refused by name, and what the check finds."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FederationError, InfeasibleError, ScheduleError
from fedsched.engine.sharing.result import SharedSchedule


def machine(*groups: tuple[int, dict[str, int]], **others: Any) -> fs.Federation:
    """Return one cluster of groups of so many nodes that have so much."""
    inside = tuple(fs.NodeGroup(count, resources=has, off_watts=0.0) for count, has in groups)
    return fs.Federation((fs.Cluster("m", inside),), **others)


def jobs(*rows: tuple[float, int, float], **others: Any) -> fs.Workload:
    """Return jobs by submit, tasks and run time."""
    submit, tasks, runtime = zip(*rows, strict=True)
    return fs.Workload(submit=submit, tasks=tasks, runtime=runtime, **others)


def shared(workload: fs.Workload, federation: fs.Federation, policy: str = "fcfs", **others: Any) -> SharedSchedule:
    """Return the schedule, which is checked."""
    schedule = fs.simulate(workload, federation, policy, sharing=fs.NodeSharing(**others))
    assert isinstance(schedule, SharedSchedule)
    schedule.verify(claimed=schedule.metrics())
    return schedule


def where(schedule: SharedSchedule) -> list[dict[int, int]]:
    """Return the tasks of each job on each node."""
    use = schedule.use
    rows = [use.job == j for j in range(len(schedule))]
    return [dict(zip(use.node[row].tolist(), use.tasks[row].tolist(), strict=True)) for row in rows]


def test_several_jobs_run_on_one_node() -> None:
    """Tests that jobs of few cores share a node, and that the next waits until enough is free."""
    schedule = shared(jobs((0, 2, 10), (0, 1, 5), (0, 2, 3)), machine((1, {"cpu": 4})))
    assert schedule.start.tolist() == [0, 0, 5]
    assert schedule.counts.tolist() == [[2], [1], [2]]
    assert schedule.nodes_of(0) == (0,)


def test_memory_is_as_scarce_as_cores() -> None:
    """Tests that a node whose memory is taken has no room although cores are free."""
    schedule = shared(
        jobs((0, 1, 10), (0, 1, 5), demand={"memory": [60, 50]}), machine((1, {"cpu": 8, "memory": 100}))
    )
    assert schedule.start.tolist() == [0, 10]


@pytest.mark.parametrize(
    ("choice", "nodes"),
    [
        ("first", [{0: 3}, {1: 2}, {1: 2, 2: 1}]),
        ("best", [{0: 3}, {1: 2}, {0: 1, 1: 2}]),
        ("least_loaded", [{0: 3}, {1: 2}, {2: 3}]),
        ("pack", [{0: 3}, {1: 2}, {2: 3}]),
        ("spread", [{0: 1, 1: 1, 2: 1}, {0: 1, 1: 1}, {0: 1, 1: 1, 2: 1}]),
        ("block", [{0: 3}, {1: 2}, {2: 3}]),
    ],
)
def test_each_choice_takes_its_nodes(choice: str, nodes: list[dict[int, int]]) -> None:
    """Tests on which of three nodes of 4 cores each choice puts three jobs."""
    workload = jobs((0, 3, 9), (1, 2, 9), (2, 3, 9))
    if choice == "first":  # the second finds one core on the first node
        nodes = [{0: 3}, {0: 1, 1: 1}, {1: 3}]
    if choice == "best":
        nodes = [{0: 3}, {0: 1, 1: 1}, {1: 3}]
    assert where(shared(workload, machine((3, {"cpu": 4})), choice=choice)) == nodes


def test_blocks_of_neighbours_are_kept_whole() -> None:
    """Tests that the smallest block that is enough is taken, of it the tightest node, and the largest where none is."""
    workload = jobs((0, 4, 9), (0, 4, 9), (0, 4, 2), (0, 4, 9), (0, 4, 2), (0, 2, 3), (3, 3, 9), (4, 8, 9))
    assert where(shared(workload, machine((6, {"cpu": 4})), choice="block")) == [
        {0: 4}, {1: 4}, {2: 4}, {3: 4}, {4: 4}, {5: 2}, {2: 3}, {4: 4, 5: 4},
    ]  # fmt: skip


def test_tasks_per_node_stand_together() -> None:
    """Tests that so many tasks stand on each node but the last, in the room of as many."""
    workload = jobs((0, 5, 9), layout={"tasks_per_node": 2})
    assert where(shared(workload, machine((4, {"cpu": 3})))) == [{0: 2, 1: 2, 2: 1}]


def test_an_exclusive_job_has_its_nodes_for_itself() -> None:
    """Tests that nobody joins an exclusive job, and that it joins nobody."""
    workload = jobs((0, 1, 5), (0, 5, 5), (0, 1, 5), layout={"exclusive": [0, 1, 0]})
    schedule = shared(workload, machine((3, {"cpu": 4})))
    assert where(schedule) == [{0: 1}, {1: 4, 2: 1}, {0: 1}]
    assert schedule.start.tolist() == [0, 0, 0]
    assert schedule.metrics().utilisation == pytest.approx((2 * 5 / 4 + 2 * 5) / (3 * 5))


def test_parts_of_gpus_fill_the_fullest_first() -> None:
    """Tests that a share goes to the fullest device that has it, and that whole GPUs take untouched ones."""
    demand = {"gpu_share": [600, 300, 200, 0], "gpu": [0, 0, 0, 1]}
    workload = jobs((0, 1, 9), (0, 1, 9), (0, 1, 9), (0, 1, 9), demand=demand)
    schedule = shared(workload, machine((1, {"cpu": 8, "gpu": 3})))
    assert schedule.use.devices is not None
    assert schedule.use.devices[:, 1:].tolist() == [[0, 0, 600], [0, 0, 300], [0, 1, 200], [0, 2, 1000]]
    assert schedule.start.tolist() == [0, 0, 0, 0]


def test_two_shares_do_not_make_a_device() -> None:
    """Tests that what is left of two devices is not as good as one."""
    workload = jobs((0, 1, 9), (0, 1, 9), (0, 1, 9), demand={"gpu_share": [600, 600, 800]})
    assert shared(workload, machine((1, {"cpu": 8, "gpu": 2}))).start.tolist() == [0, 0, 9]


def test_a_share_of_more_than_one_takes_whole_gpus() -> None:
    """Tests that 1500 thousandths take two devices."""
    schedule = shared(jobs((0, 1, 9), demand={"gpu_share": [1500]}), machine((1, {"cpu": 1, "gpu": 2})))
    assert schedule.use.devices is not None
    assert schedule.use.devices[:, 2:].tolist() == [[0, 1000], [1, 1000]]


def test_the_two_reservations_differ_on_mixed_nodes() -> None:
    """Tests that by resources the head starts as one of a node's jobs ends, and by nodes planned only for the last."""
    # The head needs 3 cores of one node: by resources at 5, by nodes not before 10: then 8 s fit before it.
    workload = jobs((0, 2, 5), (0, 1, 10), (1, 3, 4), (2, 1, 8), layout={"tasks_per_node": [0, 0, 3, 0]})
    federation = machine((1, {"cpu": 4}))
    assert shared(workload, federation, "easy").start.tolist() == [0, 0, 5, 9]
    assert shared(workload, federation, "easy", reservation="nodes").start.tolist() == [0, 0, 10, 2]


def test_nodes_of_one_core_are_whole_nodes() -> None:
    """Tests that where each node has one core strict and greedy starts are those of whole nodes, on several speeds."""
    draw = np.random.default_rng(5)
    workload = jobs(*zip(draw.integers(0, 40, 60), draw.integers(1, 7, 60), draw.integers(1, 20, 60), strict=True))
    workload = replace(workload, estimate=workload.runtime + draw.integers(0, 9, 60))
    one = {"cpu": 1}
    clusters = [
        fs.Cluster("a", (fs.NodeGroup(3, 2.0, resources=one), fs.NodeGroup(2, resources=one))),
        fs.Cluster("b", (fs.NodeGroup(4, resources=one),)),
    ]
    federation = fs.Federation(tuple(clusters))
    for policy in ("fcfs", "greedy", "saf", "xfactor-greedy"):
        for placement in ("fastest", "best_fit", "powerful", "big_small"):
            whole = fs.simulate(workload, federation, policy, placement=placement)
            same = fs.simulate(workload, federation, policy, placement=placement, sharing="first")
            assert same.start.tolist() == whole.start.tolist()
            assert same.counts.tolist() == whole.counts.tolist()
            assert same.metrics().energy == pytest.approx(whole.metrics().energy)


def test_an_unknown_choice_of_nodes_is_refused() -> None:
    """Tests that the error names it."""
    with pytest.raises(ValueError, match="'last'"):
        fs.simulate(jobs((0, 1, 9)), machine((2, {"cpu": 4})), "easy", sharing="last")


def test_a_machine_must_tell_its_cores() -> None:
    """Tests that nodes that do not say how many cores they have cannot be shared."""
    with pytest.raises(FederationError, match="does not tell how many 'cpu'"):
        fs.simulate(jobs((0, 1, 9)), fs.Federation.homogeneous(3), sharing="first")


def test_a_job_that_fits_nowhere_is_refused() -> None:
    """Tests that a job too large for the empty machine is named with what its tasks ask for."""
    workload = jobs((0, 3, 9), demand={"cpu": 3, "memory": 5}, layout={"tasks_per_node": 2, "exclusive": 1})
    with pytest.raises(InfeasibleError, match="3 tasks of cpu 3, memory 5, 2 to a node, on nodes of its own fit on"):
        fs.simulate(workload, machine((9, {"cpu": 4, "memory": 99})), sharing="first")


def test_both_kinds_of_gpu_demand_are_refused() -> None:
    """Tests that a job does not ask for whole GPUs and for parts."""
    workload = jobs((0, 1, 9), demand={"gpu": 1, "gpu_share": 200})
    with pytest.raises(InfeasibleError, match="give whole GPUs, or a part of one"):
        fs.simulate(workload, machine((1, {"cpu": 1, "gpu": 2})), sharing="first")


def test_the_check_finds_what_is_wrong() -> None:
    """Tests that a schedule on too small a machine, with other starts or of other tasks does not pass."""
    workload = jobs((0, 2, 10), (0, 2, 5), demand={"gpu_share": 500})
    schedule = shared(workload, machine((1, {"cpu": 4, "gpu": 2})))
    columns = {name: getattr(schedule, name) for name in fs.Schedule.__slots__}
    smaller = machine((1, {"cpu": 3, "gpu": 2}))
    use = replace(schedule.use, federation=smaller)
    crowded = SharedSchedule(**(columns | {"federation": smaller}), played=schedule.played._replace(use=use))
    with pytest.raises(ScheduleError, match="has 4 of 'cpu' in use, but only 3"):
        crowded.verify()
    one_gpu = replace(schedule.use, devices=np.array(schedule.use.devices) * [1, 1, 0, 1])
    with pytest.raises(ScheduleError, match="GPU 0 of node 0 of 'm' has 1500/1000 in use"):
        SharedSchedule(**columns, played=schedule.played._replace(use=one_gpu)).verify()
    none = replace(schedule.use, devices=schedule.use.devices[:1])
    with pytest.raises(ScheduleError, match="does not give it 2 times 500/1000"):
        SharedSchedule(**columns, played=schedule.played._replace(use=none)).verify()
    late = SharedSchedule(**(columns | {"finish": schedule.finish + 1}), played=schedule.played)
    with pytest.raises(ScheduleError, match="finish differs between schedule and node use"):
        late.verify()
    with pytest.raises(ScheduleError, match="utilisation is given as"):
        schedule.verify(claimed=replace(schedule.metrics(), utilisation=0.5))
    with pytest.raises(ScheduleError, match="made of another's columns"):
        _ = SharedSchedule(**columns).use


def test_some_of_the_jobs_are_a_schedule_too() -> None:
    """Tests that a part of a schedule knows its nodes and its metrics."""
    schedule = shared(jobs((0, 2, 10), (0, 1, 5), (0, 2, 3)), machine((2, {"cpu": 4})))
    some = schedule.take(np.array([2, 0]))
    some.verify(claimed=some.metrics())
    assert where(some) == [where(schedule)[2], where(schedule)[0]]


def test_parts_of_gpus_are_said_not_to_bind_whole_nodes() -> None:
    """Tests that what only shared nodes model is said of schedules on whole ones, and not of theirs."""
    workload = jobs((0, 2, 9), demand={"gpu_share": 500})
    federation = machine((2, {"cpu": 4, "gpu": 1}))
    assert shared(workload, federation).unmodelled == ()
    assert "gpu_share" in " ".join(fs.simulate(workload, federation).unmodelled)
    together = replace(workload, layout={"tasks_per_node": 2})
    assert fs.simulate(together, federation).unmodelled == ()  # its two halves make a whole one


def test_a_run_that_is_stopped_has_what_was_done() -> None:
    """Tests that Ctrl-C leaves the jobs that have started, on their nodes, and says so."""

    def stop(finished: int, total: int) -> None:
        raise KeyboardInterrupt

    workload = jobs(*((float(k), 1, 10.0) for k in range(5000)))
    schedule = fs.simulate(workload, machine((1, {"cpu": 4})), "fcfs", sharing="first", progress=stop)
    assert not schedule.complete
    assert "interrupted at" in schedule.notes[0]
    assert 0 < np.isfinite(schedule.finish).sum() < len(workload)
    assert any("was never started" in line for line in schedule.violations())


def test_partitions_bind_on_shared_nodes() -> None:
    """Tests that a job runs on its partition's nodes, and that one that its partition does not take is refused."""
    partition = fs.Partition("p", nodes={"m": "1-1"}, max_time=20.0)
    federation = machine((2, {"cpu": 4}), partitions=(partition,))
    workload = jobs((0, 5, 9), (0, 1, 9), labels={"partition": ["", "p"]})
    assert where(shared(workload, federation)) == [{0: 4, 1: 1}, {1: 1}]
    with pytest.raises(InfeasibleError, match="over the 20 s of partition 'p'"):
        fs.simulate(replace(workload, estimate=[9, 30]), federation, sharing="first")


def test_a_federation_without_gpus_has_no_parts_of_them() -> None:
    """Tests that a demand that no node tells of binds nobody, and is said."""
    schedule = shared(jobs((0, 2, 9), demand={"gpu_share": 500}), machine((1, {"cpu": 2})))
    assert schedule.start.tolist() == [0]
    assert "gpu_share" in " ".join(schedule.unmodelled)


def test_what_is_shared_how_is_said() -> None:
    """Tests that the schedule's policy names the choice of nodes, and that unknown words are refused."""
    schedule = shared(jobs((0, 2, 9)), machine((1, {"cpu": 2})), "easy", choice="pack", reservation="nodes")
    assert schedule.policy == "easy on fastest, shared nodes (pack, counted free whole)"
    assert schedule.sharing == fs.NodeSharing(choice="pack", reservation="nodes")
    with pytest.raises(ValueError, match="reservation on shared nodes"):
        fs.NodeSharing(reservation="cores")
    with pytest.raises(TypeError, match="must be a NodeSharing, or the name"):
        fs.simulate(jobs((0, 2, 9)), machine((1, {"cpu": 2})), sharing=3)  # type: ignore[arg-type]


def test_a_conservative_job_starts_where_fast_nodes_are_free_in_time() -> None:
    """By hand: on slow nodes job 4 would run into the reservation of job 3; ten seconds later it is on fast ones."""
    groups = (
        fs.NodeGroup(2, speed=1.0, resources={"cpu": 1, "memory": 1}),
        fs.NodeGroup(1, speed=0.25, resources={"cpu": 1, "memory": 1}),
        fs.NodeGroup(1, speed=1.0, resources={"cpu": 1, "memory": 10}),
    )
    jobs = fs.Workload(
        submit=np.zeros(5), tasks=[1, 1, 4, 2, 1], runtime=[10.0, 100.0, 50.0, 50.0, 30.0],
        demand={"cpu": np.ones(5, dtype=int), "memory": [0, 10, 0, 0, 0]},
    )  # fmt: skip
    schedule = fs.simulate(jobs, fs.Federation((fs.Cluster("C", groups),)), "conservative", sharing="first")
    assert schedule.start.tolist() == [0.0, 0.0, 100.0, 10.0, 60.0]
