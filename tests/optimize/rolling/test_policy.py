"""Rolling as a policy: its schedules are true, repeatable and good, and it knows estimates only."""

from __future__ import annotations

import random
from dataclasses import replace
from itertools import permutations
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.rolling_cases import Watching, crowd, unlike

import fedsched as fs
from fedsched.core.errors import UnknownNameError
from fedsched.engine.codes import Dispatch, Placement
from fedsched.optimize.rolling import Rolling
from fedsched.policies import OnlinePolicy
from fedsched.search.methods.methods import METHODS
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from fedsched.engine.run.simulation import Simulation

EIGHT = fs.Federation.homogeneous(8)


def plan_of(run: Simulation) -> list[Any]:
    """Return all that a plan decides: the queued jobs in order, their caps, the rules."""
    jobs = run.in_queue_order(run.queued())
    return [jobs.tolist(), run.plan.caps[run.plan.cap_row[jobs]].tolist(), run.plan.dispatch, run.plan.placement]


def least_by_hand(workload: fs.Workload, nodes: int) -> float:
    """Return the least mean bounded slowdown of all orders, by the plain reference."""
    jobs = [
        naive.Job(id=k, submit=0.0, tasks=int(tasks), runtime=float(time), estimate=float(time))
        for k, (tasks, time) in enumerate(zip(workload.tasks, workload.runtime, strict=True))
    ]
    machine = naive.Machine([naive.Group(0, nodes)], [float("inf")])
    best = float("inf")
    for order in permutations(range(len(jobs))):
        done = naive.simulate(jobs, machine, order=order)
        slowdowns = [max(1.0, end / max(job.runtime, 10.0)) for end, job in zip(done.finish, jobs, strict=True)]
        best = min(best, sum(slowdowns) / len(jobs))
    return best


@pytest.mark.parametrize("seed", range(2))
def test_a_small_package_is_planned_as_well_as_can_be(seed: int) -> None:
    """Tests that five jobs that all wait are scheduled as the best of all orders, which plain Python finds."""
    workload = crowd(5, seed, spread=0, exact=True)
    schedule = fs.simulate(workload, EIGHT, Rolling())
    assert schedule.metrics().bounded_slowdown == pytest.approx(least_by_hand(workload, 8))


@pytest.mark.compiled
def test_a_package_is_planned_as_optimize_would() -> None:
    """Tests that ten jobs that all wait fare as well as in the plan of a search with the same budget."""
    workload = crowd(10, 4, spread=0, exact=True)
    schedule = fs.simulate(workload, EIGHT, Rolling(evaluations=3000))
    found = fs.optimize(workload, EIGHT, objectives="bounded_slowdown", evaluations=3000)
    value = schedule.metrics().bounded_slowdown
    assert value == pytest.approx(found.best().metrics().bounded_slowdown, rel=0.02)
    assert value < fs.simulate(workload, EIGHT, "easy-sjbf").metrics().bounded_slowdown


@pytest.mark.parametrize("sizes", ["alike", "uneven"])
@pytest.mark.parametrize("seed", range(6))
def test_schedules_are_true(seed: int, sizes: str) -> None:
    """Tests that what comes out on any federation, under contention too, is accepted by the independent judge."""
    scenario = strategies.random_scenario(seed, placement="fastest", same_time="batch").foreseen()
    if sizes == "uneven":
        scenario = strategies.on_uneven_nodes(scenario, seed)
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    schedule = fs.simulate(
        workload,
        federation,
        Rolling(evaluations=60, window=4),
        caps=caps,
        saturation=scenario.settings.saturation,
        kill_at_estimate=scenario.settings.kill_at_estimate,
        alternatives=scenario.settings.alternatives,
    )
    schedule.verify()
    assert schedule.complete
    if caps is not None:
        assert (schedule.counts <= caps).all()


@pytest.mark.compiled
@pytest.mark.parametrize("method", ["memetic", "hc", "random"])
def test_the_same_seed_gives_the_same_schedule(method: str) -> None:
    """Tests that a run depends on its seed and nothing else."""
    workload = crowd(30, 1)
    policy = Rolling(method=method, evaluations=120)
    first = fs.simulate(workload, unlike(), policy)
    assert fs.simulate(workload, unlike(), policy) == first
    assert any(fs.simulate(workload, unlike(), replace(policy, seed=seed)) != first for seed in (1, 2, 3))


