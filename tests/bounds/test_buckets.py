"""The Lagrangian over time: true for any prices, the least bracket found, and near where machines are overloaded."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from reference import naive
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.bounds.cost import prices
from fedsched.bounds.cost.buckets import Prices, Scarce, Starts, proven
from fedsched.bounds.cost.charges import CHARGES, is_useful
from fedsched.bounds.cost.prices import find_prices
from fedsched.bounds.lower.longest_paths import sure_starts
from fedsched.bounds.lower.lower_bounds import bounds_of_relaxation
from fedsched.bounds.lower.relaxation import relax
from fedsched.core.errors import InfeasibleError
from fedsched.engine.pack.node_caps import caps_table
from fedsched.engine.pack.problem import pack
from fedsched.generate import lublin
from fedsched.model.reading import CLAIRVOYANT
from fedsched.simulate import prepare

NEVER = float("inf")


def three_speeds() -> fs.Federation:
    """Return clusters of three speeds."""
    kinds = ((6, 1.0), (4, 2.0), (5, 0.5))
    return fs.Federation(tuple(fs.Cluster(f"C{k}", (fs.NodeGroup(*kind),)) for k, kind in enumerate(kinds)))


def crowd(jobs: int, *, seed: int = 1, package: bool = True) -> fs.Workload:
    """Return a made workload for fifteen nodes; a package has all its jobs waiting at 0."""
    made = lublin(jobs, 15, seed=seed)
    return replace(made, submit=np.zeros(jobs)) if package else made


def scarce_of(workload: fs.Workload, federation: fs.Federation) -> Scarce:
    """Return what the bounds of a workload see of it."""
    prover = lower_bounds(workload, federation, method="closed")._prover
    return Scarce.of(prover.relaxation, prover.problem.wide)


def some_prices(scarce: Scarce, rng: np.random.Generator) -> Prices:
    """Return prices drawn at random, some of them 0."""
    edges = np.append(0.0, np.sort(rng.uniform(1.0, 3.0 * float(scarce.relaxation.shortest.sum()), 6)))
    node = rng.lognormal(-1.0, 2.0, (6, scarce.nodes.size)) * (rng.random((6, scarce.nodes.size)) < 0.8)
    return Prices(edges, node, rng.lognormal(-2.0, 1.5, (6, scarce.amounts.size)))


@pytest.mark.parametrize("metric", CHARGES)
def test_no_start_and_no_nodes_cost_less_than_the_least_bracket(metric: str) -> None:
    """At random prices, the least over all spreads of nodes and thousands of starts is no less, and nearly as low."""
    workload = fs.Workload(
        submit=[0.0, 0.0, 3.0, 7.0], tasks=[3, 1, 5, 2], runtime=[4.0, 30.0, 2.5, 11.0],
        compute_fraction=[1.0, 0.6, 0.3, 1.0],
    )  # fmt: skip
    scarce, rng = scarce_of(workload, three_speeds()), np.random.default_rng(5)
    relaxation, charge = scarce.relaxation, CHARGES[metric]
    for _ in range(12):
        drawn = some_prices(scarce, rng)
        found = Starts(scarce, charge, drawn.edges, every=True).least(drawn)
        fine = np.linspace(0.0, drawn.edges[-1], 4001)
        spent = np.concatenate([np.zeros((1, scarce.nodes.size)), (drawn.node * drawn.lengths[:, None]).cumsum(axis=0)])

        def price(begin: np.ndarray, end: np.ndarray, c: int, spent: np.ndarray = spent, drawn: Prices = drawn):
            return np.interp(end, drawn.edges, spent[:, c]) - np.interp(begin, drawn.edges, spent[:, c])

        for j in range(len(workload)):
            starts = np.unique(np.maximum(fine, relaxation.release[j]))
            least = np.inf
            ways = itertools.product(*(range(int(cap) + 1) for cap in scarce.caps[j]))
            for way in (way for way in ways if sum(way) == relaxation.tasks[j]):
                slowest = max(int(scarce.slowdown[c]) for c, count in enumerate(way) if count)
                for v in (v for v in np.flatnonzero(relaxation.usable[j]).tolist() if v >= slowest):
                    ends = starts + relaxation.duration[j, v]
                    cost = charge.of(relaxation, np.array([j]), np.array([v]), starts[None])[0]
                    cost = cost + sum(count * price(starts, ends, c) for c, count in enumerate(way))
                    least = min(least, float(cost.min()))
            assert found[j] <= least * (1 + 1e-12)
            assert found[j] >= least - 0.02 * abs(least) - 0.05 * float(charge.weight(relaxation)[j])


@pytest.mark.parametrize("package", [True, False])
def test_any_prices_prove_a_bound(package: bool) -> None:
    """Prices moved at random, some to nothing, prove less than good ones may, and never more than a schedule costs."""
    workload, federation = crowd(40, package=package), three_speeds()
    rows = [
        fs.simulate(workload, federation, fs.Rules(order=order, dispatch="greedy"), knowledge="runtime").metrics()
        for order in ("fcfs", "sjf", "saf", "smallest")
    ]
    scarce, rng = scarce_of(workload, federation), np.random.default_rng(3)
    for metric, charge in CHARGES.items():
        least = min(getattr(row, metric) for row in rows)
        good = find_prices(scarce, charge, NEVER)
        assert 0.0 <= proven(scarce, charge, good) <= least
        for _ in range(10):
            node = good.node * rng.lognormal(0.0, 0.5, good.node.shape) * (rng.random(good.node.shape) < 0.9)
            moved = good._replace(node=node, thing=rng.random(good.thing.shape) * node.mean())
            assert proven(scarce, charge, moved) <= least


def test_on_one_node_the_shortest_first_are_nearly_met() -> None:
    """Jobs that take turns on one node: the least waits, responses and slowdowns are known, the bounds near them."""
    rng = np.random.default_rng(2)
    runtime = np.sort(rng.lognormal(4.0, 1.2, 60))
    workload = fs.Workload(submit=np.zeros(60), tasks=np.ones(60), runtime=runtime)
    federation = fs.Federation.homogeneous(1)
    best = fs.simulate(workload, federation, fs.Rules(order="sjf")).metrics()
    bounds = lower_bounds(workload, federation)
    for metric in ("flow", "mean_wait", "mean_response", "mean_slowdown"):
        value = getattr(best, metric)
        assert 0.97 * value <= bounds.of(metric) <= value
    assert 0.9 * best.bounded_slowdown <= bounds.of("bounded_slowdown") <= best.bounded_slowdown
    assert bounds.of("max_wait") <= best.max_wait
    assert bounds.of("max_wait") == pytest.approx(best.max_wait, rel=1e-6)


@pytest.mark.compiled
def test_an_overloaded_package_has_bounds_that_say_something() -> None:
    """On a package of a hundred jobs every bound is above the trivial one, and some plan not far from it."""
    workload, federation = crowd(100), three_speeds()
    for metric, within in (("flow", 1.1), ("mean_wait", 1.3), ("mean_slowdown", 3.0), ("bounded_slowdown", 3.0)):
        found = fs.optimize(workload, federation, objectives=metric, evaluations=3000, baselines=("fcfs",))
        assert is_useful(metric, found.bound())
        assert found.bound() <= found.value() <= within * found.bound(), metric
        assert found.bound() > lower_bounds(workload, federation, method="closed").of(metric)


def test_thousands_of_jobs_are_bounded_by_a_sample_s_prices(monkeypatch: pytest.MonkeyPatch) -> None:
    """Prices that a sample gave prove almost what prices of all jobs do."""
    workload, federation = crowd(240), three_speeds()
    whole = lower_bounds(workload, federation).flow
    monkeypatch.setattr(prices, "SAMPLE", 60)
    assert 0.97 * whole <= lower_bounds(workload, federation).flow <= 1.02 * whole


def test_no_time_leaves_closed_forms() -> None:
    """Where solvers have no time, waits are bounded in closed form, and slowdowns by their definition."""
    workload, federation = crowd(30), three_speeds()
    hasty, closed = (lower_bounds(workload, federation, **way) for way in ({"seconds": 0.0}, {"method": "closed"}))
    assert hasty.of("bounded_slowdown") == closed.of("bounded_slowdown") == 1.0
    assert closed.flow * 0.999 <= hasty.flow <= lower_bounds(workload, federation).flow
    assert hasty.cut


def test_a_run_that_may_stretch_lowers_the_bound_on_slowdowns() -> None:
    """A slowdown falls when a run grows: with a narrow uplink the bound is lower, and still above 1."""
    workload = fs.Workload(
        submit=np.zeros(6), tasks=np.full(6, 4), runtime=np.full(6, 50.0), compute_fraction=np.full(6, 0.5),
        task_bandwidth=np.ones(6),
    )  # fmt: skip
    wide, narrow = (fs.Federation.of(2, 2, uplink=uplink) for uplink in (100.0, 1.0))
    quiet, crowded = (lower_bounds(workload, machine) for machine in (wide, narrow))
    assert quiet._prover.relaxation.uncontended
    assert 1.0 < crowded.of("mean_slowdown") < quiet.of("mean_slowdown")
    for machine, bounds in ((wide, quiet), (narrow, crowded)):
        made = fs.simulate(workload, machine, "fcfs").metrics()
        for metric in CHARGES:
            assert bounds.of(metric) <= getattr(made, metric)


@pytest.mark.parametrize("saturation", ["dynamic", "static"])
def test_no_run_is_longer_than_the_relaxation_says(saturation: str) -> None:
    """Over random systems with contention, no simulated run outlasts its greatest, whatever nodes it had."""
    stretched = 0
    for seed in range(60):
        scenario = strategies.random_scenario(seed, saturation=saturation).without_conditions().for_bounds()
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        killed = scenario.settings.kill_at_estimate
        bounds = lower_bounds(workload, federation, kill_at_estimate=killed, caps=caps, method="closed")
        relaxation, made = bounds._prover.relaxation, scenario.simulate()
        for j, (start, finish) in enumerate(zip(made.start, made.finish, strict=True)):
            used = max(int(relaxation.class_slowdown[relaxation.group_class[g]])
                       for g, count in enumerate(made.counts[j]) if count)  # fmt: skip
            assert relaxation.duration[j, used] <= finish - start <= relaxation.most[j, used]
            stretched += finish - start > relaxation.duration[j, used] * (1 + 1e-6) + 1e-6
    assert stretched > 5


@pytest.mark.parametrize("taking", [False, True])
def test_what_runs_already_is_bounded_by_what_is_left_of_it(taking: bool) -> None:
    """From many instants of many runs on, contention included, no metric of the rest is below its bound.

    Where downtimes take nodes from what runs, the others bound the rest, if there are any.
    """
    looked, few = 0, 20 if taking else 1  # downtimes that take nodes are rare
    for seed in range(tries(40 * few, 6 * few)):
        scenario = strategies.random_scenario(seed, placement="powerful", epoch=seed % 2 == 1)
        scenario = scenario.for_bounds() if taking else scenario.for_bounds().without_victims()
        if taking and not any(one.on_running != "wait" for one in scenario.machine.closures):
            continue
        workload, federation, _ = strategies.to_package(
            [replace(job, caps=None) for job in scenario.jobs], scenario.machine
        )
        rules = fs.Rules(dispatch="greedy", placement="powerful")
        whole = fs.simulate(workload, federation, rules)
        for share in (0.3, 0.6, 0.9):
            run = prepare(workload, federation, rules).advance(until=whole.t0 + share * whole.makespan)
            state = run.running()
            rows = np.flatnonzero(~(run.state.finish <= state.time) | np.isin(np.arange(len(workload)), state.rows))
            part, running = workload.take(rows), state.renumbered(rows)
            if not running.rows.size:
                continue
            if taking and not any(running.time < one.begin for one in federation.calendar if one.on_running != "wait"):
                continue
            made = fs.simulate(part, federation, rules, running=running).metrics().as_dict()
            problem = pack(part, federation, reading=CLAIRVOYANT, t0=running.time, running=running.rows.tolist())
            if taking and not np.setdiff1d(sure_starts(problem), running.rows).size:
                continue
            relaxation = relax(problem, caps_table(part, federation), part.id, runtime=problem.runtime, running=running)
            bounds = bounds_of_relaxation(relaxation, method="auto" if seed % 8 < 2 else "lp")
            for name, value in made.items():
                assert not bounds.of(name) > value, (seed, share, name)
            looked += 1
    assert looked > tries(40, 6)


def test_a_job_that_is_nearly_done_bounds_nothing() -> None:
    """A job that has run for all but its last second leaves a second's makespan, not its whole run."""
    workload, federation = fs.Workload(submit=[0, 5], tasks=[4, 4], runtime=[1000, 20]), fs.Federation.homogeneous(4)
    running = prepare(workload, federation, "fcfs").advance(until=1.0).running()._replace(time=999.0)
    problem = pack(workload, federation, reading=CLAIRVOYANT, t0=999.0, running=[0])
    relaxation = relax(problem, caps_table(workload, federation), workload.id, runtime=problem.runtime, running=running)
    bounds = bounds_of_relaxation(relaxation)
    assert bounds.makespan == pytest.approx(21.0, rel=1e-5)
    assert bounds.flow == pytest.approx(1000 + 1015, rel=1e-5)
    assert bounds.of("mean_wait") == pytest.approx(995 / 2, rel=1e-5)


