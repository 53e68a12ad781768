"""Plans on machines whose idle nodes go off, so that jobs wait for boots: by searches, and on the way [66]."""

from __future__ import annotations

import hashlib
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from reference import naive, naive_measures
from search.test_problem import BOTH, some_rows
from support import strategies
from support.rolling_cases import Watching, crowd
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import FedschedError, InfeasibleError
from fedsched.engine.codes import Dispatch, Placement
from fedsched.engine.run.evaluate import unpack_row
from fedsched.io.checkpoint_file import DIGEST
from fedsched.io.trees import pack, unpack
from fedsched.model.schedule.metrics import Column
from fedsched.optimize.rolling import Rolling, checkpoint
from fedsched.optimize.rolling.instant import Instant, Workspaces, placements_for_all
from fedsched.policies import Reserve, Timeout
from fedsched.search.problem.objectives import Objectives
from fedsched.search.problem.problem import SearchProblem
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.engine.run.simulation import Simulation

POWERS = (
    Timeout(10.0), Timeout(0.0, keep=1), Timeout(20.0, suspend_rate=4, resume_rate=7), Reserve(1), Reserve(2, 15.0)
)  # fmt: skip


def two_sites(power: object) -> fs.Federation:
    """Return a frugal and a fast cluster whose idle nodes go off."""
    off = {"off_watts": 4.0, "boot_seconds": 12.0, "boot_watts": 90.0, "shutdown_seconds": 5.0, "shutdown_watts": 60.0}
    groups = (fs.NodeGroup(6, 1.0, 100.0, 50.0, **off), fs.NodeGroup(4, 2.0, 300.0, 40.0, **off))
    clusters = tuple(fs.Cluster(name, (group,), 1e9) for name, group in zip("ab", groups, strict=True))
    return fs.Federation(clusters, power=power)


def test_a_plan_is_valued_as_it_is_simulated_and_as_the_reference_says() -> None:
    """Makespans are equal, and energies those of nodes that go off and boot, cut off at the last end."""
    switches = 0
    for seed in range(68_000, 68_000 + tries(200)):
        scenario = strategies.saving_power(seed, alternatives="fixed")
        known = {"cancel_at": np.inf, "held": (), "alternatives": (), "caps": None}
        jobs = [replace(job, estimate=job.runtime, **known) for job in scenario.jobs]
        workload, federation, _ = strategies.to_package(jobs, scenario.machine)
        how = {"submits": "keep", "saturation": scenario.settings.saturation}
        problem = SearchProblem(workload, federation, BOTH, **how)
        (row,) = some_rows(problem, 1, seed)
        (found,) = problem.metrics(row[None])
        order, caps, dispatch, placement = unpack_row(problem.layout, row)
        expected = naive.simulate(
            [replace(job, caps=tuple(caps[j].tolist())) for j, job in enumerate(jobs)],
            scenario.machine,
            order=order.tolist(),
            dispatch=Dispatch(dispatch).name.lower(),
            placement=Placement(placement).name.lower(),
            saturation=scenario.settings.saturation,
        )
        assert found[Column.MAKESPAN] == max(expected.of_the_started().finish) - expected.t0, seed
        energy = naive_measures.energy(expected)
        assert found[Column.ENERGY] == pytest.approx(energy, rel=1e-9, abs=1e-3), seed
        switches += len(expected.nights)
        (again,), _ = problem.values_unless(row[None], lambda: False)
        assert again.tolist() == pytest.approx(found[[Column.MAKESPAN, Column.ENERGY]].tolist(), rel=1e-12), seed
        schedule = problem.schedule(row)
        row_of = schedule.metrics()
        schedule.verify(claimed=row_of)
        assert found[Column.IDLE_ENERGY] == pytest.approx(row_of.idle_energy, rel=1e-9, abs=1e-3), seed
    assert switches > tries(200) / 4


def test_plans_know_downtimes_and_boots() -> None:
    """The values of a plan are those of its schedule, also if downtimes change nodes after the last end."""
    compared = 0
    for seed in range(71_000, 71_000 + tries(160)):
        scenario = strategies.going_off_with_downtimes(seed).foreseen()
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        problem = SearchProblem(workload, federation, BOTH, submits="keep", saturation=scenario.settings.saturation)
        (row,) = some_rows(problem, 1, seed)
        schedule = problem.schedule(row)
        if problem.missed(schedule.finish) or not federation.calendar:
            continue
        (found,), expected = problem.metrics(row[None]), schedule.metrics()
        assert found[Column.ENERGY] == pytest.approx(expected.energy, rel=1e-9, abs=1e-3) or problem.may_miss, seed
        assert found[Column.MAKESPAN] == expected.makespan or problem.may_miss, seed
        compared += not problem.may_miss
    assert compared > 10


