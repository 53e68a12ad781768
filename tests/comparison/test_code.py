"""Hashes of users' code: they change with the text and with the simple values in use, and with nothing else."""

from __future__ import annotations

from functools import partial, wraps
from typing import TYPE_CHECKING, Any

import numpy as np

from fedsched.comparison.code import hash_of

if TYPE_CHECKING:
    from collections.abc import Callable

    import pytest

PRICE = 1.0


class Bill:
    """An objective with a price; weights are an array."""

    def __init__(self, price: float, weight: float = 1.0) -> None:
        self.price, self.weights, self.seen = price, np.array([weight]), [object()]

    def __call__(self, metrics: Any) -> Any:
        return metrics["energy"] * self.price * self.weights[0]

    def told(self, metrics: Any) -> Any:
        return self(metrics)


def of_module(metrics: Any) -> Any:
    return metrics["energy"] * PRICE


def with_default(metrics: Any, price: float = 2.0) -> Any:
    return metrics["energy"] * price


def closing(price: float) -> Callable[[Any], Any]:
    """Return a function that takes a price from around it."""
    return lambda metrics: metrics["energy"] * price


def wrapped() -> Callable[[Any], Any]:
    """Return a function as a compiler returns it: an object that tells of it."""
    return wraps(of_module)(Bill(1.0))


DIFFERENT: dict[str, Callable[[], object]] = {
    "text": lambda: of_module,
    "default": lambda: with_default,
    "partial": lambda: partial(with_default, price=3.0),
    "another partial": lambda: partial(with_default, price=4.0),
    "closing": lambda: closing(1.0),
    "another closing": lambda: closing(2.0),
    "object": lambda: Bill(1.0),
    "another attribute": lambda: Bill(2.0),
    "another array": lambda: Bill(1.0, 2.0),
    "built in": lambda: len,
}


def test_what_differs_has_another_hash() -> None:
    """Tests that text, defaults, bound and enclosed values, attributes and arrays count, and equals are equal."""
    hashes = {name: hash_of(make()) for name, make in DIFFERENT.items()}
    assert len({*hashes.values()}) == len(hashes)
    assert hashes == {name: hash_of(make()) for name, make in DIFFERENT.items()}


def test_a_value_of_the_module_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Tests that a changed constant beside a function, or beside one that was compiled, is noticed."""
    before = hash_of(of_module), hash_of(wrapped())
    assert before[0] == before[1]
    monkeypatch.setitem(globals(), "PRICE", 2.0)
    assert hash_of(of_module) == hash_of(wrapped()) != before[0]


def test_a_method_and_what_was_typed_have_a_hash() -> None:
    """Tests that a bound method is hashed by its text, and a function without a text by its code."""
    typed: dict[str, Any] = {}
    exec("def one(m): return m['flow']\ndef two(m): return m['flow'] * m['energy']", typed)
    assert hash_of(typed["one"]) != hash_of(typed["two"])
    assert hash_of(Bill(1.0).told) == hash_of(Bill(1.0).told) != hash_of(Bill(1.0))
