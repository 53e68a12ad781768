"""Plans that choose the jobs' shapes: rows, evaluation, moves, bounds and what comes of it."""

from __future__ import annotations

import itertools
import random
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import exact, lower_bounds
from fedsched.core.errors import InfeasibleError, TraceError
from fedsched.engine.pack.choices import possible_shapes
from fedsched.model.jobs.alternatives import present_shapes
from fedsched.model.jobs.shaping import with_shapes
from fedsched.model.schedule.metrics import NAMES, OF_A_SCHEDULE, Column
from fedsched.optimize import optimize
from fedsched.optimize.result import Result
from fedsched.search.encoding.offspring import crossed, mutated
from fedsched.search.methods.methods import METHODS
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run.checkpoint import Checkpoint

if TYPE_CHECKING:
    from pathlib import Path

BOTH = Objectives.of(("makespan", "energy"))
ABLE = [name for name, info in METHODS.items() if info.takes_shapes]
FREE = fs.Reading(knowledge="runtime", alternatives="free")
FOUR = fs.Federation.homogeneous(4)
# Alone in their recorded shapes the first two take 20 s one after the other; two nodes each, and both end at 12 s.
PAIR = fs.Workload(
    submit=[0.0, 0.0, 0.0],
    tasks=[4, 4, 1],
    runtime=[10.0, 10.0, 1.0],
    alternatives={1: "4x10|2x12", 2: "4x10|2x11|1x30"},
)


def random_problem(
    seed: int, *, max_jobs: int = 8, placement: str = "fastest", wanted: str = ""
) -> SearchProblem | None:
    """Return a random small problem whose plans choose shapes; None where no job has several.

    None also where shapes do not decide what is `wanted`: "limits" or "ends" (`strategies.by_shapes`).
    """
    kill = seed % 2 == 1
    fixed = {"placement": placement, "alternatives": "fixed", "kill_at_estimate": kill}
    scenario = strategies.random_scenario(seed, max_jobs=max_jobs, **fixed).foreseen()
    jobs = strategies.with_alternatives(scenario.machine, scenario.jobs, placement, random.Random(seed).choice)
    workload, federation, _ = strategies.to_package(jobs, scenario.machine)
    decided = strategies.by_shapes(replace(scenario, jobs=jobs))
    if workload.alternatives is None or (wanted and wanted not in decided):
        return None
    reading = fs.Reading(
        knowledge="runtime", saturation=scenario.settings.saturation, kill_at_estimate=kill, alternatives="free"
    )
    problem = SearchProblem(workload, federation, BOTH, reading=reading, threads=2)
    return problem if problem.shapes is not None else None


def some_rows(problem: SearchProblem, count: int, seed: int) -> np.ndarray:
    """Return random feasible rows with random caps, rules and shapes."""
    rng = np.random.default_rng(seed)
    rows = problem.random_rows(count, rng)
    limits, layout = problem.space.limits, problem.layout
    layout.caps(rows)[:] = rng.integers(0, limits + 1, size=(count, *limits.shape))
    layout.rules(rows)[:, 0] = rng.choice(problem.space.dispatches, count)
    layout.rules(rows)[:, 1] = rng.choice(problem.space.placements, count)
    layout.choices(rows)[:] = rng.integers(0, np.diff(problem.shapes.first), size=(count, layout.jobs))
    return problem.repaired(rows)


def test_a_row_is_evaluated_as_it_is_simulated() -> None:
    """The batch's metric rows are those of schedules of the chosen shapes, packed anew, on any number of threads."""
    others = 0
    for seed in range(tries(60)):
        if (problem := random_problem(seed)) is None:
            continue
        rows = some_rows(problem, 4, seed)
        assert problem.holds(rows)
        metrics = problem.metrics(rows)
        for row, found in zip(rows, metrics, strict=True):
            schedule = problem.schedule(row)
            schedule.verify(claimed=schedule.metrics())
            assert schedule.reading.alternatives == "free"
            assert np.array_equal(present_shapes(schedule.workload), problem.alternatives_of(row))
            row = schedule.metrics(users=False)
            expected = np.array([np.nan if name in OF_A_SCHEDULE else getattr(row, name) for name in NAMES])
            np.testing.assert_array_equal(found, expected)
            others += int((present_shapes(schedule.workload) != 0).any())
        values, ended = problem.values_unless(rows, lambda: False)
        assert ended.tolist() == [0, 1, 2, 3]
        np.testing.assert_allclose(values, metrics[:, [Column.MAKESPAN, Column.ENERGY]], rtol=1e-12)
    assert others > 20


