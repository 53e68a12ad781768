"""Reads and writes files that only this user can have written: they make a process, often root's, change jobs.

Each folder on the path is opened relative to the one before it, and checked. A link in the place of a file is never
followed. Files are replaced atomically.
"""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

from fedsched.core import ownership
from fedsched.core.errors import OutputError, SteerError
from fedsched.core.ownership import WRITABLE_BY_OTHERS, keeps_entries, name_of, only_ours, user

if TYPE_CHECKING:
    from collections.abc import Iterator

CURE = "name another with --state or --undo-file"
LINKS = 40  # symbolic links on the way to a folder, at most
# The user may lack the right to list a folder on the path: O_PATH needs only the right to pass through it.
_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # does not block on a pipe that has no writer


@contextmanager
def folder_of(path: Path) -> Iterator[int]:
    """Open a file's folder and give its descriptor; raise unless this user owns it and no other may write to it."""
    with _opened(path.parent, make=False) as folder:
        yield folder


def make_folder(folder: Path) -> None:
    """Make a folder, with missing parents; raise unless this user owns it and no other may write to it."""
    with _opened(folder, make=True):
        pass


@contextmanager
def _opened(folder: Path, *, make: bool) -> Iterator[int]:
    way = [*reversed(folder.absolute().parts[1:])]
    at, here = Path("/"), os.open("/", _ON_THE_WAY)
    links = 0
    try:
        while way:
            _check_keeps(here, at)
            name = way.pop()
            found = _stat_or_make(name, here, at / name, make=make)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                target = _link_target(name, here, at / name, found, links)
                way += reversed(target.parts[1:] if target.is_absolute() else target.parts)
                onward, name = (Path("/"), "/") if target.is_absolute() else (at, ".")
            else:
                onward = at / name
            try:
                there = os.open(name, _ON_THE_WAY, dir_fd=here)
            except OSError as error:
                raise SteerError(f"{onward}: it cannot be opened as a folder ({error.strerror}); {CURE}.") from None
            os.close(here)
            at, here = onward, there
        _check_ours(here, at)
        yield here
    finally:
        os.close(here)


def _stat_or_make(name: str, here: int, path: Path, *, make: bool) -> os.stat_result:
    """Return the status of what has this name in an opened folder; with `make`, a missing folder is made."""
    try:
        with suppress(FileNotFoundError):
            return os.stat(name, dir_fd=here, follow_symlinks=False)
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=here)
            return os.stat(name, dir_fd=here, follow_symlinks=False)
    except OSError as error:
        raise SteerError(f"{path}: this folder cannot be used ({error.strerror}); {CURE}.") from None
    raise MissingFolderError(path)


class MissingFolderError(SteerError):
    """Error: the folder that a file is to be in does not exist."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: there is no such folder; make it first (mkdir -m 700), or {CURE}.")


def _link_target(name: str, here: int, path: Path, found: os.stat_result, links: int) -> Path:
    """Return the target of a link on the path; raise unless root or this user owns the link."""
    whose = ownership.owner_of(found)
    if whose not in (0, user()):
        raise SteerError(f"{path}: this link belongs to {name_of(whose)}, who could redirect it; {CURE}.")
    if links > LINKS:
        raise SteerError(f"{path}: more than {LINKS} links are on the path; {CURE}.")
    return Path(os.readlink(name, dir_fd=here))


def _check_keeps(folder: int, path: Path) -> None:
    """Raise if another user could replace what lies in an opened folder on the path."""
    if keeps_entries(folder, trusting=False):
        return
    whose = ownership.owner_of(folder)
    if whose not in (0, user()):
        raise SteerError(
            f"{path}: it belongs to {name_of(whose)}, who could replace files below it and so make "
            f"{name_of(user())} change jobs; use folders of root's and your own: {CURE}."
        )
    raise SteerError(
        f"{path}: its mode {_mode(os.fstat(folder))} lets others replace files below it; remove that right "
        f"(chmod go-w {path}), or {CURE}."
    )


def _check_ours(folder: int, path: Path) -> None:
    """Raise if a folder is another user's, or others may write to it."""
    if only_ours(folder):
        return
    whose = ownership.owner_of(folder)
    if whose != user():
        raise SteerError(
            f"{path}: this folder belongs to {name_of(whose)}, and this process runs as {name_of(user())}; the state "
            f"must be in a folder that belongs to {name_of(user())}: {CURE}."
        )
    raise SteerError(
        f"{path}: the mode {_mode(os.fstat(folder))} of this folder lets others put files in it; check its "
        f"files and remove that right (chmod go-w {path}), or {CURE}."
    )


