"""Slots: pointers through which compiled code calls functions that are compiled or loaded at their first call.

A slot is a pointer under an LLVM symbol. While it is null, a caller calls `_resolve`, which makes the function and
fills the slot. Before code is loaded from the cache, the slots that it reads are made. A slot with `at_once` is filled
before the code that reads it runs: an error in making the function then occurs where Python can raise it.
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
    """A pointer under the LLVM symbol `name`; it is null until `make` has made the function and returned its address.

    `make` can be pickled. With `at_once` the function is made before code that reads the slot runs.
    """

    def __init__(self, name: str, make: Callable[[], int], *, at_once: bool) -> None:
        self.name, self.make, self.at_once = name, make, at_once
        self._pointer = ctypes.c_void_p()
        _SLOTS[name] = self
        _BY_ADDRESS[ctypes.addressof(self._pointer)] = self
        binding.add_symbol(name, ctypes.addressof(self._pointer))

    def fill(self) -> int:
        """Make the function and set the pointer, unless that is done; return the function's address.

        Raise a CompilationError if there is no machine code.
        """
        with global_compiler_lock:
            if not self._pointer.value:
                compilation.begun(0)
                try:
                    self._pointer.value = self.make()
                finally:
                    compilation.ended(0)
            if not self._pointer.value:
                raise CompilationError(f"{self.name}: no machine code was generated for it.")
            return self._pointer.value


class Needed:
    """A record, saved with cached code, of a slot that the code reads; calling it makes the slot."""

    def __init__(self, slot: Slot) -> None:
        self.name, self.make, self.at_once = slot.name, slot.make, slot.at_once

    def __call__(self) -> None:
        """Make the slot, unless it exists; fill it if it is one with `at_once`."""
        slot(self.name, lambda: self.make, at_once=self.at_once)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Needed) and self.name == other.name

    def __hash__(self) -> int:
        return hash(self.name)


def slot(name: str, make: Callable[[], Callable[[], int]], *, at_once: bool = False) -> Slot:
    """Return the slot of a name, made if there is none; with `at_once` it is also filled now.

    `make` is called for a new slot only; it returns the function that will fill the slot.
    """
    found = _SLOTS[name] if name in _SLOTS else Slot(name, make(), at_once=at_once)
    if at_once:
        found.fill()
    return found


def needed_by(module: Any) -> set[Needed]:
    """Return a `Needed` for each slot that an LLVM module reads."""
    names = (one.name for one in module.global_variables)
    return {Needed(_SLOTS[name]) for name in names if name.startswith(PREFIX)}


def address(builder: Any, slot: Slot, kind: Any) -> Any:
    """Generate code that gets the address of a slot's function, and makes the function first if the slot is null.

    Return the pointer, a value of the generated code, as a pointer to a function of the type `kind`.
    """
    module = builder.module
    place = module.globals.get(slot.name)
    place = ir.GlobalVariable(module, _BYTE, slot.name) if place is None else place
    return builder.bitcast(builder.call(_entry(module), [place]), kind.as_pointer())


def _entry(module: Any) -> Any:
    """Return an LLVM module's function "fedsched_entry", generated if there is none.

    It returns the address in a slot, and calls `_resolve` first if the slot is null.
    """
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
    # No error can pass from here to the compiled caller, so the slot returns a function that fails instead.
    instead = _failed
    try:
        return _BY_ADDRESS[address].fill()
    except KeyboardInterrupt:
        instead = _interrupted
    except BaseException:
        with contextlib.suppress(BaseException):
            sys.excepthook(*sys.exc_info())  # type: ignore[arg-type]
    while True:
        with contextlib.suppress(KeyboardInterrupt):  # a second interrupt must not escape to compiled code either
            # It has only the arguments that every compiled function begins with, and does not read further ones.
            return code_of(instead)


binding.add_symbol("fedsched_resolve", ctypes.cast(_resolve, ctypes.c_void_p).value)


@intrinsic
def _interrupt(_: Any) -> Any:
    """Raise KeyboardInterrupt from compiled code; numba does not accept it after `raise`, as it is no Exception."""

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
    """Return the address of the machine code of a dispatcher's function for these argument types and return type.

    The function is compiled first if necessary.
    """
    dispatcher.compile(returned(*args))
    compiled = dispatcher.overloads[args]
    return int(compiled.library.get_pointer_to_function(compiled.fndesc.llvm_func_name))
