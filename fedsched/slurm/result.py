"""The schedule that Slurm makes: one like any other, and who started each job on which nodes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from fedsched.errors import ScheduleError
from fedsched.model.schedule import Schedule
from fedsched.slurm.arrays import By

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from fedsched.slurm.arrays import Words

NAMES = {By.NOBODY: "", By.MAIN: "main", By.BACKFILL: "backfill"}


class Played(NamedTuple):
    """What there is of a run of Slurm beside starts and counts of nodes."""

    by: NDArray[np.int64]  # who started each job
    held: Words  # on which nodes
    passes: int  # of backfill
    tests: int  # of jobs in those


class SlurmSchedule(Schedule):
    """A schedule of Slurm's own scheduler; `played` is lost where a schedule is made anew from its columns."""

    __slots__ = ("played",)

    played: Played | None

    def __init__(self, *, played: Played | None = None, **columns: Any) -> None:
        super().__init__(**columns)
        object.__setattr__(self, "played", played)

    @property
    def started_by(self) -> tuple[str, ...]:
        """Return which scheduler started each job: "main" or "backfill"."""
        return tuple(NAMES[By(one)] for one in self._known().by.tolist())

    def nodes_of(self, row: int) -> tuple[int, ...]:
        """Return the numbers of a job's own nodes, from 0 on through the federation's groups."""
        words = self._known().held[row].astype("<u8").tobytes()
        return tuple(np.flatnonzero(np.unpackbits(np.frombuffer(words, dtype=np.uint8), bitorder="little")).tolist())

    def _known(self) -> Played:
        if self.played is None:
            raise ScheduleError("Schedule: it was made of another's columns, which do not tell; ask that one.")
        return self.played