def check_file(found: os.stat_result, path: Path) -> None:
    """Raise unless a file is a regular one of this user's, not writable by others, and without further hard links."""
    if stat.S_ISLNK(found.st_mode):
        what = "it is a symbolic link, and the file that it leads to would be written"
    elif not stat.S_ISREG(found.st_mode):
        what = "it is no regular file"
    elif (whose := ownership.owner_of(found)) != user():
        what = f"it belongs to {name_of(whose)}, and this process runs as {name_of(user())}"
    elif found.st_mode & WRITABLE_BY_OTHERS:
        what = f"its mode {_mode(found)} lets others write it (chmod go-w removes that right)"
    elif found.st_nlink > 1:
        what = f"it has {found.st_nlink} names (hard links), so that others may have put it here"
    else:
        return
    raise SteerError(f"{path}: {what}; find out who did that and remove it, or {CURE}.")


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):04o}"


def read_text(path: Path) -> str | None:
    """Return the text of a file; None if there is no file or no folder. Raise if others may have written it."""
    try:
        with folder_of(path) as folder:
            _check_name(path, folder)
            opened = os.open(path.name, os.O_RDONLY | _FILE, dir_fd=folder)
    except (MissingFolderError, FileNotFoundError):
        return None
    with os.fdopen(opened, "rb") as stream:
        check_file(os.fstat(opened), path)
        return stream.read().decode()


def write_text(path: Path, text: str) -> None:
    """Write a file atomically; only its owner may read it."""
    with folder_of(path) as folder, _new_temporary(path, folder) as (opened, name):
        with os.fdopen(opened, "wb", closefd=False) as stream:
            stream.write(text.encode())
        os.replace(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)


def check_writable(path: Path) -> None:
    """Raise the error that `write_text` would raise for this path; the file is not changed."""
    with folder_of(path) as folder, _new_temporary(path, folder):
        pass


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    with folder_of(path) as folder, suppress(FileNotFoundError):
        _check_name(path, folder)
        os.unlink(path.name, dir_fd=folder)


@contextmanager
def _new_temporary(path: Path, folder: int) -> Iterator[tuple[int, str]]:
    """Make an empty temporary file in the folder of `path`; give its descriptor and name, and remove it at the end."""
    _check_name(path, folder)
    name = f".{path.name}.{secrets.token_hex(4)}.part"
    try:
        opened = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _FILE, 0o600, dir_fd=folder)
        try:
            yield opened, name
        finally:
            os.close(opened)
            with suppress(FileNotFoundError):
                os.unlink(name, dir_fd=folder)
    except OSError as error:
        raise OutputError(
            f"Cannot write {path}: {error.strerror or error}; look at the space left on the disk and at your rights, "
            f"or {CURE}."
        ) from error


def _check_name(path: Path, folder: int) -> None:
    """Raise if the path names a folder, or if what is there already fails `check_file`."""
    if not path.name:
        raise SteerError(f"{path}: this is the name of a folder; give a file in it.")
    with suppress(FileNotFoundError):
        check_file(os.stat(path.name, dir_fd=folder, follow_symlinks=False), path)


def open_lock(path: Path, folder: int) -> int:
    """Open a file in an opened folder for locking, making it if it is missing, and return its descriptor."""
    _check_name(path, folder)
    opened = os.open(path.name, os.O_RDWR | os.O_CREAT | _FILE, 0o600, dir_fd=folder)
    try:
        check_file(os.fstat(opened), path)
    except SteerError:
        os.close(opened)
        raise
    return opened
