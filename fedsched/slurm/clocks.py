"""What a recording of a real Slurm tells of its clocks: when it made its passes, and how long nodes took to clear."""

from __future__ import annotations

import itertools
import json
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from fedsched.errors import TraceError
from fedsched.io.files import read_text
from fedsched.values import is_number

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from os import PathLike

PASSES = "backfill_passes_that_started_a_job"
TICKS = "decay_thread_started"


@dataclass(frozen=True, slots=True)
class Clocks:
    """The clocks of a recording; all but the epoch are seconds of its jobs.

    Parameters
    ----------
    epoch
        The seconds since 1970 at second 0: passes round by them.
    passes
        When backfill passes began; None = they keep their own time.
    ticks
        When the thread began that ages usage; None = not recorded.
    """

    epoch: int = 0
    passes: tuple[float, ...] | None = None
    ticks: float | None = None

    def __post_init__(self) -> None:
        for name, values in (("epoch", (self.epoch,)), ("passes", self.passes or ()), ("ticks", (self.ticks or 0,))):
            odd = [one for one in values if not is_number(one)]
            if odd:
                raise TraceError(f"Clocks: {name}={odd[0]!r} must be finite seconds.")
        if self.passes is not None:
            object.__setattr__(self, "passes", tuple(sorted(map(float, self.passes))))

    @classmethod
    def read(cls, path: str | PathLike[str]) -> Clocks:
        """Return the clocks that a JSON file has."""
        try:
            words = json.loads(read_text(path))
        except json.JSONDecodeError as error:
            raise TraceError(f"{path}: it is no JSON ({error}).") from None
        if not isinstance(words, dict) or "epoch" not in words:
            raise TraceError(f"{path}: it has no epoch, the seconds since 1970 at second 0; add that.")
        if unknown := [name for name in words if name not in ("epoch", PASSES, TICKS)]:
            raise TraceError(f"{path}: {unknown[0]!r} is none of epoch, {PASSES}, {TICKS}; leave it out.")
        passes = words.get(PASSES)
        if passes is not None and not isinstance(passes, list):
            raise TraceError(f"{path}: {PASSES} must be a list of seconds.")
        epoch = words["epoch"]
        if not isinstance(epoch, int):
            raise TraceError(f"{path}: epoch={epoch!r} must be a whole number of seconds.")
        return cls(epoch=epoch, passes=tuple(passes) if passes else None, ticks=words.get(TICKS))

    @property
    def seconds_of_passes(self) -> list[int]:
        """Return the seconds that the passes take for now: Slurm's clock has whole ones."""
        return [math.floor(one) for one in self.passes or ()]


def seconds_to_clear(
    start: Sequence[float], end: Sequence[float], nodes: Iterable[Iterable[int]], *, most: int
) -> list[int]:
    """Return how long the nodes of recorded jobs took to clear: `most`, or less where another job came sooner.

    Parameters
    ----------
    start, end, nodes
        Of each job, as recorded.
    most
        What it took as a rule; what is over the requested run time in jobs that nobody cut says that.
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