@pytest.mark.parametrize("decided", ["limits", "ends"])
def test_a_row_knows_limits_and_ends_of_its_shapes(decided: str) -> None:
    """What jobs take of limits is that of the plan's shapes; jobs that others wait for end as they were recorded."""
    checked, others = 0, 0
    for seed in itertools.count(1, 2):  # jobs are killed at their requests
        if (problem := random_problem(seed, wanted=decided)) is None:
            continue
        rows = some_rows(problem, 3, seed)
        for row, found in zip(rows, problem.metrics(rows), strict=True):
            schedule = problem.schedule(row)
            schedule.verify(claimed=schedule.metrics())
            values = schedule.metrics(users=False)
            assert found[Column.FLOW] == values.flow
            assert found[Column.MAKESPAN] == values.makespan
            assert (schedule.hopeless == problem.simulated("fcfs").hopeless).all()
            others += int((present_shapes(schedule.workload) != 0).any())
        checked += 1
        if checked == tries(60, 6):
            break
    assert others > tries(60, 6)


def test_children_and_moves_stay_plans() -> None:
    """Crossover inherits shapes with caps; moves choose others; all stay feasible, whatever ran before."""
    moved = 0
    for seed in range(tries(40)):
        if (problem := random_problem(seed)) is None:
            continue
        parents = some_rows(problem, 4, seed)
        pairs = np.array([[0, 1], [2, 3], [1, 2]])
        children = crossed(problem, parents, pairs, seed=seed, generation=1)
        assert problem.holds(children)
        of = problem.layout.choices
        for child, (a, b) in zip(children, pairs, strict=True):
            own = of(child[None])[0]
            assert ((own == of(parents[a : a + 1])[0]) | (own == of(parents[b : b + 1])[0])).all()
        before = children.copy()
        after = mutated(problem, children, np.full(3, 8), seed=seed, generation=2)
        assert problem.holds(after)
        moved += int((of(after) != of(before)).any())
        problem.metrics(parents)  # whose shapes the workspace then holds
        again = mutated(problem, before.copy(), np.full(3, 8), seed=seed, generation=2)
        assert np.array_equal(after, again)
    assert moved > tries(40) // 4


@pytest.mark.parametrize("method", ABLE)
def test_searches_find_the_shapes_that_pay(method: str) -> None:
    """Every method that chooses shapes finds the best ones of a case worked by hand; its bound is not above them."""
    result = optimize(PAIR, FOUR, method=method, objectives="makespan", evaluations=600, alternatives="free")
    best = result.best()
    best.verify(claimed=best.metrics())
    assert (result.value(), best.workload.tasks.tolist()) == (12.0, [2, 2, 1])
    assert result.bound() <= 12.0
    fixed = optimize(PAIR, FOUR, method=method, objectives="makespan", evaluations=300)
    assert fixed.value() == 21.0
    assert fixed.best().workload.tasks.tolist() == [4, 4, 1]


@pytest.mark.parametrize(
    "options", [{"method": "pso-ea"}, {"method": "mpso-fga"}, {"method": "ga", "encoding": "assignment"}]
)
def test_methods_whose_plans_say_no_shapes_refuse(options: dict[str, str]) -> None:
    """Plans of keys and assignments refuse by name, with the cure."""
    with pytest.raises(ValueError, match=r"say no shapes.*alternatives='fixed'.*memetic"):
        optimize(PAIR, FOUR, evaluations=50, alternatives="free", **options)
    assert optimize(PAIR, FOUR, evaluations=50, alternatives="smallest_area", **options).evaluations == 50


def test_a_result_is_saved_with_its_shapes(tmp_path: Path) -> None:
    """What is saved is read back, its plans run again in their shapes; a shape that a job has not is found out."""
    result = optimize(PAIR, FOUR, method="moga", evaluations=400, alternatives="free")
    path = tmp_path / "result.json"
    result.save(path)
    back = Result.load(path)
    assert back.settings.reading.alternatives == "free"
    assert back.best("makespan") == result.best("makespan")
    options = {"method": "hc", "objectives": "makespan", "evaluations": 60, "alternatives": "free"}
    again = optimize(PAIR, FOUR, initial=[back], **options)
    assert again.value() <= result.value("makespan")
    path.write_text(path.read_text().replace('"alternatives": [1, 1, 0]', '"alternatives": [1, 9, 0]'))
    with pytest.raises(TraceError, match="Job 2: it cannot have alternative 9"):
        Result.load(path)


def test_a_checkpoint_knows_the_shapes(tmp_path: Path) -> None:
    """Other shapes are another search."""
    problem = SearchProblem(PAIR, FOUR, BOTH, alternatives="free")
    longer = replace(PAIR, alternatives={1: "4x10|2x13", 2: "4x10|2x11|1x30"})
    other = SearchProblem(longer, FOUR, BOTH, alternatives="free")
    keys = {Checkpoint(tmp_path / "c", one, "hc", 0)._key for one in (problem, other)}
    assert len(keys) == 2


