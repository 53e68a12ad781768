"""SchedulingEnv: what gymnasium asks of an environment, what is seen, and what is refused by name."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
from typing import TYPE_CHECKING

import gymnasium
import numpy as np
import pytest
from gymnasium.utils.env_checker import check_env

import fedsched as fs
from fedsched.core.errors import InfeasibleError, UnknownNameError
from fedsched.gym import ID, ProgressFeature, RunningFeature, SchedulingEnv, WaitingFeature
from fedsched.gym.features import YEAR
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from collections.abc import Callable

Sample = tuple[fs.Workload, fs.Federation]


@pytest.mark.parametrize("options", [{}, {"jobs": 20}, {"jobs": 20, "objective": "energy", "order": "wfp3"}])
def test_gymnasiums_own_check_has_nothing_to_say(sample: Sample, options: dict[str, object]) -> None:
    """Gymnasium's checker passes, with warnings as errors, whatever the episodes are made of."""
    env = gymnasium.make(ID, workload=sample[0], federation=sample[1], **options)
    check_env(env.unwrapped)


def test_an_environment_can_be_made_without_a_registry(sample: Sample) -> None:
    """The class itself makes the same environment as gymnasium.make."""
    made = gymnasium.make(ID, workload=sample[0], federation=sample[1], jobs=10)
    seen = [env.reset(seed=4)[1] for env in (made, SchedulingEnv(*sample, jobs=10))]
    assert seen[0] == seen[1]
    assert isinstance(made.unwrapped, SchedulingEnv)


def test_an_episode_is_a_stretch_of_the_log(sample: Sample) -> None:
    """An episode over some jobs is scheduled as these jobs alone are, from wherever in the log it begins."""
    log, cluster = sample
    shuffled = log.take(np.random.default_rng(1).permutation(len(log)))
    env = SchedulingEnv(shuffled, cluster, jobs=40)
    for first in (0, 33, 80):
        _, info = env.reset(options={"first": first})
        over = False
        while not over:
            _, _, over, truncated, last = env.step(0)
            assert not truncated
        schedule = env.schedule()
        alone = fs.simulate(schedule.workload, cluster, "fcfs")
        np.testing.assert_array_equal(schedule.start, alone.start)
        assert schedule.metrics() == alone.metrics()
        schedule.verify()
        assert info == {"first": first}
        assert last["objective"] == pytest.approx(alone.metrics().bounded_slowdown, rel=1e-12)
        assert set(schedule.workload.id.tolist()) == set(log.sorted().id[first : first + 40].tolist())


def test_episodes_begin_anywhere_and_by_the_seed(sample: Sample) -> None:
    """Where an episode begins is drawn from all places of the log, the same ones for the same seed."""
    env = SchedulingEnv(*sample, jobs=118)
    drawn = [env.reset(seed=seed)[1]["first"] for seed in range(30)]
    assert set(drawn) == {0, 1, 2}
    assert drawn == [env.reset(seed=seed)[1]["first"] for seed in range(30)]


