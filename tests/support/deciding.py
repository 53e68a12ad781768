"""Runs that are decided from outside: the same answers for the engine and for the naive reference."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, NamedTuple

import pytest
from support import strategies

import fedsched as fs
from fedsched.gym.episodes import Episodes

if TYPE_CHECKING:
    from collections.abc import Callable

    from reference import naive

    from fedsched.gym import SchedulingEnv

    Choose = Callable[[list[int], list[bool]], int]  # the ids in the first places, whether each fits -> a place


class Decision(NamedTuple):
    """What somebody saw who was asked, and the answer."""

    time: float
    waiting: list[int]  # ids
    fits: list[bool]
    answer: int


def first_waiting(waiting: list[int], fits: list[bool]) -> int:
    """Return the first place."""
    return 0


def first_that_fits(waiting: list[int], fits: list[bool]) -> int:
    """Return the first place whose job fits."""
    return fits.index(True)


def without_permutations(scenario: strategies.Scenario) -> strategies.Scenario:
    """Return the scenario in an order that has a name, as environments show queues."""
    if isinstance(scenario.settings.order, str):
        return scenario
    return replace(scenario, settings=replace(scenario.settings, order="fcfs"))


def played(env: SchedulingEnv, *answers: int) -> tuple[fs.Schedule, float]:
    """Return what comes of these answers, then of the first place for ever, and the objective: rewards add up to it."""
    env.reset()
    over, rewards, given = False, 0.0, iter(answers)
    while not over:
        _, reward, over, _, info = env.step(next(given, 0))
        rewards += reward
    assert info["objective"] == pytest.approx(-rewards)
    return env.schedule(), info["objective"]


def episodes_of(scenario: strategies.Scenario, **options: object) -> Episodes:
    """Return one run of a scenario, not yet begun."""
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    chosen = scenario.settings
    reading = fs.Reading(
        same_time=chosen.same_time, saturation=chosen.saturation, kill_at_estimate=chosen.kill_at_estimate,
        alternatives=chosen.alternatives,
    )  # fmt: skip
    usual = {"runs": 1, "order": chosen.order, "placement": chosen.placement, "reading": reading, "caps": caps}
    return Episodes(workload, federation, **{**usual, **options})


def by_engine(episodes: Episodes, choose: Choose, first: int = 0) -> tuple[fs.Schedule, list[Decision], float]:
    """Return what the answers make of a run from that row on, what was asked, and the rewards' sum."""
    asked, rewards = [], 0.0
    episodes.begin(0, first)
    episodes.advance_runs()
    while not episodes.told.over[0]:
        waiting = episodes.waiting(0).tolist()
        fits = (episodes.seen.action_mask[0, : len(waiting)] == 1).tolist()
        answer = choose(waiting, fits)
        asked.append(Decision(float(episodes.state(0).clock[0]), waiting, fits, answer))
        episodes.answers[0] = answer if answer >= 0 else episodes.runs.waiting.shape[1]
        episodes.advance_runs()
        rewards += float(episodes.told.reward[0])
    return episodes.schedule(0), asked, rewards


def by_reference(scenario: strategies.Scenario, choose: Choose, places: int) -> tuple[naive.Result, list[Decision]]:
    """Return what the same answers make of the naive run, and what was asked."""
    asked: list[Decision] = []
    ids = [job.id for job in scenario.jobs]

    def decide(now: float, waiting: list[int], fits: list[bool]) -> int:
        named = [ids[j] for j in waiting]
        answer = choose(named, fits)
        asked.append(Decision(now, named, fits, answer))
        return answer

    return scenario.simulate(decide=decide, places=places), asked
