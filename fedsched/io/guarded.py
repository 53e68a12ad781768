"""Files at names that others can guess, in folders that others may write to: opened only where they are ours."""

from __future__ import annotations

import os
import secrets
import stat
from contextlib import suppress
from typing import IO, TYPE_CHECKING

from fedsched.core.errors import FetchError

if TYPE_CHECKING:
    from pathlib import Path

# Windows has no such links by default, and no such flag.
_NO_LINKS = getattr(os, "O_NOFOLLOW", 0)
_BINARY = getattr(os, "O_BINARY", 0)


def create(path: Path) -> IO[bytes]:
    """Return a new, empty file at that name, open to write and read; what stood there, be it a link, is removed."""
    path.unlink(missing_ok=True)
    return os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL | _NO_LINKS | _BINARY, 0o644), "w+b")


def reopen(path: Path) -> IO[bytes] | None:
    """Return the file at that name, open to go on with; None where there is none, or one that is not ours alone.

    Not ours alone is a link, what is no plain file, another user's, and a file that bears a second name.
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
    """Write a small file whole; a link that stands at its name is replaced, never followed."""
    temporary = path.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with create(temporary) as out:
            out.write(text.encode("utf-8", "backslashreplace"))
        temporary.replace(path)
    finally:
        temporary.unlink(missing_ok=True)


def read_small(path: Path, what: str) -> str | None:
    """Return the text of a small file, None where there is none; a link is an error, whatever it leads to."""
    if path.is_symlink():
        raise FetchError(f"{path}: it is a link, which could lead anywhere; {what} is a plain file: delete the link.")
    try:
        with path.open("rb") as stream:
            return stream.read(1 << 16).decode("utf-8", "replace")
    except FileNotFoundError:
        return None
