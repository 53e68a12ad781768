"""Environments over jobs that wait for others, leave, follow others, or are under limits [32 to 35, 43 to 45]."""

from __future__ import annotations

import copy
from dataclasses import replace

import numpy as np
import pytest
from support.deciding import played

import fedsched as fs
from fedsched.gym import ProgressFeature, SchedulingEnv, SchedulingVectorEnv, WaitingFeature

TWO = fs.Federation.homogeneous(2)


def decided(env: SchedulingEnv, *answers: int) -> fs.Schedule:
    """Return what comes of these answers, then of the first place for ever."""
    return played(env, *answers)[0]


def test_who_is_not_eligible_is_not_seen() -> None:
    """A job that waits for another comes when that has ended; one that never can is none of the episode."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0], tasks=[1, 1, 1], runtime=[10.0, 5.0, 5.0], after={2: "afterok:1+3s", 3: "afternotok:1"}
    )
    env = SchedulingEnv(log, TWO, objective="mean_response")
    seen, _ = env.reset()
    assert env.waiting().tolist() == [1]
    seen, _, over, _, _ = env.step(0)
    assert env.waiting().tolist() == [2]
    assert seen["progress"][ProgressFeature.ARRIVED] == pytest.approx(2 / 3)
    assert not over
    seen, _, over, _, _ = env.step(0)
    assert over
    assert seen["progress"].tolist() == pytest.approx([2 / 3, 2 / 3, 1.0])
    schedule = decided(env)
    assert schedule.start[:2].tolist() == [0.0, 13.0]
    assert np.isnan(schedule.start[2])
    assert env.episodes.objective(0) == pytest.approx((10.0 + 18.0) / 2)
    schedule.verify(claimed=schedule.metrics())


def test_who_is_cancelled_leaves_and_the_episode_ends() -> None:
    """None as an answer lets the time go on to a cancellation; the mean is over those who stayed."""
    log = fs.Workload(submit=[0.0, 0.0], tasks=[2, 2], runtime=[10.0, 5.0], cancel_at=[-1, 4.0])
    env = SchedulingEnv(log, TWO, objective="mean_response", waiting_places=3)
    schedule = decided(env, 3)  # nobody: the second one leaves, and only then the first one has to start
    assert schedule.start[0] == 4.0
    assert schedule.cancelled.tolist() == [False, True]
    assert env.episodes.objective(0) == 14.0
    schedule.verify(claimed=schedule.metrics())


def test_where_nobody_is_left_to_choose_reset_says_so() -> None:
    """An episode that is over before any decision is refused; of one that lost some jobs the others are decided."""
    runs = fs.Workload(submit=[0.0, 1.0], tasks=[2, 2], runtime=[10.0, 5.0], cancel_at=[0.0, 1.0])
    for env in (SchedulingEnv(runs, TWO), SchedulingVectorEnv(runs, TWO, num_envs=2)):
        with pytest.raises(ValueError, match=r"ends before its first decision.*leave such jobs out"):
            env.reset()
    log = replace(runs, cancel_at=[0.0, 9.0])
    assert decided(SchedulingEnv(log, TWO)).start[1] == 1.0


@pytest.mark.parametrize(("leaves", "jobs", "tasks"), [(-1.0, 4, 4), (15.0, 5, 6)])
def test_means_are_over_those_who_are_not_gone_by_then(leaves: float, jobs: int, tasks: int) -> None:
    """When somebody leaves, means grow; who waits for it is gone with it, or when its own time to leave has come."""
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0, 0.0, 10.0, 13.0], tasks=[1, 1, 2, 2, 1, 1], runtime=[10.0, 20.0, 5.0, 5.0, 1.0, 4.0],
        cancel_at=[-1, -1, 12.0, leaves, -1, -1], after={4: "afterok:3"},
    )  # fmt: skip
    for objective, all_of_them, left in (("mean_response", 6, jobs), ("weighted_response", 8, tasks)):
        env = SchedulingEnv(log, TWO, objective=objective)
        seen, _ = env.reset()
        rewards, over = [], False
        while not over:
            seen, reward, over, _, _ = env.step(int(seen["action_mask"].argmax()))
            rewards.append(reward)
        until = np.array([0.0, 10.0 / all_of_them, 11.0 / left, 35.0 / 4.0])  # by steps: 1, 2, 5 and 6 start
        assert rewards == pytest.approx((-np.diff(until, prepend=0.0)).tolist())
        assert env.schedule().complete


def test_who_follows_another_is_submitted_after_it() -> None:
    """The wait that is seen, and all metrics, go by the submit that came out; so it is in a copy of the environment."""
    log = fs.Workload(
        submit=[0.0, 1.0, 2.0], tasks=[2, 2, 2], runtime=[10.0, 5.0, 8.0],
        feedback={"preceding": [-1, 1, -1], "think_time": [-1, 4.0, -1]},
    )  # fmt: skip
    env = SchedulingEnv(log, TWO, objective="flow")
    env.reset()
    env.step(0)
    copied = copy.deepcopy(env)
    for one in (env, copied):
        assert one.waiting().tolist() == [3]
        seen, _, _, _, _ = one.step(0)
        assert one.waiting().tolist() == [2]
        assert seen["waiting"][0, WaitingFeature.WAIT] == pytest.approx(np.log1p(4.0) / np.log1p(365 * 24 * 3600.0))
        *_, over, _, info = one.step(0)
        assert over
        assert info["objective"] == 10.0 + 16.0 + 9.0
        assert one.schedule().workload.submit.tolist() == [0.0, 14.0, 2.0]
        one.schedule().verify(claimed=one.schedule().metrics())


def test_who_is_over_a_limit_cannot_be_chosen() -> None:
    """The tasks of an array are shown while fewer than its limit run."""
    log = fs.Workload(submit=[0.0] * 3, tasks=[1] * 3, runtime=[10.0] * 3, labels={"array": ["a%1", "a%1", ""]})
    env = SchedulingEnv(log, TWO)
    env.reset()
    assert env.waiting().tolist() == [1, 2, 3]
    env.step(0)
    assert env.waiting().tolist() == [3]
    assert decided(env).start.tolist() == [0.0, 10.0, 0.0]


def test_jobs_of_a_reservation_are_decided_in_their_turn() -> None:
    """At each instant its queue comes first, with the nodes that it keeps; its jobs see these nodes, others do not."""
    course = fs.Downtime("cluster", 10.0, 30.0, "2 of all", kind="reservation", name="course")
    machine = replace(fs.Federation.homogeneous(3), calendar=(course,))
    log = fs.Workload(
        submit=[0.0, 0.0, 0.0, 12.0], tasks=[1, 1, 1, 2], runtime=[5.0, 5.0, 40.0, 25.0],
        labels={"reservation": ["course", "", "", "course"]},
    )  # fmt: skip
    env = SchedulingEnv(log, machine, objective="mean_response", waiting_places=3)
    env.reset()
    assert env.waiting().tolist() == [2, 3]
    env.step(1)
    seen, *_ = env.step(3)  # nobody: the reservation begins
    assert env.waiting().tolist() == [1]
    assert seen["free"].tolist() == [0.0, 1.0]  # the node of the third job, and what the reservation keeps
    env.step(3)  # nobody: of the others none fits; it is the reservation's turn again as the last one comes
    assert env.waiting().tolist() == [1]
    schedule = decided(env, 1, 3, 0, 0)
    assert schedule.start[[0, 2]].tolist() == [10.0, 0.0]
    assert np.isnan(schedule.start[3])  # it would outlast its reservation
    assert schedule.notes == ("nodes that stay closed leave the others no room: 3 of 4 jobs finished",)
    for _ in range(2):  # an episode that is left in the midst of the reservation's turn leaves nothing behind
        env.reset()
        env.step(1)
        env.step(3)
        assert env.waiting().tolist() == [1]
    assert decided(env) == fs.simulate(log, machine, "fcfs")


def test_a_job_that_loses_its_nodes_is_decided_again() -> None:
    """A requeued job is seen anew; a killed one is none of the mean, and what both have wasted is in the rewards."""
    outage = fs.Downtime("cluster", 5.0, 8.0, kind="outage", on_running="requeue")
    log = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[10.0, 4.0])
    machine = fs.Federation.homogeneous(2)
    env = SchedulingEnv(log, replace(machine, calendar=(outage,)), objective="mean_response")
    env.reset()
    env.step(0)
    seen, *_ = env.step(0)
    assert env.waiting().tolist() == [1]
    assert seen["progress"].tolist() == pytest.approx([1.0, 0.5, 0.5])
    schedule = decided(env)
    assert schedule.start.tolist() == [8.0, 0.0]
    assert env.episodes.objective(0) == (18.0 + 4.0) / 2
    schedule.verify(claimed=schedule.metrics())
    for kind, value in (("mean_response", 4.0), ("wasted_node_seconds", 5.0), ("makespan", 5.0)):
        killed = SchedulingEnv(log, replace(machine, calendar=(replace(outage, on_running="kill"),)), objective=kind)
        schedule = decided(killed)
        assert killed.episodes.objective(0) == value
        schedule.verify(claimed=schedule.metrics())


def test_where_nodes_stay_closed_the_episode_ends() -> None:
    """A chosen job that fits no more never will; none is an answer as long as some job fits."""
    drain = fs.Downtime("cluster", 5.0, np.inf, "1 of all", kind="drain")
    machine = replace(TWO, calendar=(drain,))
    log = fs.Workload(submit=[0.0, 1.0, 2.0], tasks=[1, 2, 1], runtime=[10.0, 9.0, 8.0])
    env = SchedulingEnv(log, machine, objective="mean_response", waiting_places=3)
    assert decided(env) == fs.simulate(log, machine, "fcfs")
    assert env.episodes.objective(0) == 10.0  # of the only one that ran
    schedule = decided(env, 0, 3, 3, 3)
    assert schedule.start[[0, 2]].tolist() == [0.0, 10.0]
    assert np.isnan(schedule.start[1])
    assert schedule.notes == ("nodes that stay closed leave the others no room: 2 of 3 jobs finished",)


def test_several_side_by_side_are_as_one() -> None:
    """A vector environment does with each run what a single one does."""
    log = replace(
        fs.Workload.example().head(40), user=np.arange(40) % 3, cancel_at=np.where(np.arange(40) % 7 == 6, 1e5, -1.0)
    )
    machine = replace(fs.Federation.homogeneous(128), limits=(fs.Limit("user", jobs=2),))
    several = SchedulingVectorEnv(log, machine, num_envs=3, autoreset_mode="Disabled")
    several.reset()
    over = np.zeros(3, dtype=bool)
    while not over.any():
        _, _, over, _, _ = several.step([0, 0, 0])
    one = decided(SchedulingEnv(log, machine))
    assert over.all()
    for b in range(3):
        np.testing.assert_array_equal(several.schedule(b).start, one.start)


def test_a_held_job_is_not_seen_and_comes_back() -> None:
    """A hold takes a waiting job out of the queue; its end is an instant of its own, and the episode goes on to it."""
    log = fs.Workload(submit=[0.0, 0.0], tasks=[2, 2], runtime=[10.0, 5.0], held={1: [(4, 30)], 2: [(0, 6)]})
    env = SchedulingEnv(log, TWO, objective="mean_response", waiting_places=3)
    env.reset()
    assert env.waiting().tolist() == [1]
    env.step(3)  # none: the first one is held from 4 on, and the second one is free at 6
    assert env.waiting().tolist() == [2]
    assert np.isnan(env.schedule().start).all()
    _, _, over, _, _ = env.step(3)  # none: nothing else can happen before the first one comes back
    assert not over
    assert env.waiting().tolist() == [1, 2]
    schedule = decided(env, 3, 3)
    assert schedule.start.tolist() == [30.0, 40.0]
    schedule.verify(claimed=schedule.metrics())
    assert env.episodes.objective(0) == (40.0 + 45.0) / 2
