"""Calls between compiled functions: each callee is compiled separately, when it is first called.

So after a change in one function only that function is compiled again, and code that never runs is never compiled.
"""

from __future__ import annotations

import functools
import hashlib
import importlib
import inspect
import pickle
from typing import TYPE_CHECKING, Any, ClassVar

from llvmlite import ir  # type: ignore[import-untyped]
from llvmlite.ir.values import ArgumentAttributes  # type: ignore[import-untyped]
from numba.core import types
from numba.core.typing.typeof import typeof_impl
from numba.extending import lower_builtin, type_callable

from fedsched.core.jit import slots
from fedsched.core.jit.structs import PROMISES

if TYPE_CHECKING:
    from collections.abc import Callable

RETURNS = {"None": types.none, "int": types.int64, "float": types.float64, "bool": types.boolean}
_CALLEES: dict[tuple[str, str], tuple[Any, Any]] = {}  # by module and name: dispatcher and return type


class Part:
    """A compiled function that only compiled functions call: it has no entry from Python."""

    def __init__(self, dispatcher: Any) -> None:
        self.dispatcher = dispatcher
        self.py_func = dispatcher.py_func
        self.__module__ = self.py_func.__module__
        self.__name__ = self.py_func.__name__
        self.__doc__ = self.py_func.__doc__

    @property
    def signatures(self) -> list[Any]:
        """Return the signatures (argument types) for which this process has compiled or loaded the function."""
        return list(self.dispatcher.signatures)

    def __call__(self, *_: Any) -> Any:
        """Raise a TypeError: Python cannot call a part."""
        raise TypeError(f"{self.__module__}.{self.__name__} is a part of kernels: only compiled code calls it.")


class Linked(Part):
    """A part without a slot: it is linked or compiled into each of its callers."""


@typeof_impl.register(Linked)
def _type_of(part: Linked, _: Any) -> Any:
    return types.Dispatcher(part.dispatcher)


def return_type(function: Any) -> Any:
    """Return numba's type for a function's annotated return type None, int, float or bool; None for any other one."""
    promised = function.__annotations__.get("return", "")
    return RETURNS.get(getattr(promised, "__name__", str(promised)))


def callable_by_kernels(key: Any, dispatcher: Any) -> None:
    """Teach numba how compiled code calls `key`: it calls the dispatcher's function through a slot.

    `key` is the object that the callers' modules have under the function's name. A slot is a pointer that is filled at
    the first call. Errors of the function pass to the caller.
    """
    function = dispatcher.py_func
    returned = return_type(function)
    signature = inspect.signature(function)
    module, name = function.__module__, function.__qualname__
    _CALLEES[module, name] = dispatcher, returned

    @type_callable(key)
    def typer_in(_: Any) -> Callable[..., Any]:
        def typer(*_args: Any, **_kwargs: Any) -> Any:
            return returned

        typer.pysig = signature  # type: ignore[attr-defined]
        return typer

    @lower_builtin(key, types.VarArg(types.Any))
    def lower(context: Any, builder: Any, call: Any, args: Any) -> Any:
        digest = hashlib.sha256("; ".join(map(str, call.args)).encode()).hexdigest()[:16]
        slot = slots.slot(
            f"{slots.PREFIX}{module}.{name}.{digest}",
            lambda: functools.partial(_address_of, module, name, pickle.dumps(call.args)),
        )
        kind = context.call_conv.get_function_type(call.return_type, call.args)
        callee = slots.address(builder, slot, kind)
        status, value = context.call_conv.call_function(builder, callee, call.return_type, call.args, args)
        _promise(status.code)
        with builder.if_then(status.is_error, likely=False):
            context.call_conv.return_status_propagate(builder, status)
        return value


def _address_of(module: str, name: str, pickled: bytes) -> int:
    if (module, name) not in _CALLEES:
        importlib.import_module(module)
    dispatcher, returned = _CALLEES[module, name]
    return slots.code_of(dispatcher, pickle.loads(pickled), returned)


class _Promises(ArgumentAttributes):  # type: ignore[misc]
    _known: ClassVar[dict[str, bool]] = {**ArgumentAttributes._known, "readonly": False}


def _promise(call: Any) -> None:
    # LLVM does not see the callee; it may assume that the call leaves the fields of structs unchanged.
    for k, argument in enumerate(call.args):
        if k < 2:  # where the result and the exception go
            call.arg_attributes[k] = _Promises(("noalias", "captures(none)"))
        elif isinstance(getattr(argument.type, "pointee", None), ir.IdentifiedStructType):
            call.arg_attributes[k] = _Promises((*PROMISES, "readonly"))
