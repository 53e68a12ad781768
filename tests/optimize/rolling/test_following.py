"""Rolling plans for jobs that follow others: what they know of them, and who stands where [readings 45, 53]."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import strategies
from support.rolling_cases import Watching, crowd, unlike
from support.tiers import tries

import fedsched as fs
from fedsched.core.errors import InfeasibleError
from fedsched.optimize.rolling import Rolling, checkpoint
from fedsched.optimize.rolling.instant import Instant, Workspaces, placements_for_all
from fedsched.search.problem.objectives import Objectives
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from pathlib import Path

    from fedsched.engine.run.simulation import Simulation


def followers(jobs: int, seed: int) -> fs.Workload:
    """Return a crowd in which two of three jobs follow an earlier one."""
    rng = np.random.default_rng(seed)
    log = crowd(jobs, seed, nodes=6)
    preceding = [-1, *(int(rng.integers(1, k + 1)) if k % 3 else -1 for k in range(1, jobs))]
    think = [-1.0 if on < 0 else float(rng.integers(0, 20)) for on in preceding]
    return replace(log, feedback={"preceding": preceding, "think_time": think})


def test_random_systems_keep_to_the_model() -> None:
    """With every other feature beside it a rolling run is a schedule of all that can run."""
    checked = 0
    for seed in range(tries(160)):
        scenario = strategies.random_scenario(seed, restless=True, same_time="batch").as_chosen()
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        if workload.feedback is None:
            continue
        policy = Rolling(evaluations=30, every=("change", 5.0)[seed % 2], seed=seed, window=2 + seed % 5)
        words = {"saturation": scenario.settings.saturation, "caps": caps}
        try:
            schedule = fs.simulate(workload, federation, policy, **words)
        except InfeasibleError:
            continue  # no placement rule suits all
        schedule.verify(claimed=schedule.metrics(), caps=caps)
        assert schedule.complete or schedule.notes
        checked += 1
    assert checked > tries(24)


def test_plans_know_who_has_come_and_when() -> None:
    """Each plan is of jobs that have been submitted, with the submits that the schedule has in the end."""
    for seed in range(tries(4)):
        log, spaces, seen = followers(14, seed), Workspaces(), []

        def look(run: Simulation, spaces: Workspaces = spaces, seen: list[tuple[np.ndarray, ...]] = seen) -> None:
            instant = Instant(run, run.queued(), Objectives.of("flow"), placements=placements_for_all(run),
                              spaces=spaces)  # fmt: skip
            assert (instant.problem.submit <= run.time).all()
            seen.append((instant.jobs, np.array(instant.problem.submit)))

        run = prepare(log, unlike(), Watching(Rolling(evaluations=20, seed=1), before=look)).advance()
        schedule = run.schedule()
        schedule.verify(claimed=schedule.metrics())
        assert seen
        for jobs, submit in seen:
            assert np.array_equal(schedule.workload.submit[jobs], submit)
        assert (schedule.workload.submit != log.submit).any()


def test_who_comes_while_a_plan_lasts_stands_behind() -> None:
    """Job 4 comes last, by the end of job 1, and waits behind those who were there, whatever its log says."""
    log = fs.Workload(
        submit=[0.0, 1.0, 3.0, 2.0, 4.0], tasks=[2, 2, 2, 2, 2], runtime=[10.0, 20.0, 5.0, 1.0, 9.0],
        feedback={"preceding": [-1, -1, -1, 1, -1], "think_time": [-1, -1, -1, 2.0, -1]},
    )  # fmt: skip
    schedule = fs.simulate(log, fs.Federation.homogeneous(2), Rolling(every=1000.0, evaluations=50))
    schedule.verify()
    assert schedule.workload.submit[3] == 12.0
    assert schedule.start[3] == max(schedule.finish[[1, 2, 4]])


@pytest.mark.parametrize("every", ["change", 30.0])
def test_a_run_goes_on_from_its_file(every: str | float, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Interrupted in the midst and called again it ends as if it had not been."""
    monkeypatch.setattr(checkpoint, "EVERY_SECONDS", 0.0)
    log = followers(20, 3)
    policy = Rolling(evaluations=20, every=every)
    whole = fs.simulate(log, unlike(), policy)
    kept = replace(policy, checkpoint=tmp_path / "run.ckpt")
    prepare(log, unlike(), kept).advance(until=float(np.median(whole.start)))
    assert fs.simulate(log, unlike(), kept) == whole
