"""Searches over jobs of which some leave the queue, have a reservation, or follow others [readings 44 to 48, 53]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support.tiers import some, tries
from support.unsettled_cases import COURSE, KINDS, check, crowd

import fedsched as fs
from fedsched.compare import Budget, Instance, compare
from fedsched.core.errors import InfeasibleError
from fedsched.engine.codes import Dispatch, Placement
from fedsched.search.methods.methods import METHODS
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem

if TYPE_CHECKING:
    from pathlib import Path

GREEDY = (int(Dispatch.GREEDY), int(Placement.FASTEST))
FEW = ("fcfs", "easy", "min-min", "lookahead")


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("method", some(tuple(METHODS), 3))
def test_every_method_plans_them(method: str, kind: str) -> None:
    """Whatever a method finds keeps to the model, has the values that it shows, and is above what is proven."""
    log, machine = crowd(3, kind)
    objectives = METHODS[method].objectives
    for submits in ("now", "keep"):
        check(
            fs.optimize(
                log, machine, method=method, objectives=objectives, evaluations=80, seed=1, submits=submits,
                baselines=FEW,
            )
        )  # fmt: skip


@pytest.mark.parametrize("kind", KINDS)
def test_random_crowds_are_planned(kind: str) -> None:
    """Encodings, requests for run times, any objective: each plan keeps to the model."""
    for seed in range(tries(12)):
        log, machine = crowd(100 + seed, kind, jobs=6 + seed)
        words = {"objectives": (("flow", "makespan"), ("loss_of_capacity",), ("mean_wait", "energy"))[seed % 3]}
        words |= {"knowledge": ("runtime", "estimate")[seed % 2], "submits": ("now", "keep")[seed // 2 % 2]}
        check(fs.optimize(log, machine, evaluations=120, seed=seed, baselines=FEW, **words))
    check(fs.optimize(log, machine, method="ga", encoding="assignment", evaluations=120, baselines=FEW))


@pytest.mark.compiled
@pytest.mark.parametrize("kind", KINDS)
def test_islands_plan_them(kind: str) -> None:
    """Searches side by side send each other their plans; the same seed, the same result."""
    log, machine = crowd(4, kind)
    words = {"objectives": ("flow", "makespan"), "evaluations": 400, "islands": 3, "threads": 2, "baselines": FEW}
    found = fs.optimize(log, machine, seed=1, **words)
    check(found)
    assert fs.optimize(log, machine, seed=1, **words).front.values.tolist() == found.front.values.tolist()


@pytest.mark.parametrize("method", ["memetic", "moga", "sa"])
def test_nobody_knows_who_will_leave(method: str) -> None:
    """With and without cancellations to come the same plans are found: only what comes of them differs."""
    differ = 0
    for seed in range(tries(6)):
        log, machine = crowd(seed, "cancelled")
        words = {"evaluations": 150, "seed": seed, "method": method, "objectives": ("flow",)}
        stay = fs.optimize(replace(log, cancel_at=None), machine, **words)
        leave = fs.optimize(log, machine, **words)
        assert leave.front.planned.tolist() == stay.front.values.tolist()
        assert [one.planned for one in leave.baselines] == [one.values for one in stay.baselines]
        ours, theirs = leave.front.plans[0], stay.front.plans[0]
        assert ours.policy == theirs.policy
        assert np.array_equal(ours.order, theirs.order)
        differ += leave.value() != stay.value()
    assert differ > 0


def test_who_has_left_by_then_is_known_to_be_gone() -> None:
    """A plan that is made at 50 knows of the cancellation at 20, and nothing of the one at 80."""
    log = fs.Workload(submit=[0.0, 0.0, 0.0], tasks=[2, 2, 2], runtime=[50.0, 10.0, 40.0], cancel_at=[80.0, 20.0, -1])
    found = fs.optimize(log, fs.Federation.homogeneous(2), objectives="flow", evaluations=50, t0=50.0)
    assert found.problem.problem.extras.cancellations.job.tolist() == [1]
    assert found.foresight == "planned without 1 cancellation to come; figures are of what came"
    assert found.best().cancelled.tolist() == [True, True, False]  # 40 s first is the better plan
    assert found.front.missing == (2,)
    assert found.front.planned.tolist() == [[130.0]]
    assert found.front.values.tolist() == [[40.0]]
    assert "bounds are of jobs that start in any case" in str(found)


def test_all_may_leave_and_nothing_is_proven() -> None:
    """Bounds are of those who start in any case; where nobody does there are none."""
    log = fs.Workload(submit=[0.0, 0.0], tasks=[2, 2], runtime=[50.0, 10.0], cancel_at=[5.0, 5.0])
    found = fs.optimize(log, fs.Federation.homogeneous(2), objectives="makespan", evaluations=50)
    assert np.isnan(found.bound())
    assert "so nothing is proven of them" in str(found)
    check(found)


def test_plans_in_which_fewer_miss_the_reservation_are_better() -> None:
    """Two short jobs first leave the long one no time: the order that takes it first has all three."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0], tasks=[1, 1, 1], runtime=[5.0, 5.0, 10.0], labels={"reservation": ["course"] * 3}
    )
    kept = replace(COURSE, begin=20.0, end=30.0, nodes="2 of all", cluster="cluster")
    machine = replace(fs.Federation.homogeneous(3), calendar=(kept,))
    problem = SearchProblem(log, machine, Objectives.of("flow"))
    short, long = problem.values(np.array([problem.row([0, 1, 2], rules=GREEDY), problem.row([2, 0, 1])]))[:, 0]
    assert problem.space.common.missed == 1
    assert short == 50.0  # as many have no end as first come, first served leaves
    assert long < -(2.0**29)  # one more has an end
    found = fs.optimize(log, machine, objectives="flow", evaluations=50, baselines=("fcfs", "sjf"))
    assert found.value() == 30.0 + 25.0 + 30.0
    assert found.front.missing == (0,)
    assert [one.missing for one in found.baselines] == [1, 1]
    assert np.isnan(found.bound())  # each of them may miss it
    check(found)


