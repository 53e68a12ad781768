"""Plans: better in the mean, nobody later than promised, and no more than Nice can carry."""

from __future__ import annotations

import math
from dataclasses import replace
from itertools import pairwise

import numpy as np
import pytest
from support.fake_slurm import NOW, FakeSlurm, Job, running
from support.steering import FEW, crowd

from fedsched.core.errors import SteerError
from fedsched.site.steer import Aims, Choice, Plan, plan, read_queue
from fedsched.site.steer.plan import Promises
from fedsched.site.steer.priorities import Priorities
from fedsched.site.steer.queue import YEAR


def planned(fake: FakeSlurm, **aims: object) -> Plan:
    """Return a plan for it."""
    return plan(read_queue(fake), Aims(evaluations=FEW, seconds=1e9, **aims))  # type: ignore[arg-type]


@pytest.mark.parametrize("seed", range(4))
def test_plans_are_better_and_keep_their_promises(seed: int) -> None:
    """The mean wait is shorter by the plan, and no job starts after its forecast and the slack."""
    found = planned(crowd(seed), slack=900.0)
    assert found.gain > 60.0
    assert found.late == ()
    assert all(one.after <= one.before + 900.0 + 1.0 for one in found.starts)
    assert all(one.later <= 901.0 for one in found.later)
    assert sorted(one.job.number for one in found.starts) == list(range(10, 19))


def test_nobody_waits_longer_without_slack() -> None:
    """With no slack at all everybody starts no later than as things are."""
    found = planned(crowd(1), slack=0.0)
    assert all(one.later <= 1.0 for one in found.starts)


@pytest.mark.parametrize("seed", range(3))
def test_nice_makes_the_order(seed: int) -> None:
    """Sorted by what priorities become, jobs have the order of the plan, with gaps, all above 1, none below his own."""
    found = planned(crowd(seed))
    priority = [job.priority + job.nice - found.niceties[job.number] for job in found.order]
    assert all(before - after >= found.gap for before, after in pairwise(priority))
    assert min(priority) > 1
    assert found.gap > 1  # the age drifts
    assert all(found.niceties[job.number] >= job.nice >= 0 for job in found.order)


def test_only_chosen_jobs_are_steered() -> None:
    """Others keep their priority, and so do held ones, those of a time, and those with a negative Nice."""
    fake = crowd(2)
    fake.jobs[30] = Job(30, begin=NOW + 600, reason="BeginTime")
    fake.jobs[31] = Job(31, held=True, reason="JobHeldAdmin")
    fake.jobs[32] = Job(32, nice=-5)
    found = planned(fake)
    assert found.steered == set(range(10, 19))
    assert "left aside: 1 job (31) waits for an unknown time (jobheldadmin)" in found.notes
    left = Choice(leave=frozenset({10, 11}))
    for choice in (Choice(user=("ann",)), Choice(qos=("high",)), Choice(partition=("q",)), left):
        some = planned(fake, choice=choice)
        wanted = {number for number in range(10, 19) if choice.takes(read_queue(fake).job(str(number)))}
        assert some.steered == wanted
        assert set(some.niceties) <= wanted


def test_a_job_whose_features_too_few_nodes_have_is_left_aside() -> None:
    """One that asks for more fast nodes than are up stops no plan for the others."""
    fake = crowd(2)
    fake.jobs[30] = Job(30, nodes=2, features="fast")
    found = planned(fake)
    assert sorted(one.job.number for one in found.starts) == list(range(10, 19))
    assert "1 job that need features of which too few nodes are up are left aside" in found.notes


def test_low_priorities_are_not_steered() -> None:
    """Where Nice would take priorities down to 1, at which all are equal, there is no plan, and it is said why."""
    fake = crowd(1)
    fake.jobs = {n: Job(**{**job.__dict__, "base": job.base % 100 + 2}) for n, job in fake.jobs.items()}
    found = planned(fake)
    assert found.niceties == {}
    assert found.gain == 0.0
    assert "where all are equal" in found.notes[0]


