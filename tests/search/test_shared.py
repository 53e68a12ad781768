"""Searches over nodes that jobs share: what a plan is worth is what its schedule has, and nothing beats a bound."""

from __future__ import annotations

import itertools
import json
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support.sharing_cases import case
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FedschedError, InfeasibleError, TraceError
from fedsched.engine.codes import Placement
from fedsched.engine.sharing.result import SharedSchedule
from fedsched.search.problem.objectives import SOUGHT, Objectives
from fedsched.search.problem.shared import SharedProblem
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

BOTH = ("makespan", "energy")
NODE = fs.NodeGroup(2, resources={"cpu": 4, "memory": 10}, off_watts=0.0)
SITE = fs.Federation((fs.Cluster("site", (NODE,)),))
JOBS = fs.Workload(
    submit=[0, 0, 1, 2, 3, 3], tasks=[1, 2, 1, 4, 1, 1], runtime=[9, 4, 7, 3, 8, 2],
    demand={"cpu": [3, 1, 2, 1, 1, 4], "memory": [2, 5, 1, 1, 8, 0]},
)  # fmt: skip


def searched(seed: int, **words: Any) -> fs.Result:
    """Return what a short search over random jobs and nodes finds."""
    one = case(seed, bound=("pools", "limits") if seed % 2 else ())
    return fs.optimize(one.workload, one.federation, sharing=one.sharing, seed=seed, evaluations=60, **words)


def check_figures(result: fs.Result) -> None:
    """Check that figures of plans are those of their schedules, that these verify, and that no bound is above them."""
    for k, values in enumerate(result.front.values):
        schedule = result.schedule(k)
        row = schedule.metrics()
        np.testing.assert_array_equal([getattr(row, name) for name in result.objectives], values)
        if schedule.complete:
            schedule.verify(claimed=row)
        for name, least in result.lower_bounds.items():
            assert not least > getattr(row, name) * (1 + 1e-12) + 1e-9, name


@pytest.mark.parametrize("submits", ["now", "keep"])
@pytest.mark.parametrize("seed", range(tries(20)))
def test_a_plan_is_worth_what_its_schedule_has(seed: int, submits: str) -> None:
    """Tests that values are those of schedules, to the bit, that these are true, and that no bound is above any."""
    result = searched(seed, submits=submits, objectives=("makespan", "energy", "mean_wait"))
    bounds = result.problem.bounds()  # type: ignore[attr-defined]
    schedules = [result.schedule(k) for k in range(len(result.front))]
    for values, schedule in zip(result.front.values, schedules, strict=True):
        assert isinstance(schedule, SharedSchedule)
        row = schedule.metrics()
        schedule.verify(claimed=row)
        assert [getattr(row, name) for name in result.objectives] == values.tolist()
    for schedule in [*schedules, *(result.problem.simulated(one.policy) for one in result.baselines)]:
        row = schedule.metrics()
        for name, bound in bounds.known.items():
            assert bound <= getattr(row, name) * (1 + 1e-12) + 1e-9, name


def test_random_rows_are_plans_and_stay_so() -> None:
    """Tests that caps and rules of random and mutated plans leave each job room, and that a plan is what it says."""
    for seed in range(tries(20)):
        one = case(seed)
        problem = SharedProblem(one.workload, one.federation, Objectives(BOTH), sharing=one.sharing)
        rows = problem.random_rows(6, np.random.default_rng(seed))
        assert problem.holds(rows)
        for row, metrics in zip(rows, problem.metrics(rows), strict=True):
            schedule = problem.schedule(row)
            schedule.verify()
            assert tuple(schedule.metrics(users=False).as_dict().values())[:16] == tuple(metrics[:16])


def test_no_order_of_few_jobs_beats_the_bounds() -> None:
    """Tests the bounds against all orders, and that the best order is found."""
    problem = SharedProblem(JOBS, SITE, Objectives(("flow",)), sharing=fs.NodeSharing())
    orders = itertools.permutations(range(6))
    rows = [problem.row(order, rules=(dispatch, 0)) for order in orders for dispatch in (0, 1)]
    metrics = problem.metrics(np.array(rows))
    bounds = problem.bounds()
    assert bounds.of("makespan") <= metrics[:, 0].min()
    assert bounds.of("flow") <= metrics[:, 1].min()
    found = fs.optimize(JOBS, SITE, sharing="first", objectives="flow", evaluations=1500)
    assert found.method == "ga"
    assert found.value() == metrics[:, 1].min()


