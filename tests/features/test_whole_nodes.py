"""Jobs with several tasks on each of their nodes, which nobody shares: by hand and beside the reference [76]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.deciding import by_engine, first_waiting
from support.tiers import tries
from support.whole_node_cases import EIGHT, against, machine, nodes_of, work

import fedsched as fs
from fedsched.core.errors import InfeasibleError, ScheduleError
from fedsched.gym.episodes import Episodes
from fedsched.model.jobs.admission import count_in_nodes
from fedsched.model.jobs.alternatives import present_shapes as shape_of_each
from fedsched.model.jobs.layout import tasks_on_nodes
from fedsched.model.jobs.shaping import with_shapes
from fedsched.model.reading import Reading
from fedsched.model.schedule.schedule import Schedule
from fedsched.plot.gantt import link_load
from fedsched.report.plan_data import jobs_of
from fedsched.search.problem.slowdown import time_costs
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_systems_agree(part: int) -> None:
    """Tests that starts, nodes, finishes and metrics are the reference's, over all rules and beside all else."""
    packed = 0
    for seed in range(part, tries(600, 80), 4):
        scenario = strategies.on_whole_nodes(strategies.random_scenario(seed, restless=True), seed)
        against(scenario)
        packed += sum(max(naive.tasks_to_a_node(job, scenario.machine)) > 1 for job in scenario.jobs)
    assert packed > tries(600, 80) // 4


@pytest.mark.parametrize("placement", naive.PLACEMENT)
@pytest.mark.parametrize("dispatch", naive.DISPATCH)
def test_every_rule_agrees(dispatch: str, placement: str) -> None:
    """Tests that each dispatch rule with each placement holds as many nodes as the reference, at the same times."""
    for seed in range(30_000, 30_000 + tries(6)):
        scenario = strategies.random_scenario(seed, restless=True, dispatch=dispatch, placement=placement)
        against(strategies.on_whole_nodes(scenario, seed))


def test_so_many_tasks_stand_on_a_node() -> None:
    """Tests that the last node takes the rest, that fewer tasks than k are on one, and that 1 and 0 are as ever."""
    layout = {"tasks_per_node": [8, 8, 5, 8, 1, 0]}
    assert nodes_of(work([16, 17, 12, 3, 3, 3], layout=layout)) == [2, 3, 3, 1, 3, 3]


def test_an_exclusive_job_fills_its_nodes() -> None:
    """Tests that cores, memory and devices decide how many of its tasks a node holds, and `tasks_per_node` before."""
    alone = {"exclusive": 1}
    assert nodes_of(work([8, 9, 24], layout=alone)) == [1, 2, 3]
    assert nodes_of(work([8, 7], demand={"cpu": [2, 3]}, layout=alone)) == [2, 4]
    assert nodes_of(work([8, 8], demand={"cpu": [2, 1], "memory": [0, 50]}, layout=alone)) == [2, 4]
    assert nodes_of(work([6, 6], demand={"gpu": [1, 0], "gpu_share": [0, 400]}, layout=alone)) == [3, 2]
    assert nodes_of(work([8], layout={"exclusive": 1, "tasks_per_node": 4})) == [2]
    assert nodes_of(work([3], layout=alone), fs.Federation.of(4)) == [3]  # nodes that say nothing hold one task


def test_a_node_must_have_what_its_tasks_demand_together() -> None:
    """Tests that nodes which are too small for k tasks are left out, and jobs that fit nowhere refused by name."""
    two = machine((3, {"cpu": 4}), (2, {"cpu": 8}))
    jobs = work([8, 8], demand={"cpu": [1, 1]}, layout={"tasks_per_node": [4, 8]})
    assert fs.simulate(jobs, two, "greedy").counts.tolist() == [[2, 0], [0, 1]]
    with pytest.raises(InfeasibleError, match=r"Job 1: tasks=1 exceeds the 0 nodes with at least cpu 9"):
        fs.simulate(work([9], layout={"tasks_per_node": 9}), two, "greedy")
    wide = work([8, 20, 29], layout={"tasks_per_node": [4, 8, 0], "exclusive": [0, 0, 1]})
    assert two.admits(wide).tolist() == [True, False, False]
    assert len(fs.simulate(wide.filter(two.admits(wide)), two)) == 1
    endless = count_in_nodes(work([4], demand={"cpu": 2**60}, layout={"tasks_per_node": 4}), two)
    assert endless.demand.columns()["cpu"][0] > 2**53


