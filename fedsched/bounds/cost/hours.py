"""Lower bounds on the cost of a schedule by the federation's signals: work in the cheapest hours with enough nodes.

A schedule that ends between T and T' costs at least its idle nodes until T plus its jobs, all of which end by T'. The
jobs' part is bounded by a Lagrangian. Given any prices of node-seconds on top of the signals, each node of a job costs
at least as much as the cheapest stretch of its length from the job's release on; the price of the whole supply is
subtracted. Without an end T' there are no such prices, and each job is bounded as if it were alone. With signal values
below 0 a longer schedule could be cheaper, so nothing is proven for such signals.
"""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.bounds.cost.hour_prices import KINDS, UNDONE, NodeSet, NodeSetPrices, node_set_prices
from fedsched.bounds.cost.linear import within
from fedsched.model.schedule.power_draw import Pricing

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from fedsched.bounds.lower.relaxation import Relaxation
    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.power_draw import Tariff
    from fedsched.model.time.signal import Curve

    Floats = NDArray[np.float64]
    Ints = NDArray[np.int64]

ROUNDING = 1e-9  # sums of integrals may be too high by this share
AT_ONCE = 1_000_000  # begins of stretches that are computed together


def at_least(curve: Curve, lasts: Floats) -> Floats:
    """Return a lower bound on the signal's integral over any stretch of each length: the least value × length."""
    return np.asarray((1.0 - ROUNDING) * curve.values.min() * lasts)


