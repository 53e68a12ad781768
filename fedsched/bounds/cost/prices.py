"""Prices for the Lagrangian over time: a first guess in closed form, then steps along its supergradient.

Nothing here proves anything: the result is prices, and `proven` gives the bound that they prove.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import numpy as np

from fedsched.bounds.cost.buckets import Prices, Scarce, Starts
from fedsched.bounds.lower.closed import squashed

if TYPE_CHECKING:
    from fedsched.bounds.cost.charges import Charge
    from fedsched.bounds.lower.relaxation import Floats, Ints, Relaxation
    from fedsched.bounds.lower.supply import ClosedCapacity

BUCKETS = 16  # for the first steps
STEPS = 60
PARTS = 4  # into which each bucket is cut for the last steps
LAST_STEPS = 15
HALVES = 2  # into which each is cut at the end, without further steps
SAMPLE = 300  # the first steps use at most this number of jobs, each of which stands for similar ones
MANY = 3000  # with more jobs the last steps would take too long
REACH, LAST_REACH = 0.1, 0.02  # the hoped rise of the bound, as a share of all prices: it sets the steps' length
PATIENCE = 4  # steps without a gain before the hoped rise is reduced
NO_GAIN = 1e-4
OTHERS = 0.3  # the pace of other things' prices, relative to that of nodes
LITTLE = 0.01  # of their price, for nodes if something else is scarce
HOPELESS = 5e-4


def find_prices(scarce: Scarce, charge: Charge, until: float) -> Prices:
    """Return good prices for a metric, by a walk on a sample of the jobs and then on all.

    At `until`, by `time.perf_counter`, the search stops with the best prices so far. With more than 3000 jobs only
    the sample is used.
    """
    jobs = scarce.relaxation.tasks.size
    rows, copies = _sample(scarce.relaxation)
    some = scarce.take(rows)
    tried = first_prices(scarce, charge)
    starts = Starts(some, charge, tried[0].edges, every=False)
    prices = max(tried, key=lambda guess: starts.value(guess, copies).bound)
    prices = climb_prices(some, charge, prices, copies, steps=STEPS, reach=REACH, until=until)
    if jobs > MANY or time.perf_counter() >= until:
        return prices
    prices = prices.finer(PARTS)
    prices = climb_prices(scarce, charge, prices, np.ones(jobs), steps=LAST_STEPS, reach=LAST_REACH, until=until)
    return prices.finer(HALVES)


def _sample(relaxation: Relaxation) -> tuple[Ints, Floats]:
    """Return at most 300 jobs that represent all, by release and work, and the number of jobs that each stands for."""
    jobs = relaxation.tasks.size
    if jobs <= SAMPLE:
        return np.arange(jobs), np.ones(jobs)
    order = np.lexsort((relaxation.tasks * relaxation.shortest, relaxation.release))
    ends = np.linspace(0, jobs, SAMPLE + 1).astype(np.int64)
    return order[(ends[:-1] + ends[1:]) // 2], np.diff(ends).astype(np.float64)


def first_prices(scarce: Scarce, charge: Charge) -> list[Prices]:
    """Return prices in closed form: of nodes by their speed, then of each other thing alone, by the jobs that wait.

    Take a machine of rate 1 that runs the jobs one after another, in order of work per weight. Its price at any
    time is the cost of a second of delay for all jobs that it has yet to finish before it idles.
    """
    relaxation = scarce.relaxation
    by_speed = 1.0 / relaxation.slowdown[scarce.slowdown]
    by_speed = by_speed / float(by_speed @ scarce.nodes)
    shares = np.eye(scarce.amounts.size) / np.maximum(scarce.amounts, 1.0)
    weight = charge.weight(relaxation)
    works = [_work(scarce, by_speed), *(need * relaxation.shortest for need in shares @ scarce.needs)]
    # Closed nodes slow down the machine's own clock.
    release, taken = scarce.taken.worked(relaxation.release), scarce.taken
    longest = max(works, key=lambda work: float(work.sum()))
    edges = _edges(taken.instants(_done(scarce, release, weight, longest)), taken)
    found = []
    for thing, work in enumerate(works, -1):
        profile = _waiting(taken.worked(edges), release, work, _done(scarce, release, weight, work), weight)[:, None]
        nothing = np.zeros((profile.size, scarce.amounts.size))
        found.append(
            Prices(edges, profile * by_speed, nothing) if thing < 0 else
            Prices(edges, profile * by_speed * LITTLE, profile * shares[thing])
        )  # fmt: skip
    return found


def _done(scarce: Scarce, release: Floats, weight: Floats, work: Floats) -> Floats:
    """Return when a machine of rate 1 finishes each job if it runs the released job of least work per weight."""
    least = 1e-12 * float(scarce.relaxation.shortest.max()) + 1e-300
    return squashed(release, work, np.maximum(work, least) / weight, remaining=False).completion


def _waiting(edges: Floats, release: Floats, work: Floats, done: Floats, weight: Floats) -> Floats:
    """Return the weight of all jobs that finish later in the same busy period, as a mean over each bucket of time."""
    order = np.argsort(done, kind="stable")
    later = np.append(np.cumsum(weight[order][::-1])[::-1], 0.0)
    instants = (edges[:-1, None] + (np.arange(8) + 0.5) / 8 * np.diff(edges)[:, None]).ravel()
    rests = _ends_of_busy_periods(release, work)
    rest = rests[np.minimum(np.searchsorted(rests, instants), rests.size - 1)]
    after = np.searchsorted(done[order], rest * (1 + 1e-9), side="right")
    waiting = later[np.searchsorted(done[order], instants)] - later[after]
    return np.asarray(np.maximum(waiting, 0.0).reshape(-1, 8).mean(axis=1))


def _work(scarce: Scarce, price: Floats) -> Floats:
    """Return each job's work on a machine of rate 1: the least that its run costs at these prices of a node-second."""
    relaxation = scarce.relaxation
    best = np.full(relaxation.tasks.size, np.inf)
    by_price = np.argsort(price, kind="stable")
    for v in range(relaxation.slowdown.size):
        order = by_price[scarce.slowdown[by_price] <= v]
        filled = np.minimum(scarce.caps[:, order].cumsum(axis=1), relaxation.tasks[:, None])
        cost = np.diff(filled, axis=1, prepend=0) @ price[order] * relaxation.duration[:, v]
        best = np.where(relaxation.usable[:, v], np.minimum(best, cost), best)
    return best