@pytest.mark.parametrize("power", POWERS, ids=str)
@pytest.mark.parametrize("method", ["memetic", "ga"])
def test_searches_find_plans_that_take_less_energy(method: str, power: object, tmp_path: Path) -> None:
    """Figures are of nodes that boot, no bound is above them, and a file has them; makespans count boots, too."""
    jobs, machine = crowd(12, 3, nodes=6, spread=200, exact=True), two_sites(power)
    how = {"method": method, "submits": "keep", "evaluations": 150, "seed": 1}
    result = fs.optimize(jobs, machine, objectives="energy", **how)
    best = result.best()
    best.verify(claimed=best.metrics())
    assert best.metrics().switches > 0
    assert result.value() == pytest.approx(best.metrics().energy, rel=1e-9)
    assert result.bound() <= result.value() <= result.baselines[0].values[0]
    result.save(tmp_path / "result.json")
    assert fs.Result.load(tmp_path / "result.json").value() == pytest.approx(result.value(), rel=1e-9)
    late = fs.optimize(jobs, machine, objectives="makespan", **how)
    late.best().verify()
    assert late.bound() <= late.value() == late.best().makespan


def test_a_plan_gives_the_nodes_that_are_on_to_the_job_that_cannot_wait() -> None:
    """Of two jobs that come together one finds the node on, the other boots the second one: the long one goes first."""
    jobs = fs.Workload(submit=[0, 60, 60], tasks=[1, 1, 1], runtime=[55, 10, 500])
    off = {"off_watts": 4.0, "boot_seconds": 12.0}
    machine = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2, 1.0, 100.0, 50.0, **off),)),), power=Timeout(20.0))
    result = fs.optimize(jobs, machine, objectives="makespan", submits="keep", evaluations=50, baselines=("easy",))
    assert result.best().start.tolist() == [0.0, 72.0, 60.0]
    assert (result.value(), result.baselines[0].values[0]) == (560.0, 572.0)
    rolled = fs.simulate(jobs, machine, Rolling(evaluations=10, objective="makespan"))
    assert rolled.start.tolist() == [0.0, 72.0, 60.0]


def test_costs_of_plans_are_those_of_their_schedules() -> None:
    """A price that varies is paid for what nodes draw that go off and boot; no bound is above that."""
    price = fs.Signal((0, 60, 150), (50.0, 300.0, 80.0), "EUR/MWh", beyond="last")
    jobs = replace(crowd(10, 5, nodes=6, spread=150, exact=True), slack=np.full(10, 100.0))
    for power in POWERS:
        machine = replace(two_sites(power), signals=(price,))
        result = fs.optimize(jobs, machine, objectives=("cost", "peak_watts"), evaluations=80, submits="keep", seed=1)
        for place in range(len(result.front)):
            schedule = result.schedule(place)
            row = schedule.metrics()
            schedule.verify(claimed=row)
            assert result.front.values[place].tolist() == pytest.approx([row.cost, row.peak_watts], rel=1e-9)
            assert result.bound("cost") <= row.cost * (1 + 1e-9)


@pytest.mark.parametrize("power", POWERS, ids=str)
@pytest.mark.parametrize("submits", ["keep", "now"])
def test_packages_begin_with_the_nodes_that_the_one_before_left(power: object, submits: str) -> None:
    """The schedule of all packages is true: each job starts when its nodes are on, and energy is of all states."""
    for seed in range(tries(8, 2)):
        jobs = crowd(14, seed, nodes=6, spread=400, exact=True)
        how = {"objectives": ("makespan", "energy")[seed % 2], "submits": submits, "evaluations": 20, "seed": seed}
        result = fs.optimize(jobs, two_sites(power), package=4, baselines=("fcfs",), **how)
        schedule = result.best()
        row = schedule.metrics()
        schedule.verify(claimed=row)
        assert result.bound() <= result.value() * (1 + 1e-12)
        assert row.switches > 0


def test_packages_of_random_systems_are_true() -> None:
    """Beside downtimes, pools, limits, uplinks and all else a schedule of packages keeps to the model."""
    checked = 0
    for seed in range(72_000, 72_000 + tries(80, 16)):
        draw = (strategies.going_off_with_downtimes, strategies.going_off_beside_uplinks)[seed % 2]
        scenario = draw(seed).foreseen()
        workload, federation, _ = strategies.to_package(scenario.jobs, scenario.machine)
        how = {"objectives": "energy", "submits": ("keep", "now")[seed // 2 % 2], "evaluations": 8, "package": 2}
        how["baselines"] = ("fcfs",)
        try:
            result = fs.optimize(workload, federation, saturation=scenario.settings.saturation, **how)
        except InfeasibleError:  # a job waits for one of a later package, or may never find room
            continue
        schedule = result.best()
        assert [line for line in schedule.violations(claimed=schedule.metrics()) if "never started" not in line] == []
        checked += 1
    assert checked > tries(80, 16) / 3


def test_a_package_finds_nodes_off(tmp_path: Path) -> None:
    """The second package begins at 100, when one node is off since 25 and the other runs a job until 120."""
    jobs = fs.Workload(submit=[0, 0, 100], tasks=[1, 1, 1], runtime=[120, 5, 10])
    off = {"off_watts": 4.0, "boot_seconds": 12.0}
    machine = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2, 1.0, 100.0, 50.0, **off),)),), power=Timeout(20.0))
    result = fs.optimize(jobs, machine, objectives="makespan", submits="keep", package=2, evaluations=10)
    schedule = result.best()
    schedule.verify(claimed=schedule.metrics())
    assert schedule.start.tolist() == [0.0, 0.0, 112.0]
    assert schedule.promises.time.tolist() == [0.0, 0.0, 100.0]
    result.save(tmp_path / "r.json")
    assert fs.Result.load(tmp_path / "r.json").best() == schedule


