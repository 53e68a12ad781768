"""Bounds on cost and carbon: each job in its cheapest hours, and no schedule below [65]."""

from __future__ import annotations

import itertools
import math
import random
from dataclasses import replace

import numpy as np
import pytest
import strategies
from engine.test_against_naive import run_engine
from interpreted import tries

import fedsched as fs

HOUR = 3600.0
NODE = fs.NodeGroup(1, 1.0, 1000.0, 100.0)


def test_a_job_waits_for_the_cheapest_hour_by_hand() -> None:
    """An hour's kilowatt in the third hour's twenty grams, and an idle node for as long as some job must take."""
    signal = fs.Signal((0.0, HOUR, 2 * HOUR, 3 * HOUR), (100.0, 300.0, 20.0, 50.0), "g/kWh")
    there = fs.Federation((fs.Cluster("a", (NODE,)),), signals=(signal,))
    found = fs.bounds.lower_bounds(fs.Workload(submit=[0.0], tasks=[1], runtime=[HOUR]), there)
    assert found.of("carbon") == pytest.approx((0.1 * 100 + 0.9 * 20) / 1000, rel=1e-6)
    assert math.isnan(found.of("cost"))
    assert "carbon" in str(found)
    late = fs.bounds.lower_bounds(fs.Workload(submit=[2.5 * HOUR], tasks=[1], runtime=[HOUR]), there, t0=0.0)
    assert late.of("carbon") == pytest.approx((0.1 * (100 + 300 + 20 + 25) + 0.9 * (10 + 25)) / 1000, rel=1e-6)


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
    """Of all starts on a grid and all places of a few jobs on two clusters none costs less than its bound."""
    rng = random.Random(5)
    tight = 0
    for _ in range(tries(500)):
        groups = [fs.NodeGroup(1, rng.choice([1.0, 2.0]), 300.0 + rng.choice([0, 100]), 100.0) for _ in range(2)]
        sites = tuple(fs.Cluster(name, (group,)) for name, group in zip("ab", groups, strict=True))
        there = fs.Federation(sites, signals=signals_for(rng, ["a", "b"], 0.0, 12.0))
        count = rng.randint(1, 3)
        submit = [float(rng.randint(0, 3)) for _ in range(count)]
        runtime = [float(2 * rng.randint(1, 2)) for _ in range(count)]
        log = fs.Workload(submit=submit, tasks=[1] * count, runtime=runtime)
        bound = fs.bounds.lower_bounds(log, there, t0=0.0, method="closed").of("carbon")
        best = math.inf
        for places in itertools.product(range(2), repeat=count):
            lasts = [seconds / groups[k].speed for seconds, k in zip(runtime, places, strict=True)]
            for starts in itertools.product(range(7), repeat=count):
                runs = sorted((k, s, s + d) for k, s, d in zip(places, starts, lasts, strict=True))
                if any(s < one for s, one in zip(starts, submit, strict=True)) or any(
                    k == h and s < end for (k, _, end), (h, s, _) in itertools.pairwise(runs)
                ):
                    continue
                best = min(best, carbon_of(there, runs))
        assert best >= bound * (1 - 1e-9)
        tight += best <= bound * 1.05
    assert tight > 0


def carbon_of(there: fs.Federation, runs: list[tuple[int, float, float]]) -> float:
    """Return the kilograms of runs of one node each, second's half by second's half."""
    last = max(end for *_, end in runs)
    total = 0.0
    for k, (cluster, signal) in enumerate(zip(there.clusters, there.signals, strict=True)):
        edges = sorted({0.0, last, *(t for one in runs for t in one[1:]), *edges_of(signal, last)})
        for begin, end in itertools.pairwise(edges):
            middle = (begin + end) / 2
            busy = any(j == k and s <= middle < e for j, s, e in runs)
            watts = cluster.groups[0].busy_watts if busy else cluster.groups[0].idle_watts
            total += watts * value_at(signal, middle) * (end - begin)
    return total / 3.6e6 / 1000


def edges_of(signal: fs.Signal, last: float) -> list[float]:
    """Return when a signal changes, before the end."""
    shifts = [0.0]
    if signal.beyond == "repeat":
        period = signal.until - signal.times[0]
        shifts = [n * period for n in range(int(last / period) + 2)]
    return [time + shift for time in signal.times for shift in shifts if 0 < time + shift < last]


def value_at(signal: fs.Signal, moment: float) -> float:
    """Return a signal's value."""
    if signal.beyond == "repeat":
        moment = signal.times[0] + (moment - signal.times[0]) % (signal.until - signal.times[0])
    return [value for time, value in zip(signal.times, signal.values, strict=True) if time <= moment][-1]


def test_no_random_schedule_costs_less_than_its_bound() -> None:
    """Whatever the rules, the machine and the signals are, a schedule's carbon is not below its problem's bound."""
    rng = random.Random(7)
    for seed in range(67_000, 67_000 + tries(150)):
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
        bound = fs.bounds.lower_bounds(
            workload, there, caps=caps, method="closed", kill_at_estimate=scenario.settings.kill_at_estimate,
            knowledge="runtime",
        ).of("carbon")  # fmt: skip
        near = 1e-9 if schedule.t0 < 1e6 else 1e-6
        assert replace(schedule, federation=there).metrics().carbon >= bound * (1 - near) - 1e-15, seed
