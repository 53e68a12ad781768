"""Walkers side by side: where they are set down, how they measure, and how trials are shared out."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
from support.plain import plain

from fedsched.core.errors import InfeasibleError
from fedsched.engine.codes import Status
from fedsched.search.methods import local
from fedsched.search.walks import walkers
from fedsched.search.walks.descent import Accept
from fedsched.search.walks.walkers import DRIFT, LATE, POCKET, Walkers

descent = plain("fedsched.search.walks.descent")


def a_run(objectives: int = 2, threads: int = 1, weights: tuple[float, ...] | None = None) -> SimpleNamespace:
    """Return what walkers ask of a run, over plans of three numbers."""
    problem = SimpleNamespace(
        objectives=SimpleNamespace(
            names=[*"ab"][:objectives],
            weights=weights or (1.0, 3.0)[:objectives],
            columns=np.arange(objectives),
            signs=np.ones(objectives),
        ),
        layout=SimpleNamespace(length=3, jobs=1),
        threads=threads,
    )
    run = SimpleNamespace(problem=problem, reference=np.array([10.0, -20.0][:objectives]), seed=7, out_of_time=False)
    run.accounts = []
    run.account = lambda *met: run.accounts.append(met)
    return run


def test_walkers_begin_with_the_objectives_weights() -> None:
    """Each goes by the weights of the objectives, in shares of one, on the scale of the reference, from 0."""
    some = Walkers(a_run(), members=3)
    assert some.weights.tolist() == [[0.25, 0.75]] * 3
    assert (some.ideal.tolist(), some.scale.tolist()) == ([0.0, 0.0], [10.0, 20.0])
    assert len({int(walker.stream[0]) for walker in some.walkers}) == 3


def test_a_walker_sees_plans_as_the_kernel_does() -> None:
    """`scalar` over many plans is the kernel's, plan by plan."""
    some = Walkers(a_run(), members=2, greatest_share=0.7)
    some.weights[1] = [0.9, 0.1]
    values = np.random.default_rng(0).uniform(0, 50, (6, 2))
    for k in range(2):
        assert some.scalar(k, values) == pytest.approx([descent.scalar(some.goal(k), row) for row in values], rel=1e-14)
    assert some.goal(1).sum_share == pytest.approx(0.3)


def test_setting_down() -> None:
    """Plan, value and places are those of the plan; with slack the places are that much worse; nothing is stale."""
    some = Walkers(a_run(1), members=2)
    walker = some.walkers[1]
    walker.steps[:] = [40, 3]
    walker.ends[:] = 5.0
    assert some.stale(1) == 37
    some.place(1, np.array([1, 2, 3]), np.array([30.0]), slack=0.5)
    assert (walker.current.tolist(), walker.best.tolist()) == ([1, 2, 3], [1, 2, 3])
    assert (walker.value.tolist(), walker.late.tolist()) == ([3.0, 3.0], [4.5] * LATE)
    assert (walker.objectives.tolist(), walker.ends.tolist()) == ([[30.0], [30.0]], [0.0])
    assert (some.stale(1), some.best(1)) == (0, 3.0)
    assert np.isinf(some.best(0))


def test_the_temperature_is_the_walkers_own() -> None:
    """`cool` sets one walker's temperature and factor."""
    some = Walkers(a_run(1), members=2, accept=Accept.ANNEALED)
    some.cool(1, 0.5, 0.99)
    assert [walker.heat.tolist() for walker in some.walkers] == [[0.0, 1.0], [0.5, 0.99]]
    assert some.goal(0).accept == Accept.ANNEALED


def test_small_drifts_of_the_goal_are_let_be() -> None:
    """Below a share of the scale ideal and scale stay; from it on all values are measured anew, late ones included."""
    some = Walkers(a_run(1), members=1)
    some.place(0, np.zeros(3, dtype=np.int64), np.array([30.0]))
    some.aim(np.array([0.99 * DRIFT * 10.0]), np.array([10.0]))
    assert (some.ideal[0], some.best(0)) == (0.0, 3.0)
    some.aim(np.array([DRIFT * 10.0]), np.array([10.0]))
    assert (some.ideal[0], some.best(0)) == (0.5, 2.95)
    some.aim(np.array([5.0]), np.array([10.0]))
    assert (some.ideal[0], some.best(0)) == (5.0, 2.5)
    assert some.walkers[0].late.tolist() == [2.5] * LATE
    some.aim(np.array([5.0]), np.array([5.0]))
    assert (some.scale[0], some.best(0)) == (5.0, 5.0)
    some.aim(np.array([5.0]), np.array([5.0 * (1 + 0.9 * DRIFT)]))
    assert some.scale[0] == 5.0


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_trials_are_shared_evenly(monkeypatch: pytest.MonkeyPatch, threads: int) -> None:
    """Eleven trials of three walkers are 4, 4 and 3, on any number of threads; pockets come in the walkers' order."""
    run = a_run(threads=threads)
    some = Walkers(run, members=3)
    lengths: dict[int, tuple[int, int]] = {}

    def walk_one(run: object, k: int, trials: int, thread: int) -> int:
        lengths[k] = trials, thread
        some.walkers[k].pocket_values[:2] = [[k, 1.0], [k, 2.0]]
        some.walkers[k].pocket_rows[:2] = k
        some.walkers[k].pocket_size[0] = 2
        return trials

    monkeypatch.setattr(some, "walk_one", walk_one)
    some.walk(run, 11)
    assert [lengths[k][0] for k in range(3)] == [4, 4, 3]
    assert [lengths[k][1] for k in range(3)] == [k % min(threads, 3) for k in range(3)]
    [(walked, values, rows)] = run.accounts
    assert walked == 11
    assert values[:, 0].tolist() == [0, 0, 1, 1, 2, 2]
    assert [int(row[0]) for row in rows] == [0, 0, 1, 1, 2, 2]
    assert [int(walker.pocket_size[0]) for walker in some.walkers] == [0, 0, 0]


