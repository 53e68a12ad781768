"""A lock on the undo file: only one process at a time steers by it."""

from __future__ import annotations

import os
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.core.errors import SteerError
from fedsched.site.steer.private import folder_of, open_lock

if TYPE_CHECKING:
    from collections.abc import Iterator

ENDING = ".lock"


@contextmanager
def only_one(path: Path | None) -> Iterator[None]:
    """Lock a file while the with statement lasts; raise if another process has locked it.

    If a process is killed, its lock ends with the command that it was running. That command inherits the lock, since
    its change must not come after the undo. The lock is a file beside the locked one, and is removed at the end.
    """
    if path is None or os.name != "posix":
        yield
        return
    beside = Path(f"{path}{ENDING}")
    with folder_of(beside) as folder:
        lock = _locked(path, beside, folder)
        try:
            os.ftruncate(lock, 0)
            os.write(lock, str(os.getpid()).encode())
            os.set_inheritable(lock, True)
            yield
        finally:
            with suppress(FileNotFoundError):
                os.unlink(beside.name, dir_fd=folder)
            os.close(lock)


def _locked(path: Path, beside: Path, folder: int) -> int:
    """Return the lock file beside a file in an opened folder, opened and locked; raise if another process has it."""
    import fcntl

    while True:
        try:
            lock = open_lock(beside, folder)
        except OSError as error:
            raise SteerError(f"{beside}: it cannot be written ({error.strerror}); name another undo file.") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(lock, 20).decode(errors="replace").strip() or "?"
            os.close(lock)
            raise SteerError(f"{path}: {_why_not(who)}") from None
        except OSError as error:
            os.close(lock)
            raise SteerError(f"{beside}: it cannot be locked ({error.strerror}); name another undo file.") from None
        if _is_at(lock, beside.name, folder):
            return lock
        os.close(lock)  # the process that had it has removed it meanwhile


def _why_not(who: str) -> str:
    """Return why a process has a lock: it steers, or it was killed and its last command still runs."""
    if who.isdecimal() and not Path("/proc", who).exists() and Path("/proc/self").exists():
        return (
            f"a command of a fedsched that was killed (process {who}) has not ended yet, and what it changes must be "
            "known before that is undone. Try again in a minute."
        )
    return (
        f"another fedsched (process {who}) steers by it; two would take back each other's changes. End that one first; "
        "it undoes what it did."
    )


def _is_at(lock: int, name: str, folder: int) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False
