"""What no function takes is refused where it is given: the field, the value as it was given, the rule."""

from __future__ import annotations

import tracemalloc
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest

import fedsched as fs
from fedsched import gang, generate, market
from fedsched.bounds import exact, exact_front, lower_bounds
from fedsched.search.run.stopping import GapReached, MaxEvaluations, MaxSeconds, NoProgress, Target

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

MACHINE = fs.Federation.of(2, 2)


def jobs(**columns: Any) -> fs.Workload:
    """Return three jobs, with some columns changed."""
    return fs.Workload(**{"submit": [0, 0, 0], "tasks": [1, 2, 3], "runtime": [1, 2, 3], **columns})


def domain() -> market.Environment:
    """Return a market to search in."""
    return market.Domain(nodes=4).environment(0)


BATCH = [market.Request(nodes=1, length=10.0, budget=1e9)]


def solving(calls: Iterable[str]) -> list[Any]:
    """Return the names of calls, with a mark of those that need the solver."""
    return [pytest.param(name, marks=[pytest.mark.needs("ortools")] * name.startswith("exact")) for name in calls]


SEEDED: dict[str, Callable[[Any], object]] = {
    "optimize": lambda seed: fs.optimize(jobs(), MACHINE, evaluations=10, seed=seed),
    "compare": lambda seed: fs.compare([fs.Instance("i", jobs(), MACHINE)], ["fcfs"], [seed], fs.Budget(evaluations=9)),
    "Rolling": lambda seed: fs.Rolling(seed=seed),
    "sample": lambda seed: jobs().sample(2, seed=seed),
    "lublin": lambda seed: generate.lublin(5, 4, seed=seed),
    "poisson": lambda seed: generate.poisson(5, 4, rate=1.0, seed=seed),
    "planted": lambda seed: generate.planted(MACHINE, jobs=5, seed=seed),
    "communication": lambda seed: jobs().with_communication(bandwidth=1.0, seed=seed),
    "estimates": lambda seed: jobs().with_estimates("factor", seed=seed),
    "tsafrir_estimates": lambda seed: generate.tsafrir_estimates([1.0], seed=seed),
    "simulate": lambda seed: gang.simulate(jobs(), gang.GangSystem(processors=(4,)), seed=seed),
    "presets": lambda seed: gang.presets.Pinto2014().run(seed),
    "replicate": lambda seed: gang.replicate(gang.presets.Pinto2014(), replications=2, seed=seed),
    "schedule": lambda seed: market.schedule(BATCH, domain(), seed=seed),
    "find_windows": lambda seed: market.find_window(domain(), BATCH[0], seed=seed),
    "Domain": lambda seed: market.Domain().environment(seed),
    "Jobs": lambda seed: market.Jobs().batch(seed),
    "replay": lambda seed: market.replay(market.schedule(BATCH, domain()), seed=seed),
    "exact": lambda seed: exact(jobs(), MACHINE, seed=seed),
    "exact_front": lambda seed: exact_front(jobs(), MACHINE, seed=seed),
}


@pytest.mark.parametrize("seed", [-1, 2**70, 2.5, "1", None, True, float("nan")])
@pytest.mark.parametrize("name", solving(SEEDED))
def test_a_seed_that_no_generator_takes_is_refused(name: str, seed: Any) -> None:
    """Seeds are whole numbers from 0 to 2**63 − 1, everywhere; the error says what was given."""
    if seed == 2**70 and name in ("simulate", "presets", "replicate"):
        return  # gangs draw from seeds of any size
    if seed is None and name in ("optimize", "tune", "study"):
        return  # they draw a fresh seed
    kind = ValueError if type(seed) is int else TypeError
    with pytest.raises(kind, match=rf"seed={seed!r} must ") as caught:
        SEEDED[name](seed)
    assert "\n" not in str(caught.value)


STARTS: dict[str, Callable[[Any], object]] = {
    "simulate": lambda t0: fs.simulate(jobs(), MACHINE, "easy", t0=t0),
    "list heuristic": lambda t0: fs.simulate(jobs(), MACHINE, "min-min", t0=t0),
    "optimize": lambda t0: fs.optimize(jobs(), MACHINE, evaluations=10, t0=t0),
    "lower_bounds": lambda t0: lower_bounds(jobs(), MACHINE, t0=t0),
    "exact": lambda t0: exact(jobs(), MACHINE, t0=t0),
    "exact_front": lambda t0: exact_front(jobs(), MACHINE, t0=t0),
    "Schedule": lambda t0: replace(fs.simulate(jobs(), MACHINE), t0=t0),
}


