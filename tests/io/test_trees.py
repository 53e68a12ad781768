"""Trees as bytes: they come back as they were, and no bytes make anything else, or more than they may."""

from __future__ import annotations

import io
import json
import pickle
import struct
import zlib
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fedsched.io.trees import Saved, UnfitError, pack, unpack, unplain


def bytes_of(header: object, numbers: bytes = b"") -> bytes:
    """Return bytes with this header, as `pack` makes them."""
    text = header if isinstance(header, bytes) else json.dumps(header).encode()
    return zlib.compress(struct.pack("<Q", len(text)) + text + numbers)


@given(
    st.integers(-(2**63), 2**63 - 1),
    st.integers(-(2**63), 2**63 - 1),
    st.integers(0, 200),
    st.sampled_from(["C", "F"]),
)
@settings(max_examples=60, deadline=None)
def test_what_was_packed_comes_back(first: int, second: int, rows: int, order: str) -> None:
    """Tests that arrays come back equal to the last number, of the same type and shape, and writable."""
    numbers = np.full((rows, 3), first, dtype=np.int64, order=order)  # type: ignore[call-overload]
    numbers[rows // 2 :] = second
    others = np.append(np.linspace(0.0, 1.0, rows), [np.nan, np.inf, -0.0])
    stream, flags = np.array([2**64 - 1], dtype=np.uint64), others > 0.5
    tree = {"numbers": [numbers, numbers], "others": others, "stream": stream, "flags": flags}
    again: Any = unpack(pack(tree))
    back = (*again.pop("numbers"), *again.values())
    for one, other in zip(back, (numbers, numbers, others, stream, flags), strict=True):
        assert one.dtype == other.dtype
        assert one.tobytes() == np.ascontiguousarray(other).tobytes()
        assert one.shape == other.shape
        assert one.flags.writeable


def test_plain_values_come_back() -> None:
    """Tests that words, numbers, none and nested lists and fields come back, floats to the last bit."""
    tree = {"a": [1, 0.1, -2.5e-300, "é\n", None, True, [], {}], "b": {"c": {"d": float("inf")}}}
    assert unpack(pack(tree)) == tree


@pytest.mark.parametrize(
    "array", [np.array([object()]), np.array(["a"]), np.zeros(2, np.complex128), np.zeros(2, "M8[s]")]
)
def test_what_is_no_number_is_not_written(array: Any) -> None:
    """Tests that arrays of objects, words and the like are refused when they would be written."""
    with pytest.raises(TypeError, match="has no place in a tree"):
        pack({"a": array})


class Payload:
    """What would make a file if it were unpickled."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def __reduce__(self) -> tuple[Any, ...]:
        return Path.touch, (self.path,)


def objects(path: Path) -> bytes:
    """Return an npz file that holds an object."""
    stream = io.BytesIO()
    np.savez(stream, a=np.array([Payload(path)], dtype=object))
    return stream.getvalue()


@pytest.mark.parametrize(("tree", "words"), [
    ({"a": [1, 2.5, None, "b", True, (1, 2)], "c": np.zeros(2)}, ""),
    ({"a": [{"b": {1}}]}, "state['a'][0]['b'] of type set"),
    ({"a": np.int64(1)}, "state['a'] of type numpy.int64"),
    ({"a": {2: 1}}, "state['a'], with the name 2,"),
    ({"a": np.zeros(2, dtype=np.float32)}, "state['a'], an array of float32,"),
])  # fmt: skip
def test_what_is_no_plain_data_is_named(tree: Any, words: str) -> None:
    """Tests that the first value that no file holds is told with its place."""
    assert unplain(tree, "state") == words


def test_nothing_is_run(tmp_path: Path) -> None:
    """Tests that pickles, bare, compressed, within our form or within an npz file, are errors and make no file."""
    made = tmp_path / "made"
    payload = pickle.dumps(Payload(made))
    for content in (
        payload,
        zlib.compress(payload),
        bytes_of(payload),
        bytes_of({"#": ["object", "object", [1]]}, payload),
        bytes_of({"#": ["O", "O", [1]]}, payload),
        bytes_of({"#": ["int64", "object", [1]]}, payload),
        bytes_of({"__reduce__": ["os.system", "true"]}, payload),
        objects(made),
        zlib.compress(objects(made)),
    ):
        with pytest.raises(UnfitError):
            unpack(content)
        assert not made.exists()
    pickle.loads(payload)
    assert made.exists()  # so it would have been


@pytest.mark.parametrize(
    "content",
    [
        bytes_of({"#": ["int64", "int8", [2**40]]}),
        bytes_of({"#": ["int64", "int64", [2**62]]}, b"12345678"),
        bytes_of({"#": ["float64", "float64", [10**400]]}),
        bytes_of({"#": ["float64", "float64", [-1]]}),
        bytes_of({"#": ["float64", "float64", [1.0]]}, b"12345678"),
        bytes_of({"#": ["float64", "float64", [True]]}, b"12345678"),
        bytes_of({"#": ["float64", "float64", [0, 10**30]]}),
        bytes_of({"#": ["float64", "float64", [1] * 40]}, b"12345678"),
        bytes_of({"#": ["float64", "int8", [1]]}, b"1"),
        bytes_of({"#": ["float64", "float64"]}),
        bytes_of({"#": 5}),
        bytes_of({"#": ["bool", "bool", [1]]}, b"\x07"),
        bytes_of({"#": ["int64", "int8", [1]]}, b"12"),
        bytes_of({"#": ["int64", "int8", [2]]}, b"1"),
        bytes_of(b"[" * 100_000),
        bytes_of(b"9" * 10_000),
        bytes_of(b"\xff\xfe"),
        bytes_of(b""),
        zlib.compress(struct.pack("<Q", 2**63)),
        zlib.compress(b"123"),
        zlib.compress(b""),
        b"",
        bytes_of({}) + b"more",
        bytes_of({})[:-3],
    ],
)  # fmt: skip
def test_claims_are_not_believed(content: bytes) -> None:
    """Tests that sizes, kinds and lengths that the bytes do not bear out are errors."""
    with pytest.raises(UnfitError):
        unpack(content, 1 << 20)


def test_a_bomb_does_not_go_off() -> None:
    """Tests that bytes that grow beyond what they may are refused, numbers that grow when they are read as well."""
    bomb = zlib.compress(bytes(50 << 20))
    assert len(bomb) < 1 << 17
    with pytest.raises(UnfitError, match="grows to more than 1,048,576 bytes"):
        unpack(bomb, 1 << 20)
    narrow = bytes_of({"#": ["int64", "int8", [200_000]]}, bytes(200_000))
    with pytest.raises(UnfitError, match="too many or more than there are"):
        unpack(narrow, 1 << 20)
    assert len(unpack(narrow, 2 << 20)) == 200_000  # type: ignore[arg-type]


@pytest.mark.parametrize("place", range(0, 60, 3))
def test_a_flipped_bit_gives_a_tree_or_our_error(place: int) -> None:
    """Tests that damage anywhere ends in an UnfitError, if it is noticed at all."""
    content = bytearray(pack({"a": np.arange(20), "b": [1.5, "words"]}))
    content[place % len(content)] ^= 0x10
    with suppress(UnfitError):
        unpack(bytes(content), 1 << 20)


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (1.0, lambda saved: saved.whole("a")),
        (True, lambda saved: saved.whole("a")),
        (-1, lambda saved: saved.whole("a")),
        (2**63, lambda saved: saved.whole("a")),
        (None, lambda saved: saved.whole("a")),
        (float("nan"), lambda saved: saved.number("a")),
        (float("inf"), lambda saved: saved.number("a")),
        (10**400, lambda saved: saved.number("a")),
        (False, lambda saved: saved.number("a")),
        (1, lambda saved: saved.flag("a")),
        (1, lambda saved: saved.text("a")),
        (["x", 1], lambda saved: saved.words("a")),
        ("x", lambda saved: saved.words("a")),
        ([1], lambda saved: saved.parts("a")),
        ({}, lambda saved: saved.parts("a")),
        ([], lambda saved: saved.part("a")),
        (np.zeros(3), lambda saved: saved.ints("a", (3,))),
        (np.array([1, -1]), lambda saved: saved.ints("a", (2,))),
        (np.array([1, 9]), lambda saved: saved.ints("a", (2,), most=8)),
        (np.array([1, 9]), lambda saved: saved.ints("a", (2,), 0, np.array([1, 8]))),
        (np.array([1, 9]), lambda saved: saved.ints("a", (3,))),
        (np.array([1, 9]), lambda saved: saved.ints("a", (None, 2))),
        (np.array([1.0, np.nan]), lambda saved: saved.floats("a", (2,))),
        (np.array([1.0, 1.1]), lambda saved: saved.floats("a", (2,), 0.0, 1.0)),
        (np.array([1, 2]), lambda saved: saved.floats("a", (2,))),
        (np.array([1, 2]), lambda saved: saved.streams("a", 2)),
        ([1, 2], lambda saved: saved.ints("a", (2,))),
    ],
)
def test_a_field_that_is_not_as_it_should_be_is_named(value: object, read: Any) -> None:
    """Tests that wrong kinds, shapes and limits are errors that name the field."""
    with pytest.raises(UnfitError, match=r"^outer\.a"):
        read(Saved({"outer": {"a": value}}).part("outer"))
    with pytest.raises(UnfitError, match=r"^a is missing"):
        read(Saved({}))
