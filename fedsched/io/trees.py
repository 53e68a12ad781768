"""Trees of plain values and arrays as bytes, in which searches save their state.

The bytes are JSON, in which `{"#": [kind, kind written, shape]}` stands for an array, followed by the arrays' numbers
in that order; all of it is compressed. Reading them runs no code, and takes no more memory than allowed.
"""

from __future__ import annotations

import json
import math
import struct
import sys
import zlib
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from numpy.typing import NDArray

    Plain: TypeAlias = bool | int | float | str | NDArray[np.generic] | "Mapping[str, Plain]" | "Sequence[Plain]" | None

ARRAY = "#"
KINDS = ("int64", "float64", "bool", "uint64")
NARROWER = ("int8", "int16", "int32")  # whole numbers that fit are written as these: numbers of plans are small
WIDTH = 8  # bytes of a number after reading
QUICK = 1  # level of compression: it shrinks plans tenfold, in less time than sending them uncompressed
LONGEST_TEXT = 16 << 20  # most bytes of the JSON, which has no numbers of plans
DEEPEST = 4  # most dimensions of an array
GREATEST = int(np.iinfo(np.int64).max)
HEAD = struct.Struct("<Q")


class UnfitError(ValueError):
    """The error for invalid bytes or values in a saved tree; the message says where and why."""


# ---- to bytes, and back ---------------------------------------------------------------------------------------------


def pack(tree: Plain) -> bytes:
    """Return a tree as compressed bytes, which `unpack` reads; int64 arrays are written in a narrower type if it fits.

    Raise a TypeError for an array of another type than int64, float64, bool and uint64.
    """
    arrays: list[bytes] = []
    text = json.dumps(_apart(tree, arrays), separators=(",", ":")).encode()
    return zlib.compress(b"".join([HEAD.pack(len(text)), text, *arrays]), QUICK)


def _apart(tree: Plain, arrays: list[bytes]) -> Any:
    if isinstance(tree, np.ndarray):
        narrow = _narrowed(tree)
        arrays.append(np.ascontiguousarray(narrow, dtype=narrow.dtype.newbyteorder("<")).tobytes())
        return {ARRAY: [tree.dtype.name, narrow.dtype.name, list(tree.shape)]}
    if isinstance(tree, dict):
        return {name: _apart(value, arrays) for name, value in tree.items()}
    if isinstance(tree, list | tuple):
        return [_apart(value, arrays) for value in tree]
    return tree


def unplain(tree: object, where: str = "") -> str:
    """Return what the first value is that `pack` cannot save, and where; "" if the tree is plain data."""
    if isinstance(tree, np.ndarray):
        return "" if tree.dtype.name in KINDS else f"{where}, an array of {tree.dtype},"
    if isinstance(tree, dict):
        odd = next((name for name in tree if not isinstance(name, str)), "")
        inner = (unplain(value, f"{where}[{name!r}]") for name, value in tree.items())
        return f"{where}, with the name {odd!r}," if odd != "" else next(filter(None, inner), "")
    if isinstance(tree, list | tuple):
        return next(filter(None, (unplain(value, f"{where}[{k}]") for k, value in enumerate(tree))), "")
    if tree is None or isinstance(tree, bool | int | float | str):
        return ""
    return f"{where} of type {type(tree).__module__}.{type(tree).__name__}".replace("builtins.", "")


def _narrowed(array: NDArray[np.generic]) -> NDArray[np.generic]:
    if array.dtype.name not in KINDS:
        raise TypeError(f"an array of {array.dtype} has no place in a tree; it holds {', '.join(KINDS)}.")
    if array.dtype == np.int64 and array.size:
        least, most = int(array.min()), int(array.max())
        for kind in NARROWER:
            if np.iinfo(kind).min <= least and most <= np.iinfo(kind).max:
                return array.astype(kind)
    return array


