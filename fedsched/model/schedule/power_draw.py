"""The power that a schedule draws over time, and what it costs by the federation's prices and carbon signals [65]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.model.power.switching import watts_off
from fedsched.model.power.watts import extra_watts, watts_of
from fedsched.model.schedule.lost import finished_runs
from fedsched.model.schedule.off_spans import spans_of
from fedsched.model.time.signal import KIND_OF, Curve, signals_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.machine.federation import Federation
    from fedsched.model.schedule.lost import RunTable
    from fedsched.model.schedule.metrics import Metrics
    from fedsched.model.schedule.off_spans import GroupOffSpans
    from fedsched.model.schedule.promises import Promises
    from fedsched.model.schedule.schedule import Schedule

    Floats = NDArray[np.float64]


class Draws(NamedTuple):
    """Intervals, one per row, in which a cluster draws additional watts; the watts of overlapping intervals add up."""

    begin: Floats
    end: Floats
    watts: Floats
    cluster: NDArray[np.int64]


class Power(NamedTuple):
    """The watts of each cluster over time: `watts` (clusters × times) hold from each of the `times` until the next.

    The last time is the end of the schedule, with 0 watts.
    """

    times: Floats
    watts: Floats

    @property
    def total(self) -> Floats:
        """Return the watts of all clusters together from each time on."""
        return np.asarray(self.watts.sum(axis=0))

    @property
    def peak(self) -> float:
        """Return the greatest watts that all clusters together draw at any time."""
        return float(self.total.max(initial=0.0))


class Tariff:
    """The federation's signals of one kind, price or carbon, prepared to compute the cost of energy."""

    def __init__(self, federation: Federation, kind: str) -> None:
        names = [cluster.name for cluster in federation.clusters]
        self.signals = signals_of(federation.signals, kind, names)
        self.curves = [Curve(signal) for signal in self.signals]
        self._kinds = {(signal.constant, signal.unit) for signal in self.signals}  # precomputed: a year has many values

    def of(self, draws: Draws, energy: float) -> float:
        """Return the cost of these draws, `energy` joules in all, in currency or kilograms of CO2.

        Raise if a signal has no value at some time of the draws.
        """
        begin, end = float(draws.begin.min()), float(draws.end.max())
        for signal in self.signals:
            signal.check_reach(begin, end)
        [(value, _), *others] = self._kinds
        if value is not None and not others:  # the energy is known exactly (eq. 1.8), so no sum over draws is needed
            return self.signals[0].priced(energy * value)
        cost = 0.0
        for k, curve in enumerate(self.curves):
            own = draws.cluster == k
            lasts = curve.integral(draws.end[own]) - curve.integral(draws.begin[own])
            cost += curve.signal.priced(float(draws.watts[own] @ lasts))
        return cost


class Used(NamedTuple):
    """What a schedule draws, the joules saved compared to having all nodes on, and how often nodes went off."""

    draws: Draws
    spared: float  # joules
    switches: int


def used_by(runs: RunTable, federation: Federation, watts: Floats, t0: float, promises: Promises | None = None) -> Used:
    """Return what all nodes draw from t0 to the last end: those of runs, idle nodes, and nodes under power saving.

    `watts` is the result of `watts_of`.
    """
    draws = _always_on(runs, federation, watts, t0)
    if federation.power is None:
        return Used(draws, 0.0, 0)
    spans = spans_of(federation, runs, promises, t0)
    less = _switched(spans, federation, float(draws.end.max()))
    spared = -float(less.watts @ (less.end - less.begin))
    together = Draws(*(np.concatenate(columns) for columns in zip(draws, less, strict=True)))
    return Used(together, spared, int(spans.nodes.sum()))


def drawn_off(schedule: Schedule) -> Draws:
    """Return what a schedule's nodes draw while they shut down, are off and boot, minus their idle watts."""
    federation, runs = schedule.federation, finished_runs(schedule)
    spans = spans_of(federation, runs, schedule.promises, schedule.t0)
    return _switched(spans, federation, float(runs.end.max(initial=schedule.t0)))


