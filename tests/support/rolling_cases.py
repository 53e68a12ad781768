"""Small crowded workloads, machines and a planner that only looks: what the tests of the rolling horizon share."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

import fedsched as fs
from fedsched.optimize.rolling.planner import RollingPlanner

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.engine.run.simulation import Simulation
    from fedsched.optimize.rolling import Rolling


def crowd(jobs: int, seed: int, *, nodes: int = 8, spread: int = 60, exact: bool = False) -> fs.Workload:
    """Return jobs that come in faster than `nodes` nodes can serve them, most with requests too long."""
    rng = np.random.default_rng(seed)
    runtime = rng.integers(1, 40, size=jobs).astype(float)
    return fs.Workload(
        submit=np.sort(rng.integers(0, spread + 1, size=jobs)).astype(float),
        tasks=rng.integers(1, nodes + 1, size=jobs),
        runtime=runtime,
        estimate=runtime if exact else np.ceil(runtime * rng.choice([1.0, 1.5, 4.0], size=jobs)),
    )


def unlike() -> fs.Federation:
    """Return two clusters, one fast and hungry."""
    return fs.Federation(
        (
            fs.Cluster("slow", (fs.NodeGroup(6, 1.0, 100.0, 10.0),), 1e9),
            fs.Cluster("fast", (fs.NodeGroup(4, 2.0, 600.0, 10.0),), 1e9),
        )
    )


class Watching:
    """A rolling policy whose every plan is looked at: `look` gets the run before and after it."""

    def __init__(
        self,
        policy: Rolling,
        *,
        before: Callable[[Simulation], None] | None = None,
        after: Callable[[Simulation], None] | None = None,
    ) -> None:
        self.policy, self.before, self.after = policy, before, after

    def rules(self, workload: fs.Workload, federation: fs.Federation) -> fs.Rules:
        return self.policy.rules(workload, federation)

    def planner(self, run: Simulation) -> RollingPlanner:
        planner = RollingPlanner(self.policy, run)
        replan = planner.replan

        def watched(run: Simulation) -> None:
            if self.before is not None:
                self.before(run)
            replan(run)
            if self.after is not None:
                self.after(run)

        planner.replan = watched  # type: ignore[method-assign]
        return planner


def of_several_sizes() -> fs.Federation:
    """Return two clusters whose nodes hold one, two and four tasks."""
    groups = (fs.NodeGroup(3, 1.0, 100.0, 10.0, resources={"cpu": 4}), fs.NodeGroup(3, resources={"cpu": 1}))
    small = fs.NodeGroup(2, 2.0, 600.0, 10.0, resources={"cpu": 2})
    return fs.Federation((fs.Cluster("slow", groups, 1e9), fs.Cluster("fast", (small,), 1e9)))


def alone(workload: fs.Workload) -> fs.Workload:
    """Return the jobs with twice the tasks, two of three alone on their nodes, as many of their tasks as fit."""
    layout = {"exclusive": np.arange(len(workload)) % 3 > 0}
    return replace(workload, tasks=np.where(layout["exclusive"], 2 * workload.tasks, workload.tasks), layout=layout)
