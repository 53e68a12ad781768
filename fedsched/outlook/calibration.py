"""Ranges widened or narrowed by how far earlier forecasts for the same cluster were off, as far as that is known now.

At each of many earlier moments it is forecast from what was known then when who waited would start. Of each start the
distance from its median is measured in units of its own: how wide the range was on that side, and a part of how far the
queue reached. Who waits still has been off by so much at least (Kaplan and Meier). All forecasts of one moment count as
one, for they share their run times, and those of long ago for less. The ends of a range are put where the quantiles of
these distances are; so long as moments are few, what forecasts of other clusters were off by counts beside them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from fedsched.outlook.replays import Replays
from fedsched.steer.picture import picture_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from numpy.typing import NDArray

    from fedsched.outlook.habits import Habits
    from fedsched.outlook.past import Past
    from fedsched.steer import Queue

    Column = NDArray[np.float64]

EARLIER = 40  # moments
DRAWN = 40  # replays at each of them, at most
LEAST = 20  # starts: with fewer, ranges are left as drawn
DRAWN_SHARE = 0.8  # the part of the replays whose range is the measure
REACH = 0.05  # the part of the time until the queue's last start that is added to it
MINUTE = 60.0
# What forecasts of fourteen recorded days were off by, as quantiles, and how many moments they count as.
USUAL = (
    -1.94, -1.02, -0.80, -0.69, -0.58, -0.51, -0.44, -0.36, -0.31, -0.25, -0.21, -0.16, -0.12, -0.07, -0.04, -0.01,
    0.03, 0.06, 0.11, 0.16, 0.20, 0.24, 0.29, 0.34, 0.38, 0.43, 0.50, 0.56, 0.64, 0.72, 0.80, 0.91, 1.04, 1.16,
    1.35, 1.53, 1.89, 2.43, 3.65, 7.13,
)  # fmt: skip
USUAL_MOMENTS = 4.0
RECENT = 0.3  # the part of the past after which a moment counts half as much
FARTHEST = 5.0  # units from a median that an end of a range is, at most


class Said(NamedTuple):
    """Forecasts of one moment, a row a job: seconds from the moment on, the range that of `DRAWN_SHARE`."""

    moment: float
    number: NDArray[np.int64]
    earliest: Column
    median: Column
    latest: Column

    @classmethod
    def of(cls, moment: float, starts: Mapping[int, Column]) -> Said:
        """Return what replays say, of each job its starts in all of them."""
        levels = [(1.0 - DRAWN_SHARE) / 2.0, 0.5, (1.0 + DRAWN_SHARE) / 2.0]
        found = np.array([np.quantile(one, levels) for one in starts.values()]).reshape(-1, 3) - moment
        return cls(moment, np.array(list(starts), dtype=np.int64), *found.T)

    @property
    def units(self) -> tuple[Column, Column]:
        """Return what distances below the medians are measured in, and those above."""
        more = MINUTE + REACH * max(0.0, float(self.median.max(initial=0.0)))
        below = np.minimum(self.median - self.earliest + more, np.maximum(self.median, 0.0) + MINUTE)
        return below, self.latest - self.median + more

    def off(self, wait: Column) -> Column:
        """Return how far waits were from the medians, in units; below 0: shorter."""
        below, above = self.units
        late = wait - self.median
        return np.where(late < 0.0, late / below, late / above)


class Calibration(NamedTuple):
    """How far outcomes lie from medians, in units, sorted, with the share of all that lie no higher.

    `starts` are the earlier starts that tell of it, at so many `moments`.
    """

    off: Column
    share: Column
    starts: int
    moments: int

    @classmethod
    def of(cls, said: Iterable[Said], past: Past, now: float) -> Calibration:
        """Return what earlier forecasts tell by now."""
        usual = np.array(USUAL)
        off, over = [usual], [np.ones(usual.size, dtype=np.bool_)]
        weight = [np.full(usual.size, USUAL_MOMENTS / usual.size)]
        starts = moments = 0
        for one in said:
            if not one.number.size or one.moment >= now:
                continue
            begun = np.array([past.starts.get(job, np.nan) for job in one.number.tolist()])
            gone = np.array([past.withdrawn.get(job, np.inf) for job in one.number.tolist()])
            known = begun <= now
            until = np.where(known, begun, np.minimum(gone, now)) - one.moment
            off.append(one.off(until))
            over.append(known)
            fading = 0.5 ** ((now - one.moment) / (RECENT * (now - past.first)))
            weight.append(np.full(known.size, fading / known.size))
            starts += int(known.sum())
            moments += bool(known.any())
        found = _shares(np.concatenate(off), np.concatenate(over), np.concatenate(weight))
        return cls(*found, starts, moments)

    @property
    def enough(self) -> bool:
        """Return whether so many earlier starts are known that ranges are moved."""
        return self.starts >= LEAST

    def ranges(self, said: Said, share: float) -> tuple[Column, Column]:
        """Return the ends of ranges that hold such a share of the starts, on either side of the medians."""
        low, high = (self._quantile(level) for level in ((1.0 - share) / 2.0, (1.0 + share) / 2.0))
        low, high = max(min(low, 0.0), -FARTHEST), min(max(high, 0.0), FARTHEST)
        below, above = said.units
        median = np.maximum(said.median, 0.0)
        return np.maximum(0.0, median + low * below), median + high * above

    def _quantile(self, level: float) -> float:
        at = int(np.searchsorted(self.share, level - 1e-12))
        return float(self.off[min(at, self.off.size - 1)])

    def in_words(self) -> str:
        """Return from how many earlier starts ranges are calibrated, or that those are too few."""
        if not self.enough:
            return f"ranges are not calibrated: {self.starts} earlier starts are known, and {LEAST} are needed"
        return (
            f"ranges are calibrated by {self.starts:,} earlier starts, forecast again at {self.moments} moments from "
            "what was known then"
        )


def earlier(first: float, now: float, count: int) -> list[float]:
    """Return moments before now, evenly but for the first, at which nothing was known."""
    found: list[float] = np.unique(np.floor(np.linspace(first, now, count + 1, endpoint=False)[1:])).tolist()
    return found


def said_at(queue: Queue, habits: Habits, *, draws: int, seed: int) -> list[Said]:
    """Return what is forecast of a queue; nothing where nobody waits."""
    if not queue.waiting:
        return []
    replays = Replays(picture_of(queue), habits, draws=draws, seed=seed)
    order = [job.number for job in queue.waiting if job.number in replays.numbers]
    return [Said.of(queue.now, replays.starts(order))]


def _shares(off: Column, over: NDArray[np.bool_], weight: Column) -> tuple[Column, Column]:
    """Return the distances sorted, and which share lies no higher than each; who waits still is off by no less."""
    order = np.lexsort((~over, off))
    off, over, weight = off[order], over[order], weight[order]
    left = np.cumsum(weight[::-1])[::-1]
    return off, np.asarray(1.0 - np.cumprod(1.0 - np.where(over, weight / left, 0.0)), dtype=np.float64)
