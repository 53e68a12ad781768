"""optimize(): the whole call, its Result, and what it promises."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest

import fedsched as fs
from fedsched.core.errors import FedschedError, TraceError, UnknownNameError
from fedsched.policies.list_heuristics import HEURISTICS
from fedsched.report.material import of_result
from fedsched.report.repeat_code import python_of
from fedsched.search.methods.methods import METHODS
from fedsched.search.run import checkpoint as checkpoints
from fedsched.search.run.stopping import GapReached, NoProgress
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from pathlib import Path
    from typing import Any

    from numpy.typing import NDArray

    from fedsched.search.run.run import Run

FEW = ("fcfs", "easy", "laf-greedy")
INTERPRETED = os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")
JOBS, BUDGET = (12, 120) if INTERPRETED else (60, 2500)


@pytest.fixture(scope="module")
def jobs() -> fs.Workload:
    """Return a small package."""
    return fs.Workload.example().head(JOBS)


@pytest.fixture(scope="module")
def result(jobs: fs.Workload) -> fs.Result:
    """Return a search for a front."""
    return fs.optimize(jobs, fs.Federation.example(), evaluations=BUDGET, seed=3, baselines=FEW)


def test_the_front_is_what_its_schedules_are(result: fs.Result) -> None:
    """Tests that each plan of the front, simulated and verified, has the values that the front says."""
    assert len(result.front) >= 1
    for i in range(len(result.front)):
        schedule = result.schedule(i)
        schedule.verify()
        metrics = schedule.metrics(users=False)
        assert result.front.values[i].tolist() == [metrics.makespan, metrics.energy]


def test_no_plan_of_the_front_beats_another(result: fs.Result) -> None:
    """Tests that the front is one: sorted by the first objective, the second falls strictly."""
    assert (np.diff(result.front.values[:, 0]) > 0).all()
    assert (np.diff(result.front.values[:, 1]) < 0).all()


def test_never_worse_than_the_baselines_nor_better_than_the_bounds(result: fs.Result) -> None:
    """Tests that the best plans lie between the proven bounds and the best baseline."""
    for k, name in enumerate(result.objectives):
        assert result.value(name) <= min(baseline.values[k] for baseline in result.baselines)
        assert result.value(name) >= result.lower_bounds[name] > 0
        assert result.gap(name) >= 0


@pytest.mark.compiled
def test_same_seed_same_result_on_any_number_of_threads(jobs: fs.Workload, result: fs.Result) -> None:
    """Tests that an evaluation budget gives the same front with two threads, and another one with another seed."""
    same = fs.optimize(jobs, fs.Federation.example(), evaluations=2500, seed=3, baselines=FEW, threads=2)
    other = fs.optimize(jobs, fs.Federation.example(), evaluations=2500, seed=4, baselines=FEW)
    assert np.array_equal(same.front.values, result.front.values)
    assert [m.best for m in same.history] == [m.best for m in result.history]
    assert not np.array_equal(other.front.values, result.front.values)
    assert result.evaluations == 2500


def test_the_first_seven_parameters_may_be_given_by_place() -> None:
    """Tests that workload, machine, objectives, method, seconds, evaluations and seed come first, in this order."""
    jobs = fs.Workload(submit=[0, 0, 0], tasks=[1, 2, 3], runtime=[60, 60, 60])
    found = fs.optimize(jobs, 3, "flow", "hc", None, 50, 4)
    assert (found.objectives, found.method, found.evaluations, found.seed) == (("flow",), "hc", 50, 4)
    with pytest.raises(TypeError, match="positional"):
        fs.optimize(jobs, 3, "flow", "hc", None, 50, 4, "now")  # type: ignore[misc]


def test_without_a_seed_each_search_draws_one_and_shows_it() -> None:
    """Tests that seed=None is another seed in each call, which the result holds and prints, and that repeats it."""
    jobs = fs.Workload(submit=[0] * 6, tasks=[1, 2, 3, 1, 2, 3], runtime=[60, 50, 40, 30, 20, 10])
    one, two = (fs.optimize(jobs, 3, "flow", "random", evaluations=20, seed=None) for _ in range(2))
    assert one.seed != two.seed
    assert f"seed {one.seed}:" in str(one)
    assert f"with seed {one.seed} " in one.summary()
    again = fs.optimize(jobs, 3, "flow", "random", evaluations=20, seed=one.seed)
    assert [moment.best for moment in again.history] == [moment.best for moment in one.history]


def test_a_saved_result_is_the_same(result: fs.Result, tmp_path: Path) -> None:
    """Tests that a Result comes back from its file with the same text, values and schedules, and says what is new."""
    path = tmp_path / "result.json.gz"
    result.save(path)
    again = fs.Result.load(path)
    said = "from a file: front and baselines made again; unverified: bounds, history and what the search took"
    assert str(again) == f"{result}\n{said}"
    assert np.array_equal(again.front.values, result.front.values)
    assert again.knee().start_hash() == result.knee().start_hash()
    assert again.history == result.history
    assert again._repr_html_() == result._repr_html_().replace("</div>", f"<p>{said}</p></div>")


def test_a_damaged_file_is_refused(result: fs.Result, tmp_path: Path) -> None:
    """Tests that cut, foreign and absent files end in our own error, whatever is cut."""
    path = tmp_path / "result.json"
    result.save(path)
    text = path.read_text()
    for damaged in (text[: len(text) // 2], "{}", "[]", "", text.replace('"order"', '"ordre"')):
        path.write_text(damaged)
        with pytest.raises(TraceError, match=r"result\.json"):
            fs.Result.load(path)
    with pytest.raises(TraceError, match="no such file"):
        fs.Result.load(tmp_path / "absent.json")


@pytest.mark.compiled
def test_a_former_result_warms_the_start(jobs: fs.Workload, result: fs.Result) -> None:
    """Tests that a search begun with a former result's plans is at no objective worse than it, at once."""
    warm = fs.optimize(jobs, fs.Federation.example(), evaluations=100, initial=[result], baselines=FEW, seed=9)
    for name in result.objectives:
        assert warm.value(name) <= result.value(name)


