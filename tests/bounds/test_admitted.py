"""No bound is above the optimum where jobs need pools, are under limits, held, or kept off by reservations."""

from __future__ import annotations

import random

import numpy as np
import pytest
from bounds.admitted import Case, Found, drawn, optimum
from support.tiers import tries

import fedsched as fs
from fedsched.bounds import lower_bounds
from fedsched.bounds.lower.lower_bounds import METHODS

pytestmark = [pytest.mark.needs("ortools"), pytest.mark.slow]  # the solver's time, whatever is compiled
SOUGHT = ("makespan", "energy", "flow", "mean_wait", "max_wait", "mean_slowdown", "bounded_slowdown")
BESIDE = ("mean_wait_eligible", "mean_response", "weighted_response", "weighted_slowdown", "busy_energy")
CLOSE = 1 + 1e-9


def to_package(case: Case) -> tuple[fs.Workload, fs.Federation]:
    """Return the jobs and the machine as the package has them."""
    jobs = case.jobs
    columns: dict[str, object] = {}
    if case.pools:
        columns["pools"] = {f"p{p}": [job.needs[p] for job in jobs] for p in range(len(case.pools))}
    if any(job.cpus > 1 for job in jobs):
        columns["demand"] = {"cpu": [job.cpus for job in jobs]}
    arrays = {cap.of: cap.most for cap in case.caps}
    log = fs.Workload(
        submit=[job.submit for job in jobs],
        tasks=[job.tasks for job in jobs],
        runtime=[float(job.runtime) for job in jobs],
        user=[job.user for job in jobs],
        begin=[float(job.begin) for job in jobs],
        held=["|".join(f"{begin}-{end}" for begin, end in job.held) for job in jobs],
        labels={
            "account": [job.account for job in jobs],
            "array": [f"{job.array}%{arrays['array']}" if job.array else "" for job in jobs],
            "reservation": ["course" if job.member else "" for job in jobs],
        },
        **columns,
    )
    whole: dict[int, int] = {}  # nodes of each pace: a group of the reservation's is one with what is left of it
    for one in case.groups:
        whole[one.pace] = whole.get(one.pace, 0) + one.count
    clusters = []
    for k, (pace, count) in enumerate(whole.items()):
        one = next(one for one in case.groups if one.pace == pace)
        group = fs.NodeGroup(count, float(pace), float(one.busy), float(one.idle), resources={"cpu": 3})
        clusters.append(fs.Cluster(f"c{k}", (group,)))
    calendar = []
    if case.reservation is not None:
        begin, end = case.reservation
        kept = case.groups[-1].count
        calendar = [fs.Downtime(f"c{len(clusters) - 1}", begin, end, f"{kept} of all", "reservation", name="course")]
    return log, fs.Federation(
        tuple(clusters),
        pools=tuple(fs.Pool(f"p{p}", amount) for p, amount in enumerate(case.pools)),
        limits=tuple(fs.Limit(cap.of, **{cap.what: cap.most}) for cap in case.caps if cap.of != "array"),
        calendar=tuple(calendar),
    )


def as_schedule(found: Found, like: fs.Schedule, case: Case) -> fs.Schedule:
    """Return the referee's schedule as one of the package's."""
    start = np.array([np.nan if begin is None else begin for begin in found.start])
    pace = [
        min((one.pace for one, nodes in zip(case.groups, spread, strict=True) if nodes), default=1)
        for spread in found.counts
    ]
    return fs.Schedule(
        workload=like.workload, federation=like.federation, start=start, finish=start + like.workload.runtime / pace,
        counts=np.array(found.counts), t0=0.0, reading=like.reading,
    )  # fmt: skip


@pytest.mark.parametrize("beside", ["pools", "limits", "holds", "reservation", "all"])
def test_no_bound_is_above_the_optimum(beside: str) -> None:
    """The optimum of a model of its own is a schedule that the check accepts and no rule beats, nor any bound."""
    tight = 0
    for seed in range(tries(20)):
        rng = random.Random(f"{beside} {seed}")
        case = drawn(rng, jobs=rng.choice((4, 7)), beside=beside)
        log, machine = to_package(case)
        bounds = lower_bounds(log, machine, method=rng.choice(METHODS))
        runs = [fs.simulate(log, machine, policy) for policy in ("fcfs", "greedy", "easy", "sjf-greedy")]
        for objective in SOUGHT:
            for members in {True, not any(job.member for job in case.jobs)}:
                if (found := optimum(case, objective, members=members)) is None:
                    continue
                where = f"{beside}, seed {seed}, {objective}"
                schedule = as_schedule(found, runs[0], case)
                assert schedule.violations() == [], where
                metrics = schedule.metrics().as_dict()
                assert metrics[objective] == pytest.approx(found.value, rel=1e-9), where
                for name in (*SOUGHT, *BESIDE):
                    assert not bounds.of(name) > metrics[name] * CLOSE + 1e-9, f"{where}: {name}"
                for run in runs:
                    if members and not np.isnan(run.start).any():
                        assert run.metrics().as_dict()[objective] >= found.value / CLOSE - 1e-9, where
                tight += bounds.of(objective) > found.value / 1.001
    assert tight > 0
