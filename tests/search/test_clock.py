"""A budget in seconds: who gets how much of it, and what is left out and named."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.model.schedule.metrics import NAMES
from fedsched.optimize import baselines
from fedsched.optimize.baselines import DEAR_BASELINES, baseline_schedule, yardsticks
from fedsched.policies.list_heuristics import HEURISTICS
from fedsched.search.methods.genetic import Genetic
from fedsched.search.methods.methods import METHODS
from fedsched.search.problem.objectives import NOT_SOUGHT, Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.search.run import interruptible_evaluation
from fedsched.search.run.clock import Clock, OutOfTimeError
from fedsched.search.run.run import BudgetSpent, Run, drive
from fedsched.search.run.stopping import MaxSeconds
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

JOBS, MACHINE = fs.Workload.example().head(30), fs.Federation.example()
FEW = ("laf-greedy", "easy", "lookahead", "fcfs", "mct")
AT_ONCE = 1e-9  # seconds: whatever comes to look finds it gone


@pytest.fixture
def problem() -> SearchProblem:
    """Return a small problem."""
    return SearchProblem(JOBS, MACHINE, Objectives(("makespan", "energy")))


class Scripted(Clock):
    """A clock on which so many looks pass before a budget is gone."""

    def __init__(self, looks: int) -> None:
        super().__init__(1.0)
        self.looks = looks

    def left(self, share: float = 1.0) -> float:
        """Return time while there are looks left."""
        self.looks -= 1
        return float(self.looks)


def beside_solver(left_out: tuple[str, ...]) -> tuple[str, ...]:
    """Return what was left out but for the bounds of a solver that the small environment does not have."""
    return tuple(one for one in left_out if "OR-tools" not in one)


# ---- shares ---------------------------------------------------------------------------------------------------------


def test_fcfs_and_easy_come_first_and_what_is_left_out_is_named(problem: SearchProblem) -> None:
    """Tests that FCFS always runs, EASY next, and that the others are named in the order in which they were due."""
    found = yardsticks(problem, FEW, Clock(AT_ONCE))
    assert found.names == ["fcfs"]
    assert found.left_out == ("easy", "laf-greedy", "lookahead", "mct", "some of the bounds")
    assert np.isfinite(found.values).all()


def test_budgets_in_evaluations_run_everything(problem: SearchProblem) -> None:
    """Tests that without a budget in seconds nothing is left out, and that baselines keep the order they were given."""
    found = yardsticks(problem, FEW, Clock(None))
    assert found.names == list(FEW)
    assert beside_solver(found.left_out) == ()


def test_a_baseline_that_takes_too_long_is_cut_in_its_midst(problem: SearchProblem) -> None:
    """Tests that a policy whose time is gone while it runs is left out, and those before it stay."""
    found = yardsticks(problem, ("fcfs", "easy"), Scripted(1))
    assert found.names == ["fcfs"]
    assert found.left_out[0] == "easy"
    look = Clock(AT_ONCE).within(1.0)
    assert look is not None
    look(5, 5)  # done: nothing is left to cut
    with pytest.raises(OutOfTimeError):
        look(4, 5)


def test_list_heuristics_of_many_jobs_are_not_begun_in_haste(
    problem: SearchProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that what would only be cut is left out of large problems, and of none without a budget in seconds."""
    monkeypatch.setattr(baselines, "MANY_JOBS", 10)
    found = yardsticks(problem, ("fcfs", "mct"), Scripted(10**6))
    assert (found.names, beside_solver(found.left_out)) == (["fcfs"], ("mct",))
    assert "mct" in DEAR_BASELINES
    assert beside_solver(yardsticks(problem, ("fcfs", "mct"), Clock(None)).left_out) == ()


