"""Environments whose jobs take their shapes as they join the queue [32, 52]."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest

import fedsched as fs
from fedsched.gym import RunningFeature, SchedulingEnv, SchedulingVectorEnv, WaitingFeature
from fedsched.simulate import prepare

RULE = fs.Reading(alternatives="earliest_finish")
FOUR = fs.Federation.homogeneous(4)
# The first runs on all nodes until 10; the second would end at 18 on two of them, and at 15 on four.
LINE = fs.Workload(
    submit=[0.0, 1.0, 1.0],
    tasks=[4, 2, 4],
    runtime=[10.0, 8.0, 6.0],
    alternatives={2: "2x8|4x5|1x16", 3: "4x6|2x9"},
)


def sample(jobs: int) -> fs.Workload:
    """Return the first jobs of the sample log, each of which might be half or twice as wide."""
    return fs.generate.alternatives(fs.Workload.example().head(jobs), factors=(0.5, 2.0), most=128)


def first_to_last(env: SchedulingEnv, **options: object) -> fs.Schedule:
    """Return what comes of the first place, always; the rewards add up to the objective."""
    env.reset(**options)
    over, rewards = False, 0.0
    while not over:
        _, reward, over, _, info = env.step(0)
        rewards += reward
    assert info["objective"] == pytest.approx(-rewards)
    return env.schedule()


def test_what_is_seen_is_the_shape_that_a_job_has_taken() -> None:
    """Tasks and time are those of the shape from when it joins the queue on, and while it runs."""
    env = SchedulingEnv(LINE, FOUR, reading=RULE, objective="mean_response", waiting_places=3, running_places=2)
    env.reset()
    seen, *_ = env.step(0)
    assert env.waiting().tolist() == [2, 3]
    year = np.log1p(365 * 24 * 3600.0)
    assert seen["waiting"][:2, WaitingFeature.TASKS].tolist() == [1.0, 1.0]
    assert seen["waiting"][:2, WaitingFeature.ESTIMATE] == pytest.approx(np.log1p([5.0, 6.0]) / year)
    schedule = first_to_last(env)
    assert schedule.workload.tasks.tolist() == [4, 4, 4]
    assert schedule.workload.runtime.tolist() == [10.0, 5.0, 6.0]
    assert schedule.start.tolist() == [0.0, 10.0, 15.0]
    schedule.verify(claimed=schedule.metrics())


def test_what_is_seen_of_who_runs() -> None:
    """A job that asked for four nodes and has taken two is seen on two."""
    narrow = replace(LINE, alternatives={2: "2x8|4x9", 3: "4x6|2x7"})  # two until 18; beside it two until 17
    env = SchedulingEnv(narrow, FOUR, reading=RULE, waiting_places=3, running_places=2)
    env.reset()
    env.step(0)
    seen, *_ = env.step(1)  # the third, at 10
    assert env.waiting().tolist() == [2]
    assert seen["running"][:, RunningFeature.TASKS].tolist() == [0.5, 0.0]


def test_what_was_chosen_stands_whatever_is_answered() -> None:
    """The plan behind which a job chooses is conservative's; that somebody else starts instead changes no shape."""
    env = SchedulingEnv(LINE, FOUR, reading=RULE, objective="mean_response", waiting_places=3)
    env.reset()
    env.step(0)
    _, _, over, *_ = env.step(1)  # the third one first
    _, _, over, *_ = env.step(0)
    assert over
    schedule = env.schedule()
    assert schedule.workload.tasks.tolist() == [4, 4, 4]
    assert schedule.start.tolist() == [0.0, 16.0, 10.0]


@pytest.mark.parametrize("order", ["fcfs", "wfp3", "largest"])
def test_the_first_place_is_fcfs_on_the_sample(order: str) -> None:
    """Whoever always takes the first job in queue order makes the schedule of `strict`, shapes and all."""
    log, machine = sample(60), fs.Federation.homogeneous(128)
    got = first_to_last(SchedulingEnv(log, machine, reading=RULE, order=order))
    expected = fs.simulate(log, machine, fs.Rules(order=order), reading=RULE)
    assert got == expected
    assert (got.workload.tasks != log.tasks).sum() > 5
    assert got.metrics() == expected.metrics()
    got.verify(claimed=expected.metrics())


def test_a_stretch_of_a_log_is_as_if_it_were_all() -> None:
    """An episode over some jobs gives them the shapes that they take where there are no others."""
    log, machine = sample(40), fs.Federation.homogeneous(128)
    rows = np.lexsort((log.id, log.submit))
    env = SchedulingEnv(log, machine, reading=RULE, jobs=25)
    for first in (0, 15, 7):
        got = first_to_last(env, options={"first": first})
        assert got == fs.simulate(log.take(np.sort(rows[first : first + 25])), machine, "fcfs", reading=RULE)


def test_several_side_by_side_have_shapes_of_their_own() -> None:
    """Runs of different stretches, or at different instants, do not see each other's shapes; nor does a copy."""
    log, machine = sample(40), fs.Federation.homogeneous(128)
    several = SchedulingVectorEnv(log, machine, num_envs=3, reading=RULE, jobs=20, autoreset_mode="Disabled")
    _, info = several.reset(seed=4)
    assert len(set(info["first"].tolist())) > 1
    several.step([0, 0, 0])
    several = copy.deepcopy(several)
    over = np.zeros(3, dtype=bool)
    while not over.any():
        _, _, over, _, _ = several.step([0, 0, 0])
    for b in range(3):
        alone = SchedulingEnv(log, machine, reading=RULE, jobs=20)
        whole, part = first_to_last(alone, options={"first": int(info["first"][b])}), several.schedule(b)
        started = ~np.isnan(part.start)
        np.testing.assert_array_equal(part.start[started], whole.start[started])
        np.testing.assert_array_equal(part.workload.tasks[started], whole.workload.tasks[started])


def test_a_copy_in_the_midst_goes_on_by_itself() -> None:
    """What the copy's jobs choose is not seen in the original."""
    env = SchedulingEnv(sample(30), fs.Federation.homogeneous(128), reading=RULE)
    env.reset()
    for _ in range(10):
        env.step(0)
    copied = copy.deepcopy(env)
    made = []
    for one in (copied, env):
        over = False
        while not over:
            *_, over, _, _ = one.step(0)
        made.append(one.schedule())
    assert made[0] == made[1]
    assert made[0] == first_to_last(env)


def test_it_begins_from_running_jobs_in_the_shapes_that_they_have() -> None:
    """Those who run are as they are, the others choose."""
    run = prepare(LINE, FOUR, "fcfs", reading=RULE).advance(until=12.0)
    whole, rest = run.schedule(), np.array([1, 2])
    env = SchedulingEnv(whole.workload.take(rest), FOUR, reading=RULE, running=run.running().renumbered(rest))
    for _ in range(2):  # an episode leaves nothing behind
        env.reset()
        *_, over, _, _ = env.step(0)
        assert over
        assert env.schedule().finish.tolist() == run.advance().schedule().finish[rest].tolist()
        assert env.schedule().workload.tasks.tolist() == [4, 4]


def test_with_limits_of_jobs_and_not_of_nodes() -> None:
    """A user's jobs are counted, whatever their shapes."""
    log = replace(LINE, user=[1, 2, 2])
    one_each = replace(FOUR, limits=(fs.Limit("user", jobs=1),))
    schedule = first_to_last(SchedulingEnv(log, one_each, reading=RULE, objective="flow"))
    assert schedule == fs.simulate(log, one_each, "fcfs", reading=RULE)