@pytest.mark.parametrize("seed", range(tries(60, 6)))
def test_rolling_plans_are_true(seed: int) -> None:
    """What comes of plans on the way keeps to the model, with all that random systems have."""
    draws = (
        strategies.saving_power, strategies.going_off_beside_uplinks, strategies.going_off_under_caps,
        strategies.going_off_with_downtimes,
    )  # fmt: skip
    scenario = draws[seed % 4](69_000 + seed)
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    words = {name: getattr(scenario.settings, name) for name in ("saturation", "kill_at_estimate", "alternatives")}
    objective = ("bounded_slowdown", "energy", "makespan")[seed // 4 % 3]
    policy = Rolling(evaluations=30, window=4, objective=objective)
    schedule = fs.simulate(workload, federation, policy, caps=caps, **words)
    schedule.verify(claimed=schedule.metrics())


def test_a_plan_on_the_way_begins_with_the_nodes_as_they_are() -> None:
    """When no job is to come any more, a plan's starts and energy are those of the run that follows it.

    Energy is compared between two plans, because boots that have begun before the plan are not counted.
    """
    checked = booting = 0
    for seed in range(tries(60, 15)):
        power = POWERS[seed % len(POWERS)]
        jobs = crowd(12, seed, nodes=6, spread=300, exact=True)
        told: list[tuple[np.ndarray, np.ndarray, float]] = []
        for reverse in (False, True):
            seen: dict[str, object] = {}

            def look(run: Simulation, seen: dict[str, object] = seen, reverse: bool = reverse) -> None:
                waiting = run.queued()
                if seen or len(run.joined()) < len(run.workload) or not waiting.size:
                    return
                instant = Instant(
                    run, waiting, Objectives.of("energy"), placements=placements_for_all(run), spaces=Workspaces()
                )
                order = np.arange(waiting.size)[:: -1 if reverse else 1]
                (row,) = instant.repaired(instant.row(order)[None])
                seen["value"] = float(instant.values(row[None])[0, 0])
                seen["waiting"] = waiting
                seen["start"] = np.array(instant.seat().state.start[: waiting.size])
                seen["booting"] = int((run.running().start > run.time).sum())
                order, caps, dispatch, placement = unpack_row(instant.layout, row)
                run.follow(waiting[order], caps[order], waiting[:0], dispatch=dispatch, placement=placement)

            policy = Watching(Rolling(evaluations=1, every=1e9), after=look)
            schedule = prepare(jobs, two_sites(power), policy).advance().schedule()
            schedule.verify(claimed=schedule.metrics())
            if not seen:
                break
            assert schedule.start[seen["waiting"]].tolist() == seen["start"].tolist(), (seed, reverse)
            told.append((seen["value"], schedule.metrics().energy))
            booting += seen["booting"]
        if len(told) == 2:
            (plan, came), (other, meanwhile) = told
            assert plan - other == pytest.approx(came - meanwhile, rel=1e-9, abs=1e-3), seed
            checked += 1
    assert checked > tries(60, 15) / 2
    assert booting > 0


CROWD = crowd(40, 2, nodes=6, spread=600)


@pytest.mark.parametrize("power", POWERS[2:4], ids=str)
def test_an_interrupted_run_goes_on_with_its_nodes(power: object, tmp_path: Path) -> None:
    """After Ctrl-C a second call gives the schedule of an undisturbed run; forged states of nodes are refused."""
    policy, machine = Rolling(evaluations=15, window=6), two_sites(power)
    whole = fs.simulate(CROWD, machine, policy)
    whole.verify(claimed=whole.metrics())
    saved = replace(policy, checkpoint=tmp_path / "run.ckpt")
    told = 0

    def stop(done: int, total: int) -> None:
        nonlocal told
        told += 1
        if done > 15:
            raise KeyboardInterrupt

    assert not fs.simulate(CROWD, machine, saved, progress=stop).complete
    kept = (tmp_path / "run.ckpt").read_bytes()
    assert fs.simulate(CROWD, machine, saved) == whole
    head = len(checkpoint.MARK) + DIGEST
    for name, change in (("place", 10**6), ("place", -1), ("place", 0), ("pace", 1e6), ("pace", -1.0)):
        tree = unpack(kept[head:])
        tree["arrays"][f"state.extras.powered.stacks.{name}"].fill(change)
        content = pack(tree)
        (tmp_path / "run.ckpt").write_bytes(checkpoint.MARK + hashlib.sha256(content).digest() + content)
        with pytest.raises(FedschedError, match="not a checkpoint as a rolling run leaves it"):
            fs.simulate(CROWD, machine, saved)