@pytest.mark.parametrize("t0", [float("nan"), float("inf"), -float("inf"), "0", True])
@pytest.mark.parametrize("name", solving(STARTS))
def test_an_origin_that_is_no_instant_is_refused(name: str, t0: Any) -> None:
    """The time's origin is a finite number, or left out."""
    with pytest.raises((ValueError, fs.errors.ScheduleError), match=f"t0={t0!r} must be finite"):
        STARTS[name](t0)


FAR: dict[str, Callable[[], object]] = {
    "runtime=1e+16 must lie between 1e-18 and 1e+15 seconds": lambda: jobs(runtime=1e16),
    "runtime=5e-324 must lie between 1e-18 and 1e+15 seconds": lambda: jobs(runtime=5e-324),
    "estimate=1e+300 must lie between": lambda: jobs(estimate=1e300),
    "submit=1e+300 must be at most 1e+15 seconds": lambda: jobs(submit=[0, 1e300, 0]),
    "task_bandwidth=1.5e+308 must be at most 1e+18 bytes": lambda: jobs(task_bandwidth=1.5e308),
    "begin=1e+300 must be finite and at least 0 seconds, and at most 1e+15": lambda: jobs(begin=1e300),
    "slack=2e+15 must be": lambda: jobs(slack=2e15),
    "watts=1e+16 must be": lambda: jobs(watts=1e16),
    "think_time=1e+16 must be at most": lambda: jobs(feedback={"preceding": [-1, 1, -1], "think_time": [-1, 1e16, -1]}),
    "must end at 1e+15 s at the latest": lambda: jobs(held={2: [(0, 1e16)]}),
    "what follows + must be minutes, or seconds with an s; at least 0, and at most 1e+15 s": lambda: jobs(
        after=["", "afterok:1+1e20", ""]
    ),
    "its times must lie between 1e-18 and 1e+15 s": lambda: jobs(alternatives=["1x1|2x1e300", "", ""]),
    "its tasks and its gear must be below": lambda: jobs(alternatives=[f"1x1|{2**63}x5", "", ""]),
    "t0=1e+300 must be at most 1e+15 s from 0": lambda: fs.simulate(jobs(), MACHINE, t0=1e300),
    "speed=1e-300 must lie between 1e-09 and 1e+09": lambda: fs.NodeGroup(1, 1e-300),
    "speed=1e+300 must lie": lambda: fs.NodeGroup(1, 1e300),
    "busy_watts=1e+100 must be at most": lambda: fs.NodeGroup(1, busy_watts=1e100),
    "boot_seconds=1e+16 must be at most": lambda: fs.NodeGroup(1, off_watts=0, boot_seconds=1e16),
    "the share 1e-300 of the speed must lie": lambda: fs.NodeGroup(1, gears=((1e-300, 100.0),)),
    "100000000000000.0 W must be at most": lambda: fs.NodeGroup(1, gears=((0.5, 1e14),)),
    "uplink=5e-324 must lie between 1e-09 and 1e+18 bytes": lambda: fs.Federation.of(2, 2, uplink=5e-324),
    "begin=-1e+300 must be at most 1e+15 s from 0": lambda: fs.Downtime("C1", -1e300, 0.0),
    "end=1e+16 must be at most": lambda: fs.Downtime("C1", 0.0, 1e16),
    "values has 1e+300": lambda: fs.Signal((0.0,), (1e300,), "EUR/MWh"),
    "until=1e+16 must be at most": lambda: fs.Signal((0.0,), (1.0,), "EUR/MWh", until=1e16),
    "seconds=1e+16 must be at most": lambda: fs.policies.Timeout(1e16),
}


@pytest.mark.parametrize("message", FAR)
def test_finite_figures_that_could_overflow_are_refused_where_they_are_given(message: str) -> None:
    """A time over 1e15 s, a speed over a thousand million: one line names the field, the value and the limit."""
    with pytest.raises((ValueError, fs.errors.FedschedError)) as caught:
        FAR[message]()
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize("runtime", [1e-18, 1e15])
def test_the_least_and_the_largest_figures_overflow_nothing(runtime: float) -> None:
    """At the limits of all figures together every policy's schedule, its metrics and bounds are finite."""
    groups = (fs.NodeGroup(2, 1e-9, busy_watts=1e12), fs.NodeGroup(2, 1e9))
    machine = fs.Federation((fs.Cluster("a", groups, 1e-9), fs.Cluster("b", 2, 1e-9)))
    workload = jobs(submit=[0, 1, 1e15], runtime=runtime, tasks=[2, 3, 5], task_bandwidth=1e18, compute_fraction=0.5)
    for policy in ("easy", "conservative", "min-min"):
        schedule = fs.simulate(workload, machine, policy)
        schedule.verify()
        found: dict[str, float] = schedule.metrics().as_dict()
        assert not np.isinf(list(found.values())).any()
        bounds = lower_bounds(workload, machine, method="closed")
        for name in ("flow", "makespan", "energy", "mean_slowdown"):
            assert 0 <= bounds.of(name) <= found[name] * (1 + 1e-9)


