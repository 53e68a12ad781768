"""The power that a schedule draws over time, and what it costs by the signals of its federation [65]."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.model.lost import held
from fedsched.model.signal import CARBON, PRICE, Curve, signals_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.model.federation import Federation
    from fedsched.model.lost import Held
    from fedsched.model.metrics import Metrics
    from fedsched.model.schedule import Schedule

    Floats = NDArray[np.float64]


class Draws(NamedTuple):
    """Stretches of time in which so many watts are drawn on a cluster, beside all others."""

    begin: Floats
    end: Floats
    watts: Floats
    cluster: NDArray[np.int64]


class Power(NamedTuple):
    """Watts over time: those of each cluster (a row each) from each time until the next; the last time is the end."""

    times: Floats
    watts: Floats

    @property
    def total(self) -> Floats:
        """Return the federation's watts."""
        return np.asarray(self.watts.sum(axis=0))

    @property
    def peak(self) -> float:
        """Return the most that the federation draws at a time."""
        return float(self.total.max(initial=0.0))


class Tariff:
    """What each cluster's joules cost, by the signals of a kind."""

    def __init__(self, federation: Federation, kind: str) -> None:
        names = [cluster.name for cluster in federation.clusters]
        self.signals = signals_of(federation.signals, kind, names)
        self.curves = [Curve(signal) for signal in self.signals]

    def of(self, draws: Draws, energy: float) -> float:
        """Return what these draws cost, which are of so much energy."""
        begin, end = float(draws.begin.min()), float(draws.end.max())
        for signal in self.signals:
            signal.check_reach(begin, end)
        [(value, _), *others] = {(signal.constant, signal.unit) for signal in self.signals}
        if value is not None and not others:  # of energy there is one sum, eq. 1.8
            return self.signals[0].priced(energy * value)
        cost = 0.0
        for k, curve in enumerate(self.curves):
            own = draws.cluster == k
            lasts = curve.integral(draws.end[own]) - curve.integral(draws.begin[own])
            cost += curve.signal.priced(float(draws.watts[own] @ lasts))
        return cost


def draws_of(runs: Held, federation: Federation, t0: float) -> Draws:
    """Return what idle nodes draw from t0 to the last end, and what runs draw more than these."""
    groups, of_group = federation.groups, np.array(federation.group_cluster, dtype=np.int64)
    last = float(runs.end.max(initial=t0))
    more = runs.counts * np.array([group.busy_watts - group.idle_watts for group in groups])
    run, g = np.nonzero(more)
    idle = np.array([group.idle_watts * group.count for group in groups])
    begin = np.maximum(runs.start, t0)
    return Draws(
        np.concatenate([np.full(len(groups), t0), begin[run]]),
        np.concatenate([np.full(len(groups), last), np.maximum(runs.end, begin)[run]]),
        np.concatenate([idle, more[run, g]]),
        np.concatenate([of_group, of_group[g]]),
    )


def power_of(schedule: Schedule) -> Power:
    """Return the watts that a schedule's clusters draw from t0 to the last end."""
    draws = draws_of(held(schedule), schedule.federation, schedule.t0)
    return _over_time(draws, len(schedule.federation.clusters))


def _over_time(draws: Draws, clusters: int) -> Power:
    times, place = np.unique(np.concatenate([draws.begin, draws.end]), return_inverse=True)
    change = np.zeros((clusters, times.size))
    begins, ends = np.split(place.reshape(-1), 2)
    np.add.at(change, (draws.cluster, begins), draws.watts)
    np.add.at(change, (draws.cluster, ends), -draws.watts)
    watts = np.cumsum(change, axis=1)
    watts[:, -1] = 0.0  # all is over then, whatever sums leave
    return Power(times, watts)


class Pricing:
    """What schedules on a federation cost by its signals, for one after the other."""

    def __init__(self, federation: Federation) -> None:
        self.federation = federation
        tariffs = {metric: Tariff(federation, kind) for metric, kind in (("cost", PRICE), ("carbon", CARBON))}
        self.tariffs = {metric: tariff for metric, tariff in tariffs.items() if tariff.signals}

    def measures(self, runs: Held, t0: float, energy: float) -> dict[str, float]:
        """Return what such runs cost from t0 on, which take so much energy with the idle nodes beside them."""
        draws = draws_of(runs, self.federation, t0)
        found = {metric: tariff.of(draws, energy) for metric, tariff in self.tariffs.items()}
        return found | {"peak_watts": _over_time(draws, len(self.federation.clusters)).peak}


def power_measures(schedule: Schedule, row: Metrics) -> dict[str, float]:
    """Return what a schedule costs, by metric; nothing where its federation has no signals, or no job has ended."""
    if not schedule.federation.signals or row.makespan != row.makespan:
        return {}
    return Pricing(schedule.federation).measures(held(schedule), schedule.t0, row.energy)
