"""Environments under caps on power, and on nodes that go off [32, 33, 66, 70]."""

from __future__ import annotations

import numpy as np
import pytest
from support.deciding import played

import fedsched as fs
from fedsched.gym import SchedulingEnv, SchedulingVectorEnv
from fedsched.policies import Planned, Timeout

HOUR = 3600.0


def machine(cap: list[float] | None = None, *, again: bool = False, **more: object) -> fs.Federation:
    """Return two nodes of 100 W idle, 200 W busy and 0 W off; a cap has these watts, one an hour."""
    signals = ()
    if cap is not None:
        times = [HOUR * k for k in range(len(cap))]
        beyond = "repeat" if again else "last"
        signals = (fs.Signal(times=times, values=cap, unit="W", until=HOUR * len(cap), beyond=beyond),)
    group = fs.NodeGroup(2, busy_watts=200, idle_watts=100, off_watts=0, boot_seconds=50, boot_watts=150)
    return fs.Federation((fs.Cluster("C", (group,)),), signals=signals, **more)


def jobs(*submits: float, tasks: int = 1, runtime: float = 600.0) -> fs.Workload:
    """Return jobs submitted at these times."""
    return fs.Workload(submit=submits, tasks=[tasks] * len(submits), runtime=[runtime] * len(submits))


def decided(env: SchedulingEnv, *answers: int) -> fs.Schedule:
    """Return what comes of these answers, then of the first place for ever; the objective is the energy."""
    schedule, objective = played(env, *answers)
    assert objective == pytest.approx(schedule.metrics().energy)
    return schedule


def test_a_job_that_lacks_watts_waits() -> None:
    """It is seen and does not fit; the change of the cap is an instant at which it does."""
    env = SchedulingEnv(jobs(0, 0, runtime=HOUR + 10), machine([300, 400]), objective="energy", waiting_places=3)
    seen, _ = env.reset()
    assert seen["action_mask"].tolist() == [1, 1, 0, 1]
    env.step(1)
    assert env.waiting().tolist() == [1]
    assert env.episodes.state(0).clock[0] == HOUR
    schedule = decided(env, 1)
    assert schedule.start.tolist() == [HOUR, 0.0]
    schedule.verify(claimed=schedule.metrics())


def test_none_waits_for_no_cap_that_repeats() -> None:
    """Nothing else is to come, so the first that fits starts; a change of a cap for good is worth to wait for."""
    for again, start in ((True, 0.0), (False, HOUR)):
        env = SchedulingEnv(jobs(0), machine([300, 400], again=again), objective="energy", waiting_places=1)
        assert decided(env, 1, 1).start.tolist() == [start]


def test_who_asks_again_and_again_for_a_job_that_lacks_watts_ends_the_episode() -> None:
    """A cap that repeats leaves two hours for each job; whoever then chooses the other one starts none."""
    log = fs.Workload(submit=[0, 0], tasks=[2, 1], runtime=[HOUR, 2 * HOUR])
    env = SchedulingEnv(log, machine([300, 300, 400, 200], again=True), objective="energy")
    seen, _ = env.reset()
    for hour, fits in ((0, [0, 1]), (1, [0, 1]), (2, [1, 0]), (4, [0, 1])):  # the first hour comes again once
        assert env.episodes.state(0).clock[0] == hour * HOUR
        assert seen["action_mask"][:2].tolist() == fits
        seen, _, over, _, _ = env.step(fits.index(0))
        assert over == (hour == 4)
    assert np.isnan(env.schedule().start).all()
    assert env.schedule().notes == (
        "the power cap, or nodes that stay closed, leave jobs 1, 2 no room: 0 of 2 jobs finished",
    )


def test_energy_counts_until_the_last_end_if_a_cap_leaves_others_no_room() -> None:
    """Nodes go off later than that, while a cap still changes; this spares nothing of what counts."""
    log = fs.Workload(submit=[0, 0], tasks=[1, 2], runtime=[600, 2 * HOUR])
    cap = [400, 300, 310, 320]
    env = SchedulingEnv(log, machine(cap, power=Timeout(300)), objective="energy")
    schedule = decided(env)
    assert np.isnan(schedule.start).tolist() == [False, True]
    assert schedule.metrics().energy == 600 * 200 + 300 * 100
    assert schedule == fs.simulate(log, schedule.federation, fs.Rules(dispatch="greedy"))


def test_a_chosen_job_waits_for_its_nodes_to_boot() -> None:
    """It has them at once: the next decision does not see them as free."""
    log = jobs(0, 1000, 1000, runtime=600)
    env = SchedulingEnv(log, machine(power=Timeout(200)), objective="energy", waiting_places=3)
    env.reset()
    env.step(0)
    seen, *_ = env.step(0)
    assert env.waiting().tolist() == [3]
    assert seen["free"].tolist() == [0.5]
    schedule = decided(env)
    assert schedule.start.tolist() == [0.0, 1050.0, 1050.0]
    schedule.verify(claimed=schedule.metrics())
    assert schedule == fs.simulate(log, schedule.federation, "fcfs")


def test_under_planned_energy_needs_the_whole_schedule() -> None:
    """Other metrics are objectives as always, and the schedule's energy is that of nodes that go off."""
    saving = machine(power=Planned())
    for objective in ("energy", "idle_energy"):
        with pytest.raises(ValueError, match=f"{objective}.* depends on the whole schedule with power=planned"):
            SchedulingEnv(jobs(0, 1000), saving, objective=objective)
    env = SchedulingEnv(jobs(0, 1000), saving, objective="busy_energy")
    env.reset()
    env.step(0)
    env.step(0)
    schedule = env.schedule()
    assert schedule == fs.simulate(jobs(0, 1000), saving, "fcfs")
    assert schedule.metrics().energy < fs.simulate(jobs(0, 1000), machine(), "fcfs").metrics().energy


@pytest.mark.parametrize("part", [None, 3])
def test_several_side_by_side_are_as_one(part: int | None) -> None:
    """A vector environment does with each run what a single one does, with boots and caps."""
    log = jobs(0, 2000, 2000, 9000, 9500)
    capped = machine([400, 310, 400], power=Timeout(200))
    several = SchedulingVectorEnv(log, capped, num_envs=2, jobs=part, autoreset_mode="Disabled")
    several.reset(options={"first": [0, 0 if part is None else 2]})
    over = np.zeros(2, dtype=bool)
    while not over.any():
        over = several.step([0, 0])[2]
    assert over.all()
    for b, first in enumerate((0, 0 if part is None else 2)):
        rows = np.arange(first, first + (part or len(log)))
        assert several.schedule(b) == fs.simulate(log.take(rows), capped, "fcfs")
