"""Checkpoints' files: a mark, the digest of what follows, and what was saved; written whole or not at all."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from fedsched.errors import FedschedError
from fedsched.io.atomic import atomic_bytes
from fedsched.io.files import COMPRESSION_SUFFIXES

if TYPE_CHECKING:
    from collections.abc import Iterable
    from os import PathLike

DIGEST = hashlib.sha256().digest_size


@dataclass(frozen=True, slots=True)
class SealedFile:
    """Where something saves itself. What is not as it was written stays shut: it could raise or run anything."""

    path: Path
    mark: bytes  # with the format's version
    what: str  # saves itself there, for messages

    def read(self) -> bytes | None:
        """Return what was saved last; None where there is no file yet."""
        if not self.path.exists():
            return None
        try:
            written = self.path.read_bytes()
        except OSError as error:
            raise FedschedError(f"{self.path}: cannot be read ({error.strerror}); name another file.") from None
        if not written.startswith(self.mark):
            raise self.refusal(f"not a checkpoint of {self.what}, or of another version")
        digest, content = written[len(self.mark) :][:DIGEST], written[len(self.mark) + DIGEST :]
        if digest != hashlib.sha256(content).digest():
            raise self.refusal("not a checkpoint as it was written")
        return content

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