@pytest.mark.compiled
@pytest.mark.parametrize("machine", [EIGHT, unlike()], ids=["one group", "two clusters"])
@pytest.mark.parametrize("method", [name for name in METHODS if name != "mpso-fga"])
def test_every_method_plans(method: str, machine: fs.Federation) -> None:
    """Tests that each method but the one of two objectives plans what waits beside what runs."""
    schedule = fs.simulate(crowd(9, 15, spread=5), machine, Rolling(method=method, evaluations=110, window=8))
    schedule.verify()
    assert schedule.complete


@pytest.mark.compiled
def test_plans_know_no_true_run_time() -> None:
    """Tests that other true run times of what waits and runs change nothing of a plan made at that instant."""
    workload = crowd(30, 2)
    policy = Rolling(evaluations=60)
    plans: list[tuple[float, list[Any]]] = []
    run = prepare(workload, unlike(), Watching(policy, after=lambda run: plans.append((run.time, plan_of(run)))))
    run.advance()
    finish = run.state.finish.copy()
    assert len(plans) > 20
    rng = np.random.default_rng(0)
    later = 0
    for time, _ in plans[4::5]:
        known = finish <= time
        longer = np.where(known, workload.runtime, workload.runtime * rng.uniform(1.0, 9.0, size=len(workload)))
        seen: list[tuple[float, list[Any]]] = []
        watching = Watching(policy, after=lambda run, seen=seen: seen.append((run.time, plan_of(run))))
        prepare(replace(workload, runtime=longer), unlike(), watching).advance()
        until = [plan for plan in plans if plan[0] <= time]
        assert seen[: len(until)] == until
        later += seen[len(until) :] != plans[len(until) :]
    assert later > 0  # what happens afterwards does depend on them


@pytest.mark.compiled
def test_a_clairvoyant_run_is_asked_for_by_name() -> None:
    """Tests that knowledge="runtime" gives what exact estimates give."""
    workload = crowd(25, 3)
    known = fs.simulate(workload, EIGHT, Rolling(evaluations=60), knowledge="runtime")
    exact = fs.simulate(replace(workload, estimate=workload.runtime), EIGHT, Rolling(evaluations=60))
    assert np.array_equal(known.start, exact.start)
    assert not np.array_equal(known.start, fs.simulate(workload, EIGHT, Rolling(evaluations=60)).start)


@pytest.mark.compiled
def test_more_is_found_than_the_usual_policies_find() -> None:
    """Tests that over some crowded days the mean bounded slowdown is below that of EASY and EASY-SJBF."""
    workloads = [crowd(60, seed, spread=400) for seed in range(4)]

    def mean(policy: str | Rolling) -> float:
        return float(np.mean([fs.simulate(one, EIGHT, policy).metrics().bounded_slowdown for one in workloads]))

    rolling = mean(Rolling(evaluations=150))
    assert rolling < 0.9 * mean("easy-sjbf")
    assert rolling < 0.9 * mean("easy")


@pytest.mark.compiled
def test_energy_can_be_the_objective() -> None:
    """Tests that with energy to save, jobs keep off the hungry nodes and less is used than under EASY."""
    workload = crowd(25, 5, nodes=4, spread=300)
    frugal = fs.simulate(workload, unlike(), Rolling(objective="energy", evaluations=150))
    easy = fs.simulate(workload, unlike(), "easy")
    assert frugal.energy < easy.energy
    assert frugal.counts[:, 1].sum() < easy.counts[:, 1].sum()


def test_beyond_the_window_first_come_is_first_served() -> None:
    """Tests that only the longest waiting are planned, and the others stand behind them in the order of arrival."""
    queues: list[tuple[list[int], list[int]]] = []

    def after(run: Simulation) -> None:
        queued = run.queued()
        queues.append((queued.tolist(), run.in_queue_order(queued).tolist()))

    run = prepare(crowd(30, 6, spread=5), EIGHT, Watching(Rolling(window=4, evaluations=40), after=after))
    run.advance()
    assert max(len(arrived) for arrived, _ in queues) > 10
    for arrived, queued in queues:
        assert sorted(queued[:4]) == arrived[:4]
        assert queued[4:] == arrived[4:]
    assert any(queued[:4] != arrived[:4] for arrived, queued in queues)


