"""Compiling little: each part once, as an object of its own, when it is first called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar, cast

import numba

from fedsched.jit import cache, compilers, parts

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Return the function compiled, with an entry from Python; compiled code calls it as a part."""
    if parts.return_type(function) is None:
        return _compiled(function, compilers.INTO_OWN, "kernel", no_cpython_wrapper=False)
    own: Any = part(function)
    entry: Any = _compiled(_calling(own, function), compilers.INTO_OWN, "entry", no_cpython_wrapper=False)
    entry.typingctx._remove_global(entry)  # which has the type of a dispatcher
    parts.callable_by_kernels(entry, own.dispatcher)
    return cast("F", entry)


def part(function: F) -> F:
    """Return the function compiled as an object of its own, at its first call by compiled code."""
    dispatcher = _compiled(function, compilers.INTO_OWN, "part")
    if parts.return_type(function) is None:
        return dispatcher
    made = parts.Part(dispatcher)
    parts.callable_by_kernels(made, dispatcher)
    return cast("F", made)


def inlined(function: F) -> F:
    """Return the function compiled into each of its callers."""
    return _compiled(function, compilers.INTO_CALLERS, "inlined", forceinline=True)


def _compiled(function: F, into: Any, kind: str, **options: bool) -> F:
    made = numba.njit(  # type: ignore[call-overload]
        function,
        nogil=True,
        error_model="numpy",
        # No kernel allocates, so none needs reference counts; counting made each call twenty times dearer.
        _nrt=False,
        no_cfunc_wrapper=True,
        pipeline_class=into,
        **{"no_cpython_wrapper": True, **options},
    )
    made._cache = cache.KernelCache(function, kind)
    return cast("F", made)


def _calling(own: Any, function: F) -> F:
    """Return a function of the same arguments that calls a part."""
    names = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
    text = f"def {function.__name__}({names}):\n    return part({names})"
    scope: dict[str, Any] = {"part": own, "__name__": function.__module__}
    exec(compile(text, function.__code__.co_filename, "exec"), scope)
    made = scope[function.__name__]
    made.__qualname__, made.__doc__ = function.__qualname__, function.__doc__
    made.__annotations__, made.__wrapped__ = function.__annotations__, function
    return cast("F", made)
