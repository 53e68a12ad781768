"""Searches in packages that begin with given plans, keep a deadline, delay jobs, or choose shapes [53, 71, 72]."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.model.constraints.slack import delay_origin
from fedsched.model.jobs.alternatives import present_shapes
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

HOUR = 3600.0
FOUR = fs.Federation.homogeneous(4)
SIGNAL = fs.Signal((0.0, 1 * HOUR, 2 * HOUR), (400.0, 100.0, 400.0), "g/kWh", until=24 * HOUR, beyond="repeat")
SITE = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2, 1.0, 300.0, 100.0),)),), signals=(SIGNAL,))
GIVEN: dict[str, Any] = {"method": "ga", "seeds": "random", "baselines": ()}


def started(jobs: fs.Workload, nodes: int, order: list[int], package: int, t0: float) -> list[float]:
    """Return the starts of jobs on one machine: each package greedily in this order, from the last start before on.

    It is written without the engine.
    """
    start = [np.nan] * len(jobs)
    now = t0
    for first in range(0, len(jobs), package):
        waiting = [j for j in order if first <= j < first + package]
        ends = sorted({start[j] + jobs.runtime[j] for j in range(first)} | {now})
        while waiting:
            ends = [time for time in ends if time >= now]
            now = ends.pop(0)
            for j in list(waiting):
                busy = sum(jobs.tasks[i] for i in range(len(jobs)) if start[i] <= now < start[i] + jobs.runtime[i])
                if busy + jobs.tasks[j] <= nodes:
                    start[j] = now
                    waiting.remove(j)
                    ends = sorted({*ends, now + jobs.runtime[j]})
    return start


def few_jobs(seed: int, jobs: int = 9) -> fs.Workload:
    """Return jobs that all wait at time 0, more than four nodes can hold."""
    rng = np.random.default_rng(seed)
    return fs.Workload(
        submit=np.zeros(jobs), tasks=rng.integers(1, 5, jobs), runtime=rng.integers(1, 30, jobs).astype(float)
    )


@pytest.mark.parametrize("package", [2, 4, 9])
def test_each_package_takes_its_jobs_from_a_given_plan(package: int) -> None:
    """With one evaluation the schedule is that of the given order within each package; pairs, plans and schedules."""
    differ = 0
    for seed in range(tries(12)):
        jobs = few_jobs(seed)
        order = np.random.default_rng(seed).permutation(9)
        expected = started(jobs, 4, order.tolist(), package, 0.0)
        words = GIVEN | {"objectives": "makespan", "package": package, "evaluations": 1}
        found = fs.optimize(jobs, FOUR, initial=[(order, None)], **words)
        assert found.best().start.tolist() == expected
        found.best().verify()
        alone = fs.optimize(jobs, FOUR, initial=[(order, None)], **GIVEN | {"evaluations": 1, "objectives": "flow"})
        for plan in (alone, alone.front.plans[0], alone.best()):
            again = fs.optimize(jobs, FOUR, initial=[plan], **words).best()
            if not isinstance(plan, fs.Schedule):
                assert again.start.tolist() == expected
            again.verify()
        differ += expected != started(jobs, 4, list(range(9)), package, 0.0)
    assert differ > 0


def test_caps_of_a_given_plan_hold_in_packages() -> None:
    """A job that the plan keeps off a cluster stays off it, in whichever package it is."""
    machine = fs.Federation(tuple(fs.Cluster(name, (fs.NodeGroup(3),)) for name in "ab"))
    jobs = few_jobs(1).head(6)
    jobs = replace(jobs, tasks=np.minimum(jobs.tasks, 3))
    caps = np.array([[3, 0], [0, 3]] * 3)
    words = GIVEN | {"objectives": "makespan", "package": 2, "evaluations": 1, "initial": [(np.arange(6), caps)]}
    counts = fs.optimize(jobs, machine, **words).best().counts
    assert (counts[::2, 1] == 0).all()
    assert (counts[1::2, 0] == 0).all()


def test_what_a_given_plan_says_of_running_jobs_is_ignored() -> None:
    """Jobs that run keep their nodes and ends, whatever order and caps the plan gives them."""
    machine = fs.Federation(tuple(fs.Cluster(name, (fs.NodeGroup(3),)) for name in "ab"))
    jobs = fs.Workload(submit=[0, 0, 2, 2], tasks=[3, 2, 3, 1], runtime=[9, 20, 5, 6])
    running = prepare(jobs, machine, "easy").advance(until=1.0).running()
    assert running.rows.tolist() == [0, 1]
    plan = (np.array([1, 3, 2, 0]), np.array([[0, 3], [3, 0], [3, 3], [0, 1]]))
    words = GIVEN | {"objectives": "makespan", "evaluations": 1, "submits": "keep", "running": running}
    schedule = fs.optimize(jobs, machine, package=1, initial=[plan], **words).best()
    schedule.verify()
    assert schedule.counts[:2].tolist() == running.counts.tolist()
    assert schedule.start.tolist() == [0.0, 0.0, 9.0, 9.0]  # the second package waits for the first one's start
    assert schedule.counts[3].tolist() == [0, 1]


def test_given_plans_are_checked_before_anything_is_searched() -> None:
    """As without packages: what is no plan, or not of these jobs, is refused by name."""
    for wrong, said in (((np.arange(3), None), "order: it must hold each"), (5, "int is no plan")):
        with pytest.raises((TypeError, ValueError), match=said):
            fs.optimize(few_jobs(0), FOUR, package=3, objectives="makespan", evaluations=5, initial=[wrong])


def test_every_package_keeps_the_deadline_or_is_named() -> None:
    """Packages of one job have one plan each: the deadline is kept exactly if its makespan keeps it."""
    words = GIVEN | {"objectives": "makespan", "evaluations": 10, "submits": "keep"}
    for seed in range(tries(12)):
        jobs = few_jobs(seed)
        jobs = replace(jobs, submit=np.sort(np.random.default_rng(seed).integers(0, 25, 9)).astype(float))
        free = fs.optimize(jobs, FOUR, package=1, **words).best()
        last = float(free.finish.max())
        kept = fs.optimize(jobs, FOUR, package=1, deadline=last, **words)
        assert kept.best() == free
        assert "plans end within" in str(kept)
        with pytest.raises(InfeasibleError, match=r"optimize: (package \d of 9 begins at .* s: )?(the )?deadline"):
            fs.optimize(jobs, FOUR, package=1, deadline=last - 1.0, **words)


def test_the_error_says_which_package_and_why() -> None:
    """No bound of all jobs excludes the deadline; the second package's does, or its begin, or what was found."""
    jobs = fs.Workload(submit=[0.0] * 3, tasks=[1, 3, 4], runtime=[8.0, 8.0, 2.0])
    words = GIVEN | {"evaluations": 10, "objectives": "makespan", "package": 1}
    late = replace(jobs, tasks=[3, 3, 1])  # the third could run beside the first, but comes after the second
    with pytest.raises(InfeasibleError, match=r"package 3 of 3 begins at 8 s: deadline=9 s after the begin, and no"):
        fs.optimize(replace(late, runtime=[8.0, 8.0, 10.0]), FOUR, deadline=17.0, **words)
    with pytest.raises(InfeasibleError, match=r"^optimize: deadline=9 s after the begin, and no schedule"):
        fs.optimize(jobs, FOUR, deadline=9.0, **words)
    leaving = fs.Workload(submit=[0.0, 16.0], tasks=[1, 4], runtime=[8.0, 2.0], cancel_at=[-1, 20.0])
    with pytest.raises(InfeasibleError, match=r"package 2 of 2 begins at 16 s: the deadline is at 16 s; give a later"):
        fs.optimize(leaving, FOUR, submits="keep", deadline=16.0, **words)