def test_a_stretch_goes_in_slices(monkeypatch: pytest.MonkeyPatch) -> None:
    """A walker's trials are made in slices that let the clock be looked at; it says how many there was time for."""
    run = a_run(1)
    run.problem.problem = run.problem.space = run.problem.no_users = None
    run.problem.seat = lambda thread: (None, None, None)
    asked = list[int]()

    def descend(*given: object) -> int:
        asked.append(given[-1])
        run.trials = lambda most: 0 if len(asked) == 3 else min(most, 4)
        return Status.DONE

    took = list[tuple[int, float]]()
    run.seconds, run.note_trials = 7.0, lambda trials, began: took.append((trials, began))
    run.trials = lambda most: min(most, 4)
    monkeypatch.setattr(walkers, "descend", descend)
    some = Walkers(run, members=1)
    assert some.walk_one(run, 0, 10, 0) == 10
    assert asked == [4, 4, 2]
    assert took == [(4, 7.0), (4, 7.0), (2, 7.0)]
    asked.clear()
    assert some.walk_one(run, 0, 50, 0) == 12
    monkeypatch.setattr(walkers, "descend", lambda *given: Status.STUCK)
    run.trials = lambda most: most
    with pytest.raises(InfeasibleError):
        some.walk_one(run, 0, 1, 0)


def test_one_objective_needs_no_pocket() -> None:
    """A walker with one objective brings one plan home, one with several up to as many as fit."""
    assert [len(Walkers(a_run(m), members=1).walkers[0].pocket_rows) for m in (1, 2)] == [1, POCKET]


# ---- annealing and hill climbing ------------------------------------------------------------------------------------


def test_annealing_is_cold_when_its_budget_is_spent() -> None:
    """It begins at HOT and cools so that after the whole budget it is at COLD; without a budget, after 100,000."""
    for total, trials in ((500, 500), (None, 100_000)):
        run = a_run(1)
        run.total = total
        heat = local.annealing(run)._walkers.walkers[0].heat
        assert heat[0] == local.HOT
        assert heat[0] * heat[1] ** trials == pytest.approx(local.COLD, rel=1e-6)
        assert local.hill_climbing(run)._walkers.walkers[0].heat.tolist() == [0.0, 1.0]


def steps_of(make, monkeypatch: pytest.MonkeyPatch, *, stale: int, left: int = 10_000) -> dict[str, list[object]]:
    """Return what a single walk does in its first two steps when its walker is that stale at the second."""
    did: dict[str, list[object]] = {"placed": [], "walked": []}
    run = a_run(1)
    run.total, run.left, run.seeds = None, left, []
    run.first_rows = lambda count: np.arange(3 * count).reshape(count, 3)
    run.evaluate = lambda rows: np.abs(rows[:, :1] - 30.0)  # the eleventh plan is the best
    run.scalar = lambda values: values[:, 0]
    run.generator = lambda number: number
    run.problem.random_rows = lambda count, rng: np.full((count, 3), 1000 * rng)
    walk = make(run)
    placed = walk._walkers.place
    monkeypatch.setattr(walk._walkers, "walk", lambda run, trials: did["walked"].append(trials))
    monkeypatch.setattr(
        walk._walkers, "place", lambda k, row, values: (did["placed"].append(int(row[0])), placed(k, row, values))
    )
    assert walk.step(run)
    walk._walkers.walkers[0].steps[0] += stale
    assert walk.step(run)
    return did


def test_a_walk_begins_at_the_best_of_the_first_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is set down on the best of the first plans, and walks on in stretches, no longer than what is left."""
    assert steps_of(local.annealing, monkeypatch, stale=10**6) == {"placed": [30], "walked": [local.TRIALS]}
    assert steps_of(local.annealing, monkeypatch, stale=0, left=7)["walked"] == [7]


def test_only_a_stuck_hill_climber_starts_anew(monkeypatch: pytest.MonkeyPatch) -> None:
    """After more than so many trials without a better plan it is set down on a random one, and only then."""
    assert steps_of(local.hill_climbing, monkeypatch, stale=local.STALE)["placed"] == [30]
    assert steps_of(local.hill_climbing, monkeypatch, stale=local.STALE + 1)["placed"] == [30, 1000]


def test_random_plans_come_in_batches_of_their_own() -> None:
    """Each step draws and evaluates another batch, each from a generator of its own."""
    run, evaluated = a_run(1), list[tuple[int, int]]()
    run.generator = lambda number: number
    run.plans_in_time = lambda plans: plans
    run.problem.random_rows = lambda count, rng: (count, rng)
    run.evaluate = evaluated.append
    plans = local.RandomPlans(run)
    assert plans.step(run)
    assert plans.step(run)
    assert evaluated == [(local.BATCH, 1), (local.BATCH, 2)]
