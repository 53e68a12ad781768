"""Exclusive jobs on nodes that hold different numbers of their tasks: by hand and beside the reference [76]."""

from __future__ import annotations

import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from engine.test_against_naive import run_engine
from reference import naive
from support import strategies
from support.tiers import tries
from support.whole_node_cases import against, machine, nodes_of, work

import fedsched as fs
from fedsched.core.errors import InfeasibleError, ScheduleError
from fedsched.model.jobs.admission import count_in_nodes
from fedsched.model.jobs.layout import own_tasks
from fedsched.model.jobs.uneven import are_uneven, most_nodes
from fedsched.model.schedule.lost import LostRuns
from fedsched.model.schedule.schedule import Schedule
from fedsched.plot.gantt import link_load
from fedsched.report.plan_data import jobs_of
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

ALONE = {"exclusive": 1}
TWO = machine((3, {"cpu": 4}), (2, {"cpu": 8}))


def changed(schedule: Schedule, **fields: object) -> Schedule:
    """Return the schedule with some fields changed, without what was measured of it."""
    names = ("workload", "federation", "start", "finish", "counts", "t0", "reading", "lost")
    return Schedule(**({name: getattr(schedule, name) for name in names} | fields))


@pytest.mark.slow
@pytest.mark.parametrize("part", range(4))
def test_random_systems_agree(part: int) -> None:
    """Tests that starts, nodes, finishes and metrics are the reference's, over all rules and beside all else."""
    uneven = 0
    for seed in range(part, tries(600, 80), 4):
        result = against(strategies.on_uneven_nodes(strategies.random_scenario(seed, restless=True), seed))
        uneven += sum(bool(job.fits) for job in result.jobs)
    assert uneven > tries(600, 80) // 3


@pytest.mark.parametrize("placement", naive.PLACEMENT)
@pytest.mark.parametrize("dispatch", naive.DISPATCH)
def test_every_rule_agrees(dispatch: str, placement: str) -> None:
    """Tests that each dispatch rule with each placement holds the nodes that the reference does, at the same times."""
    for seed in range(50_000, 50_000 + tries(8)):
        scenario = strategies.random_scenario(seed, restless=True, dispatch=dispatch, placement=placement)
        against(strategies.on_uneven_nodes(scenario, seed))


def test_nodes_that_go_off_and_caps_on_power_agree() -> None:
    """Tests that who waits for boots, or for watts, has the nodes that the reference gives it."""
    uneven, hungry = 0, 0
    for seed in range(tries(60)):
        result = against(strategies.on_uneven_nodes(strategies.saving_power(seed), seed), measured=False)
        uneven += sum(bool(job.fits) for job in result.jobs)
        try:
            result = against(strategies.on_uneven_nodes(strategies.under_caps(seed), seed), measured=False)
        except InfeasibleError:  # a cap of fewer watts than a job's nodes draw
            hungry += 1
        uneven += sum(bool(job.fits) for job in result.jobs)
    assert uneven > tries(60)
    assert hungry < tries(60) // 4


@pytest.mark.parametrize("placement", [name for name in naive.PLACEMENT if name != "big_small"])
def test_where_it_has_nodes_of_one_size_it_does_as_one_of_so_many_to_a_node(placement: str) -> None:
    """Tests that a job which caps keep off the odd nodes starts and ends as one with k tasks to a node does."""
    for seed in range(tries(12)):
        scenario = strategies.random_scenario(seed, placement=placement, order="fcfs", backfill_order="sjf")
        plain, rng = scenario.without_wishes().without_limits().as_chosen(), random.Random(seed)
        plain = plain.without_partitions()
        groups = [replace(group, resources=(("cpu", 4),)) for group in plain.machine.groups]
        odd = replace(groups[-1], count=1, resources=(("cpu", 1),))
        inside = replace(plain.machine, groups=[*groups, odd])
        jobs = []
        for job in plain.jobs:
            caps = [*(group.count for group in groups)] if job.caps is None else job.caps
            tasks = 4 * job.tasks - rng.randrange(4)
            jobs.append(replace(job, tasks=tasks, caps=[*caps, 0], bandwidth=job.bandwidth / 8))
        found = []
        for column, value in (("alone", True), ("per_node", 4)):
            asked = [replace(job, **{column: value if job.tasks > 1 else 0}) for job in jobs]
            workload, federation, caps = strategies.to_package(asked, inside)
            rules = fs.Rules(order="fcfs", backfill_order="sjf", dispatch=plain.settings.dispatch, placement=placement)
            schedule = fs.simulate(workload, federation, rules, caps=caps, saturation=plain.settings.saturation)
            assert are_uneven(schedule.workload).any() == (column == "alone" and any(job.tasks > 1 for job in jobs))
            found.append([schedule.start.tolist(), schedule.finish.tolist(), schedule.counts.tolist()])
        assert np.array_equal(np.array(found[0][0]), np.array(found[1][0]), equal_nan=True)
        assert np.array_equal(np.array(found[0][1]), np.array(found[1][1]), equal_nan=True)
        assert found[0][2] == found[1][2]