def unpack(content: bytes, most: int | None = None) -> Plain:
    """Return the tree in bytes of `pack`, or raise an UnfitError; the tree may take at most `most` bytes."""
    limit = GREATEST if most is None else most
    try:
        body = _inflated(content, limit)
        (length,) = HEAD.unpack_from(body)
        if length > min(LONGEST_TEXT, len(body) - HEAD.size):
            raise UnfitError(f"its text claims {length} bytes")
        reader = _Reader(body, HEAD.size + length, limit)
        tree = reader.together(json.loads(body[HEAD.size : HEAD.size + length]))
    except UnfitError:
        raise
    except RecursionError:
        raise UnfitError("its brackets are nested too deeply") from None
    except (ValueError, TypeError, OverflowError, struct.error, zlib.error) as error:
        raise UnfitError(f"its bytes are invalid: {error}") from None
    if reader.place != len(body):
        raise UnfitError(f"{len(body) - reader.place} bytes are left over")
    return tree


def _inflated(content: bytes, most: int) -> bytes:
    stream = zlib.decompressobj()
    body = stream.decompress(content, min(most + 1, GREATEST))
    if len(body) > most:
        raise UnfitError(f"it grows to more than {most:,} bytes, more than anything of its kind")
    if not stream.eof or stream.unused_data:
        raise UnfitError("its compressed data do not end where they should")
    return body


