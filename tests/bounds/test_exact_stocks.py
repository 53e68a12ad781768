"""The exact model's pools, limits, holds and own watts, against all schedules of tiny problems [31, 43, 69, 73, 77]."""

from __future__ import annotations

import itertools
import math
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest
from reference import brute, naive
from support import strategies
from support.exact_answers import check_against_best
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import exact, exact_front
from fedsched.core.errors import IncompatibleError

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = [pytest.mark.needs("ortools"), pytest.mark.slow]  # the solver's time, whatever is compiled

PATIENCE = 600.0  # seconds that no case here needs, on however busy a machine
OBJECTIVES = {"makespan": (1.0, 0.0), "energy": (0.0, 1.0), "weighted": (3.0, 0.01)}
SPREADS = 300  # orders × ways to spread all jobs: more take too long to try
WITHOUT: dict[str, Callable[[strategies.Scenario], strategies.Scenario]] = {
    "pools": lambda scenario: scenario.without_pools(),
    "limits": lambda scenario: scenario.without_limits(),
    "holds": lambda scenario: scenario.without_holds(),
    "watts": lambda scenario: scenario.without_watts(),
}


def best(jobs: list[naive.Job], machine: naive.Machine) -> tuple[int, list[float]]:
    """Return how few jobs are left out, and the least value of each objective then, of all schedules."""
    fewest, points = brute.best_of_all(jobs, machine)
    return fewest, [min(first * one + second * two for one, two in points) for first, second in OBJECTIVES.values()]


def is_small(scenario: strategies.Scenario) -> bool:
    """Return whether all orders, on all ways to spread the jobs, are soon tried."""
    caps = [naive.effective_caps(job, scenario.machine) for job in scenario.jobs]
    if max(math.prod(cap + 1 for cap in own) for own in caps) > 3000:
        return False
    ways = [len(brute.spreads(job, own)) for job, own in zip(scenario.jobs, caps, strict=True)]
    return math.factorial(len(ways)) * math.prod(ways) <= SPREADS


def cases(kind: str, number: int) -> list[tuple[strategies.Scenario, int, list[float]]]:
    """Return tiny problems in which what a kind is of makes a difference to an optimum, with all else, and `best`."""
    found = []
    for seed in itertools.count():
        scenario = strategies.random_scenario(seed, max_jobs=3, restless=True).with_breaks()
        jobs = [replace(job, bandwidth=0.0, estimate=job.runtime) for job in scenario.jobs]
        scenario = replace(scenario, jobs=jobs)
        without = WITHOUT[kind](scenario)
        if without == scenario or len(jobs) < 2:
            continue
        if not (is_small(scenario) and is_small(without)):
            continue
        fewest, least = best(jobs, scenario.machine)
        if (fewest, least) != best(without.jobs, without.machine):
            found.append((scenario, fewest, least))
        if len(found) == number:
            return found
    raise AssertionError


@pytest.mark.parametrize("kind", WITHOUT)
def test_no_schedule_is_better(kind: str) -> None:
    """Fewest jobs left out, and then the least value, of all schedules; most are proven."""
    proven = asked = 0
    for scenario, fewest, values in cases(kind, tries(20)):
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        for (objective, weights), least in zip(OBJECTIVES.items(), values, strict=True):
            own = weights if objective == "weighted" else None
            answer = exact(
                workload, federation, objective=objective, weights=own, caps=caps, seconds=PATIENCE, workers=1
            )
            answer.schedule.verify(caps=caps)
            check_against_best(answer, fewest, least)
            proven += answer.status == "optimal"
            asked += 1
    assert proven > 0.7 * asked


def test_a_pool_and_a_limit_by_hand() -> None:
    """Three jobs that fit side by side run two at a time: two tokens, or two jobs of a user; the long one at once."""
    jobs = fs.Workload(submit=[0.0] * 3, tasks=[1] * 3, runtime=[10.0, 4.0, 5.0], user=[1, 1, 1])
    machine = fs.Federation.homogeneous(3)
    tokens = replace(machine, pools=(fs.Pool("licence", 2),))
    for limited, federation in (
        (replace(jobs, pools={"licence": [1, 1, 1]}), tokens),
        (jobs, replace(machine, limits=(fs.Limit("user", jobs=2),))),
        (jobs, replace(machine, limits=(fs.Limit("user", nodes=2),))),
    ):
        answer = exact(limited, federation, seconds=PATIENCE, workers=1)
        assert (answer.status, answer.value, answer.schedule.start[0]) == ("optimal", 10.0, 0.0)
        answer.schedule.verify()
        assert sorted(answer.schedule.start.tolist())[1:] in ([0.0, 4.0], [0.0, 5.0], [1.0, 5.0])
    assert exact(replace(jobs, runtime=[10.0, 4.0, 7.0]), machine, seconds=PATIENCE).value == 10.0
    three = replace(jobs, pools={"licence": [2, 1, 1]})
    assert exact(three, tokens, seconds=PATIENCE, workers=1).value == 15.0


