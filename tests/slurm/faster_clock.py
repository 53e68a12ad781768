"""A clock that runs faster than the world's, shared by every process that is started with its environment."""

from __future__ import annotations

import os
import subprocess
import time
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from types import TracebackType

# libfaketime keeps the moment at which its clock began in memory that all who are given these variables share; it lasts
# as long as the process that was started by `faketime` itself.
_TELL = ("sh", "-c", "env -0; printf '.'; exec cat")


def _kept_in(shared: str) -> tuple[Path, Path]:
    """Return the files of the clock's memory, which other users of this machine cannot read as they are made.

    Each of theirs would begin a clock of its own then, under its process's number, and fail where that has left files.
    """
    semaphore, memory = shared.split()
    return Path("/dev/shm", f"sem.{semaphore.lstrip('/')}"), Path("/dev/shm", memory.lstrip("/"))


class FasterClock:
    """A clock that runs `factor` times as fast as the world's; sleeps are that much shorter.

    It begins at the world's time, or at another one, in seconds since 1970.
    """

    def __init__(self, factor: float, begins: float | None = None) -> None:
        self.factor = factor
        self._begins = begins
        self.environment: dict[str, str] = {}

    def __enter__(self) -> FasterClock:
        later = 0.0 if self._begins is None else self._begins - time.time()
        command = ("faketime", "-m", "-f", f"{later:+.0f} x{self.factor:g}", *_TELL)
        self._holder = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        assert self._holder.stdout is not None
        said = b""
        while not said.endswith(b"\0."):
            piece = self._holder.stdout.read1()  # type: ignore[attr-defined]
            if not piece:
                raise RuntimeError("faketime did not start; on Debian and Ubuntu: apt-get install faketime")
            said += piece
        told = dict(one.split("=", 1) for one in said[:-2].decode().split("\0"))
        faked = {name: text for name, text in told.items() if name.startswith(("FAKETIME", "LD_PRELOAD"))}
        self.environment = {**os.environ, **faked, "TZ": "UTC"}
        for name in _kept_in(faked["FAKETIME_SHARED"]):
            name.chmod(0o666)
        self._began = time.monotonic()
        date = ("date", "+%s.%N")
        self._at_begin = float(subprocess.run(date, env=self.environment, capture_output=True, check=True).stdout)
        self._began = (self._began + time.monotonic()) / 2
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._holder.communicate()

    def now(self) -> float:
        """Return its time, in seconds since 1970."""
        return self._at_begin + (time.monotonic() - self._began) * self.factor

    def sleep_until(self, moment: float) -> None:
        """Wait until it shows a moment."""
        while (left := moment - self.now()) > 0.0:
            time.sleep(left / self.factor)