@pytest.mark.parametrize("policy", sorted(HEURISTICS))
def test_a_list_heuristic_is_cut_while_it_binds(problem: SearchProblem, policy: str) -> None:
    """Tests that the clock is looked at before each job is bound, and that no schedule comes of half an assignment."""
    looks: list[tuple[int, int]] = []

    def look(done: int, total: int) -> None:
        looks.append((done, total))
        if len(looks) == 12:
            raise OutOfTimeError

    with pytest.raises(OutOfTimeError):
        baseline_schedule(problem, policy, progress=look)
    assert looks == [(0, 30)] * 12


@pytest.mark.parametrize("jobs", [30, 1200])
def test_bounds_in_no_time_are_bounds(jobs: int) -> None:
    """Tests that bounds whose solvers had no time are at most those of solvers that had, and say so."""
    workload = fs.Workload.example().head(jobs)
    whole, hasty = lower_bounds(workload, MACHINE), lower_bounds(workload, MACHINE, seconds=0.0)
    assert hasty.cut
    assert not whole.cut
    for name in ("makespan", "energy", "flow"):
        assert 0.0 < hasty.of(name) <= whole.of(name) * (1 + 1e-9)
    front = hasty.front()
    assert (front[:, 1] <= [whole.energy_within(limit) * (1 + 1e-9) for limit in front[:, 0]]).all()


# ---- the search ------------------------------------------------------------------------------------------------------


def a_run(problem: SearchProblem, **options: Any) -> Run:
    """Return a run whose time is up."""
    run = Run(problem, 1, [MaxSeconds(AT_ONCE)], np.ones(2), problem.random_rows(3, np.random.default_rng(0)),
              np.zeros(2), **options)  # fmt: skip
    run.cut_at = AT_ONCE
    return run


