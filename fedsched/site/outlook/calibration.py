"""Calibrate the ranges of forecasts: widen or narrow them by the errors of earlier forecasts for the same cluster.

At each of many earlier moments, the starts of the jobs that waited then are forecast from what was known then. The
error of a forecast is the distance of the actual start from the forecast median. It is measured in a unit of its own:
the width of the range on that side, plus a part of the time until the queue's last start. A job that still waits has at
least its error so far (it is censored: Kaplan and Meier). All forecasts of one moment together count as one, since they
share their run times; older moments count for less. The ends of a range are put at quantiles of these errors. As long
as there are few moments, the errors of forecasts for other clusters count as well.

Ranges made from quantiles for a share of 80 % may still hold more or less than 80 % of the starts. So for each earlier
start it is determined for which least share its range would have been wide enough to hold it. A range that is to hold
80 % of the starts is made for the share that is enough for 80 % of the earlier starts.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.site.outlook.replays import Replays, in_turn, picture_within
from fedsched.site.outlook.unmodelled import without_unmodelled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from fedsched.site.outlook.account_limits import Limits
    from fedsched.site.outlook.habits import Habits
    from fedsched.site.outlook.past import Past
    from fedsched.site.steer import Queue

    Column = NDArray[np.float64]

EARLIER = 40  # moments
DRAWN = 40  # replays at each of them, at most
LEAST = 20  # earlier starts: with fewer, ranges are left as the replays give them
DRAWN_SHARE = 0.8  # the share of the replays in the range in units of which errors are measured
REACH = 0.05  # the part of the time until the queue's last start that is added to the unit
MINUTE = 60.0
# Quantiles of the errors of forecasts for fourteen recorded days, and how many moments they count as.
USUAL = (
    -2.04, -1.11, -0.86, -0.73, -0.63, -0.54, -0.46, -0.39, -0.32, -0.26, -0.21, -0.16, -0.11, -0.07, -0.03, 0.01,
    0.04, 0.09, 0.13, 0.18, 0.23, 0.27, 0.32, 0.38, 0.44, 0.49, 0.56, 0.62, 0.70, 0.78, 0.88, 0.96, 1.04, 1.16, 1.34,
    1.57, 1.96, 2.60, 3.95, 8.96,
)  # fmt: skip
USUAL_MOMENTS = 4.0
EVERY_SHARE, EVERY_SHARE_MOMENTS = np.arange(1, 41) / 40.0, 1.0  # ranges that hold just the share they are made for
RECENT = 0.3  # age at which a moment counts half as much, as a part of the past
FARTHEST = 5.0  # units, at most, between a median and an end of its range


class MomentForecasts(NamedTuple):
    """Forecasts made at one moment, a row for each job, in seconds from that moment.

    The range from `earliest` to `latest` holds `DRAWN_SHARE` of the job's starts in the replays.
    """

    moment: float
    number: NDArray[np.int64]
    earliest: Column
    median: Column
    latest: Column

    @classmethod
    def of(cls, moment: float, starts: Mapping[int, Column]) -> MomentForecasts:
        """Return the forecasts as quantiles of each job's starts in all replays."""
        levels = [(1.0 - DRAWN_SHARE) / 2.0, 0.5, (1.0 + DRAWN_SHARE) / 2.0]
        found = np.array([np.quantile(one, levels) for one in starts.values()]).reshape(-1, 3) - moment
        return cls(moment, np.array(list(starts), dtype=np.int64), *found.T)

    @property
    def units(self) -> tuple[Column, Column]:
        """Return, in seconds, the unit of each job for errors below its median, and its unit for errors above."""
        more = MINUTE + REACH * max(0.0, float(self.median.max(initial=0.0)))
        below = np.minimum(self.median - self.earliest + more, np.maximum(self.median, 0.0) + MINUTE)
        return below, self.latest - self.median + more

    def off(self, wait: Column) -> Column:
        """Return the error of each job: how many units its wait is longer than its median, or (below 0) shorter."""
        below, above = self.units
        late = wait - self.median
        return np.where(late < 0.0, late / below, late / above)


