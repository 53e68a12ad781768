"""Named tuples of arrays that compiled functions pass to each other by reference.

Numba passes a tuple by value: a state of a hundred arrays becomes a thousand arguments of each call and a thousand
variables of each function, which takes most of the compile time. A named tuple under `by_reference` is a pointer to
its fields, which are read where they are used; a tuple within a tuple lies inside it. Fields of a tuple are never
written, so the compiler may keep the values that it has read. A tuple that a compiled function makes lies in that
function's stack frame, one place for each expression in its text: in a loop, each new tuple replaces the one before.
"""

from __future__ import annotations

import hashlib
import inspect
import operator
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
from llvmlite import ir  # type: ignore[import-untyped]
from numba.core import cgutils, types
from numba.core.datamodel.models import DataModel
from numba.core.datamodel.registry import register_default
from numba.core.imputils import lower_builtin, lower_getattr_generic
from numba.core.pythonapi import NativeValue, unbox
from numba.core.typing.templates import AttributeTemplate, Signature, infer_getattr, make_callable_template
from numba.core.typing.typeof import typeof_impl
from numba.cpython.tupleobj import namedtuple_constructor
from numba.extending import type_callable

from fedsched.core.jit import unboxing

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

F = TypeVar("F", bound="Callable[..., Any]")
R = TypeVar("R")
T = TypeVar("T", bound=type)
PROMISES = ("noalias", "captures(none)", "nonnull", "noundef")  # of a pointer to fields that are never written


def by_reference(of: T) -> T:
    """Make compiled functions pass this class of named tuples by reference; return the class."""
    typeof_impl.register(of)(_type_of)

    @infer_getattr
    class Constructor(AttributeTemplate):
        key = types.NamedTupleClass(of)

        def resolve___call__(self, _of: Any) -> Any:
            signature = inspect.signature(of)

            def typer(*args: Any, **kwargs: Any) -> Reference:
                return Reference(of, signature.bind(*args, **kwargs).args)

            typer.pysig = signature  # type: ignore[attr-defined]
            return types.Function(make_callable_template(types.NamedTupleClass, typer))

    return of


def unless_none(field: str) -> Callable[[F], F]:
    """Return a decorator for a function of one named tuple, which returns the tuple, or None if `field` of it is None.

    The function also returns None for None. In compiled code the call costs nothing: the argument's type tells if the
    field is None, so the result is the same pointer, or None at compile time.
    """
    return _by_field(field, dropped=True)


def only_if_none(field: str) -> Callable[[F], F]:
    """Return a decorator as `unless_none` does, for a function that returns None unless `field` is None.

    Numba leaves out code under `if x is not None` if x is None, and keeps code under `if x is None` if it is not: what
    is compiled only for tuples without a field needs such a function.
    """
    return _by_field(field, dropped=False)


def _by_field(field: str, *, dropped: bool) -> Callable[[F], F]:
    # `dropped`: whether the function returns None if the field is None, or if it is not.
    def decorated(function: F) -> F:
        @type_callable(function)
        def typer_in(_: Any) -> Any:
            def typer(value: Any) -> Any:
                if value is types.none:
                    return value
                is_none = value.members[value.of._fields.index(field)] is types.none
                return types.none if is_none == dropped else value

            return typer

        @lower_builtin(function, types.Any)
        def lower(context: Any, _: Any, signature: Any, args: Any) -> Any:
            return context.get_dummy_value() if signature.return_type is types.none else args[0]

        return function

    return decorated


