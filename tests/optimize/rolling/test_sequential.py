"""Rolling plans when the events of one instant come in turn: one before each pass, on what the pass sees [2, 3]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.rolling_cases import Watching, crowd, unlike
from support.sharing_cases import case
from support.tiers import tries

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.numbers import Counter
from fedsched.optimize.rolling import Rolling
from fedsched.optimize.rolling.instant import Instant, Workspaces, placements_for_all
from fedsched.search.problem.objectives import Objectives
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.engine.run.simulation import Simulation

EIGHT = fs.Federation.homogeneous(8)
SEQUENTIAL: dict[str, Any] = {"same_time": "sequential"}


class ShortestFirst:
    """A policy that orders the queue anew, by requested times, whenever it is asked."""

    def __init__(self, dispatch: Dispatch) -> None:
        self.dispatch, self.asked = dispatch, 0

    def rules(self, workload: fs.Workload, federation: fs.Federation) -> fs.Rules:
        return fs.Rules(order="fcfs", dispatch="easy")

    def planner(self, run: Simulation) -> ShortestFirst:
        run.consult(self, jobs=len(run.workload))
        return self

    def replan(self, run: Simulation) -> None:
        self.asked += 1
        queued = run.queued()
        jobs = run.workload
        order = queued[np.lexsort((jobs.id[queued], jobs.submit[queued], jobs.estimate[queued]))]
        run.follow(order, run.limits(order), order[:0], dispatch=self.dispatch, placement=Placement.FASTEST)


@pytest.mark.parametrize("dispatch", ["greedy", "easy", "strict"])
def test_a_planner_that_sorts_the_queue_is_that_queue_order(dispatch: str) -> None:
    """It is asked before each pass: the starts are those that the plain reference gives to the order."""
    asked = 0
    for seed in range(tries(40)):
        scenario = strategies.random_scenario(
            seed, placement="fastest", same_time="sequential", alternatives="fixed", kill_at_estimate=False
        ).foreseen()
        if scenario.machine.partitions:  # their priorities come before the order
            continue
        jobs = [replace(job, follows=None) for job in scenario.jobs]
        workload, federation, caps = strategies.to_package(jobs, scenario.machine)
        rules = {"dispatch": dispatch, "placement": "fastest", "order": "sjf", "same_time": "sequential"}
        how = {"saturation": scenario.settings.saturation}
        expected = naive.simulate(jobs, scenario.machine, **rules, **how)
        policy = ShortestFirst(Dispatch[dispatch.upper()])
        schedule = fs.simulate(workload, federation, policy, caps=caps, **SEQUENTIAL, **how)
        starts = [np.nan if not np.isfinite(start) else start for start in expected.start]
        assert np.array_equal(schedule.start, starts, equal_nan=True), seed
        asked += policy.asked
    assert asked > tries(40)


def test_nodes_of_a_job_that_is_about_to_finish_are_free_in_plans() -> None:
    """Job 2 comes as job 1 ends: its pass, and the plan before it, see all nodes free and nothing that runs."""
    seen: list[tuple[float, list[int], list[int], int]] = []

    def before(run: Simulation) -> None:
        free = int(run.state.counter[Counter.FREE])
        seen.append((run.time, run.queued().tolist(), run.running().rows.tolist(), free))

    jobs = fs.Workload(submit=[0, 10, 10], tasks=[8, 8, 4], runtime=[10, 5, 5])
    run = prepare(jobs, EIGHT, Watching(Rolling(evaluations=5), before=before), **SEQUENTIAL).advance()
    assert run.schedule().start.tolist() == [0.0, 10.0, 15.0]
    assert seen == [(0.0, [0], [], 8), (10.0, [1], [], 8), (15.0, [2], [], 8)]


def test_what_runs_and_what_is_free_make_all_nodes_at_every_plan() -> None:
    """Of random crowds with exact and with wrong requests, plans see each node once, and pending finishes never."""
    pending = several = 0
    times: list[float] = []
    for seed in range(tries(24)):
        times.clear()

        def before(run: Simulation) -> None:
            nonlocal pending
            running = run.running()
            free = np.array(run.state.free)
            sizes = [group.count for group in run.federation.groups]
            assert (running.counts.sum(axis=0) + free).tolist() == sizes
            released = run.state.heap.job[: int(run.state.counter[Counter.RUNNING])].size - running.rows.size
            pending += released
            assert (running.finish >= run.time).all()
            times.append(run.time)
            waiting = run.queued()
            problem = Instant(
                run, waiting, Objectives.of("mean_wait"), placements=placements_for_all(run), spaces=Workspaces()
            )
            assert np.isfinite(problem.values(problem.row(np.arange(waiting.size))[None])).all()

        jobs = crowd(25, seed, exact=seed % 2 == 0, spread=25)
        machine = (EIGHT, unlike())[seed // 2 % 2]
        schedule = prepare(jobs, machine, Watching(Rolling(evaluations=20, seed=seed), before=before), **SEQUENTIAL)
        schedule = schedule.advance().schedule()
        schedule.verify(claimed=schedule.metrics())
        several += len(times) - len(set(times))
    assert pending > 0
    assert several > 0


@pytest.mark.parametrize("seed", range(tries(20)))
def test_schedules_are_true(seed: int) -> None:
    """What comes out on any federation, under contention and with downtimes too, keeps to the model."""
    scenario = strategies.random_scenario(seed, placement="fastest", same_time="sequential").foreseen()
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    words = {name: getattr(scenario.settings, name) for name in ("saturation", "kill_at_estimate", "alternatives")}
    schedule = fs.simulate(workload, federation, Rolling(evaluations=40, window=4), caps=caps, **SEQUENTIAL, **words)
    schedule.verify(claimed=schedule.metrics())
    assert schedule.complete


@pytest.mark.parametrize("seed", range(tries(8)))
def test_shared_nodes_are_planned_in_turn(seed: int) -> None:
    """On shared nodes each event has its pass and its plan, too."""
    one = case(seed, jobs=8)
    policy = Rolling(method="ga", evaluations=30, seed=seed)
    schedule = fs.simulate(one.workload, one.federation, policy, sharing=one.sharing, **SEQUENTIAL)
    if schedule.complete:
        schedule.verify(claimed=schedule.metrics())


@pytest.mark.parametrize("sharing", [False, True])
def test_an_interrupted_run_goes_on_to_the_same_end(
    sharing: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A run that is saved while finishes are pending, and goes on from its file, ends as one that was not."""
    from fedsched.optimize.rolling import planner

    jobs = crowd(40, 3, exact=True, spread=60)
    path = tmp_path / "run.ckpt"
    more: dict[str, Any] = {"sharing": "first"} if sharing else {}
    machine = fs.Federation.homogeneous(8)
    machine = fs.Federation((fs.Cluster("one", (fs.NodeGroup(8, resources={"cpu": 1}),)),)) if sharing else unlike()
    policy = Rolling(method="ga", evaluations=20)
    whole = fs.simulate(jobs, machine, policy, **SEQUENTIAL, **more)
    usual, calls, pending = planner.RollingPlanner._best, [0], [0]

    def struck(self: Any, instant: Any, at_hand: Any) -> Any:
        run = self.run
        pending[0] = int(run.state.counter[Counter.RUNNING]) - run.running().rows.size
        calls[0] += 1
        if pending[0] and calls[0] > 2:
            raise KeyboardInterrupt
        return usual(self, instant, at_hand)

    def noted(self: Any, run: Any) -> None:
        self.run = run
        replan(self, run)

    replan = planner.RollingPlanner.replan
    with monkeypatch.context() as patch:
        patch.setattr(planner.RollingPlanner, "_best", struck)
        patch.setattr(planner.RollingPlanner, "replan", noted)
        cut = fs.simulate(jobs, machine, replace(policy, checkpoint=path), **SEQUENTIAL, **more)
    assert pending[0] > 0
    assert not cut.complete
    again = fs.simulate(jobs, machine, replace(policy, checkpoint=path), **SEQUENTIAL, **more)
    assert np.array_equal(again.start, whole.start)
    assert np.array_equal(again.counts, whole.counts)