def test_what_settles_how_many_stand_on_nodes_of_different_sizes() -> None:
    """Tests that an exclusive job's tasks, its partition or its layout may, and that its nodes are then one number."""
    two = machine((3, {"cpu": 4}), (2, {"cpu": 8}))
    assert nodes_of(work([4, 6], layout={"exclusive": 1, "tasks_per_node": [0, 2]}), two) == [1, 3]
    large = replace(two, partitions=(fs.Partition("large", nodes={"A": "3-4"}),))
    kept = work([6], layout={"exclusive": 1}, labels={"partition": ["large"]})
    schedule = fs.simulate(kept, large)
    assert schedule.counts.tolist() == [[0, 1]]
    assert schedule.workload.layout.columns()["tasks_per_node"].tolist() == [6]
    small = machine((1, {"cpu": 4}), (3, {"cpu": 8}))
    assert nodes_of(work([3], demand={"cpu": 5}, layout={"exclusive": 1}), small) == [3]


def test_uplinks_carry_what_tasks_send() -> None:
    """Tests that eq. 1.2 counts tasks: 6 of them, 2 to a node, 4 here and 2 there, ask for b·4·2/5 of each uplink."""
    clusters = tuple(fs.Cluster(name, (fs.NodeGroup(n),), uplink=1.0) for name, n in (("A", 2), ("B", 1)))
    two = fs.Federation(clusters)
    jobs = work([6], compute_fraction=0.5, task_bandwidth=2.5, layout={"tasks_per_node": 2})
    for tasks, there in ((6, 2), (5, 1)):  # the last node, that of the second cluster, may not be full
        given = replace(jobs, tasks=[tasks])
        schedule = fs.simulate(given, two)
        schedule.verify(claimed=schedule.metrics())
        assert schedule.counts.tolist() == [[2, 1]]
        assert schedule.workload.task_bandwidth.tolist() == [2.5]
        assert schedule.finish[0] == pytest.approx(10 * (0.5 + 0.5 * 2.5 * 4 * there / (tasks - 1)))
        assert link_load(schedule, 1, 1.0)[1].max() == 2.5 * 4 * there / (tasks - 1)
        assert {"each", "on_nodes"} <= {name for name, *_ in jobs_of(schedule, 1.0)["columns"]}
        with pytest.raises(ScheduleError, match="it finishes at"):
            changed(schedule, finish=[schedule.finish[0] - 0.5]).verify()
    quiet = replace(jobs, tasks=[5], task_bandwidth=[0.0])
    assert fs.simulate(quiet, two).finish.tolist() == [10.0]
    assert nodes_of(replace(jobs, tasks=[3]), fs.Federation.of(4)) == [2]


def test_the_last_node_is_that_of_the_last_cluster() -> None:
    """Tests that counts say what is sent: `powerful` takes the second cluster first, and its node is not full."""
    clusters = tuple(fs.Cluster(name, (fs.NodeGroup(n, speed),), uplink=0.5) for name, n, speed in
                     (("A", 2, 1.0), ("B", 1, 2.0)))  # fmt: skip
    two = fs.Federation(clusters)
    jobs = work([5], compute_fraction=0.5, task_bandwidth=1.0, layout={"tasks_per_node": 2})
    schedule = fs.simulate(jobs, two, "fcfs", placement="powerful")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.counts.tolist() == [[2, 1]]
    assert schedule.finish[0] == pytest.approx(10 * (0.5 + 0.5 * (4 * 1 / 4) / 0.5))
    problem = prepare(jobs, two).problem
    assert time_costs(problem, np.array([0]), schedule.counts).tolist() == [schedule.finish[0] / 10]
    assert time_costs(problem, np.array([0]), np.array([[3, 0]])).tolist() == [1.0]