def test_the_rule_says_on_how_many_nodes_a_job_is() -> None:
    """Tests that groups in the rule's order hold what they can, the last one what is left; the fewest are its tasks."""
    jobs = work([6, 14, 28, 15], submit=[0.0, 100.0, 200.0, 300.0], layout=ALONE)
    schedule = fs.simulate(jobs, TWO, "fcfs")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.counts.tolist() == [[2, 0], [3, 1], [3, 2], [3, 1]]
    assert schedule.workload.tasks.tolist() == [1, 2, 5, 2]
    assert schedule.workload.layout.columns()["tasks_on_nodes"].tolist() == [6, 14, 28, 15]
    assert own_tasks(schedule.workload).tolist() == [6, 14, 28, 15]
    assert most_nodes(schedule.workload, TWO, own_tasks(schedule.workload)).tolist() == [2, 4, 7, 4]
    groups = (fs.NodeGroup(3, resources={"cpu": 4}), fs.NodeGroup(2, 2.0, resources={"cpu": 8}))
    quick = fs.Federation((fs.Cluster("A", groups),))
    schedule = fs.simulate(jobs, quick, "fcfs")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.counts.tolist() == [[0, 1], [0, 2], [3, 2], [0, 2]]
    assert schedule.finish.tolist() == [5.0, 105.0, 210.0, 305.0]


def test_a_job_waits_until_the_free_nodes_hold_it() -> None:
    """Tests that 16 tasks wait where one node of 8 is free, and that EASY lets pass who takes none of theirs."""
    blocked = fs.simulate(work([20, 16, 4], submit=[0.0, 1.0, 2.0], layout=ALONE), TWO, "easy")
    blocked.verify(claimed=blocked.metrics())
    assert blocked.counts.tolist() == [[3, 1], [3, 1], [0, 1]]
    assert blocked.start.tolist() == [0.0, 10.0, 2.0]


def test_plans_give_back_and_take_the_nodes_that_jobs_hold() -> None:
    """Tests that a job of all five nodes has its place where one on three ends, whose fewest nodes are two."""
    jobs = work([12, 5, 1], submit=[0.0, 1.0, 2.0], layout={"exclusive": [1, 0, 0]})
    longer = replace(jobs, runtime=[10.0, 10.0, 100.0], estimate=[10.0, 10.0, 100.0])
    for policy in ("easy", "conservative", "lookahead"):
        schedule = fs.simulate(longer, TWO, policy)
        schedule.verify(claimed=schedule.metrics())
        assert schedule.counts.tolist()[:2] == [[3, 0], [3, 2]]
        assert schedule.start.tolist() == [0.0, 10.0, 20.0], policy
    later = work([5, 12, 2], submit=[0.0, 1.0, 2.0], layout={"exclusive": [0, 1, 0]})
    for policy in ("easy", "conservative", "lookahead"):
        assert fs.simulate(later, TWO, policy).start.tolist() == [0.0, 10.0, 10.0]