def test_what_is_seen_is_what_there_is() -> None:
    """The features of jobs, federation and run are the numbers that the documentation says."""
    federation = fs.Federation(
        (fs.Cluster("A", (fs.NodeGroup(4), fs.NodeGroup(2, speed=2.0))),), pools=(fs.Pool("licence", 4),)
    )
    workload = fs.Workload(
        submit=[0, 0, 9, 30], tasks=[2, 3, 6, 1], runtime=[40, 20, 5, 5], estimate=[50, 20, 5, 5],
        compute_fraction=[1.0, 1.0, 0.25, 1.0], pools={"licence": [1, 0, 2, 3]},
    )  # fmt: skip
    env = SchedulingEnv(workload, federation, waiting_places=3, running_places=2)
    seen, _ = env.reset()
    assert env.waiting().tolist() == [1, 2]
    env.step(1)
    seen, _, _, _, _ = env.step(0)  # both run; when the last job comes, the shorter one has ended
    assert env.waiting().tolist() == [3, 4]
    now = 30.0

    def share(seconds: float) -> object:
        return pytest.approx(np.log1p(seconds) / np.log1p(YEAR))

    third, fourth, nobody = seen["waiting"].tolist()
    assert dict(zip(WaitingFeature, third, strict=True)) == {
        WaitingFeature.PRESENT: 1.0,
        WaitingFeature.FITS: 0.0,
        WaitingFeature.TASKS: 1.0,
        WaitingFeature.ESTIMATE: share(5.0),
        WaitingFeature.WAIT: share(now - 9.0),
        WaitingFeature.COMPUTE: 0.25,
        WaitingFeature.POOLS: 0.5,
    }
    assert [fourth[of] for of in (WaitingFeature.FITS, WaitingFeature.WAIT, WaitingFeature.POOLS)] == [1.0, 0.0, 0.75]
    assert not any(nobody)
    first, other = seen["running"].tolist()
    assert dict(zip(RunningFeature, first, strict=True)) == {
        RunningFeature.PRESENT: 1.0,
        RunningFeature.TASKS: pytest.approx(2 / 6),
        RunningFeature.LEFT: share(50.0 - now),  # what its user asked for, not its run time
        RunningFeature.SINCE: share(now),
    }
    assert not any(other)
    assert seen["free"].tolist() == [0.5, 1.0, 0.75]
    assert dict(zip(ProgressFeature, seen["progress"].tolist(), strict=True)) == {
        ProgressFeature.ARRIVED: 1.0, ProgressFeature.STARTED: 0.5, ProgressFeature.FINISHED: 0.25
    }  # fmt: skip
    assert seen["action_mask"].tolist() == [0, 1, 0, 1]


def test_who_is_gone_is_not_seen(sample: Sample) -> None:
    """At every decision, and after the last one, just those who wait and who run fill the first places."""
    log, cluster = sample
    env = SchedulingEnv(log.head(60), cluster, waiting_places=6, running_places=5)
    (seen, _), over, fewer = env.reset(), False, 0
    while not over:
        before = seen
        seen, _, over, _, _ = env.step(int(seen["action_mask"].argmax()))
        started, finished = env.schedule().start, env.schedule().finish
        now = env.episodes.state(0).clock[0]
        runs = int((started <= now).sum() - (finished <= now).sum())
        waits = int(((log.submit[:60] <= now) & ~(started <= now)).sum())
        for name, there in (("waiting", waits), ("running", runs)):
            shown = min(there, len(seen[name]))
            assert (seen[name][:shown, 0] == 1.0).all()
            assert not seen[name][shown:].any()
            fewer += int((before[name][:, 0] > seen[name][:, 0]).any())
    assert fewer > 10
    assert not seen["action_mask"][:-1].any()


@pytest.mark.parametrize("copied", [copy.deepcopy, lambda env: pickle.loads(pickle.dumps(env))])
def test_a_copy_goes_on_by_itself(sample: Sample, copied: Callable[[SchedulingEnv], SchedulingEnv]) -> None:
    """A copy in the midst of an episode, to look ahead by, ends as the original would, and leaves it as it is."""
    env = SchedulingEnv(*sample, jobs=40)
    env.reset(seed=1)
    for _ in range(10):
        env.step(0)
    before = env.schedule()
    other = copied(env)
    for one in (other, env):
        assert not any(array.flags.writeable for array in one.episodes.runs.log if isinstance(array, np.ndarray))
        while not one.step(0)[2]:
            pass
        if one is other:
            np.testing.assert_array_equal(env.schedule().start, before.start)
    np.testing.assert_array_equal(env.schedule().start, other.schedule().start)


def test_an_observation_is_a_copy(sample: Sample) -> None:
    """What was seen stays as it was when the next step is made."""
    env = SchedulingEnv(*sample, jobs=30)
    first, _ = env.reset(seed=1)
    before = {name: array.copy() for name, array in first.items()}
    env.step(0)
    for name, array in first.items():
        np.testing.assert_array_equal(array, before[name])


