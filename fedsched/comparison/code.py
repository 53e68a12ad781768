"""Hashes of users' classes and functions, by which to see that a recorded run was made by other code."""

from __future__ import annotations

import hashlib
import inspect
from functools import partial
from types import FunctionType, MethodType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


def hash_of(thing: object) -> str:
    """Return a hash of a function, or of an object and its class: of the text, and of the simple values in use.

    Simple are numbers, texts, arrays and tuples of these. In use are an object's attributes; and a function's
    defaults, and what it reads of its module and of a function around it. Other functions in use do not count.
    """
    return hashlib.sha256(b"".join(_parts(thing))).hexdigest()[:12]


def _parts(thing: object) -> Iterator[bytes]:
    if isinstance(thing, partial | MethodType):
        bound = (thing.args, thing.keywords) if isinstance(thing, partial) else (thing.__self__,)
        yield repr([value for value in bound if isinstance(value, tuple | dict)]).encode()
        thing = thing.func if isinstance(thing, partial) else thing.__func__
    thing = inspect.unwrap(thing) if callable(thing) else thing  # of what is compiled, the function
    try:
        yield inspect.getsource(thing if isinstance(thing, FunctionType) else type(thing)).encode()
    except (OSError, TypeError):  # typed at a prompt
        yield thing.__code__.co_code if isinstance(thing, FunctionType) else b""
    values = _values_of(thing)
    simple = {name: value for name, value in values.items() if isinstance(value, int | float | str | tuple)}
    yield from (f"{name}={value!r}".encode() for name, value in simple.items())
    yield from (value.tobytes() for value in values.values() if isinstance(value, np.ndarray))


def _values_of(thing: object) -> dict[str, Any]:
    if isinstance(thing, FunctionType):
        used = inspect.getclosurevars(thing)
        keywords = tuple((thing.__kwdefaults__ or {}).items())
        return {**used.globals, **used.nonlocals, "of places": thing.__defaults__, "of keywords": keywords}
    names = dict.fromkeys([*getattr(thing, "__dict__", ()), *getattr(type(thing), "__slots__", ())])
    return {name: getattr(thing, name, None) for name in names}
