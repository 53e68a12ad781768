"""Metaschedulers in a comparison: each seed draws one market cycle, the same for all methods."""

from __future__ import annotations

import hashlib
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, ClassVar

from fedsched.comparison.entrants import Outcome
from fedsched.core.errors import InfeasibleError, unknown_name
from fedsched.market.generator import Domain, Jobs
from fedsched.market.methods import METHODS, Method, schedule

if TYPE_CHECKING:
    from collections.abc import Sequence

    from fedsched.comparison.instances import Budget
    from fedsched.market.environment import Environment
    from fedsched.market.requests import Request

# Totals to minimise; `idle` is the share of the domain that is not used.
OBJECTIVES = ("cost", "cpu", "energy", "start", "runtime", "finish", "job_cost", "job_cpu", "makespan", "idle")


@dataclass(frozen=True, slots=True)
class MarketInstance:
    """An instance for metaschedulers: the totals of one cycle; the seed draws the domain and the batch of jobs.

    Parameters
    ----------
    name, objectives
        The name in tables, and the totals that are objectives.
    domain, jobs
        What draws the nodes, and what draws the batch; by default the paper's.
    optimum
        The first objective's best possible value, if it is known.

    Examples
    --------
    >>> from fedsched.compare import MarketInstance
    >>> problem = MarketInstance("domain", ("cost", "start"))
    >>> batch, environment = problem.cycle(seed=1)
    >>> len(batch)
    20
    """

    name: str
    objectives: tuple[str, ...] = ("cost",)
    domain: Domain = field(default_factory=Domain)
    jobs: Jobs = field(default_factory=Jobs)
    optimum: float | None = None
    drawn: ClassVar[bool] = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "objectives", tuple(self.objectives))
        for name in self.objectives:
            if name not in OBJECTIVES:
                raise unknown_name("objective of a market instance", name, OBJECTIVES)

    def cycle(self, seed: int) -> tuple[Sequence[Request], Environment]:
        """Return the batch and the domain that a seed draws."""
        return self.jobs.batch(seed, domain=self.domain), self.domain.environment(seed)

    def fingerprint(self) -> str:
        """Return a short hash of everything that defines the problem."""
        return hashlib.sha256(repr((self.objectives, self.domain, self.jobs)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class FixedMarketInstance(MarketInstance):
    """A given cycle: the same domain and batch for every seed; only methods draw by the seed.

    `source` identifies the cycle's data, for example by the hash of a file.
    """

    environment: Environment = field(kw_only=True)
    batch: tuple[Request, ...] = field(kw_only=True)
    source: str = field(kw_only=True)
    drawn: ClassVar[bool] = False

    def cycle(self, seed: int) -> tuple[Sequence[Request], Environment]:
        """Return the batch and its domain."""
        return self.batch, self.environment

    def fingerprint(self) -> str:
        """Return a short hash of everything that defines the problem."""
        return hashlib.sha256(repr((self.objectives, self.source)).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class MarketEntrant:
    """A method of `fedsched.market.METHODS`, or a similar one, as an entrant.

    Parameters
    ----------
    name
        The name in tables.
    method
        The method.

    Examples
    --------
    >>> from fedsched.compare import MarketEntrant, MarketInstance
    >>> runs = fs.compare(MarketInstance("domain"), [MarketEntrant.named("css")], [0], fs.Budget(evaluations=1))
    >>> runs.methods
    ('css',)
    """

    name: str
    method: Method
    runs_on: ClassVar[type] = MarketInstance

    @classmethod
    def named(cls, name: str) -> MarketEntrant:
        """Return the method of this name."""
        return cls(name, METHODS[name])

    def run(self, instance: MarketInstance, seed: int, budget: Budget) -> Outcome:
        """Return the totals of one cycle; a cycle in which a job finds no window is a failed run.

        Parameters
        ----------
        instance, seed, budget
            The problem, the seed of its domain and batch, and the budget.
        """
        if not isinstance(instance, MarketInstance):
            raise TypeError(f"{self.name} is a metascheduler: it runs on a MarketInstance, not on {instance.name!r}.")
        batch, environment = instance.cycle(seed)
        began = time.perf_counter()
        totals = schedule(batch, environment, method=self.method, seed=seed).totals()
        seconds = time.perf_counter() - began
        if totals.scheduled < totals.jobs:
            lacking = totals.jobs - totals.scheduled
            raise InfeasibleError(f"{lacking} of {totals.jobs} jobs found no window, so totals cannot be compared.")
        return Outcome.of_one(totals, instance.objectives, seconds=seconds)