def test_shapes_send_what_their_tasks_send() -> None:
    """Tests that shapes which end alike on as many nodes differ by what is sent, under rules, lists and searches."""
    clusters = tuple(fs.Cluster(name, (fs.NodeGroup(1),), uplink=0.25) for name in ("A", "B"))
    two = fs.Federation(clusters)
    shapes = {1: [(2, 40.0), (4, 10.0), (3, 10.0)]}
    own = {"submit": [0.0], "tasks": [2], "runtime": [40.0], "compute_fraction": 0.5, "task_bandwidth": 1.0}
    jobs = fs.Workload(**own, layout={"tasks_per_node": 2}, alternatives=shapes)
    ends = [40.0, 10 * (0.5 + 0.5 * 4 * (4 / 3)), 10 * (0.5 + 0.5 * 4)]
    for which in range(3):
        given = with_shapes(count_in_nodes(jobs, two), two, np.array([which]))
        schedule = fs.simulate(replace(given, alternatives=None), two)
        schedule.verify(claimed=schedule.metrics())
        assert schedule.finish[0] == pytest.approx(ends[which])
    for policy in ("easy", "conservative", "min-min"):
        schedule = fs.simulate(jobs, two, policy, alternatives="earliest_finish")
        schedule.verify(claimed=schedule.metrics())
        assert schedule.finish[0] == pytest.approx(ends[1])  # as planned none is slowed down
    linked = fs.simulate(jobs, two, placement="link_aware", alternatives="earliest_finish")
    assert linked.finish[0] == 40.0  # no uplink bears the others
    for method in ("ga", "hc", "sa"):
        best = fs.optimize(jobs, two, method=method, evaluations=60, seed=1, alternatives="free").best("makespan")
        best.verify(claimed=best.metrics())
        assert best.finish[0] == pytest.approx(ends[2]), method


def test_environments_know_what_tasks_send() -> None:
    """Tests that decided runs of jobs with several tasks to a node end as the rule does that answers so."""
    clusters = tuple(fs.Cluster(name, (fs.NodeGroup(2),), uplink=0.25) for name in ("A", "B"))
    two = fs.Federation(clusters)
    jobs = work([7, 5, 3], compute_fraction=0.5, task_bandwidth=1.0, layout={"tasks_per_node": 2},
                alternatives={2: [(5, 10.0), (3, 10.0)]})  # fmt: skip
    for rule in ("fixed", "earliest_finish"):
        episodes = Episodes(jobs, two, runs=1, reading=Reading(alternatives=rule).settled("simulate"))
        schedule, _, _ = by_engine(episodes, first_waiting)
        schedule.verify()
        assert schedule.finish.tolist() == fs.simulate(jobs, two, "fcfs", alternatives=rule).finish.tolist()


SHAPES = {1: [(4, 30.0), (16, 10.0)], 2: [(16, 10.0), (25, 6.0), (7, 40.0)]}  # 8 to a node: 1 or 2; 2, 4 or 1 of 4


def shaped_work() -> fs.Workload:
    """Return two jobs of several shapes, eight tasks of each to a node."""
    own = {"submit": [0.0, 0.0], "tasks": [4, 16], "runtime": [30.0, 10.0]}
    return fs.Workload(**own, alternatives=SHAPES, layout={"tasks_per_node": 8})


