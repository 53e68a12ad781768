"""The lean way to compile: each part once, as separate machine code, when it is first called."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

import numba

from fedsched.core.jit import cache, compilers, parts

F = TypeVar("F", bound=Callable[..., Any])
_MADE: dict[str, Any] = {}  # compiled code finds a function by its name: a name must always mean the same function


def kernel(function: F) -> F:
    """Return a function that Python and compiled code call; it is compiled when first called.

    If its annotated return type is None or a number, compiled code calls it as a part, through a slot. Otherwise numba
    links it into its callers.
    """
    if parts.return_type(function) is None:
        return _compiled(function, compilers.INTO_OWN, "kernel", no_cpython_wrapper=False)
    own: Any = part(function)
    entry: Any = _compiled(_calling(own, function), compilers.INTO_OWN, "entry", no_cpython_wrapper=False)
    entry.typingctx._remove_global(entry)  # it is registered as a dispatcher
    parts.callable_by_kernels(entry, own.dispatcher)
    return cast("F", entry)


def part(function: F) -> F:
    """Return a function that only compiled code calls; it is compiled separately, when first called.

    If its annotated return type is neither None nor a number, it is instead linked into each of its callers.
    """
    dispatcher: Any = _compiled(function, compilers.INTO_OWN, "part")
    if parts.return_type(function) is None:
        return cast("F", parts.Linked(dispatcher))
    made = parts.Part(dispatcher)
    parts.callable_by_kernels(made, dispatcher)
    return cast("F", made)


def inlined(function: F) -> F:
    """Return a function that only compiled code calls, and that is compiled into each of its callers."""
    return cast("F", parts.Linked(_compiled(function, compilers.INTO_CALLERS, "inlined", forceinline=True)))


def _compiled(function: F, into: Any, kind: str, **options: bool) -> F:
    name = f"{kind} {function.__module__}.{function.__qualname__}"
    if function.__closure__:
        raise TypeError(
            f"{name} uses variables of an enclosing function, which cached code does not have; pass them as arguments."
        )
    if name in _MADE and (_MADE[name] != function.__code__ or cache.changed(Path(function.__code__.co_filename))):
        raise TypeError(f"{name} exists already with other source text; give it another name, or start a new process.")
    _MADE[name] = function.__code__
    made = numba.njit(  # type: ignore[call-overload]
        function,
        nogil=True,
        error_model="numpy",
        # No kernel allocates, so none needs reference counts; counting made each call twenty times slower.
        _nrt=False,
        no_cfunc_wrapper=True,
        pipeline_class=into,
        **{"no_cpython_wrapper": True, **options},
    )
    made._cache = cache.KernelCache(function, kind)
    return cast("F", made)


def _calling(own: Any, function: F) -> F:
    """Return a new Python function with the name and arguments of `function`; its body calls the part `own`."""
    names = ", ".join(function.__code__.co_varnames[: function.__code__.co_argcount])
    text = f"def {function.__name__}({names}):\n    return part({names})"
    scope: dict[str, Any] = {"part": own, "__name__": function.__module__}
    exec(compile(text, function.__code__.co_filename, "exec"), scope)
    made = scope[function.__name__]
    made.__qualname__, made.__doc__ = function.__qualname__, function.__doc__
    made.__annotations__, made.__wrapped__ = function.__annotations__, function
    return cast("F", made)