class Calibration(NamedTuple):
    """Errors of earlier forecasts, from which the ranges of new forecasts are made.

    `off` has the errors in units, sorted, and `share` the share of errors that are no higher than each. `needed` has,
    for each start, the least share for which its range would have been wide enough to hold it, sorted; `held` has the
    share of starts that need no more than each. All comes from `starts` earlier starts, forecast at `moments` moments.
    """

    off: Column
    share: Column
    needed: Column
    held: Column
    starts: int
    moments: int

    @property
    def enough(self) -> bool:
        """Return whether enough earlier starts are known to calibrate ranges."""
        return self.starts >= LEAST

    def ranges(self, said: MomentForecasts, share: float) -> tuple[Column, Column]:
        """Return the lower and the upper ends of ranges that are to hold this share of the starts.

        They are in seconds from the forecasts' moment, one for each job, and at least 0.
        """
        made_for = _quantile(self.needed, self.held, share)
        low, high = (_quantile(self.off, self.share, (1.0 + side * made_for) / 2.0) for side in (-1.0, 1.0))
        low, high = max(min(low, 0.0), -FARTHEST), min(max(high, 0.0), FARTHEST)
        below, above = said.units
        median = np.maximum(said.median, 0.0)
        return np.maximum(0.0, median + low * below), median + high * above

    def needs(self, off: Column, begun: NDArray[np.bool_]) -> Column:
        """Return, for each error, the least share for which a range is wide enough to hold it.

        The range for a share lies between the quantiles (1 - share)/2 and (1 + share)/2 of the earlier errors. A job
        that has not begun can still wait longer, so its share is a lower bound.
        """
        at = np.searchsorted(self.off, off, side="right")
        no_higher = np.where(at > 0, self.share[at - 1], 0.0)
        return np.maximum(0.0, np.where(off < 0.0, np.where(begun, 1.0 - 2.0 * no_higher, 0.0), 2.0 * no_higher - 1.0))

    def in_words(self) -> str:
        """Return a note: from how many earlier starts ranges are calibrated, or that these are too few."""
        if not self.enough:
            return f"ranges are not calibrated: {self.starts} earlier starts are known, and {LEAST} are needed"
        return (
            f"ranges are calibrated by {self.starts:,} earlier starts, forecast again at {self.moments} moments from "
            "what was known then"
        )


class EarlierForecasts:
    """Forecasts made at earlier moments, in their order, each with the calibration that was known at its moment."""

    def __init__(self, past: Past) -> None:
        self._past = past
        self._forecasts: list[_PastForecasts] = []

    @classmethod
    def of(cls, said: Iterable[MomentForecasts], past: Past) -> EarlierForecasts:
        """Return an object with these forecasts, which must come in the order of their moments."""
        found = cls(past)
        for one in said:
            found.add(one)
        return found

    def add(self, said: MomentForecasts) -> None:
        """Add the forecasts of a later moment; do nothing if they have no job."""
        if said.number.size:
            self._forecasts.append(_PastForecasts(said, self.by(said.moment), self._past))

    def by(self, now: float) -> Calibration:
        """Return the calibration from the forecasts made before a moment and what was known of their outcomes then.

        The more recent a forecast is, the more it weighs.
        """
        off, needed = _Outcomes(np.array(USUAL), USUAL_MOMENTS), _Outcomes(EVERY_SHARE, EVERY_SHARE_MOMENTS)
        starts = moments = 0
        for forecasts in self._forecasts:
            if forecasts.said.moment >= now:
                continue
            found = forecasts.by(now)
            weight = 0.5 ** ((now - forecasts.said.moment) / (RECENT * (now - self._past.first)))
            off.add(found.off, found.begun, weight)
            if forecasts.calibration.enough:
                needed.add(found.needed, found.begun, weight)
            starts += found.starts
            moments += found.starts > 0
        return Calibration(*off.shares(), *needed.shares(), starts, moments)


