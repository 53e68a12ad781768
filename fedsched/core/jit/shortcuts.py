"""Shortcuts: results that numba's front end computes repeatedly are computed once, only while our code is compiled.

Each shortcut replaces a function of numba or llvmlite and returns the same; none changes the compiled code.
"""

from __future__ import annotations

import builtins
import gc
import operator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from llvmlite.binding import ffi  # type: ignore[import-untyped]
from llvmlite.ir import types as llvm_types  # type: ignore[import-untyped]
from numba.core import ir, postproc
from numba.core.rewrites import registry
from numba.core.targetconfig import ConfigStack, TargetConfig
from numba.core.types import functions

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextmanager
def taken() -> Iterator[None]:
    """Replace numba's functions by the shortcuts, and stop garbage collection, within the block.

    All is restored at its end. In a nested block nothing changes. The caller holds the compiler's lock.
    """
    if TargetConfig.__eq__ is _same_settings:  # within another such block
        yield
        return
    # Listeners to LLVM's lock time each of about 100,000 calls.
    listeners, collects = ffi.lib._lock._cblist, gc.isenabled()
    before = [(owner, name, getattr(owner, name)) for owner, name, _ in _INSTEAD]
    try:
        gc.disable()  # collection takes a tenth of the time and frees little: compiling keeps most of its objects
        ffi.lib._lock._cblist = []
        for owner, name, shortcut in _INSTEAD:
            setattr(owner, name, shortcut)
        yield
    finally:
        for owner, name, own in before:
            setattr(owner, name, own)
        ffi.lib._lock._cblist = listeners
        if collects:
            gc.enable()


# --- Settings of a compilation, which are looked up and compared at each call. Numba hashes their names.


def _same_settings(self: Any, other: Any) -> Any:
    if self is other:
        return True
    if not isinstance(other, TargetConfig):
        return NotImplemented
    if type(self) is type(other) and self._values == other._values:
        return True
    return self.values() == other.values()  # type: ignore[no-untyped-call]


_HASHES: dict[type, int] = {}


def _settings_hash(self: Any) -> int:
    kind = type(self)
    if kind not in _HASHES:
        _HASHES[kind] = hash(tuple(sorted(self.options)))
    return _HASHES[kind]


# --- Return types of Python's own operators and functions for argument types met before.

_BUILT_IN = {one for one in vars(operator).values() if callable(one)} | {
    getattr(builtins, name) for name in ("len", "min", "max", "abs", "int", "float", "bool", "range")
}
_CALL_TYPES: dict[Any, tuple[Any, Any]] = {}
_call_type = functions.BaseFunction.get_call_type


def _known_call_type(self: Any, context: Any, args: Any, kws: Any) -> Any:
    try:
        if kws or self.typing_key not in _BUILT_IN:
            return _call_type(self, context, args, kws)  # type: ignore[no-untyped-call]
        settings = ConfigStack.top_or_none()  # type: ignore[no-untyped-call]
        key = self.typing_key, tuple(args), len(self.templates), settings, id(context)
        found = _CALL_TYPES.get(key)
    except TypeError:  # an argument type without a hash
        return _call_type(self, context, args, kws)  # type: ignore[no-untyped-call]
    if found is None:
        signature = _call_type(self, context, args, kws)  # type: ignore[no-untyped-call]
        if signature is not None:
            kept = None if settings is None else settings.copy()  # type: ignore[no-untyped-call]
            _CALL_TYPES[(*key[:3], kept, key[4])] = signature, self._impl_keys[signature.args]
        return signature
    signature, self._impl_keys[found[0].args] = found
    return signature


# --- Sizes of LLVM's types: for each query llvmlite lets LLVM parse a module.


def _once(of: Callable[..., int]) -> Callable[..., int]:
    sizes: dict[str, int] = {}

    def size(self: Any, target_data: Any, context: Any = None) -> int:
        name = str(self)
        if name not in sizes:
            sizes[name] = of(self, target_data, context)
        return sizes[name]

    return size


# --- Variables of a statement, found without searching attributes that cannot hold any.

_NO_VARIABLES = {str, int, float, bool, type(None), ir.Loc}


def _variables(self: Any) -> list[Any]:
    found: list[Any] = []
    ahead = [one for one in self.__dict__.values() if type(one) not in _NO_VARIABLES]
    ahead.reverse()
    while ahead:
        one = ahead.pop()
        if isinstance(one, ir.Var):
            found.append(one)
        elif isinstance(one, ir.Inst):
            found.extend(one.list_vars())  # type: ignore[no-untyped-call]
        elif isinstance(one, list | tuple):
            ahead.extend(reversed(one))
        elif isinstance(one, dict):
            ahead.extend(reversed(list(one.values())))
    return found


# --- Rewriting of statements: lifetimes are computed again only if a statement was rewritten.


def _rewrite(self: Any, kind: str, state: Any) -> None:
    blocks = state.func_ir.blocks
    rewritten = False
    for make in self.rewrites[kind]:
        rewrite = make(state)
        ahead = list(blocks.items())
        while ahead:
            key, block = ahead.pop()
            if rewrite.match(state.func_ir, block, state.typemap, state.calltypes):
                blocks[key] = rewrite.apply()
                blocks[key].verify()
                ahead.append((key, blocks[key]))
                rewritten = True
    if rewritten:
        postproc.PostProcessor(state.func_ir).run()  # type: ignore[no-untyped-call]


_INSTEAD: list[tuple[Any, str, Any]] = [
    (TargetConfig, "__eq__", _same_settings),
    (TargetConfig, "__hash__", _settings_hash),
    (functions.BaseFunction, "get_call_type", _known_call_type),
    *((llvm_types.Type, name, _once(getattr(llvm_types.Type, name))) for name in ("get_abi_size", "get_abi_alignment")),
    (ir.Stmt, "list_vars", _variables),
    (ir.Expr, "list_vars", _variables),
    (registry.RewriteRegistry, "apply", _rewrite),
]