@pytest.mark.parametrize(
    ("rule", "tasks", "nodes"), [("fixed", [4, 16], [1, 2]), ("smallest_area", [16, 16], [2, 2]),
                                 ("earliest_finish", [16, 16], [2, 2])],
)  # fmt: skip
def test_shapes_are_of_tasks(rule: str, tasks: list[int], nodes: list[int], tmp_path: Path) -> None:
    """Tests that areas and planned ends go by the nodes that each shape takes, and that files keep which it was."""
    jobs = shaped_work()
    schedule = fs.simulate(jobs, EIGHT, alternatives=rule)
    schedule.verify(claimed=schedule.metrics())
    held = schedule.workload
    assert held.layout.columns()["tasks_on_nodes"].tolist() == tasks
    assert held.tasks.tolist() == schedule.counts.sum(axis=1).tolist() == nodes
    assert held.alternatives is not None
    assert [shape.tasks for shape in held.alternatives.shapes(1)] == [16, 25, 7]
    assert held.demand.columns()["cpu"].tolist() == [8, 8]
    schedule.to_csv(tmp_path / "s.csv")
    for given in (jobs, held):
        assert Schedule.read(tmp_path / "s.csv", given, EIGHT, alternatives=rule).workload == held
    held.write(tmp_path / "w.csv")
    assert fs.read(tmp_path / "w.csv") == held
    assert count_in_nodes(held, EIGHT) is held


def test_shapes_of_as_many_nodes_stay_apart(tmp_path: Path) -> None:
    """Tests that two shapes of one number of nodes are two, by their tasks: of equal ends the first that is listed."""
    jobs = work([7], alternatives={1: [(7, 10.0), (8, 10.0), (6, 10.0)]}, layout={"tasks_per_node": 8})
    schedule = fs.simulate(jobs, EIGHT, alternatives="earliest_finish")
    assert (schedule.workload.tasks.tolist(), tasks_on_nodes(schedule.workload).tolist()) == ([1], [7])
    wide = with_shapes(schedule.workload, EIGHT, np.array([1]))
    assert (wide.tasks.tolist(), tasks_on_nodes(wide).tolist(), shape_of_each(wide).tolist()) == ([1], [8], [1])
    other = changed(schedule, workload=wide)
    assert other.violations() == []
    assert changed(schedule, workload=wide, reading=schedule.reading.but(alternatives="fixed")).violations() == [
        "Job 1: its shape is not the recorded one, 7x10."
    ]
    other.to_csv(tmp_path / "s.csv")
    assert tasks_on_nodes(Schedule.read(tmp_path / "s.csv", jobs, EIGHT).workload).tolist() == [8]


def test_plans_choose_among_shapes_of_nodes(tmp_path: Path) -> None:
    """Tests that searches choose shapes by the nodes they take, that lists and bounds know them, and files too."""
    jobs = shaped_work()
    result = fs.optimize(jobs, EIGHT, method="ga", evaluations=60, seed=1, alternatives="free")
    best = result.best("makespan")
    assert best.makespan == 10.0  # 2 and 2 of 4 nodes; the recorded ones take 30 s
    assert tasks_on_nodes(best.workload).tolist() == [16, 16]
    assert result.bound("makespan") <= 10.0
    best.verify()
    result.save(tmp_path / "r.json")
    again = fs.Result.load(tmp_path / "r.json")
    assert again.best("makespan").workload == best.workload
    bounds = fs.bounds.lower_bounds(jobs, EIGHT, alternatives="free")
    assert 0.0 < bounds.of("makespan") <= 10.0
    listed = fs.simulate(jobs, EIGHT, "min-min", alternatives="earliest_finish")
    listed.verify(claimed=listed.metrics())
    assert tasks_on_nodes(listed.workload).tolist() == [16, 25]  # four nodes for 6 s, which ends first
    assert listed.finish.tolist() == [16.0, 6.0]


