"""Safe access to files with predictable names in shared folders: links and other users' files are never followed."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from fedsched.core.errors import FetchError

if TYPE_CHECKING:
    from pathlib import Path

# Windows has neither such links by default nor this flag.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)


def create(path: Path) -> IO[bytes]:
    """Return a new, empty file of that name, open to write and read; an existing file or link is removed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINKS | _BINARY, 0o644), "w+b")


def reopen(path: Path) -> IO[bytes] | None:
    """Return the file of that name, open to continue; None if there is none, or if it is not ours alone.

    Links, files that are not plain, other users' files and files with a second name are not ours alone.
    """
    with suppress(OSError):
        number = os.open(path, os.O_RDWR | _NO_LINKS | _BINARY)
        found = os.fstat(number)
        user = os.getuid() if hasattr(os, "getuid") else found.st_uid
        if stat.S_ISREG(found.st_mode) and found.st_uid == user and found.st_nlink == 1:
            return os.fdopen(number, "r+b")
        os.close(number)
    return None


def put(path: Path, text: str) -> None:
    """Write a small file atomically; a link of its name is replaced, never followed."""
    temporary = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with create(temporary) as out:
            out.write(text.encode("utf-8", "backslashreplace"))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_small(path: Path, what: str) -> str | None:
    """Return the text of a small file, None if there is none; a link is an error, whatever its target."""
    if path.is_symlink():
        raise FetchError(f"{path}: it is a link, which could lead anywhere; {what} is a plain file: delete the link.")
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 16).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
