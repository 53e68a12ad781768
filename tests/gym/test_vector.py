"""SchedulingVectorEnv: what gymnasium's own vector of single environments does, in every mode of autoreset."""

from __future__ import annotations

from functools import partial

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import data_equivalence
from gymnasium.vector import AutoresetMode, SyncVectorEnv

import fedsched as fs
from fedsched.gym import ID, SchedulingEnv, SchedulingVectorEnv

Sample = tuple[fs.Workload, fs.Federation]


def pair(sample: Sample, mode: AutoresetMode, **options: object) -> tuple[SchedulingVectorEnv, SyncVectorEnv]:
    """Return ours, and gymnasium's of as many single environments."""
    single = partial(SchedulingEnv, *sample, **options)
    ours = SchedulingVectorEnv(*sample, num_envs=3, autoreset_mode=mode, **options)
    return ours, SyncVectorEnv([single] * 3, autoreset_mode=mode)


@pytest.mark.parametrize("mode", list(AutoresetMode))
def test_it_does_what_single_environments_do(sample: Sample, mode: AutoresetMode) -> None:
    """Observations, rewards, ends and infos are those of single environments that are seeded alike, step by step."""
    ours, theirs = pair(sample, mode, jobs=12, waiting_places=6, order="sjf")
    assert ours.observation_space == theirs.observation_space
    assert ours.action_space == theirs.action_space
    assert ours.metadata["autoreset_mode"] == theirs.metadata["autoreset_mode"]
    rng, ends = np.random.default_rng(2), 0
    assert data_equivalence(ours.reset(seed=5), theirs.reset(seed=5), exact=True)
    for _ in range(150):
        actions = rng.integers(0, 7, size=3)
        got, expected = ours.step(actions), theirs.step(actions)
        assert data_equivalence(got[:4], expected[:4], exact=True)
        assert infos_equal(got[4], expected[4])
        over = got[2]
        ends += int(over.sum())
        if mode == AutoresetMode.DISABLED and over.any():
            again = [env.reset(options={"reset_mask": over.copy()}) for env in (ours, theirs)]
            assert data_equivalence(*again, exact=True)
    assert ends > 5


def infos_equal(got: object, expected: object) -> bool:
    """Return whether two infos are the same; what was seen last lies in arrays of objects."""
    if isinstance(got, dict) and isinstance(expected, dict):
        return got.keys() == expected.keys() and all(infos_equal(got[name], expected[name]) for name in got)
    if isinstance(got, np.ndarray) and got.dtype == object:
        pairs = zip(got, expected, strict=True)
        return all(one is other is None or data_equivalence(one, other) for one, other in pairs)
    return data_equivalence(got, expected, exact=True)


def test_gymnasium_makes_it(sample: Sample) -> None:
    """gymnasium.make_vec gives the vector environment, whose observations and actions lie in its spaces."""
    env = gymnasium.make_vec(ID, num_envs=4, workload=sample[0], federation=sample[1], jobs=10)
    assert isinstance(env.unwrapped, SchedulingVectorEnv)
    seen, _ = env.reset(seed=1)
    assert seen in env.observation_space
    env.action_space.seed(1)
    for _ in range(40):
        seen, rewards, over, truncated, _ = env.step(env.action_space.sample())
        assert seen in env.observation_space
        assert rewards.shape == over.shape == truncated.shape == (4,)
    env.close()


def test_every_simulation_is_an_episode_of_its_own(sample: Sample) -> None:
    """Each of many simulations in one call ends in the schedule of its own stretch of the log."""
    log, cluster = sample
    env = SchedulingVectorEnv(log, cluster, num_envs=5, jobs=30, autoreset_mode="Disabled")
    rows = np.array([0, 10, 20, 33, 90])
    _, info = env.reset(options={"first": rows})
    assert info["first"].tolist() == rows.tolist()
    over = np.zeros(5, dtype=bool)
    while not over.any():
        _, _, over, _, _ = env.step(np.zeros(5, dtype=int))
    done = int(over.argmax())
    schedule = env.schedule(done)
    np.testing.assert_array_equal(schedule.start, fs.simulate(schedule.workload, cluster, "fcfs").start)
    for b in range(5):
        first = rows[b]
        assert set(env.schedule(b).workload.id.tolist()) == set(log.sorted().id[first : first + 30].tolist())


def test_arrays_are_written_in_place_where_no_copies_are_wanted(sample: Sample) -> None:
    """With copy=False the observation is the same arrays at every step."""
    env = SchedulingVectorEnv(*sample, num_envs=2, jobs=10, copy=False)
    first, _ = env.reset(seed=1)
    second, *_ = env.step([0, 0])
    assert all(first[name] is second[name] for name in first)


def test_neighbours_make_no_difference(sample: Sample) -> None:
    """What a simulation is given does not depend on its neighbours: any number of them gives the same episodes."""
    returns = {}
    for runs in (1, 3, 8):
        env = SchedulingVectorEnv(*sample, num_envs=runs, jobs=15)
        env.reset(seed=9)
        sums = np.zeros(runs)
        ended = np.zeros(runs, dtype=bool)
        while not ended.all():
            _, rewards, over, _, _ = env.step(np.zeros(runs, dtype=int))
            sums += np.where(ended, 0.0, rewards)
            ended |= over
        returns[runs] = sums.tolist()
    assert returns[1] == returns[8][:1]
    assert returns[3] == returns[8][:3]


def test_what_is_wrong_is_said_in_a_line(sample: Sample) -> None:
    """Wrong actions, seeds, masks and options are refused with the value and the rule."""
    with pytest.raises(ValueError, match="num_envs=0 must be at least 1"):
        SchedulingVectorEnv(*sample, num_envs=0)
    env = SchedulingVectorEnv(*sample, num_envs=2, jobs=3, autoreset_mode="Disabled")
    with pytest.raises(ValueError, match="no episode is under way"):
        env.step([0, 0])
    for options, words in (
        ({"reset_mask": np.array([True])}, "reset_mask'] must be 2 booleans"),
        ({"reset_mask": np.zeros(2, dtype=bool)}, "one of them true"),
        ({"first": [1, 2, 3]}, "must be one row, or 2 of them"),
        ({"first": 118}, "must be at most 117"),
        ({"begin": 1}, "the only option is 'first'"),
    ):
        with pytest.raises(ValueError, match=words.replace("[", r"\[").replace("]", r"\]")):
            env.reset(options=options)
    with pytest.raises(ValueError, match="3 seeds for 2 environments"):
        env.reset(seed=[1, 2, 3])
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action=129 must be between 0 and 128"):
        env.step([0, 129])
    with pytest.raises(ValueError, match="must be 2 whole numbers"):
        env.step([0.5, 1.0])
    over = np.zeros(2, dtype=bool)
    while not over.any():
        over = env.step([0, 0])[2]
    with pytest.raises(ValueError, match="is over; begin the next one"):
        env.step([0, 0])
