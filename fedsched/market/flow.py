"""Flow: jobs over successive scheduling cycles; jobs without a window wait for the next, sold windows stay sold."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import unknown_name
from fedsched.core.text import counted
from fedsched.market.codes import Figure
from fedsched.market.environment import Environment
from fedsched.market.methods import schedule
from fedsched.market.requests import check_batch
from fedsched.market.slots import Timetable

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    from fedsched.market.assignment import Assignment
    from fedsched.market.methods import Method
    from fedsched.market.requests import Request
    from fedsched.market.tariff import Prices

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]
    Bools = NDArray[np.bool_]
    Spans = tuple[Ints, Floats, Floats]

ORDERS = {
    "oldest": "those that have waited longest go first",
    "newest": "those that have just arrived go first",
}


@dataclass(frozen=True, slots=True, eq=False)
class FlowCycles:
    """The figures of each cycle of a flow: every field has one number per cycle.

    Parameters
    ----------
    begin
        When each cycle begins.
    arrived, carried
        Jobs that arrived for this cycle, and those that waited from an earlier one.
    served, gone, waiting
        Jobs that got a window, that gave up or passed their deadlines, and that wait for the next cycle.
    oldest, age
        The greatest and the mean age of the waiting jobs, in cycles.
    wait
        The mean wait of the served jobs, in cycles; NaN if none was served.
    cost
        The total cost of the served jobs.
    sold
        The windows' share of the nodes' time, from this cycle's begin to the next one's.

    Examples
    --------
    >>> flow = fs.market.flows_of({"bf": "backfilling"}, jobs=fs.market.Jobs(jobs=5), cycles=2)["bf"]
    >>> flow.cycles().arrived
    array([5, 5])
    """

    begin: Floats
    arrived: Ints  # jobs that arrived for this cycle
    carried: Ints  # jobs that waited from an earlier cycle
    served: Ints  # jobs that got a window
    gone: Ints  # jobs that gave up, or passed their deadlines
    waiting: Ints  # jobs that wait for the next cycle
    oldest: Ints  # the greatest age of a waiting job, in cycles
    age: Floats  # the waiting jobs' mean age, in cycles; 0 if none waits
    wait: Floats  # mean wait of the served jobs in cycles; NaN if none was served
    cost: Floats  # total cost of the served jobs
    sold: Floats  # windows' share of the nodes' time, from this cycle's begin to the next one's


@dataclass(frozen=True, slots=True)
class FlowTotals:
    """Totals of the whole flow; means are over the served jobs, if nothing else is said.

    Parameters
    ----------
    jobs, served, gone, waiting
        The number of jobs: all, with a window, that gave up or passed their deadlines, that wait at the end.
    wait, longest
        The mean wait in cycles, and the longest of all jobs.
    waited
        The share of the jobs that were not served in their first cycle.
    overtaken
        Later arrivals that were served earlier, mean over all jobs.
    delay
        The mean time from the begin of a job's first cycle to its start.
    runtime, cost, cpu
        Means of run time, cost and CPU time.
    sold
        The windows' share of the nodes' time, from the first cycle's begin to the last one's end.

    Examples
    --------
    >>> flow = fs.market.flows_of({"bf": "backfilling"}, jobs=fs.market.Jobs(jobs=5), cycles=2)["bf"]
    >>> flow.totals().jobs, flow.totals().gone
    (10, 0)
    """

    jobs: int
    served: int
    gone: int
    waiting: int  # at the end
    wait: float  # cycles, mean
    longest: int  # in cycles, of served, gone and waiting jobs alike
    waited: float  # share of all jobs that were not served in their first cycle
    overtaken: float  # later arrivals that were served earlier, mean over all jobs
    delay: float  # from the begin of the cycle in which a job arrived to its start, mean
    runtime: float
    cost: float
    cpu: float
    sold: float  # share of the nodes' time from the first cycle's begin to the last one's end

    def as_dict(self) -> dict[str, float]:
        """Return the values by field name."""
        return asdict(self)


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Flow:
    """The result of `schedule_flow`: what happened to each job over successive cycles; rows are in order of arrival.

    Parameters
    ----------
    environment, jobs, method
        The nodes over the whole time, all jobs, and the method.
    begin, period, horizon
        When each cycle begins, the time between two cycles, and the length of a cycle's interval.
    arrived
        The cycle in which each job arrived.
    served
        The cycle that gave it a window; -1: none.
    gone
        The last cycle of a job that gave up or passed its deadline; -1: it did neither.
    figures, nodes
        As of an assignment; NaN without a window.
    batches
        The rows of each cycle, in the order of its batch.
    plans
        The assignment of each cycle; None: it had no jobs.

    Examples
    --------
    >>> flow = fs.market.flows_of({"bf": "backfilling"}, jobs=fs.market.Jobs(jobs=5), cycles=2)["bf"]
    >>> int((flow.wait > 0).sum()), int(flow.waiting.sum())
    (0, 0)
    """

    environment: Environment  # over the whole time
    jobs: tuple[Request, ...]
    method: str
    begin: Floats  # of every cycle
    period: float
    horizon: float
    arrived: Ints  # the cycle in which each job arrived
    served: Ints  # the cycle that gave it a window; -1: none
    gone: Ints  # the last cycle it took part in before it gave up or passed its deadline; -1: it did neither
    figures: Floats  # as of an assignment; NaN without a window
    nodes: Ints
    batches: tuple[tuple[int, ...], ...]  # the rows in each cycle, in the order of its batch
    plans: tuple[Assignment | None, ...]  # None: the cycle had no jobs

    def __len__(self) -> int:
        return len(self.jobs)

    @property
    def waiting(self) -> Bools:
        """Return, for each job, whether it still waits at the end of the flow."""
        return (self.served < 0) & (self.gone < 0)

    @property
    def wait(self) -> Ints:
        """Return how many cycles each job waited: until it was served, gave up, or the flow ended."""
        last = np.where(self.served >= 0, self.served, np.where(self.gone >= 0, self.gone + 1, len(self.begin)))
        return last - self.arrived

    @property
    def delay(self) -> Floats:
        """Return the time from the begin of each job's first cycle to its window's start; NaN without a window."""
        return self.figures[:, Figure.START] - self.begin[self.arrived]

    @property
    def overtaken(self) -> Ints:
        """Return, for each job, how many jobs of later cycles were served while it waited."""
        until = self.arrived + self.wait
        served = self.served[None, :]
        earlier = (served >= 0) & (served < until[:, None]) & (self.arrived[None, :] > self.arrived[:, None])
        return np.asarray(earlier.sum(axis=1))

    def cycles(self) -> FlowCycles:
        """Return the numbers of jobs and other figures of every cycle."""
        count = len(self.begin)
        every = np.arange(count)[:, None]
        new = (self.arrived[None, :] == every).sum(axis=1)
        served = self.served[None, :] == every
        there = (self.arrived[None, :] <= every) & (every < (self.arrived + self.wait)[None, :])
        left = there & (self.gone[None, :] != every)
        age = every + 1 - self.arrived[None, :]
        waited = np.where(served, self.wait[None, :], 0).sum(axis=1)
        number = served.sum(axis=1)
        return FlowCycles(
            self.begin,
            new,
            np.array([len(batch) for batch in self.batches]) - new,
            number,
            (self.gone[None, :] == every).sum(axis=1),
            left.sum(axis=1),
            np.where(left, age, 0).max(axis=1, initial=0),
            np.where(left, age, 0).sum(axis=1) / np.maximum(left.sum(axis=1), 1),
            np.divide(waited, number, out=np.full(count, np.nan), where=number > 0),
            np.where(served, np.nan_to_num(self.figures[:, Figure.COST])[None, :], 0.0).sum(axis=1),
            np.array([self._sold(begin, begin + self.period) for begin in self.begin.tolist()]),
        )

    def totals(self) -> FlowTotals:
        """Return the numbers of jobs and the means over the whole flow; NaN for means if no job was served."""
        done = self.served >= 0

        def mean(values: NDArray[np.generic], rows: Bools = done) -> float:
            return float(values[rows].mean()) if rows.any() else float("nan")

        every = np.ones(len(self), np.bool_)
        return FlowTotals(
            jobs=len(self),
            served=int(done.sum()),
            gone=int((self.gone >= 0).sum()),
            waiting=int(self.waiting.sum()),
            wait=mean(self.wait),
            longest=int(self.wait.max(initial=0)),
            waited=mean(self.served != self.arrived, every),
            overtaken=mean(self.overtaken, every),
            delay=mean(self.delay),
            runtime=mean(self.figures[:, Figure.RUNTIME]),
            cost=mean(self.figures[:, Figure.COST]),
            cpu=mean(self.figures[:, Figure.CPU]),
            sold=self._sold(float(self.begin[0]), float(self.begin[-1]) + self.period),
        )

    def _sold(self, begin: float, end: float) -> float:
        _, start, stop = _sold(self.environment, self.jobs, self.figures, self.nodes)
        taken = np.minimum(stop, end) - np.maximum(start, begin)
        return float(np.maximum(taken, 0.0).sum()) / (len(self.environment) * (end - begin))

    def __str__(self) -> str:
        total = self.totals()
        return "\n".join(
            [
                f"{self.method}: {total.served} of {counted(total.jobs, 'job')} served in "
                f"{counted(len(self.begin), 'cycle')}, one every {self.period:g}, "
                f"{total.waiting} wait, {total.gone} have gone",
                *(f"  {name:<14} {value:,.6g}" for name, value in total.as_dict().items()),
            ]
        )


def schedule_flow(
    batches: Sequence[Sequence[Request]],
    environment: Environment,
    *,
    method: str | Method = "slicer",
    period: float,
    horizon: float | None = None,
    order: str = "oldest",
    patience: int | None = None,
    prices: Prices | None = None,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Flow:
    """Schedule jobs that arrive over successive cycles, and return the `Flow`: what happened to each job.

    Cycle c begins `c · period` after the environment's begin and sees its slots for the next `horizon`. New local tasks
    come into sight with time, and windows sold by earlier cycles stay sold. Jobs without a window wait.

    Parameters
    ----------
    batches
        The new jobs of each cycle, one batch a cycle; a batch may be empty.
    environment
        Nodes and free slots over the whole time: up to `horizon` after the last cycle's begin.
    method
        See `schedule`.
    period
        The time from one cycle to the next.
    horizon
        The length of a cycle's scheduling interval; by default the period.
    order
        "oldest": the longest-waiting jobs are first in the batch; "newest": the new jobs are first.
    patience
        A job gives up after this number of cycles without a window; by default never.
    prices
        How owners set prices in every cycle, from what it sees: `Hours` or `Demand`. By default prices stay.
    seed
        The first cycle's seed; see `schedule`.
    progress
        Called with cycles done and cycles in all.

    Examples
    --------
    >>> batches = [fs.market.Jobs(jobs=5).batch(seed=k) for k in (1, 2)]
    >>> domain = fs.market.Domain(interval=1200.0).environment(seed=1)
    >>> flow = fs.market.schedule_flow(batches, domain, method="backfilling", period=300, horizon=600)
    >>> flow.totals().jobs
    10
    """
    horizon = period if horizon is None else horizon
    begin = _checked(batches, environment, period, horizon, order, patience)
    jobs = tuple(request for batch in batches for request in batch)
    arrived = np.repeat(np.arange(len(batches)), [len(batch) for batch in batches])
    served, gone = np.full(len(jobs), -1), np.full(len(jobs), -1)
    figures = np.full((len(jobs), len(Figure)), np.nan)
    nodes = np.full((len(jobs), max((request.nodes for request in jobs), default=1)), -1, np.int64)
    busy = environment.busy
    taking: list[tuple[int, ...]] = []
    plans: list[Assignment | None] = []
    waiting: list[int] = []
    for c, now in enumerate(begin.tolist()):
        late = [j for j in waiting if jobs[j].deadline <= now]
        gone[late] = c - 1
        there = [j for j in waiting if gone[j] < 0] + np.flatnonzero(arrived == c).tolist()
        batch = there if order == "oldest" else sorted(there, key=lambda j: (-arrived[j], j))
        taking.append(tuple(batch))
        seen = _seen(environment, busy, _sold(environment, jobs, figures, nodes), now, now + horizon)
        seen = seen if prices is None else seen.priced(prices)
        plan = schedule([jobs[j] for j in batch], seen, method=method, seed=seed + c) if batch else None
        plans.append(plan)
        if plan is not None:
            rows = np.array(batch)[plan.scheduled]
            figures[rows] = plan.figures[plan.scheduled]
            nodes[rows, : plan.nodes.shape[1]] = plan.nodes[plan.scheduled]
            served[rows] = c
        waiting = [j for j in there if served[j] < 0]
        if patience is not None:
            gone[[j for j in waiting if c + 1 - arrived[j] >= patience]] = c
            waiting = [j for j in waiting if gone[j] < 0]
        if progress is not None:
            progress(c + 1, len(begin))
    for column in (begin, arrived, served, gone, figures, nodes):
        column.setflags(write=False)
    return Flow(
        environment=environment,
        jobs=jobs,
        method=next((plan.method for plan in plans if plan is not None), str(method)),
        begin=begin,
        period=float(period),
        horizon=float(horizon),
        arrived=arrived,
        served=served,
        gone=gone,
        figures=figures,
        nodes=nodes,
        batches=tuple(taking),
        plans=tuple(plans),
    )


def _checked(
    batches: Sequence[Sequence[Request]],
    environment: Environment,
    period: float,
    horizon: float,
    order: str,
    patience: int | None,
) -> Floats:
    """Return the time at which each cycle begins; raise ValueError for arguments that cannot make a flow."""
    if not len(batches):
        raise ValueError("schedule_flow: batches is empty; give the jobs of at least one cycle.")
    for name, value in (("period", period), ("horizon", horizon)):
        if not 0 < value < np.inf:
            raise ValueError(f"schedule_flow: {name}={value!r} must be finite and above 0.")
    if horizon < period:
        raise ValueError(
            f"schedule_flow: horizon={horizon!r} must be at least period={period!r}; no cycle sees the time between."
        )
    if order not in ORDERS:
        raise unknown_name("order", order, ORDERS)
    if patience is not None and patience < 1:
        raise ValueError(f"schedule_flow: patience={patience!r} must be at least 1 cycle; leave it out for no end.")
    first, last = environment.interval
    begin = first + period * np.arange(len(batches))
    if begin[-1] + horizon > last + 1e-9 * abs(last):
        raise ValueError(
            f"schedule_flow: {len(batches)} cycles every {period:g} see up to {begin[-1] + horizon:g}, but the "
            f"environment ends at {last:g}; give a longer one or fewer batches."
        )
    for batch in batches:
        if len(batch):
            check_batch(batch, environment)
    return np.asarray(begin)


def _sold(environment: Environment, jobs: Sequence[Request], figures: Floats, nodes: Ints) -> Spans:
    """Return three arrays, node, start and end, of every slot of all windows sold so far."""
    row, column = np.nonzero(nodes >= 0)
    node = nodes[row, column]
    work = np.array([request.length for request in jobs])[row] * environment.reference
    start = figures[row, Figure.START]
    return node, start, start + work / environment.performance[node]


def _seen(environment: Environment, busy: Timetable, sold: Spans, begin: float, end: float) -> Environment:
    """Return the environment of a cycle: what local tasks and sold windows leave free between two times."""
    node, start, stop = (np.concatenate(pair) for pair in zip((busy.node, busy.start, busy.end), sold, strict=True))
    order = np.lexsort((start, node))
    node, start, stop = node[order], start[order], stop[order]
    # By rounding, a window may end after the begin of the next one on its node.
    follows = node[1:] == node[:-1]
    stop[:-1][follows] = np.minimum(stop[:-1], start[1:])[follows]
    ahead = stop > begin
    taken = Timetable(node[ahead], start[ahead], stop[ahead])
    return Environment(
        slots=taken.free(len(environment), begin, end),
        performance=environment.performance,
        price=environment.price,
        watts=environment.watts,
        interval=(begin, end),
        reference=environment.reference,
        tariff=environment.tariff,
    )