def test_large_tasks_stand_alone_in_the_bound() -> None:
    """Tests that tasks of more than half a node count as whole ones."""
    jobs = fs.Workload(submit=[0] * 8, tasks=1, runtime=10, demand={"cpu": [3] * 8})
    problem = SharedProblem(jobs, SITE, Objectives(("makespan",)), sharing=fs.NodeSharing())
    assert problem.bounds().of("makespan") == pytest.approx(40.0)
    assert fs.optimize(jobs, SITE, sharing="best", objectives="makespan", evaluations=30).gap() == pytest.approx(0.0)


def test_results_are_saved_and_loaded(tmp_path: Path) -> None:
    """Tests that a file says how nodes were shared, and that its plans are simulated again."""
    result = fs.optimize(JOBS, SITE, sharing=fs.NodeSharing(choice="pack", reservation="nodes"), evaluations=100)
    result.save(tmp_path / "result.json")
    again = fs.Result.load(tmp_path / "result.json")
    assert again.settings == result.settings
    assert again.schedule(0).nodes_of(3) == result.schedule(0).nodes_of(3)  # type: ignore[attr-defined]
    assert "shared nodes (pack, counted free whole)" in str(again)
    assert "lower bound" in str(again)


def test_threads_islands_and_checkpoints_change_nothing(tmp_path: Path) -> None:
    """Tests that the same plans come of two threads, and of a search that goes on from a file."""
    one = fs.optimize(JOBS, SITE, sharing="first", evaluations=120, seed=3)
    two = fs.optimize(JOBS, SITE, sharing="first", evaluations=120, seed=3, threads=2)
    assert one.front.values.tolist() == two.front.values.tolist()
    path = tmp_path / "search"
    fs.optimize(JOBS, SITE, sharing="first", evaluations=120, seed=3, checkpoint=path)
    with pytest.raises(FedschedError, match="checkpoint of another search"):
        fs.optimize(JOBS, SITE, sharing="pack", evaluations=120, seed=3, checkpoint=path)
    split = fs.optimize(JOBS, SITE, sharing="first", evaluations=120, seed=3, islands=2, threads=2)
    assert split.evaluations <= 120


@pytest.mark.parametrize(
    ("words", "what"),
    [
        ({"method": "memetic"}, "whole nodes"),
        ({"method": "sa"}, "whole nodes"),
        ({"method": "pso-ea"}, "whole nodes"),
        ({"objectives": "loss_of_capacity", "method": "ga"}, "not measured"),
    ],
)
def test_what_does_not_share_is_refused_by_name(words: dict[str, Any], what: str) -> None:
    """Tests that walks, packages and metrics that nobody measures here are refused."""
    with pytest.raises((ValueError, InfeasibleError), match=what):
        fs.optimize(JOBS, SITE, sharing="first", evaluations=20, **words)


def test_what_is_sought_is_measured_or_refused() -> None:
    """Tests of every metric that searches know that a plan on shared nodes has it, or that it is refused by name."""
    refused = ("loss_of_capacity", "wasted_node_seconds", "requeues", "cost", "carbon", "peak_watts")
    for name in SOUGHT:
        if name in refused:
            with pytest.raises(InfeasibleError, match=repr(name)):
                SharedProblem(JOBS, SITE, Objectives((name,)), sharing=fs.NodeSharing())
        else:
            problem = SharedProblem(JOBS, SITE, Objectives((name,)), sharing=fs.NodeSharing())
            assert np.isfinite(problem.values(problem.row(range(6))[None])).all(), name


def test_a_list_heuristic_is_a_baseline() -> None:
    """A list heuristic that is asked for is compared with plans."""
    result = fs.optimize(JOBS, SITE, sharing="first", evaluations=50, baselines=["min-min", "easy"])
    assert [one.policy for one in result.baselines] == ["min-min", "easy"]
    assert result.problem.simulated("min-min").complete


