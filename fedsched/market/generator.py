"""Generated resource domains and batches: the simulation environment of Toporkov et al., fully parametrised."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.values import seed_of, whole
from fedsched.market.codes import CRITERIA, code_of
from fedsched.market.environment import Environment
from fedsched.market.requests import Request
from fedsched.market.slots import Timetable

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.market.tariff import Prices

    Floats = NDArray[np.float64]

Range = tuple[float, float]
USERS = ("min_start", "min_runtime", "min_finish", "min_cost")  # the criteria of the users in the paper


@dataclass(frozen=True, slots=True, kw_only=True)
class Pricing:
    """Owners' price of a time unit: level · r · (r/middle)^exponent · (1 + δ), δ normal, redrawn beyond ± clip.

    Parameters
    ----------
    level
        The price of a time unit on a node of performance 1 without the other terms.
    exponent, middle
        How much more than in proportion the price rises with performance, around this performance.
    deviation, clip
        The standard deviation of δ, and the largest δ that is kept.

    Examples
    --------
    >>> environment = fs.market.Domain(pricing=fs.market.Pricing(level=2.0)).environment(seed=1)
    >>> bool((environment.price > 2.0).all())
    True
    """

    level: float = 1.1
    exponent: float = 0.2
    middle: float = 6.0
    deviation: float = 0.2
    clip: float = 0.6

    def __post_init__(self) -> None:
        for name in ("level", "middle", "clip"):
            if not (np.isfinite(getattr(self, name)) and getattr(self, name) > 0):
                raise ValueError(f"Pricing: {name}={getattr(self, name)!r} must be finite and above 0.")
        if not 0 <= self.deviation < np.inf or not np.isfinite(self.exponent):
            raise ValueError(
                f"Pricing: deviation={self.deviation!r} must be finite and at least 0, "
                f"exponent={self.exponent!r} must be finite."
            )
        if self.clip > 1:
            raise ValueError(f"Pricing: clip={self.clip!r} must be at most 1, or prices could fall below 0.")

    def of(self, performance: Floats, rng: np.random.Generator | None = None) -> Floats:
        """Return a price for each performance; without a generator the market price, δ = 0.

        Parameters
        ----------
        performance
            The performance of each node.
        rng
            The generator that draws δ; None: δ = 0.
        """
        price = self.level * performance * (performance / self.middle) ** self.exponent
        if rng is None or self.deviation == 0:
            return np.asarray(price)
        extra = rng.normal(0.0, self.deviation, performance.shape)
        while (beyond := np.abs(extra) > self.clip).any():
            extra[beyond] = rng.normal(0.0, self.deviation, int(beyond.sum()))
        return np.asarray(price * (1.0 + extra))


@dataclass(frozen=True, slots=True, kw_only=True)
class Domain:
    """A generator of resource domains: it draws nodes, prices and the owners' local tasks at random.

    Parameters
    ----------
    nodes
        The number of nodes.
    performance
        Uniform between two values; the lower is the reference.
    interval
        The length of the scheduling interval, which begins at 0.
    busy
        The least and the greatest share of the interval that local tasks take of a node. Between them it is drawn as
        H/draws with H hypergeometric: `draws` from a population of `good` good and as many bad ones.
    local
        A local task's length, uniform between two values.
    pricing
        The price of a time unit.
    watts
        Power of a busy node of performance r: watts · (r/middle of performance)^power_exponent.
    prices
        How prices change over the interval: `Hours` or `Demand`; by default they stay.

    Examples
    --------
    >>> domain = fs.market.Domain(nodes=12)
    >>> domain.environment(seed=1).interval
    (0.0, 600.0)
    """

    nodes: int = 24
    performance: Range = (2.0, 10.0)
    interval: float = 600.0
    busy: Range = (0.1, 0.5)
    draws: int = 20
    good: int = 20
    local: Range = (10.0, 60.0)
    pricing: Pricing = field(default_factory=Pricing)
    watts: float = 135.0
    power_exponent: float = 2.0
    prices: Prices | None = None

    def __post_init__(self) -> None:
        for name in ("nodes", "draws", "good"):
            whole("Domain", name, getattr(self, name), least=1)
        for name in ("performance", "local"):
            low, high = getattr(self, name)
            if not 0 < low <= high < np.inf:
                raise ValueError(f"Domain: {name}={getattr(self, name)!r} must be two finite values above 0, in order.")
        if not 0 <= self.busy[0] <= self.busy[1] <= 1:
            raise ValueError(f"Domain: busy={self.busy!r} must be two shares between 0 and 1, in order.")
        if not 0 < self.interval < np.inf:
            raise ValueError(f"Domain: interval={self.interval!r} must be finite and above 0.")
        if not 1 <= self.draws <= 2 * self.good:
            raise ValueError(f"Domain: draws={self.draws!r} must lie between 1 and 2·good = {2 * self.good}.")
        if not (np.isfinite(self.watts) and self.watts >= 0 and np.isfinite(self.power_exponent)):
            raise ValueError(f"Domain: watts={self.watts!r} must be finite and at least 0, power_exponent finite.")

    def environment(self, seed: int = 0) -> Environment:
        """Return the environment (nodes, prices and free slots) that is drawn with this seed."""
        rng = np.random.default_rng([seed_of("Domain", seed), 0])
        performance = rng.uniform(*self.performance, self.nodes)
        drawn = rng.hypergeometric(self.good, self.good, self.draws, self.nodes) / self.draws
        share = self.busy[0] + (self.busy[1] - self.busy[0]) * drawn
        made = Environment(
            slots=self._local_tasks(share * self.interval, rng).free(self.nodes, 0.0, self.interval),
            performance=performance,
            price=self.pricing.of(performance, rng),
            watts=self.watts * (performance / np.mean(self.performance)) ** self.power_exponent,
            interval=(0.0, self.interval),
            reference=self.performance[0],
        )
        return made if self.prices is None else made.priced(self.prices)

    def _local_tasks(self, busy: Floats, rng: np.random.Generator) -> Timetable:
        # Tasks fill a node's share, the last one cut to it; sorted uniform numbers place them in the free time.
        most = int(np.ceil(self.interval * self.busy[1] / self.local[0])) + 1
        ends = np.minimum(np.cumsum(rng.uniform(*self.local, (self.nodes, most)), axis=1), busy[:, None])
        begins = np.pad(ends[:, :-1], ((0, 0), (1, 0)))
        tasks = ends > begins
        gaps = rng.uniform(size=(self.nodes, most)) * (self.interval - busy)[:, None]
        gaps[~tasks] = np.inf
        gaps.sort(axis=1)
        node, place = np.nonzero(tasks)
        start = gaps[node, place] + begins[node, place]
        end = np.minimum(gaps[node, place] + ends[node, place], self.interval)
        some = end > start
        return Timetable(node[some], start[some], end[some])


@dataclass(frozen=True, slots=True, kw_only=True)
class Jobs:
    """A generator of batches: it draws the jobs' sizes, lengths, budgets and criteria at random.

    Parameters
    ----------
    jobs
        The number of jobs.
    nodes
        The number of parallel tasks, uniform between two whole numbers, both included.
    length
        The length of the reservation on a node of the reference performance, uniform between two values.
    budget
        The budget as a multiple of the market value (tasks · length · reference · level), uniform between two values.
    criteria
        Each job's criterion is drawn from these with equal probability.
    min_performance
        The least performance of a job's nodes, uniform between two values; (0, 0) asks for none.

    Examples
    --------
    >>> batch = fs.market.Jobs(jobs=3, nodes=(2, 2)).batch(seed=1)
    >>> [request.nodes for request in batch]
    [2, 2, 2]
    """

    jobs: int = 20
    nodes: tuple[int, int] = (2, 5)
    length: Range = (100.0, 200.0)
    budget: Range = (0.9, 1.6)
    criteria: tuple[str, ...] = USERS
    min_performance: Range = (0.0, 0.0)

    def __post_init__(self) -> None:
        whole("Jobs", "jobs", self.jobs, least=1)
        for bound in self.nodes:
            whole("Jobs", "nodes", bound)
        if not 1 <= self.nodes[0] <= self.nodes[1]:
            raise ValueError(f"Jobs: nodes={self.nodes!r} must be two whole numbers of at least 1, in order.")
        if not 0 < self.length[0] <= self.length[1] < np.inf:
            raise ValueError(f"Jobs: length={self.length!r} must be two finite values above 0, in order.")
        if not 0 <= self.budget[0] <= self.budget[1] < np.inf:
            raise ValueError(f"Jobs: budget={self.budget!r} must be two finite values of at least 0, in order.")
        if not 0 <= self.min_performance[0] <= self.min_performance[1] < np.inf:
            raise ValueError(
                f"Jobs: min_performance={self.min_performance!r} must be two finite values of at least 0, in order."
            )
        if not self.criteria:
            raise ValueError("Jobs: criteria is empty; name at least one.")
        for criterion in self.criteria:
            code_of("criterion", criterion, CRITERIA)

    def batch(self, seed: int = 0, *, domain: Domain | None = None) -> list[Request]:
        """Return the requests that are drawn with this seed; budgets follow the domain's market price.

        Parameters
        ----------
        seed
            The seed of the draw.
        domain
            The domain with the prices that set the budgets; None: the paper's.
        """
        domain = domain or Domain()
        rng = np.random.default_rng([seed_of("Jobs", seed), 1])
        tasks = rng.integers(self.nodes[0], self.nodes[1] + 1, self.jobs)
        length = rng.uniform(*self.length, self.jobs)
        value = tasks * length * domain.performance[0] * domain.pricing.level
        budget = value * rng.uniform(*self.budget, self.jobs)
        wanted = rng.integers(0, len(self.criteria), self.jobs)
        least = rng.uniform(*self.min_performance, self.jobs)  # drawn last: batches without a minimum stay the same
        return [
            Request(nodes=m, length=t, budget=b, criterion=self.criteria[c], min_performance=r, name=str(j + 1))
            for j, (m, t, b, c, r) in enumerate(
                zip(tasks.tolist(), length.tolist(), budget.tolist(), wanted.tolist(), least.tolist(), strict=True)
            )
        ]