def _switched(spans: GroupOffSpans, federation: Federation, last: float) -> Draws:
    # The watts of nodes that go off, minus their idle watts.
    groups = federation.groups
    of_state = np.array([watts_off(group) for group in groups]) - np.array([[group.idle_watts] for group in groups])
    seconds = np.array([(group.shutdown_seconds, group.boot_seconds) for group in groups])[spans.group]
    down, up = spans.off_at + seconds[:, 0], spans.boot_at + seconds[:, 1]
    stretches = ((2, spans.off_at, down), (0, down, spans.boot_at), (1, spans.boot_at, up))
    until = np.minimum(spans.until, last)
    cluster = np.array(federation.group_cluster, dtype=np.int64)[spans.group]
    return Draws(
        np.concatenate([np.minimum(begin, until) for _, begin, _ in stretches]),
        np.concatenate([np.minimum(end, until) for *_, end in stretches]),
        np.concatenate([of_state[spans.group, state] * spans.nodes for state, *_ in stretches]),
        np.tile(cluster, len(stretches)),
    )


def _always_on(runs: RunTable, federation: Federation, watts: Floats, t0: float) -> Draws:
    groups, of_group = federation.groups, np.array(federation.group_cluster, dtype=np.int64)
    last = float(runs.end.max(initial=t0))
    more = runs.counts * extra_watts(watts, groups, runs.job)
    run, g = np.nonzero(more)
    idle = np.array([group.idle_watts * group.count for group in groups])
    begin = np.maximum(runs.start, t0)
    return Draws(
        np.concatenate([np.full(len(groups), t0), begin[run]]),
        np.concatenate([np.full(len(groups), last), np.maximum(runs.end, begin)[run]]),
        np.concatenate([idle, more[run, g]]),
        np.concatenate([of_group, of_group[g]]),
    )


def drawing_of(schedule: Schedule) -> tuple[RunTable, Floats]:
    """Return all ended runs with their nodes of each group, or shares of them, and each node's watts under each job."""
    if (by_shares := getattr(schedule, "drawing", None)) is not None:  # for shared nodes
        runs, watts = by_shares()
        return runs, watts
    return finished_runs(schedule), watts_of(schedule.workload, schedule.federation.groups)


def power_of(schedule: Schedule) -> Power:
    """Return the watts that each cluster of a schedule draws over time, from t0 to the last end."""
    runs, watts = drawing_of(schedule)
    used = used_by(runs, schedule.federation, watts, schedule.t0, schedule.promises)
    return _over_time(used.draws, len(schedule.federation.clusters))


def _over_time(draws: Draws, clusters: int) -> Power:
    times, place = np.unique(np.concatenate([draws.begin, draws.end]), return_inverse=True)
    change = np.zeros((clusters, times.size))
    begins, ends = np.split(place.reshape(-1), 2)
    np.add.at(change, (draws.cluster, begins), draws.watts)
    np.add.at(change, (draws.cluster, ends), -draws.watts)
    watts = np.cumsum(change, axis=1)
    watts[:, -1] = 0.0  # exactly 0, without rounding errors
    return Power(times, watts)


class Pricing:
    """A federation's prices and carbon signals, prepared to compute cost metrics of many schedules."""

    def __init__(self, federation: Federation) -> None:
        self.federation = federation
        tariffs = {metric: Tariff(federation, kind) for metric, kind in KIND_OF.items()}
        self.tariffs = {metric: tariff for metric, tariff in tariffs.items() if tariff.signals}

    def measures(
        self,
        runs: RunTable,
        watts: Floats,
        t0: float,
        energy: float,
        idle_energy: float,
        promises: Promises | None = None,
    ) -> dict[str, float]:
        """Return the metrics of cost, carbon and peak power of runs from t0 on, by name.

        `energy` and `idle_energy` are in joules with all nodes on. With power saving, the result also has the energies
        reduced by what it saves, the number of switches, and the mean wait for boots.
        """
        federation = self.federation
        used = used_by(runs, federation, watts, t0, promises)
        found: dict[str, float] = {}
        if federation.power is not None:
            energy -= used.spared
            waits = np.zeros(1) if promises is None else runs.start - promises.time[runs.job]
            found = {"energy": energy, "idle_energy": idle_energy - used.spared}
            found |= {"switches": float(used.switches), "boot_wait": float(waits.mean())}
        found |= {metric: tariff.of(used.draws, energy) for metric, tariff in self.tariffs.items()}
        return found | {"peak_watts": _over_time(used.draws, len(federation.clusters)).peak}


def power_measures(schedule: Schedule, row: Metrics) -> dict[str, float]:
    """Return a schedule's metrics of cost, carbon, peak power and power saving: see `Pricing.measures`.

    Empty if the federation has neither signals nor power saving, or if no job ran.
    """
    federation = schedule.federation
    if (not federation.signals and federation.power is None) or row.makespan != row.makespan:
        return {}
    runs, watts = drawing_of(schedule)
    return Pricing(federation).measures(
        runs, watts, schedule.t0, row.energy, row.idle_energy, promises=schedule.promises
    )