@pytest.mark.parametrize("machine", [EIGHT, unlike()], ids=["one group", "two clusters"])
def test_a_window_of_one_is_a_policy_of_its_own(machine: fs.Federation) -> None:
    """Tests that planning one job at a time still starts every job, truly."""
    schedule = fs.simulate(crowd(8, 7), machine, Rolling(window=1, evaluations=5))
    schedule.verify()
    assert schedule.complete


@pytest.mark.compiled
def test_plans_are_made_no_more_often_than_asked() -> None:
    """Tests that with `every` in seconds no two plans are closer, and that fewer are made than at each change."""
    times: list[float] = []
    made = [0]

    def after(run: Simulation) -> None:
        if run.planner.replans > made[0]:  # type: ignore[union-attr]
            made[0] = run.planner.replans  # type: ignore[union-attr]
            times.append(run.time)

    workload = crowd(60, 8, spread=500)
    run = prepare(workload, EIGHT, Watching(Rolling(every=50, evaluations=30), after=after))
    run.advance()
    assert len(times) > 3
    assert (np.diff(times) >= 50).all()
    always = prepare(workload, EIGHT, Rolling(evaluations=30))
    always.advance()
    assert always.planner.replans > 2 * run.planner.replans  # type: ignore[union-attr]


def test_nothing_is_searched_where_everything_starts() -> None:
    """Tests that jobs that all fit at once on equal nodes start without any plan."""
    workload = fs.Workload(submit=[0, 0, 50], tasks=[3, 5, 8], runtime=[40, 50, 5])
    run = prepare(workload, EIGHT, Rolling())
    run.advance()
    assert run.planner.evaluations == 0  # type: ignore[union-attr]
    assert run.state.start.tolist() == [0, 0, 50]


def test_jobs_that_outrun_their_estimates_block_nothing_for_ever() -> None:
    """Tests that estimates far too short are survived: the run ends, and is true."""
    workload = crowd(25, 9)
    schedule = fs.simulate(replace(workload, estimate=np.ones(25)), EIGHT, Rolling(evaluations=50))
    schedule.verify()
    assert schedule.complete


def test_a_run_can_begin_with_running_jobs() -> None:
    """Tests that a rolling run goes on from another run's running jobs."""
    workload = crowd(20, 10, spread=0)
    before = prepare(workload, EIGHT, "fcfs").advance(until=20.0)
    schedule = fs.simulate(workload, EIGHT, Rolling(evaluations=40), running=before.running())
    schedule.verify()
    already = before.running().rows
    assert np.array_equal(schedule.start[already], before.state.start[already])


def test_ctrl_c_keeps_what_was_done() -> None:
    """Tests that Ctrl-C ends a run with the jobs finished until then and a note that says so."""

    def stop(done: int, total: int) -> None:
        if done >= total // 2:
            raise KeyboardInterrupt

    schedule = fs.simulate(crowd(30, 11), EIGHT, Rolling(evaluations=30), progress=stop)
    assert not schedule.complete
    assert "interrupted" in schedule.notes[0]
    assert 15 <= np.isfinite(schedule.finish).sum() < 30


def test_progress_is_told() -> None:
    """Tests that the callback hears of every job and in the end of all."""
    heard: list[int] = []
    fs.simulate(crowd(20, 12), EIGHT, Rolling(evaluations=30), progress=lambda done, total: heard.append(done))
    assert heard == sorted(heard)
    assert heard[-1] == 20


def test_the_face_is_public() -> None:
    """Tests that fs.Rolling is the policy, that it says what it does, and that ordinary rules are no such policy."""
    assert fs.Rolling is Rolling
    assert str(Rolling(every=600)) == "rolling memetic (bounded_slowdown, 100 jobs, 2000 evaluations, every 600 s)"
    assert "rolling memetic" in fs.simulate(crowd(5, 0), EIGHT, Rolling(evaluations=20)).policy
    assert Rolling(window=np.int64(5), every=np.float32(2)) == Rolling(window=5, every=2)
    assert isinstance(Rolling(), OnlinePolicy)
    assert not isinstance(fs.Rules(), OnlinePolicy)