def test_limits_of_cpus_count_the_nodes_of_uneven_jobs() -> None:
    """Two jobs of four tasks on nodes of four: alone on them, they take all cores of the account that it may have."""
    groups = tuple(fs.NodeGroup(2, resources={"cpu": cpus}) for cpus in (4, 3))
    machine = fs.Federation((fs.Cluster("A", groups),), limits=(fs.Limit("account", cpus=10),))
    jobs = fs.Workload(
        submit=[0.0] * 2, tasks=[6, 6], runtime=[10.0, 10.0], layout={"exclusive": 1}, labels={"account": ["a", "a"]}
    )
    answer = exact(jobs, machine, seconds=PATIENCE, workers=1)
    answer.schedule.verify()
    assert answer.value == 20.0  # 6 CPUs at least each
    assert exact(jobs, replace(machine, limits=()), seconds=PATIENCE, workers=1).value == 10.0
    roomy = replace(machine, limits=(fs.Limit("account", cpus=14),))
    assert exact(jobs, roomy, seconds=PATIENCE, workers=1).value == 10.0


def test_a_hold_by_hand() -> None:
    """A job that is held from 2 to 9 starts before or after; the other one goes first, as it is the shorter way."""
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[3.0, 4.0], held={1: [(2, 9)]})
    answer = exact(jobs, fs.Federation.homogeneous(1), seconds=PATIENCE, workers=1)
    assert (answer.status, answer.value) == ("optimal", 7.0)
    assert answer.schedule.start.tolist() == [0.0, 3.0]
    later = exact(replace(jobs, submit=[1.0, 0.0], after={1: "after:2+1s"}), fs.Federation.homogeneous(1), workers=1)
    assert (later.status, later.value) == ("optimal", 12.0)
    assert later.schedule.start.tolist() == [9.0, 0.0]


def test_own_watts_by_hand() -> None:
    """A job that draws little is best on the nodes that idle dearly; the front says what the makespan costs."""
    thrifty, fast = fs.NodeGroup(1, 1.0, 100.0, 60.0), fs.NodeGroup(1, 2.0, 300.0, 10.0)
    machine = fs.Federation((fs.Cluster("a", (thrifty, fast)),))
    jobs = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[20.0, 20.0], watts=[40.0, -1.0])
    front = exact_front(jobs, machine, seconds=PATIENCE, workers=1)
    assert front.complete
    values = {}
    for a, b in itertools.product((0, 1), repeat=2):  # the node of each
        seconds = [20.0 / (1, 2)[where] for where in (a, b)]
        makespan = sum(seconds) if a == b else max(seconds)
        energy = (
            70.0 * makespan + seconds[0] * (40.0 - (60.0, 10.0)[a]) + seconds[1] * ((100.0, 300.0)[b] - (60.0, 10.0)[b])
        )
        values[makespan] = min(energy, values.get(makespan, math.inf))
    better = [(t, e) for t, e in sorted(values.items()) if all(e < other for s, other in values.items() if s < t)]
    assert front.points.tolist() == [[t, pytest.approx(e)] for t, e in better]


def test_uneven_jobs_that_draw_less_than_idle_nodes_are_refused() -> None:
    """More nodes than a job needs would draw less then; on the fewest of the thriftiest nodes they draw least else."""
    groups = tuple(fs.NodeGroup(2, 1.0, 100.0, 50.0, resources={"cpu": cpus}) for cpus in (4, 3))
    machine = fs.Federation((fs.Cluster("A", groups),))
    jobs = fs.Workload(submit=[0.0], tasks=[6], runtime=[10.0], layout={"exclusive": 1}, watts=[10.0])
    with pytest.raises(IncompatibleError, match=r"The exact model does not support .* draw less under them than idle"):
        exact(jobs, machine)
    answer = exact(replace(jobs, watts=[60.0]), machine, objective="energy", seconds=PATIENCE, workers=1)
    assert (answer.status, answer.value) == ("optimal", 10.0 * (200.0 + 2 * 10.0))
