"""A cluster at earlier moments; its records tell when the jobs that waited then started."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.site.outlook.account_limits import Limits
from fedsched.site.outlook.calibration import (
    DRAWN,
    EARLIER,
    Calibration,
    EarlierForecasts,
    earlier_moments,
    forecasts_at,
)
from fedsched.site.outlook.dump_queue import frame_of, queue_at, runs_by
from fedsched.site.outlook.habits import Habits
from fedsched.site.steer import CommandError
from fedsched.site.twin import read_site
from fedsched.site.twin.commands import (
    ACCOUNTS,
    CONFIG,
    FIELDS,
    JOBS,
    MANIFEST,
    NODES,
    PARTITIONS,
    QOS,
    RESERVATIONS,
    SINCE,
    commands_of,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    from fedsched.site.steer import Queue, Runner
    from fedsched.site.twin import Site

KNOWN_FIELDS = ("sacct", "--helpformat")
NEEDED = (CONFIG, PARTITIONS, NODES, JOBS)
HELPFUL = (RESERVATIONS, ACCOUNTS, QOS)


class Past:
    """A cluster's past as a dump of Slurm's output tells it: its queue at any moment, and when its jobs started."""

    def __init__(self, site: Site) -> None:
        self.site, self._frame = site, frame_of(site)
        self.limits = Limits.of_site(site, self._frame)
        self._calibrations: dict[tuple[int, int], Calibration] = {}

    @classmethod
    def of_commands(cls, runner: Runner) -> Past:
        """Return the past that Slurm's commands report when run now; these commands only read."""
        there = {name.lower() for name in runner.run(KNOWN_FIELDS).split()}
        fields = [name for name in FIELDS if name.lower() in there]
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            (folder / MANIFEST).write_text(f"fedsched dump 1\nsince {SINCE}\n", encoding="utf-8")
            for one in commands_of(SINCE, fields=fields):
                if one.file not in (*NEEDED, *HELPFUL):
                    continue
                try:
                    text = runner.run(one.words)
                except CommandError:
                    if one.file in NEEDED:
                        raise
                    continue
                (folder / one.file).write_text(text, encoding="utf-8")
            return cls(read_site(folder))

    @property
    def first(self) -> float:
        """Return the first moment of the past that is on record, as wall-clock time."""
        return max(self.site.since, float(self.site.records.submit.min()))

    @property
    def last(self) -> float:
        """Return the last moment of the past: the wall-clock time at which the dump was taken."""
        return self.site.dump.taken

    def at(self, moment: float) -> tuple[Queue, Habits, list[str]]:
        """Return the queue at a moment, the habits from the runs known by then, and notes on what is assumed."""
        queue, notes = queue_at(self.site, moment, self._frame)
        return queue, Habits.of(runs_by(self.site, moment)), notes

    @cached_property
    def starts(self) -> Mapping[int, float]:
        """Return when each job started, by number; NaN if it did not."""
        records = self.site.records
        return dict(zip(records.id.tolist(), records.start.tolist(), strict=True))

    @cached_property
    def withdrawn(self) -> Mapping[int, float]:
        """Return when each job that never started was cancelled, by number."""
        records = self.site.records
        return dict(zip(records.id[records.gone].tolist(), records.end[records.gone].tolist(), strict=True))

    def calibration(self, draws: int, seed: int) -> Calibration:
        """Return the calibration from forecasts at many moments of the past and their outcomes by its end.

        It is computed once for each number of draws (at most `DRAWN` are used) and seed.
        """
        known = (min(draws, DRAWN), seed)
        if known not in self._calibrations:
            said = []
            for k, moment in enumerate(earlier_moments(self.first, self.last, EARLIER)):
                queue, habits, _ = self.at(moment)
                said += forecasts_at(queue, habits, self.limits, draws=known[0], seed=seed + k)
            self._calibrations[known] = EarlierForecasts.of(said, self).by(self.last)
        return self._calibrations[known]