def test_a_package_without_a_plan_in_time_is_an_error_unless_it_was_cut_short(monkeypatch: pytest.MonkeyPatch) -> None:
    """A search to its end says how late its plans are; Ctrl-C leaves the packages before it, and no late plan."""
    from fedsched.optimize import packages, searching

    for module in (packages, searching):
        monkeypatch.setattr(module, "refuse_unreachable", lambda *_: None)
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[1, 4], runtime=[10.0, 2.0])
    words = GIVEN | {"objectives": "makespan", "package": 1, "deadline": 11.0}
    with pytest.raises(InfeasibleError, match=r"package 2 of 2 begins at 0 s: deadline=11 s .* ends 1 s later"):
        fs.optimize(jobs, FOUR, evaluations=5, **words)

    def interrupt(run: Any) -> None:
        if run.problem.running is not None:  # the second package
            raise KeyboardInterrupt

    found = fs.optimize(jobs, FOUR, evaluations=500, callback=interrupt, **words)
    assert found.best().finish.tolist()[:1] == [10.0]
    assert np.isnan(found.best().start[1])
    assert found.best().notes == ("interrupted in package 2 of 2",)


def random_call(seed: int) -> tuple[fs.Workload, fs.Federation, dict[str, Any]]:
    """Return jobs with slack and several shapes on a machine with signals, and how their uplinks saturate."""
    scenario = strategies.random_scenario(seed, placement="fastest", max_jobs=7, kill_at_estimate=False).foreseen()
    scenario = scenario.without_limits()
    scenario = replace(scenario, jobs=[replace(job, follows=None) for job in scenario.jobs])
    jobs = strategies.with_alternatives(scenario.machine, scenario.jobs, "fastest", random.Random(seed).choice)
    workload, federation, _ = strategies.to_package(jobs, scenario.machine)
    rng = np.random.default_rng(seed)
    slack = np.where(rng.random(len(workload)) < 0.6, 20.0 + float(np.median(workload.runtime)), 0.0)
    calendar = tuple(one for one in federation.calendar if one.on_running == "wait")
    clusters = tuple(  # nodes that idle for nothing, so that delays pay
        replace(one, groups=tuple(replace(group, idle_watts=0.0, off_watts=None) for group in one.groups))
        for one in federation.clusters
    )
    signal = fs.Signal((0.0, 5.0, 12.0), (400.0, 100.0, 300.0), "g/kWh", until=20.0, beyond="repeat")
    federation = replace(federation, clusters=clusters, calendar=calendar, signals=(*federation.signals, signal))
    return replace(workload, slack=slack), federation, {"saturation": scenario.settings.saturation}


