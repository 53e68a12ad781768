"""Kernels and their parts: what is compiled when, what a call hands over, and how failures surface."""

from __future__ import annotations

import contextlib
import gc
import os
import signal
import sys
import threading
import tracemalloc
from enum import IntEnum
from typing import TYPE_CHECKING, Any, NamedTuple

import numba
import numpy as np
import pytest
from numba.core import event

from fedsched.core.errors import CompilationError
from fedsched.core.jit import by_reference, cache, decorators, inlined, kernel, part, structs, unboxing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

pytestmark = [
    pytest.mark.compiled,
    pytest.mark.skipif(decorators.CHOICE.name != "lean", reason="there are parts only where they are compiled apart"),
]


class Colour(IntEnum):
    RED = 3


@by_reference
class Inner(NamedTuple):
    numbers: Any
    flags: Any


@by_reference
class Outer(NamedTuple):
    inner: Inner
    number: Any
    table: Any
    absent: Any


@inlined
def doubled(k: int) -> int:
    return 2 * k


@part
def both(k: int) -> tuple[int, int]:
    return k, doubled(k)


@part
def seldom(k: int) -> int:
    return k + 1


@kernel
def branching(k: int) -> int:
    low, high = both(k)
    if k > 3:
        return seldom(k)
    return low + high


@part
def is_even(k: int) -> bool:
    return k == 0 or is_odd(k - 1)


@part
def is_odd(k: int) -> bool:
    return k > 0 and is_even(k - 1)


@part
def refusing(k: int) -> int:
    if k == 3:
        raise ValueError("three", 3)
    return k


@kernel
def raising(k: int) -> int:
    return refusing(k) + is_even(k)


@part
def impossible(k: int) -> int:
    return k.nothing  # type: ignore[attr-defined]


@kernel
def calling_the_impossible(k: int) -> int:
    return impossible(k) if k > 3 else k


@inlined
def or_nothing(number: int | None) -> int:
    if number is None:
        return 0
    return number


@kernel
def total(outer: Outer) -> float:
    inner = outer.inner
    sums: float = inner.numbers.sum() + inner.flags.sum() + outer.table[:, 0].sum()
    return sums + outer.number + or_nothing(outer.absent)


@part
def first(inner: Inner, k: int) -> int:
    return inner.numbers[0] + k


@kernel
def through(inner: Inner, k: int) -> int:
    return first(inner, k)