def with_fields(*names: str) -> Callable[[F], F]:
    """Return a decorator for a function of a named tuple and values, which returns the tuple with these as its fields.

    The function's body is `return of._replace(...)`. Compiled code, for which this is no call, gets the same from here,
    whatever other fields the tuple has.
    """

    def decorated(function: F) -> F:
        @type_callable(function)
        def typer_in(_: Any) -> Any:
            def typer(of: Any, *values: Any) -> Any:
                new = dict(zip(names, values, strict=True))
                return Reference(of.of, [new.get(*pair) for pair in zip(of.of._fields, of.members, strict=True)])

            typer.__signature__ = inspect.signature(function)  # type: ignore[attr-defined]
            return typer

        @lower_builtin(function, types.Any, types.VarArg(types.Any))
        def lower(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            reference, new, values = signature.return_type, dict(zip(names, args[1:], strict=True)), []
            given = dict(zip(names, signature.args[1:], strict=True))
            for field, member in zip(reference.of._fields, reference.members, strict=True):
                if field in new:
                    values.append(context.cast(builder, new[field], given[field], member))
                else:
                    values.append(_read(context, builder, signature.args[0], args[0], field))
            return _write(context, builder, reference, values)

        return function

    return decorated


def row(of: R, index: int) -> R:
    """Return the named tuple of the rows `index` of all arrays in a named tuple, also of those within inner tuples.

    Rows are views. None stays None.
    """
    if of is None:
        return of
    if isinstance(of, np.ndarray):
        return cast("R", of[index])
    inner: Any = of
    return type(of)(*(row(one, index) for one in inner))


def _type_of_row(context: Any, of: Any, index: Any) -> Any:
    if isinstance(of, Reference):
        return Reference(of.of, [_type_of_row(context, member, index) for member in of.members])
    return of if of is types.none else context.resolve_function_type(operator.getitem, (of, index), {}).return_type


@type_callable(row)
def _typer_of_row(context: Any) -> Any:
    return lambda of, index: _type_of_row(context, of, index)


@lower_builtin(row, types.Any, types.Integer)
def _lower_row(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    return _row(context, builder, signature.args, signature.return_type, args)


def _row(context: Any, builder: Any, given: Any, found: Any, args: Any) -> Any:
    (of, index), (value, at) = given, args
    if of is types.none:
        return context.get_dummy_value()
    if isinstance(of, Reference):
        values = []
        for field, member, inner in zip(of.of._fields, of.members, found.members, strict=True):
            read = _read(context, builder, of, value, field)
            values.append(_row(context, builder, (member, index), inner, (read, at)))
        return _write(context, builder, found, values)
    result = context.get_function(operator.getitem, Signature(found, given, None))(builder, args)
    if context.enable_nrt:
        context.nrt.decref(builder, found, result)  # the tuple holds no reference, as all tuples
    return result


class Reference(types.Type):
    """Numba's type of a named tuple that is passed by reference: the class `of`, and the types of its fields."""

    def __init__(self, of: Any, members: Iterable[Any]) -> None:
        self.of = of
        self.members = tuple(map(types.unliteral, members))
        inner = ", ".join(f"{field}: {member.name}" for field, member in zip(of._fields, self.members, strict=True))
        digest = hashlib.sha256(f"{of.__module__}.{of.__qualname__}({inner})".encode()).hexdigest()
        # Short, as it is part of the name of each function that takes one.
        super().__init__(name=f"{of.__name__}_{digest[:16]}")

    @property
    def mangling_args(self) -> tuple[str, tuple[()]]:
        """Return this type's name and no arguments, for the names of compiled functions that take it."""
        return self.name, ()


def _type_of(value: Any, context: Any) -> Reference | None:
    members = [typeof_impl(member, context) for member in value]
    return None if None in members else Reference(type(value), members)


@register_default(Reference)
class _Model(DataModel):
    # A value is a pointer to the fields; in another tuple, or when returned, it is the fields themselves.
    def __init__(self, models: Any, reference: Reference) -> None:
        super().__init__(models, reference)
        self.of_fields = [models.lookup(member) for member in reference.members]
        self.fields = ir.global_context.get_identified_type(reference.name)
        if self.fields.is_opaque:
            self.fields.set_body(*(model.get_data_type() for model in self.of_fields))

    def get_value_type(self) -> Any:
        return self.fields.as_pointer()

    def get_data_type(self) -> Any:
        return self.fields

    get_return_type = get_data_type

    def as_data(self, builder: Any, value: Any) -> Any:
        return builder.load(value)

    def from_data(self, builder: Any, value: Any) -> Any:
        return cgutils.alloca_once_value(builder, value)

    as_return, from_return = as_data, from_data

    def load_from_data_pointer(self, builder: Any, pointer: Any, align: int | None = None) -> Any:
        return pointer

    def as_argument(self, builder: Any, value: Any) -> Any:
        return value

    def from_argument(self, builder: Any, value: Any) -> Any:
        # A function compiled into its callers inherits their promises about the pointer.
        if "alwaysinline" not in value.parent.attributes:
            for promise in PROMISES:
                value.add_attribute(promise)
        return value

    def inner_models(self) -> list[Any]:
        return []  # no field has a reference count


@infer_getattr
class _Fields(AttributeTemplate):
    key = Reference

    def generic_resolve(self, reference: Reference, name: str) -> Any:  # type: ignore[override]
        fields = reference.of._fields
        return reference.members[fields.index(name)] if name in fields else None


@lower_getattr_generic(Reference)
def _read(context: Any, builder: Any, reference: Reference, value: Any, name: str) -> Any:
    k = reference.of._fields.index(name)
    model = context.data_model_manager[reference.members[k]]
    return model.load_from_data_pointer(builder, cgutils.gep_inbounds(builder, value, 0, k))


@lower_builtin(types.NamedTupleClass, types.VarArg(types.Any))
def _construct(context: Any, builder: Any, signature: Any, args: Any) -> Any:
    reference = signature.return_type
    if not isinstance(reference, Reference):
        return namedtuple_constructor(context, builder, signature, args)
    pairs = zip(args, signature.args, reference.members, strict=True)
    return _write(context, builder, reference, [context.cast(builder, *pair) for pair in pairs])


@unbox(Reference)
def _unbox(reference: Reference, tuple_: Any, c: Any) -> NativeValue:
    if getattr(c.context.active_code_library, "lean", False):
        return unboxing.unbox(reference, tuple_, c)
    wrong = cgutils.alloca_once_value(c.builder, cgutils.false_bit)
    values, cleanups = [], []
    for k, member in enumerate(reference.members):
        native = c.unbox(member, c.pyapi.tuple_getitem(tuple_, k))
        values.append(native.value)
        with c.builder.if_then(native.is_error, likely=False):
            c.builder.store(cgutils.true_bit, wrong)
        if native.cleanup is not None:
            cleanups.append(native.cleanup)

    def cleanup() -> None:
        for one in reversed(cleanups):
            one()

    value = _write(c.context, c.builder, reference, values)
    return NativeValue(value, is_error=c.builder.load(wrong), cleanup=cleanup if cleanups else None)


def _write(context: Any, builder: Any, reference: Reference, values: Sequence[Any]) -> Any:
    # Returns a pointer to the values, which lie in the generated function's stack frame.
    model = context.data_model_manager[reference]
    kept = cgutils.alloca_once(builder, model.fields)
    for k, (field, value) in enumerate(zip(model.of_fields, values, strict=True)):
        builder.store(field.as_data(builder, value), cgutils.gep_inbounds(builder, kept, 0, k))
    return kept
