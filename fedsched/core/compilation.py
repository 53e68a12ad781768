"""Counts of the functions that are compiled and of the seconds that this takes, for lines of progress."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, NamedTuple

from fedsched.core.text import counted

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


ENOUGH = 10  # functions, after which their mean time predicts that of the others


class Count(NamedTuple):
    """How many functions a process has compiled, in how many seconds, and whether it is compiling now."""

    functions: int = 0
    seconds: float = 0.0
    active: bool = False


@dataclass(slots=True, eq=False)
class Compilation:
    """A watch that counts the functions compiled while it is open; code loaded from the cache is not counted.

    `functions` counts fedsched's functions that this process has begun to compile, on all of its threads. `workers` has
    the count of each worker process of `fedsched.executors.Processes`. `notice` is called with the watch when a
    count changes. `expects` returns about how many functions will be compiled, or 0; it is called once, when the
    first function is compiled. As text the watch gives its counts and seconds; it is false if nothing was compiled.
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
        """Return the seconds that this process has spent on compiling, those of a compilation under way included."""
        return self._before + (0.0 if self._since is None else time.perf_counter() - self._since)

    @property
    def active(self) -> bool:
        """Return whether this process or a worker process is compiling now."""
        return self._since is not None or any(count.active for count in self.workers.values())

    @property
    def status(self) -> str:
        """Return the text for a line of progress: the module compiled now, how many of how many, and the time left.

        If worker processes compile, or the expected number is not known, the text has the counts and seconds instead.
        """
        if self.workers or not _latest:
            return f"compiling, once for this version: {self}"
        progress = next((text for watch in _watches if (text := watch._progress())), f"{self}")
        return f"compiling {_latest}: {progress}"

    def _progress(self) -> str:
        """Return the text with how many of the expected functions are begun, and the time left; "" if not known."""
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
    """Open a watch for the `with` block and return it: it counts what is compiled within the block.

    A time budget that excludes compiling subtracts the watch's `seconds`. `notice` is called whenever the compilation
    of a function begins or ends. In nested blocks only the innermost `notice` is called, so that one line of progress
    is drawn. `expects` returns about how many functions will be compiled, for that line.
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
    """Return whether a block of `compiling` is open."""
    return bool(_watches)


def begun(functions: int = 1, what: str = "") -> None:
    """Add functions that this process begins to compile to all open watches, and start the clocks of the watches.

    Calls nest, as a function's callees are compiled within it; `ended` closes each. With 0 functions, code is loaded
    from the cache: the clocks run, but nothing is counted and no notice is called. `what` is the name of a module that
    the line of progress shows.
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
    """Close the last `begun`: stop the clocks of the watches if it was the outermost; 0: code was loaded, no notice."""
    global _under_way
    _under_way -= 1
    if _under_way == 0:
        for watch in (*_watches,):
            watch._pause()
    if functions:
        _notify()


def add_from_worker(worker: int, more: Count) -> None:
    """Add to all open watches what a worker process has compiled since its last report, and call the notice."""
    for watch in (*_watches,):
        before = watch.workers.get(worker, Count())
        watch.workers[worker] = Count(before.functions + more.functions, before.seconds + more.seconds, more.active)
    _notify()


def say(why: str) -> None:
    """Write a notice about unusual compiling to stderr."""
    if sys.stderr is not None:
        sys.stderr.write(f"fedsched: {why}.\n")


def _notify() -> None:
    for watch in reversed(_watches):
        if watch.notice is not None:
            watch.notice(watch)
            return


_watches: list[Compilation] = []
_under_way = 0  # a function and its callees; the compiler's lock lets one thread compile at a time
_latest = ""  # module of the function that was begun last
