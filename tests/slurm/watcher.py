"""A watch beside a Slurm on which a day is played, in a thread of its own; what it promised is kept, first and last."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from slurm.watched_days import INTERVAL, LEASE, SLACK
from support.beside_slurm import Beside

from fedsched.site.steer import Aims, Undo, Watch

if TYPE_CHECKING:
    from types import TracebackType

    from slurm.cluster import SlurmCluster

AIMS = Aims(slack=SLACK, evaluations=1000, seconds=1.0)


class Watcher:
    """Steers while the with statement lasts.

    Parameters
    ----------
    numbers
        Slurm's numbers of the jobs, by their keys, as they come.
    lease
        Whether by begin times; else by Nice.
    """

    def __init__(self, slurm: SlurmCluster, begin: float, numbers: dict[str, str], *, lease: bool) -> None:
        self.begin, self.numbers = begin, numbers
        self.promised: dict[int, float] = {}
        self.first: dict[int, float] = {}
        self.error: BaseException | None = None
        self.pause = INTERVAL / slurm.clock.factor
        undo = Undo.open(slurm.folder / "undo.json", "referee")
        self.watch = Watch(Beside(slurm), undo, AIMS, interval=INTERVAL, lease=LEASE if lease else None)
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._steer)

    def __enter__(self) -> Watcher:
        self._thread.start()
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._over.set()
        self._thread.join()
        if self.error is not None:
            raise self.error

    def _steer(self) -> None:
        try:
            while not self._over.wait(self.pause):
                self.watch.look()
                self.promised |= self.watch.undo.deadlines
                self.first = self.watch.undo.promised | self.first
            self.watch.close()
        except BaseException as error:  # raised where the with statement ends
            self.error = error

    def deadlines(self, *, first: bool = False) -> dict[str, float]:
        """Return by when each job was to have started at last, or at first, in seconds since the day began."""
        keys = {int(number): key for key, number in self.numbers.items()}
        promised = self.first if first else self.promised
        return {keys[number]: round(when - self.begin, 1) for number, when in sorted(promised.items())}
