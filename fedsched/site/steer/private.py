"""Files that nobody but their owner can have put there: what they say makes a process change jobs, often root's.

Each part of the way to a file is opened below the one before it and looked at, no link to a file is ever followed, and
what is written takes a file's place as a whole.
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
# A folder on the way may be one that others cannot list: then it is enough to go through it.
_ON_THE_WAY = getattr(os, "O_PATH", os.O_RDONLY) | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC  # a pipe with nobody at its other end is not waited for


@contextmanager
def folder_of(path: Path) -> Iterator[int]:
    """Give the opened folder that a file is in, which is this user's alone; raise where it is not."""
    with _opened(path.parent, make=False) as folder:
        yield folder


def make_folder(folder: Path) -> None:
    """Make a folder that is this user's alone, and those above it that are missing; raise where it cannot be that."""
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
            found = _look(name, here, at / name, make=make)
            if stat.S_ISLNK(found.st_mode):
                links += 1
                target = _led_to(name, here, at / name, found, links)
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


def _look(name: str, here: int, path: Path, *, make: bool) -> os.stat_result:
    """Return what there is by this name in an opened folder, made where it is missing and may be made."""
    try:
        with suppress(FileNotFoundError):
            return os.stat(name, dir_fd=here, follow_symlinks=False)
        if make:
            with suppress(FileExistsError):
                os.mkdir(name, 0o700, dir_fd=here)
            return os.stat(name, dir_fd=here, follow_symlinks=False)
    except OSError as error:
        raise SteerError(f"{path}: there can be no such folder ({error.strerror}); {CURE}.") from None
    raise MissingFolderError(path)


class MissingFolderError(SteerError):
    """A folder is not there that a file is to be in."""

    def __init__(self, path: Path) -> None:
        super().__init__(f"{path}: there is no such folder; make it first (mkdir -m 700), or {CURE}.")


def _led_to(name: str, here: int, path: Path, found: os.stat_result, links: int) -> Path:
    """Return where a link on the way leads that root or this user has made; nobody else's is followed."""
    whose = ownership.owner_of(found)
    if whose not in (0, user()):
        raise SteerError(f"{path}: this link is {name_of(whose)}'s, who could make it lead elsewhere; {CURE}.")
    if links > LINKS:
        raise SteerError(f"{path}: more than {LINKS} links lead from here to there; {CURE}.")
    return Path(os.readlink(name, dir_fd=here))


def _check_keeps(folder: int, path: Path) -> None:
    """Raise where somebody else could put another folder in the place of one in this one."""
    if keeps_entries(folder, trusting=False):
        return
    whose = ownership.owner_of(folder)
    if whose not in (0, user()):
        raise SteerError(
            f"{path}: it is {name_of(whose)}'s, who could exchange what is kept below it and so have "
            f"{name_of(user())} change jobs; keep that below folders of root's and your own: {CURE}."
        )
    raise SteerError(
        f"{path}: its mode {_mode(os.fstat(folder))} lets others exchange what is kept below it; take that from them "
        f"(chmod go-w {path}), or {CURE}."
    )


def _check_ours(folder: int, path: Path) -> None:
    """Raise where a folder is another user's, or others may write to it."""
    if only_ours(folder):
        return
    whose = ownership.owner_of(folder)
    if whose != user():
        raise SteerError(
            f"{path}: this folder is {name_of(whose)}'s, and this process runs as {name_of(user())}; the state "
            f"must be in a folder that belongs to {name_of(user())}: {CURE}."
        )
    raise SteerError(
        f"{path}: the mode {_mode(os.fstat(folder))} of this folder lets others put files in it; look at what is "
        f"there and take that from them (chmod go-w {path}), or {CURE}."
    )


def check_file(found: os.stat_result, path: Path) -> None:
    """Raise where a file is no plain one of this user's alone, under this one name."""
    if stat.S_ISLNK(found.st_mode):
        what = "it is a symbolic link, and the file that it leads to would be written"
    elif not stat.S_ISREG(found.st_mode):
        what = "it is no regular file"
    elif (whose := ownership.owner_of(found)) != user():
        what = f"it is {name_of(whose)}'s, and this process runs as {name_of(user())}"
    elif found.st_mode & WRITABLE_BY_OTHERS:
        what = f"its mode {_mode(found)} lets others write it (chmod go-w takes that from them)"
    elif found.st_nlink > 1:
        what = f"it has {found.st_nlink} names (hard links), so that others may have put it here"
    else:
        return
    raise SteerError(f"{path}: {what}; look whose doing that is and take it away, or {CURE}.")


def _mode(found: os.stat_result) -> str:
    return f"{stat.S_IMODE(found.st_mode):04o}"


def read_text(path: Path) -> str | None:
    """Return what a file says; None where there is none."""
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
    """Write a file, whole or not at all, that its owner alone may read."""
    with folder_of(path) as folder, _new_beside(path, folder) as (opened, name):
        with os.fdopen(opened, "wb", closefd=False) as stream:
            stream.write(text.encode())
        os.replace(name, path.name, src_dir_fd=folder, dst_dir_fd=folder)


def check_writable(path: Path) -> None:
    """Raise the error that `write_text` would, before there is anything to write."""
    with folder_of(path) as folder, _new_beside(path, folder):
        pass


def remove(path: Path) -> None:
    """Remove a file, if it is there."""
    with folder_of(path) as folder, suppress(FileNotFoundError):
        _check_name(path, folder)
        os.unlink(path.name, dir_fd=folder)


@contextmanager
def _new_beside(path: Path, folder: int) -> Iterator[tuple[int, str]]:
    """Give a new file in a file's folder, opened, and its name, by which it is gone at the end."""
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
    """Raise where there is something by a file's name that is no plain file of this user's alone."""
    if not path.name:
        raise SteerError(f"{path}: this is the name of a folder; give one of a file in it.")
    with suppress(FileNotFoundError):
        check_file(os.stat(path.name, dir_fd=folder, follow_symlinks=False), path)


def open_lock(path: Path, folder: int) -> int:
    """Return a file in an opened folder, made where it is missing, that can be locked."""
    _check_name(path, folder)
    opened = os.open(path.name, os.O_RDWR | os.O_CREAT | _FILE, 0o600, dir_fd=folder)
    try:
        check_file(os.fstat(opened), path)
    except SteerError:
        os.close(opened)
        raise
    return opened
