"""Slots: where compiled code finds the address of a function that is compiled, or loaded, when it is first called.

A slot is a pointer under a symbol of LLVM. As long as it is null, a caller asks `_resolve`, which makes the function
and fills the slot. Code that comes from the cache first makes the slots that it reads. A slot `at_once` is filled
before code that reads it runs: so an error in the making surfaces there, where Python code can raise it.
"""

from __future__ import annotations

import contextlib
import ctypes
import sys
from typing import TYPE_CHECKING, Any

import numba
from llvmlite import binding, ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.extending import intrinsic

from fedsched.core import compilation
from fedsched.core.errors import CompilationError

if TYPE_CHECKING:
    from collections.abc import Callable

PREFIX = "fedsched."
_BYTE = ir.IntType(8).as_pointer()
_SLOTS: dict[str, Slot] = {}
_BY_ADDRESS: dict[int, Slot] = {}


class Slot:
    """Where the address of a function is, once it is made; `make` returns it, and can be pickled."""

    def __init__(self, name: str, make: Callable[[], int], *, at_once: bool) -> None:
        self.name, self.make, self.at_once = name, make, at_once
        self._pointer = ctypes.c_void_p()
        _SLOTS[name] = self
        _BY_ADDRESS[ctypes.addressof(self._pointer)] = self
        binding.add_symbol(name, ctypes.addressof(self._pointer))

    def fill(self) -> int:
        """Return where the function begins; make it, unless another thread has done so."""
        with global_compiler_lock:
            if not self._pointer.value:
                compilation.begun(0)
                try:
                    self._pointer.value = self.make()
                finally:
                    compilation.ended(0)
            if not self._pointer.value:
                raise CompilationError(f"{self.name}: no machine code was made of it.")
            return self._pointer.value


class Needed:
    """Makes a slot before code that reads it is loaded from the cache."""

    def __init__(self, slot: Slot) -> None:
        self.name, self.make, self.at_once = slot.name, slot.make, slot.at_once

    def __call__(self) -> None:
        """Make the slot, unless it is there."""
        slot(self.name, lambda: self.make, at_once=self.at_once)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needed) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def slot(name: str, make: Callable[[], Callable[[], int]], *, at_once: bool = False) -> Slot:
    """Return the slot of a name; if it is new, it is filled by what `make` returns."""
    found = _SLOTS[name] if name in _SLOTS else Slot(name, make(), at_once=at_once)
    if at_once:
        found.fill()
    return found


def needed_by(module: Any) -> set[Needed]:
    """Return what makes the slots that a module of LLVM reads."""
    names = (one.name for one in module.global_variables)
    return {Needed(_SLOTS[name]) for name in names if name.startswith(PREFIX)}


def address(builder: Any, slot: Slot, kind: Any) -> Any:
    """Return, in code that is being generated, a pointer to a slot's function of this type."""
    module = builder.module
    place = module.globals.get(slot.name)
    place = ir.GlobalVariable(module, _BYTE, slot.name) if place is None else place
    return builder.bitcast(builder.call(_entry(module), [place]), kind.as_pointer())


def _entry(module: Any) -> Any:
    """Return the function of a module that returns where a slot's function begins."""
    name = "fedsched_entry"
    if name in module.globals:
        return module.globals[name]
    resolve = ir.Function(module, ir.FunctionType(_BYTE, [_BYTE.as_pointer()]), "fedsched_resolve")
    resolve.attributes.add("cold")
    entry = ir.Function(module, resolve.function_type, name)
    entry.linkage = "linkonce_odr"
    entry.attributes.add("alwaysinline")
    builder = ir.IRBuilder(entry.append_basic_block())
    pointer = builder.load(entry.args[0])
    with builder.if_then(builder.icmp_unsigned("==", pointer, _BYTE(None)), likely=False):
        builder.ret(builder.call(resolve, [entry.args[0]]))
    builder.ret(pointer)
    return entry


@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def _resolve(address: int) -> int:
    # There is no way from here to the caller but a function that fails in the other's place.
    instead = _failed
    try:
        return _BY_ADDRESS[address].fill()
    except KeyboardInterrupt:
        instead = _interrupted
    except BaseException:
        with contextlib.suppress(BaseException):
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    while True:
        with contextlib.suppress(KeyboardInterrupt):  # a second one, which must not escape to compiled code either
            # Its arguments are those that every compiled function has first; what else it is handed it does not read.
            return code_of(instead)


binding.add_symbol("fedsched_resolve", ctypes.cast(_resolve, ctypes.c_void_p).value)


@intrinsic
def _interrupt(_: Any) -> Any:
    """Raise KeyboardInterrupt, which numba does not take after `raise`: it is no Exception."""

    def generate(context: Any, builder: Any, *_: Any) -> Any:
        with builder.if_then(cgutils.true_bit):
            context.call_conv.return_user_exc(builder, KeyboardInterrupt)
        return context.get_dummy_value()

    return types.none(), generate


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _interrupted() -> None:
    _interrupt()  # type: ignore[call-arg]


@numba.njit(nogil=True)  # type: ignore[untyped-decorator]
def _failed() -> None:
    raise CompilationError("A kernel could not be compiled; the error above says why.")


def code_of(dispatcher: Any, args: tuple[Any, ...] = (), returned: Any = types.none) -> int:
    """Return where the function of a dispatcher begins for some types of arguments; compile it first if need be."""
    dispatcher.compile(returned(*args))
    compiled = dispatcher.overloads[args]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
