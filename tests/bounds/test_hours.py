"""Bounds on cost and carbon: work in the cheapest hours that have room for it, and no schedule below [65]."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from engine.test_against_naive import run_engine
from scipy.optimize import linprog
from support import strategies
from support.tiers import tries

import fedsched as fs
from fedsched.bounds.cost.hour_prices import NodeSet, node_set_prices
from fedsched.model.time.signal import Curve

HOUR = 3600.0
NODE = fs.NodeGroup(1, 1.0, 1000.0, 100.0)


def test_a_job_waits_for_the_cheapest_hour_by_hand() -> None:
    """An hour's kilowatt in the third hour's twenty grams, and an idle node until then: no other end is cheaper."""
    signal = fs.Signal((0.0, HOUR, 2 * HOUR, 3 * HOUR), (100.0, 300.0, 20.0, 50.0), "g/kWh")
    there = fs.Federation((fs.Cluster("a", (NODE,)),), signals=(signal,))
    found = fs.bounds.lower_bounds(fs.Workload(submit=[0.0], tasks=[1], runtime=[HOUR]), there)
    least = (0.1 * (100 + 300 + 20) + 0.9 * 20) / 1000
    assert 0.99 * least < found.of("carbon") <= least
    alone = fs.bounds.lower_bounds(fs.Workload(submit=[0.0], tasks=[1], runtime=[HOUR]), there, method="closed")
    assert alone.of("carbon") == pytest.approx((0.1 * 100 + 0.9 * 20) / 1000, rel=1e-6)
    assert math.isnan(found.of("cost"))
    assert "carbon" in str(found)
    late = fs.bounds.lower_bounds(fs.Workload(submit=[2.5 * HOUR], tasks=[1], runtime=[HOUR]), there, t0=0.0)
    assert late.of("carbon") == pytest.approx((0.1 * (100 + 300 + 20 + 25) + 0.9 * (10 + 25)) / 1000, rel=1e-6)


def test_two_jobs_do_not_both_have_the_only_cheap_hour_by_hand() -> None:
    """Of two hours' kilowatts in three hours one is in the cheap hour, the other in the one after it."""
    signal = fs.Signal((0.0, HOUR, 2 * HOUR), (100.0, 20.0, 60.0), "g/kWh", beyond="last")
    there = fs.Federation((fs.Cluster("a", (NODE,)),), signals=(signal,))
    two = fs.Workload(submit=[0.0, 0.0], tasks=[1, 1], runtime=[HOUR, HOUR])
    in_three, in_two = (fs.bounds.lower_bounds(two, there, deadline=hours * HOUR).of("carbon") for hours in (3, 2))
    assert in_two == pytest.approx((100 + 20) / 1000, rel=1e-6)
    assert in_three == pytest.approx(min(120, 0.1 * 180 + 0.9 * 80) / 1000, rel=0.1)
    assert in_three <= (0.1 * 180 + 0.9 * 80) / 1000
    alone = fs.bounds.lower_bounds(two, there, deadline=2 * HOUR, method="closed").of("carbon")
    assert alone == pytest.approx((0.1 * 120 + 0.9 * 40) / 1000, rel=1e-6)


def test_a_deadline_that_no_schedule_keeps_changes_nothing_before_it() -> None:
    """Where the deadline is before the least makespan the bound is of schedules that end then."""
    signal = fs.Signal((0.0, HOUR), (100.0, 20.0), "g/kWh", beyond="last")
    there = fs.Federation((fs.Cluster("a", (NODE,)),), signals=(signal,))
    one = fs.Workload(submit=[0.0], tasks=[1], runtime=[HOUR])
    assert fs.bounds.lower_bounds(one, there, deadline=60.0).of("carbon") == pytest.approx(0.1, rel=1e-6)


@pytest.mark.parametrize("method", ["closed", "lp"])
def test_a_signal_that_comes_again_for_ages_is_bounded_by_one_period(method: str) -> None:
    """Two runs through 10¹⁴ periods of a price cost what they do by hand; a short one waits for the cheap half."""
    price = fs.Signal((0.0, 5.0), (10.0, 50.0), "EUR/MWh", beyond="repeat", until=10.0)
    there = fs.Federation((fs.Cluster("a", (replace(NODE, idle_watts=0.0),) * 3),), signals=(price,))
    log = fs.Workload(submit=[0.0, 0.0, 5.0], tasks=[1, 1, 1], runtime=[1e15, 1e14, 3.0])
    least = 1000.0 * (1.1e15 * 30.0 + 3.0 * 10.0) / 3.6e9
    for deadline in (None, 1e15, 2e15):
        found = fs.bounds.lower_bounds(log, there, method=method, deadline=deadline).of("cost")
        assert least * (1 - 1e-8) < found <= least
    alone = log.take([2])
    soon = fs.bounds.lower_bounds(alone, there, method=method, deadline=1e15).of("cost")
    assert soon == pytest.approx(1000.0 * 30.0 / 3.6e9, rel=1e-8)  # and not 50 a megawatt-hour from second 5 on