@pytest.fixture
def empty_cache(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let nothing be read from the cache, nor kept."""
    monkeypatch.setattr(cache, "FOLDER", None)
    monkeypatch.setattr(cache, "_folders", lambda _: [])


def outer(number: object = 2, absent: object = None, dtype: Any = np.int64) -> Outer:
    return Outer(Inner(np.array([1, 2, 3], dtype), np.array([True, False])), number, np.ones((2, 3)), absent)


@pytest.mark.parametrize("function", [doubled, both, seldom])
def test_python_cannot_call_a_part(function: Callable[[int], int]) -> None:
    """Tests that what has no entry from Python says so, and does not end the process."""
    with pytest.raises(TypeError, match=rf"\.{function.__name__} is a part of kernels: only compiled code calls it"):
        function(1)


def test_code_that_never_runs_is_never_compiled() -> None:
    """Tests that a part behind a branch is compiled when the branch is first taken."""
    assert branching(1) == 3
    assert seldom.signatures == []  # type: ignore[attr-defined]
    assert branching(4) == 5
    assert len(seldom.signatures) == 1  # type: ignore[attr-defined]


@part
def as_int32(k: int) -> int:
    return np.int32(k)  # type: ignore[return-value]


@part
def as_uint8(k: int) -> int:
    return np.uint8(k)  # type: ignore[return-value]


@part
def as_truth(k: int) -> int:
    return k > 3


@part
def as_member(k: int) -> int:
    return Colour.RED


@part
def as_float(k: int) -> float:
    return k


@kernel
def of_int32(k: int) -> int:
    return as_int32(k)


@kernel
def of_uint8(k: int) -> int:
    return as_uint8(k)


@kernel
def of_truth(k: int) -> int:
    return as_truth(k)


@kernel
def of_member(k: int) -> int:
    return as_member(k)


@kernel
def of_float(k: int) -> float:
    return as_float(k)


@pytest.mark.parametrize(
    ("function", "expected"), [(of_int32, -300), (of_uint8, 212), (of_truth, 0), (of_member, 3), (of_float, -300.0)]
)
def test_a_part_returns_what_its_head_says(function: Callable[[int], float], expected: float) -> None:
    """Tests that other integers, truth values and members become the number that they are."""
    found = function(-300)
    assert found == expected
    assert type(found) is type(expected)


@part
def cut_float(k: int) -> int:
    return k / 2  # type: ignore[return-value]


@part
def cut_number(k: int) -> bool:
    return k  # type: ignore[return-value]


@part
def cut_counter(k: int) -> int:
    return np.uint64(k)  # type: ignore[return-value]


@kernel
def of_cut_float(k: int) -> int:
    return cut_float(k)


@kernel
def of_cut_number(k: int) -> bool:
    return cut_number(k)


@kernel
def of_cut_counter(k: int) -> int:
    return cut_counter(k)


@pytest.mark.parametrize(
    ("function", "said"),
    [
        (of_cut_float, "It returns float64, but its annotation says int64."),
        (of_cut_number, "It returns int64, but its annotation says bool."),
        (of_cut_counter, "It returns uint64, but its annotation says int64."),
    ],
)
def test_what_a_head_cannot_hold_is_refused(
    function: Callable[[int], object], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Tests that nothing is cut to the type that a part promises."""
    with pytest.raises(CompilationError):
        function(5)
    assert said in capsys.readouterr().err


def test_exceptions_come_through_parts() -> None:
    """Tests that a part's exception reaches Python with its arguments, and that parts may call each other in turn."""
    assert [raising(2), raising(5), raising(2000)] == [3, 5, 2001]
    with pytest.raises(ValueError, match="three") as found:
        raising(3)
    assert found.value.args == ("three", 3)


def test_an_error_in_a_part_is_said_and_surfaces(capsys: pytest.CaptureFixture[str]) -> None:
    """Tests that a part that cannot be compiled fails its kernel where it is called, and each time."""
    assert calling_the_impossible(3) == 3
    for _ in range(2):
        with pytest.raises(CompilationError, match="the error above says why"):
            calling_the_impossible(4)
        assert "Unknown attribute 'nothing' of type int64" in capsys.readouterr().err
    assert calling_the_impossible(3) == 3


def struck(monkeypatch: pytest.MonkeyPatch, place: Any, name: str) -> None:
    """Let the user interrupt the program when a function of ours is called next, and not again."""
    usual = getattr(place, name)

    def strike(*args: Any) -> Any:
        monkeypatch.setattr(place, name, usual)
        os.kill(os.getpid(), signal.SIGINT)
        return usual(*args)

    monkeypatch.setattr(place, name, strike)


@pytest.fixture
def interruptible() -> Iterator[None]:
    """Let SIGINT be what Python makes of it: solvers that ran in this process before may have left that it kills."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("empty_cache", "interruptible")
def test_an_interrupt_surfaces_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that Ctrl-C ends the compiling of a kernel, of a tuple's unboxing and of a part; then it goes on."""
    inner = Inner(np.array([4], dtype=np.int16), np.array([], dtype=np.float32))
    dispatcher = first.dispatcher  # type: ignore[attr-defined]
    for place, name in ((through, "_compile_core"), (unboxing, "_generate"), (dispatcher, "_compile_core")):
        struck(monkeypatch, getattr(place, "_compiler", place), name)
        with pytest.raises(KeyboardInterrupt):
            through(inner, 5)
    assert through(inner, 5) == 9


@pytest.mark.usefixtures("empty_cache")
def test_threads_that_come_at_once_find_one_function() -> None:
    """Tests that if threads call an uncompiled kernel at once, one compiles it and all get the result."""
    inner, found = Inner(np.array([4], dtype=np.int32), np.array([], dtype=np.float32)), []
    together = threading.Barrier(8)

    def call() -> None:
        together.wait()
        found.append(through(inner, 5))

    with compiled() as names:
        threads = [threading.Thread(target=call) for _ in range(8)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    assert found == [9] * 8
    assert sorted(names) == ["first", "through", "through"]


class compiled(event.Listener):
    """The names of the functions that are compiled within the block."""

    def __enter__(self) -> list[str]:
        event.register("numba:compile", self)
        self.names: list[str] = []
        return self.names

    def __exit__(self, *_: object) -> None:
        event.unregister("numba:compile", self)

    def on_start(self, event: Any) -> None:
        self.names.append(event.data["dispatcher"].py_func.__name__)

    def on_end(self, event: Any) -> None:
        pass


def test_tuples_hold_what_python_gives() -> None:
    """Tests that arrays of other types and layouts, those that may only be read, and absent fields arrive whole."""
    given = outer()
    assert total(given) == 11
    assert total(outer(2.5, absent=7, dtype=np.uint8)) == 18.5
    assert total(given._replace(table=np.arange(6.0).reshape(3, 2)[::2, ::-1])) == 6 + 2 + 1 + 6
    given.table.flags.writeable = False
    assert total(given) == 11


def test_a_number_that_does_not_fit_is_an_error() -> None:
    """Tests that a number of more than 64 bits is neither cut nor fatal."""
    assert total(outer()) == 11
    for number in (2**63, -(2**63) - 1, 2**200):
        with pytest.raises((TypeError, OverflowError)):
            total(outer(number))
    assert total(outer()) == 11


def test_calls_keep_nothing() -> None:
    """Tests that arrays and tuples are let go after a call, whether it fails or not."""
    given, wrong = outer(), outer(2**65)
    total(given)

    def held() -> list[int]:
        kept = (given, given.inner, given.table, given.inner.numbers, wrong, wrong.table, wrong.number)
        return [sys.getrefcount(one) for one in kept]

    def call() -> None:
        for _ in range(1000):
            total(given)
            with contextlib.suppress(TypeError):
                total(wrong)

    def growth() -> int:
        """Return the bytes that a round of calls leaves behind."""
        gc.collect()
        first, _ = tracemalloc.get_traced_memory()
        call()
        gc.collect()
        return tracemalloc.get_traced_memory()[0] - first

    tracemalloc.start()
    call()  # what is made once is made now
    before = held()
    least = min(growth() for _ in range(5))  # a leak grows in every round, what other threads keep does not
    tracemalloc.stop()
    assert held() == before
    assert least < 16_000  # bytes: less than a small object of each call


def test_the_order_of_fields_is_part_of_a_tuples_type() -> None:
    """Tests that code for one class is not taken for another of its name: fields are found by their place."""

    def other(*names: str) -> Any:
        return NamedTuple("Pair", [(name, Any) for name in names])  # type: ignore[misc]

    types = [structs.Reference(other(*names), (numba.int64, numba.int64)) for names in ("ab", "ba", "ab")]
    assert types[0] == types[2] != types[1]


def test_a_function_of_a_function_may_read_nothing_of_it() -> None:
    """Tests that kept code is not taken for that of another closure."""

    def around(step: int) -> Callable[[int], int]:
        def within(k: int) -> int:
            return k + step

        return within

    for decorator in (kernel, part, inlined):
        with pytest.raises(TypeError, match=r"within uses variables of an enclosing function"):
            decorator(around(1))


def test_a_name_stands_for_one_function(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a function may be defined again as it was, but not by other text: its callers would not see that."""

    def again(k: int) -> int:
        return k

    part(again)
    part(again)
    monkeypatch.setattr(cache, "changed", lambda _: True)
    with pytest.raises(TypeError, match=r"again exists already with other source text"):
        part(again)
    inlined(lambda k: k + 1)
    with pytest.raises(TypeError, match=r"<lambda> exists already with other source text"):
        inlined(lambda k: k + 2)
