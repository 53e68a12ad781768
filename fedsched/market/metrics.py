"""Metrics of an assignment for users, owners and the virtual organisation."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.market.assignment import Assignment

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Users:
    """The results of an assignment for users: every field has one number per job; NaN if the job has no window.

    Parameters
    ----------
    start, runtime, finish, cost, cpu, energy
        Of each job's window.
    saving
        Budget less cost.
    alternatives
        The number of alternatives that each job had.

    Examples
    --------
    >>> plan = fs.market.schedule(fs.market.Jobs(jobs=5).batch(seed=1), fs.market.Domain().environment(seed=1))
    >>> bool((plan.users().saving >= 0).all())
    True
    """

    start: Floats
    runtime: Floats
    finish: Floats
    cost: Floats
    saving: Floats  # budget − cost
    cpu: Floats
    energy: Floats
    alternatives: Ints


@dataclass(frozen=True, slots=True, eq=False)
class Owners:
    """The results of an assignment for the nodes' owners: every field has one number per node.

    Parameters
    ----------
    sold
        Time units that jobs of the batch reserve.
    utilisation
        `sold` over the length of the scheduling interval.
    local
        The share of the interval that local tasks take.
    profit
        The price of the sold time.

    Examples
    --------
    >>> plan = fs.market.schedule(fs.market.Jobs(jobs=5).batch(seed=1), fs.market.Domain().environment(seed=1))
    >>> abs(float(plan.owners().profit.sum()) - plan.totals().cost) < 1e-6
    True
    """

    sold: Floats  # time units that jobs of the batch reserve
    utilisation: Floats  # sold over the scheduling interval
    local: Floats  # share of the interval that local tasks take
    profit: Floats  # the price of the sold time: sold · price if that does not change


@dataclass(frozen=True, slots=True)
class Totals:
    """Totals of a cycle for the virtual organisation; means are over the jobs with a window.

    Parameters
    ----------
    jobs, scheduled
        The number of jobs, and of those with a window.
    cost, cpu, energy
        Sums.
    start, runtime, finish, job_cost, job_cpu
        Means.
    makespan
        The last finish.
    alternatives
        The mean number of alternatives over all jobs.
    utilisation, idle
        The share of the domain's time that the batch takes, and that neither the batch nor local tasks take.

    Examples
    --------
    >>> plan = fs.market.schedule(fs.market.Jobs(jobs=5).batch(seed=1), fs.market.Domain().environment(seed=1))
    >>> plan.totals().jobs, plan.totals().scheduled
    (5, 5)
    """

    jobs: int
    scheduled: int
    cost: float
    cpu: float
    energy: float
    start: float  # mean
    runtime: float  # mean
    finish: float  # mean
    job_cost: float  # mean
    job_cpu: float  # mean
    makespan: float  # the last finish
    alternatives: float  # mean over all jobs
    utilisation: float  # share of the domain's time that the batch takes
    idle: float  # share that neither the batch nor local tasks take

    def as_dict(self) -> dict[str, float]:
        """Return the values by field name."""
        return asdict(self)


def users(assignment: Assignment) -> Users:
    """Return the start, finish, cost, saving and other figures of each job in an assignment."""
    budget = np.array([request.budget for request in assignment.batch])
    return Users(
        assignment.start,
        assignment.runtime,
        assignment.finish,
        assignment.cost,
        budget - assignment.cost,
        assignment.cpu,
        assignment.energy,
        assignment.alternatives,
    )


def owners(assignment: Assignment) -> Owners:
    """Return each node's sold time, utilisation, share of local tasks, and profit, in an assignment."""
    environment = assignment.environment
    sold, profit = np.zeros(len(environment)), np.zeros(len(environment))
    for j in np.flatnonzero(assignment.scheduled).tolist():
        nodes = assignment.nodes[j][assignment.nodes[j] >= 0]
        length = assignment.batch[j].length * environment.reference / environment.performance[nodes]
        sold[nodes] += length
        if environment.tariff is not None:
            profit[nodes] += environment.cost_of(nodes, assignment.start[j], length)
    if environment.tariff is None:
        profit = sold * environment.price
    free = np.bincount(environment.slots.node, weights=environment.slots.length, minlength=len(environment))
    return Owners(sold, sold / environment.length, 1.0 - free / environment.length, profit)


def totals(assignment: Assignment) -> Totals:
    """Return the sums and means of an assignment over its jobs."""
    done = assignment.scheduled
    environment = assignment.environment
    area = len(environment) * environment.length

    def mean(values: Floats) -> float:
        return float(values[done].mean()) if done.any() else float("nan")

    cpu = float(assignment.cpu[done].sum())
    return Totals(
        jobs=len(assignment),
        scheduled=int(done.sum()),
        cost=float(assignment.cost[done].sum()),
        cpu=cpu,
        energy=float(assignment.energy[done].sum()),
        start=mean(assignment.start),
        runtime=mean(assignment.runtime),
        finish=mean(assignment.finish),
        job_cost=mean(assignment.cost),
        job_cpu=mean(assignment.cpu),
        makespan=float(assignment.finish[done].max()) if done.any() else float("nan"),
        alternatives=float(assignment.alternatives.mean()),
        utilisation=cpu / area,
        idle=1.0 - environment.load - cpu / area,
    )