def test_of_what_is_sent_the_last_node_that_can_be_is_not_full() -> None:
    """Tests that of 7 tasks on two nodes of 2 and one of 8, five places empty, the large one has three."""
    clusters = (
        fs.Cluster("A", (fs.NodeGroup(1, 1.0, resources={"cpu": 8}),), uplink=0.25),
        fs.Cluster("B", (fs.NodeGroup(2, 2.0, resources={"cpu": 2}),), uplink=0.25),
    )
    two = fs.Federation(clusters)
    jobs = work([7], compute_fraction=0.5, task_bandwidth=1.0, layout=ALONE)
    schedule = fs.simulate(jobs, two, "fcfs", placement="powerful")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.counts.tolist() == [[1, 2]]
    sent = 3 * 4 / 6
    assert schedule.finish[0] == pytest.approx(10 * (0.5 + 0.5 * sent / 0.25))
    assert [link_load(schedule, k, 1.0)[1].max() for k in (0, 1)] == [sent, sent]
    columns = {name: length for name, _, length in jobs_of(schedule, 1.0)["columns"]}
    assert columns["fits"] == 2
    with pytest.raises(ScheduleError, match="it finishes at"):
        changed(schedule, finish=[schedule.finish[0] - 0.5]).verify()
    other = fs.simulate(replace(jobs, tasks=[11]), two, "fcfs", placement="powerful")
    assert other.finish[0] == pytest.approx(10 * (0.5 + 0.5 * (8 * 3 / 10) / 0.25))  # one place empty: the second's


def test_the_check_knows_too_few_nodes_and_too_many() -> None:
    """Tests that nodes hold all tasks, that none is of no use, and that those of lost runs are looked at, too."""
    schedule = fs.simulate(work([14], layout=ALONE), TWO)
    for counts, line in (
        ([[2, 0]], "Job 1: its 2 nodes hold 8 of its 14 tasks."),
        ([[3, 2]], "Job 1: its 5 nodes hold 28 tasks, but it has only 14: one node is not needed."),
    ):
        assert line in changed(schedule, counts=counts).violations()
    assert changed(schedule, counts=[[0, 2]]).violations() == []
    down = fs.Downtime("A", begin=5.0, end=30.0, known_from=5.0, nodes="0-2", on_running="requeue")
    lost = fs.simulate(work([14], layout=ALONE), replace(TWO, calendar=(down,)))
    lost.verify(claimed=lost.metrics())
    assert lost.lost.counts.tolist() == [[3, 1]]
    assert lost.counts.tolist() == [[0, 2]]
    runs = lost.lost
    broken = LostRuns(runs.job, runs.start, runs.end, np.array([[3, 0]]), runs.requeued)
    (line,) = changed(lost, lost=broken).violations()
    assert line == "Job 1: its run from 0: its 3 nodes hold 12 of its 14 tasks."


def test_a_job_that_all_nodes_cannot_hold_is_refused_by_name() -> None:
    """Tests that it says how many of its tasks fit."""
    with pytest.raises(InfeasibleError, match=r"and all together 28 of its 29"):
        fs.simulate(work([29], layout=ALONE), TWO)
    assert TWO.admits(work([29, 28], layout=ALONE)).tolist() == [False, True]


@pytest.mark.slow
def test_bounds_hold() -> None:
    """Tests that no random schedule is better than what is proven, though jobs may take more nodes than the fewest."""
    checked = 0
    for seed in range(tries(60)):
        drawn = strategies.random_scenario(seed, max_jobs=6).for_bounds()
        scenario = strategies.on_uneven_nodes(drawn if seed % 2 else drawn.without_watts(), seed)
        result = scenario.simulate()
        if any(np.isnan(result.finish)):
            continue
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        killed = scenario.settings.kill_at_estimate
        signal = fs.Signal((0.0, 2.0, 5.0), (400.0, 100.0, 300.0), "g/kWh", until=20.0, beyond="repeat")
        federation = replace(federation, signals=(*federation.signals, signal))
        bounds = fs.bounds.lower_bounds(workload, federation, kill_at_estimate=killed, caps=caps)
        schedule = run_engine(scenario)
        carbon = replace(schedule, federation=federation).metrics().carbon
        assert bounds.of("carbon") <= carbon * (1 + 1e-12) + 1e-15
        measured = naive.metrics(result)
        for name in ("makespan", "energy", "busy_energy", "flow", "mean_wait", "weighted_response", "coallocated"):
            assert not bounds.of(name) > measured[name] * (1 + 1e-12), (seed, name)
        checked += any(job.fits for job in result.jobs)
    assert checked > tries(60) // 4


