"""The clocks of a recorded real Slurm: when its passes and ticks were, and how long its nodes took to clear."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.core.errors import TraceError
from fedsched.core.values import is_number
from fedsched.io.files import read_text

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

PASSES = "backfill_passes_that_started_a_job"
TICKS = "decay_thread_started"
TURNS = "jobs_tested_as_the_second_turned"
BROKE_OFF = "jobs_tested_before_it_broke_off"
FULL = "main_passes_over_all_jobs"
KNOWN = ("epoch", PASSES, TICKS, TURNS, BROKE_OFF, FULL)


@dataclass(frozen=True, slots=True)
class Clocks:
    """The times at which a recorded Slurm made passes and ticks; all but the epoch are in the seconds of its jobs.

    Parameters
    ----------
    epoch
        Seconds since 1970 at second 0: passes round times by it.
    passes
        When backfill passes began; None = they begin at the intervals of the conf.
    ticks
        When the thread began that lets usage decay; None = not recorded.
    turns
        For each pass, how many jobs it had tested at the begin of each further second; later jobs are tested in that
        second. None = passes take no time.
    broke_off
        For each pass, after how many jobs it broke off, because something changed while it had yielded its locks;
        None = that pass did not, or no pass did.
    full
        When the main scheduler's passes over all jobs began. After the last one, or if this is None, they begin at the
        intervals of the conf.
    """

    epoch: int = 0
    passes: tuple[float, ...] | None = None
    ticks: float | None = None
    turns: tuple[tuple[int, ...], ...] | None = None
    broke_off: tuple[int | None, ...] | None = None
    full: tuple[float, ...] | None = None

    def __post_init__(self) -> None:
        for name, values in (("epoch", (self.epoch,)), ("passes", self.passes or ()), ("ticks", (self.ticks or 0,)),
                             ("full", self.full or ())):  # fmt: skip
            odd = [one for one in values if not is_number(one)]
            if odd:
                raise TraceError(f"Clocks: {name}={odd[0]!r} must be finite seconds.")
        passes, turns, broke_off = self.passes or (), self.turns or (), self.broke_off or ()
        _check_counts("turns", turns, [one for some in turns for one in some], len(passes))
        _check_counts("broke_off", broke_off, [one for one in broke_off if one is not None], len(passes))
        order = sorted(range(len(passes)), key=lambda k: passes[k])
        if self.passes is not None:
            object.__setattr__(self, "passes", tuple(float(passes[k]) for k in order))
        if self.full is not None:
            object.__setattr__(self, "full", tuple(map(float, sorted(self.full))))
        if turns:
            object.__setattr__(self, "turns", tuple(tuple(sorted(turns[k])) for k in order))
        if broke_off:
            object.__setattr__(self, "broke_off", tuple(broke_off[k] for k in order))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Clocks:
        """Return the clocks in a JSON file; raise TraceError if it is invalid or has no epoch."""
        try:
            words = json.loads(read_text(path))
        except (ValueError, RecursionError) as error:  # also numbers of thousands of digits, and too many brackets
            raise TraceError(f"{path}: it is not valid JSON ({error}).") from None
        if not isinstance(words, dict) or "epoch" not in words:
            raise TraceError(f"{path}: it has no epoch, the seconds since 1970 at second 0; add that.")
        if unknown := [name for name in words if name not in KNOWN]:
            raise TraceError(f"{path}: {unknown[0]!r} is none of {', '.join(KNOWN)}; leave it out.")
        passes, full = words.get(PASSES), words.get(FULL)
        for name, seconds in ((PASSES, passes), (FULL, full)):
            if seconds is not None and not isinstance(seconds, list):
                raise TraceError(f"{path}: {name} must be a list of seconds.")
        epoch = words["epoch"]
        if not isinstance(epoch, int):
            raise TraceError(f"{path}: epoch={epoch!r} must be a whole number of seconds.")
        turns, broke_off = words.get(TURNS), words.get(BROKE_OFF)
        if turns is not None and not (isinstance(turns, list) and all(isinstance(one, list) for one in turns)):
            raise TraceError(f"{path}: {TURNS} must be a list of lists of numbers.")
        if broke_off is not None and not isinstance(broke_off, list):
            raise TraceError(f"{path}: {BROKE_OFF} must be a list of numbers and null.")
        return cls(
            epoch=epoch,
            passes=tuple(passes) if passes else None,
            ticks=words.get(TICKS),
            turns=None if turns is None else tuple(map(tuple, turns)),
            broke_off=None if broke_off is None else tuple(broke_off),
            full=tuple(full) if full else None,
        )

    @property
    def seconds_of_passes(self) -> list[int]:
        """Return the begins of backfill passes in whole seconds, rounded down; empty if none are recorded."""
        return [math.floor(one) for one in self.passes or ()]

    @property
    def seconds_of_full(self) -> list[int]:
        """Return the begins of main passes over all jobs in whole seconds, rounded down; empty if none are recorded."""
        return [math.floor(one) for one in self.full or ()]


def _check_counts(name: str, of_passes: Sequence[object], counts: Iterable[object], passes: int) -> None:
    """Raise TraceError unless all counts are whole numbers from 0 on, with one entry for each pass, or none at all."""
    if of_passes and len(of_passes) != passes:
        raise TraceError(f"Clocks: {name} has {len(of_passes)} passes, but there are {passes}; give one for each.")
    for one in counts:
        if not isinstance(one, int) or one < 0:
            raise TraceError(f"Clocks: {name} has {one!r}, which must be a whole number of jobs, at least 0.")


def seconds_to_clear(
    start: Sequence[float], end: Sequence[float], nodes: Iterable[Iterable[int]], *, most: int
) -> list[int]:
    """Return for each recorded job the seconds in which its nodes were cleared after its end.

    They are `most`, or less if another job started on one of the nodes sooner.

    Parameters
    ----------
    start, end, nodes
        Of each job, as recorded.
    most
        The usual seconds, as in the run time over the requested one of jobs that were not cut.
    """
    found = [most] * len(start)
    on: dict[int, list[int]] = {}
    for job, held in enumerate(nodes):
        for node in held:
            on.setdefault(node, []).append(job)
    for jobs in on.values():
        jobs.sort(key=lambda job: (start[job], end[job]))
        for one, other in itertools.pairwise(jobs):
            found[one] = max(0, min(found[one], math.floor(start[other] - end[one])))
    return found
