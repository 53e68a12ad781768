"""Rewards: differences of a running sum, which add up to the metric of the finished schedule."""

from __future__ import annotations

import random

import numpy as np
import pytest
from support import deciding, strategies
from support.tiers import tries

import fedsched as fs
from fedsched.gym import SchedulingEnv
from fedsched.model.schedule.metrics import NAMES
from fedsched.search.problem.objectives import NOT_SOUGHT

SOUGHT = [name for name in NAMES if name not in NOT_SOUGHT]


@pytest.mark.parametrize("objective", SOUGHT)
def test_rewards_add_up_to_the_metric(objective: str) -> None:
    """Whatever the system and the answers, an episode's rewards sum to the negative of the metric, or a share to it."""
    for seed in range(tries(24)):
        scenario = strategies.random_scenario(seed, restless=True)
        scenario = strategies.going_off_under_caps(seed) if seed % 4 == 1 else scenario
        scenario = deciding.without_permutations(scenario).for_environments()
        scenario = strategies.on_uneven_nodes(scenario, seed) if seed % 4 == 3 else scenario
        rng = random.Random(seed)
        episodes = deciding.episodes_of(scenario, objective=objective)
        schedule, _, rewards = deciding.by_engine(episodes, lambda waiting, fits, rng=rng: rng.randrange(len(waiting)))
        metric = getattr(schedule.metrics(), objective)
        if np.isnan(schedule.finish).all():
            continue  # nobody ran
        assert abs(rewards) == pytest.approx(abs(metric), rel=1e-9, abs=1e-9), scenario.settings
        assert rewards == pytest.approx(metric if objective == "utilisation" else -metric, rel=1e-9, abs=1e-9)
        assert episodes.objective(0) == pytest.approx(metric, rel=1e-9, abs=1e-9)


def test_weighted_objectives_add_up() -> None:
    """The rewards of several objectives sum to their weighted sum."""
    log, cluster = fs.Workload.example().head(60), fs.Federation.example()
    env = SchedulingEnv(log, cluster, objective=("mean_wait", "energy"), weights=(1.0, 1e-6))
    env.reset()
    rewards, over = 0.0, False
    while not over:
        _, reward, over, _, info = env.step(0)
        rewards += reward
    m = env.schedule().metrics()
    assert rewards == pytest.approx(-(m.mean_wait + 1e-6 * m.energy), rel=1e-9)
    assert info["objective"] == pytest.approx(-rewards)


def test_nothing_is_earned_before_the_first_finish() -> None:
    """Until a job has finished every reward is 0, and only finishes bring any."""
    workload = fs.Workload(submit=[0, 1, 2, 3], tasks=[1, 1, 1, 4], runtime=[10, 10, 10, 10])
    for objective, share in (("flow", 1.0), ("mean_response", 0.25)):  # a job's share in a mean is one in all jobs
        env = SchedulingEnv(workload, fs.Federation.homogeneous(4), objective=objective)
        env.reset()
        rewards = [env.step(0)[1] for _ in range(4)]
        assert rewards == [0.0, 0.0, -30.0 * share, -19.0 * share]
        assert np.sum(rewards) == -getattr(env.schedule().metrics(), objective)


@pytest.mark.parametrize("alike", range(1, 12))
def test_all_that_end_at_once_are_counted(alike: int) -> None:
    """However many jobs end at one instant, beside others that go on, the next reward has all of them."""
    jobs = 12
    runtime = np.where(np.arange(jobs) < alike, 10.0, 50.0 + np.arange(jobs))
    workload = fs.Workload(
        submit=[*[0.0] * jobs, 20.0], tasks=[1] * (jobs + 1), runtime=[*np.roll(runtime, alike // 2), 5.0]
    )
    env = SchedulingEnv(workload, fs.Federation.homogeneous(jobs), objective="flow")
    env.reset()
    assert sum(env.step(0)[1] for _ in range(jobs)) == -10.0 * alike
