"""No bound is false: small random machines with all that power may have, and every schedule of them in plain arrays."""

from __future__ import annotations

import math
import random
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from bounds.test_hours import signals_for, value_at
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.core.errors import InfeasibleError
from fedsched.policies import Planned, Timeout

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

HORIZON = 12  # whole seconds, in which all schedules that are tried begin and end
GEAR = 0.5
NEVER = 1e30
SWITCHING = 1  # seconds that a shutdown takes, and a boot
TOLD = ("makespan", "flow", "mean_wait", "energy", "busy_energy", "carbon", "cost")


class Case(NamedTuple):
    """Jobs, their machine, and until when their schedules end."""

    log: fs.Workload
    machine: fs.Federation
    deadline: int | None


def drawn(rng: random.Random) -> Case:
    """Return up to three jobs on two clusters whose nodes may have gears, go off, be capped, and have signals."""
    gears, sleeps = rng.random() < 0.5, rng.random() < 0.5
    count = 3 if rng.random() < 0.2 and not sleeps else rng.randint(1, 2)
    groups = []
    for _ in range(2):
        idle, busy = rng.choice([0.0, 100.0]), rng.choice([300.0, 400.0])
        states = {"off_watts": min(idle, rng.choice([0.0, 5.0])), "boot_watts": rng.choice([None, 20.0, 500.0]),
                  "shutdown_watts": rng.choice([None, 0.0]), "boot_seconds": SWITCHING,
                  "shutdown_seconds": SWITCHING} if sleeps else {}  # fmt: skip
        slow: Any = {"gears": ((GEAR, rng.choice([120.0, 170.0, 250.0])),)} if gears else {}
        groups.append(fs.NodeGroup(rng.randint(1, 2), rng.choice([1.0, 2.0]), busy, idle, **states, **slow))
    sites = tuple(fs.Cluster(name, (group,)) for name, group in zip("ab", groups, strict=True))
    signals = list(signals_for(rng, ["a", "b"], 0.0, 12.0))
    if rng.random() < 0.5:
        signals += [replace(one, unit="EUR/MWh", cluster="") for one in signals_for(rng, ["a"], 0.0, 12.0)]
    if rng.random() < 0.5:
        most = sum(group.count * group.busy_watts for group in groups)
        values = [round(rng.uniform(0.4, 1.0) * most) for _ in range(2)]
        signals.append(fs.Signal((0.0, float(rng.randint(1, 6))), values, "W", beyond="last"))
    power = rng.choice([Planned(), Timeout(2.0)]) if sleeps else None
    runtime = [float(2 * rng.randint(1, 2)) for _ in range(count)]
    log = fs.Workload(
        submit=[float(rng.randint(0, 2)) for _ in range(count)],
        tasks=[rng.randint(1, 2) for _ in range(count)],
        runtime=runtime,
        compute_fraction=[0.5 if one == 4.0 and rng.random() < 0.3 else 1.0 for one in runtime],
    )
    if not gears and rng.random() < 0.5:
        log = replace(log, watts=[rng.choice([-1.0, 50.0, 350.0]) for _ in range(count)])
    machine = fs.Federation(sites, signals=tuple(signals), power=power)
    return Case(log, machine, rng.choice([None, 6, 8]))


def of_seconds(signal: fs.Signal) -> Floats:
    """Return a signal's mean over each second; its steps are at tenths."""
    return np.array([np.mean([value_at(signal, s + part) for part in np.arange(0.05, 1.0, 0.1)])
                     for s in range(HORIZON)])  # fmt: skip


def weights(machine: fs.Federation) -> dict[str, Floats]:
    """Return what a watt of each group over each second comes to, by metric."""
    found = {"energy": np.ones((2, HORIZON))}
    for metric, units in (("carbon", 1.0 / 3.6e9), ("cost", 1.0 / 3.6e9)):
        unit = "g/kWh" if metric == "carbon" else "EUR/MWh"
        by_name = {one.cluster: one for one in machine.signals if one.unit == unit}
        if by_name:
            rows = [of_seconds(by_name.get(name) or by_name[""]) for name in "ab"]
            found[metric] = units * np.array(rows)
    return found


class Ways(NamedTuple):
    """Ways to run a job: when each begins and ends, and way x group x second, the nodes and watts that it takes."""

    begin: Floats
    end: Floats
    nodes: NDArray[np.int8]
    watts: Floats


def ways(case: Case, j: int, until: int) -> Ways:
    """Return all ways to run a job in whole seconds."""
    groups, job = [one.groups[0] for one in case.machine.clusters], case.log
    found = []
    for gear, first in product(range(1 + len(groups[0].gears)), range(groups[0].count + 1)):
        counts = (first, int(job.tasks[j]) - first)
        if not 0 <= counts[1] <= groups[1].count:
            continue
        slow = 1.0 / min(group.speed for group, n in zip(groups, counts, strict=True) if n)
        share = float(job.compute_fraction[j])
        lasts = float(job.runtime[j]) * (share * slow / (GEAR if gear else 1.0) + 1.0 - share)
        assert lasts == int(lasts)
        drawn = [group.gears[gear - 1][1] if gear else group.busy_watts for group in groups]
        if job.watts is not None and job.watts.values[j] >= 0.0:
            drawn = [float(job.watts.values[j])] * 2
        for begin in range(int(job.submit[j]), until - int(lasts) + 1):
            nodes, watts = np.zeros((2, HORIZON), dtype=np.int8), np.zeros((2, HORIZON))
            for g in range(2):
                nodes[g, begin : begin + int(lasts)] = counts[g]
                watts[g, begin : begin + int(lasts)] = counts[g] * drawn[g]
            found.append((float(begin), begin + lasts, nodes, watts))
    begin, end, nodes, watts = zip(*found, strict=True) if found else ((), (), (), ())
    return Ways(np.array(begin), np.array(end), np.array(nodes).reshape(-1, 2, HORIZON),
                np.array(watts).reshape(-1, 2, HORIZON))  # fmt: skip


