"""What plans know: chosen on what is known at the decision, scored on what came [reading 48]."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.compare import Budget, Instance, compare
from fedsched.core.errors import TraceError
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.run.evaluate import unpack_row
from fedsched.model.schedule.metrics import NAMES
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

if TYPE_CHECKING:
    from pathlib import Path

STRICT = (int(Dispatch.STRICT), int(Placement.FASTEST))
SIX = fs.Federation.homogeneous(6)
PAIR = fs.Federation.of(6, 6)


def crowd(seed: int, jobs: int = 8) -> fs.Workload:
    """Return more jobs than six nodes can take at once."""
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 20, jobs).astype(float)
    return fs.Workload(
        submit=np.sort(rng.integers(0, 25, jobs)).astype(float), tasks=rng.integers(1, 6, jobs), runtime=runtime,
        estimate=runtime + rng.integers(0, 9, jobs),
    )  # fmt: skip


def closing(federation: fs.Federation, *downtimes: fs.Downtime) -> fs.Federation:
    """Return the federation with these downtimes."""
    return replace(federation, calendar=downtimes)


def outage(begin: float, end: float = math.inf, nodes: str = "4 of all", **words: object) -> fs.Downtime:
    """Return an outage of nodes of the one cluster."""
    return fs.Downtime("cluster", begin, end, nodes=nodes, kind="outage", **words)


def as_reference(scenario: strategies.Scenario, problem: SearchProblem, row: np.ndarray) -> dict[str, Any]:
    """Return a plan's caps, order and rules as the reference takes them."""
    order, caps, dispatch, placement = unpack_row(problem.layout, row)
    return {
        "jobs": [replace(job, caps=caps[j].tolist()) for j, job in enumerate(scenario.jobs)],
        "order": tuple(order.tolist()),
        "dispatch": Dispatch(dispatch).name.lower(),
        "placement": Placement(placement).name.lower(),
        "saturation": scenario.settings.saturation,
        "kill_at_estimate": scenario.settings.kill_at_estimate,
    }


def closing_for_good(scenario: strategies.Scenario) -> strategies.Scenario:
    """Return the scenario with closures that are known and never end."""
    lasting = {"known_from": -math.inf, "end": math.inf, "reservation": None}
    for_good = tuple(replace(one, **lasting) for one in scenario.machine.closures)
    return replace(scenario, machine=replace(scenario.machine, closures=for_good))


def as_known(jobs: list[naive.Job], t0: float) -> list[naive.Job]:
    """Return the jobs as plans know them that are made then: nobody leaves, or is held, later."""
    stay = [job if job.cancel_at <= t0 else replace(job, cancel_at=math.inf) for job in jobs]
    return [replace(job, held=tuple(hold for hold in job.held if hold[0] <= t0)) for job in stay]


def test_plans_are_made_and_scored_as_the_reference_does() -> None:
    """Of random plans in random systems: what is planned is the run on what is known, what came that on all."""
    apart = missing = leaving = inside = following = 0
    for seed in range(40_000, 40_000 + tries(600)):
        scenario = strategies.random_scenario(seed, restless=True).as_chosen()
        if seed % 4 == 1:
            scenario = closing_for_good(scenario.without_reservations())
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        if (caps < [group.count for group in federation.groups]).any():
            continue  # caps of a problem are its plans'
        if not (scenario.machine.closures or workload.cancel_at or workload.feedback):
            continue
        problem = SearchProblem(
            workload, federation, Objectives.of("flow"), submits="keep", knowledge="estimate",
            saturation=scenario.settings.saturation, kill_at_estimate=scenario.settings.kill_at_estimate,
        )  # fmt: skip
        rng = np.random.default_rng(seed)
        rows = problem.random_rows(3, rng)
        rows[:, -2] = rng.choice(problem.space.dispatches, 3)
        t0 = float(workload.submit.min())
        for row, planned in zip(rows, problem.metrics(rows), strict=True):
            plan = as_reference(scenario, problem, row)
            jobs = plan.pop("jobs")
            known = naive.simulate(as_known(jobs, t0), scenario.machine.foreseen(t0), **plan)
            came = naive.simulate(jobs, scenario.machine, **plan)
            got = problem.schedule(row)
            assert (got.start.tolist(), got.counts.tolist()) == (pytest.approx(known.start, nan_ok=True), known.counts)
            got = problem.truth.schedule(row)
            assert (got.start.tolist(), got.counts.tolist()) == (pytest.approx(came.start, nan_ok=True), came.counts)
            apart += not np.array_equal(known.start, came.start, equal_nan=True)
            lost = (problem.missed(np.array(known.finish)) - problem.space.common.missed) * problem.may_miss
            missing += lost != 0
            leaving += bool(problem.truth.schedule(row).cancelled.any())
            inside += any(one.reservation is not None for one in jobs)
            following += workload.feedback is not None
            if lost == 0 and not math.isnan(sum(known.finish)):
                measured = naive.metrics(known)
                for name in ("makespan", "flow", "mean_wait"):
                    assert planned[NAMES.index(name)] == pytest.approx(measured[name], rel=1e-12, abs=1e-6)
            elif lost:
                assert (planned[0] > 2.0**29) == (lost > 0)
    assert apart > 2
    assert min(missing, leaving, inside, following) > 0