def test_a_schedule_and_a_pair_are_plans(jobs: fs.Workload) -> None:
    """Tests that users' schedules and (order, caps) begin a search, and that nonsense does not."""
    cluster = fs.Federation.example()
    easy = fs.simulate(jobs, cluster, "easy")
    order = np.argsort(easy.start, kind="stable")
    fs.optimize(jobs, cluster, evaluations=80, initial=[easy, (order, None)], baselines=FEW)
    with pytest.raises(TypeError, match="int is no plan"):
        fs.optimize(jobs, cluster, evaluations=80, initial=[3], baselines=FEW)
    with pytest.raises(ValueError, match="exactly once"):
        fs.optimize(jobs, cluster, evaluations=80, initial=[(order[:5], None)], baselines=FEW)


@pytest.mark.compiled
def test_every_stopping_rule_says_why(jobs: fs.Workload) -> None:
    """Tests target, stagnation, proven gap, and a user's own rule."""
    cluster = fs.Federation.example()
    loose = fs.simulate(jobs, cluster, "fcfs", knowledge="runtime").makespan

    def soon(run: Run) -> str | None:
        return "enough" if run.evaluations >= 300 else None

    for options, reason in (
        ({"target": loose}, "target"),
        ({"stop": NoProgress(1000)}, "no progress"),
        ({"stop": GapReached(10.0)}, "of the bound"),
        ({"stop": soon}, "enough"),
    ):
        found = fs.optimize(jobs, cluster, objectives="makespan", evaluations=50_000, baselines=FEW, **options)
        assert reason in found.stop_reason
        assert found.evaluations < 50_000


@pytest.mark.parametrize(("target", "reason"), [(0.01, "target 0.01 reached"), (1.0, "200 evaluations")])
def test_a_target_of_what_is_to_be_large_is_reached_from_below(jobs: fs.Workload, target: float, reason: str) -> None:
    """Tests that any plan has a utilisation of one per cent, and none of one."""
    cluster = fs.Federation.example()
    found = fs.optimize(jobs, cluster, objectives="utilisation", target=target, evaluations=200, baselines=FEW)
    assert reason in found.stop_reason


@pytest.mark.compiled
def test_ctrl_c_keeps_the_best(jobs: fs.Workload) -> None:
    """Tests that an interrupt in the middle ends the search with what was found until then."""
    steps = []

    def interrupting(run: Run) -> None:
        steps.append(run.evaluations)
        if len(steps) == 3:
            raise KeyboardInterrupt

    found = fs.optimize(jobs, fs.Federation.example(), evaluations=50_000, baselines=FEW, callback=interrupting)
    assert found.stop_reason == "interrupted"
    assert len(found.front) >= 1
    found.best().verify()