def random_losses(seed: int) -> tuple[fs.Workload, fs.Federation] | None:
    """Return jobs on a machine of which downtimes take nodes from what runs; None where none does."""
    scenario = strategies.random_scenario(seed, placement="fastest", max_jobs=9, kill_at_estimate=False, restless=True)
    scenario = scenario.as_chosen().without_reservations()
    workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
    return (workload, federation) if any(one.on_running != "wait" for one in federation.calendar) else None


def test_downtimes_take_nodes_from_jobs_of_any_package() -> None:
    """Jobs that lose their nodes start again before the next package, or in its plan, or are killed: all is right."""
    tried = lost = killed = late = 0
    for seed in itertools.count(3000):
        if (drawn := random_losses(seed)) is None:
            continue
        jobs, machine = drawn
        words = GIVEN | {"objectives": "flow", "evaluations": 12, "seed": seed, "package": 1 + seed % 3}
        try:
            found = fs.optimize(jobs, machine, submits=("now", "keep")[seed % 2], **words)
        except InfeasibleError:
            continue
        schedule = found.best()
        schedule.verify(claimed=schedule.metrics())
        assert schedule.complete or found.front.missing
        lost, killed = lost + schedule.lost.runs, killed + schedule.lost.killed.size
        late += bool(schedule.lost.runs and np.nanmax(schedule.start, initial=0.0) > schedule.lost.end.min())
        tried += 1
        if tried == tries(120, 10):
            break
    assert lost > 2
    assert killed > 0
    assert late > 0


def test_who_waits_for_a_job_without_hope_is_left_out_too() -> None:
    """The second job ends well, so the third never starts, nor does the fourth, which is in the third's package."""
    site = fs.Federation.homogeneous(4)
    site = replace(site, calendar=(fs.Downtime(site.clusters[0].name, 12.0, 90.0, on_running="kill"),))
    after = ["", "", "afternotok:1", "afternotok:3", ""]
    jobs = fs.Workload(submit=[0.0, 0, 1, 1, 1], tasks=[4] * 5, runtime=[5.0] * 5, after=after)
    words = GIVEN | {"objectives": "makespan", "evaluations": 5, "submits": "keep"}
    for package in (2, 3):
        schedule = fs.optimize(jobs, site, package=package, **words).best()
        schedule.verify(claimed=schedule.metrics())
        assert np.isnan(schedule.start).tolist() == [False, False, True, True, False]


@pytest.mark.parametrize("seed", [52, 160, 273])
def test_static_rates_count_jobs_of_the_next_package(seed: int) -> None:
    """The rate of a job that starts as its package ends knows all jobs that start at that instant."""
    fixed = {"dispatch": "easy", "same_time": "batch", "alternatives": "fixed", "saturation": "static"}
    scenario = strategies.random_scenario(seed, **fixed).foreseen()
    jobs, machine, _ = strategies.to_package(scenario.jobs, scenario.machine)
    words = GIVEN | {"objectives": "makespan", "evaluations": 8, "package": 2, "saturation": "static"}
    schedule = fs.optimize(jobs, machine, **words).best()
    schedule.verify(claimed=schedule.metrics())


