"""Undo files: where they are, how they are read and written, and the lock by which only one process steers.

They are in a folder of their own, never in the current folder. A file is read whole or refused, written before a
command runs, and removed when nothing is left to undo.
"""

from __future__ import annotations

import json
import os
import re
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

from fedsched.core.errors import SteerError
from fedsched.core.ownership import user
from fedsched.site.steer import private_files
from fedsched.site.steer.private_files import folder_of, make_folder, open_lock

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

ROOT_FOLDER = Path("/var/lib/fedsched")
NAME = "fedsched"


def state_folder(named: Path | None = None) -> Path:
    """Return the folder for undo files: `named` if it is given, else the folder of the service, of root or of the user.

    These are `$STATE_DIRECTORY` if it is set, `/var/lib/fedsched` for root, and for other users
    `$XDG_STATE_HOME/fedsched` or `~/.local/state/fedsched`.
    """
    if named is not None:
        return named
    if given := os.environ.get("STATE_DIRECTORY", "").partition(":")[0]:
        if not Path(given).is_absolute():
            raise SteerError(f"STATE_DIRECTORY={given!r} must begin with /; name the folder with --state.")
        return Path(given)
    if user() == 0:
        return ROOT_FOLDER
    base = Path(os.environ.get("XDG_STATE_HOME", ""))
    if base.is_absolute():
        return base / NAME
    try:
        return Path("~/.local/state").expanduser() / NAME
    except RuntimeError:
        raise SteerError("HOME is not set, and there is no home for this user; name a folder with --state.") from None


def state_file(
    what: str, cluster: str, *, file: Path | None = None, folder: Path | None = None, make: bool = True
) -> Path:
    """Return the path of a cluster's undo file: `file` if it is given, else one in the state folder.

    Parameters
    ----------
    what
        What is to be undone, as the file's name begins: `undo` or `placed`.
    make
        Whether the state folder is made if it is missing.
    """
    if file is not None:
        if folder is not None:
            raise SteerError(f"--undo-file {file} and --state {folder} name two places; leave one of them out.")
        return file
    there = state_folder(folder)
    if make:
        make_folder(there)
    return there / f"{what}-{re.sub(r'[^A-Za-z0-9_.-]', '_', cluster)}.json"


Found = TypeVar("Found")


def read_state(path: Path, kind: str, read: Callable[[Any], Found], *, otherwise: str) -> Found | None:
    """Return what `read` makes of the JSON document in a file; None if there is no file yet.

    Raise if the file cannot be read, or if its "kind" is not `kind`.

    Parameters
    ----------
    otherwise
        The error message for a file that cannot be read, with `{}` for the cause.
    """
    try:
        text = private_files.read_text(path)
        if text is None:
            return None
        said = json.loads(text)
        its_kind = said["kind"]
        found = read(said) if its_kind == kind else None
    except (ValueError, OverflowError, RecursionError, KeyError, TypeError, AttributeError, OSError) as error:
        raise SteerError(f"{path}: {otherwise.format(error)}") from None
    if its_kind != kind:
        raise SteerError(f"{path}: it is {its_kind!r}, not {kind!r}; undo it with the version that wrote it.")
    return found


def write_state(path: Path | None, said: Mapping[str, object]) -> None:
    """Write a document to a file as JSON, atomically, or remove the file if the document has no jobs.

    Without a path, do nothing.
    """
    if path is None:
        return
    if not said["jobs"]:
        private_files.remove(path)
    else:
        private_files.write_text(path, json.dumps(said, indent=1) + "\n")


ENDING = ".lock"


@contextmanager
def exclusive_lock(path: Path | None) -> Iterator[None]:
    """Lock a file while the with statement lasts; raise if another process has locked it.

    If a process is killed, its lock ends with the command that it was running. That command inherits the lock, since
    its change must not come after the undo. The lock is a file beside the locked one, and is removed at the end.
    Without a path, or on a system other than POSIX, nothing is locked.
    """
    if path is None or os.name != "posix":
        yield
        return
    lock_path = Path(f"{path}{ENDING}")
    with folder_of(lock_path) as folder:
        lock = _locked(path, lock_path, folder)
        try:
            os.ftruncate(lock, 0)
            os.write(lock, str(os.getpid()).encode())
            os.set_inheritable(lock, True)
            yield
        finally:
            with suppress(FileNotFoundError):
                os.unlink(lock_path.name, dir_fd=folder)
            os.close(lock)


def _locked(path: Path, lock_path: Path, folder: int) -> int:
    """Return the lock file beside a file in an opened folder, opened and locked; raise if another process has it."""
    import fcntl

    while True:
        try:
            lock = open_lock(lock_path, folder)
        except OSError as error:
            raise SteerError(f"{lock_path}: it cannot be written ({error.strerror}); name another undo file.") from None
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            who = os.read(lock, 20).decode(errors="replace").strip() or "?"
            os.close(lock)
            raise SteerError(f"{path}: {_why_locked(who)}") from None
        except OSError as error:
            os.close(lock)
            raise SteerError(f"{lock_path}: it cannot be locked ({error.strerror}); name another undo file.") from None
        if _is_current(lock, lock_path.name, folder):
            return lock
        os.close(lock)  # the process that had it has removed it meanwhile


def _why_locked(who: str) -> str:
    """Return in words why a process has a lock: it steers, or it was killed and its last command still runs.

    The process is given by its number, as text.
    """
    if who.isdecimal() and not Path("/proc", who).exists() and Path("/proc/self").exists():
        return (
            f"a command of a fedsched that was killed (process {who}) has not ended yet, and what it changes must be "
            "known before that is undone. Try again in a minute."
        )
    return (
        f"another fedsched (process {who}) uses it; two would undo each other's changes. End that one first; it "
        "undoes its changes."
    )


def _is_current(lock: int, name: str, folder: int) -> bool:
    try:
        return os.path.samestat(os.fstat(lock), os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return False