def test_searches_plan_them() -> None:
    """Tests that plans hold in a run, whatever they are written in, and end no later than in the order of arrival."""
    jobs = work([16, 5, 30, 9, 4, 6], layout={"exclusive": [1, 0, 1, 1, 0, 1]})
    longer = replace(jobs, runtime=[10.0, 20.0, 10.0, 30.0, 5.0, 20.0], estimate=[10.0, 20.0, 10.0, 30.0, 5.0, 20.0])
    clusters = (*TWO.clusters, fs.Cluster("B", (fs.NodeGroup(2, 2.0, resources={"cpu": 2}),)))
    three = fs.Federation(clusters)
    first = fs.simulate(longer, three, "fcfs")
    for method in ("ga", "ga (assignment)", "ga-slowdown", "moga", "memetic", "sa", "hc", "pso-ea", "mpso-fga"):
        name, _, encoding = method.rstrip(")").partition(" (")
        result = fs.optimize(longer, three, method=name, encoding=encoding or None, evaluations=80, seed=1)
        best = result.best("energy" if method == "pso-ea" else "makespan")
        best.verify(claimed=best.metrics())
        assert are_uneven(best.workload).sum() == 4
        assert method == "pso-ea" or best.makespan <= first.makespan + 1e-9, method


def test_no_plan_leaves_a_job_too_few_places() -> None:
    """Tests that caps on which fewer tasks stand than a job has are widened, however many nodes they leave."""
    problem = SearchProblem(work([24, 3], layout={"exclusive": [1, 0]}), TWO, Objectives(("makespan",)))
    assert problem.space.limits.tolist() == [[3, 2], [3, 2]]
    assert problem.problem.tasks.tolist() == [4, 3]
    rows = problem.layout.pack(np.array([[0, 1]]), np.array([[[2, 1], [3, 0]]]), np.array([problem.default_rules()]))
    (caps,) = problem.layout.caps(problem.repaired(rows))
    assert caps.tolist() == [[3, 2], [3, 0]]
    enough = problem.layout.pack(np.array([[0, 1]]), np.array([[[2, 2], [3, 0]]]), np.array([problem.default_rules()]))
    assert problem.layout.caps(problem.repaired(enough))[0].tolist() == [[2, 2], [3, 0]]


def test_gpus_that_tasks_share_count() -> None:
    """Tests that thousandths of devices say how many tasks a node holds, and nodes without devices hold none."""
    mixed = machine((2, {"cpu": 8, "gpu": 1}), (2, {"cpu": 8, "gpu": 3}), (4, {"cpu": 8, "gpu": 0}))
    schedule = fs.simulate(work([9], demand={"gpu_share": [400]}, layout=ALONE), mixed, "greedy")
    schedule.verify(claimed=schedule.metrics())
    assert schedule.counts.tolist() == [[2, 1, 0]]
    whole = machine((3, {"cpu": 8, "gpu": 1}), (2, {"cpu": 9, "gpu": 4}))
    assert nodes_of(work([9], demand={"gpu": [1]}, layout=ALONE), whole) == [5]


def test_files_and_running_jobs_know_them(tmp_path: Path) -> None:
    """Tests that workloads and schedules come back as they were, and that a run goes on from running jobs."""
    jobs = work([14, 6], submit=[0.0, 0.0], layout=ALONE)
    schedule = fs.simulate(jobs, TWO, "greedy")
    held = schedule.workload
    schedule.to_csv(tmp_path / "s.csv")
    for given in (jobs, held):
        again = Schedule.read(tmp_path / "s.csv", given, TWO)
        assert (again.workload, again.counts.tolist()) == (held, schedule.counts.tolist())
        again.verify()
    held.write(tmp_path / "w.csv")
    assert fs.read(tmp_path / "w.csv") == held
    assert count_in_nodes(held, TWO) is held
    run = prepare(jobs, TWO, "greedy").advance(until=5.0)
    on = fs.simulate(jobs, TWO, "greedy", running=run.running())
    assert on.finish.tolist() == schedule.finish.tolist()
    few = run.running()._replace(counts=np.array([[1, 0], [0, 1]]))
    with pytest.raises(ValueError, match="running= belongs to another workload"):
        fs.simulate(jobs, TWO, "greedy", running=few)


def test_a_layout_that_counts_nodes_says_how_tasks_stand() -> None:
    """Tests that `tasks_on_nodes` wants one of the two columns beside it, and `nodes` none."""
    with pytest.raises(ValueError, match="tasks_on_nodes=8 needs tasks_per_node or exclusive"):
        work([1], layout={"tasks_on_nodes": [8]})
    assert work([8], layout={"nodes": [2]}).layout is not None