@pytest.mark.compiled
def test_packages_make_one_schedule(jobs: fs.Workload) -> None:
    """Tests that a search in packages gives one schedule that verifies, with either reading of submits."""
    for submits in ("now", "keep"):
        found = fs.optimize(
            jobs,
            fs.Federation.example(),
            objectives="flow",
            evaluations=150,
            package=25,
            submits=submits,
            baselines=FEW,
        )
        schedule = found.best()
        schedule.verify()
        assert schedule.complete
        assert found.packages == 3
        assert found.value() == schedule.metrics(users=False).flow
        if submits == "keep":
            assert (schedule.start >= jobs.submit).all()


def test_gains_go_the_way_that_better_goes(jobs: fs.Workload) -> None:
    """Tests that a plan with more utilisation than FCFS has a gain, and that the summary says above."""
    found = fs.optimize(jobs, fs.Federation.example(), objectives="utilisation", evaluations=60, baselines=("fcfs",))
    theirs = found.baselines[0].values[0]
    assert found.value() > theirs
    assert found.gain("fcfs") == pytest.approx(found.value() / theirs - 1.0)
    assert "utilisation above fcfs" in str(found)


@pytest.mark.compiled
def test_packages_begin_beside_what_runs() -> None:
    """Tests that jobs which run already keep their starts and nodes, and that the packages hold the others."""
    workload, federation = fs.Workload.example().head(80), fs.Federation.example()
    run = prepare(workload, federation, "easy").advance(until=float(workload.submit[60]))
    state = run.running()
    waiting = np.flatnonzero(np.isnan(run.state.start) & (workload.submit <= state.time))
    rows = np.concatenate([waiting, state.rows])  # those that run need not come first
    found = fs.optimize(
        workload.take(rows),
        federation,
        objectives="flow",
        evaluations=150,
        package=4,
        submits="keep",
        running=state.renumbered(rows),
        baselines=FEW,
    )
    schedule, before = found.best(), len(waiting)
    assert found.packages == -(-before // 4)
    assert np.array_equal(schedule.start[before:], state.start)
    assert np.array_equal(schedule.counts[before:], state.counts)
    assert (schedule.start[:before] >= state.time).all()
    assert found.value() == schedule.metrics(users=False).flow


@pytest.mark.parametrize("package", [1, 2, 5])
def test_what_runs_goes_on_until_the_first_package_is_there(package: int) -> None:
    """Tests that a job whose uplink comes free before the first package is faster from then on, not from its begin."""
    clusters = tuple(fs.Cluster(name, (fs.NodeGroup(3),), 1.0) for name in "ab")
    machine = fs.Federation(clusters)
    workload = fs.Workload(
        submit=[0, 0, 30, 31, 31], tasks=[4, 2, 2, 4, 1], runtime=[10, 40, 20, 5, 5],
        compute_fraction=[0.2, 0.2, 1, 1, 1], task_bandwidth=[1, 1, 0, 0, 0],
    )  # fmt: skip
    caps = np.array([[2, 2], [1, 1], [3, 3], [3, 3], [3, 3]])
    running = prepare(workload, machine, "fcfs", caps=caps).advance(until=1.0).running()
    alone = fs.simulate(workload, machine, "fcfs", running=running)
    assert alone.finish[0] < 30 < alone.finish[1] < 51
    found = fs.optimize(
        workload, machine, objectives="flow", submits="keep", running=running, package=package, evaluations=50,
        baselines=("fcfs",),
    )  # fmt: skip
    assert found.best().finish[:2].tolist() == alone.finish[:2].tolist()
    assert found.best().violations() == []


def test_packages_of_nobody_are_said(tmp_path: Path) -> None:
    """Tests that where all jobs run already a search in packages says so, with their schedule, and is no broken one."""
    workload, machine = fs.Workload(submit=[0, 0], tasks=[1, 2], runtime=[50, 60]), fs.Federation.homogeneous(4)
    running = prepare(workload, machine, "easy").advance(until=10.0).running()
    found = fs.optimize(
        workload, machine, objectives="makespan", submits="keep", running=running, package=1, evaluations=9,
        baselines=("fcfs",),
    )  # fmt: skip
    assert (found.stop_reason, found.evaluations, found.packages) == ("all jobs run already", 0, 0)
    assert found.best().finish.tolist() == [50.0, 60.0]
    assert found.best().notes == ()
    found.save(tmp_path / "r.json")
    assert fs.Result.load(tmp_path / "r.json").best().finish.tolist() == [50.0, 60.0]


def test_a_package_needs_one_objective(jobs: fs.Workload) -> None:
    """Tests that a front of packages is refused with the cure."""
    with pytest.raises(ValueError, match="one objective"):
        fs.optimize(jobs, fs.Federation.example(), package=10, evaluations=50)


@pytest.mark.compiled
def test_baselines_share_the_searchs_knowledge(jobs: fs.Workload) -> None:
    """Tests that with estimates the baseline is EASY on estimates, and with run times the clairvoyant one."""
    now = np.full(len(jobs), jobs.submit.min())
    together = fs.Workload(submit=now, tasks=jobs.tasks, runtime=jobs.runtime, estimate=jobs.estimate)
    for knowledge in ("estimate", "runtime"):
        found = fs.optimize(
            jobs, fs.Federation.example(), objectives="flow", evaluations=50, knowledge=knowledge, baselines=("easy",)
        )
        easy = fs.simulate(together, fs.Federation.example(), "easy", knowledge=knowledge)
        assert found.baselines[0].values[0] == pytest.approx(easy.metrics().flow, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_plans_by_chance_are_no_baselines(method: str, jobs: fs.Workload) -> None:
    """With seeds="random" the front holds the search's own plans alone; baselines stand beside it."""
    found = fs.optimize(
        jobs.head(6), fs.Federation.of(64, 64), objectives=("makespan", "energy"), method=method, seeds="random",
        evaluations=20, baselines=("fcfs", "easy"),
    )  # fmt: skip
    assert {plan.policy for plan in found.front.plans} == {""}
    assert [baseline.policy for baseline in found.baselines] == ["fcfs", "easy"]


@pytest.mark.compiled
def test_list_heuristics_are_baselines_that_the_front_can_hold(jobs: fs.Workload, tmp_path: Path) -> None:
    """Tests that a front of nothing but baselines runs as they do, from a file too, on both sides of estimates."""
    names = tuple(HEURISTICS)
    for knowledge in ("runtime", "estimate"):
        found = fs.optimize(
            jobs, fs.Federation.example(), objectives=("makespan", "energy"), knowledge=knowledge,
            method="random", evaluations=20, baselines=names,
        )  # fmt: skip
        assert [baseline.policy for baseline in found.baselines] == list(names)
        assert {plan.policy for plan in found.front.plans} & set(HEURISTICS)
        found.save(tmp_path / "found.json")
        for result in (found, fs.Result.load(tmp_path / "found.json")):
            for i, values in enumerate(result.front.values.tolist()):
                metrics = result.schedule(i).metrics(users=False)
                assert [metrics.makespan, metrics.energy] == values


def test_a_baseline_that_cannot_place_every_job_is_said(jobs: fs.Workload, tmp_path: Path) -> None:
    """Tests that policies with no place for some job are named with the reason, in a saved result and its code too."""
    jobs = jobs.head(6)
    assert jobs.tasks.max() > 32
    asked = ("fcfs", "cbs", "jpr")
    found = fs.optimize(jobs, fs.Federation.of(32, 32), evaluations=20, seed=1, baselines=asked)
    assert [baseline.policy for baseline in found.baselines] == ["fcfs", "jpr"]
    assert list(found.refused) == ["cbs"]
    assert found.refused["cbs"].startswith("Job 4: tasks=64 fits on no node set that placement='big_small' accepts")
    said = "no baseline, for they cannot place every job: cbs (Job 4: tasks=64 fits on no node set"
    found.save(tmp_path / "found.json")
    for result in (found, fs.Result.load(tmp_path / "found.json")):
        assert said in str(result)
        assert result.refused == found.refused
        assert "baselines=('fcfs', 'jpr', 'cbs')" in python_of(of_result(result))
    everyone = fs.optimize(jobs, fs.Federation.of(32, 32), evaluations=20, seed=1)
    assert "cbs" in everyone.refused
    assert "baselines" not in python_of(of_result(everyone))


def test_unknown_names_are_refused_before_anything_runs(jobs: fs.Workload) -> None:
    """Tests methods, objectives and seeds that do not exist."""
    cluster = fs.Federation.example()
    for options in ({"method": "memetik"}, {"objectives": "makespn"}, {"seeds": "structred"}):
        with pytest.raises(UnknownNameError, match="Did you mean"):
            fs.optimize(jobs, cluster, **options)
    wrong = [{"evaluations": 0}, {"seconds": 0.0}, {"threads": 0}, {"package": 0, "objectives": "flow"}]
    for options in [*wrong, {"target": float("nan")}]:
        with pytest.raises(ValueError, match="must be"):
            fs.optimize(jobs, cluster, **options)


# ---- a user's objectives --------------------------------------------------------------------------------------------


def footprint(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a cost of energy and waiting."""
    return 0.4 * metrics["energy"] / 3.6e6 + 0.01 * metrics["mean_wait"]


def test_a_function_of_the_metrics_is_an_objective(jobs: fs.Workload) -> None:
    """Tests that a user's cost is minimised, its values those of the schedules, and that auto takes ga or moga."""
    found = fs.optimize(
        jobs, fs.Federation.example(), objectives=["makespan", footprint], evaluations=BUDGET, baselines=FEW
    )
    assert found.method == "moga"
    for i in range(len(found.front)):
        metrics = {name: np.array([value]) for name, value in found.schedule(i).metrics().as_dict().items()}
        assert found.front.values[i] == pytest.approx([metrics["makespan"][0], footprint(metrics)[0]])
    assert np.isnan(found.gap("footprint"))
    alone = fs.optimize(jobs, fs.Federation.example(), objectives=footprint, evaluations=BUDGET, baselines=FEW)
    assert alone.method == "ga"
    assert alone.objectives == ("footprint",)


def test_a_bad_function_is_named(jobs: fs.Workload) -> None:
    """Tests that NaN, a wrong shape, a metric's name and a compiled method are refused with the objective's name."""
    cluster = fs.Federation.example()

    def nowhere(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        return metrics["makespan"] * np.nan

    def too_many(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        return np.zeros(3 * metrics["makespan"].size + 1)

    def energy(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
        return metrics["energy"]

    with pytest.raises(ValueError, match="'nowhere' gave NaN for a plan with makespan="):
        fs.optimize(jobs, cluster, objectives=nowhere, evaluations=100, baselines=FEW)
    with pytest.raises(ValueError, match="'too_many' gave an array of shape"):
        fs.optimize(jobs, cluster, objectives=too_many, evaluations=100, baselines=FEW)
    with pytest.raises(ValueError, match="has the name of a metric"):
        fs.optimize(jobs, cluster, objectives=energy, evaluations=100, baselines=FEW)
    with pytest.raises(ValueError, match=r"'footprint' is a function.*take method='moga'"):
        fs.optimize(jobs, cluster, objectives=["makespan", footprint], method="memetic", evaluations=100, baselines=FEW)


# ---- checkpoints ----------------------------------------------------------------------------------------------------


@pytest.mark.compiled
def test_a_resumed_search_ends_as_an_uninterrupted_one(
    jobs: fs.Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a search interrupted after its fifth step and called again gives the uninterrupted answer."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    cluster = fs.Federation.example()
    options = {"evaluations": 6000, "seed": 5, "baselines": FEW}
    whole = fs.optimize(jobs, cluster, **options)
    path = tmp_path / "search.checkpoint"
    steps = []

    def interrupting(run: Run) -> None:
        steps.append(run.evaluations)
        if len(steps) == 6:
            raise KeyboardInterrupt

    first = fs.optimize(jobs, cluster, checkpoint=path, callback=interrupting, **options)
    assert first.stop_reason == "interrupted"
    second = fs.optimize(jobs, cluster, checkpoint=path, **options)
    assert second.evaluations == whole.evaluations
    assert np.array_equal(second.front.values, whole.front.values)
    assert [m.best for m in second.history] == [m.best for m in whole.history]


@pytest.mark.deep
@pytest.mark.compiled
@pytest.mark.slow
def test_a_killed_search_ends_as_an_uninterrupted_one(jobs: fs.Workload, tmp_path: Path) -> None:
    """Tests that kill -9, wherever it strikes, costs nothing but the time since the last checkpoint."""
    path = tmp_path / "search.checkpoint"
    code = (
        "import os, signal, fedsched as fs\n"
        "from fedsched.search.run import checkpoint\n"
        "checkpoint.EVERY_SECONDS = 0.0\n"
        "def strike(run):\n"
        "    if run.steps == {when}:\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "r = fs.optimize(fs.Workload.example().head(60), fs.Federation.example(), evaluations=6000, seed=5,\n"
        f"    baselines={FEW}, checkpoint={str(path)!r}, callback=strike)\n"
        "print(r.front.values.tolist())\n"
    )
    for when in (3, 7):
        done = subprocess.run([sys.executable, "-c", code.format(when=when)], capture_output=True, check=False)
        assert done.returncode == -signal.SIGKILL
    done = subprocess.run([sys.executable, "-c", code.format(when=-1)], capture_output=True, text=True, check=True)
    whole = fs.optimize(jobs, fs.Federation.example(), evaluations=6000, seed=5, baselines=FEW)
    assert done.stdout.strip() == str(whole.front.values.tolist())


@pytest.mark.compiled
def test_a_foreign_checkpoint_is_refused(jobs: fs.Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a checkpoint of another search, or no checkpoint at all, is not taken up."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    path = tmp_path / "search.checkpoint"
    cluster = fs.Federation.example()
    fs.optimize(jobs, cluster, evaluations=3000, seed=1, checkpoint=path, baselines=FEW)
    with pytest.raises(FedschedError, match="another search"):
        fs.optimize(jobs, cluster, evaluations=3000, seed=2, checkpoint=path, baselines=FEW)
    path.write_bytes(os.urandom(100))
    with pytest.raises(FedschedError, match="not a checkpoint"):
        fs.optimize(jobs, cluster, evaluations=3000, seed=1, checkpoint=path, baselines=FEW)
    with pytest.raises(FedschedError, match=r"cannot be read .*; name another file"):
        fs.optimize(jobs, cluster, evaluations=3000, seed=1, checkpoint=tmp_path, baselines=FEW)
    with pytest.raises(ValueError, match=r"must not end in \.gz"):
        fs.optimize(jobs, cluster, evaluations=3000, seed=1, checkpoint=tmp_path / "c.gz", baselines=FEW)


def priced(metrics: Mapping[str, NDArray[np.float64]]) -> NDArray[np.float64]:
    """Return a cost that another one takes the place of."""
    return PRICES["now"](metrics)


PRICES: dict[str, Callable[[Mapping[str, NDArray[np.float64]]], NDArray[np.float64]]] = {}


@pytest.mark.compiled
@pytest.mark.parametrize("islands", [1, 2])
@pytest.mark.parametrize("found", ["a plan", "a policy"])
def test_a_checkpoint_of_another_function_is_refused(
    jobs: fs.Workload, islands: int, found: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that a function of the same name that gives other values is another search, whatever the archive holds."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    few = jobs if found == "a plan" else jobs.head(1)  # whose only schedule is the baselines' too

    def optimized(price: float, evaluations: int) -> fs.Result:
        PRICES["now"] = lambda metrics: metrics["makespan"] + price * metrics["energy"]
        return fs.optimize(
            few, fs.Federation.example(), objectives=priced, evaluations=evaluations, islands=islands, baselines=FEW,
            checkpoint=tmp_path / "c",
        )  # fmt: skip

    first = optimized(1e-6, 500)
    assert bool(first.front.plans[0].policy) == (found == "a policy")
    with pytest.raises(FedschedError, match=r"c: the checkpoint of another search .*'priced'.*delete it") as caught:
        optimized(1.1e-6, 1000)
    assert "\n" not in str(caught.value)
    assert optimized(1e-6, 1000).value() <= first.value()


def packages(jobs: fs.Workload, price: float = 1e-6, **options: Any) -> fs.Result:
    """Return what a search in three packages finds."""
    PRICES["now"] = lambda metrics: metrics["makespan"] + price * metrics["energy"]
    given = {"objectives": priced, "evaluations": 900, "package": 20, "seed": 5, "baselines": FEW, **options}
    return fs.optimize(jobs, fs.Federation.example(), **given)


@pytest.mark.deep
@pytest.mark.compiled
@pytest.mark.parametrize("islands", [1, 2])
def test_resumed_packages_end_as_uninterrupted_ones(
    jobs: fs.Workload, islands: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that packages stopped again and again go on where they were, and what has ended is not searched again."""
    monkeypatch.setattr(checkpoints, "EVERY_SECONDS", 0.0)
    steps: list[int] = []
    whole = packages(jobs, islands=islands, callback=lambda run: steps.append(run.steps))
    path, calls = tmp_path / "c", 0

    def interrupting(run: Run) -> None:
        if run.left:
            steps.append(run.steps)
            if len(steps) == 2:
                raise KeyboardInterrupt

    while True:
        steps.clear()
        done = packages(jobs, islands=islands, checkpoint=path, callback=interrupting)
        calls += 1
        if done.stop_reason != "interrupted":
            break
    assert calls >= 3
    assert (done.evaluations, done.packages) == (2700, 3)
    assert done.best() == whole.best()
    assert [(m.evaluations, m.best) for m in done.history] == [(m.evaluations, m.best) for m in whole.history]
    steps.clear()
    assert packages(jobs, islands=islands, checkpoint=path, callback=interrupting).best() == whole.best()
    assert steps == []


@pytest.mark.compiled
def test_packages_that_are_done_are_those_of_one_call(
    jobs: fs.Workload, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Tests that other packages, none, or another function of the same name are another search."""
    packages(jobs, checkpoint=tmp_path / "c")
    for other in ({"package": 30}, {"package": None}, {"seed": 6}, {"price": 1e-5}):
        with pytest.raises(FedschedError, match="the checkpoint of another search"):
            packages(jobs, checkpoint=tmp_path / "c", **other)


@pytest.mark.parametrize("sharing", [None, "first"])
def test_a_quantile_of_waits_is_an_objective(jobs: fs.Workload, sharing: str | None) -> None:
    """Tests that a plan's value is its schedule's, on counted and shared nodes, and what cannot minimise it says so."""
    machine = fs.Federation.homogeneous(160)
    if sharing is not None:
        jobs = replace(jobs, demand={"cpu": np.ones(len(jobs), dtype=int)})
        machine = fs.Federation((fs.Cluster("C", (fs.NodeGroup(40, resources={"cpu": 4}),)),))
    how = {"evaluations": BUDGET // 5, "seed": 1, "baselines": ("fcfs", "easy"), "sharing": sharing}
    found = fs.optimize(jobs, machine, objectives="p95_wait", **how)
    assert found.value() == pytest.approx(found.best().metrics().p95_wait)
    assert [one.policy for one in found.baselines] == ["fcfs", "easy"]
    assert all(found.value() <= one.values[0] for one in found.baselines)
    with pytest.raises(ValueError, match="'p95_wait' is a quantile, which compiled walks"):
        fs.optimize(fs.Workload.example().head(5), 160, objectives="p95_wait", evaluations=20, method="memetic")
    with pytest.raises(ValueError, match="is a quantile, which rolling plans do not minimise"):
        fs.Rolling(objective="p95_wait")


def test_a_quantile_counts_submits_that_follow_others() -> None:
    """Tests that plans of jobs that follow others are worth what their schedules are."""
    follows = {"preceding": [-1, -1, -1, 1, 2, 3], "think_time": [-1, -1, -1, 5, 5, 5]}
    some = fs.Workload(submit=np.zeros(6), tasks=np.full(6, 4), runtime=np.full(6, 10.0), feedback=follows)
    found = fs.optimize(some, 4, objectives="p95_wait", submits="keep", evaluations=30, seed=1, baselines=())
    assert found.value() == pytest.approx(found.best().metrics().p95_wait)


def test_a_quantile_of_jobs_without_an_end_is_a_number() -> None:
    """Tests that plans in which nodes close for good before the jobs rank behind, and none is worth nothing."""
    machine = replace(fs.Federation.homogeneous(4, name="C"), calendar=(fs.Downtime("C", 10.0, nodes="0-2"),))
    some = fs.Workload(submit=np.zeros(3), tasks=[4, 1, 1], runtime=[20.0, 5.0, 5.0])
    found = fs.optimize(some, machine, objectives="p95_wait", evaluations=30, seed=1, baselines=())
    assert np.isfinite(found.value())
