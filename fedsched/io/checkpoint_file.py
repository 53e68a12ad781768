"""Files of checkpoints: a mark, the digest of the content, and the content; written completely or not at all.

The content is plain data (`fedsched.io.trees`): opening a file runs no code, even if an attacker wrote it.
"""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.core.errors import FedschedError
from fedsched.io.atomic import atomic_bytes, check_writable
from fedsched.io.files import COMPRESSION_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class SealedFile:
    """The file of a checkpoint: a mark of the format, a digest, and the content.

    The digest detects damage, not forgery: readers must check all values.
    """

    path: Path
    mark: bytes  # ends with the format's version and a line feed
    what: str  # the kind of object that is saved, for messages

    def read(self, most: int) -> bytes | None:
        """Return the content; None if there is no file yet.

        Raise a FedschedError if the file is unreadable, damaged, no checkpoint of this kind and version, or has more
        than `most` bytes of content.
        """
        written = self._content(len(self.mark) + DIGEST + most)
        if written is None:
            return None
        if not written.startswith(self.mark):
            kind = self.mark.rpartition(b" ")[0] + b" "
            if written.startswith(kind) and (other := written[len(kind) :].partition(b"\n")[0]).isdigit():
                raise self.refusal(
                    f"its version is {(kind + other[:9]).decode()!r}, and this version of fedsched cannot resume it"
                )
            raise self.refusal(f"not a checkpoint of {self.what}, or of another version")
        digest, content = written[len(self.mark) :][:DIGEST], written[len(self.mark) + DIGEST :]
        if digest != hashlib.sha256(content).digest():
            raise self.refusal("its content is damaged")
        return content

    def _content(self, most: int) -> bytes | None:
        try:
            if not self.path.exists():
                return None
            if not (self.path.is_file() or self.path.is_dir()):  # a device has no end, and a pipe may have no writer
                raise FedschedError(f"{self.path}: cannot be read (it is no file); name another file.")
            with self.path.open("rb") as stream:
                written = stream.read(most + 1)
        except OSError as error:
            raise FedschedError(f"{self.path}: cannot be read ({error.strerror}); name another file.") from None
        if len(written) > most:
            why = f"it has more than {most:,} bytes, more than any checkpoint"
            raise self.refusal(f"not a checkpoint of {self.what}: {why}")
        return written

    def check_writable(self) -> None:
        """Raise an error if the path cannot be written: before hours of work, not after them."""
        check_writable(self.path)

    def write(self, content: bytes | memoryview) -> None:
        """Write a new file with mark, digest and content; it replaces the old file when it is complete."""
        with atomic_bytes(self.path) as stream:
            stream.write(self.mark + hashlib.sha256(content).digest())
            stream.write(content)

    def refusal(self, why: str, *, others: bool = False) -> FedschedError:
        """Return, not raise, the error that says why the search or run cannot resume from this file, and the cure.

        With `others` the file may belong to another search or run, so the cure is also to name another file.
        """
        cure = "name another file, or delete it to begin anew" if others else "delete it to begin anew"
        return FedschedError(f"{self.path}: {why}; {cure}.")


def key_of(words: str, values: Iterable[object]) -> str:
    """Return a digest of `words` and of all numbers and arrays among `values`; other values are ignored.

    A checkpoint fits only a search or run with an equal digest.
    """
    digest = hashlib.sha256(words.encode())
    for value in values:
        if isinstance(value, np.ndarray | float | int):
            digest.update(np.asarray(value).tobytes())
    return digest.hexdigest()


def check_checkpoint(path: str | PathLike[str], what: str) -> None:
    """Raise a ValueError if a checkpoint's path ends in .gz, .xz or .bz2, as checkpoints are not compressed files.

    `what` names the argument in the error.
    """
    suffix = Path(path).suffix
    if suffix.lower() in COMPRESSION_SUFFIXES:
        raise ValueError(f"{what}={str(path)!r} must not end in {suffix}: it is not compressed.")
