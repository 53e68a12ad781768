"""Opening of files to read, plain or compressed, and parsing of TOML and JSON."""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import os
import re
import stat
import sys
import tempfile
import time
import zlib
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, cast

from fedsched.core.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from os import PathLike

COMPRESSION_SUFFIXES = (".gz", ".xz", ".bz2")
# The cure for faults in a file, for Python and for the command line.
SKIP = 'on_error="skip" (fedsched: --on-error skip)'
_MAGIC = ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ\x00", lzma.open), (b"BZh", bz2.open))
# Compression shrinks logs by a factor of 5 to 20. A file that grows beyond both limits is an attack, or no log.
GROWTH = 200
ALLOWANCE = 64 << 20
STDIN = "-"
# Most bytes of a pipe to keep in memory (more go to an unnamed file on disk), and to read at all.
IN_MEMORY, MOST_PIPED = 64 << 20, 64 << 30
MOST_PARTS = 100  # parts of a TOML key
_PART = r"""(?:[\w-]+|"[^"]*"|'[^']*')"""
_KEY = re.compile(rf"[\s\[]*{_PART}(?:\s*\.\s*{_PART})*[\s\]]*")
PATIENCE = 30.0  # seconds to wait for the writer of a pipe
_OTHER = ((b"PK\x03\x04", "a zip archive; unpack it first"), (b"%PDF", "a PDF document"))


class TruncatedError(TraceError):
    """The error for compressed data that end in the middle."""


@contextmanager
def open_bytes(path: str | PathLike[str]) -> Iterator[BufferedReader]:
    """Return a stream of the file's content; its first bytes, not its name, tell how it is compressed.

    If the file cannot be read, the error is a `TraceError`, or a `TruncatedError` if the data end in the middle.
    Compressed data that grow to more than 64 MiB and to more than 200 times their size are an error too, so that no
    file takes unlimited memory. "-" is the standard input; it and pipes are read once, to their end.
    """
    try:
        with _opened(path) as raw:
            start = raw.read(8)
            raw.seek(0)
            for magic, what in _OTHER:
                if start.startswith(magic):
                    raise TraceError(f"{path}: it is {what}.")
            opener = next((opener for magic, opener in _MAGIC if start.startswith(magic)), None)
            if opener is None:
                yield raw
            else:
                limit = max(ALLOWANCE, GROWTH * raw.seek(0, os.SEEK_END))
                raw.seek(0)
                with opener(raw, "rb") as stream:
                    yield io.BufferedReader(_Bounded(cast("io.BufferedIOBase", stream), limit, path), 1 << 20)
    except EOFError as error:
        raise TruncatedError(
            f"{path}: the compressed data end in the middle; get the file again, or read what is there with {SKIP}."
        ) from error
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise TraceError(f"{path}: the compressed data are damaged ({error}); get the file again.") from error
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file; check the path.") from error
    except IsADirectoryError as error:
        raise TraceError(f"{path}: it is a folder; give a file in it.") from error
    except PermissionError as error:
        raise TraceError(f"{path}: you may not read it; ask its owner, or give another path.") from error
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}.") from error


@contextmanager
def _opened(path: str | PathLike[str]) -> Iterator[BufferedReader]:
    """Open a seekable stream for the block: the file, or a copy of all that comes through a pipe or standard input."""
    if str(path) == STDIN:
        if sys.stdin is None:
            raise TraceError(f"{path}: there is no standard input; give a file.")
        with _spooled(sys.stdin.buffer, path) as kept:
            yield kept
        return
    waits = hasattr(os, "O_NONBLOCK") and stat.S_ISFIFO(os.stat(path).st_mode)
    waits = waits and os.path.exists(os.path.realpath(path))  # a shell's <(...) has a writer already, and no name
    with open(path, "rb", opener=_without_waiting if waits else None) as raw:
        kind = os.fstat(raw.fileno()).st_mode
        if stat.S_ISREG(kind):
            yield raw
            return
        begin = _first_of_pipe(raw.fileno(), path) if waits else b""
        with _spooled(raw, path, begin, device=stat.S_ISCHR(kind) and not raw.isatty()) as kept:
            yield kept


def _without_waiting(path: str, flags: int) -> int:
    return os.open(path, flags | os.O_NONBLOCK)


