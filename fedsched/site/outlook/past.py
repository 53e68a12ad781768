"""A cluster at earlier moments, of which the records tell what had come of those who waited then."""

from __future__ import annotations

import tempfile
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.site.outlook.calibration import DRAWN, EARLIER, Calibration, Earlier, earlier, said_at
from fedsched.site.outlook.dumped import frame_of, queue_at, ran_by
from fedsched.site.outlook.habits import Habits
from fedsched.site.outlook.limits import Limits
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
    """A dump looked at as of moments of its own."""

    def __init__(self, site: Site) -> None:
        self.site, self._frame = site, frame_of(site)
        self.limits = Limits.of_site(site, self._frame)
        self._calibrations: dict[tuple[int, int], Calibration] = {}

    @classmethod
    def of_commands(cls, runner: Runner) -> Past:
        """Return what Slurm's commands tell of the past; they only read."""
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
        """Return from when on there is a past."""
        return max(self.site.since, float(self.site.records.submit.min()))

    @property
    def last(self) -> float:
        """Return until when there is one."""
        return self.site.dump.taken

    def at(self, moment: float) -> tuple[Queue, Habits, list[str]]:
        """Return the queue at a moment, what was known of run times by then, and what is assumed."""
        queue, notes = queue_at(self.site, moment, self._frame)
        return queue, Habits.of(ran_by(self.site, moment)), notes

    @cached_property
    def starts(self) -> Mapping[int, float]:
        """Return when each job began, by number; NaN: it did not."""
        records = self.site.records
        return dict(zip(records.id.tolist(), records.start.tolist(), strict=True))

    @cached_property
    def withdrawn(self) -> Mapping[int, float]:
        """Return when who never began was cancelled."""
        records = self.site.records
        return dict(zip(records.id[records.gone].tolist(), records.end[records.gone].tolist(), strict=True))

    def calibration(self, draws: int, seed: int) -> Calibration:
        """Return what forecasts at moments of it were off by, as far as its end tells; computed once."""
        known = (min(draws, DRAWN), seed)
        if known not in self._calibrations:
            said = []
            for k, moment in enumerate(earlier(self.first, self.last, EARLIER)):
                queue, habits, _ = self.at(moment)
                said += said_at(queue, habits, self.limits, draws=known[0], seed=seed + k)
            self._calibrations[known] = Earlier.of(said, self).by(self.last)
        return self._calibrations[known]