@pytest.mark.parametrize("method", sorted(METHODS))
def test_no_step_goes_on_when_time_is_up(method: str, problem: SearchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that every method ends with the one plan that a search has at least, and makes none where there is one."""
    run = a_run(problem)
    with pytest.raises(BudgetSpent):
        METHODS[method].make(run).step(run)
    assert run.evaluations == len(run.archive) == 1
    with pytest.raises(BudgetSpent):
        METHODS[method].make(run).step(run)
    assert run.evaluations == 1


def test_a_batch_within_one_slice_ends_with_the_time_too(problem: SearchProblem) -> None:
    """Tests that a generation evaluated whole is the last one when its end is beyond the budget."""
    run = a_run(problem)
    run.cut_at = 1e6
    rows = problem.random_rows(20, np.random.default_rng(1))
    assert len(run.evaluate(rows)) == 20
    run.cut_at = run.seconds
    with pytest.raises(BudgetSpent):
        run.evaluate(rows)
    assert run.evaluations == 20


class Ticking:
    """A clock, in place of `time`, that shows what the test sets."""

    now = 0.0

    def perf_counter(self) -> float:
        """Return the time."""
        return self.now


class Costly:
    """A problem whose plans take seconds of a clock that nobody else moves: to make, and to evaluate."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *, making: float = 0.0, evaluating: float = 1.0) -> None:
        self.clock = Ticking()
        monkeypatch.setattr("fedsched.search.run.clock.time", self.clock)
        monkeypatch.setattr("fedsched.search.run.run.plans_in_a_slice", lambda jobs: 1)
        costs = {"random_rows": making, "rows_of_keys": making, "values": evaluating, "values_unless": evaluating}
        for name, seconds in costs.items():
            monkeypatch.setattr(SearchProblem, name, self._slowly(getattr(SearchProblem, name), seconds))
        for module in ("run.population", "methods.genetic"):
            for name in ("crossed", "mutated"):
                if hasattr(sys.modules[f"fedsched.search.{module}"], name):
                    usual = getattr(sys.modules[f"fedsched.search.{module}"], name)
                    monkeypatch.setattr(f"fedsched.search.{module}.{name}", self._slowly(usual, making))

    def _slowly(self, usual: Callable[..., Any], seconds: float) -> Callable[..., Any]:
        def slow(*given: Any, **options: Any) -> Any:
            made = usual(*given, **options)
            self.clock.now += seconds * len(made[0] if isinstance(made, tuple) else made)
            return made

        return slow


def test_no_slice_begins_that_would_end_beyond_the_budget(
    problem: SearchProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a plan which takes seconds, as the one before it did, is not begun in the last of them."""
    Costly(monkeypatch, evaluating=3.0)
    run = a_run(problem)
    run.stop = [MaxSeconds(10.0)]
    run.cut_at = 10.0
    run.begin_clock()
    with pytest.raises(BudgetSpent):
        run.evaluate(problem.random_rows(9, np.random.default_rng(1)))
    assert (run.evaluations, run.seconds) == (3, 9.0)
    assert run.reason_to_stop() == "10 s"


@pytest.mark.compiled
@pytest.mark.parametrize("method", sorted(set(METHODS) - {"sa", "hc"}))
def test_no_generation_is_made_that_there_is_no_time_for(
    method: str, problem: SearchProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that plans which take long to make are made as far as there is time to make and evaluate them."""
    Costly(monkeypatch, making=0.5)
    run = a_run(problem)
    run.stop, run.cut_at = [MaxSeconds(1000.0)], 1000.0
    run.begin_clock()
    maker = METHODS[method].make(run)
    maker.step(run)
    spent = run.seconds
    assert run.evaluations > 3
    run.cut_at = spent + 9.0
    run.stop = [MaxSeconds(run.cut_at)]
    assert drive(run, maker) == f"{run.cut_at:g} s"
    assert spent < run.seconds <= run.cut_at


@pytest.mark.parametrize("method", ["ga", "moga", "memetic"])
def test_what_begins_with_too_few_plans_ends_with_them(
    method: str, problem: SearchProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a population which there was no time to make whole is evaluated, and nothing is bred from it."""
    Costly(monkeypatch, making=1.0, evaluating=1e-3)
    run = a_run(problem)
    run.stop, run.cut_at = [MaxSeconds(20.0)], 20.0
    run.begin_clock()
    assert drive(run, METHODS[method].make(run)) == "20 s"
    assert 0 < run.evaluations < 20
    assert run.seconds <= 20.0


def test_seeds_have_their_turn_before_plans_by_chance(problem: SearchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no random plan but one is made where there is time for the seeds alone."""
    Costly(monkeypatch)
    run = a_run(problem)
    run.cut_at, run.plan_takes = 3.5, 1.0
    run.begin_clock()
    assert len(run.random_rows(40)) == 1
    run.cut_at = 8.0
    assert len(run.random_rows(40)) == 5
    run.cut_at = float("inf")
    assert len(run.random_rows(40)) == 40


@pytest.mark.parametrize(
    ("method", "made"), [("pso-ea", "keys_of_rows"), ("mpso-fga", "keys_of_rows"), ("ga", "repaired")]
)
def test_no_more_seeds_are_translated_than_there_is_time_for(
    method: str, made: str, problem: SearchProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that of many seeds those alone become genomes or assignments that a quarter of the time can evaluate."""
    run = a_run(problem)
    run.seeds = problem.random_rows(300, np.random.default_rng(0))
    Costly(monkeypatch)
    run.archive.add(problem.values(run.seeds[:1]), run.seeds[:1])
    run.stop, run.cut_at, run.plan_takes = [MaxSeconds(480.0)], 480.0, 1.0
    run.begin_clock()
    translated: list[int] = []
    translate = getattr(SearchProblem, made)

    def counted(self: SearchProblem, rows: Any) -> Any:
        translated.append(len(rows))
        return translate(self, rows)

    monkeypatch.setattr(SearchProblem, made, counted)
    (Genetic(run, encoding="assignment") if method == "ga" else METHODS[method].make(run)).step(run)
    assert 100 <= max(translated) <= 120
    assert run.evaluations >= max(translated)


def test_room_goes_by_what_plans_took_of_late(problem: SearchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that half of what is left is for evaluating, that there may be none, and that all are without a budget."""
    Costly(monkeypatch, evaluating=2.0)
    run = a_run(problem)
    run.cut_at = 100.0
    run.begin_clock()
    assert run.plans_in_time(50) == 50  # nothing is known yet
    run.evaluate(problem.random_rows(10, np.random.default_rng(1)))
    assert run.plan_takes == 2.0
    assert (run.plans_in_time(50), run.plans_in_time(50, share=1.0), run.plans_in_time(5)) == (20, 40, 5)
    assert run.prospect == 50
    run.cut_at = 24.0
    assert run.plans_in_time(50) == 1
    run.cut_at = 23.0
    with pytest.raises(BudgetSpent):
        run.plans_in_time(50)
    run.cut_at = float("inf")
    assert (run.plans_in_time(50), run.prospect) == (50, None)


def test_a_walker_makes_no_trial_that_may_end_too_late(problem: SearchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that trials are counted by what plans took, and none begins when the slowest would end beyond the time."""
    clock = Ticking()
    monkeypatch.setattr("fedsched.search.run.clock.time", clock)
    monkeypatch.setattr("fedsched.search.run.run.LONG", 1)
    run = a_run(problem)
    run.cut_at = 10.0
    run.begin_clock()
    assert run.trials(5000) == 666  # of a slice
    clock.now = 0.002
    run.note_trials(2, 0.0)
    assert run.trials(5000) == 10  # a hundredth of a second
    clock.now = 6.0
    run.note_trials(1, 2.0)  # four seconds: nothing could have ended that
    assert run.trials(5000) == 0
    clock.now = 5.9
    assert run.trials(5000) == 1
    assert run.trials(5000, plans=2) == 0
    run.cut_at = float("inf")
    assert (run.trials(5000), run.trials(7), run.trials(0)) == (666, 7, 0)


@pytest.mark.compiled
@pytest.mark.parametrize("threads", [1, 2])
def test_a_long_plan_is_ended_in_its_midst(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the clock is looked at within a long plan, and that what has not ended by then counts for nothing."""
    problem = SearchProblem(JOBS, MACHINE, Objectives(("makespan", "energy")), threads=threads)
    clock = Ticking()
    monkeypatch.setattr("fedsched.search.run.clock.time", clock)
    monkeypatch.setattr("fedsched.search.run.interruptible_evaluation.time", clock)
    monkeypatch.setattr("fedsched.search.run.run.LONG", 1)
    usual = interruptible_evaluation.run

    def slow(*given: Any) -> int:
        clock.now += 1.0  # so that every look comes after one instant
        return usual(*given[:3], 1, given[4])

    monkeypatch.setattr(interruptible_evaluation, "run", slow)
    run = a_run(problem)
    run.begin_clock()
    run.cut_at = 1e9
    rows = problem.random_rows(9, np.random.default_rng(1))
    first = run.evaluate(rows[:1])
    one = clock.now
    assert one > 10.0
    run.cut_at = one + 3.5 * one
    with pytest.raises(BudgetSpent):
        run.evaluate(rows)
    assert 1 < run.evaluations < 9
    assert clock.now <= run.cut_at + threads
    assert np.array_equal(run.archive.values, problem_values(problem, rows, run.archive.values))
    assert len(first) == 1


@pytest.mark.parametrize("long", [1, 10_000])
def test_plans_are_counted_where_they_lie(long: int, problem: SearchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that no plan is copied to be counted: those that ended are views of the rows, in their order."""
    counted: list[Any] = []
    monkeypatch.setattr("fedsched.search.run.run.LONG", long)
    monkeypatch.setattr(Run, "account", lambda self, evaluations, values, rows: counted.append(rows))
    run = a_run(problem)
    run.archive.add(np.zeros((1, 2)), problem.random_rows(1, np.random.default_rng(2)))
    run.cut_at = 1e9
    rows = problem.random_rows(9, np.random.default_rng(1))
    run.evaluate(rows)
    assert np.array_equal(counted[0], rows)
    assert np.shares_memory(counted[0], rows)
    usual = type(problem).values_unless

    def without_the_third(self: SearchProblem, part: Any, over: Any) -> Any:
        values, which = usual(self, part, over)
        kept = ~(part[which] == rows[2]).all(axis=1)
        return values[kept], which[kept]

    monkeypatch.setattr(type(problem), "values_unless", without_the_third)
    if long == 1:
        with pytest.raises(BudgetSpent):
            run.evaluate(rows)
        assert np.array_equal(np.array(counted[1]), np.delete(rows, 2, axis=0))
        assert all(np.shares_memory(row, rows) for row in counted[1])


def problem_values(problem: SearchProblem, rows: Any, kept: Any) -> Any:
    """Return of the kept values those that the batch evaluation gives too."""
    known = {tuple(values) for values in problem.values(rows).tolist()}
    return np.array([values for values in kept.tolist() if tuple(values) in known])


@pytest.mark.compiled
@pytest.mark.parametrize("objectives", [("makespan", "energy"), tuple(sorted({*NAMES} - NOT_SOUGHT, key=NAMES.index))])
def test_a_plan_that_may_be_ended_gives_the_same_bits(objectives: tuple[str, ...]) -> None:
    """Tests that looking at a clock within a plan changes none of its metrics, also where jobs run already."""
    rng = np.random.default_rng(3)
    alone = SearchProblem(JOBS, MACHINE, Objectives(objectives))
    begun = prepare(JOBS, MACHINE).advance(until=float(np.median(JOBS.submit)))
    on = SearchProblem(JOBS, MACHINE, Objectives(objectives), submits="keep", running=begun.running())
    for problem in (alone, on):
        rows = problem.random_rows(6, rng)
        values, ended = problem.values_unless(rows, lambda: False)
        assert ended.tolist() == [*range(6)]
        assert np.array_equal(values, problem.values(rows))
        values, ended = problem.values_unless(rows, lambda: True)
        assert (values.shape, ended.size) == ((0, len(objectives)), 0)


def test_many_objectives_are_measured_by_few_points(problem: SearchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that within a budget in seconds the hypervolume of many objectives is that of few points, else of all."""
    import moocore

    measured: list[int] = []
    monkeypatch.setattr(moocore, "hypervolume", lambda points, ref: measured.append(len(points)) or 0.5)
    rng = np.random.default_rng(0)
    for objectives, most in ((5, 300), (6, 200), (8, 30), (10, 16)):
        run = a_run(problem)
        run.reference, run.bounds = np.full(objectives, 2.0), np.zeros(objectives)
        run.archive.values = rng.random((300, objectives))
        for cut_at, points in ((10.0, most), (float("inf"), 300)):
            run.cut_at = cut_at
            run.archive.changes += 1
            run.hypervolume()
            assert measured.pop() == points


def test_plans_to_begin_with_are_made_while_there_is_time(
    problem: SearchProblem, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that of the user's plans one is taken at any rate, and that what is left out is named."""
    plans = [(np.arange(30), None), (np.arange(30)[::-1], None), (np.arange(30), None)]
    rows, left_out = baselines.first_plans(problem, "random", plans, (), Clock(AT_ONCE))
    assert (len(rows), left_out) == (1, ("some of the plans to begin with",))
    rows, left_out = baselines.first_plans(problem, "random", plans, (), Clock(1e6))
    assert (len(rows), left_out) == (3, ())
    with pytest.raises(TypeError, match="int is no plan"):
        baselines.first_plans(problem, "random", [5], (), Clock(None))
    theirs = [baseline_schedule(problem, policy) for policy in ("fcfs", "easy")]
    whole, _ = baselines.first_plans(problem, "structured", plans, theirs, Clock(1e6))
    monkeypatch.setattr(baselines, "LONG", 1)
    hasty, _ = baselines.first_plans(problem, "structured", plans, theirs, Clock(1e6), most=7)
    assert np.array_equal(hasty, np.concatenate([whole[:3], whole[5:12], whole[3:5]]))


def test_random_plans_leave_time_to_evaluate_them(problem: SearchProblem, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the first random plans take half of what is left, not all of it."""
    clock = Ticking()
    monkeypatch.setattr("fedsched.search.run.clock.time", clock)
    monkeypatch.setattr("fedsched.search.run.run.plans_in_a_slice", lambda jobs: 1)
    usual = SearchProblem.random_rows

    def slow(self: SearchProblem, *given: Any) -> Any:
        clock.now += 1.0
        return usual(self, *given)

    monkeypatch.setattr(SearchProblem, "random_rows", slow)
    run = a_run(problem)
    run.cut_at = 8.0
    run.begin_clock()
    assert len(run.random_rows(100)) == 4


@pytest.mark.compiled
def test_walkers_stop_when_time_is_up(problem: SearchProblem) -> None:
    """Tests that a stretch of walking counts the trials that there was time for: none here."""
    run = a_run(problem)
    run.cut_at = float("inf")
    method: Any = METHODS["memetic"].make(run)
    method.step(run)
    before = run.evaluations
    run.cut_at = AT_ONCE
    method._walk(run, 200)
    assert run.evaluations == before


def test_a_result_of_no_time_says_what_it_left_out() -> None:
    """Tests that a search whose budget is gone at once returns what FCFS gives, and names what it left out."""
    found = fs.optimize(JOBS, MACHINE, seconds=AT_ONCE, baselines=FEW, method="moga")
    assert found.left_out == ("easy", "laf-greedy", "lookahead", "mct", "some of the bounds")
    assert "left out for want of time: easy, laf-greedy, lookahead, mct, some of the bounds" in str(found)
    assert "compiling and loading took " in str(found)
    assert [baseline.policy for baseline in found.baselines] == ["fcfs"]
    found.best().verify()
    whole = fs.optimize(JOBS, MACHINE, evaluations=150, baselines=FEW, method="moga")
    assert beside_solver(whole.left_out) == ()
    assert "left out for want of time" not in str(whole)
    assert "compiling and loading" not in str(whole)


def test_what_is_compiled_does_not_count() -> None:
    """Tests that seconds of warming up, and those that a watch counts later, are no part of what has elapsed."""

    class Watch:
        """Counts what the test says."""

        seconds = 0.0

    watch: Any = Watch()
    clock = Clock(1e6, watch)
    before = clock.elapsed
    with clock.warming_up():
        watch.seconds = 5.0
    assert clock.uncounted < 1e3  # the block took no five seconds, and its compiling is not counted twice
    watch.seconds = 1000.0
    assert clock.uncounted >= 995.0
    assert clock.elapsed < before
    assert clock.left() > 1e6


def test_packages_share_one_budget() -> None:
    """Tests that seconds are the call's, not each package's: in no time each gets one plan, and that is said."""
    found = fs.optimize(
        JOBS, MACHINE, objectives="makespan", seconds=AT_ONCE, package=8, baselines=("fcfs",), method="ga"
    )
    assert (found.packages, found.evaluations, found.stop_reason) == (4, 4, "1e-09 s")
    assert "the search of 4 packages" in found.left_out
    assert found.best().complete
    found.best().verify()


def test_each_package_has_its_share(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the first of four packages gets a quarter of the seconds, and the last one all that is left."""
    from fedsched.optimize import packages

    given: list[float] = []
    usual = packages.search_once

    def noted(search: Any, problem: Any, saved: Any, clock: Clock, **options: Any) -> Any:
        given.append(clock.seconds or 0.0)
        return usual(search, problem, saved, clock, **options)

    monkeypatch.setattr(packages, "search_once", noted)
    fs.optimize(
        JOBS, MACHINE, objectives="makespan", seconds=1e6, evaluations=20, package=8, baselines=("fcfs",), method="ga"
    )
    assert [round(seconds / 1e6, 2) for seconds in given] == [0.25, 0.33, 0.5, 1.0]


def test_packages_keep_time_for_what_is_no_search(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that what a package takes beside its search is kept back from the shares, as soon as it is known."""
    from fedsched.optimize import packages

    clock, given = Ticking(), list[float]()
    monkeypatch.setattr("fedsched.search.run.clock.time", clock)
    monkeypatch.setattr(Clock, "uncounted", property(lambda self: 0.0))  # whatever is compiled on the way
    search, make = packages.search_once, packages.problem_of

    def noted(asked: Any, problem: Any, saved: Any, budget: Clock, **options: Any) -> Any:
        given.append(round(budget.seconds or 0.0, 2))
        return search(asked, problem, saved, budget, **options)

    def slow(*asked: Any, **options: Any) -> Any:
        clock.now += 1.0
        return make(*asked, **options)

    monkeypatch.setattr(packages, "search_once", noted)
    monkeypatch.setattr(packages, "problem_of", slow)
    fs.optimize(
        JOBS, MACHINE, objectives="makespan", seconds=100.0, evaluations=20, package=8, baselines=("fcfs",), method="ga"
    )
    assert given == [24.75, 32.67, 47.5, 95.0]


def test_packages_without_time_for_a_search_are_not_searched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a package whose share is less than a search takes to begin gets its jobs as they came."""
    from fedsched.optimize import packages

    searched: list[int] = []
    usual = packages.search_once
    monkeypatch.setattr(packages, "search_once", lambda *given, **how: (searched.append(1), usual(*given, **how))[1])
    monkeypatch.setattr(packages, "LEAST", 1e9)
    found = fs.optimize(
        JOBS, MACHINE, objectives="makespan", seconds=1e6, evaluations=20, package=8, baselines=("fcfs",), method="ga"
    )
    assert len(searched) == 1
    assert (found.packages, found.evaluations, found.stop_reason) == (4, 23, "1e+06 s")
    assert beside_solver(found.left_out) == ("the search of 3 packages",)
    assert found.best().complete
    found.best().verify()


def test_what_a_plan_takes_is_known_before_the_first_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that within a budget in seconds one plan is evaluated before any others are made."""
    from fedsched.optimize import searching

    known: list[int] = []
    usual = searching.structured_seeds
    monkeypatch.setattr(
        baselines,
        "structured_seeds",
        lambda problem, **how: (known.append(len(taken)), usual(problem, **how))[1],
    )
    taken: list[int] = []
    values = SearchProblem.values

    def noted(self: SearchProblem, rows: Any) -> Any:
        if self.layout.jobs == len(JOBS):  # not when warming up
            taken.append(len(rows))
        return values(self, rows)

    monkeypatch.setattr(SearchProblem, "values", noted)
    fs.optimize(JOBS, MACHINE, objectives="makespan", seconds=1e6, evaluations=20, baselines=("fcfs",), method="ga")
    assert known[-1] == 1
    assert taken[0] == 1


def test_a_part_of_a_call_has_its_share_of_what_is_left(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that four packages get a quarter each, that what was spent before the call counts, and none is below 0."""
    ticking = Ticking()
    monkeypatch.setattr("fedsched.search.run.clock.time", ticking)
    clock = Clock(10.0)
    ticking.now = 2.0
    assert clock.part(4).seconds == 2.0
    ticking.now = 4.0
    assert clock.part(3).left() == 2.0
    clock.spend(3.0)
    assert clock.left() == 3.0
    ticking.now = 9.0
    assert clock.part(2).seconds == AT_ONCE
    assert Clock(None).part(2).seconds is None


def test_without_a_budget_there_is_no_end() -> None:
    """Tests that time never runs out where none was given."""
    clock = Clock(None)
    assert clock.left(0.1) == float("inf")
    assert clock.within(0.1) is None
