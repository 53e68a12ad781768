"""An instant as a search problem: what rows mean beside running jobs, and what the search begins with."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import signatures
from support.rolling_cases import Watching, alone, crowd, of_several_sizes, unlike

import fedsched as fs
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.run.evaluate import unpack_row
from fedsched.model.schedule.metrics import Column
from fedsched.optimize.rolling import Rolling, instant
from fedsched.optimize.rolling.instant import OVERRUN_SECONDS, Instant, Workspaces, incumbents, placements_for_all
from fedsched.search.problem.objectives import Objectives
from fedsched.simulate import prepare, simulate

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.run.simulation import Simulation

EIGHT = fs.Federation.homogeneous(8)
SLOWDOWN = Objectives.of("bounded_slowdown")


def instants(workload: fs.Workload, machine: fs.Federation, look: Callable[[Simulation, Instant], None]) -> int:
    """Look at each instant of a rolling run at which at least three jobs wait, before a plan is made; say how many."""
    spaces, seen = Workspaces(), [0]

    def before(run: Simulation) -> None:
        waiting = run.queued()
        if waiting.size >= 3:
            seen[0] += 1
            look(run, Instant(run, waiting, SLOWDOWN, placements=placements_for_all(run), spaces=spaces))

    prepare(workload, machine, Watching(Rolling(evaluations=20), before=before)).advance()
    return seen[0]


def as_simulated(run: Simulation, instant: Instant, policy: fs.Rules, caps: np.ndarray | None = None) -> fs.Schedule:
    """Return what the simulator makes of the instant, everybody taking as long as estimated."""
    estimate = run.workload.estimate[instant.jobs]
    part = replace(run.workload.take(instant.jobs), runtime=estimate)
    running = instant.space.common.running._replace(rows=np.array(instant.problem.running))
    if caps is not None:
        caps = np.concatenate([caps, np.tile(instant.space.nodes, (len(running.start), 1))])
    return simulate(part, run.federation, policy, caps=caps, running=running)


@pytest.mark.parametrize("machine", [EIGHT, unlike()], ids=["one group", "two clusters"])
def test_its_workload_is_the_queue_as_rows_plan_it(machine: fs.Federation) -> None:
    """Tests that methods that read the jobs find job j of a row in row j, with its estimate and no true run time."""
    workload = crowd(30, 1)

    def look(run: Simulation, instant: Instant) -> None:
        jobs, own = instant.workload, instant.problem
        assert len(jobs) == instant.layout.jobs == run.queued().size
        assert jobs.id.tolist() == workload.id[run.queued()].tolist()
        assert jobs.runtime.tolist() == jobs.estimate.tolist() == workload.estimate[run.queued()].tolist()
        assert (jobs.tasks.tolist(), instant.federation) == (own.tasks[: len(jobs)].tolist(), machine)
        assert (instant.space.limits <= jobs.tasks[:, None]).all()

    assert instants(workload, machine, look) > 3


def whole_order(instant: Instant, order: np.ndarray) -> np.ndarray:
    """Return an order of the waiting jobs as one of all rows, the running ones last."""
    return np.concatenate([order, np.array(instant.problem.running)])


@pytest.mark.parametrize(
    ("workload", "machine"),
    [(crowd(30, 1), EIGHT), (crowd(30, 1), unlike()), (alone(crowd(30, 1)), of_several_sizes())],
    ids=["one group", "two clusters", "nodes of several sizes"],
)
def test_a_row_is_evaluated_as_it_is_simulated(workload: fs.Workload, machine: fs.Federation) -> None:
    """Tests that a plan's metric row at an instant is that of the full schedule from the running state."""
    rng = np.random.default_rng(0)

    def look(run: Simulation, instant: Instant) -> None:
        rows = instant.random_rows(2, rng)
        instant.layout.rules(rows)[:, 0] = rng.choice(instant.space.dispatches, 2)
        instant.layout.rules(rows)[:, 1] = rng.choice(instant.space.placements, 2)
        instant.repaired(rows)
        for row, found in zip(rows, instant.metrics(rows), strict=True):
            order, caps, dispatch, placement = unpack_row(instant.layout, row)
            rules = fs.Rules(
                order=whole_order(instant, order),
                dispatch=Dispatch(dispatch).name.lower(),
                placement=Placement(placement).name.lower(),
            )
            expected = as_simulated(run, instant, rules, caps).metrics(users=False)
            assert found[Column.MEAN_WAIT] == expected.mean_wait
            assert found[Column.BOUNDED_SLOWDOWN] == expected.bounded_slowdown
            assert found[Column.ENERGY] == expected.energy

    assert instants(workload, machine, look) > 10


