"""Opening files to read, whatever they are compressed with."""

from __future__ import annotations

import bz2
import gzip
import lzma
import zlib
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, cast

from fedsched.errors import TraceError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from io import BufferedReader
    from os import PathLike

COMPRESSION_SUFFIXES = (".gz", ".xz", ".bz2")
_MAGIC = ((b"\x1f\x8b", gzip.open), (b"\xfd7zXZ\x00", lzma.open), (b"BZh", bz2.open))
_OTHER = ((b"PK\x03\x04", "a zip archive; unpack it first"), (b"%PDF", "a PDF document"))


class TruncatedError(TraceError):
    """Compressed data end in the middle."""


@contextmanager
def open_bytes(path: str | PathLike[str]) -> Iterator[BufferedReader]:
    """Return a stream of the file's content; its first bytes, not its name, tell how it is compressed.

    Every way in which the file cannot be read is a `TraceError`; data that end in the middle a `TruncatedError`.
    """
    try:
        with Path(path).open("rb") as raw:
            start = raw.read(8)
            raw.seek(0)
            for magic, what in _OTHER:
                if start.startswith(magic):
                    raise TraceError(f"{path}: it is {what}.")
            opener = next((opener for magic, opener in _MAGIC if start.startswith(magic)), None)
            if opener is None:
                yield raw
            else:
                with opener(raw, "rb") as stream:
                    yield cast("BufferedReader", stream)
    except EOFError as error:
        raise TruncatedError(
            f"{path}: the compressed data end in the middle; get the file again, or read what is there "
            'with on_error="skip".'
        ) from error
    except (zlib.error, lzma.LZMAError, gzip.BadGzipFile) as error:
        raise TraceError(f"{path}: the compressed data are damaged ({error}); get the file again.") from error
    except FileNotFoundError as error:
        raise TraceError(f"{path}: there is no such file.") from error
    except IsADirectoryError as error:
        raise TraceError(f"{path}: it is a folder; give a file in it.") from error
    except OSError as error:
        raise TraceError(f"{path}: {error.strerror or error}.") from error


def read_text(path: str | PathLike[str]) -> str:
    """Return the whole content of a small text file, decompressed, without a byte-order mark."""
    with open_bytes(path) as stream:
        parts = []
        while part := stream.read1(1 << 20):
            parts.append(part)
    content = b"".join(parts)
    if b"\0" in content:
        raise TraceError(f"{path}: it holds zero bytes; it is not a text file.")
    return decode(content.removeprefix(b"\xef\xbb\xbf"))


def decode(content: bytes) -> str:
    """Return bytes as text: UTF-8, or Latin-1 where that fails, as in many old logs."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError:
        return content.decode("latin-1")