def _edges(done: Floats, taken: ClosedCapacity) -> Floats:
    """Return the buckets' edges in seconds: half of them by the ends of jobs, half evenly over time.

    If nodes close and open again, those times are edges too (a sample of them, if they are many).
    """
    last = float(done.max()) or 1.0  # 1 if all runs are below the clock's resolution
    by_jobs = np.quantile(done, np.linspace(0.0, 1.0, BUCKETS // 2 + 1)[1:])
    evenly = np.linspace(0.0, 1.5 * last, BUCKETS // 2 + 1)[1:]
    edges = np.unique(np.concatenate([[0.0], by_jobs, evenly, taken.edges(1.5 * last)]))
    return edges[np.diff(edges, prepend=-last) > 1e-6 * last]


def _ends_of_busy_periods(release: Floats, work: Floats) -> Floats:
    """Return when the busy periods of a machine of rate 1 end, ascending; it idles only if no released work is left."""
    order = np.argsort(release, kind="stable")
    begun = release[order]
    # The end of the first i jobs' work: max over k <= i of release_k + Σ work from k to i.
    total = np.cumsum(work[order])
    ends = np.maximum.accumulate(begun - np.concatenate([[0.0], total[:-1]])) + total
    return np.asarray(ends[np.append(begun[1:] > ends[:-1], True)])


def climb_prices(
    scarce: Scarce, charge: Charge, prices: Prices, copies: Floats, *, steps: int, reach: float, until: float
) -> Prices:
    """Return the best prices met on a walk along the supergradient of the bound, from these prices.

    A step aims at a value that exceeds the best one by a share `reach` of all prices (Polyak). After several steps
    without a gain, the walk goes back to the best prices and aims lower. Each price moves in proportion to itself.
    The walk ends after `steps` steps or at `until`.
    """
    starts = Starts(scarce, charge, prices.edges, every=False)
    lengths, amounts = prices.lengths[:, None], np.maximum(scarce.amounts, 1.0)
    a_second = prices.node @ scarce.nodes + prices.thing @ scarce.amounts  # the price of the whole supply
    paid = float(prices.lengths @ a_second)
    a_second = np.maximum(a_second, 1e-3 * float(a_second.max()) + 1e-300)[:, None]
    # Low prices move as if a part of the whole price were spent on them.
    pace = np.maximum(prices.node, OTHERS * a_second / scarce.nodes.sum()) / (lengths * scarce.nodes)
    thing_pace = np.maximum(prices.thing, OTHERS * a_second / amounts) / (lengths * amounts)
    best, kept, stalled = -np.inf, prices, 0
    for _ in range(steps):
        value = starts.value(prices, copies)
        stalled = 0 if value.bound > best + NO_GAIN * paid else stalled + 1
        if value.bound > best:
            best, kept = value.bound, prices
        if stalled >= PATIENCE:
            reach, stalled, prices = 0.6 * reach, 0, kept
            value = starts.value(prices, copies)
        square = float((pace * value.node**2).sum() + (thing_pace * value.thing**2).sum())
        if reach < HOPELESS or square <= 0.0 or time.perf_counter() >= until:
            break
        length = (best + reach * paid - value.bound) / square
        prices = Prices(
            prices.edges,
            np.maximum(prices.node + length * pace * value.node, 0.0),
            np.maximum(prices.thing + length * thing_pace * value.thing, 0.0),
        )
    return kept