def test_bounds_are_of_those_outside_reservations() -> None:
    """The others are proven to need the time of both, which do not fit side by side."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0], tasks=[3, 1, 3], runtime=[15.0, 9.0, 10.0], labels={"reservation": ["", "course", ""]}
    )
    kept = replace(COURSE, begin=20.0, end=30.0, nodes="2 of all", cluster="cluster")
    found = fs.optimize(log, replace(fs.Federation.homogeneous(3), calendar=(kept,)), objectives="makespan",
                        evaluations=50)  # fmt: skip
    assert found.value() == 40.0
    assert found.bound() == pytest.approx(25.0)
    assert found.foresight == ""
    check(found)


def test_submits_follow_from_the_ends_in_the_plan() -> None:
    """Job 3 comes 5 s after job 1 has ended: late where that is late, and its response counts from then on."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0], tasks=[2, 2, 2], runtime=[10.0, 4.0, 3.0],
        feedback={"preceding": [-1, -1, 1], "think_time": [-1, -1, 5.0]},
    )  # fmt: skip
    problem = SearchProblem(log, fs.Federation.homogeneous(2), Objectives.of(("flow", "makespan")))
    rows = np.array([problem.row(order) for order in ([0, 1, 2], [1, 0, 2], [2, 0, 1])])
    assert problem.values(rows).tolist() == [[10 + 14 + 3, 18.0], [4 + 14 + 3, 22.0], [10 + 14 + 3, 18.0]]
    for row in rows:
        assert problem.schedule(row).workload.submit[2] == problem.schedule(row).finish[0] + 5.0
    found = fs.optimize(log, fs.Federation.homogeneous(2), objectives="makespan", evaluations=50)
    assert found.value() == pytest.approx(found.bound()) == 18.0
    later = fs.optimize(replace(log, submit=[0.0, 30.0, 0.0]), fs.Federation.homogeneous(2), objectives="makespan",
                        evaluations=50, submits="keep")  # fmt: skip
    assert later.best().start.tolist() == [0.0, 30.0, 15.0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_clock_ends_their_plans_with_the_same_values(kind: str) -> None:
    """Plans that a clock may cut are evaluated to the same bits as in batches."""
    for seed in range(tries(8)):
        log, machine = crowd(seed, kind)
        problem = SearchProblem(log, machine, Objectives.of(("flow", "mean_wait", "loss_of_capacity")), submits="keep")
        rows = problem.random_rows(5, np.random.default_rng(seed))
        values, ended = problem.values_unless(rows, lambda: False)
        assert ended.tolist() == [0, 1, 2, 3, 4]
        assert values.tolist() == problem.values(rows).tolist()


@pytest.mark.parametrize("kind", KINDS)
def test_results_are_saved_and_shown(kind: str, tmp_path: Path) -> None:
    """A file is read again only where all that it says is borne out; the page is written."""
    log, machine = crowd(5, kind)
    found = fs.optimize(log, machine, objectives=("flow", "makespan"), evaluations=80, baselines=FEW)
    found.save(tmp_path / "found.json")
    again = fs.Result.load(tmp_path / "found.json")
    assert again.front.missing == found.front.missing
    assert again.reading == found.reading
    assert again.foresight == found.foresight
    check(again)
    found.report(tmp_path / "page.html")
    assert "flow" in (tmp_path / "page.html").read_text(encoding="utf-8")


@pytest.mark.parametrize("kind", KINDS[:3])
def test_they_are_compared(kind: str) -> None:
    """Policies, list heuristics and searches run on them, and it is said of whom the figures are."""
    log, machine = crowd(7, kind)
    instance = Instance("crowd", log, machine, ("flow",), submits="keep")
    found = compare([instance], ["memetic", "easy", "mct"], (1,), Budget(60))
    assert not any(record.error for record in found.records)
    facts = "; ".join(found.records[0].facts)
    assert ("figures are of the jobs that ran" in facts) == (kind == "cancelled")
    assert ("cancellations to come" in facts) == (kind == "cancelled")
    by_method = {record.method: record for record in found.records}
    assert by_method["easy"].front[0][0] == fs.simulate(log, machine, "easy", knowledge="runtime").metrics().flow


def test_runs_that_miss_others_reservations_are_not_compared() -> None:
    """Two of three jobs find time in the reservation under one policy, all under another: other jobs, other figures."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0], tasks=[1, 1, 1], runtime=[5.0, 5.0, 10.0], labels={"reservation": ["course"] * 3}
    )
    kept = replace(COURSE, begin=20.0, end=30.0, nodes="2 of all", cluster="cluster")
    instance = Instance("course", log, replace(fs.Federation.homogeneous(3), calendar=(kept,)), ("flow",))
    fcfs, longest = compare([instance], ["fcfs", "ljf"], (1,), Budget(60)).records
    assert not fcfs.error
    assert "leaves 0 jobs without an end, first come, first served on any nodes 1" in longest.error
    assert "miss their reservations" in longest.error


@pytest.mark.parametrize("kind", KINDS)
def test_shapes_are_chosen_for_them(kind: str) -> None:
    """Plans choose the shapes of such jobs as of any."""
    log, machine = crowd(9, kind)
    own = zip(log.id.tolist(), log.tasks.tolist(), log.runtime.tolist(), log.estimate.tolist(), strict=True)
    shapes = {job: [tuple(shape), (1, 12.0, 20.0)] for job, *shape in own if job % 2}
    found = fs.optimize(
        replace(log, alternatives=shapes), machine, objectives="flow", evaluations=120, alternatives="free",
        baselines=FEW,
    )  # fmt: skip
    check(found)


@pytest.mark.deep
@pytest.mark.parametrize("kind", ["cancelled", "reserved"])
def test_packages_are_planned(kind: str) -> None:
    """Each package knows who has left by then; the whole keeps to the model."""
    for seed in range(tries(8)):
        log, machine = crowd(200 + seed, kind)
        for submits in ("now", "keep"):
            found = fs.optimize(
                log, machine, objectives="flow", evaluations=40, seed=seed, package=3, submits=submits, baselines=FEW
            )
            schedule = found.best()
            schedule.verify(claimed=schedule.metrics())
            assert found.value() == schedule.metrics().flow
            assert np.isnan(found.bound()) or found.bound() <= found.value()


def test_conditions_hold_across_packages() -> None:
    """Lags, bad ends and cancellations of the package before count; who waits for a later one is refused."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0, 3.0, 4.0, 5.0, 6.0], tasks=[2, 2, 2, 1, 1, 1, 1],
        runtime=[10.0, 5.0, 9.0, 3.0, 4.0, 5.0, 6.0], cancel_at=[-1, -1, 4.0, -1, -1, -1, -1],
        begin=[0, 0, 20.0, 0, 0, 0, 0],
        after={4: "afterok:1+100s", 5: "afterok:2", 6: "afterany:3+50s", 7: "afterok:3"},
        log={"status": [1, 0, 1, 1, 1, 1, 1]},
    )  # fmt: skip
    machine = fs.Federation.homogeneous(2)
    for package in (1, 2, 3):
        found = fs.optimize(log, machine, objectives="flow", evaluations=40, package=package, submits="keep")
        schedule = found.best()
        schedule.verify(claimed=schedule.metrics())
        assert schedule.cancelled.tolist() == [False, False, True, False, False, False, False]
        assert np.isnan(schedule.start).tolist() == [False, False, True, False, True, False, True]
        assert schedule.start[3] == schedule.finish[0] + 100.0
        assert schedule.start[5] == (54.0 if package == 3 else schedule.start[3])  # planned beside job 4, or after
    turned = replace(log, after={1: "after:6"})
    with pytest.raises(InfeasibleError, match="job 1 waits for job 6, which is in a later package; leave package= out"):
        fs.optimize(turned, machine, objectives="flow", evaluations=40, package=3, submits="keep")