class _Reader:
    """A reader that puts arrays back into a tree: it takes them one after the other from the bytes after the JSON."""

    def __init__(self, body: bytes, place: int, most: int) -> None:
        self._body, self.place, self._left = body, place, most

    def together(self, value: Any) -> Plain:
        if isinstance(value, dict):
            if ARRAY in value:
                return self._array(*value[ARRAY])
            return {name: self.together(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self.together(inner) for inner in value]
        return value  # type: ignore[no-any-return]

    def _array(self, kind: str, written: str, shape: list[int]) -> NDArray[np.generic]:
        if kind not in KINDS or written not in ((kind, *NARROWER) if kind == "int64" else (kind,)):
            raise UnfitError(f"an array of {kind!r} written as {written!r}")
        if len(shape) > DEEPEST or not all(type(length) is int and length >= 0 for length in shape):
            raise UnfitError(f"an array of shape {shape}")
        count, stored = math.prod(shape), np.dtype(written).newbyteorder("<")
        self._left -= WIDTH * count
        if self._left < 0 or count * stored.itemsize > len(self._body) - self.place:
            raise UnfitError(f"an array claims {count} numbers, too many or more than there are")
        array = np.frombuffer(self._body, np.uint8 if kind == "bool" else stored, count, self.place).reshape(shape)
        self.place += count * stored.itemsize
        if kind == "bool" and count and array.max() > 1:
            raise UnfitError("an array of truth values has other values")
        return array.astype(kind)


# ---- field by field -------------------------------------------------------------------------------------------------


class Saved:
    """One object's part of a tree, read field by field; a missing field, or an invalid value, raises an UnfitError.

    With `own` the search that reads it has written it itself, maybe in another process: then slow checks are skipped.
    A method's `restore` gets one.

    Examples
    --------
    >>> import numpy as np
    >>> saved = fs.search.Saved({"steps": 3, "rows": np.zeros((2, 5), dtype=np.int64)})
    >>> saved.whole("steps"), saved.ints("rows", (2, None)).shape
    (3, (2, 5))
    >>> saved.number("best")
    Traceback (most recent call last):
    fedsched.io.trees.UnfitError: best is missing
    """

    def __init__(self, fields: object, where: str = "", *, own: bool = False) -> None:
        self._where = where
        self.own = own
        if not isinstance(fields, dict):
            raise UnfitError(f"{where or 'what was saved'} must hold fields, not {type(fields).__name__}")
        self.fields: dict[str, Plain] = fields

    def unfit(self, name: str, why: str) -> UnfitError:
        """Return, not raise, the error that says why a field is invalid; it names the field's place in the tree."""
        return UnfitError(f"{self._where}{name} {why}")

    def _field(self, name: str) -> Plain:
        if name not in self.fields:
            raise self.unfit(name, "is missing")
        return self.fields[name]

    def whole(self, name: str, least: int = 0, most: int = GREATEST) -> int:
        """Return a field's whole number; raise an UnfitError unless it is one from `least` to `most`."""
        value = self._field(name)
        if type(value) is not int or not least <= value <= most:
            raise self.unfit(name, f"must be a whole number from {least} to {most}")
        return value

    def number(self, name: str, least: float = 0.0) -> float:
        """Return a field's number; raise an UnfitError unless it is one of at least `least` and below infinity."""
        value = self._field(name)
        if not isinstance(value, float | int) or isinstance(value, bool) or not least <= value <= sys.float_info.max:
            raise self.unfit(name, f"must be a number of at least {least:g} and below infinity")
        return float(value)

    def flag(self, name: str) -> bool:
        """Return a field's truth value; raise an UnfitError if it is anything else."""
        value = self._field(name)
        if not isinstance(value, bool):
            raise self.unfit(name, "must be true or false")
        return value

    def text(self, name: str) -> str:
        """Return a field's text; raise an UnfitError if it is anything else."""
        value = self._field(name)
        if not isinstance(value, str):
            raise self.unfit(name, "must be words")
        return value

    def words(self, name: str) -> list[str]:
        """Return a field's list of texts; raise an UnfitError if it is anything else."""
        value = self._field(name)
        if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
            raise self.unfit(name, "must be a list of words")
        return [str(one) for one in value]

    def part(self, name: str) -> Saved:
        """Return the object in a field, to read its own fields; raise an UnfitError if the field has no object."""
        return Saved(self._field(name), f"{self._where}{name}.", own=self.own)

    def maybe(self, name: str) -> Saved | None:
        """Return the object in a field, to read its own fields; None if the field is None."""
        return None if self._field(name) is None else self.part(name)

    def parts(self, name: str) -> list[Saved]:
        """Return the objects in a field's list, each to read its own fields."""
        value = self._field(name)
        if not isinstance(value, list):
            raise self.unfit(name, "must be a list")
        return [Saved(one, f"{self._where}{name}[{k}].", own=self.own) for k, one in enumerate(value)]

    def ints(
        self,
        name: str,
        shape: Sequence[int | None],
        least: int | NDArray[np.int64] = 0,
        most: int | NDArray[np.int64] = GREATEST,
    ) -> NDArray[np.int64]:
        """Return a field's array of whole numbers; raise an UnfitError if its shape or a number is invalid.

        None in the shape means any length. The limits, themselves allowed, are for all elements or for each one.
        """
        array = self._array(name, np.int64, shape)
        if not ((array >= least) & (array <= most)).all():
            raise self.unfit(name, f"must hold whole numbers from {np.min(least)} to {np.max(most)}")
        return array

    def floats(
        self,
        name: str,
        shape: Sequence[int | None],
        least: float = -math.inf,
        most: float = math.inf,
        *,
        unknown: bool = False,
    ) -> NDArray[np.float64]:
        """Return a field's array of floats; raise an UnfitError if its shape or a number is invalid.

        None in the shape means any length. Numbers from `least` to `most` are valid, and NaN with `unknown`.
        """
        array = self._array(name, np.float64, shape)
        if not ((array >= least) & (array <= most) | (np.isnan(array) & unknown)).all():
            raise self.unfit(name, f"must hold numbers from {least:g} to {most:g}")
        return array

    def streams(self, name: str, count: int) -> NDArray[np.uint64]:
        """Return the counters of `count` random streams, an array of shape (count, 1); any number is valid."""
        return self._array(name, np.uint64, (count, 1))

    def _array(self, name: str, kind: type[np.generic], shape: Sequence[int | None]) -> NDArray[Any]:
        value = self._field(name)
        if not isinstance(value, np.ndarray) or value.dtype != kind:
            raise self.unfit(name, f"must be an array of {np.dtype(kind).name}")
        if len(shape) != value.ndim or any(
            one is not None and one != other for one, other in zip(shape, value.shape, strict=True)
        ):
            wanted = ", ".join("any" if one is None else str(one) for one in shape)
            raise self.unfit(name, f"has the shape {value.shape}, not ({wanted})")
        return value