LARGE = (fs.Cluster("large", (fs.NodeGroup(2**31 - 1, resources={"cpu": 1}, off_watts=0.0),)),)
APART: dict[str, Callable[[], object]] = {
    "downtimes": lambda: fs.Federation(LARGE, calendar=(fs.Downtime("large", 0.0, 9.0),)),
    "partitions": lambda: fs.Federation(LARGE, partitions=(fs.Partition("q", {"large": "0-4"}),)),
    "named nodes": lambda: fs.Cluster("large", (fs.NodeGroup(2**31 - 1, nodes="0-2147483646"),)),
    "power saving": lambda: fs.Federation(LARGE, power=fs.policies.Timeout(5.0)),
    "searches": lambda: fs.optimize(jobs(), fs.Federation(LARGE), evaluations=9),
    "sharing": lambda: fs.simulate(jobs(), fs.Federation(LARGE), sharing=fs.NodeSharing()),
}


@pytest.mark.parametrize("needs", APART)
def test_more_nodes_than_can_be_told_apart_are_refused_before_room_is_made(needs: str) -> None:
    """2³¹−1 nodes are counted, but where each has something of its own the cluster is refused in one line."""
    tracemalloc.start()
    try:
        with pytest.raises(fs.errors.FederationError, match=r"'large': its 2,147,483,647 nodes are more than the 10,"):
            APART[needs]()
        assert tracemalloc.get_traced_memory()[1] < 50_000_000
    finally:
        tracemalloc.stop()
    assert fs.simulate(jobs(), fs.Federation(LARGE)).makespan == 3.0
    with pytest.raises(fs.errors.InfeasibleError, match="take at most 10,000,000 nodes, and these are 2,147,483,647"):
        fs.simulate(jobs(), fs.Federation(LARGE), "lookahead")


HUGE = 2**64 - 5


@pytest.mark.parametrize("field", ["id", "tasks", "user", "origin"])
def test_whole_numbers_beyond_64_bits_with_a_sign_are_refused(field: str) -> None:
    """None wraps around to a negative one; the error has the number as it was given."""
    values = np.array([1, HUGE, 3], dtype=np.uint64)
    for given in (values, values.tolist(), [1, 2**70 + 1, 3]):
        with pytest.raises(ValueError, match=rf"{field}={int(given[1])} must be a whole number below 2\*\*63"):
            jobs(**{field: given}, sites=("a", "b", "c", "d"))
    small = jobs(**{field: np.array([1, 2, 3], dtype=np.uint64)}, sites=("a", "b", "c", "d"))
    assert getattr(small, field).tolist() == [1, 2, 3]


def test_caps_of_any_whole_type_do_not_wrap() -> None:
    """The largest number of 64 bits as a cap allows everything."""
    caps = np.full((3, 2), 2**64 - 1, dtype=np.uint64)
    free, capped = (fs.simulate(jobs(), MACHINE, "easy", caps=given) for given in (None, caps))
    assert free == capped


