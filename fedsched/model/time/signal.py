"""Signals: prices of energy, carbon intensities and power caps, which change in steps over time [65]."""

from __future__ import annotations

import math
import re
from dataclasses import dataclass, field
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FederationError, shortened
from fedsched.core.text import counted, one_line
from fedsched.core.values import MOST_SECONDS, is_number
from fedsched.model.jobs.validation import check_labels

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

BEYOND = ("refuse", "repeat", "last")
PRICE, CARBON, CAP = "price", "carbon", "cap"
KINDS = (PRICE, CARBON, CAP)
KIND_OF = {"cost": PRICE, "carbon": CARBON}  # the metrics that are energy times a signal
JOULES = {"kWh": 3.6e6, "MWh": 3.6e9}
KILOGRAMS = {"g": 1e-3, "kg": 1.0, "t": 1e3}
WATTS = {"W": 1.0, "kW": 1e3, "MW": 1e6}
MOST_DRAWN = 2000  # the most steps of a curve in a picture; a longer one is drawn as means of this many equal parts
MOST_LISTED = 100_000  # the most steps of a repeating signal that are listed to count the steps of a picture
_UNIT = re.compile(r"([^/\s]+)/(kWh|MWh)")


@dataclass(frozen=True, slots=True)
class Signal:
    """A price, a carbon intensity or a power cap as a step function: each value holds from its time to the next time.

    Parameters
    ----------
    times, values
        Seconds on the workload's clock, ascending, and as many values; only prices may be below 0.
    unit
        "g/kWh", "kg/MWh" and the like for carbon; any currency per kWh or MWh ("EUR/MWh") for a price; "W", "kW" or
        "MW" for a cap on the power draw.
    cluster
        The cluster that the signal applies to; "" (default) = all clusters without a signal of their own. A cap without
        a cluster applies to all clusters together, whatever caps they have of their own.
    until
        The end of the last step: by default it is as long as the step before it, and a single step has no end.
    beyond
        What holds outside the signal's range. "refuse" (default): no value, and costs there raise an error. "last": the
        last value, after the end. "repeat": the signal repeats periodically, before and after.
    held
        The number of steps without a value of their own; they repeat the value before them.
    forecast
        The signal that plans use instead, of the same unit and cluster; none (default) = plans know the signal itself.
        Figures always use the signal itself. Only plans use the forecast.
    notes
        What the reading of the signal's file assumed or altered.

    Examples
    --------
    >>> price = fs.Signal(times=(0, 3600), values=(80, 40), unit="EUR/MWh", beyond="repeat")
    >>> price.kind
    'price'
    >>> price.until
    7200.0
    """

    times: tuple[float, ...]
    values: tuple[float, ...]
    unit: str
    cluster: str = ""
    until: float | None = None
    beyond: str = "refuse"
    held: int = 0
    forecast: Signal | None = field(default=None, repr=False)
    # Assumptions made on reading it, a few words each.
    notes: tuple[str, ...] = field(default=(), repr=False, compare=False)

    def __post_init__(self) -> None:
        for name in ("times", "values"):
            given = getattr(self, name)
            if isinstance(given, str) or not hasattr(given, "__iter__"):
                raise FederationError(f"Signal: {name}={shortened(repr(given))} must be a sequence of numbers.")
            listed = list(given)
            wrong = next((one for one in listed if not is_number(one)), None)
            if wrong is not None:
                raise FederationError(f"Signal: {name} has {shortened(repr(wrong))}; each must be a finite number.")
            if (wrong := next((one for one in listed if abs(one) > MOST_SECONDS), None)) is not None:
                raise FederationError(f"Signal: {name} has {wrong!r}; each must be at most {MOST_SECONDS:g} from 0.")
            object.__setattr__(self, name, tuple(float(one) for one in listed))
        found = _UNIT.fullmatch(self.unit) if isinstance(self.unit, str) else None
        if found is None and self.unit not in WATTS:
            raise FederationError(
                f"Signal: unit={shortened(repr(self.unit))} must be a price like 'EUR/MWh', carbon like 'g/kWh', or W, "
                "kW or MW of a cap."
            )
        if not self.times or len(self.times) != len(self.values):
            raise FederationError(
                f"{self.where}: {counted(len(self.times), 'time')} and {counted(len(self.values), 'value')}; give at "
                "least one time, and a value for each."
            )
        for before, after in pairwise(self.times):
            if after <= before:
                raise FederationError(f"{self.where}: time {after!r} must be after {before!r}, the one before it.")
        if self.kind != PRICE and min(self.values) < 0:
            raise FederationError(f"{self.where}: value {min(self.values)!r} must be at least 0.")
        if self.beyond not in BEYOND:
            raise FederationError(f"{self.where}: beyond={self.beyond!r} is none of {', '.join(BEYOND)}.")
        object.__setattr__(self, "notes", tuple(map(str, self.notes)))
        if not isinstance(self.held, int) or isinstance(self.held, bool) or self.held < 0:
            raise FederationError(f"{self.where}: held={self.held!r} must be a whole number of at least 0.")
        if self.cluster:
            try:
                check_labels("Signal: cluster", (self.cluster,))
            except ValueError as error:
                raise FederationError(str(error)) from None
        last = self.times[-1]
        until = self.until
        if until is None:
            until = last + (last - self.times[-2]) if len(self.times) > 1 else math.inf
        if not (is_number(until) or until == math.inf) or not until > last:
            raise FederationError(f"{self.where}: until={until!r} must be after its last time, {last!r}.")
        if MOST_SECONDS < until < math.inf:
            raise FederationError(f"{self.where}: until={until!r} must be at most {MOST_SECONDS:g} s.")
        if self.beyond == "repeat" and until == math.inf and len(self.times) > 1:
            raise FederationError(f"{self.where}: beyond='repeat' needs the end of a period; give until=.")
        object.__setattr__(self, "until", float(until))
        if self.forecast is not None:
            self._check_forecast(self.forecast)

    def _check_forecast(self, forecast: object) -> None:
        if not isinstance(forecast, Signal):
            raise FederationError(f"{self.where}: forecast={shortened(repr(forecast))} must be a Signal, or None.")
        if self.kind == CAP:
            raise FederationError(f"{self.where} has a forecast, but caps are always known in advance; leave it out.")
        for name in ("unit", "cluster"):
            own, its = getattr(self, name), getattr(forecast, name)
            if own != its:
                raise FederationError(
                    f"{self.where}: its forecast has {name} {its!r}, but the signal has {own!r}; give both the same."
                )
        if forecast.forecast is not None:
            raise FederationError(f"{self.where}: its forecast has a forecast; give one that has none.")

    @property
    def kind(self) -> str:
        """Return "price", "carbon" or "cap", as the unit says."""
        if self.unit in WATTS:
            return CAP
        return CARBON if self.unit.partition("/")[0] in KILOGRAMS else PRICE

    @property
    def where(self) -> str:
        """Return the signal's name, as errors and reports begin with it: "The price signal of north"."""
        whose = f" of {one_line(self.cluster)}" if self.cluster else ""
        return f"The power cap{whose}" if self.kind == CAP else f"The {self.kind} signal{whose}"

    @property
    def said(self) -> tuple[str, ...]:
        """Return the assumptions about the signal, a few words each.

        They are its notes, steps filled with the value before them, values beyond its end, and that caps are known.
        """
        held = f"the value before it for {counted(self.held, 'step')} without one, in {self.called}"
        last = f"the last value of {self.called} after its end"
        ahead = [f"{self.called} known to all beforehand"] * (self.kind == CAP and self.constant is None)
        again = f"{self.called} again and again beyond its {self.until - self.times[0]:,.10g} s"  # type: ignore[operator]
        beyond = {"last": [last], "repeat": [again], "refuse": []}[self.beyond if self.until != math.inf else "refuse"]
        return (*self.notes, *ahead, *([held] if self.held else []), *beyond)

    @property
    def known(self) -> Signal:
        """Return the signal that plans use: the forecast, if there is one."""
        return self if self.forecast is None else self.forecast

    @property
    def called(self) -> str:
        """Return the signal's name as it stands within a sentence: "the price signal of north"."""
        return self.where[0].lower() + self.where[1:]

    def priced(self, joules: float) -> float:
        """Return a sum of joules × values of this signal in currency, or in kilograms of CO2.

        Parameters
        ----------
        joules
            The sum of each energy, in joules, times the signal's value in its unit.

        Examples
        --------
        >>> fs.Signal(times=(0,), values=(80,), unit="EUR/MWh").priced(joules=3.6e9 * 80)
        80.0
        """
        what, _, energy = self.unit.partition("/")
        return joules * KILOGRAMS.get(what, 1.0) / JOULES[energy]

    @property
    def constant(self) -> float | None:
        """Return the signal's value if it is the same in all steps; None if values differ."""
        return self.values[0] if len(set(self.values)) == 1 else None

    def check_reach(self, begin: float, end: float) -> None:
        """Raise if the signal has no value at some time from begin to end.

        Parameters
        ----------
        begin, end
            Seconds of the workload's clock.
        """
        assert self.until is not None
        if self.beyond == "repeat":
            return
        if begin < self.times[0]:
            raise FederationError(
                f"{self.where} begins at {self.times[0]:g} s, after the schedule's begin at {begin:g} s; give one that "
                "reaches back, or beyond='repeat' (fedsched: --beyond repeat)."
            )
        if self.beyond == "refuse" and end > self.until:
            raise FederationError(
                f"{self.where} ends at {self.until:g} s, before the schedule does at {end:g} s; give a longer one, or "
                "beyond='repeat' or 'last' (fedsched: --beyond)."
            )