@pytest.mark.parametrize(
    ("options", "error", "words"),
    [
        ({"window": 0}, ValueError, "window=0 must be at least 1"),
        ({"window": "5"}, TypeError, "window='5' must be a whole number"),
        ({"window": 2.5}, TypeError, "window=2.5 must be a whole number"),
        ({"evaluations": 0}, ValueError, "evaluations=0 must be at least 1"),
        ({"evaluations": True}, TypeError, "evaluations=True must be a whole number"),
        ({"seed": -1}, ValueError, "seed=-1 must lie between"),
        ({"every": "day"}, ValueError, "every='day' must be 'change' or a number of seconds"),
        ({"every": 0}, ValueError, "every=0 must be finite and above 0"),
        ({"every": -5.0}, ValueError, "every=-5.0 must be finite and above 0"),
        ({"every": float("nan")}, ValueError, "every=nan must be finite"),
        ({"every": None}, TypeError, "every=None must be 'change'"),
        ({"method": "memtic"}, UnknownNameError, "Did you mean 'memetic'"),
        ({"method": 3}, TypeError, "method=3 must be the name of a search method"),
        ({"method": "mpso-fga"}, ValueError, "method='mpso-fga' needs two objectives.*use one of memetic, ga, "),
        ({"objective": "slowdown"}, UnknownNameError, "bounded_slowdown"),
        ({"objective": ("makespan", "energy")}, TypeError, "must be the name of one metric column"),
        ({"objective": "user_spread"}, UnknownNameError, "Unknown objective"),
        ({"checkpoint": 3}, TypeError, "checkpoint=3 must be the path of a file"),
        ({"checkpoint": "run.npz.gz"}, ValueError, "checkpoint='run.npz.gz' must not end in .gz"),
        ({"placement": "fast"}, UnknownNameError, "Did you mean 'fastest'"),
    ],
)
def test_wrong_options_are_refused(options: dict[str, Any], error: type[Exception], words: str) -> None:
    """Tests that each wrong option is named with its value and the cure."""
    with pytest.raises(error, match=words.replace("(", r"\(")):
        Rolling(**options)


def test_what_does_not_go_with_it_is_refused() -> None:
    """Tests that a placement beside the policy is refused with a cure."""
    workload = crowd(5, 0)
    with pytest.raises(ValueError, match="chooses its placement"):
        fs.simulate(workload, EIGHT, Rolling(), placement="single")


def test_a_job_for_which_a_plan_has_no_place_is_never_met() -> None:
    """Tests that no plan takes a placement under which a job that comes later could not start."""
    base = crowd(20, 14, nodes=4, spread=100)
    wide = fs.Workload(
        submit=[*base.submit, 101.0], tasks=[*base.tasks, 9], runtime=[*base.runtime, 5.0], estimate=[*base.estimate, 5]
    )
    used: set[int] = set()
    for every in ("change", 5000.0):
        policy = Rolling(evaluations=100, every=every)
        prepare(wide, unlike(), Watching(policy, after=lambda run: used.add(run.plan.placement))).advance()
    assert int(Placement.SINGLE) not in used
    assert len(used) > 1


@pytest.mark.compiled
def test_a_placement_is_kept_to() -> None:
    """Tests that with placement="single" no job spans two clusters, and that otherwise some do."""
    workload = crowd(30, 13, nodes=6)
    alone = fs.simulate(workload, unlike(), Rolling(placement="single", evaluations=40))
    assert not alone.coallocated.any()
    assert fs.simulate(workload, unlike(), Rolling(placement="best_fit", evaluations=40)).coallocated.any()


def test_no_plan_keeps_later_jobs_in_strict_queues() -> None:
    """Plans of searches may have a strict queue for each cluster; jobs that come later would stand behind them."""
    draw = random.Random(2)
    site = fs.Federation((fs.Cluster("a", (fs.NodeGroup(6),)), fs.Cluster("b", (fs.NodeGroup(4, 1.5),))))
    runtime = [float(draw.randint(5, 100)) for _ in range(12)]
    tasks = [draw.randint(1, 4) for _ in range(12)]
    estimate = [time * draw.choice([1, 2, 5]) for time in runtime]
    jobs = fs.Workload(
        submit=[0.0] * 12 + [5.0], tasks=[*tasks, 1], runtime=[*runtime, 5.0], estimate=[*estimate, 9.0]
    )
    run = prepare(jobs, site, Rolling(objective="flow", evaluations=900, seed=1)).advance(until=1.0)
    assert run.plan.dispatch != Dispatch.LOCAL