def test_a_plan_knows_what_jobs_wait_for() -> None:
    """Tests that the best order lets go first whom another one waits for, and nobody before his time."""
    jobs = fs.Workload(submit=[0] * 3, tasks=[8, 8, 8], runtime=[2, 5, 4], after={3: "afterok:2"}, begin=[20, 0, 0])
    result = fs.optimize(jobs, SITE, sharing="first", evaluations=60, objectives="flow")
    assert result.best().start.tolist() == [20, 0, 5]
    assert fs.optimize(
        replace(jobs, begin=None), SITE, sharing="first", evaluations=60, objectives="flow"
    ).best().start.tolist() == [0, 2, 7]


@pytest.mark.parametrize("seed", range(tries(30)))
def test_plans_keep_to_what_jobs_wait_for(seed: int) -> None:
    """Tests that figures of plans are those of their schedules, which verify, and that no bound is above them."""
    bound = [
        ("conditions",), ("held",), ("cancellations", "conditions"), ("held", "conditions", "downtimes", "reserved"),
        ("feedback",), ("feedback", "conditions", "pools", "limits"),
        ("pools", "limits", "conditions", "cancellations", "held", "downtimes", "taking", "feedback"),
    ][seed % 7]  # fmt: skip
    one = case(30_000 + seed, jobs=8, bound=bound)
    result = fs.optimize(
        one.workload, one.federation, sharing=one.sharing, seed=seed, evaluations=25, submits="keep",
        objectives=("makespan", "energy", "mean_wait", "p95_wait"),
    )  # fmt: skip
    check_figures(result)


@pytest.mark.parametrize("seed", range(tries(20)))
def test_plans_begin_with_what_runs(seed: int, tmp_path: Path) -> None:
    """Figures of plans that begin beside running jobs are those of their schedules, also from a file."""
    one = case(40_000 + seed, bound=[(), ("downtimes", "counted", "taking"), ("pools", "limits", "tiers")][seed % 3])
    run = one.prepare(knowledge="runtime").advance(until=4.0)
    rows = np.flatnonzero(~(run.schedule().finish <= run.time))
    running = run.running().renumbered(rows)
    result = fs.optimize(
        one.workload.take(rows), one.federation, sharing=one.sharing, seed=seed, evaluations=30, submits="keep",
        objectives=("makespan", "energy", "mean_wait"), running=running, kill_at_estimate=one.kill,
    )  # fmt: skip
    check_figures(result)
    assert result.schedule(0).lost.runs or (result.schedule(0).start[running.rows] == running.start).all()
    assert np.isnan(list(result.lower_bounds.values())).all()
    result.save(tmp_path / "result.json")
    again = fs.Result.load(tmp_path / "result.json")
    assert again.schedule(0) == result.schedule(0)


def test_a_file_cannot_give_running_jobs_more_than_nodes_have(tmp_path: Path) -> None:
    """A file whose running jobs hold more cores than the node has, or no node, is refused."""
    run = prepare(JOBS, SITE, sharing="first").advance(until=1.0)
    result = fs.optimize(JOBS, SITE, sharing="first", evaluations=10, submits="keep", running=run.running())
    result.save(tmp_path / "result.json")
    data = json.loads((tmp_path / "result.json").read_text())
    for name, wrong in (("node", 0), ("node", 2), ("tasks", 2), ("first", 9)):
        held = {**data["running"]["held"], name: [wrong] * len(data["running"]["held"][name])}
        changed = {**data, "running": {**data["running"], "held": held}}
        (tmp_path / "wrong.json").write_text(json.dumps(changed))
        with pytest.raises(TraceError, match="nodes do not have what its jobs hold"):
            fs.Result.load(tmp_path / "wrong.json")
    with pytest.raises(ValueError, match="running= must be of a run with sharing="):
        fs.simulate(JOBS, SITE, sharing="first", running=run.running()._replace(held=None))
    with pytest.raises(ValueError, match="running= must be of a run without sharing="):
        fs.simulate(JOBS, SITE, running=run.running())


