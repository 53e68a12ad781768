"""Figures of recorded and simulated starts: waits, their moving averages, nodes in use, and figures by kind of job."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.io.slurm_files.hosts import hosts_of
from fedsched.model.jobs.labels import distinct

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.site.twin.replaying import Replayed

    Column = NDArray[np.float64]

FORTNIGHT = 14 * 86_400.0
POINTS = 400  # of a curve, at most
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
HPE_FASTSIM = 0.073  # MAPE of the two-week moving average of waits that its authors report
HEAVIEST = (("the 1 % of users with most node-hours", 0.01), ("the next 9 %", 0.10), ("all other users", 1.0))


class Kind(NamedTuple):
    """Figures of one group of jobs: their number, mean recorded and simulated wait in seconds, share of equal starts.

    `later` is the median number of seconds by which they start later than recorded.
    """

    name: str
    jobs: int
    recorded: float
    simulated: float
    equal: float
    later: float


@dataclass(frozen=True, slots=True)
class Averages:
    """Moving averages of waits in seconds, over the jobs that started in the `period` before each moment.

    Moments are in days since the dump's beginning.
    """

    days: Column
    recorded: Column
    simulated: Column
    period: float  # seconds

    @property
    def error(self) -> float:
        """Return the mean absolute percentage error of the simulated averages, as a share; NaN if no job waited.

        Moments with a recorded average of 0 do not count.
        """
        known = self.recorded > 0
        if not known.any():
            return float("nan")
        return float(np.mean(np.abs(self.simulated[known] - self.recorded[known]) / self.recorded[known]))


@dataclass(frozen=True, slots=True)
class InUse:
    """The mean number of nodes in use in each of many intervals, recorded and simulated, and the number of nodes.

    `days` are the intervals' middles, in days since the dump's beginning.
    """

    days: Column
    recorded: Column
    simulated: Column
    nodes: int


def waits(replay: Replayed) -> tuple[Column, Column]:
    """Return how long each compared job waited since its submission, recorded and simulated, in seconds.

    A simulated wait is NaN if the job does not start.
    """
    problem = replay.problem
    submit = replay.site.records.submit[problem.rows] - replay.site.zero
    mine = problem.compared
    return (problem.start - submit)[mine], (replay.schedule.start - submit)[mine]


def quantiles(replay: Replayed) -> dict[float, float]:
    """Return, by share, quantiles of the seconds by which the compared jobs start later than recorded.

    Jobs that do not start are left out. NaN if there is none.
    """
    later = replay.later[np.isfinite(replay.later)]
    return {share: float(np.quantile(later, share)) if later.size else float("nan") for share in QUANTILES}


def signs(replay: Replayed) -> tuple[float, float]:
    """Return the shares of the compared jobs that start earlier, and later, by more than the tolerance `interval`.

    A job that does not start counts as later.
    """
    interval = replay.site.interval
    if not replay.later.size:
        return 0.0, 0.0
    return float((replay.later < -interval).mean()), float((replay.later > interval).mean())


def averages(replay: Replayed) -> Averages:
    """Return the moving averages of waits over two weeks, or over a seventh of the recorded span if that is shorter.

    The simulated wait of a job that does not start counts as the whole span.
    """
    site = replay.site
    recorded, simulated = waits(replay)
    begun = replay.problem.start[replay.problem.compared] - site.recorded_from
    span = max(site.end - site.recorded_from, 1.0)
    period = min(FORTNIGHT, max(span / 7.0, 1.0))
    order = np.argsort(begun, kind="stable")
    simulated = np.where(np.isnan(simulated), site.end - site.begin, simulated)  # it waits to the end
    times = np.linspace(min(period, span), span, min(POINTS, max(2, int(span // 3600) + 2)))
    first = np.searchsorted(begun[order], times - period, side="right")
    last = np.searchsorted(begun[order], times, side="right")
    means = [_means(values[order], first, last) for values in (recorded, simulated)]
    there = last > first
    days = (times[there] + site.recorded_from - site.begin) / 86_400.0
    return Averages(days, means[0][there], means[1][there], period)


def _means(values: Column, first: NDArray[np.int64], last: NDArray[np.int64]) -> Column:
    sums = np.concatenate([[0.0], np.cumsum(values)])
    return np.asarray((sums[last] - sums[first]) / np.maximum(last - first, 1))


def in_use(replay: Replayed) -> InUse:
    """Return the mean numbers of nodes in use in equal intervals of the recorded span, recorded and simulated.

    The recorded ones are NaN if jobs share nodes and the record does not name the nodes of each.
    """
    site, problem = replay.site, replay.problem
    ends = np.where(np.isnan(site.records.end[problem.rows]), np.inf, site.records.end[problem.rows] - site.zero)
    tasks = problem.workload.tasks.astype(np.float64)
    edges = np.linspace(site.recorded_from, max(site.end, site.recorded_from + 1.0), POINTS + 1)
    if site.machine.shared:  # a node counts once, however many jobs share it
        busy = _busy_times(site.records.hosts[problem.rows], problem.start, ends)
        recorded = np.full(POINTS, np.nan) if busy is None else _mean_load(*busy, np.ones(len(busy[0])), edges)
    else:
        recorded = _mean_load(problem.start, ends, tasks, edges)
    finish = np.where(np.isnan(replay.schedule.finish), np.inf, replay.schedule.finish)
    simulated = _mean_load(replay.schedule.start, finish, tasks, edges)
    middle = (edges[1:] + edges[:-1]) / 2 - site.begin
    return InUse(middle / 86_400.0, recorded, simulated, problem.federation.nodes)


def _busy_times(hosts: NDArray[Any], start: Column, end: Column) -> tuple[Column, Column] | None:
    """Return the begins and ends of the times in which each node was busy, without overlaps.

    `hosts` are the names of each run's nodes as Slurm lists them. Runs without a start are ignored. None if a run with
    a start names no node.
    """
    rows = np.flatnonzero(~np.isnan(start))
    if (hosts[rows] == "").any():
        return None
    named = {text: hosts_of(text, "NodeList") for text in set(hosts[rows].tolist())}
    numbers: dict[str, int] = {}
    node = np.array([numbers.setdefault(name, len(numbers)) for text in hosts[rows].tolist() for name in named[text]])
    run = np.repeat(rows, [len(named[text]) for text in hosts[rows].tolist()])
    order = np.lexsort((start[run], node))
    runs = zip(node[order].tolist(), start[run[order]].tolist(), end[run[order]].tolist(), strict=True)
    busy: list[list[float]] = []
    last = -1
    for where, begin, until in runs:
        if where == last and begin <= busy[-1][1]:
            busy[-1][1] = max(busy[-1][1], until)
        else:
            busy.append([begin, until])
            last = where
    begins, ends = np.array(busy, dtype=np.float64).reshape(-1, 2).T
    return begins, ends


def _mean_load(start: Column, end: Column, tasks: Column, edges: Column) -> Column:
    """Return the mean number of running tasks between each two consecutive edges; runs without a start are ignored."""
    ran = ~np.isnan(start)

    def area(times: Column, weights: Column) -> Column:
        order = np.argsort(times, kind="stable")
        times, weights = times[order], weights[order]
        at = np.searchsorted(times, edges, side="right")
        sums = np.concatenate([[0.0], np.cumsum(weights)])[at]
        moments = np.concatenate([[0.0], np.cumsum(weights * times)])[at]
        return np.asarray(sums * edges - moments)

    over = np.isfinite(end) & ran
    total = area(start[ran], tasks[ran]) - area(end[over], tasks[over])
    return np.diff(total) / np.diff(edges)


def kinds(replay: Replayed) -> dict[str, list[Kind]]:
    """Return figures of groups of the compared jobs: lists under "partition", "QOS", "size" and "users".

    Users are grouped by their node-hours. A list that would be empty is left out.
    """
    problem = replay.problem
    rows = problem.rows[problem.compared]
    records = replay.site.records
    labels = {name: records.labels[label][rows] for name, label in (("partition", "partition"), ("QOS", "qos"))}
    found = {name: _grouped(replay, *distinct(values)) for name, values in labels.items() if (values != "").any()}
    found["size"] = _grouped(replay, *_sizes(records.nodes[rows]))
    found["users"] = _grouped(replay, *_classes(replay, rows))
    return {name: of for name, of in found.items() if len(of)}


def _grouped(replay: Replayed, names: list[str], which: NDArray[np.int64]) -> list[Kind]:
    recorded, simulated = waits(replay)
    found = []
    for k, name in enumerate(names):
        mine = which == k
        if mine.any():
            begun = mine & ~np.isnan(simulated)
            later = replay.later[mine]
            later = later[np.isfinite(later)]
            found.append(
                Kind(
                    name or "(none)", int(mine.sum()), float(recorded[mine].mean()),
                    float(simulated[begun].mean()) if begun.any() else float("nan"),
                    float(replay.equal[mine].mean()), float(np.median(later)) if later.size else float("nan"),
                )
            )  # fmt: skip
    return found


def _sizes(nodes: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of size classes (1, 2 to 4, 5 to 16, … nodes), and the class of each job."""
    limits = [1]
    while limits[-1] < nodes.max(initial=1):
        limits.append(limits[-1] * 4)
    lows = [1, *(limit + 1 for limit in limits[:-1])]
    names = [
        f"{low:,} to {high:,} nodes" if low < high else f"{low} node" for low, high in zip(lows, limits, strict=True)
    ]
    return names, np.searchsorted(limits, nodes)


def _classes(replay: Replayed, rows: NDArray[np.int64]) -> tuple[list[str], NDArray[np.int64]]:
    """Return the names of three classes of users by node-hours of recorded runs, and each row's class as an index."""
    records = replay.site.records
    run = np.nan_to_num(records.end - records.start, nan=0.0)
    used = np.bincount(records.user, weights=run * records.nodes)
    rank = np.empty(len(used))
    rank[np.argsort(-used, kind="stable")] = np.arange(len(used)) / max(len(used), 1)
    limits = [limit for _, limit in HEAVIEST]
    of_user = np.searchsorted(limits, rank, side="right")
    return [name for name, _ in HEAVIEST], of_user[records.user[rows]]
