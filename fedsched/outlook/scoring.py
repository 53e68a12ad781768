"""How good forecasts are: made at moments of a dump from what was known then, and compared with what happened."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import TwinError
from fedsched.outlook.dumped import queue_at, ran_by
from fedsched.outlook.forecast import DRAWS, SHARE, forecast
from fedsched.outlook.habits import Habits
from fedsched.outlook.present import Present
from fedsched.twin import Site, read_site

if TYPE_CHECKING:
    from collections.abc import Callable
    from os import PathLike

    from numpy.typing import NDArray

    Column = NDArray[np.float64]

MOMENTS = 20
KNOWN = (
    "at each moment: who ran and waited on record, jobs in turn as they became eligible, or under priority/multifactor "
    "by their factors then, of the shares what the latest start of each user told, the nodes that are up as the dump "
    "ends, habits of jobs that had ended or ran by then"
)


@dataclass(frozen=True, slots=True, eq=False)
class Score:
    """Forecasts beside what happened, a row for each job at each moment at which it waited; times in seconds.

    Parameters
    ----------
    wait
        For how long the job still waited.
    earliest, median, latest
        What was forecast of that.
    by_limits
        The same if all jobs ran to their limits, as `squeue --start` counts.
    share
        The part of the cases that ranges are to hold.
    """

    wait: Column
    earliest: Column
    median: Column
    latest: Column
    by_limits: Column
    share: float
    moments: int
    notes: tuple[str, ...]

    @property
    def covered(self) -> float:
        """Return the share of the cases in which the job started within its range, to a second."""
        inside = (self.wait >= self.earliest - 1.0) & (self.wait <= self.latest + 1.0)
        return float(inside.mean())

    @property
    def pinball(self) -> float:
        """Return the mean pinball loss of the three quantiles, in seconds: what a quantile forecast is scored by."""
        low = (1.0 - self.share) / 2.0
        parts = ((low, self.earliest), (0.5, self.median), (1.0 - low, self.latest))
        return float(np.mean([_pinball(level, said, self.wait) for level, said in parts]))

    @property
    def pinball_by_limits(self) -> float:
        """Return the same loss where each quantile is the start by limits."""
        low = (1.0 - self.share) / 2.0
        return float(np.mean([_pinball(level, self.by_limits, self.wait) for level in (low, 0.5, 1.0 - low)]))

    @property
    def error(self) -> float:
        """Return the mean distance of the median from what happened."""
        return float(np.abs(self.wait - self.median).mean())

    @property
    def error_by_limits(self) -> float:
        """Return the mean distance of the start by limits from what happened."""
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
        Its folder, or what was read of it.
    moments
        At how many moments, evenly over the dump but its first tenth.
    draws, share, seed
        As in `forecast`.
    progress
        Called with how many moments are done, of how many.
    """
    if moments < 1:
        raise TwinError(f"moments={moments} must be at least 1.")
    site = dump if isinstance(dump, Site) else read_site(dump)
    begin, end = site.since, site.dump.taken
    at = np.linspace(begin + (end - begin) / 10.0, end, moments, endpoint=False)
    start = dict(zip(site.records.id.tolist(), site.records.start.tolist(), strict=True))
    rows: list[tuple[float, ...]] = []
    notes: dict[str, None] = {}
    for k, moment in enumerate(np.floor(at).tolist()):
        queue, said = queue_at(site, moment)
        here = Present(queue, Habits.of(ran_by(site, moment)), None, {}, True, tuple(said))
        found = forecast(here, draws=draws, share=share, seed=seed + k)
        for one in found.forecasts:
            begun = start[one.job.number]
            if begun == begun:
                rows.append(
                    tuple(x - moment for x in (begun, one.earliest, one.median, one.latest, one.by_limits))
                )
        notes |= dict.fromkeys(said)
        if progress is not None:
            progress(k + 1, moments)
    if not rows:
        raise TwinError(
            f"{site.dump.folder}: nobody waited in turn at any of {moments} moments who began before the dump's end; "
            "try more moments, or a longer dump."
        )
    wait, earliest, median, latest, by_limits = np.array(rows).T
    return Score(wait, earliest, median, latest, by_limits, share, moments, (*notes, KNOWN))