def _first_of_pipe(pipe: int, path: str | PathLike[str]) -> bytes:
    """Return the first bytes of a pipe; raise a TraceError if no program has opened it for writing within 30 s.

    Return b"" if a program has opened the pipe and written nothing yet.
    """
    until = time.monotonic() + PATIENCE
    while True:
        try:
            begin = os.read(pipe, 1 << 16)
        except BlockingIOError:  # a writer has opened the pipe, but has written nothing yet
            begin = None
        if begin != b"":
            os.set_blocking(pipe, True)
            return begin or b""
        if time.monotonic() > until:
            raise TraceError(f"{path}: it is a pipe, and nothing was written into it for {PATIENCE:g} s; give a file.")
        time.sleep(0.02)


@contextmanager
def _spooled(
    pipe: IO[bytes], path: str | PathLike[str], begin: bytes = b"", *, device: bool = False
) -> Iterator[BufferedReader]:
    with tempfile.SpooledTemporaryFile(max_size=IN_MEMORY) as kept:
        kept.write(begin)
        size = len(begin)
        while part := pipe.read(1 << 20):
            size += len(part)
            if device and size >= IN_MEMORY:
                raise TraceError(f"{path}: it is a device without an end; give a file.")
            if size > MOST_PIPED:
                raise TraceError(
                    f"{path}: more than {MOST_PIPED >> 30} GiB came through the pipe, more than any log; give a file."
                )
            kept.write(part)
        kept.seek(0)
        yield cast("BufferedReader", kept)


def stem_of(path: str | PathLike[str]) -> str:
    """Return the default name of a workload or a federation: its file's name up to the first dot; "stdin" for "-"."""
    return "stdin" if str(path) == STDIN else Path(path).name.split(".")[0]


class _Bounded(io.RawIOBase):
    """A stream of decompressed data that raises a TraceError after more than `limit` bytes."""

    def __init__(self, stream: io.BufferedIOBase, limit: int, path: str | PathLike[str]) -> None:
        self._stream = stream
        self._left = limit
        self._path = path

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, buffer: Any) -> int:
        """Read decompressed bytes into the buffer and return how many; 0 at the end."""
        room = memoryview(buffer)
        part = self._stream.read1(len(room))
        self._left -= len(part)
        if self._left < 0:
            raise TraceError(
                f"{self._path}: the compressed data grow to more than {GROWTH} times their size and more than "
                f"{ALLOWANCE >> 20} MiB, more than any log; if it is one, unpack it first."
            )
        room[: len(part)] = part
        return len(part)


def read_text(path: str | PathLike[str]) -> str:
    """Return the whole text of a file, decompressed, without a byte-order mark.

    Raise a TraceError if the file cannot be read or has zero bytes.
    """
    with open_bytes(path) as stream:
        parts = []
        while part := stream.read1(1 << 20):
            parts.append(part)
    content = b"".join(parts)
    if b"\0" in content:
        raise TraceError(f"{path}: it holds zero bytes; it is not a text file.")
    return decode(content.removeprefix(b"\xef\xbb\xbf"))


def decode(content: bytes) -> str:
    """Return bytes as text: UTF-8, or Latin-1 if that fails, as in many old logs."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")


def parse_toml(text: str) -> dict[str, Any]:
    """Return the data in a TOML text; raise a `ValueError` if it is invalid or a key has too many parts to parse."""
    import tomllib

    for part in re.split("[={,\n]", text):
        if part.count(".") >= MOST_PARTS and _KEY.fullmatch(part):
            raise ValueError(f"a key of more than {MOST_PARTS} parts")
    return tomllib.loads(text)


def read_json(path: str | PathLike[str]) -> Any:
    """Return the data in a JSON file, plain or compressed; raise a TraceError if it is invalid or repeats a name."""
    return parse_json(read_text(path), str(path))


def parse_json(text: str, source: str) -> Any:
    """Return the data in a JSON text; raise a TraceError that names `source` if it is invalid or repeats a name."""
    try:
        return json.loads(text, object_pairs_hook=partial(_named_once, source))
    except TraceError:
        raise
    except json.JSONDecodeError as error:
        at = f", line {error.lineno}" if error.lineno > 1 else ""
        raise TraceError(f"{source}{at}: not valid JSON ({error.msg}).") from None
    except ValueError as error:  # a number with thousands of digits
        raise TraceError(f"{source}: not valid JSON ({error}).") from None
    except RecursionError:
        raise TraceError(f"{source}: its brackets are nested too deeply.") from None


def _named_once(source: str, pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Return a JSON object's pairs as a dictionary; raise a TraceError if a name occurs twice in it."""
    named = dict(pairs)
    if len(named) < len(pairs):
        seen: set[str] = set()
        for name, _ in pairs:
            if name in seen:
                raise TraceError(f"{source}: {name[:60]!r} occurs twice in one JSON object; remove one of them.")
            seen.add(name)
    return named
