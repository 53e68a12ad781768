"""Environments on shared nodes: each decision as the reference has it, and what is seen of cores [32, 55]."""

from __future__ import annotations

import copy
from dataclasses import replace
from random import Random
from typing import TYPE_CHECKING

import numpy as np
import pytest
from support import deciding
from support.sharing_cases import BOUND, Case, case
from support.tiers import tries

import fedsched as fs
from fedsched.gym import RunningFeature, SchedulingEnv, SchedulingVectorEnv, WaitingFeature
from fedsched.gym.episodes import BY_SHARES, Episodes
from fedsched.model.schedule.metrics import NAMES
from fedsched.search.problem.objectives import NOT_SOUGHT
from fedsched.simulate import prepare

if TYPE_CHECKING:
    from fedsched.engine.sharing.result import SharedSchedule

SOUGHT = [name for name in NAMES if name not in NOT_SOUGHT and name not in BY_SHARES]
EVERY = (*BOUND, "held", "reserved", "downtimes", "counted", "taking", "tiers", "nodes", "links", "caps", "sequential")
NODE = fs.NodeGroup(2, resources={"cpu": 4})
PAIR = fs.Federation((fs.Cluster("A", (NODE,)),))
JOBS = fs.Workload(
    submit=[0.0, 0.0, 1.0, 2.0], tasks=[1, 1, 2, 1], runtime=[10.0, 20.0, 5.0, 8.0],
    demand={"cpu": [2, 3, 2, 1]}, layout={"exclusive": [0, 0, 0, 1]},
)  # fmt: skip


def mixture(seed: int) -> Case:
    """Return a random case of a random choice of features."""
    bound = tuple(name for name in EVERY if seed % 4 and Random(f"{seed} {name}").random() < 0.4)
    if {"counted", "taking"} & {*bound}:
        bound = (*bound, "downtimes")
    if {"counted", "reserved"} & {*bound}:  # these divide groups, for which caps are
        bound = tuple(name for name in bound if name != "caps")
    return case(seed, bound=bound)


def episodes_of(one: Case, **options: object) -> Episodes:
    """Return one run of a case, not yet begun."""
    run, rules = one.naive, one.rules
    reading = fs.Reading(
        kill_at_estimate=one.kill, same_time="sequential" if run.sequential else "batch", saturation=run.saturation
    )
    caps = None
    if any(job.caps is not None for job in run.jobs):
        caps = np.array([one.caps_of(row) for row in range(len(one.workload))])
    usual = {"runs": 1, "order": rules.order, "placement": rules.placement, "reading": reading, "caps": caps}
    return Episodes(one.workload, one.federation, **{**usual, "sharing": one.sharing, **options})


def test_random_answers_agree() -> None:
    """Whatever is answered, the same jobs are asked about and start as the reference has it; rewards add up."""
    for seed in range(tries(120, 12)):
        one, places, objective = mixture(seed), Random(seed).choice((1, 2, 5, 20)), SOUGHT[seed % len(SOUGHT)]
        drawn, again, wanted = Random(seed), Random(seed), []
        episodes = episodes_of(one, waiting_places=places, objective=objective)
        got, asked, rewards = deciding.by_engine(episodes, lambda *_, d=drawn, k=places: d.randrange(-1, k))

        def decide(
            now: float, waiting: list[int], fits: list[bool], one=one, again=again, places=places, wanted=wanted
        ) -> int:
            answer = again.randrange(-1, places)
            wanted.append(deciding.Decision(now, one.workload.id[waiting].tolist(), fits, answer))
            return answer

        one.naive.decide, one.naive.places = decide, places
        one.naive.run()
        assert asked == wanted
        np.testing.assert_array_equal(got.start, one.naive.start)
        np.testing.assert_array_equal(got.finish, one.naive.finish)
        assert got.counts.tolist() == one.naive.counts
        if got.complete:
            got.verify(claimed=got.metrics())
        if not np.isnan(got.finish).all():
            assert rewards == pytest.approx(-got.metrics()[objective], rel=1e-9, abs=1e-9)


