"""Searches as few bytes: what travels between workers after each epoch, and what a checkpoint keeps."""

from __future__ import annotations

import io
import pickle
import zlib
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from fedsched.engine.arrays import Ints

NARROWER = tuple(np.iinfo(kind) for kind in (np.int8, np.int16, np.int32))
WORTHWHILE = 64  # elements from which a narrower array saves more than it costs
QUICK = 1  # the level of compression: plans shrink by ten, and sooner than a copy of them travels


def pack(value: object) -> bytes:
    """Return a value as few bytes: plans are small numbers in wide fields, of which searches keep hundreds."""
    stream = io.BytesIO()
    _Narrowing(stream, pickle.HIGHEST_PROTOCOL).dump(value)
    return zlib.compress(stream.getbuffer(), QUICK)


def unpack(packed: bytes) -> Any:
    """Return the value again; only what is known to come from `pack` may be opened."""
    return pickle.loads(zlib.decompress(packed))


class _Narrowing(pickle.Pickler):
    """Write each array of whole numbers in the narrowest type that holds them."""

    def reducer_override(self, value: object) -> Any:
        if type(value) is np.ndarray and value.dtype == np.int64 and value.size > WORTHWHILE:
            least, most = value.min(), value.max()
            for kind in NARROWER:
                if kind.min <= least and most <= kind.max:
                    return _widened, (value.astype(kind.dtype),)
        return NotImplemented


def _widened(narrow: Ints) -> Ints:
    return narrow.astype(np.int64)
