"""Instances of the market studies: one cycle's nodes and jobs, drawn in whole numbers after the papers' settings.

A plan is a window for each job: its start and its nodes. The objectives are the cycle's totals.
"""

from __future__ import annotations

from fractions import Fraction
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

from fedsched.bench.documents import FORMAT, Document
from fedsched.bench.exact_numbers import Draws, decimal

if TYPE_CHECKING:
    from collections.abc import Callable

    from fedsched.comparison.markets import FixedMarketInstance
    from fedsched.market.assignment import Assignment
    from fedsched.market.environment import Environment
    from fedsched.market.requests import Request

INTERVAL, REFERENCE = 600, 2
OF_NODES = ("performance", "price", "watts")
LEVEL = Fraction(11, 10)  # the market price of a time unit of performance 1
CRITERIA = ("min_start", "min_runtime", "min_finish", "min_cost")  # from which users choose


class MarketDocument(Document):
    """An instance of the market studies: a cycle's nodes, their owners' use of them, and the jobs' requests."""

    @cached_property
    def environment(self) -> Environment:
        """Return the instance's nodes as an Environment: their free slots, performance, prices and watts."""
        import numpy as np

        from fedsched.market.environment import Environment
        from fedsched.market.slots import Timetable

        market = self.data["market"]
        busy = np.array([(node, begin, end) for node, spans in enumerate(market["busy"]) for begin, end in spans])
        local = Timetable(*busy.reshape(-1, 3).astype(np.int64).T)
        performance, price, watts = ([float(value) for value in market[name]] for name in OF_NODES)
        return Environment(
            slots=local.free(len(performance), 0.0, float(market["interval"])), performance=performance, price=price,
            watts=watts, interval=(0.0, float(market["interval"])), reference=float(market["reference"]),
        )  # fmt: skip

    @cached_property
    def batch(self) -> tuple[Request, ...]:
        """Return the jobs' requests, in the order of the batch."""
        from fedsched.market.requests import Request

        jobs = self.data["jobs"]
        columns = (jobs[name] for name in ("nodes", "length", "budget", "criterion"))
        return tuple(
            Request(nodes=nodes, length=float(length), budget=float(budget), criterion=criterion, name=str(j))
            for j, (nodes, length, budget, criterion) in enumerate(zip(*columns, strict=True), 1)
        )

    @property
    def size(self) -> int:
        """Return the number of jobs of the instance."""
        return len(self.data["jobs"]["nodes"])

    @property
    def parts(self) -> tuple[object, ...]:
        """Return a description of the nodes, as `bench show` prints it."""
        idle = 1.0 - self.environment.load
        return (f"{len(self.environment)} nodes that are free for {idle:.0%} of {INTERVAL} time units",)

    def instance(self, ask: str, optimum: float | None = None) -> FixedMarketInstance:
        """Return the problem of one objective, as `compare` takes it."""
        from fedsched.comparison.markets import FixedMarketInstance

        self.check(ask)
        return FixedMarketInstance(
            f"{self.name}/{ask}", tuple(ask.split("+")), optimum=optimum, environment=self.environment,
            batch=self.batch, source=self.sha256,
        )  # fmt: skip

    def assignment(self, start: list[float], nodes: list[list[int]]) -> Assignment:
        """Return the assignment in which each job has these nodes from its start on."""
        from fedsched.market.assignment import Assignment

        return Assignment.of_windows(self.batch, self.environment, start, nodes, method="a plan from a file")


def _local_tasks(draws: Draws) -> list[list[int]]:
    # The spans of an owner's own tasks, with gaps typical of that owner.
    spans: list[list[int]] = []
    now, gap = 0, draws.between(30, 200)
    while True:
        begin = now + draws.between(5, 2 * gap)
        end = min(begin + draws.between(10, 60), INTERVAL)
        if begin >= end:
            return spans
        spans.append([begin, end])
        now = end


def _cycle(name: str, nodes: int, jobs: int, seed: int, asks: tuple[str, ...]) -> Document:
    of_nodes, of_jobs = Draws(seed, nodes), Draws(seed, jobs, 1)
    speeds = [Fraction(of_nodes.between(20, 100), 10) for _ in range(nodes)]
    prices = [LEVEL * speed * Fraction(of_nodes.between(70, 130), 100) for speed in speeds]
    rows: dict[str, list[Any]] = {"nodes": [], "length": [], "budget": [], "criterion": []}
    for _ in range(jobs):
        tasks, length = of_jobs.between(2, 5), of_jobs.between(100, 200)
        worth = tasks * length * REFERENCE * LEVEL * Fraction(of_jobs.between(90, 160), 100)
        for column, value in zip(rows.values(), (tasks, length, decimal(worth), of_jobs.one_of(CRITERIA)), strict=True):
            column.append(value)
    return MarketDocument(
        {
            "format": FORMAT, "name": name, "version": 1, "family": "market", "objectives": list(asks),
            "about": f"{jobs} jobs that ask {nodes} nodes for windows within their budgets, beside the owners' tasks",
            "machine": f"market-{nodes}", "jobs": rows,
            "market": {
                "interval": INTERVAL, "reference": REFERENCE,
                "performance": [decimal(speed) for speed in speeds], "price": [decimal(price) for price in prices],
                "watts": [decimal(Fraction(135, 36) * speed**2) for speed in speeds],
                "busy": [_local_tasks(of_nodes) for _ in range(nodes)],
            },
        }
    )  # fmt: skip


# nodes, jobs, seed, objectives
CYCLES = (
    (24, 20, 501, ("cpu", "cost", "cpu+start")),
    (36, 30, 502, ("cpu", "finish")),
    (48, 40, 503, ("cpu", "cost")),
)
RECIPES: dict[str, Callable[[], Document]] = {
    f"market-{nodes}-{jobs}": partial(_cycle, f"market-{nodes}-{jobs}", nodes, jobs, seed, asks)
    for nodes, jobs, seed, asks in CYCLES
}
