"""Machines and jobs with several tasks to a node, and how a random system is held to the reference."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from reference import naive_measures
from support import strategies

import fedsched as fs

if TYPE_CHECKING:
    from reference import naive


def machine(*groups: tuple[int, dict[str, int]], **options: object) -> fs.Federation:
    """Return one cluster of groups with these resources."""
    return fs.Federation((fs.Cluster("A", tuple(fs.NodeGroup(n, resources=has) for n, has in groups)),), **options)


def work(tasks: list[int], **options: object) -> fs.Workload:
    """Return jobs of ten seconds that are submitted at once."""
    submit = {"submit": [0.0 for _ in tasks]}
    return fs.Workload(tasks=tasks, runtime=10.0 * np.ones(len(tasks)), **submit | options)


EIGHT = machine((4, {"cpu": 8, "memory": 100, "gpu": 2}))


def nodes_of(jobs: fs.Workload, federation: fs.Federation = EIGHT) -> list[int]:
    """Return how many nodes the jobs hold in a run, having had it checked."""
    schedule = fs.simulate(jobs, federation, "greedy")
    schedule.verify(claimed=schedule.metrics())
    return schedule.counts.sum(axis=1).tolist()


def against(scenario: strategies.Scenario, *, measured: bool = True) -> naive.Result:
    """Return the reference's result, having compared the package's with it, all that is measured too, and checked."""
    result = scenario.simulate()
    workload, federation, caps = strategies.to_package(scenario.jobs, scenario.machine)
    chosen = scenario.settings
    rules = fs.Rules(
        order=chosen.order, dispatch=chosen.dispatch, placement=chosen.placement, backfill_order=chosen.backfill_order
    )
    schedule = fs.simulate(
        workload, federation, rules, same_time=chosen.same_time, saturation=chosen.saturation,
        kill_at_estimate=chosen.kill_at_estimate, alternatives=chosen.alternatives, caps=caps,
    )  # fmt: skip
    for name in ("start", "finish", "counts"):
        ours, theirs = (np.asarray(getattr(one, name)) for one in (schedule, result))
        assert np.array_equal(ours, theirs, equal_nan=True), (name, scenario)
    lines = schedule.violations(caps=caps, claimed=schedule.metrics() if result.ran else None)
    assert [line for line in lines if "never started" not in line] == []
    if result.ran and measured:
        row = schedule.metrics().as_dict()
        for name, value in naive_measures.metrics(result).items():
            same = math.isclose(row[name], value, rel_tol=1e-9, abs_tol=1e-9)
            assert same or (math.isnan(value) and math.isnan(row[name])), (name, scenario)
    return result
