"""The exact model where jobs may run in one of several shapes, against all schedules in all shapes [49]."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import pytest
from reference import brute, naive
from support import strategies
from support.exact_answers import check_against_best
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import exact, exact_front

pytestmark = [pytest.mark.needs("ortools"), pytest.mark.slow]  # the solver's time, whatever is compiled

PATIENCE = 600.0  # seconds that no case here needs, on however busy a machine
OBJECTIVES = {"makespan": (1.0, 0.0), "energy": (0.0, 1.0), "weighted": (3.0, 0.01)}
SPREADS = 1500  # orders × ways to spread all jobs in all shapes: more take too long to try
FREE = {"alternatives": "free", "workers": 1}


def in_all_shapes(jobs: list[naive.Job]) -> list[list[naive.Job]]:
    """Return the jobs in each choice of their shapes."""
    each = []
    for job in jobs:
        shapes = job.alternatives or ((job.tasks, job.runtime, job.estimate),)
        each.append([replace(job, tasks=n, runtime=t, estimate=t, alternatives=()) for n, t, _ in shapes])
    return [list(some) for some in itertools.product(*each)]


def are_within_limits(jobs: list[naive.Job], machine: naive.Machine) -> bool:
    """Return whether no job is over a limit by itself."""
    limited = naive.limiting(machine, jobs)
    return not any(naive.over_limit(limited, jobs, j, []) for j in range(len(jobs)))


def cases(number: int) -> list[tuple[list[naive.Job], naive.Machine, list[list[naive.Job]]]]:
    """Return tiny problems of jobs with several shapes, with all else that the exact model takes."""
    found = []
    for seed in itertools.count():
        drawn = strategies.random_scenario(seed, max_jobs=3, restless=True, alternatives="fixed").with_breaks()
        scenario = drawn.without_watts()
        jobs = [replace(job, bandwidth=0.0, estimate=job.runtime, follows=None) for job in scenario.jobs]
        rng = random.Random(seed)
        for j, job in enumerate(jobs):
            if rng.random() < 0.7 and not job.alternatives:
                tasks = rng.sample(range(1, 2 + job.tasks), k=min(2, 1 + job.tasks))
                other = [(n, max(1.0, round(job.runtime * rng.choice((0.5, 1.0, 2.0))))) for n in tasks]
                shapes = [(job.tasks, job.runtime, job.runtime)]
                shapes += [(n, t, t) for n, t in other if n != job.tasks]
                jobs[j] = replace(job, alternatives=tuple(shapes))
        if len(jobs) < 2 or not any(len(job.alternatives) > 1 for job in jobs) or any(job.fits for job in jobs):
            continue
        caps = [naive.effective_caps(job, scenario.machine) for job in jobs]
        if max(math.prod(cap + 1 for cap in own) for own in caps) > 500:
            continue
        chosen = in_all_shapes(jobs)
        chosen = [some for some in chosen if all(job.tasks <= sum(own) for job, own in zip(some, caps, strict=True))]
        chosen = [some for some in chosen if are_within_limits(some, scenario.machine)]
        ways = sum(
            math.factorial(len(some))
            * math.prod(len(brute.spreads(job, own)) for job, own in zip(some, caps, strict=True))
            for some in chosen
        )
        if ways <= SPREADS:
            found.append((jobs, scenario.machine, chosen))
        if len(found) == number:
            return found
    raise AssertionError


def test_no_schedule_in_any_shapes_is_better() -> None:
    """Fewest jobs left out, and then the least value, of all schedules in all shapes; some need another shape."""
    proven = asked = moved = 0
    for jobs, machine, chosen in cases(tries(60)):
        workload, federation, caps = strategies.to_package(jobs, machine)
        answers = [brute.best_of_all(some, naive.limiting(machine, some)) for some in chosen]
        fewest = min(out for out, _ in answers)
        for objective, weights in OBJECTIVES.items():
            own = weights if objective == "weighted" else None
            answer = exact(workload, federation, objective=objective, weights=own, caps=caps, seconds=PATIENCE, **FREE)
            answer.schedule.verify(caps=caps)
            least = min(
                weights[0] * makespan + weights[1] * energy
                for out, points in answers
                if out == fewest
                for makespan, energy in points
            )
            check_against_best(answer, fewest, least)
            proven += answer.status == "optimal"
            asked += 1
            moved += int((answer.schedule.workload.tasks != workload.tasks).any())
    assert proven > 0.7 * asked
    assert moved > 0


def test_the_best_shapes_by_hand() -> None:
    """Alone in their recorded shapes the wide two take 20 s one after the other; on two nodes each both end at 12 s."""
    jobs = fs.Workload(
        submit=[0.0] * 3, tasks=[4, 4, 1], runtime=[10.0, 10.0, 1.0], alternatives={1: "4x10|2x12", 2: "4x10|2x11|1x30"}
    )
    four = fs.Federation.homogeneous(4)
    answer = exact(jobs, four, seconds=PATIENCE, **FREE)
    assert (answer.status, answer.value, answer.schedule.workload.tasks.tolist()) == ("optimal", 12.0, [2, 2, 1])
    fixed = exact(jobs, four, seconds=PATIENCE, workers=1)
    assert (fixed.status, fixed.value) == ("optimal", 21.0)
    chained = replace(jobs, after={2: "afterok:1+2s"})
    answer = exact(chained, four, seconds=PATIENCE, **FREE)
    assert (answer.status, answer.value) == ("optimal", 22.0)
    front = exact_front(jobs, four, seconds=PATIENCE, **FREE)
    assert front.complete
    assert front.points[0, 0] == 12.0


def test_limits_and_ends_of_shapes_by_hand() -> None:
    """Three nodes of a user: side by side on two and one, or one after the other; a shape that is killed is none."""
    jobs = fs.Workload(
        submit=[0.0] * 2, tasks=[2, 2], runtime=[10.0, 10.0], user=[1, 1], alternatives={1: "2x10|4x1", 2: "2x10|1x14"}
    )
    eight = fs.Federation.homogeneous(8)
    assert exact(jobs, eight, seconds=PATIENCE, **FREE).value == 10.0
    for nodes, value in ((4, 10.0), (3, 14.0), (2, 20.0)):
        limited = replace(eight, limits=(fs.Limit("user", nodes=nodes),))
        answer = exact(jobs, limited, seconds=PATIENCE, **FREE)
        answer.schedule.verify()
        assert (answer.status, answer.value) == ("optimal", value)
    chained = replace(jobs, after=["", "afterok:1"], alternatives={1: "2x10|4x2/1", 2: "2x10|1x14"})
    answer = exact(chained, eight, kill_at_estimate=True, seconds=PATIENCE, **FREE)
    assert (answer.status, answer.value) == ("optimal", 20.0)
    free = replace(chained, after=["", "after:1"])
    assert exact(free, eight, kill_at_estimate=True, seconds=PATIENCE, **FREE).value == 10.0


def test_gears_are_chosen_with_shapes() -> None:
    """The slow gear of a job draws little; whether it pays is decided by what idles meanwhile."""
    group = fs.NodeGroup(1, 1.0, 100.0, 10.0, gears=((0.5, 30.0),))
    jobs = fs.Workload(submit=[0.0], tasks=[1], runtime=[10.0], alternatives={1: "1x10|1x20@1"})
    thrifty = exact(jobs, fs.Cluster("a", (group,)), objective="energy", seconds=PATIENCE, **FREE)
    assert (thrifty.status, thrifty.value) == ("optimal", 600.0)
    assert thrifty.schedule.makespan == 20.0
    hurried = exact(jobs, fs.Cluster("a", (group,)), seconds=PATIENCE, **FREE)
    assert (hurried.value, hurried.schedule.energy) == (10.0, 1000.0)