def test_running_jobs_that_may_lose_their_nodes_are_left_out_of_bounds() -> None:
    """The other job alone, as if the nodes were free; it may follow one that restarts and then ends sooner."""
    workload, federation = fs.Workload(submit=[0, 5], tasks=[4, 4], runtime=[1000, 20]), fs.Federation.homogeneous(4)
    running = prepare(workload, federation, "fcfs").advance(until=1.0).running()
    taking = fs.Downtime(federation.clusters[0].name, 50.0, 60.0, kind="outage", on_running="requeue")
    limits = caps_table(workload, federation)
    plain = pack(workload, federation, reading=CLAIRVOYANT, t0=running.time, running=[0])
    kept = relax(plain, limits, workload.id, runtime=plain.runtime, running=running)
    assert bounds_of_relaxation(kept).makespan == pytest.approx(1020.0)
    closing = replace(federation, calendar=(taking,))
    for jobs in (workload, replace(workload, after=["", "afterok:1"])):
        problem = pack(jobs, closing, reading=CLAIRVOYANT, t0=running.time, running=[0])
        found = relax(problem, limits, jobs.id, runtime=problem.runtime, running=running)
        bounds = bounds_of_relaxation(found)
        assert bounds.makespan == pytest.approx(5.0 + 20.0)
        assert np.isnan(bounds.of("mean_wait"))
        assert bounds.flow == pytest.approx(20.0)
    alone = pack(workload.take([0]), closing, reading=CLAIRVOYANT, t0=running.time, running=[0])
    with pytest.raises(InfeasibleError, match="runs already and may lose its nodes: nothing is proven"):
        relax(alone, caps_table(workload.take([0]), closing), workload.id[:1], runtime=alone.runtime, running=running)


def test_pools_are_scarce_too() -> None:
    """Jobs that need all of a pool take turns on a machine that has room for all of them."""
    jobs = [naive.Job(j, 0.0, 1, 10.0, 10.0, needs=(2,)) for j in range(4)]
    machine = naive.Machine([naive.Group(0, 8)], [np.inf], (2,))
    workload, federation, _ = strategies.to_package(jobs, machine)
    bounds = lower_bounds(workload, federation)
    assert bounds.of("mean_wait") == pytest.approx(15.0, rel=0.1)
    assert bounds.of("mean_wait") <= naive.metrics(naive.simulate(jobs, machine))["mean_wait"]