def test_who_is_in_nodes_stays_so() -> None:
    """Tests that jobs which count nodes are taken as they are, tell their tasks, and are no jobs of shared nodes."""
    jobs = work([17, 2, 4], demand={"memory": [10, 0, 0]}, layout={"tasks_per_node": [8, 0, 2]})
    held = count_in_nodes(jobs, EIGHT)
    assert count_in_nodes(held, EIGHT) is held
    assert held.tasks.tolist() == [3, 2, 2]
    assert {name: column.tolist() for name, column in held.demand.columns().items()} == {
        "memory": [80, 0, 0], "cpu": [8, 0, 2]
    }  # fmt: skip
    assert held.layout.columns()["tasks_on_nodes"].tolist() == [17, 0, 4]
    schedule = fs.simulate(jobs, EIGHT)
    assert schedule.workload == held
    assert fs.simulate(held, EIGHT) == schedule
    assert schedule.remarks == ("several tasks to a node: 21 tasks of 2 jobs on 5 nodes",)
    assert schedule.unmodelled == ()
    with pytest.raises(InfeasibleError, match=r"Job 1: its tasks count whole nodes \(tasks_on_nodes\)"):
        fs.simulate(held, EIGHT, sharing="first")
    with pytest.raises(ValueError, match=r"Job 1: tasks_on_nodes=3 needs tasks_per_node"):
        work([2], layout={"tasks_on_nodes": 3})
    plain = work([3, 1])
    assert count_in_nodes(plain, EIGHT) is plain


def test_limits_count_nodes_and_their_cores() -> None:
    """Tests that a user's limit of nodes is one of whole nodes, and one of CPUs of what their tasks demand there."""
    jobs = work([16, 16], user=[1, 1], layout={"tasks_per_node": 8})
    for limit, starts in (
        (fs.Limit("user", nodes=4), [0.0, 0.0]), (fs.Limit("user", nodes=3), [0.0, 10.0]),
        (fs.Limit("user", cpus=32), [0.0, 0.0]), (fs.Limit("user", cpus=31), [0.0, 10.0]),
    ):  # fmt: skip
        for nodes in (EIGHT, fs.Federation.of(4)):
            schedule = fs.simulate(jobs, replace(nodes, limits=(limit,)), "greedy")
            schedule.verify(claimed=schedule.metrics())
            assert schedule.start.tolist() == starts
    short = fs.Partition("short", nodes={"A": "all"}, max_nodes=2)
    split = replace(EIGHT, partitions=(short,))
    assert split.admits(replace(jobs, labels={"partition": ["short", "short"]})).all()


def changed(schedule: fs.Schedule, **columns: object) -> Schedule:
    """Return a schedule in which something else is said."""
    names = ("workload", "federation", "start", "finish", "counts", "t0", "reading")
    return Schedule(**({name: getattr(schedule, name) for name in names} | columns))


def test_the_check_knows_how_many_nodes_tasks_take() -> None:
    """Tests that a schedule is refused in which tasks have more nodes, or fewer, than so many to a node make."""
    jobs = work([16, 12], demand={"cpu": [1, 2]}, layout={"tasks_per_node": [8, 0], "exclusive": [0, 1]})
    schedule = fs.simulate(jobs, EIGHT)
    held = schedule.workload
    more = replace(held, layout=held.layout.columns() | {"tasks_on_nodes": [17, 12]})
    less = replace(held, layout=held.layout.columns() | {"tasks_on_nodes": [8, 12]})
    for odd, words in ((more, "2 nodes for 17 tasks, 8"), (less, "2 nodes for 8 tasks, 8")):
        with pytest.raises(ScheduleError, match=f"Job 1: it has {words} to a node"):
            changed(schedule, workload=odd).verify()
    apart = {"counts": [[4], [4]], "start": [0, 10], "finish": [10, 20]}
    for layout, job in (({"tasks_per_node": [4, 0]}, 1), ({"exclusive": [0, 1]}, 2)):
        given = work([4, 4], demand={"cpu": [1, 2]}, layout=layout)
        with pytest.raises(ScheduleError, match=f"Job {job}: it has 4 nodes for 4 tasks, 4 to a node"):
            changed(schedule, workload=given, **apart).verify()
    for demand, fits in (({"gpu_share": 400}, 4), ({"gpu": 1}, 2), ({"gpu_share": 1500}, 1), ({"memory": 34}, 2)):
        given = work([4], demand=demand, layout={"exclusive": 1})
        lines = changed(schedule, workload=given, counts=[[4]], start=[0], finish=[10]).violations()
        assert lines == ([f"Job 1: it has 4 nodes for 4 tasks, {fits} to a node."] if fits > 1 else [])
    nothing = {"federation": fs.Federation.of(4), "counts": [[4]], "start": [0], "finish": [10]}
    assert changed(schedule, workload=work([4], layout={"exclusive": 1}), **nothing).violations() == []