def test_shares_count_unless_they_are_watched() -> None:
    """Between users a fair share may move priorities by its weight; between one user's jobs it moves none."""
    fake = crowd(1, settings={"PriorityWeightFairShare": "500"})
    queue = read_queue(fake)
    priorities = Priorities(queue, {})
    of_one = [job for job in queue.waiting if job.user == "ann"]
    assert sum(priorities.drift(queue.waiting, 60.0, shares=True).values()) == 501
    assert sum(priorities.drift(of_one, 60.0, shares=True).values()) == 1
    assert sum(priorities.drift(queue.waiting, 60.0, shares=False).values()) == 1
    assert sum(priorities.drift(queue.waiting, 1e9, shares=False).values()) == 1000
    assert planned(fake).gap > 500
    assert planned(fake, drift=3).gap == 4


def test_basic_priorities_do_not_move() -> None:
    """They are the order of ids, and a gap of 1 is enough; an unknown kind is refused."""
    assert planned(crowd(1, settings={"PriorityType": "priority/basic"})).gap == 1
    with pytest.raises(SteerError, match="PriorityType=priority/site: how its priorities change is not known"):
        planned(crowd(1, settings={"PriorityType": "priority/site"}))


def test_one_job_is_left_alone() -> None:
    """There is nothing to plan for one that waits, nor for none."""
    for jobs in (0, 1):
        found = planned(crowd(1, jobs=jobs))
        assert found.niceties == {}
        assert found.changes == ()
        assert found.notes[0] == "fewer than two jobs to steer"


def test_what_was_promised_before_holds() -> None:
    """A job with an earlier deadline than its forecast and slack gets it, or as near to it as any order comes."""
    fake = crowd(3)
    queue = read_queue(fake)
    aims = Aims(evaluations=FEW, seconds=1e9)
    first = plan(queue, aims)
    last = max(first.starts, key=lambda one: one.before)
    promised = {one.job.number: one.deadline for one in first.starts} | {last.job.number: last.before - 600.0}
    sooner = plan(queue, aims, promises=Promises(promised, promised))
    [again] = [one for one in sooner.starts if one.job.number == last.job.number]
    assert again.deadline == last.before - 600.0
    assert again.after <= last.before - 599.0


def test_wrong_aims_are_refused() -> None:
    """Values that mean nothing."""
    for wrong in ({"slack": -1.0}, {"slack": float("inf")}, {"drift": -1}, {"evaluations": 0}):
        with pytest.raises(SteerError, match=next(iter(wrong))):
            Aims(**wrong)  # type: ignore[arg-type]


def test_time_is_capped() -> None:
    """With no seconds at all things stay as they are."""
    assert plan(read_queue(crowd(1)), Aims(seconds=0.0)).niceties == {}


def test_tiers_come_first() -> None:
    """Jobs of a higher tier stay before the others, who are ordered among themselves."""
    fake = crowd(1)
    queue = read_queue(fake)
    from dataclasses import replace

    [p] = queue.partitions
    high = replace(p, name="urgent", tier=9)
    jobs = tuple(replace(job, partition="urgent") if job.number in (12, 15) else job for job in queue.jobs)
    found = plan(replace(queue, jobs=jobs, partitions=(p, high)), Aims(evaluations=FEW, seconds=1e9))
    assert {job.number for job in found.order[:2]} == {12, 15}


def test_a_running_job_without_a_limit_never_leaves() -> None:
    """Its nodes are not planned with: who fits beside it is, however long it has run already."""
    for since in (300.0, 2 * YEAR):
        fake = crowd(1)
        fake.jobs[1] = running(1, "1-3", minutes=math.inf, since=since)
        for number in range(10, 19):
            fake.jobs[number] = replace(fake.jobs[number], nodes=1 + (number == 18))
        found = planned(fake)
        assert all(one.after < NOW + 86_400.0 for one in found.starts if one.job.nodes == 1)
        assert [one.job.number for one in found.starts if one.after >= NOW + YEAR] == [18]
        assert np.isfinite(found.gain)
