"""Atomic writing of files: a file is written completely or not at all."""

from __future__ import annotations

import bz2
import gzip
import lzma
import os
import secrets
import sys
from contextlib import contextmanager
from io import TextIOWrapper
from pathlib import Path
from typing import IO, TYPE_CHECKING, TextIO, cast

from fedsched.core.errors import OutputError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from os import PathLike


# Names of the standard output, which is open already: even if it is a file, it is not replaced.
STDOUT = ("-", "/dev/stdout", "/dev/fd/1", "/proc/self/fd/1")


def is_stdout(path: str | PathLike[str]) -> bool:
    """Return whether a path is the standard output, as "-" is."""
    return str(path) in STDOUT and sys.stdout is not None


@contextmanager
def atomic_bytes(path: str | PathLike[str]) -> Iterator[IO[bytes]]:
    """Return a binary stream to a temporary file in the same folder, which replaces the path at the end.

    After an error or Ctrl-C inside the block the path is unchanged and the temporary file is deleted. A path that ends
    in .gz, .xz or .bz2 is compressed; the same content gives the same bytes. "-" is the standard output.
    """
    if is_stdout(path):
        sys.stdout.flush()
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    with _with_output_errors(path):
        target = _target(path)
        if target is None:
            given = Path(path)
            with _compressed(given, given.open("wb")) as stream:
                yield stream
            return
        temporary = _temporary_path(target)
        try:
            with _compressed(target, temporary.open("xb")) as stream:
                yield stream
            if target.exists():
                temporary.chmod(target.stat().st_mode & 0o7777)
            temporary.replace(target)
        finally:
            temporary.unlink(missing_ok=True)


def check_writable(path: str | PathLike[str]) -> None:
    """Raise an OutputError if the path cannot be written, for callers to know before long work; write nothing."""
    if is_stdout(path):
        return
    with _with_output_errors(path):
        target = _target(path)
        if target is not None:
            temporary = _temporary_path(target)  # permissions do not tell of a read-only or full disk, or of a quota
            try:
                temporary.touch(exist_ok=False)
            finally:
                temporary.unlink(missing_ok=True)


def _target(path: str | PathLike[str]) -> Path | None:
    """Return the file to replace for a path, links resolved; None for a device or a pipe, which is written directly.

    Raise an OutputError for a folder, a write-protected file, or a file in a folder that does not exist.
    """
    given = Path(path)
    if given.is_dir():
        raise OutputError(f"Cannot write {path}: it is a folder; give the name of a file in it.")
    if given.exists() and not os.access(given, os.W_OK):
        raise OutputError(f"Cannot write {path}: it is write-protected; choose another name, or allow writing to it.")
    # A device cannot be replaced, and an open pipe's name resolves to no file.
    if given.exists() and not given.is_file():
        return None
    target = Path(os.path.realpath(path))
    if not target.parent.is_dir():
        if any(folder.exists() and not folder.is_dir() for folder in target.parents):
            raise OutputError(f"Cannot write {path}: a part of the path is a file; check the path.")
        raise OutputError(f"Cannot write {path}: the folder {target.parent} does not exist; make it first.")
    return target


def _temporary_path(target: Path) -> Path:
    return target.parent / f".{target.name}.{secrets.token_hex(4)}.part"


@contextmanager
def atomic_text(path: str | PathLike[str]) -> Iterator[TextIO]:
    """Return a UTF-8 text stream to a file that is written completely or not at all, as by `atomic_bytes`.

    Line ends are written as they are given, so a line feed stays one on each system.

    Half a surrogate pair, which UTF-8 cannot encode (a file's name may have one), is escaped.
    """
    with atomic_bytes(path) as stream:
        text = TextIOWrapper(stream, encoding="utf-8", errors="backslashreplace", newline="")
        yield text
        text.flush()
        text.detach()


@contextmanager
def _with_output_errors(path: str | PathLike[str]) -> Iterator[None]:
    """Turn the system's error in writing this file, within the block, into an OutputError that says what to do.

    A broken pipe, and an error about a file in another folder, pass unchanged.
    """
    try:
        yield
    except BrokenPipeError:  # the reader of the pipe has ended
        raise
    except OSError as error:
        if error.filename is not None and Path(error.filename).parent != Path(os.path.realpath(path)).parent:
            raise
        refused = isinstance(error, PermissionError)
        cure = "choose a folder you may write to" if refused else "check the path and the space left on the disk"
        raise OutputError(f"Cannot write {path}: {error.strerror or error}; {cure}.") from error


@contextmanager
def _compressed(target: Path, raw: IO[bytes]) -> Iterator[IO[bytes]]:
    with raw:
        match target.suffix.lower():
            case ".gz":
                # Without name and time inside, the same content always gives the same bytes.
                with gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as stream:
                    yield cast("IO[bytes]", stream)
            case ".xz":
                with lzma.LZMAFile(raw, "wb") as packed:
                    yield cast("IO[bytes]", packed)
            case ".bz2":
                with bz2.BZ2File(raw, "wb") as squeezed:
                    yield cast("IO[bytes]", squeezed)
            case _:
                yield raw