def test_what_is_wrong_is_said_in_a_line(sample: Sample) -> None:
    """Whatever does not go is refused by name and value, with the cure."""
    log, cluster = sample
    running = prepare(log, cluster, "easy").advance(until=float(log.submit[60])).running()
    for options, error, words in (
        ({"jobs": 0}, ValueError, "jobs=0 must be at least 1"),
        ({"jobs": 121}, ValueError, "jobs=121 must be at most 120"),
        ({"jobs": 5, "t0": 3.0}, ValueError, "t0 is that of the whole workload"),
        ({"jobs": 5, "running": running}, ValueError, "running is that of the whole workload"),
        ({"order": "fcsf"}, UnknownNameError, "Did you mean 'fcfs'"),
        ({"placement": "fast"}, UnknownNameError, "Did you mean 'fastest'"),
        ({"objective": "user_spread"}, UnknownNameError, "Unknown objective 'user_spread'"),
        ({"objective": "drain_loss"}, UnknownNameError, "Unknown objective 'drain_loss'"),
        ({"objective": ("flow", "cost")}, ValueError, "objective='cost' depends on signals and a whole schedule"),
        ({"objective": "p95_wait"}, ValueError, "objective='p95_wait' is a quantile of all jobs"),
        ({"objective": lambda metrics: metrics["flow"]}, ValueError, "no running sum"),
        ({"waiting_places": 0}, ValueError, "waiting_places=0 must be at least 1"),
        ({"render_mode": "human"}, ValueError, "render_mode='human'"),
        ({"caps": np.ones((3, 3))}, ValueError, "caps: shape"),
    ):
        with pytest.raises(error, match=words):
            SchedulingEnv(log, cluster, **options)
    with pytest.raises(InfeasibleError, match="exceeds the federation's 1 node"):
        SchedulingEnv(log, fs.Federation.homogeneous(1))
    env = SchedulingEnv(log, cluster, jobs=30)
    with pytest.raises(ValueError, match="no episode is under way"):
        env.step(0)
    with pytest.raises(ValueError, match=r"options\['first'\]=91 must be at most 90"):
        env.reset(options={"first": 91})
    with pytest.raises(ValueError, match="unknown options 'begin'; the only option is 'first'"):
        env.reset(options={"begin": 3})
    env.reset(seed=1)
    with pytest.raises(ValueError, match="action=129 must be at most 128"):
        env.step(129)
    with pytest.raises(TypeError, match=r"action=0\.5 must be a whole number"):
        env.step(0.5)


def test_where_all_jobs_run_there_is_nothing_to_decide(sample: Sample) -> None:
    """A workload of jobs that all run already is refused, since nobody would ever be asked."""
    log, cluster = sample
    running = prepare(log, cluster, "easy").advance(until=float(log.submit[60])).running()
    rest = log.take(running.rows)
    with pytest.raises(ValueError, match="jobs run already; there is nothing to decide"):
        SchedulingEnv(rest, cluster, running=running.renumbered(running.rows))


def test_without_gymnasium_the_cure_is_named() -> None:
    """Where gymnasium is missing, importing the environments says which extra to install."""
    code = "import sys; sys.modules['gymnasium'] = None\nimport fedsched.gym"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert "pip install 'fedsched[gym]'" in done.stderr


def test_jobs_that_run_are_seen_with_the_nodes_that_they_hold() -> None:
    """Who waits is as large as the fewest nodes that hold all its tasks, who runs as those that it was given."""
    groups = (fs.NodeGroup(3, resources={"cpu": 4}), fs.NodeGroup(2, resources={"cpu": 8}))
    log = fs.Workload(submit=[0, 0, 0], tasks=[14, 8, 8], runtime=[10.0] * 3, layout={"exclusive": 1})
    env = SchedulingEnv(log, fs.Federation((fs.Cluster("A", groups),)))
    seen, _ = env.reset()
    assert seen["waiting"][:3, WaitingFeature.TASKS].tolist() == pytest.approx([2 / 5, 1 / 5, 1 / 5])
    seen, *_ = env.step(0)
    assert seen["running"][0, RunningFeature.TASKS] == pytest.approx(4 / 5)
    assert seen["waiting"][:2, WaitingFeature.FITS].tolist() == [1.0, 1.0]