class Curve:
    """A signal prepared for many queries of its value at a time and of its integral over time."""

    def __init__(self, signal: Signal) -> None:
        assert signal.until is not None
        self.signal = signal
        self.times, self.values = np.array(signal.times), np.array(signal.values)
        self._before = np.concatenate([[0.0], np.cumsum(self.values[:-1] * np.diff(self.times))])
        self.period = signal.until - signal.times[0] if signal.beyond == "repeat" else math.inf
        self._whole = 0.0
        if math.isfinite(self.period):
            self._whole = float(self._before[-1] + self.values[-1] * (signal.until - signal.times[-1]))

    def _folded(self, times: Floats) -> tuple[Floats, Floats]:
        # The number of whole periods that have passed, and the time within the first period.
        if not math.isfinite(self.period):
            return np.zeros_like(times), times
        first = self.times[0]
        periods = np.floor((times - first) / self.period)
        return periods, np.clip(times - periods * self.period, first, first + self.period)

    def integral(self, times: Floats) -> Floats:
        """Return the integral of the signal, in its unit × seconds, from its first time up to each of these times."""
        periods, within = self._folded(np.asarray(times, dtype=np.float64))
        step = np.maximum(np.searchsorted(self.times, within, side="right") - 1, 0)
        return np.asarray(periods * self._whole + self._before[step] + self.values[step] * (within - self.times[step]))

    def at(self, times: Floats) -> Floats:
        """Return the signal's value, in its unit, at each of these times; before its first time, the first value."""
        within = self._folded(np.asarray(times, dtype=np.float64))[1]
        return np.asarray(self.values[np.maximum(np.searchsorted(self.times, within, side="right") - 1, 0)])

    def count(self, begin: float, end: float) -> float:
        """Return an upper bound on the number of steps that begin between two times, without listing them."""
        return self.times.size * (1.0 + (end - begin) / self.period)

    def changes(self, begin: float, end: float) -> Floats:
        """Return the times between begin and end, both excluded, at which a step begins."""
        times = self.times
        if math.isfinite(self.period):
            first, last = (math.floor((time - times[0]) / self.period) for time in (begin, end))
            times = np.concatenate([times + n * self.period for n in range(first, last + 1)])
        return times[(times > begin) & (times < end)]