def test_jobs_behind_lost_runs_start_as_these_end() -> None:
    """At 5 an outage takes both nodes: later packages know of the first start before it, and of the bad end."""
    site = fs.Federation.homogeneous(2)
    taking = fs.Downtime(site.clusters[0].name, 5.0, 8.0, kind="outage", on_running="requeue")
    jobs = fs.Workload(
        submit=[0.0] * 5, tasks=[2, 1, 1, 1, 1], runtime=[9.0, 1.0, 1.0, 1.0, 1.0],
        after=["", "after:1+20s", "afterany:1+3s", "afternotok:1", "afterok:1+4s"],
    )  # fmt: skip
    words = GIVEN | {"objectives": "flow", "evaluations": 5, "package": 1, "method": "ga"}
    for how, starts in (
        ("requeue", [8.0, 20.0, 20.0, np.nan, 21.0]),
        ("kill", [np.nan, 20.0, 20.0, 21.0, np.nan]),
    ):
        machine = replace(site, calendar=(replace(taking, on_running=how),))
        schedule = fs.optimize(jobs, machine, **words).best()
        schedule.verify(claimed=schedule.metrics())
        assert schedule.lost.end.tolist() == [5.0]
        np.testing.assert_array_equal(schedule.start, starts)


def test_one_package_of_all_jobs_is_the_search_of_all_jobs() -> None:
    """Shapes, delays, given plans and deadlines: a package of everything finds, to the bit, what one search does."""
    chose = put_off = 0
    for seed in range(tries(40, 5)):
        jobs, machine, how = random_call(seed)
        jobs = jobs.take(np.argsort(jobs.id))  # packages take jobs in the order of arrival
        rng = np.random.default_rng(seed)
        words = GIVEN | how | {"objectives": "carbon", "evaluations": 25, "seed": seed, "alternatives": "free"}
        words |= {"initial": [(rng.permutation(len(jobs)), None)]}
        try:
            whole = fs.optimize(jobs, machine, **words)
        except InfeasibleError:
            continue
        if whole.problem.problem.arrival.size < len(jobs):  # some never start, and are in no package
            continue
        words |= {"deadline": float(np.nanmax(whole.best().finish))} if seed % 3 and jobs.slack else {}
        whole = fs.optimize(jobs, machine, **words)
        found = fs.optimize(jobs, machine, package=len(jobs), **words)
        assert found.best() == whole.best(), seed
        assert found.value() == whole.value()
        chose += int(present_shapes(found.best().workload).any())
        put_off += found.best().delays is not None and bool(found.best().delays.any())
    assert chose > 0
    assert put_off > 0


def test_random_packages_keep_to_the_model(tmp_path: Path) -> None:
    """Shapes and delays of several packages are joined in one schedule that is right, and that a file gives back."""
    chose = put_off = beside = 0
    for seed in range(1000, 1000 + tries(60, 6)):
        jobs, machine, how = random_call(seed)
        words = GIVEN | how | {"objectives": "carbon", "evaluations": 25, "seed": seed, "alternatives": "free"}
        words |= {"submits": ("now", "keep")[seed % 2], "package": 2}
        try:
            found = fs.optimize(jobs, machine, **words)
        except InfeasibleError:
            continue
        schedule = found.best()
        schedule.verify(claimed=schedule.metrics())
        assert found.value() == schedule.metrics(users=False).carbon
        chosen = present_shapes(schedule.workload)
        chose += int(chosen.any())
        if schedule.delays is not None:
            late = schedule.delays > 0
            since = delay_origin(found.workload, schedule.t0)
            put_off += int((late & (schedule.start == since + schedule.delays))[2:].any())  # not the first package
        beside += int(schedule.finish[:2].max() > np.nanmin(schedule.start[2:], initial=np.inf))
        found.save(tmp_path / "r.json")
        back = fs.Result.load(tmp_path / "r.json")
        assert back.best() == schedule
        assert np.array_equal(present_shapes(back.best().workload), chosen)
    assert chose > 0
    assert put_off > 0
    assert beside > 0


