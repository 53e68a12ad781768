"""Episodes of a part of the log whose jobs know others: the part is a workload of its own [33]."""

from __future__ import annotations

import copy
import random
from dataclasses import replace

import numpy as np
import pytest
from support import deciding, strategies
from support.tiers import tries

import fedsched as fs
from fedsched.gym import SchedulingEnv, SchedulingVectorEnv

FOUR = fs.Federation.homogeneous(4)
KINDS = ("conditions", "feedback", "limits", "cancellations", "holds", "reservations", "power")


def tied(seed: int, kind: str) -> strategies.Scenario:
    """Return a random scenario in which some jobs have what is of a kind."""
    scenario = strategies.random_scenario(seed, restless=True, epoch=seed % 7 == 6)
    scenario = (strategies.going_off_under_caps(seed) if kind == "power" else scenario).for_environments()
    scenario = scenario.without_closures() if kind == "reservations" else scenario
    rng = random.Random(-seed)
    jobs, grain = scenario.jobs, scenario.jobs[0].runtime
    if kind == "conditions":
        jobs = strategies.waiting_for_each_other(jobs, grain, rng.choice)
    elif kind == "feedback":
        jobs = strategies.following(jobs, grain, rng.choice)
    elif kind == "cancellations":
        jobs = strategies.impatient(jobs, grain, rng.choice)
    elif kind == "holds":
        jobs = strategies.held(jobs, grain, rng.choice)
    machine = scenario.machine
    if kind == "reservations":
        machine, jobs = strategies.with_reservations(machine, jobs, scenario.settings.placement, grain, rng.choice)
    if kind == "limits":
        machine = replace(machine, limits=strategies.limits(jobs, rng.choice))
    made = replace(scenario, jobs=jobs, machine=machine)
    return deciding.without_permutations(made)


def assert_part_is_a_workload(seed: int, kind: str) -> bool:
    """Fail unless parts of a log, answered at random, are what the reference makes of their jobs alone.

    Return whether the jobs of the log were tied.
    """
    scenario, rng = tied(seed, kind), random.Random(seed)
    many = rng.randint(1, len(scenario.jobs))
    rows = sorted(range(len(scenario.jobs)), key=lambda j: (scenario.jobs[j].submit, scenario.jobs[j].id))
    places = rng.choice((1, 2, 5, 20))
    episodes = deciding.episodes_of(scenario, jobs=many, waiting_places=places)
    for first in (0, rng.randint(0, len(rows) - many)):
        part = scenario.part(rows[first : first + many])
        answers = [random.Random(f"{seed} {first}") for _ in range(2)]
        got, asked, rewards = deciding.by_engine(
            episodes, lambda *_, draw=answers[0]: draw.randrange(-1, places), first
        )
        expected, wanted = deciding.by_reference(part, lambda *_, draw=answers[1]: draw.randrange(-1, places), places)
        assert asked == wanted, scenario.settings
        order = np.argsort([job.id for job in part.jobs])
        mine = np.argsort(got.workload.id)
        np.testing.assert_array_equal(got.start[mine], np.array(expected.start)[order])
        np.testing.assert_array_equal(got.finish[mine], np.array(expected.finish)[order])
        if asked:
            assert rewards == pytest.approx(-episodes.objective(0), nan_ok=True)
        if got.complete:
            got.verify(claimed=got.metrics())
    return episodes._parts is not None


@pytest.mark.parametrize("kind", KINDS)
def test_a_part_is_a_workload_of_its_own(kind: str) -> None:
    """What jobs outside a part would do is nothing to those in it, whatever ties them together."""
    packed = [assert_part_is_a_workload(seed, kind) for seed in range(tries(60, 6))]
    assert sum(packed) > len(packed) // 3


def test_what_is_asked_of_jobs_outside_counts_as_met() -> None:
    """A part without the job that another waits for or follows, or that fills its limit, is free of it."""
    log = fs.Workload(
        submit=[0.0, 5.0, 6.0, 7.0], tasks=[4, 4, 1, 1], runtime=[100.0, 10.0, 10.0, 10.0], user=[1, 1, 2, 2],
        after={2: "afterok:1+50s"}, feedback={"preceding": [-1, -1, 1, 3], "think_time": [-1, -1, 20.0, 5.0]},
    )  # fmt: skip
    env = SchedulingEnv(log, replace(FOUR, limits=(fs.Limit("user", jobs=1),)), jobs=3)
    for first, starts in ((0, [0.0, 150.0, 120.0]), (1, [5.0, 15.0, 30.0])):
        env.reset(options={"first": first})
        over = False
        while not over:
            *_, over, _, _ = env.step(0)
        assert env.schedule().start.tolist() == starts
        env.schedule().verify(claimed=env.schedule().metrics())


@pytest.mark.parametrize("kind", ["conditions", "limits"])
def test_several_parts_side_by_side_are_as_one(kind: str) -> None:
    """A vector environment does with each part what a single one does, also as a copy made in its midst."""
    log, machine = fs.Workload.example().head(60), fs.Federation.homogeneous(128)
    if kind == "limits":
        log, machine = replace(log, user=np.arange(60) % 3), replace(machine, limits=(fs.Limit("user", jobs=2),))
    else:
        log = replace(log, after={int(job): f"afterany:{log.id[0]}:{job - 3}" for job in log.id[10::4]})
    several = SchedulingVectorEnv(log, machine, num_envs=3, jobs=20, order="sjf", autoreset_mode="Disabled")
    _, info = several.reset(options={"first": [0, 13, 40]})
    several.step([0, 0, 0])
    several = copy.deepcopy(several)
    over = np.zeros(3, dtype=bool)
    while not over.all():
        if over.any():  # the others go on
            several.episodes.rest()
            several.episodes.answers[~over] = 0
            several.episodes.advance_runs()
            over = several.episodes.told.over == 1
        else:
            over = several.step([0, 0, 0])[2]
    for b, first in enumerate(info["first"].tolist()):
        part = several.schedule(b)
        assert part == fs.simulate(log.take(np.arange(first, first + 20)), machine, fs.Rules(order="sjf"))