def drawn_over(curves: Sequence[Curve], begin: float, end: float) -> tuple[Floats, list[Floats]]:
    """Return times from `begin` to before `end`, and for each curve its values from these times on.

    The times are those at which some curve changes. If there are more than `MOST_DRAWN`, that many equal parts of the
    interval are used instead, with the mean of each part as value.
    """
    if all(math.isinf(curve.period) or curve.count(begin, end) <= MOST_LISTED for curve in curves):
        times = np.unique(np.concatenate([[begin], *(curve.changes(begin, end) for curve in curves)]))
        if times.size <= MOST_DRAWN:
            return times, [curve.at(times) for curve in curves]
    edges = np.linspace(begin, end, MOST_DRAWN + 1)
    return edges[:-1], [np.diff(curve.integral(edges)) / np.diff(edges) for curve in curves]


def check_signals(name: str, signals: Sequence[Signal], clusters: Sequence[str]) -> None:
    """Raise if a signal's cluster is unknown, or a cluster has two signals of a kind.

    Also raise if only some clusters have a price or carbon signal, or if prices are in different currencies.
    """
    for kind in KINDS:
        whose = [signal.cluster for signal in signals if signal.kind == kind]
        for one in whose:
            if one and one not in clusters:
                raise FederationError(
                    f"Federation {name!r}: a {kind} signal is of {one!r}, which is not one of its clusters."
                )
            if whose.count(one) > 1:
                raise FederationError(f"Federation {name!r}: two {kind} signals of {one or 'all clusters'}; give one.")
        lacking = [one for one in clusters if whose and kind != CAP and "" not in whose and one not in whose]
        if lacking:
            raise FederationError(f"Federation {name!r}: cluster {lacking[0]!r} has no {kind} signal, but others have.")
        units = sorted({signal.unit for signal in signals if signal.kind == PRICE == kind})
        if len({unit.partition("/")[0] for unit in units}) > 1:
            raise FederationError(f"Federation {name!r}: prices in {' and '.join(units)}; give all in one currency.")


def signals_of(signals: Iterable[Signal], kind: str, clusters: Sequence[str]) -> list[Signal]:
    """Return, for each cluster, its signal of a kind, or that of all clusters; [] if there is none of that kind."""
    found = {signal.cluster: signal for signal in signals if signal.kind == kind}
    return [found.get(cluster, found.get("")) for cluster in clusters] if found else []  # type: ignore[misc]