def test_slack_counts_from_the_begin_of_the_call() -> None:
    """A package that is planned an hour late has an hour less of its slack; a job that lost it all is not delayed."""
    jobs = fs.Workload(submit=[0.0] * 3, tasks=[2, 2, 2], runtime=[HOUR] * 3, slack=[0.0, 4 * HOUR, HOUR])
    prices = fs.Signal(
        (0.0, HOUR, 2 * HOUR, 3 * HOUR, 4 * HOUR), (9.0, 8.0, 3.0, 2.0, 1.0), "g/kWh", until=24 * HOUR, beyond="last"
    )
    site = replace(SITE, signals=(prices,))
    words = {"method": "ga", "objectives": "carbon", "package": 1, "evaluations": 200, "baselines": ("fcfs",)}
    schedule = fs.optimize(jobs, site, **words).best()
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [0.0, 4 * HOUR, 5 * HOUR]  # the third waits for the nodes, not for a delay
    assert schedule.delays[1] == 4 * HOUR
    assert schedule.delays[2] <= HOUR


def test_a_deadline_grants_no_slack_to_packages() -> None:
    """Delays up to the deadline would leave later packages no time, so only slack that jobs state is used."""
    jobs = fs.Workload(submit=[0.0] * 2, tasks=[1, 1], runtime=[HOUR, HOUR])
    words = {"method": "ga", "objectives": "carbon", "deadline": 2 * HOUR, "evaluations": 50, "baselines": ("fcfs",)}
    assert fs.optimize(jobs, SITE, package=1, **words).best().delays is None
    assert fs.optimize(jobs, SITE, **words).best().delays.tolist() == [HOUR, HOUR]


def test_running_jobs_keep_their_shapes_beside_plans_that_choose() -> None:
    """What runs has the shape that its columns show; the others choose; no bound is proven then."""
    chose = several = 0
    for seed in range(2000, 2000 + tries(80, 8)):
        jobs, machine, how = random_call(seed)
        jobs = replace(jobs, slack=None)
        first = float(np.median(jobs.submit))
        try:
            running = prepare(jobs, machine, "easy", reading=fs.Reading(knowledge="runtime").but(**how))
            running = running.advance(until=first).running()
        except InfeasibleError:
            continue
        if not running.rows.size or jobs.alternatives is None:
            continue
        keep = np.concatenate([running.rows, np.flatnonzero(jobs.submit > first)])
        jobs = jobs.take(keep)
        if jobs.after is not None or jobs.alternatives is None:
            continue
        running = running.renumbered(keep)
        problem = SearchProblem(
            jobs, machine, Objectives.of("flow"), submits="keep", running=running, alternatives="free", **how
        )
        rows = problem.random_rows(5, np.random.default_rng(seed))
        for row, found in zip(rows, problem.values(rows)[:, 0], strict=True):
            schedule = problem.schedule(row)
            assert schedule.metrics(users=False).flow == found
            schedule.verify(claimed=schedule.metrics())
            assert np.array_equal(schedule.counts[: running.rows.size], running.counts)
            assert not present_shapes(schedule.workload)[: running.rows.size].any()
            chose += int(present_shapes(schedule.workload).any())
        several += int(np.diff(jobs.alternatives.first)[: running.rows.size].any())
        result = fs.optimize(
            jobs, machine, objectives="flow", submits="keep", running=running, alternatives="free", evaluations=20,
            **GIVEN | how | {"baselines": ("fcfs",)},
        )  # fmt: skip
        chooses = result.settings.reading.is_free(result.workload)
        assert np.isnan(result.bound()) if chooses else not result.bound() > result.value() * (1 + 1e-9)
    assert chose > 0
    assert several > 0


def test_interrupted_packages_go_on_with_their_shapes_and_delays(tmp_path: Path) -> None:
    """A call that was killed in a later package, and is repeated, ends as one that was not."""
    jobs, machine, how = random_call(1002)
    words = GIVEN | how | {"objectives": "carbon", "evaluations": 60, "alternatives": "free", "package": 3}
    words |= {"initial": [(np.arange(len(jobs))[::-1], None)]}
    whole = fs.optimize(jobs, machine, **words).best()
    assert whole.delays is not None
    assert present_shapes(whole.workload).any()

    def interrupt(run: Any) -> None:
        if run.problem.running is not None:
            raise KeyboardInterrupt

    path = tmp_path / "packages.ckpt"
    assert not fs.optimize(jobs, machine, callback=interrupt, checkpoint=path, **words).best().complete
    assert fs.optimize(jobs, machine, checkpoint=path, **words).best() == whole