def test_waits_count_from_the_true_submits() -> None:
    """Tests that a plan's mean wait at an instant counts what the jobs have waited already."""

    def look(run: Simulation, instant: Instant) -> None:
        row = instant.row(np.arange(instant.layout.jobs))
        jobs = instant.jobs
        waited = np.where(np.isnan(run.state.start[jobs]), run.time, run.state.start[jobs]) - run.workload.submit[jobs]
        assert instant.metrics(row[None])[0, Column.MEAN_WAIT] >= waited.mean() - 1e-9

    assert instants(crowd(30, 2), EIGHT, look) > 10


@pytest.mark.compiled
@pytest.mark.parametrize("backfill", ["sjf", "saf"])
def test_the_incumbents_are_as_good_as_easy_with_shortest_first(backfill: str) -> None:
    """Tests that on equal nodes some plan to begin with is no worse than EASY-SJBF and EASY with smallest areas."""

    def look(run: Simulation, instant: Instant) -> None:
        policy = as_simulated(run, instant, fs.Rules(dispatch="easy", backfill_order=backfill))
        best = float(instant.values(incumbents(instant, Workspaces()))[:, 0].min())
        assert best <= policy.metrics().bounded_slowdown + 1e-12

    assert instants(crowd(40, 3), EIGHT, look) > 10


@pytest.mark.compiled
@pytest.mark.parametrize(
    ("order", "dispatch"), [("fcfs", "easy"), ("saf", "easy"), ("sjf", "easy"), ("smallest", "greedy")]
)
def test_the_usual_policies_are_where_a_search_begins(order: str, dispatch: str) -> None:
    """Tests that what a policy would do is among the plans to begin with, with the policy's own value."""

    def look(run: Simulation, instant: Instant) -> None:
        policy = as_simulated(run, instant, fs.Rules(order=order, dispatch=dispatch)).metrics().bounded_slowdown
        values = instant.values(incumbents(instant, Workspaces()))[:, 0]
        assert np.abs(values - policy).min() < 1e-12

    assert instants(crowd(30, 4), EIGHT, look) > 10


def test_workspaces_are_kept_but_not_all_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that the sizes met last have their arrays still, and that those not met for long are let go."""
    monkeypatch.setattr(instant, "KEPT", 3)
    problems = [prepare(crowd(jobs, 0), EIGHT, "fcfs").problem for jobs in range(1, 6)]
    spaces = Workspaces()
    states = [spaces.of(problem) for problem in problems]
    assert spaces.of(problems[3]) is states[3]
    assert spaces.of(problems[2]) is states[2]
    assert spaces.of(problems[0]) is not states[0]
    assert spaces.of(problems[2]) is states[2]
    assert spaces.of(problems[4]) is not states[4]


@pytest.mark.parametrize(("estimate", "end"), [(100, 540), (300, 320 + OVERRUN_SECONDS), (320, 380), (321, 321)])
def test_late_jobs_are_expected_to_go_on(estimate: int, end: float) -> None:
    """Tests that a job past its estimate is expected to run on for as long again, and a minute at least."""
    workload = fs.Workload(
        submit=[0, 320, 320, 320], tasks=[4, 8, 8, 4], runtime=[1000] * 4, estimate=[estimate, 50, 50, 50]
    )
    ends: list[float] = []

    def look(run: Simulation, instant: Instant) -> None:
        if run.time == 320:
            ends.extend(instant.space.common.running.finish.tolist())

    assert instants(workload, EIGHT, look) > 0
    assert ends == [end]


def test_a_plan_keeps_off_what_a_job_may_not_use() -> None:
    """Tests that plans leave each job on its allowed clusters."""
    rng = np.random.default_rng(5)
    base = crowd(30, 5, nodes=4)
    allowed = rng.random((30, 2)) < 0.5
    allowed[~allowed.any(axis=1)] = True
    workload = replace(base, sites=("slow", "fast"), allowed=allowed)
    schedule = simulate(workload, unlike(), Rolling(evaluations=40))
    assert (schedule.counts[~allowed] == 0).all()
    assert not allowed.all()


@pytest.mark.compiled
def test_kernels_have_no_more_signatures_than_they_may() -> None:
    """Tests that instants hand the kernels the very types that whole logs and packages hand them."""
    workload = crowd(10, 6, spread=0)
    fs.optimize(workload, EIGHT, objectives="makespan", evaluations=400, baselines=("easy", "fcfs"))
    simulate(workload, EIGHT, Rolling(evaluations=400))
    simulate(workload, unlike(), Rolling(evaluations=400))
    signatures.check("fedsched.engine", "fedsched.search", least=50)