def test_running_jobs_together_cannot_hold_more_than_their_nodes_have() -> None:
    """Two jobs of three of four cores run on a node each; on one node they are refused."""
    jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[9, 9], demand={"cpu": [3, 3], "memory": [1, 1]})
    running = prepare(jobs, SITE, sharing="first").advance(until=0.0).running()
    assert running.held is not None
    assert sorted(running.held.node.tolist()) == [0, 1]
    together = running._replace(held=running.held._replace(node=np.zeros(2, dtype=np.int64)))
    fs.simulate(jobs, SITE, sharing="first", running=running).verify()
    with pytest.raises(ValueError, match="these nodes do not have what its jobs hold"):
        fs.simulate(jobs, SITE, sharing="first", running=together)


def test_plans_end_by_a_deadline() -> None:
    """A deadline that some plan keeps is kept; one before the bound, and one that no plan kept, are named."""
    best = fs.optimize(JOBS, SITE, sharing="first", evaluations=100, objectives="makespan").best().makespan
    result = fs.optimize(JOBS, SITE, sharing="first", evaluations=100, objectives="mean_wait", deadline=best)
    assert result.best().makespan <= best
    with pytest.raises(InfeasibleError, match="no schedule of these jobs ends before"):
        fs.optimize(JOBS, SITE, sharing="first", evaluations=100, deadline=3.0)


@pytest.mark.parametrize("seed", range(tries(20)))
def test_plans_put_off_jobs_with_slack(seed: int) -> None:
    """A plan with delays runs as the same jobs with later earliest starts, whatever else keeps them waiting."""
    one = case(41_000 + seed, jobs=8, bound=[(), ("conditions", "pools"), ("downtimes", "taking")][seed % 3])
    jobs = replace(one.workload, slack=np.where(np.arange(len(one.workload)) % 3 > 0, 9.0, 0.0))
    problem = SharedProblem(
        jobs, one.federation, Objectives(("makespan", "mean_wait")), sharing=one.sharing, delays=True, submits="keep"
    )
    rows = problem.random_rows(6, np.random.default_rng(seed))
    for row, values in zip(rows, problem.values(rows), strict=True):
        planned, schedule = problem.schedule(row).metrics(), problem.truth.schedule(row)
        assert [planned.makespan, planned.mean_wait] == values.tolist() or problem.may_miss
        delays = problem.delays_of(row)
        assert delays is not None
        assert (schedule.delays == delays).all()
        later = np.flatnonzero((delays > 0) & ~np.isnan(schedule.start))
        assert (schedule.start[later] >= jobs.submit[later] + delays[later]).all()
        if schedule.complete:
            schedule.verify(claimed=schedule.metrics())


@pytest.mark.parametrize("seed", range(tries(20)))
def test_packages_begin_beside_the_jobs_of_earlier_ones(seed: int, tmp_path: Path) -> None:
    """The schedule of all packages is right, with each job's nodes and GPUs, also from a file."""
    bound = [(), ("pools", "limits", "tiers"), ("downtimes", "counted"), ("links",)][seed % 4]
    one = case(42_000 + seed, bound=bound)
    run = one.prepare(knowledge="runtime", saturation="dynamic").advance(until=2.0)
    rows = np.flatnonzero(~(run.schedule().finish <= run.time))
    running = {"running": run.running().renumbered(rows)} if seed % 2 else {}
    jobs = one.workload.take(rows) if running else one.workload
    result = fs.optimize(
        jobs, one.federation, sharing=one.sharing, seed=seed, evaluations=20, submits="keep", package=4,
        objectives="makespan", kill_at_estimate=one.kill, **running,
    )  # fmt: skip
    schedule = result.best()
    if schedule.complete:
        schedule.verify(claimed=schedule.metrics())
    assert schedule.counts.tolist() == schedule.use.counts.tolist()  # type: ignore[attr-defined]
    result.save(tmp_path / "result.json")
    assert fs.Result.load(tmp_path / "result.json").best() == schedule


