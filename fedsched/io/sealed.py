"""Checkpoints' files: a mark, the digest of what follows, and what was saved; written whole or not at all.

What was saved is data (`fedsched.io.trees`): opening a file, whoever wrote it, runs nothing.
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
    """Where something saves itself. The digest tells damage, not malice: whoever reads on checks what he reads."""

    path: Path
    mark: bytes  # ends with the format's version and a line feed
    what: str  # saves itself there, for messages

    def read(self, most: int) -> bytes | None:
        """Return what was saved last, `most` bytes or fewer; None where there is no file yet."""
        written = self._content(len(self.mark) + DIGEST + most)
        if written is None:
            return None
        if not written.startswith(self.mark):
            kind = self.mark.rpartition(b" ")[0] + b" "
            if written.startswith(kind) and (other := written[len(kind) :].partition(b"\n")[0]).isdigit():
                raise self.refusal(
                    f"not a checkpoint of this version but {(kind + other[:9]).decode()!r}, from which none goes on"
                )
            raise self.refusal(f"not a checkpoint of {self.what}, or of another version")
        digest, content = written[len(self.mark) :][:DIGEST], written[len(self.mark) + DIGEST :]
        if digest != hashlib.sha256(content).digest():
            raise self.refusal("not a checkpoint as it was written")
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
            raise self.refusal(f"not a checkpoint of {self.what}: it has more than {most:,} bytes, as none has")
        return written

    def check_writable(self) -> None:
        """Raise, before hours of work, the error of a path that cannot be written."""
        check_writable(self.path)

    def write(self, content: bytes | memoryview) -> None:
        """Save this in place of what was saved before."""
        with atomic_bytes(self.path) as stream:
            stream.write(self.mark + hashlib.sha256(content).digest())
            stream.write(content)

    def refusal(self, why: str, *, others: bool = False) -> FedschedError:
        """Return the error that says why there is no going on from this file; `others`: it is of use elsewhere."""
        cure = "name another file, or delete it to begin anew" if others else "delete it to begin anew"
        return FedschedError(f"{self.path}: {why}; {cure}.")


def key_of(words: str, values: Iterable[object]) -> str:
    """Return a name of what must be the same for a checkpoint to make sense: words, and all that is numbers."""
    digest = hashlib.sha256(words.encode())
    for value in values:
        if isinstance(value, np.ndarray | float | int):
            digest.update(np.asarray(value).tobytes())
    return digest.hexdigest()


def check_checkpoint(path: str | PathLike[str], what: str) -> None:
    """Raise unless the path can be a checkpoint's; its writers compress by the name, and its readers do not."""
    suffix = Path(path).suffix
    if suffix.lower() in COMPRESSION_SUFFIXES:
        raise ValueError(f"{what}={str(path)!r} must not end in {suffix}: it is not compressed.")