def test_what_the_machine_cannot_hold_is_no_choice() -> None:
    """A shape wider than the machine, or over its partition's longest, is none of a plan's choices."""
    wide = replace(PAIR, alternatives={1: "4x10|8x2|2x12", 2: "4x10|2x11/900"})
    parts = replace(FOUR, partitions=(fs.Partition("all", {FOUR.clusters[0].name: "all"}, max_time=600, default=True),))
    problem = SearchProblem(wide, parts, BOTH, alternatives="free")
    assert np.diff(problem.shapes.first).tolist() == [2, 1, 1]
    assert problem.alternatives_of(problem.row([0, 1, 2], choices=np.array([1, 0, 0]))).tolist() == [2, 0, 0]


def combinations(
    workload: fs.Workload, federation: fs.Federation, reading: fs.Reading = FREE
) -> list[fs.Workload]:
    """Return the jobs in all combinations of the shapes that plans may choose."""
    possible = possible_shapes(workload, federation, reading=reading)
    each = np.split(possible.which, possible.first[1:-1])
    return [with_shapes(workload, federation, np.array(which)) for which in itertools.product(*each)]


def test_no_schedule_of_any_shapes_is_below_the_bounds() -> None:
    """On random problems, with communication, downtimes, pools and conditions: of all shapes under several rules."""
    looked = telling = 0
    for seed in range(tries(60)):
        if (problem := random_problem(seed, max_jobs=4)) is None:
            continue
        workload, federation = problem.workload, problem.federation
        method = "closed" if seed % 4 > 1 else "auto"
        bounds = lower_bounds(workload, federation, reading=problem.reading, method=method)
        for one in combinations(workload, federation, problem.reading)[:60]:
            for dispatch in ("greedy", "conservative"):
                try:
                    rules = fs.Rules(dispatch=dispatch)
                    schedule = fs.simulate(one, federation, rules, reading=problem.reading)
                except InfeasibleError:
                    continue
                looked += 1
                for name, value in schedule.metrics(users=False).as_dict().items():
                    bound = bounds.of(name)
                    assert np.isnan(bound) or bound <= value * (1 + 1e-12), (seed, name)
        telling += bounds.makespan > 0
        assert np.isnan(bounds.of("mean_slowdown"))
        assert np.isnan(bounds.weighted_response)
    assert looked > 100
    assert telling > 10


@pytest.mark.needs("ortools")
@pytest.mark.slow
def test_bound_search_and_exact_optimum_are_in_order() -> None:
    """The bound is not above the best of the exact optima of all shapes, and the search finds that one."""
    rng = np.random.default_rng(5)
    federation = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2, 1.0, 200.0, 100.0),)),
                                fs.Cluster("b", (fs.NodeGroup(2, 2.0, 300.0, 100.0),))))  # fmt: skip
    for _ in range(4):
        tasks, runtime = rng.integers(1, 5, 4), rng.integers(2, 9, 4).astype(float)
        shapes = [
            [(t, r), (max(t // 2, 1), 2 * r - 1), (min(t + 2, 4), r - 1)]
            for t, r in zip(tasks.tolist(), runtime.tolist(), strict=True)
        ]
        shapes = [list(dict.fromkeys(of_job)) for of_job in shapes]
        workload = fs.Workload(submit=np.zeros(4), tasks=tasks, runtime=runtime, alternatives=shapes)
        for objective in ("makespan", "energy"):
            answers = [
                exact(replace(one, alternatives=None), federation, objective=objective, seconds=30, workers=1)
                for one in combinations(workload, federation)
            ]
            assert all(answer.status == "optimal" for answer in answers)
            best = min(answer.value for answer in answers)
            free = exact(workload, federation, objective=objective, alternatives="free", seconds=30, workers=1)
            assert free.status == "optimal"
            assert free.value == pytest.approx(best, rel=1.1e-5)
            bound = lower_bounds(workload, federation, alternatives="free").of(objective)
            assert bound <= best * (1 + 1e-9)
            found = optimize(workload, federation, objectives=objective, evaluations=6000, alternatives="free")
            assert found.value() == pytest.approx(best, rel=1e-4)
            assert bound <= found.bound() <= best * (1 + 1e-9)


@pytest.mark.needs("ortools")
def test_the_exact_model_refuses_shapes_that_are_chosen_at_submit() -> None:
    """It says by which rule they may be chosen, and takes those."""
    with pytest.raises(InfeasibleError, match="alternatives='fixed'"):
        exact(PAIR, FOUR, alternatives="earliest_finish")
    assert exact(PAIR, FOUR, alternatives="free", seconds=5).value == 12.0
    assert exact(PAIR, FOUR, seconds=5).value == 21.0
    assert exact(PAIR, FOUR, alternatives="smallest_area", seconds=5).value == 12.0