def test_a_plan_does_not_know_what_comes() -> None:
    """With and without an outage to come a search finds the same plans and values; its figures are of what came."""
    for seed in range(tries(6)):
        log = crowd(seed)
        t0 = float(log.submit.min())
        later = closing(SIX, outage(t0 + 4.0, t0 + 40.0), outage(t0 + 9.0, t0 + 12.0, "1 of all", on_running="requeue"))
        for method in ("memetic", "moga", "sa"):
            words = {"evaluations": 150, "seed": seed, "method": method, "objectives": ("flow",)}
            without, found = fs.optimize(log, SIX, **words), fs.optimize(log, later, **words)
            assert found.front.planned.tolist() == without.front.values.tolist()
            ours, theirs = found.front.plans[0], without.front.plans[0]
            assert (ours.policy, ours.dispatch, ours.placement) == (theirs.policy, theirs.dispatch, theirs.placement)
            assert np.array_equal(ours.order, theirs.order)
            schedule = found.best()
            schedule.verify(claimed=schedule.metrics())
            assert found.value() == schedule.metrics().flow >= found.bound()
            assert [one.planned for one in found.baselines] == [one.values for one in without.baselines]
            assert found.foresight == "planned without 2 downtimes that became known later; figures are of what came"
            assert found.foresight in str(found)


def test_an_end_that_is_not_known_is_none_in_the_plan() -> None:
    """Jobs wider than what stays open have no place in it, take theirs when nodes come back, and rank last."""
    log = fs.Workload(submit=[0.0] * 3, tasks=[6, 2, 2], runtime=[5.0, 10.0, 20.0])
    drained = fs.Downtime("cluster", -5.0, 12.0, nodes="4 of all", kind="drain")
    problem = SearchProblem(log, closing(SIX, drained), Objectives.of("makespan"))
    assert problem.problem.extras.calendar.end.tolist() == [math.inf]
    assert problem.space.common.missed == 1
    rows = np.array([problem.row([0, 1, 2]), problem.row([0, 1, 2], rules=STRICT)])  # nobody passes the wide one
    both, nobody = problem.values(rows)[:, 0]
    assert both == 30.0
    assert nobody > 2.0**30
    found = fs.optimize(log, closing(SIX, drained), objectives="makespan", evaluations=100)
    assert found.front.missing == (0,)
    assert found.best().complete
    assert found.foresight == "planned without the end of 1 downtime; figures are of what came"


def test_fewer_jobs_without_an_end_rank_first() -> None:
    """Before nodes close for good, the plan that lets both in is better than the one of the lesser makespan."""
    log = fs.Workload(submit=[0.0, 0.0], tasks=[6, 2], runtime=[10.0, 4.0])
    closes = fs.Downtime("cluster", 12.0, nodes="5 of all")
    problem = SearchProblem(log, closing(SIX, closes), Objectives.of(("makespan", "flow")))
    one, other = problem.values(np.array([problem.row([0, 1]), problem.row([1, 0])]))
    assert problem.schedule(problem.row([0, 1])).start.tolist()[0] == 0.0
    assert np.isnan(problem.schedule(problem.row([1, 0])).start[0])
    found = fs.optimize(log, closing(SIX, replace(closes, nodes="4 of all")), objectives="makespan", evaluations=100)
    assert found.front.missing == (0,)
    assert found.value() == 14.0
    assert (one > other).all() or (one < other).all()  # as many have none: figures decide, in one or the other


def test_rolling_plans_know_an_outage_from_its_begin_on() -> None:
    """Until it begins all starts are those without it; afterwards plans have it, with no end until it comes."""
    changed = 0
    for seed in range(tries(8)):
        log = crowd(seed, 12)
        policy = fs.Rolling(evaluations=40, seed=1, every="change" if seed % 2 else 5.0)
        for federation in (SIX, PAIR):
            name = federation.clusters[0].name
            fails = fs.Downtime(
                name, 14.0, 60.0, nodes="5 of all", kind="outage", on_running=("wait", "requeue")[seed % 2]
            )
            told = fs.Downtime(name, 30.0, 40.0, nodes="all", known_from=20.0)
            usual = fs.simulate(log, federation, policy)
            schedule = fs.simulate(log, closing(federation, fails, told), policy)
            schedule.verify(claimed=schedule.metrics())
            before = usual.start < 14.0
            first = schedule.start.copy()
            np.minimum.at(first, schedule.lost.job, schedule.lost.start)
            assert np.array_equal(first[before], usual.start[before])
            changed += bool((schedule.start != usual.start).any())
    assert changed > 2


