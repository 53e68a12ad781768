"""The clock of one call: it says how much of a budget in seconds is used, without compiling and loading."""

from __future__ import annotations

import math
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from fedsched.core.compilation import Compilation


AT_ONCE = 1e-9  # seconds: the budget of a part that begins when the time is over


class OutOfTimeError(Exception):
    """The error that ends a part of a call if its share of the time is used up."""


class Clock:
    """The seconds since a call began, and their budget; without a budget there is no end.

    Compiling and loading of kernels do not count.
    """

    def __init__(self, seconds: float | None, watch: Compilation | None = None) -> None:
        self.seconds = seconds
        self.warm_up = 0.0  # seconds of compiling and loading at the begin
        self._watch = watch
        self._counted = self._compiling  # the watch's seconds before the call and within the warm-up
        self._begun = time.perf_counter()

    def spend(self, seconds: float) -> None:
        """Add seconds that an earlier call has spent, if this call continues it."""
        self._begun -= seconds

    def part(self, parts: int, *, kept: float = 0.0) -> Clock:
        """Return a clock that begins now; its budget is one of `parts` equal shares of the time left.

        `kept` seconds of the share are reserved for other work. Without a budget the new clock has none either.
        """
        left = None if self.seconds is None else max(self.left() / parts - kept, AT_ONCE)
        return Clock(left, self._watch)

    @contextmanager
    def warming_up(self) -> Iterator[None]:
        """A context that excludes its block's time from the budget: the call compiles and loads its kernels there."""
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
    def uncounted(self) -> float:
        """Return the seconds that do not count: the warm-up, and compiling after it."""
        return self.warm_up + self._compiling - self._counted

    @property
    def elapsed(self) -> float:
        """Return the seconds since the begin that count: without the warm-up and compiling."""
        return time.perf_counter() - self._begun - self.uncounted

    def left(self, share: float = 1.0) -> float:
        """Return the seconds until this share of the budget is used; inf without a budget.

        It is negative if the share is exceeded.
        """
        return math.inf if self.seconds is None else share * self.seconds - self.elapsed

    def within(self, share: float) -> Callable[[int, int], None] | None:
        """Return a progress callback that raises OutOfTimeError once this share is used; None without a budget.

        The callback does not raise if all jobs are done.
        """
        if self.seconds is None:
            return None

        def look(done: int, total: int) -> None:
            if self.left(share) <= 0.0 and done < total:
                raise OutOfTimeError

        return look