def test_jobs_follow_others_across_packages() -> None:
    """Whom jobs of a package follow has ended, runs still, or is planned with them; they are submitted after it."""
    log = fs.Workload(
        submit=[0.0, 1.0, 2.0, 3.0, 4.0, 5.0], tasks=[2, 2, 1, 2, 1, 1], runtime=[10.0, 5.0, 40.0, 3.0, 4.0, 5.0],
        feedback={"preceding": [-1, 1, -1, 2, 3, 4], "think_time": [-1, 7.0, -1, 30.0, 2.0, 0.0]},
        cancel_at=[-1, -1, -1, -1, -1, 20.0],
    )  # fmt: skip
    machine = fs.Federation.homogeneous(3)
    for package in (1, 2, 3, 6):
        for submits in ("keep", "now"):
            found = fs.optimize(
                log, machine, objectives="flow", evaluations=60, package=package, submits=submits, baselines=FEW
            )
            schedule = found.best()
            schedule.verify(claimed=schedule.metrics())
            assert found.value() == schedule.metrics().flow
            assert schedule.workload.submit[1] == schedule.finish[0] + 7.0
            assert schedule.workload.submit[3] == schedule.finish[1] + 30.0
            assert schedule.workload.submit[4] == schedule.finish[2] + 2.0
            assert schedule.cancelled.tolist() == [False] * 5 + [True]
    turned = replace(log, feedback={"preceding": [6, -1, -1, -1, -1, -1], "think_time": [1.0, -1, -1, -1, -1, -1]})
    with pytest.raises(InfeasibleError, match="job 1 waits for job 6, which is in a later package; leave package= out"):
        fs.optimize(turned, machine, objectives="flow", evaluations=40, package=3, submits="keep")


def test_random_jobs_that_follow_others_are_planned_in_packages() -> None:
    """Whatever follows whom, with contention on links and shares of pools, the whole keeps to the model."""
    for seed in range(tries(8)):
        log, machine = crowd(400 + seed, "following")
        for submits in ("now", "keep"):
            found = fs.optimize(
                log, machine, objectives="flow", evaluations=40, seed=seed, package=3, submits=submits, baselines=FEW
            )
            schedule = found.best()
            schedule.verify(claimed=schedule.metrics())
            assert found.value() == schedule.metrics().flow
            assert np.isnan(found.bound()) or found.bound() <= found.value()