def test_rows_and_counts_are_whole_numbers() -> None:
    """Row numbers that are none, and numbers of jobs and nodes with a fraction, are refused."""
    for rows in ([True, False, True], [0.5, 1.0]):
        with pytest.raises(TypeError, match="must be row numbers"):
            jobs().take(rows)
    assert len(jobs().take([])) == 0
    with pytest.raises(TypeError, match=r"nodes=2.5 must be a whole number"):
        jobs(nodes=2.5)
    with pytest.raises(fs.errors.FederationError, match="count=nan must be a whole number"):
        fs.NodeGroup(float("nan"))  # type: ignore[arg-type]
    with pytest.raises(fs.errors.FederationError, match="speed=5e-324"):
        fs.NodeGroup(1, 5e-324)
    for made in (lambda: generate.lublin(2.5, 4), lambda: generate.poisson(2.5, 4, rate=1), lambda: jobs().head(2.5)):
        with pytest.raises(TypeError, match=r"jobs=2.5 must be a whole number"):
            made()


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"evaluations": 2.5}, TypeError, r"evaluations=2\.5 must be a whole number"),
        ({"evaluations": 0}, ValueError, "evaluations=0 must be at least 1"),
        ({"evaluations": True}, TypeError, "evaluations=True must be a whole number"),
        ({"seconds": float("nan")}, ValueError, "seconds=nan must be finite and above 0"),
        ({"seconds": "3"}, ValueError, "seconds='3' must be finite and above 0"),
        ({"target": float("inf")}, ValueError, "target=inf must be a finite number"),
        ({"islands": 1.5}, TypeError, r"islands=1\.5 must be a whole number"),
        ({"threads": 0}, ValueError, "threads=0 must be at least 1"),
        ({"threads": 1.5}, TypeError, r"threads=1\.5 must be a whole number"),
        ({"package": 2.5, "objectives": "makespan"}, TypeError, r"package=2\.5 must be a whole number"),
    ],
)
def test_what_a_search_may_use_is_checked(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    """Budgets and numbers of workers that are none are refused by name before the search."""
    with pytest.raises(kind, match=message):
        fs.optimize(jobs(), MACHINE, **{"evaluations": 10, **options})


def test_stopping_rules_check_their_values() -> None:
    """Each rule refuses what it could not compare with."""
    for made in (lambda: MaxEvaluations(1.5), lambda: NoProgress(1.5)):  # type: ignore[arg-type]
        with pytest.raises(TypeError, match=r"evaluations=1\.5 must be a whole number"):
            made()
    for bad in (float("nan"), float("inf"), -1.0):
        with pytest.raises(ValueError, match="gap="):
            GapReached(bad)
        with pytest.raises(ValueError, match="seconds="):
            MaxSeconds(bad)
    with pytest.raises(ValueError, match="target=nan"):
        Target(float("nan"))


@pytest.mark.parametrize("value", [np.inf, -np.inf])
@pytest.mark.parametrize("several", [False, True])
def test_an_infinite_objective_is_refused(value: float, several: bool) -> None:
    """A function that gives an infinite value is told to give a large one: infinity leaves no distance to measure."""

    def wild(metrics: Any) -> Any:
        return np.where(metrics["makespan"] > 0, value, 1.0)

    with pytest.raises(ValueError, match=rf"Objective 'wild' gave {value:g} for a plan.*must give a finite number"):
        fs.optimize(jobs(), MACHINE, objectives=[wild, "energy"] if several else wild, evaluations=10)


@pytest.mark.parametrize("t0", [0.5, 2.0])
def test_another_start_than_the_running_jobs_is_refused(t0: float) -> None:
    """Jobs that run at one time go on from then: from an earlier time they cannot, until a later one they change."""
    from fedsched.simulate import prepare

    run = prepare(jobs(), fs.Federation.homogeneous(3), "fcfs").advance(until=1.0)
    running = run.running()
    assert len(running.rows)
    with pytest.raises(ValueError, match=rf"t0={t0} is not the running jobs' time, 1\.0"):
        fs.simulate(jobs(), fs.Federation.homogeneous(3), "fcfs", running=running, t0=t0)


@pytest.mark.parametrize(
    ("workload", "federation", "odd"),
    [
        (lambda: jobs().head(1), fs.Federation.homogeneous(3), "row 1 is none of this workload's 1 job\\)"),
        (jobs, fs.Federation.of(2, 2), "nodes in 1 group are none of this federation's 2"),
        (lambda: replace(jobs(), tasks=[2, 2, 2]), fs.Federation.homogeneous(3), "node of row . are not its 2 tasks"),
        (jobs, fs.Federation.homogeneous(1), "more nodes are in use than this federation has"),
    ],
)
def test_running_jobs_of_others_are_refused(workload: Any, federation: fs.Federation, odd: str) -> None:
    """Every call refuses a running state of another workload or other nodes, by name."""
    from fedsched.gym import SchedulingEnv
    from fedsched.simulate import prepare

    running = prepare(jobs(), fs.Federation.homogeneous(3), "fcfs").advance(until=0.5).running()
    for go_on in (
        lambda: fs.simulate(workload(), federation, "fcfs", running=running),
        lambda: fs.optimize(workload(), federation, submits="keep", running=running, evaluations=10),
        lambda: SchedulingEnv(workload(), federation, running=running),
    ):
        with pytest.raises(ValueError, match=odd):
            go_on()