def together(case: Case, until: int) -> Ways:
    """Return all schedules that end by then: no more nodes than there are, no more watts than the cap has."""
    groups = [one.groups[0] for one in case.machine.clusters]
    counts = np.array([group.count for group in groups])[:, None]
    idle = np.array([group.idle_watts for group in groups])[:, None]
    caps = [one for one in case.machine.signals if one.unit == "W"]
    cap = of_seconds(caps[0]) if caps else np.full(HORIZON, np.inf)
    nobody = Ways(np.zeros((1, 0)), np.zeros((1, 0)), np.zeros((1, 2, HORIZON), np.int8), np.zeros((1, 2, HORIZON)))
    found, beside = nobody, np.zeros((1, HORIZON))  # beyond idle watts, each job's nodes no less than these
    for j in range(len(case.log)):
        own = ways(case, j, until)
        more = np.maximum(own.watts - own.nodes * idle, 0.0).sum(axis=1)
        here, there = (one.ravel() for one in np.mgrid[: len(found.begin), : own.begin.size])
        nodes = found.nodes[here] + own.nodes[there]
        over = beside[here] + more[there]
        fits = (nodes <= counts).all(axis=(1, 2)) & (over + (idle * counts).sum() <= cap).all(axis=1)
        here, there, beside = here[fits], there[fits], over[fits]
        found = Ways(
            np.column_stack([found.begin[here], own.begin[there]]),
            np.column_stack([found.end[here], own.end[there]]),
            nodes[fits],
            found.watts[here] + own.watts[there],
        )
    return found


def of_idle_nodes(group: fs.NodeGroup, busy: NDArray[np.bool_], price: Floats, *, sleeps: bool) -> Floats:
    """Return what a node comes to while no job has it: on, off or between, whatever is cheapest, of each schedule."""
    idle = group.idle_watts * price * ~busy
    if not sleeps:
        return np.asarray(idle.sum(axis=1))
    boot = group.busy_watts if group.boot_watts is None else group.boot_watts
    down = group.idle_watts if group.shutdown_watts is None else group.shutdown_watts
    on, shut, off, up = (np.full(len(busy), value) for value in (0.0, NEVER, NEVER, NEVER))
    for s in range(HORIZON):  # each state lasts a second: what it is after the second s
        closed = np.where(busy[:, s], NEVER, 0.0)
        begun = np.minimum(on, up)
        on, shut, off, up = (
            begun + idle[:, s],
            begun + down * price[:, s] + closed,
            np.minimum(shut, off) + group.off_watts * price[:, s] + closed,
            np.minimum(shut, off) + boot * price[:, s] + closed,
        )
    return np.minimum(np.minimum(on, up), np.minimum(shut, off))


def least_of_all(case: Case) -> dict[str, float]:
    """Return the least value of each metric among all schedules; infinite where there are none."""
    groups = [one.groups[0] for one in case.machine.clusters]
    every = together(case, HORIZON if case.deadline is None else case.deadline)
    if not len(every.begin):
        return dict.fromkeys(TOLD, math.inf)
    last, submit = every.end.max(axis=1), case.log.submit
    found = {
        "makespan": last.min(),
        "flow": (every.end - submit).sum(axis=1).min(),
        "mean_wait": (every.begin - submit).mean(axis=1).min(),
        "busy_energy": every.watts.sum(axis=(1, 2)).min(),
    }
    before_the_end = np.arange(HORIZON) < last[:, None]
    for metric, each in weights(case.machine).items():
        total = (every.watts * each).sum(axis=(1, 2))
        for g, group in enumerate(groups):
            for level in range(group.count):  # of equal nodes the one that was freed last is used first
                busy = every.nodes[:, g] > level
                price = each[g] * before_the_end
                total += of_idle_nodes(group, busy, price, sleeps=case.machine.power is not None)
        found[metric] = total.min()
    return {name: float(value) for name, value in found.items()}


CASES = tries(160, 24)


def test_no_bound_is_false() -> None:
    """Of many instances no schedule of all gears, places and starts is below any bound, and many are at it."""
    seen, refused = dict.fromkeys(("gears", "sleeping", "capped", "priced", "own watts"), 0), 0
    near = dict.fromkeys(TOLD, 0)
    for seed in range(CASES):
        rng = random.Random(seed)
        case = drawn(rng)
        geared = bool(case.machine.groups[0].gears)
        log = fs.generate.gears(case.log, case.machine) if geared else case.log
        method, best = rng.choice(["auto", "auto", "closed", "lagrangian"]), least_of_all(case)
        try:
            bounds = lower_bounds(
                log, case.machine, t0=0.0, deadline=case.deadline, method=method,
                alternatives="free" if geared else None,
            )
        except InfeasibleError:  # by name: a job draws more than the cap ever leaves, or has no room
            assert math.isinf(best["makespan"]), seed
            refused += 1
            continue
        for metric, value in best.items():
            bound = bounds.of(metric)
            assert metric == "cost" or not math.isnan(bound), (seed, metric)
            assert not bound > value * (1 + 1e-9) + 1e-15, (seed, metric)
            near[metric] += bound >= 0.95 * value
        seen["gears"] += geared
        seen["sleeping"] += case.machine.power is not None
        seen["capped"] += any(one.unit == "W" for one in case.machine.signals)
        seen["priced"] += "cost" in best
        seen["own watts"] += case.log.watts is not None
    assert min(seen.values()) > CASES // 8, seen
    assert 0 < refused < CASES // 10
    assert min(near.values()) > CASES // 20, near