def test_files_keep_tasks_and_nodes(tmp_path: Path) -> None:
    """Tests that a schedule's file is read back with the jobs as they were given, and with them as they were held."""
    jobs = work([17, 2], layout={"tasks_per_node": [8, 0]})
    schedule = fs.simulate(jobs, EIGHT)
    schedule.to_csv(tmp_path / "s.csv")
    for given in (jobs, schedule.workload):
        again = Schedule.read(tmp_path / "s.csv", given, EIGHT)
        assert again == schedule
        again.verify(claimed=schedule.metrics())
    schedule.workload.write(tmp_path / "w.csv")
    assert fs.read(tmp_path / "w.csv") == schedule.workload


def test_plans_and_bounds_are_of_whole_nodes() -> None:
    """Tests that searches, bounds, rolling plans and lists know jobs by their nodes: four are full for 20 s."""
    jobs = work([16, 12, 32], demand={"cpu": [1, 1, 1]}, layout={"tasks_per_node": 8})
    result = fs.optimize(jobs, EIGHT, method="ga", evaluations=40, seed=1)
    assert result.best("makespan").makespan == 20.0
    assert result.bound("makespan") == pytest.approx(20.0)
    result.best("makespan").verify()
    assert fs.bounds.lower_bounds(jobs, EIGHT).of("makespan") == pytest.approx(20.0)
    for policy in ("min-min", "conservative", "lookahead", fs.Rolling(evaluations=20, seed=1)):
        schedule = fs.simulate(jobs, EIGHT, policy)
        schedule.verify(claimed=schedule.metrics())
        assert (schedule.makespan, schedule.counts.sum(axis=1).tolist()) == (20.0, [2, 2, 4])


def test_a_run_goes_on_from_jobs_that_run() -> None:
    """Tests that jobs which run are taken up again in their nodes, by runs and by searches."""
    jobs = work([16, 24], layout={"tasks_per_node": 8})
    run = prepare(jobs, EIGHT, "fcfs").advance(until=5.0)
    running = run.running()
    assert running.counts.tolist() == [[2]]
    assert fs.simulate(jobs, EIGHT, "fcfs", running=running).start.tolist() == [0.0, 10.0]
    plans = fs.optimize(jobs, EIGHT, method="ga", evaluations=20, seed=1, submits="keep", running=running)
    assert plans.best("makespan").start.tolist()[-1] == 10.0


@pytest.mark.slow
def test_bounds_hold() -> None:
    """Tests that no random schedule of jobs with several tasks to a node is better than what is proven."""
    checked = 0
    for seed in range(40):
        plain = strategies.random_scenario(seed, max_jobs=6).for_bounds()
        scenario = strategies.on_whole_nodes(plain, seed)
        result = scenario.simulate()
        if any(np.isnan(result.finish)):
            continue
        if any(job.fits for job in result.jobs):
            continue  # see test_uneven_nodes.py
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        killed = scenario.settings.kill_at_estimate
        bounds = fs.bounds.lower_bounds(workload, federation, kill_at_estimate=killed, caps=caps, method="closed")
        measured = naive.metrics(result)
        for name in ("makespan", "energy", "flow", "mean_wait", "weighted_response"):
            assert not bounds.of(name) > measured[name] * (1 + 1e-12), (seed, name)
        checked += 1
    assert checked > 10