def test_a_delay_saves_carbon() -> None:
    """A job that may wait begins as the clean hour does, and its plan says by how much it was put off."""
    hour = 3600.0
    clean = fs.Signal((0.0, hour, 2 * hour), (400.0, 100.0, 400.0), "g/kWh", until=24 * hour)
    thrifty = fs.Cluster("site", (replace(NODE, busy_watts=300.0, idle_watts=10.0),))
    site = fs.Federation((thrifty,), signals=(clean,))
    jobs = fs.Workload(submit=[0, 0], tasks=[1, 1], runtime=[hour / 2, hour], slack=[2 * hour, 0])
    result = fs.optimize(jobs, site, sharing="first", objectives="carbon", method="ga", evaluations=200, seed=1)
    assert result.best().start.tolist() == [hour, 0.0]
    assert result.best().delays is not None


@pytest.mark.parametrize("seed", range(tries(20)))
def test_plans_keep_to_what_closes(seed: int, tmp_path: Path) -> None:
    """Tests that plans are chosen on downtimes that are known, and that their figures are those of what came."""
    bound = [("downtimes",), ("downtimes", "counted", "taking"), ("downtimes", "reserved", "taking", "nodes")][seed % 3]
    one = case(500 + seed, jobs=9, bound=bound)
    result = fs.optimize(
        one.workload, one.federation, sharing=one.sharing, seed=seed, evaluations=40, submits="keep",
        objectives=("makespan", "energy", "mean_wait"),
    )  # fmt: skip
    check_figures(result)
    result.save(tmp_path / "result.json")
    again = fs.Result.load(tmp_path / "result.json")
    assert again.schedule(0) == result.schedule(0)


def test_the_best_plan_makes_use_of_the_time_before_a_downtime() -> None:
    """Tests that the search finds the order in which the most is done before all closes, which the policies miss."""
    jobs = fs.Workload(submit=[0] * 3, tasks=[8, 8, 8], runtime=[9, 4, 2])
    closing = replace(SITE, calendar=(fs.Downtime("site", 6.0, 20.0),))
    result = fs.optimize(jobs, closing, sharing="first", evaluations=60, objectives="flow")
    assert result.value() == 2 + 6 + 29
    assert result.best().start.tolist() == [20, 2, 0]


def test_jobs_that_fit_nowhere_are_named() -> None:
    """Tests that the refusal is that of a simulation."""
    wide = fs.Workload(submit=[0], tasks=3, runtime=1, demand={"cpu": [4]})
    with pytest.raises(InfeasibleError, match="Job 1: 3 tasks of cpu 4"):
        fs.optimize(wide, SITE, sharing="first", evaluations=20)


def test_policies_are_compared_on_jobs_that_may_be_put_off() -> None:
    """Tests that only searches refuse slack on shared nodes: a policy puts off no job, with or without it."""
    for slack in (None, [5.0] * 6):
        instance = fs.Instance("i", replace(JOBS, slack=slack), SITE, ("makespan",), sharing="first")
        [record] = fs.compare([instance], ["easy"], [1], fs.Budget(evaluations=10)).records
        assert not record.error


def test_a_placement_that_breaks_a_limit_of_nodes_is_left_out() -> None:
    """Tests that no plan may use a placement by which the first job needs more nodes than its partition allows."""
    groups = [(4, 1), (1, 1), (2, 4)]
    clusters = tuple(
        fs.Cluster(f"c{k}", (fs.NodeGroup(count, resources={"cpu": cpus}),)) for k, (count, cpus) in enumerate(groups)
    )
    two_nodes = fs.Partition("P", {one.name: "all" for one in clusters}, max_nodes=2)
    machine = fs.Federation(clusters, partitions=(two_nodes,))
    jobs = fs.Workload(
        submit=[0, 0], tasks=[5, 1], runtime=[10, 10], labels={"partition": ["P", "P"]}, demand={"cpu": [1, 1]}
    )
    problem = SharedProblem(jobs, machine, Objectives.of("makespan"), sharing=fs.NodeSharing.of("first"))
    names = {Placement(int(number)).name.lower() for number in problem.space.placements}
    assert names == {"fastest", "single", "best_fit", "big_small", "efficient"}
