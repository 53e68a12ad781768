"""Request: what a job asks of a resource domain, and the criterion that its user minimises."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Real
from typing import TYPE_CHECKING

from fedsched.core.errors import InfeasibleError, shown
from fedsched.core.values import is_number
from fedsched.io.arguments import noun_of, workload_of
from fedsched.market.codes import CRITERIA, code_of

if TYPE_CHECKING:
    from fedsched.io.arguments import AnyJobs
    from fedsched.market.environment import Environment


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """A job of `nodes` parallel tasks that takes `length` on nodes of the reference performance.

    Parameters
    ----------
    nodes
        The number of slots that start together, each on a node of its own.
    length
        The length of the reservation on a node of the reference performance; it is shorter on faster nodes.
    budget
        The most that the whole window may cost.
    deadline
        The time by which every slot must end.
    min_performance
        Slower nodes are not suitable.
    criterion
        What the user minimises: min_start, min_finish, min_runtime, min_cost, min_cpu or min_energy.
    name
        The job's name in reports.

    Examples
    --------
    >>> fs.market.Request(nodes=2, length=40, budget=200, criterion="min_cost").criterion
    'min_cost'
    """

    nodes: int
    length: float
    budget: float = math.inf
    deadline: float = math.inf
    min_performance: float = 0.0
    criterion: str = "min_start"
    name: str = ""

    def __post_init__(self) -> None:
        who = f"Request {self.name}".strip()
        number = isinstance(self.nodes, Real) and not isinstance(self.nodes, bool)
        if not number or not 1 <= self.nodes < math.inf or int(self.nodes) != self.nodes:
            raise ValueError(f"{who}: nodes={self.nodes!r} must be a whole number of at least 1.")
        if not (is_number(self.length) and self.length > 0):
            raise ValueError(f"{who}: length={self.length!r} must be finite and above 0.")
        for name in ("budget", "deadline"):
            limit = getattr(self, name)
            if not isinstance(limit, Real) or isinstance(limit, bool):
                raise TypeError(f"{who}: {name}={shown(limit)} must be a number.")
            if math.isnan(limit):
                raise ValueError(f"{who}: {name} must not be nan; leave it out if there is none.")
        if self.budget < 0:
            raise ValueError(f"{who}: budget={self.budget!r} must be at least 0.")
        if not (is_number(self.min_performance) and self.min_performance >= 0):
            raise ValueError(f"{who}: min_performance={self.min_performance!r} must be finite and at least 0.")
        code_of("criterion", self.criterion, CRITERIA)


def requests_of(
    workload: AnyJobs,
    *,
    price: float = 1.0,
    budget: float = math.inf,
    criterion: str = "min_start",
    deadline: float = math.inf,
) -> list[Request]:
    """Return a request for each job of a workload, with its tasks and its requested time as length.

    Parameters
    ----------
    workload
        The jobs; their submit times are ignored: a batch waits at the interval's begin.
    price
        The market price of a time unit on a reference node.
    budget
        Each job's budget as a multiple of its market value (tasks × estimate × price).
    criterion, deadline
        As of `Request`, for all jobs.

    Examples
    --------
    >>> batch = fs.market.requests_of(fs.Workload(submit=[0, 0], tasks=[4, 8], runtime=[600, 900]), budget=3.0)
    >>> batch[0].nodes, batch[0].length, batch[0].budget
    (4, 600.0, 7200.0)
    """
    workload = workload_of("requests_of", "workload", workload)
    if not is_number(price) or price < 0:
        raise ValueError(f"requests_of: price={price!r} must be finite and at least 0.")
    return [
        Request(
            nodes=tasks,
            length=length,
            budget=math.inf if budget == math.inf else budget * tasks * length * price,
            criterion=criterion,
            deadline=deadline,
            name=str(job),
        )
        for tasks, length, job in zip(
            workload.tasks.tolist(), workload.estimate.tolist(), workload.id.tolist(), strict=True
        )
    ]


def name_of(batch: Sequence[Request], j: int) -> str:
    """Return job j's name in reports; if it has none, its place in the batch, counted from 0."""
    return batch[j].name or str(j)


def check_batch(batch: Sequence[Request], environment: Environment) -> None:
    """Raise if the batch is empty or of a wrong type, or a request asks for more nodes than the environment has."""
    from fedsched.market.environment import Environment

    noun_of("market", "environment", environment, Environment, "one, as Domain(nodes=20).environment(0)")
    if not isinstance(batch, Sequence):
        raise TypeError(f"market: batch={shown(batch)} must be a list of requests, as [Request(nodes=2, length=60.0)].")
    if not len(batch):
        raise ValueError("The batch is empty; give at least one Request.")
    for j, request in enumerate(batch):
        noun_of("market", f"batch[{j}]", request, Request, "one, as Request(nodes=2, length=60.0)")
        if request.nodes > len(environment):
            raise InfeasibleError(
                f"Job {name_of(batch, j)}: nodes={request.nodes} exceeds the environment's {len(environment)} nodes; "
                "ask for fewer."
            )
