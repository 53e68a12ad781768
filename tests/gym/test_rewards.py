"""Rewards: differences of a running sum, which add up to the metric of the finished schedule."""

from __future__ import annotations

import random

import deciding
import numpy as np
import pytest
import strategies
from interpreted import tries

import fedsched as fs
from fedsched.gym import SchedulingEnv
from fedsched.model.metrics import NAMES

SOUGHT = [name for name in NAMES if name != "user_spread"]


@pytest.mark.parametrize("objective", SOUGHT)
def test_rewards_add_up_to_the_metric(objective: str) -> None:
    """Whatever the system and the answers, an episode's rewards sum to the negative of the metric, or a share to it."""
    for seed in range(tries(24)):
        scenario = deciding.without_permutations(strategies.random_scenario(seed))
        rng = random.Random(seed)
        episodes = deciding.episodes_of(scenario, objective=objective)
        schedule, _, rewards = deciding.by_engine(episodes, lambda waiting, fits, rng=rng: rng.randrange(len(waiting)))
        metric = getattr(schedule.metrics(), objective)
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
    env = SchedulingEnv(workload, fs.Federation.homogeneous(4), objective="flow")
    env.reset()
    rewards = [env.step(0)[1] for _ in range(4)]
    assert rewards == [0.0, 0.0, -30.0, -19.0]
    assert np.sum(rewards) == -env.schedule().metrics().flow