def test_rolling_plans_pass_over_jobs_that_have_no_place() -> None:
    """A job wider than what a drain leaves is planned last, and starts when its nodes are back."""
    log = fs.Workload(submit=[0.0, 1.0, 2.0, 3.0], tasks=[6, 2, 1, 2], runtime=[5.0, 6.0, 7.0, 8.0])
    drained = fs.Downtime("cluster", 0.0, 50.0, nodes="3 of all", kind="drain")
    for every in ("change", 2.0):
        schedule = fs.simulate(log, closing(SIX, drained), fs.Rolling(evaluations=30, every=every))
        schedule.verify(claimed=schedule.metrics())
        assert schedule.start[0] == 50.0
        assert (schedule.start[1:] < 20.0).all()
    never = fs.simulate(log, closing(SIX, replace(drained, end=math.inf)), fs.Rolling(evaluations=30))
    assert np.isnan(never.start).tolist() == [True, False, False, False]
    assert never.notes == ("nodes that stay closed leave the others no room: 3 of 4 jobs finished",)


def test_each_package_knows_what_is_known_when_it_is_planned() -> None:
    """An outage is in the plans of the packages after its begin, and the whole keeps to what came."""
    for seed in range(tries(4)):
        log = crowd(seed, 9)
        federation = closing(SIX, outage(20.0, 70.0), outage(40.0, 90.0, "1 of all"))
        for submits in ("now", "keep"):
            words = {"objectives": "flow", "evaluations": 60, "seed": 1, "package": 3, "submits": submits}
            found = fs.optimize(log, federation, **words)
            schedule = found.best()
            schedule.verify(claimed=schedule.metrics())
            assert schedule.complete
            assert found.value() == schedule.metrics().flow >= found.bound()
            assert found.foresight.startswith("earlier packages planned without 2 downtimes")


def test_comparisons_take_what_nobody_knows() -> None:
    """Policies as they are, searches chosen on what is known; who leaves more jobs without an end is named."""
    log = crowd(3)
    fails = closing(SIX, outage(5.0, 40.0))
    found = compare(
        [Instance("fails", log, fails, ("flow",), submits="keep")], ["memetic", "easy", "mct"], (1,), Budget(60)
    )
    by_method = {record.method: record for record in found.records}
    assert not any(record.error for record in found.records)
    assert by_method["easy"].front[0][0] == fs.simulate(log, fails, "easy", knowledge="runtime").metrics().flow
    result = fs.optimize(log, fails, objectives="flow", evaluations=60, seed=1, submits="keep")
    assert by_method["memetic"].front == ((result.value(),),)
    assert (
        "searches planned without 1 downtime that became known later; figures are of what came"
        in found.records[0].facts
    )
    wide = fs.Workload(submit=[0.0, 1.0, 2.0], tasks=[2, 6, 1], runtime=[9.0, 5.0, 4.0])
    broken = closing(SIX, fs.Downtime("cluster", 3.0, nodes="3 of all", kind="outage"))
    found = compare([Instance("broken", wide, broken, ("flow",), submits="keep")], ["fcfs", "greedy"], (1,), Budget(60))
    failed, kept = found.records
    assert "leaves 2 jobs without an end, first come, first served on any nodes 1" in failed.error
    assert kept.front == ((13.0,),)


def test_saved_results_say_what_was_planned_and_what_came(tmp_path: Path) -> None:
    """A file holds both, and one that says otherwise of either is refused."""
    log = crowd(2)
    broken = closing(SIX, outage(5.0, 60.0), outage(30.0, nodes="1 of all"))
    found = fs.optimize(log, broken, objectives=("flow", "makespan"), method="moga", evaluations=100)
    path = tmp_path / "found.json"
    found.save(path)
    again = fs.Result.load(path)
    assert again.front.planned.tolist() == found.front.planned.tolist()
    assert again.front.missing == found.front.missing
    assert str(again).splitlines()[2:5] == str(found).splitlines()[2:5]
    data = json.loads(path.read_text(encoding="utf-8"))

    def refused(change: dict[str, object], message: str) -> None:
        told = json.loads(json.dumps(data))
        for place, value in change.items():
            part, key = place.split(".")
            (told[part] if part == "front" else told[part][0])[key] = value
        path.write_text(json.dumps(told), encoding="utf-8")
        with pytest.raises(TraceError, match=message):
            fs.Result.load(path)

    less = [[value - 1.0 for value in row] for row in data["front"]["planned"]]
    refused({"front.planned": less}, "is said to have flow=")
    refused({"front.values": less}, "is said to have flow=")
    refused({"front.planned": None}, "its plans lack the values by which they were chosen")
    refused({"front.missing": [7] * len(found.front)}, "is said to leave 7 jobs without an end")
    refused({"baselines.missing": 7}, "is said to leave 7 jobs without an end")
    refused({"baselines.planned": None}, "does not say what was known and what came")


def test_the_chosen_plan_is_the_one_that_was_planned_best() -> None:
    """Neither `best` nor limits look at what came: nobody could have."""
    log = crowd(4, 10)
    found = fs.optimize(log, closing(SIX, outage(3.0, 60.0)), method="moga", evaluations=300, seed=2)
    front = found.front
    assert len(front) > 0
    for k, name in enumerate(front.objectives):
        assert front.best_index(name) == int(np.argmin(front.planned[:, k]))
        assert found.value(name) == front.values[front.best_index(name), k]
        limit = float(front.planned[:, k].min())
        assert found.choose(within={name: limit}).metrics().as_dict()[name] == found.value(name)