def test_jobs_that_are_bound_to_a_cluster_pay_its_prices() -> None:
    """A job of the dear cluster, of the same nodes as the cheap one's, is priced by its own cluster's signal."""
    signals = tuple(fs.Signal((0.0,), (value,), "g/kWh", name) for name, value in (("a", 500.0), ("b", 50.0)))
    sites = tuple(fs.Cluster(name, (replace(NODE, idle_watts=0.0),)) for name in "ab")
    log = fs.Workload(submit=[0.0], tasks=[1], runtime=[HOUR], allowed=np.array([[True, False]]), sites=("a", "b"))
    there = fs.Federation(sites, signals=signals)
    assert fs.bounds.lower_bounds(log, there).of("carbon") == pytest.approx(0.5, rel=1e-6)
    assert fs.bounds.lower_bounds(replace(log, allowed=None), there).of("carbon") == pytest.approx(0.05, rel=1e-6)


def test_many_jobs_under_a_long_signal_are_bounded_as_few_are(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where jobs and hours are more than the program looks at the bound is above each alone, below a schedule."""
    rng = np.random.default_rng(3)
    signal = fs.Signal(np.arange(200) * 1800.0, rng.uniform(50, 500, 200), "g/kWh", beyond="repeat")
    there = fs.Federation((fs.Cluster("a", (fs.NodeGroup(4, 1.0, 1000.0, 100.0),)),), signals=(signal,))
    log = fs.Workload(
        submit=np.sort(rng.uniform(0, 8 * HOUR, 150)),
        tasks=rng.integers(1, 4, 150),
        runtime=rng.uniform(600, 3600, 150),
    )
    schedule = fs.simulate(log, there, "easy")
    alone, found = (fs.bounds.lower_bounds(log, there, method=method).of("carbon") for method in ("closed", "auto"))
    assert alone * 1.1 < found <= schedule.metrics().carbon
    monkeypatch.setattr("fedsched.bounds.cost.hours.MOST", 1000)
    assert fs.bounds.lower_bounds(log, there).of("carbon") == alone
    monkeypatch.undo()
    soon = fs.bounds.lower_bounds(log, there, deadline=schedule.t0 + schedule.makespan).of("carbon")
    assert found * (1 - 1e-3) < soon <= schedule.metrics().carbon


def liquid(rooms: list[NodeSet], tasks: np.ndarray, release: np.ndarray, end: float) -> float:
    """Return what the work of jobs costs at least until then, were it a liquid: by a program of its own."""
    edges = np.unique(np.concatenate([[0.0, end], *(room.curve.changes(0.0, end) for room in rooms)]))
    cells = list(itertools.product(range(len(tasks)), range(len(rooms)), range(edges.size - 1)))
    value = {(p, k): float(np.diff(room.curve.integral(edges[k : k + 2]))[0] / (edges[k + 1] - edges[k]))
             for p, room in enumerate(rooms) for k in range(edges.size - 1)}  # fmt: skip
    done, full = np.zeros((len(tasks), len(cells))), np.zeros((len(rooms) * (edges.size - 1), len(cells)))
    most = []
    for column, (j, p, k) in enumerate(cells):
        done[j, column] = 1.0 / rooms[p].lasts[j]
        full[p * (edges.size - 1) + k, column] = 1.0
        most.append(rooms[p].caps[j] * max(0.0, edges[k + 1] - max(edges[k], release[j])))
    right = np.concatenate([room.nodes * np.diff(edges) for room in rooms])
    solved = linprog([rooms[p].rate[j] * value[p, k] for j, p, k in cells], A_ub=full, b_ub=right, A_eq=done,
                     b_eq=tasks, bounds=[(0.0, one) for one in most], method="highs-ds")  # fmt: skip
    return float(solved.fun) if solved.success else math.inf


def test_the_bound_is_no_less_than_work_as_a_liquid_would_cost() -> None:
    """Of random jobs with a deadline the bound is no less than the value of a program of the hours, solved apart."""
    rng = random.Random(9)
    higher = 0
    for _ in range(tries(60, 9)):
        there = fs.Federation(
            tuple(fs.Cluster(name, (fs.NodeGroup(rng.randint(1, 3), 1.0, 300.0, 0.0),)) for name in "ab"),
            signals=signals_for(rng, ["a", "b"], 0.0, 12.0),
        )
        count = rng.randint(2, 6)
        log = fs.Workload(
            submit=[float(rng.randint(0, 3)) for _ in range(count)],
            tasks=[rng.randint(1, 2) for _ in range(count)],
            runtime=[float(rng.randint(1, 6)) for _ in range(count)],
        )
        rooms = [
            NodeSet(Curve(signal), cluster.groups[0].count, np.minimum(log.tasks, cluster.groups[0].count), log.runtime,
                 np.full(count, 0.3 / 3.6e6))
            for cluster, signal in zip(there.clusters, there.signals, strict=True)
        ]  # fmt: skip
        end = min(16.0, *(signal.until for signal in there.signals if signal.beyond == "refuse"), 16.0)
        least = liquid(rooms, log.tasks, log.submit, end)
        found = fs.bounds.lower_bounds(log, there, t0=0.0, deadline=end)
        if least < math.inf and found.makespan <= end:
            assert found.of("carbon") >= least * (1 - 1e-6) - 1e-12
            higher += found.of("carbon") > least * (1 + 1e-6)
    assert higher > 0  # a job is no liquid


def test_prices_that_follow_what_jobs_choose_prove_more(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of random jobs in one day the bound is no lower than by the liquid's prices alone, often higher, and true."""
    rng, higher, most = np.random.default_rng(6), 0, tries(6)
    for _ in range(most):
        signal = fs.Signal(np.arange(24) * HOUR, rng.uniform(50, 500, 24), "g/kWh", beyond="repeat")
        there = fs.Federation((fs.Cluster("a", (fs.NodeGroup(4, 1.0, 1000.0, 50.0),)),), signals=(signal,))
        log = fs.Workload(
            submit=np.sort(rng.uniform(0, 8 * HOUR, 12)),
            tasks=rng.integers(1, 4, 12),
            runtime=rng.uniform(0.5 * HOUR, 4 * HOUR, 12),
        )
        found = fs.bounds.lower_bounds(log, there).of("carbon")
        with monkeypatch.context() as patched:
            patched.setattr("fedsched.bounds.cost.hours.STEPS", 0)
            liquid = fs.bounds.lower_bounds(log, there).of("carbon")
        assert liquid * (1 - 1e-12) <= found <= fs.simulate(log, there, "easy").metrics().carbon
        higher += found > liquid * (1 + 1e-4)
    assert higher >= most / 2


def test_late_ends_are_looked_at_only_where_idle_nodes_pay_for_them(monkeypatch: pytest.MonkeyPatch) -> None:
    """Schedules without end are cut where idle nodes draw something; where they do not, no cut would prove more."""
    asked: list[float] = []

    def counted(*given: Any) -> Any:
        asked.append(given[4][1])
        return node_set_prices(*given)

    monkeypatch.setattr("fedsched.bounds.cost.hours.node_set_prices", counted)
    counts = []
    for idle in (0.0, 50.0):
        signal = fs.Signal(np.arange(24) * HOUR, np.arange(24) * 10.0 + 50.0, "g/kWh", until=24 * HOUR, beyond="repeat")
        there = fs.Federation((fs.Cluster("a", (fs.NodeGroup(2, 1.0, 1000.0, idle),)),), signals=(signal,))
        log = fs.Workload(submit=np.arange(8.0) * HOUR, tasks=[1, 2] * 4, runtime=[3 * HOUR, HOUR] * 4)
        asked.clear()
        assert 0 < fs.bounds.lower_bounds(log, there).of("carbon") <= fs.simulate(log, there).metrics().carbon
        counts.append(len(asked))
    assert counts[0] == 1 < counts[1]


def test_nothing_is_proven_of_prices_below_zero() -> None:
    """Where energy is paid for, a schedule that takes longer may cost less."""
    signal = fs.Signal((0.0, 5.0), (-1.0, 3.0), "EUR/MWh", beyond="last")
    there = fs.Federation((fs.Cluster("a", (NODE,)),), signals=(signal,))
    assert math.isnan(fs.bounds.lower_bounds(fs.Workload(submit=[0.0], tasks=[1], runtime=[5.0]), there).of("cost"))


def signals_for(rng: random.Random, names: list[str], begin: float, span: float) -> tuple[fs.Signal, ...]:
    """Return random signals that reach over a span."""
    found = []
    for name in names:
        beyond = rng.choice(["refuse", "repeat", "last"])
        times = sorted({begin, *(begin + round(rng.random() * span, 1) for _ in range(rng.randrange(6)))})
        until = times[-1] + (2 * span if beyond == "refuse" else rng.choice([0.5, span / 4]))
        values = [rng.choice([0.0, 10.0, 12.5, 300.0]) for _ in times]
        found.append(fs.Signal(times, values, "g/kWh", name, until=until, beyond=beyond))
    return tuple(found)


def test_brute_force_on_small_instances_finds_nothing_below_the_bound() -> None:
    """Of all starts and places of a few jobs on two clusters, by a deadline or not, none costs less than its bound."""
    rng = random.Random(5)
    tight = closer = 0
    for _ in range(tries(160, 12)):
        groups = [
            fs.NodeGroup(rng.randint(1, 2), rng.choice([1.0, 2.0]), 300.0 + rng.choice([0, 100]), rng.choice([0, 100]))
            for _ in range(2)
        ]
        sites = tuple(fs.Cluster(name, (group,)) for name, group in zip("ab", groups, strict=True))
        there = fs.Federation(sites, signals=signals_for(rng, ["a", "b"], 0.0, 12.0))
        count = rng.randint(1, 3)
        log = fs.Workload(
            submit=[float(rng.randint(0, 3)) for _ in range(count)],
            tasks=[rng.randint(1, 2) for _ in range(count)],
            runtime=[float(2 * rng.randint(1, 2)) for _ in range(count)],
        )
        deadline = rng.choice([None, 6.0, 8.0])
        found, closed = (
            fs.bounds.lower_bounds(log, there, t0=0.0, method=method, deadline=deadline)
            for method in ("auto", "closed")
        )
        bound, alone = found.of("carbon"), closed.of("carbon")
        best = least_by_brute_force(log, there, 12 if deadline is None else int(deadline))
        assert max(alone, bound) <= best * (1 + 1e-9)
        assert alone <= bound * (1 + 1e-9) or found.makespan > (deadline or math.inf)  # by when no schedule ends
        tight += best <= bound * 1.02
        closer += bound > alone * 1.02
    assert tight > 0
    assert closer > 0


def least_by_brute_force(log: fs.Workload, there: fs.Federation, end: int) -> float:
    """Return the least kilograms of all starts at whole seconds, on all nodes, of jobs that end by then."""
    groups = [cluster.groups[0] for cluster in there.clusters]
    grams = [[sum(value_at(signal, s + part) for part in np.arange(0.05, 1.0, 0.1)) / 10 for s in range(end)]
             for signal in there.signals]  # fmt: skip
    free = [[group.count] * end for group in groups]
    idle = [sum(g.count * g.idle_watts * one[s] for g, one in zip(groups, grams, strict=True)) for s in range(end)]
    best = math.inf

    def place(j: int, last: int, spent: float) -> None:
        nonlocal best
        if j == len(log):
            best = min(best, spent + sum(idle[:last]))
            return
        for first in range(groups[0].count + 1):
            counts = (first, int(log.tasks[j]) - first)
            if not 0 <= counts[1] <= groups[1].count:
                continue
            lasts = int(log.runtime[j] / min(g.speed for g, n in zip(groups, counts, strict=True) if n))
            for begin in range(int(log.submit[j]), end - lasts + 1):
                span = range(begin, begin + lasts)
                if any(free[k][s] < n for k, n in enumerate(counts) for s in span):
                    continue
                more = 0.0
                for k, n in enumerate(counts):
                    more += n * (groups[k].busy_watts - groups[k].idle_watts) * sum(grams[k][s] for s in span)
                    for s in span:
                        free[k][s] -= n
                place(j + 1, max(last, begin + lasts), spent + more)
                for k, n in enumerate(counts):
                    for s in span:
                        free[k][s] += n

    place(0, 0, 0.0)
    return best / 3.6e6 / 1000


def value_at(signal: fs.Signal, moment: float) -> float:
    """Return a signal's value."""
    if signal.beyond == "repeat":
        moment = signal.times[0] + (moment - signal.times[0]) % (signal.until - signal.times[0])
    return [value for time, value in zip(signal.times, signal.values, strict=True) if time <= moment][-1]


def test_no_random_schedule_costs_less_than_its_bound() -> None:
    """Whatever the rules, the machine and the signals are, a schedule's carbon is not below its problem's bound."""
    rng = random.Random(7)
    for seed in range(67_000, 67_000 + tries(150, 12)):
        scenario = strategies.random_scenario(seed, alternatives="fixed")
        schedule = run_engine(scenario)
        uncertain = any(job.cancel_at < math.inf or job.reservation is not None for job in scenario.jobs)
        kills = any(one.on_running == "kill" for one in scenario.machine.closures)
        if np.isnan(schedule.finish).any() or kills or uncertain:
            continue
        workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
        names = [cluster.name for cluster in federation.clusters]
        signals = signals_for(rng, names, schedule.t0, max(1.0, schedule.makespan))
        there = replace(federation, signals=signals)
        method = rng.choice(["auto", "closed"])
        bound = fs.bounds.lower_bounds(
            workload, there, caps=caps, method=method, kill_at_estimate=scenario.settings.kill_at_estimate,
            knowledge="runtime",
        ).of("carbon")  # fmt: skip
        near = 1e-9 if schedule.t0 < 1e6 else 1e-6
        assert replace(schedule, federation=there).metrics().carbon >= bound * (1 - near) - 1e-15, seed
