"""Measures how good forecasts are: makes them for past moments from what was known then, and compares with the record.

The past is that of a dump of Slurm's output.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import TwinError
from fedsched.core.text import counted
from fedsched.site.outlook.calibration import (
    DRAWN,
    EARLIER,
    LEAST,
    Calibration,
    EarlierForecasts,
    earlier_moments,
    forecasts_at,
)
from fedsched.site.outlook.forecast import DRAWS, SHARE, ranged
from fedsched.site.outlook.past import Past
from fedsched.site.outlook.replays import Replays, in_turn, picture_within
from fedsched.site.outlook.unmodelled import not_modelled, without_forecast, without_unmodelled
from fedsched.site.twin import Site, read_site

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from os import PathLike

    from numpy.typing import NDArray

    from fedsched.site.outlook.habits import Habits
    from fedsched.site.steer import Queue

    Column = NDArray[np.float64]

MOMENTS = 20
FEWEST, RESAMPLES = 4, 2000  # moments that resampling needs, and how often that is done
BETWEEN = 2  # moments that are forecast for the calibration, for each scored one
KNOWN = (
    "known at each moment: the jobs that ran or waited then; their order, by when they became eligible or, under "
    "priority/multifactor, by their factors then, with the fair share at the latest start of each user; the nodes that "
    "are up at the dump's end; the habits of jobs that had ended or ran by then; the starts by then of jobs that were "
    "forecast before"
)


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """Forecasts beside what happened, a row for each job at each moment at which it waited; in seconds from the moment.

    Parameters
    ----------
    wait
        How long the job still waited.
    earliest, median, latest
        The forecast of that wait.
    by_limits
        The wait if all jobs ran to their limits, as `squeue --start` assumes.
    share
        The part of the cases that ranges are to hold.
    as_drawn
        The same forecasts with the uncalibrated ranges of their replays; None if these are uncalibrated already.
    moment, job
        The index of the moment of each row, and the number of its job.

    Examples
    --------
    >>> from fedsched.site import outlook, twin
    >>> folder = twin.made_dump("dump", jobs=60, nodes=8, policy="easy", seed=1)
    >>> found = outlook.score(folder, moments=3, draws=10)
    >>> 0 <= found.covered <= 1, len(found.job) == len(found.wait)
    (True, True)
    """

    wait: Column
    earliest: Column
    median: Column
    latest: Column
    by_limits: Column
    share: float
    moments: int
    notes: tuple[str, ...]
    as_drawn: Score | None = None
    moment: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))
    job: NDArray[np.int64] = field(default_factory=lambda: np.empty(0, dtype=np.int64))

    @property
    def inside(self) -> NDArray[np.bool_]:
        """Return, for each row, whether the job started within its range, give or take a second."""
        return (self.wait >= self.earliest - 1.0) & (self.wait <= self.latest + 1.0)

    @property
    def covered(self) -> float:
        """Return the share of the rows in which the job started within its range, give or take a second."""
        return float(self.inside.mean())

    @property
    def covered_between(self) -> tuple[float, float]:
        """Return the bounds between which `covered` lies in 95 % of the resamples of the moments.

        Moments are resampled, not jobs, since all jobs of a moment wait for the same ends. Both bounds are NaN if there
        are fewer than four moments.
        """
        _, which = np.unique(self.moment, return_inverse=True)
        many = int(which.max(initial=-1)) + 1
        if many < FEWEST:
            return float("nan"), float("nan")
        inside, jobs = np.bincount(which, weights=self.inside), np.bincount(which)
        drawn = np.random.default_rng(0).integers(0, many, (RESAMPLES, many))
        low, high = np.quantile(inside[drawn].sum(axis=1) / jobs[drawn].sum(axis=1), [0.025, 0.975])
        return float(low), float(high)

    @property
    def by_chance(self) -> float:
        """Return the standard error by which the covered share of correct ranges differs from `share` by chance.

        It is a lower bound: it takes jobs as independent, and the forecasts of one job as all right or all wrong.
        """
        _, times = np.unique(self.job, return_counts=True)
        together = float((times**2).sum()) / max(1, times.sum()) ** 2
        return math.sqrt(self.share * (1.0 - self.share) * together)

    @property
    def pinball(self) -> float:
        """Return the mean pinball loss of the three quantiles, in seconds: what a quantile forecast is scored by."""
        low = (1.0 - self.share) / 2.0
        parts = ((low, self.earliest), (0.5, self.median), (1.0 - low, self.latest))
        return float(np.mean([_pinball(level, said, self.wait) for level, said in parts]))

    @property
    def pinball_by_limits(self) -> float:
        """Return the mean pinball loss, in seconds, if each of the three quantiles is the start by limits."""
        low = (1.0 - self.share) / 2.0
        return float(np.mean([_pinball(level, self.by_limits, self.wait) for level in (low, 0.5, 1.0 - low)]))

    @property
    def error(self) -> float:
        """Return the mean absolute difference between the forecast median and the actual wait, in seconds."""
        return float(np.abs(self.wait - self.median).mean())

    @property
    def error_by_limits(self) -> float:
        """Return the mean absolute difference between the start by limits and the actual wait, in seconds."""
        return float(np.abs(self.wait - self.by_limits).mean())


def _pinball(level: float, said: Column, found: Column) -> float:
    above = found - said
    return float(np.maximum(level * above, (level - 1.0) * above).mean())


def score(
    dump: str | PathLike[str] | Site,
    *,
    moments: int = MOMENTS,
    draws: int = DRAWS,
    share: float = SHARE,
    seed: int = 0,
    progress: Callable[[int, int], None] | None = None,
) -> Score:
    """Return how forecasts made at moments of a dump compare with what happened.

    Parameters
    ----------
    dump
        The dump's folder, or what `read_site` returns for it.
    moments
        The number of moments, evenly spaced from the first recorded start in the dump's time to its end, without the
        first tenth.
    draws, share, seed
        As in `forecast`.
    progress
        Called after each moment with the number of moments done, and their total number.

    Examples
    --------
    >>> from fedsched.site import outlook, twin
    >>> folder = twin.made_dump("dump", jobs=60, nodes=8, policy="easy", seed=1)
    >>> outlook.score(folder, moments=3, draws=10).moments
    3
    """
    if moments < 1:
        raise TwinError(f"moments={moments} must be at least 1.")
    site = dump if isinstance(dump, Site) else read_site(dump)
    past = Past(site)
    end = site.dump.taken
    begin = max(site.since, min(end, float(np.nanmin(site.records.start, initial=end))))
    scored = set(np.floor(np.linspace(begin + (end - begin) / 10.0, end, moments, endpoint=False)).tolist())
    before = EarlierForecasts(past)
    rows: list[tuple[float, ...]] = []
    notes: dict[str, None] = {}
    asking: dict[int, str] = {}
    moved = 0
    every = sorted(scored | set(earlier_moments(begin, end, max(EARLIER, BETWEEN * moments))))
    for k, moment in enumerate(every):
        queue, habits, assumed = past.at(moment)
        if moment in scored:
            calibration = before.by(moment)
            moved += calibration.enough
            notes |= dict.fromkeys(assumed)
            asking |= {job.number: what for job in queue.waiting if (what := not_modelled(job))}
            made = _rows(queue, habits, calibration, past, draws=draws, share=share, seed=seed + k)
            rows += [(float(k), float(job), *row) for job, row in made]
        for said in forecasts_at(queue, habits, past.limits, draws=min(draws, DRAWN), seed=seed + k):
            before.add(said)
        if progress is not None:
            progress(k + 1, len(every))
    left_out = without_forecast(asking)
    if not rows:
        raise TwinError(
            f"{site.dump.folder}: no job with a forecast waited in turn at any of {moments} moments and started before "
            f"the dump's end; try more moments, or a longer dump{''.join(f' ({note})' for note in left_out)}."
        )
    at, numbers, wait, earliest, median, latest, by_limits, low, high = np.array(rows).T
    which, job = at.astype(np.int64), numbers.astype(np.int64)
    drawn = Score(wait, low, median, high, by_limits, share, moments, (), moment=which, job=job)
    calibrated = (
        f"ranges are calibrated by earlier starts at {moved} of {counted(moments, 'moment')}, and left as drawn where "
        f"fewer than {LEAST} were known"
    )
    told = (*notes, *left_out, KNOWN, calibrated)
    return Score(wait, earliest, median, latest, by_limits, share, moments, told, drawn, which, job)


def _rows(
    queue: Queue, habits: Habits, calibration: Calibration, past: Past, *, draws: int, share: float, seed: int
) -> Iterator[tuple[int, tuple[float, ...]]]:
    """Give, for each waiting job that has started since, its number and seven numbers in seconds from the moment.

    These are the actual start, the forecast's earliest, median, latest and `by_limits`, and the uncalibrated range.
    """
    queue = in_turn(queue, past.limits)
    if not queue.waiting:
        return
    picture = picture_within(queue, past.limits)
    replays = Replays(picture, habits, draws=draws, seed=seed)
    order = [job.number for job in queue.waiting if job.number in replays.numbers]
    by_limits = picture.starts(picture.rows_of(order))
    starts = without_unmodelled(queue, replays.starts(order))
    both = (ranged(queue, starts, by_limits, share, one) for one in (calibration, None))
    for one, drawn in zip(*both, strict=True):
        begun = past.starts[one.job.number]
        if begun == begun:
            found = (begun, one.earliest, one.median, one.latest, one.by_limits, drawn.earliest, drawn.latest)
            yield one.job.number, tuple(x - queue.now for x in found)