class _MomentOutcomes(NamedTuple):
    """Outcomes of the forecasts of one moment, a row for each job: its error, and the share that its range needed.

    `begun` says which jobs have started, and `starts` is their number.
    """

    off: Column
    needed: Column
    begun: NDArray[np.bool_]
    starts: int


class _PastForecasts:
    """Forecasts made at one past moment, the calibration known then, and when the jobs actually started."""

    def __init__(self, said: MomentForecasts, calibration: Calibration, past: Past) -> None:
        self.said, self.calibration = said, calibration
        numbers = said.number.tolist()
        self._start = np.array([past.starts.get(job, np.nan) for job in numbers])
        self._gone = np.array([past.withdrawn.get(job, np.inf) for job in numbers])
        self._last = self._start.max()  # NaN if some job never started
        self._at_last: _MomentOutcomes | None = None

    def by(self, now: float) -> _MomentOutcomes:
        """Return the outcomes that are known at a moment; jobs that have not started have their error so far.

        Once all jobs have started, the result is kept.
        """
        if now >= self._last and self._at_last is not None:
            return self._at_last
        begun = self._start <= now
        off = self.said.off(np.where(begun, self._start, np.minimum(self._gone, now)) - self.said.moment)
        found = _MomentOutcomes(off, self.calibration.needs(off, begun), begun, int(begun.sum()))
        if now >= self._last:
            self._at_last = found
        return found


class _Outcomes:
    """Values collected moment by moment, with a weight for each moment, which its values share equally.

    Values of jobs that still wait are only lower bounds.
    """

    def __init__(self, usual: Column, moments: float) -> None:
        self._value, self._known, self._weight = [usual], [np.ones(usual.size, dtype=np.bool_)], [moments]

    def add(self, value: Column, known: NDArray[np.bool_], weight: float) -> None:
        """Add the values of a moment; those that are not `known` are lower bounds."""
        self._value.append(value)
        self._known.append(known)
        self._weight.append(weight)

    def shares(self) -> tuple[Column, Column]:
        """Return the sorted values, and for each the estimated share of values no higher (Kaplan and Meier)."""
        value, known = np.concatenate(self._value), np.concatenate(self._known)
        sizes = [one.size for one in self._value]
        weight = np.repeat(np.array(self._weight) / sizes, sizes)
        order = np.lexsort((~known, value))
        value, known, weight = value[order], known[order], weight[order]
        left = np.cumsum(weight[::-1])[::-1]
        return value, np.asarray(1.0 - np.cumprod(1.0 - np.where(known, weight / left, 0.0)), dtype=np.float64)


def earlier_moments(first: float, now: float, count: int) -> list[float]:
    """Return up to `count` evenly spaced moments between `first` and `now`, both excluded, in whole seconds."""
    found: list[float] = np.unique(np.floor(np.linspace(first, now, count + 1, endpoint=False)[1:])).tolist()
    return found


def forecasts_at(
    queue: Queue, habits: Habits, limits: Limits | None, *, draws: int, seed: int
) -> list[MomentForecasts]:
    """Return a list with the forecasts of a queue's waiting jobs at its moment; an empty list if no job waits.

    Jobs that ask for what replays do not model are left out.
    """
    queue = in_turn(queue, limits)
    if not queue.waiting:
        return []
    replays = Replays(picture_within(queue, limits), habits, draws=draws, seed=seed)
    order = [job.number for job in queue.waiting if job.number in replays.numbers]
    return [MomentForecasts.of(queue.now, without_unmodelled(queue, replays.starts(order)))]


def _quantile(values: Column, shares: Column, level: float) -> float:
    at = int(np.searchsorted(shares, level - 1e-12))
    return float(values[min(at, values.size - 1)])