@pytest.mark.parametrize(("policy", "choose"), [("strict", "first_waiting"), ("greedy", "first_that_fits")])
def test_two_rules_are_as_they_are_simulated(policy: str, choose: str) -> None:
    """Always the first place, or the first that fits, is what `simulate` makes by strict or greedy."""
    for seed in range(1000, 1000 + tries(60, 8)):
        one = mixture(seed)
        if one.naive.limits or one.naive.sizes:
            continue  # passes go on over jobs that fit on too many or too few nodes
        one.rules = replace(one.rules, dispatch=policy, backfill_order=None)
        episodes, drawn = episodes_of(one), Random(seed)
        deciding.by_engine(episodes, lambda *_, d=drawn: d.randrange(-1, 5))  # leaves nothing behind
        got, _, _ = deciding.by_engine(episodes, getattr(deciding, choose))
        expected = one.simulate()
        assert got == expected
        assert got.metrics() == expected.metrics()
        assert got.notes == expected.notes


def decided(env: SchedulingEnv, *answers: int, **options: object) -> SharedSchedule:
    """Return what comes of these answers, then of the first place for ever."""
    env.reset(options=options)
    over, given = False, iter(answers)
    while not over:
        *_, over, _, _ = env.step(next(given, 0))
    return env.schedule()


def test_what_is_seen_is_of_cores() -> None:
    """Jobs have their share of all cores, groups the share of theirs that is free."""
    env = SchedulingEnv(JOBS, PAIR, sharing="first", objective="mean_wait", waiting_places=3, running_places=2)
    seen, _ = env.reset()
    assert seen["waiting"][:, WaitingFeature.TASKS].tolist() == pytest.approx([2 / 8, 3 / 8, 0.0])
    assert seen["free"].tolist() == [1.0]
    seen, *_ = env.step(1)
    assert seen["free"].tolist() == [5 / 8]
    assert seen["running"][0, RunningFeature.TASKS] == pytest.approx(3 / 8)
    schedule = decided(env, 1)
    schedule.verify(claimed=schedule.metrics())
    expected = fs.simulate(JOBS, PAIR, "fcfs", sharing="first")
    assert decided(env) == expected
    assert env.schedule().use.node.tolist() == expected.use.node.tolist()


def test_closed_nodes_are_not_seen_as_free() -> None:
    """A group that is closed now has no free cores, whatever is free on its nodes."""
    closed = replace(PAIR, calendar=(fs.Downtime("A", 1.5, 6.0, "1"),))
    log = replace(JOBS, runtime=[1.0, 1.0, 5.0, 8.0])  # all may end before the one node closes, or run on the other
    env = SchedulingEnv(log, closed, sharing="first", objective="mean_wait", waiting_places=9)
    seen, _ = env.reset()
    assert seen["free"].tolist() == [1.0, 1.0]
    while env.episodes.state(0).clock[0] < 2.0:
        seen, *_ = env.step(9)
    assert seen["free"].tolist() == [1.0, 0.0]
    assert decided(env) == fs.simulate(log, closed, "fcfs", sharing="first")


def test_a_part_of_the_log_and_several_side_by_side() -> None:
    """Each part is a workload of its own, in a vector environment and in a copy of it too."""
    several = SchedulingVectorEnv(JOBS, PAIR, num_envs=2, jobs=3, sharing="best", objective="flow")
    several.reset(options={"first": [0, 1]})
    several = copy.deepcopy(several)
    for b in range(2):
        alone = fs.simulate(JOBS.take([b, b + 1, b + 2]), PAIR, "fcfs", sharing="best")
        one = SchedulingEnv(JOBS, PAIR, jobs=3, sharing="best", objective="flow")
        assert decided(one, first=b) == alone
        several.step([0, 0])
        started = several.schedule(b).start
        np.testing.assert_array_equal(started[~np.isnan(started)], alone.start[~np.isnan(started)])


def test_it_begins_from_running_jobs() -> None:
    """Over the running jobs of a moment the rest is decided as it is simulated."""
    run = prepare(JOBS, PAIR, "fcfs", sharing="first").advance(until=1.0)
    env = SchedulingEnv(JOBS, PAIR, sharing="first", objective="flow", running=run.running())
    for _ in range(2):
        assert decided(env).start.tolist() == run.advance().schedule().start.tolist()


def test_what_counts_shares_of_nodes_is_no_objective() -> None:
    """Metrics that a schedule has from the nodes' cores have no running sum there."""
    for name in BY_SHARES:
        with pytest.raises(ValueError, match=f"objective='{name}' goes by the shares of nodes"):
            SchedulingEnv(JOBS, PAIR, sharing="first", objective=("flow", name))