def cheapest(curve: Curve, release: Floats, lasts: Floats, until: float = math.inf) -> Floats:
    """Return the least integral of the signal over a stretch of each length that begins at the release or later.

    Its slope changes only if the stretch begins or ends at a step. The least is therefore at such a begin, at the
    release, or at the last begin within the signal. When time is up (`until`, by `time.perf_counter`), the signal's
    least value is used instead.
    """
    signal, steps = curve.signal, curve.times
    assert signal.until is not None
    if signal.beyond == "repeat" and math.isfinite(signal.until):  # a whole period is to come, whatever the release
        length, which = np.unique(lasts, return_inverse=True)
        first = steps[0] - length
    else:
        length, which, first = lasts, np.arange(lasts.size), release
        steps = np.unique(np.append(steps, signal.until if math.isfinite(signal.until) else steps[-1]))
    found = at_least(curve, length)
    step = max(1, AT_ONCE // (2 * steps.size + 1))
    for rows in np.array_split(np.arange(length.size), max(1, math.ceil(length.size / step))):
        if time.perf_counter() >= until:
            break
        earliest, long = first[rows, None], length[rows, None]
        begins = np.concatenate([earliest, np.tile(steps, (rows.size, 1)), steps - long], axis=1)
        begins = np.maximum(begins, earliest)
        found[rows] = (curve.integral(begins + long) - curve.integral(begins)).min(axis=1)
    return np.maximum(found, 0.0)[which]


SPLITS = 8  # of the range of makespans; each needs a solver
STEPS = 11  # of prices that follow the jobs' choices
KEPT = 0.5  # weight of the best prices so far, in the next ones
DOUBLINGS = 20  # of the least makespan, until idle nodes cost more than jobs can save
MOST = 100_000_000  # entries for a value: beyond, each job is bounded as if it were alone
MOST_STEPS = 50_000  # of a repeating signal: beyond, each job is bounded by one period of it


class Chosen(NamedTuple):
    """The cheapest choice of each job or shape of a job: its price, and its nodes and begin in each node set."""

    paid: Floats
    nodes: Ints  # job × room
    begins: Floats  # job × room

    def of(self, rows: Ints) -> Chosen:
        """Return the choices of some rows (jobs or shapes) only."""
        return Chosen(self.paid[rows], self.nodes[rows], self.begins[rows])


class Choices:
    """The jobs' choices so far in the node sets, from which better prices follow; time is cut at the prices' edges."""

    def __init__(self, rooms: Sequence[NodeSet], prices: NodeSetPrices) -> None:
        self.rooms, self.edges = rooms, prices.edges
        self.supply = (np.array([room.nodes for room in rooms])[:, None] * np.diff(prices.edges)).ravel()
        highest = max(float(room.rate.max(initial=0.0) * np.max(room.curve.values)) for room in rooms)
        self.undone = UNDONE * max(highest, float(prices.prices.max(initial=0.0)))
        self._costs: list[Floats] = []
        self._uses: list[Floats] = []

    def add(self, chosen: Chosen, rows: Ints) -> None:
        """Store one choice for each job: its cost, and its use of each node set and stretch of time.

        `rows` are the rows of the jobs' shapes in the node sets.
        """
        cost, use = np.zeros(rows.size), []
        for p, room in enumerate(self.rooms):
            begins, nodes = chosen.begins[:, p], chosen.nodes[:, p]
            ends = begins + room.lasts[rows]
            cost += nodes * room.rate[rows] * (room.curve.integral(ends) - room.curve.integral(begins))
            until = np.clip(ends[:, None], self.edges[:-1], self.edges[1:])
            use.append(nodes[:, None] * (until - np.clip(begins[:, None], self.edges[:-1], self.edges[1:])))
        self._costs.append(cost)
        self._uses.append(np.concatenate(use, axis=1))

    def prices(self, until: float) -> NodeSetPrices | None:
        """Return new prices: the multipliers of the supply in a program that mixes the stored choices.

        None if the solver finds nothing, or gives up at `until`.
        """
        from scipy.optimize import linprog
        from scipy.sparse import csr_matrix, hstack, identity

        jobs, chosen, scarce = self._costs[0].size, len(self._costs), self.supply.size
        use = csr_matrix(np.concatenate(self._uses).T / self.supply[:, None])
        ones = np.ones(jobs * chosen)
        each = csr_matrix(
            (ones, (np.tile(np.arange(jobs), chosen), np.arange(ones.size))), shape=(jobs, ones.size + scarce)
        )
        solved = linprog(
            np.concatenate([*self._costs, self.undone * self.supply]),
            A_ub=hstack([use, -identity(scarce)]).tocsr(),  # more than the supply, at a price
            b_ub=np.ones(scarce),
            A_eq=each,
            b_eq=np.ones(jobs),
            method="highs",
            options=within(until),
        )
        if solved.x is None or solved.ineqlin.marginals is None:
            return None
        found = np.maximum(-np.asarray(solved.ineqlin.marginals) / self.supply, 0.0)
        return NodeSetPrices(self.edges, found.reshape(len(self.rooms), -1))


def least_costs(
    federation: Federation,
    relaxation: Relaxation,
    makespan: float,
    *,
    shapes: Ints | None = None,
    latest: float = math.inf,
    closed: bool = False,
    until: float = math.inf,
) -> dict[str, float]:
    """Return lower bounds on cost and carbon by metric name, for signals for which something can be proven.

    Parameters
    ----------
    federation, relaxation
        The priced federation, and its jobs. Groups that some jobs may not use freely should be node classes of their
        own in the relaxation.
    makespan
        A lower bound on the makespan.
    shapes
        If the relaxation's rows are shapes of jobs: the first row of each job, which has one of its shapes.
    latest
        Bounds hold for schedules with a makespan up to this.
    closed
        Use no solver: bound the cost of each job as if it were alone.
    until
        When solvers must give up, by `time.perf_counter`.
    """
    found = {}
    for metric, tariff in Pricing(federation).tariffs.items():
        if all(min(signal.values) >= 0.0 for signal in tariff.signals):
            hours = _Hours(federation, relaxation, tariff, shapes, until)
            found[metric] = hours.least(makespan, latest, closed=closed)
    return found


class _Span(NamedTuple):
    """The schedules with a makespan between two values, and bounds on their cost and on their jobs' cost alone."""

    least: float
    first: float
    last: float
    work: float


class _Hours:
    """The computation of bounds on the cost of a relaxation's jobs on a federation by one tariff."""

    def __init__(
        self, federation: Federation, relaxation: Relaxation, tariff: Tariff, shapes: Ints | None, until: float
    ) -> None:
        self.relaxation, self.until = relaxation, until
        rows = np.arange(relaxation.tasks.size)
        self.first = rows if shapes is None else shapes  # the first row of each job's shapes
        self._shapes = np.split(rows, self.first[1:])
        self.idle: list[tuple[Curve, float]] = []
        rooms: dict[tuple[int, int], NodeSet] = {}
        for group, cluster, c in zip(
            federation.groups, federation.group_cluster, relaxation.group_class.tolist(), strict=True
        ):
            curve = tariff.curves[cluster]
            self.idle.append((curve, curve.signal.priced(float(relaxation.idle_watts[c]) * group.count)))
            more = relaxation.more_watts[:, c] if relaxation.more_watts.size else np.zeros(relaxation.tasks.size)
            nodes = group.count + (rooms[cluster, c].nodes if (cluster, c) in rooms else 0)
            rooms[cluster, c] = NodeSet(
                curve=curve,
                nodes=nodes,
                caps=np.minimum(relaxation.caps[:, c], nodes),
                lasts=relaxation.duration[:, relaxation.class_slowdown[c]],
                rate=curve.signal.priced(1.0) * (relaxation.extra_watts[c] + more),
            )
        self.rooms = list(rooms.values())
        ends = [one.until for one in tariff.signals if one.beyond == "refuse" and one.until is not None]
        self.reach = min(ends, default=math.inf) - relaxation.t0

    def least(self, makespan: float, latest: float, *, closed: bool) -> float:
        """Return a lower bound on the cost of schedules with a makespan from `makespan` to `latest` seconds.

        With `closed` no solver is used, and the cost of each job is bounded as if it were alone.
        """
        latest = max(makespan, min(latest, self.reach))
        if closed or self._too_many(min(latest, 2.0 * makespan)):
            return max(0.0, self._span(makespan, latest, self._work(latest, None)).least)
        spans = self._begun(makespan, latest)
        for _ in range(SPLITS):
            worst = min(spans)
            middle = (worst.first + worst.last) / 2.0 if worst.last < math.inf else 2.0 * worst.first
            if not worst.first < middle < worst.last or not self._helps(worst, middle):
                break
            spans.remove(worst)
            sooner = max(worst.work, self._priced(middle))
            spans += [self._span(worst.first, middle, sooner), self._span(middle, worst.last, worst.work)]
        return max(0.0, min(spans).least)

    def _helps(self, span: _Span, middle: float) -> bool:
        # Whether a span is worth splitting there; one without end is so only if idle nodes cost more from then on.
        if time.perf_counter() >= self.until or self._too_many(middle):
            return False
        return span.last < math.inf or self._idle(middle) > self._idle(span.first)

    def _begun(self, makespan: float, latest: float) -> list[_Span]:
        # A schedule may end at any time, but beyond some makespan idle nodes cost more than its jobs can save.
        if latest < math.inf:
            return [self._span(makespan, latest, self._priced(latest))]
        alone = self._span(makespan, latest, self._work(latest, None))
        last, work = makespan, math.inf
        for _ in range(DOUBLINGS):
            if time.perf_counter() >= self.until:
                break
            last *= 2.0
            work = work if work < math.inf else self._priced(last)
            if work < math.inf and self._idle(last) - self._idle(makespan) >= work - alone.work:
                return [self._span(makespan, last, self._priced(last)), self._span(last, latest, alone.work)]
        return [alone]

    def _too_many(self, last: float) -> bool:
        # Whether there are too many begins of stretches to try, or a signal repeats too often.
        begin = self.relaxation.t0
        counts = [room.curve.count(begin, begin + last) for room in self.rooms]
        again = [steps for steps, room in zip(counts, self.rooms, strict=True) if math.isfinite(room.curve.period)]
        return 2.0 * sum(counts) * self.relaxation.tasks.size > MOST or max(again, default=0.0) > MOST_STEPS

    def _span(self, first: float, last: float, work: float) -> _Span:
        return _Span(self._idle(first) * (1.0 - ROUNDING) + work, first, last, work)

    def _priced(self, last: float) -> float:
        # A lower bound on the jobs' cost, with a solver's prices or as if each were alone.
        jobs, alone = self.relaxation, self._paid(last, None)
        if self._too_many(last):
            return self._in_all(alone, None)
        rows, first, rooms = np.arange(jobs.tasks.size), self.first, self.rooms
        if first.size > KINDS and first.size < rows.size:  # each job in the shape that is cheapest for it alone
            rows = self._cheapest_shapes(alone)
            first, rooms = np.arange(rows.size), [room.of(rows) for room in rooms]
        span, release = (jobs.t0, jobs.t0 + last), jobs.t0 + jobs.release[rows]
        prices = node_set_prices(rooms, jobs.tasks[rows], release, first, span, self.until)
        return max(self._in_all(alone, None), -math.inf if prices is None else self._mended(last, prices))

    def _mended(self, last: float, prices: NodeSetPrices) -> float:
        # A lower bound on the jobs' cost, with these prices or with better ones that follow the choices of few jobs.
        chosen = self._chosen(last, prices)
        best = self._in_all(chosen.paid, prices)
        if self.first.size > KINDS or not math.isfinite(best):
            return best
        choices = Choices(self.rooms, prices)
        for _ in range(STEPS):
            rows = self._cheapest_shapes(chosen.paid)
            choices.add(chosen.of(rows), rows)
            following = choices.prices(self.until)
            if following is None or time.perf_counter() >= self.until:
                break
            now = prices._replace(prices=KEPT * prices.prices + (1.0 - KEPT) * following.prices)
            chosen = self._chosen(last, now)
            if (value := self._in_all(chosen.paid, now)) > best:
                best, prices = value, now
        return best

    def _cheapest_shapes(self, paid: Floats) -> Ints:
        # The row of each job's cheapest shape.
        return np.array([one[np.argmin(paid[one])] for one in self._shapes])

    def _idle(self, makespan: float) -> float:
        ends = np.array([self.relaxation.t0, self.relaxation.t0 + makespan])
        return float(sum(rate * np.diff(curve.integral(ends))[0] for curve, rate in self.idle))

    def _work(self, last: float, prices: NodeSetPrices | None) -> float:
        # A lower bound on the cost of all jobs that end by then: at these prices, minus the price of the supply.
        return self._in_all(self._paid(last, prices), prices)

    def _in_all(self, paid: Floats, prices: NodeSetPrices | None) -> float:
        # The cost of all jobs, each in its cheapest shape, minus the price of the supply.
        cost = float(np.minimum.reduceat(paid, self.first).sum())
        sold = 0.0 if prices is None else prices.total([room.nodes for room in self.rooms])
        return cost - sold - ROUNDING * (cost + sold) if cost < math.inf else math.inf

    def _paid(self, last: float, prices: NodeSetPrices | None) -> Floats:
        # A lower bound on the cost of each shape that ends by then, on its cheapest nodes.
        return self._chosen(last, prices).paid

    def _chosen(self, last: float, prices: NodeSetPrices | None) -> Chosen:
        jobs = self.relaxation
        looked = [self._each(p, last, prices) for p in range(len(self.rooms))]
        each, begins = (np.stack(part, axis=1) for part in zip(*looked, strict=True))
        order = np.argsort(each, axis=1)
        caps = np.take_along_axis(np.stack([room.caps for room in self.rooms], axis=1), order, axis=1)
        taken = np.clip(jobs.tasks[:, None] - (np.cumsum(caps, axis=1) - caps), 0, caps)
        cost = np.where(taken > 0, np.take_along_axis(each, order, axis=1), 0.0) * np.maximum(taken, 1)
        nodes = np.zeros_like(taken)
        np.put_along_axis(nodes, order, taken, axis=1)
        return Chosen(np.asarray(cost.sum(axis=1)), nodes, begins)

    def _each(self, p: int, last: float, prices: NodeSetPrices | None) -> tuple[Floats, Floats]:
        # The least cost of a node of each job in a room (inf if it cannot end by then), and the begin that has it.
        room, jobs = self.rooms[p], self.relaxation
        release = jobs.t0 + jobs.release
        if last == math.inf:
            return room.rate * cheapest(room.curve, release, room.lasts, self.until), release
        end = jobs.t0 + last
        many = math.isfinite(room.curve.period) and self._too_many(last)
        edges = np.append(
            room.curve.times if many else room.curve.changes(jobs.t0, end), [] if prices is None else prices.edges
        )
        latest = end - room.lasts + ROUNDING * max(1.0, abs(end))
        found = np.where(release <= latest, room.rate * at_least(room.curve, room.lasts), np.inf)
        begun = release.copy()
        step = max(1, AT_ONCE // (2 * edges.size + 2))
        for rows in np.array_split(np.arange(release.size), math.ceil(release.size / step)):
            if time.perf_counter() >= self.until:
                break
            first, length, final = release[rows, None], room.lasts[rows, None], latest[rows, None]
            begins = np.concatenate([first, final, np.tile(edges, (rows.size, 1)), edges - length], axis=1)
            if many:  # the cost repeats with the signal: the first possible begin stands for all
                begins = np.minimum(first + np.mod(begins - first, room.curve.period), final)
            begins = np.where((begins >= first) & (begins <= final), begins, first)
            stretch = room.curve.integral(begins + length) - room.curve.integral(begins)
            cost = room.rate[rows, None] * np.maximum(stretch, 0.0)
            if prices is not None:
                cost += np.maximum(prices.paid(p, begins + length) - prices.paid(p, begins), 0.0)
            best = cost.argmin(axis=1)[:, None]
            begun[rows] = np.take_along_axis(begins, best, axis=1)[:, 0]
            least = np.take_along_axis(cost, best, axis=1)[:, 0]
            found[rows] = np.where(release[rows] <= latest[rows], least, np.inf)
        return found, begun
