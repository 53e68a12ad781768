"""What is compiled while one looks: how many functions, and for how long; so that nobody waits for it in silence."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


ENOUGH = 10  # functions, after which their mean time says something of the others


class Count(NamedTuple):
    """What a process has compiled, and whether it is at it."""

    functions: int = 0
    seconds: float = 0.0
    active: bool = False


@dataclass(slots=True, eq=False)
class Compilation:
    """What has been compiled since one began to look; nothing where all of it was kept from before.

    `functions` counts those of fedsched that this process has begun to compile, on all of its threads; `workers` has
    the count of each worker process of `fedsched.core.executors.Processes`. `expects` says about how many functions
    there will be, or 0; it is asked once, when something is compiled.
    """

    functions: int = 0
    workers: dict[int, Count] = field(default_factory=dict)
    notice: Callable[[Compilation], None] | None = None
    expects: Callable[[], int] | None = None
    _expected: int | None = None
    _before: float = 0.0
    _since: float | None = None

    @property
    def seconds(self) -> float:
        """Return how long this process has compiled: also in the midst of it."""
        return self._before + (0.0 if self._since is None else time.perf_counter() - self._since)

    @property
    def active(self) -> bool:
        """Return whether this process compiles at this moment, or a worker process."""
        return self._since is not None or any(count.active for count in self.workers.values())

    @property
    def status(self) -> str:
        """Return what a line of progress says of it: what is compiled now, how many of how many, how long still."""
        if self.workers or not _latest:
            return f"compiling, once for this version: {self}"
        told = next((told for watch in _watches if (told := watch._progress())), f"{self}")
        return f"compiling {_latest}: {told}"

    def _progress(self) -> str:
        """Return how many of how many and how long still, nothing where that is not known."""
        if self.expects is None or not self.functions:
            return ""
        if self._expected is None:
            self._expected = self.expects()
        if self.functions > self._expected:
            return ""
        left = self.seconds / self.functions * (self._expected - self.functions)
        still = f", about {_seconds(left)} more" if self.functions >= ENOUGH else ""
        return f"{self.functions:,} of about {self._expected:,}{still}"

    def __bool__(self) -> bool:
        return bool(self.functions or self.workers)

    def __str__(self) -> str:
        said = [f"{counted(self.functions, 'function')} in {_seconds(self.seconds)}"] if self.functions else []
        if self.workers:
            counts = self.workers.values()
            longest = f"{_seconds(max(count.seconds for count in counts))}{' the longest' if len(counts) > 1 else ''}"
            where = counted(len(counts), "worker process", "es")
            said.append(f"{counted(sum(count.functions for count in counts), 'function')} in {where}, {longest}")
        return ", and ".join(said) or "nothing"

    def _resume(self) -> None:
        self._since = time.perf_counter()

    def _pause(self) -> None:
        self._before, self._since = self.seconds, None


def _seconds(seconds: float) -> str:
    return f"{seconds:.1f} s" if seconds < 10 else f"{seconds:.0f} s"


@contextmanager
def compiling(
    notice: Callable[[Compilation], None] | None = None, *, expects: Callable[[], int] | None = None
) -> Iterator[Compilation]:
    """Return a count of what is compiled within the block, kept up to date.

    A budget of time that leaves compiling out subtracts its `seconds`. `notice` is called whenever a function begins
    or ends; of several blocks within each other only the innermost one's, so that one line of progress is drawn.
    `expects` says about how many functions there will be, for that line.
    """
    watch = Compilation(notice=notice, expects=expects)
    if _under_way:
        watch._resume()
    _watches.append(watch)
    try:
        yield watch
    finally:
        _watches.remove(watch)
        watch._pause()


def watched() -> bool:
    """Return whether anybody looks."""
    return bool(_watches)


def begun(functions: int = 1, what: str = "") -> None:
    """Count what this process begins to compile, maybe within another function; with 0, to load from the cache.

    `what` is what progress says of it.
    """
    global _under_way, _latest
    _under_way += 1
    _latest = what or _latest
    for watch in (*_watches,):
        watch.functions += functions
        if _under_way == 1:
            watch._resume()
    if functions:
        _notify()


def ended(functions: int = 1) -> None:
    """Note that what was begun last is compiled, or with 0 is loaded."""
    global _under_way
    _under_way -= 1
    if _under_way == 0:
        for watch in (*_watches,):
            watch._pause()
    if functions:
        _notify()


def told(worker: int, more: Count) -> None:
    """Add what a worker process has compiled since it told last."""
    for watch in (*_watches,):
        before = watch.workers.get(worker, Count())
        watch.workers[worker] = Count(before.functions + more.functions, before.seconds + more.seconds, more.active)
    _notify()


def say(why: str) -> None:
    """Say on stderr what is unusual about compiling here."""
    if sys.stderr is not None:
        sys.stderr.write(f"fedsched: {why}.\n")


def _notify() -> None:
    for watch in reversed(_watches):
        if watch.notice is not None:
            watch.notice(watch)
            return


_watches: list[Compilation] = []
_under_way = 0  # one function and those that it calls: the compiler's lock lets one thread at a time compile
_latest = ""  # of which module a function was begun last
