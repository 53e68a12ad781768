"""Bounds on schedules of jobs that share nodes: areas of each resource, and tasks that fit beside no other [55].

A task that holds a share x of a node's cores (or memory, or devices) takes that area of the node for at least its job's
run time. It also takes the area f(x), if f is dual feasible: tasks that fit into one node by x also fit by f(x), so the
areas of f(x) fit into the nodes' time, too. In the family

    f_k(x) = x if (k + 1)·x is whole, else ⌊(k + 1)·x⌋/k,

f_1 says that a task of more than half a node shares it with no other such task.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.cost.hours import ROUNDING, cheapest
from fedsched.bounds.lower.relaxation import rounded_down
from fedsched.core.errors import unknown_name
from fedsched.engine.shared_nodes.arrays import WHOLE
from fedsched.model.schedule.metrics import NAMES
from fedsched.model.schedule.power_draw import Pricing

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from numpy.typing import NDArray

    from fedsched.engine.arrays.structs import Problem
    from fedsched.engine.shared_nodes.arrays import Sharing
    from fedsched.model.machine.federation import Federation
    from fedsched.model.time.signal import Curve

    Floats = NDArray[np.float64]

FINEST = 6  # the greatest k of the family
NO_FIT = math.inf


@dataclass(frozen=True, slots=True)
class SharedBounds:
    """Lower bounds on the metrics of all schedules of jobs that share nodes, for any choice of nodes.

    `known` has them by metric name.
    """

    known: Mapping[str, float]
    cut: bool = False

    @property
    def makespan(self) -> float:
        """Return the bound on the makespan in seconds."""
        return self.known["makespan"]

    def of(self, metric: str) -> float:
        """Return the bound on a metric by its name; NaN if none is known.

        Raise an error for a name that is no metric.
        """
        if metric not in NAMES:
            raise unknown_name("metric", metric, NAMES)
        return self.known.get(metric, math.nan)


def shared_bounds(problem: Problem, sharing: Sharing, federation: Federation) -> SharedBounds:
    """Return lower bounds on all schedules of these jobs: makespan, flow, mean response, energies and costs.

    The mean wait has one only if all nodes are of equal speed.
    """
    jobs = _Jobs(problem, sharing, federation)
    makespan, flow = jobs.makespan(), jobs.flow()
    known = {"makespan": makespan, "flow": flow, "mean_response": flow / jobs.release.size, **jobs.energies(makespan)}
    if jobs.alike:
        known["mean_wait"] = max(0.0, (flow - float(jobs.shortest.sum())) / jobs.release.size)
    found = {name: rounded_down(value, problem.t0) for name, value in known.items()}
    return SharedBounds(found | jobs.costs(federation, makespan))


class _Jobs:
    """The jobs as areas: the least share of a node that each task takes, and its job's least run time."""

    def __init__(self, problem: Problem, sharing: Sharing, federation: Federation) -> None:
        kinds, nodes, of_job = sharing.kinds, sharing.nodes, sharing.kinds.of_job
        self.t0 = problem.t0
        self.count = np.diff(nodes.first)
        self.tasks, self.alone = kinds.tasks[of_job], kinds.alone[of_job] == 1
        self.open = kinds.opened[of_job] == 1
        self.release = np.maximum(problem.submit, problem.t0)
        self.late = float((self.release - problem.submit).sum())
        slow = problem.groups.slowdown
        each = problem.runtime[:, None] * (problem.sigma[:, None] * slow + (1.0 - problem.sigma[:, None]))
        self.duration = np.where(self.open, each, NO_FIT)  # jobs x groups
        self.shortest = self.duration.min(axis=1)
        self.alike = bool((slow == slow[0]).all())
        needs = [kinds.need[of_job, r] for r in range(nodes.has.shape[0])]
        has = [nodes.has[r] for r in range(nodes.has.shape[0])]
        if sharing.gpu >= 0:  # in thousandths of devices
            needs[sharing.gpu] = needs[sharing.gpu] * WHOLE + kinds.share[of_job]
            has[sharing.gpu] = has[sharing.gpu] * WHOLE
        self.needs, self.has = needs, has
        fit = np.full(self.open.shape, np.iinfo(np.int64).max)
        for need, there in zip(needs, has, strict=True):
            fit = np.minimum(fit, np.where(need[:, None] > 0, there // np.maximum(need[:, None], 1), fit))
        self.fit = fit
        self.cores = next(self.shares())  # each task's share of a node by cores, or of whole nodes
        busy, idle = np.array([(one.busy_watts, one.idle_watts) for one in federation.groups]).T
        self.drawn = problem.watts if problem.watts.size else np.broadcast_to(busy, self.open.shape)
        self.idle = np.minimum(idle, self.drawn.min(axis=0))  # jobs may draw less than idle nodes

    def shares(self) -> Iterator[Floats]:
        """Yield, for each resource and function f_k, a task's share of a node of each group (jobs × groups).

        It is inf if the job may not run there.
        """
        with np.errstate(divide="ignore", invalid="ignore"):
            whole = 1.0 / self.fit
        for need, has in zip(self.needs, self.has, strict=True):
            there, wanted = np.maximum(has, 1), need[:, None]
            for k in range(FINEST + 1):
                share = wanted / there
                if k > 0:
                    exact = (k + 1) * wanted % there == 0
                    share = np.where(exact, share, (k + 1) * wanted // there / k)
                yield np.where(self.open & (self.fit > 0), np.where(self.alone[:, None], whole, share), NO_FIT)

    def areas(self) -> Iterator[Floats]:
        """Yield, for each array of `shares`, each job's least node-seconds."""
        for share in self.shares():
            yield self.tasks * (np.where(share < NO_FIT, share * self.duration, NO_FIT)).min(axis=1)

    def makespan(self) -> float:
        """Return the bound on the makespan in seconds, by the longest job or by areas.

        Areas are those of jobs after some submit on some groups.
        """
        best, areas = float((self.release + self.shortest).max() - self.t0), list(self.areas())
        latest = np.argsort(-self.release, kind="stable")
        for nodes in np.unique(self.open, axis=0):
            within = latest[~(self.open[latest] & ~nodes).any(axis=1)]
            there = int(self.count[nodes].sum())
            for area in areas:
                ends = self.release[within] - self.t0 + np.cumsum(area[within]) / there
                best = max(best, float(ends.max()))
        return best

    def flow(self) -> float:
        """Return the bound on Σ(finish − submit): each job at once, or all on one machine, smallest areas first.

        On that machine the midpoints of runs are the earliest possible, and a job ends half its run after its
        midpoint.
        """
        best, nodes = float(self.shortest.sum()), int(self.count.sum())
        ahead = float((self.release - self.t0).sum())  # submits' distance from t0
        for area in self.areas():
            takes = np.sort(area) / nodes
            middles = float((np.cumsum(takes) - takes / 2.0).sum())
            best = max(best, middles + float(self.shortest.sum()) / 2.0 - ahead)
        return best + self.late

    def energies(self, makespan: float) -> dict[str, float]:
        """Return the bounds on busy energy and energy in joules, by name, if no watts are below 0.

        Each job's share of cores is used on the thriftiest nodes; for `energy` all nodes also idle for the
        makespan.
        """
        seconds = np.where(self.cores < NO_FIT, self.cores * self.duration, NO_FIT)
        found = {}
        if (self.drawn >= 0).all():
            found["busy_energy"] = float((self.tasks * _cheapest(seconds, self.drawn)).sum())
        if (self.idle >= 0).all():
            above = float((self.tasks * _cheapest(seconds, self.drawn - self.idle)).sum())
            found["energy"] = above + float(self.idle @ self.count) * makespan
        return found

    def costs(self, federation: Federation, makespan: float) -> dict[str, float]:
        """Return the bounds on cost and carbon, by name.

        Each job is alone at its cheapest place and time, and all nodes idle. Signals with values below 0 have
        no bound.
        """
        found = {}
        for metric, tariff in Pricing(federation).tariffs.items():
            if (self.idle >= 0).all() and all(min(signal.values) >= 0.0 for signal in tariff.signals):
                found[metric] = self._cost([tariff.curves[c] for c in federation.group_cluster], makespan)
        return found

    def _cost(self, curves: Sequence[Curve], makespan: float) -> float:
        span, idle = np.array([self.t0, self.t0 + makespan]), 0.0
        cost = np.full(self.open.shape, NO_FIT)
        for g, curve in enumerate(curves):
            idle += curve.signal.priced(float(self.idle[g] * self.count[g]) * float(np.diff(curve.integral(span))[0]))
            able = np.flatnonzero((self.cores[:, g] < NO_FIT) & self.open[:, g])
            stretch = cheapest(curve, self.release[able], self.duration[able, g])
            taken = self.tasks[able] * self.cores[able, g] * (self.drawn[able, g] - self.idle[g])
            cost[able, g] = curve.signal.priced(1.0) * taken * stretch
        return (1.0 - ROUNDING) * (idle + float(cost.min(axis=1).sum()))


def _cheapest(seconds: Floats, watts: Floats) -> Floats:
    with np.errstate(invalid="ignore"):  # watts of 0 times an infinite time
        return np.asarray(np.where(seconds < NO_FIT, seconds * watts, NO_FIT).min(axis=1))
