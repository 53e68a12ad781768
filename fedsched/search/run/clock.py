"""The time of one call: what of a budget in seconds is gone, compiling and loading apart, and who may use how much."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fedsched.core.compilation import Compilation


AT_ONCE = 1e-9  # seconds: the budget of what begins when the time is over


class OutOfTimeError(Exception):
    """The share of the time that something had is used up."""


class Clock:
    """Seconds since a call began, with the budget that they count against; without one there is no end."""

    def __init__(self, seconds: float | None, watch: Compilation | None = None) -> None:
        self.seconds = seconds
        self.warm_up = 0.0  # seconds of compiling and loading at the begin
        self._watch = watch
        self._counted = self._compiling  # of the watch's seconds, those before the call and within the warm-up
        self._begun = time.perf_counter()

    def spend(self, seconds: float) -> None:
        """Count so many seconds that were spent before the call, which goes on where another one stopped."""
        self._begun -= seconds

    def part(self, parts: int, *, kept: float = 0.0) -> Clock:
        """Return a clock that begins now, with its share of what is left for so many parts of a call.

        Of each part's share so many seconds are kept for what else it takes.
        """
        left = None if self.seconds is None else max(self.left() / parts - kept, AT_ONCE)
        return Clock(left, self._watch)

    @contextmanager
    def warming_up(self) -> Iterator[None]:
        """Count none of the block's time: it goes into compiling and loading what the call needs."""
        began, compiled = time.perf_counter(), self._compiling
        try:
            yield
        finally:
            self.warm_up += time.perf_counter() - began
            self._counted += self._compiling - compiled

    @property
    def _compiling(self) -> float:
        return 0.0 if self._watch is None else self._watch.seconds

    @property
    def apart(self) -> float:
        """Return the seconds that do not count: of warming up, and of what was compiled later after all."""
        return self.warm_up + self._compiling - self._counted

    @property
    def elapsed(self) -> float:
        """Return the seconds that count."""
        return time.perf_counter() - self._begun - self.apart

    def left(self, share: float = 1.0) -> float:
        """Return how many seconds are left until this share of the budget is gone."""
        return math.inf if self.seconds is None else share * self.seconds - self.elapsed

    def within(self, share: float) -> Callable[[int, int], None] | None:
        """Return a progress callback that raises an OutOfTimeError from then on; None without a budget."""
        if self.seconds is None:
            return None

        def look(done: int, total: int) -> None:
            if self.left(share) <= 0.0 and done < total:
                raise OutOfTimeError

        return look
